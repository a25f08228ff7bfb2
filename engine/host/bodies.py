"""From what the hub drafted to the record's body."""

from __future__ import annotations

import msgspec

from engine.host import golden_bodies
from engine.host.drafting import Attempted, attempted, cause_of, request_of, summary_of
from engine.hub import messages as hub
from engine.logic import CallOutcome, Check
from engine.record import kinds


def body_of(draft: hub.Draft) -> kinds.Body:
    """The body of a drafted record."""
    return _MAKERS[draft.kind](draft)


def _revision(draft: hub.Draft) -> kinds.Body:
    attempt: Attempted = draft.detail
    operation = attempted(draft)
    assert draft.number is not None and attempt.heap is not None, (
        "an accepted attempt has a number and a heap"
    )
    rollback = operation if isinstance(operation, hub.Rollback) else None
    return kinds.Revision(
        n=draft.number,
        parent=draft.revision,
        cause=cause_of(operation),
        summary=summary_of(operation),
        source=attempt.source,
        commonjs=attempt.commonjs,
        rewritten=attempt.rewritten,
        heap=attempt.heap,
        prelude_version=attempt.prelude_version,
        changes=attempt.changes,
        definitions=attempt.definitions,
        logs=attempt.logs,
        fuel=attempt.fuel,
        target=rollback.revision if rollback else None,
        forced=rollback.force if rollback else False,
        request=request_of(draft),
        blessed=attempt.judged.blessed if attempt.judged else None,
        unlike=attempt.judged.unlike if attempt.judged else [],
    )


def _unchanged(draft: hub.Draft) -> kinds.Body:
    attempt: Attempted = draft.detail
    return kinds.Unchanged(
        revision=draft.revision,
        source=attempt.source,
        commonjs=attempt.commonjs,
        summary=summary_of(attempted(draft)),
        logs=attempt.logs,
        fuel=attempt.fuel,
        request=request_of(draft),
        blesses=draft.operation.held if isinstance(draft.operation, hub.Bless) else None,
    )


def _rejection(draft: hub.Draft) -> kinds.Body:
    if isinstance(draft.operation, hub.Pin):
        return golden_bodies.refused_pin(draft, draft.operation)
    attempt: Attempted = draft.detail
    operation = attempted(draft)
    assert draft.number is not None, "a rejection is numbered"
    return kinds.Rejection(
        n=draft.number,
        base=draft.revision,
        cause=cause_of(operation),
        source=attempt.source,
        commonjs=attempt.commonjs,
        summary=summary_of(operation),
        kind=attempt.kind,
        reason=attempt.reason,
        check=attempt.check,
        logs=attempt.logs,
        fuel=attempt.fuel,
        request=request_of(draft),
        counterexample=attempt.counterexample,
        generator=attempt.generator,
        input=attempt.input,
        target=operation.revision if isinstance(operation, hub.Rollback) else None,
        seed=draft.seed if isinstance(operation, hub.Enrol) else None,
    )


def _call(draft: hub.Draft) -> kinds.Body:
    outcome: CallOutcome = draft.detail
    operation = draft.operation
    assert isinstance(operation, hub.Call)
    failure = _failure(outcome, draft)
    return kinds.Call(
        function=operation.function,
        args=operation.args,
        revision=draft.revision,
        snapshot=draft.snapshot,
        flick=draft.flick,
        seed=draft.seed,
        value=outcome.value if failure is None else None,
        failure=failure,
        writes=_writes(draft.writes),
        logs=list(outcome.logs),
        fuel=outcome.fuel,
        reruns=draft.reruns,
        incident=draft.number,
        request=request_of(draft),
        path=list(operation.path),
        answers=_answers(draft),
        abandoned=list(outcome.abandoned),
        looks=[kinds.Look(look.what, look.world, look.answer, look.refused) for look in outcome.looks],
        retries=operation.retries,
        admitted=operation.admitted,
        asks_as=draft.asks_as,
    )


def _preview(draft: hub.Draft) -> kinds.Body:
    outcome: CallOutcome = draft.detail
    operation = draft.operation
    assert isinstance(operation, hub.Execute | hub.TryCall)
    called = operation if isinstance(operation, hub.TryCall) else None
    return kinds.Preview(
        expression=operation.expression if isinstance(operation, hub.Execute) else "",
        revision=draft.revision,
        snapshot=draft.snapshot,
        flick=draft.flick,
        seed=draft.seed,
        value=outcome.value,
        failure=_failure(outcome, draft),
        undone=[kinds.Write(key, value) for key, value in outcome.writes],
        logs=list(outcome.logs),
        fuel=outcome.fuel,
        request=request_of(draft),
        function=called.function if called else None,
        args=called.args if called else b"",
        path=list(called.path) if called else [],
        answers=_answers(draft),
        abandoned=list(outcome.abandoned),
        looks=[kinds.Look(look.what, look.world, look.answer, look.refused) for look in outcome.looks],
        overlay=[kinds.Write(key, value) for key, value in called.overlay] if called else [],
    )


def _interrupted(draft: hub.Draft) -> kinds.Body:
    """`detail` is the body itself but for its number: recovery made it of the in-flight entry.

    It has a request id only if that ends with it: else who asks again under that id, after another restart, would hear
    of this, and not what the id stands for.
    """
    assert draft.number is not None
    body: kinds.Interrupted = draft.detail
    return msgspec.structs.replace(body, incident=draft.number, request=request_of(draft))


def _data_edit(draft: hub.Draft) -> kinds.Body:
    operation = draft.operation
    assert isinstance(operation, hub.EditData)
    return kinds.DataEdit(
        write=kinds.Write(operation.key, operation.value), reason=operation.reason, request=request_of(draft)
    )


def _data_restored(draft: hub.Draft) -> kinds.Body:
    operation = draft.operation
    assert isinstance(operation, hub.RestoreData)
    return kinds.DataRestored(
        at=operation.at,
        prefix=operation.prefix,
        reason=operation.reason,
        writes=_writes(draft.writes),
        request=request_of(draft),
    )


def _describe(draft: hub.Draft) -> kinds.Body:
    operation = draft.operation
    assert isinstance(operation, hub.Describe)
    return kinds.Describe(
        name=operation.name, archived=operation.archived, frozen=operation.frozen, request=request_of(draft)
    )


def _purge(draft: hub.Draft) -> kinds.Body:
    operation = draft.operation
    assert isinstance(operation, hub.Purge)
    return kinds.Purge(reason=operation.reason, request=request_of(draft))


def _checkpoint(draft: hub.Draft) -> kinds.Body:
    return draft.detail


def _admitted(draft: hub.Draft) -> kinds.Body:
    operation = draft.operation
    assert isinstance(operation, hub.Call)
    return kinds.Admitted(
        function=operation.function,
        args=operation.args,
        flick=draft.flick,
        seed=draft.seed,
        path=list(operation.path),
        request=request_of(draft),
    )


def _incident_closed(draft: hub.Draft) -> kinds.Body:
    operation = draft.operation
    assert isinstance(operation, hub.CloseIncident)
    return kinds.IncidentClosed(
        incident=operation.incident,
        how=operation.how,
        reason=operation.reason,
        value=operation.value,
        request=request_of(draft),
    )


def _check_enrolled(draft: hub.Draft) -> kinds.Body:
    check: Check = draft.detail
    return kinds.CheckEnrolled(
        name=check.name,
        expression=check.expression,
        counterexample=check.counterexample,
        generator=check.generator,
        inputs=list(check.inputs),
        seed=check.seed,
        revision=draft.revision,
        request=request_of(draft),
    )


def _check_removed(draft: hub.Draft) -> kinds.Body:
    operation = draft.operation
    assert isinstance(operation, hub.RemoveCheck)
    return kinds.CheckRemoved(name=operation.name, reason=operation.reason, request=request_of(draft))


def _granted(draft: hub.Draft) -> kinds.Body:
    operation = draft.operation
    assert isinstance(operation, hub.Grant)
    return kinds.Granted(worlds=sorted(operation.worlds), request=request_of(draft))


def _page_set(draft: hub.Draft) -> kinds.Body:
    operation = draft.operation
    assert isinstance(operation, hub.SetPage)
    return kinds.PageSet(
        access=operation.access,
        functions=sorted(operation.functions),
        link_hash=operation.link_hash,
        request=request_of(draft),
    )


_MAKERS = {
    "revision": _revision,
    "unchanged": _unchanged,
    "rejection": _rejection,
    "call": _call,
    "preview": _preview,
    "interrupted": _interrupted,
    "data-edit": _data_edit,
    "data-restored": _data_restored,
    "describe": _describe,
    "purge": _purge,
    "checkpoint": _checkpoint,
    "admitted": _admitted,
    "incident-closed": _incident_closed,
    "check-enrolled": _check_enrolled,
    "check-removed": _check_removed,
    "granted": _granted,
    "page-set": _page_set,
    "golden-pinned": golden_bodies.golden_pinned,
    "golden-unpinned": golden_bodies.golden_unpinned,
    "held": golden_bodies.held,
    "held-rejected": golden_bodies.held_rejected,
}


def _answers(draft: hub.Draft) -> list[kinds.PeerAnswer]:
    return [
        kinds.PeerAnswer(a.ordinal, a.world, a.function, a.ok, a.value, "" if a.kind == "threw" else a.kind)
        for a in draft.answers
    ]


def _writes(writes: tuple[hub.Write, ...]) -> list[kinds.Write]:
    return [kinds.Write(write.key, write.value) for write in writes]


def _failure(outcome: CallOutcome, draft: hub.Draft) -> kinds.Failure | None:
    if draft.failure == "conflict":
        return kinds.Failure(
            "conflict",
            f"conflict: what this call read was changed by others each of the {draft.reruns + 1} times it ran",
            "call it again, or let fewer callers write the same keys",
        )
    if outcome.missing:
        return kinds.Failure("missing", outcome.failure.error if outcome.failure else "not defined")
    if outcome.failure is None:
        return None
    return kinds.Failure(outcome.failure.kind, outcome.failure.error, outcome.failure.hint)
