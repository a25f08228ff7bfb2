"""From a record's body to the client's answer: always made of it, so one repeated from the log equals the first."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from engine.host import answers, golden_answers
from engine.hub import messages as hub
from engine.record import kinds


def answer_of(body: kinds.Body, *, world: str, seq: int) -> answers.OperationAnswer:
    """What the client of the operation that made this record is told."""
    match body:
        case kinds.Call():
            return _answer_call(body)
        case kinds.Preview():
            return _answer_preview(body)
        case kinds.Revision():
            return answers.Accepted(revision=body.n, changes=body.changes, logs=body.logs)
        case kinds.Unchanged():
            return answers.Unchanged(revision=body.revision)
        case kinds.Rejection(cause="check"):
            return answers.RefusedCheck(
                rejection=body.n, kind=body.kind, reason=body.reason, input=_raw(body.input)
            )
        case kinds.CheckEnrolled():
            return answers.Enrolled(check=check_row(body))
        case kinds.Rejection(cause="pin"):
            return golden_answers.RefusedPin(rejection=body.n, kind=body.kind, reason=body.reason)
        case kinds.GoldenPinned():
            return golden_answers.pinned(world, body)
        case kinds.Held():
            return golden_answers.held(world, body)
        case kinds.Admitted():
            return answers.Started(ok=True, operation=seq)
        case kinds.Rejection():
            return answers.Rejected(
                rejection=body.n,
                kind=body.kind,
                reason=body.reason,
                logs=body.logs,
                check=body.check,
                input=_raw(body.input),
            )
        case kinds.Interrupted():
            return answers.CallFailed(
                ok=False,
                failure="interrupted",
                error=f"interrupted: the server ended while this {body.operation} ran; nothing of it counts",
                logs=[],
                hint="ask again under another request id",
                incident=body.incident,
            )
        case kinds.DataRestored():
            return answers.Restored(ok=True, at=body.at, restored=changed_by(body.writes), seq=seq)
        case kinds.Genesis():
            return answers.Created(id=world, name=body.name, revision=0)
        case _:
            return answers.Done(ok=True, seq=seq)


def changed_by(writes: Iterable[kinds.Write] | Iterable[hub.Write]) -> answers.RolledBack:
    """The keys that writes set and delete."""
    keys = [(write.key, write.value is not None) for write in writes]
    return answers.RolledBack(
        set=[key for key, is_set in keys if is_set], deleted=[key for key, is_set in keys if not is_set]
    )


def check_row(body: kinds.CheckEnrolled) -> answers.CheckRow:
    return answers.CheckRow(
        name=body.name,
        expression=body.expression,
        counterexample=body.counterexample,
        generator=body.generator,
        inputs=len(body.inputs),
        revision=body.revision,
    )


def _raw(text: bytes | None) -> msgspec.Raw | None:
    return msgspec.Raw(text) if text is not None else None


def _answer_call(body: kinds.Call) -> answers.OperationAnswer:
    if body.failure is None:
        assert body.value is not None, "a call that did not fail has a value"
        return answers.CallOk(
            ok=True,
            value=msgspec.Raw(body.value),
            revision=body.revision,
            logs=body.logs,
            abandoned=body.abandoned,
        )
    if body.failure.kind == "missing":
        return answers.Missing(ok=False, error=body.failure.error, hint=body.failure.hint)
    return answers.CallFailed(
        ok=False,
        failure=body.failure.kind,
        error=body.failure.error,
        hint=body.failure.hint,
        incident=body.incident,
        logs=body.logs,
    )


def _answer_preview(body: kinds.Preview) -> answers.OperationAnswer:
    rolled_back = changed_by(body.undone)
    if body.failure is None:
        assert body.value is not None, "a preview that did not fail has a value"
        return answers.PreviewOk(
            ok=True, value=msgspec.Raw(body.value), rolled_back=rolled_back, logs=body.logs
        )
    return answers.PreviewFailed(
        ok=False,
        failure=body.failure.kind,
        error=body.failure.error,
        hint=body.failure.hint,
        rolled_back=rolled_back,
        logs=body.logs,
    )
