"""What a run of an incident came to, beside what was recorded of it, in the shapes that are answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from engine import limits, logic
from engine.host import answers
from engine.host import incident_answers as shapes
from engine.logic import Ask, CallOutcome
from engine.logic.watching import Step, Watcher
from engine.record import kinds

_WATCHDOG = "the watchdog stopped it"


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run came to: its outcome, or where it stopped because it asked what nobody had answered."""

    watcher: Watcher
    outcome: CallOutcome | None
    asks: tuple[Ask, ...] = ()
    asked: tuple[Ask, ...] = ()
    logs: tuple[str, ...] = ()
    fuel: int = 0
    shown_now: frozenset[tuple[str, str]] = frozenset()  # membership only


def function_of(body: kinds.Call | kinds.Interrupted) -> str | None:
    if isinstance(body, kinds.Call):
        return body.function
    return body.subject if body.operation == "call" else None


def was_stopped(body: kinds.Call | kinds.Interrupted) -> bool:
    """Whether the watchdog ended it: that is no matter of its fuel, so the fuel that it had used is its budget now."""
    failure = body.failure if isinstance(body, kinds.Call) else None
    return failure is not None and failure.kind == "budget" and failure.error.startswith(_WATCHDOG)


def fuel_of(body: kinds.Call | kinds.Interrupted) -> int:
    if isinstance(body, kinds.Call) and was_stopped(body):
        return max(1, body.fuel)
    return limits.CALL_FUEL_MAX


def recorded_of(body: kinds.Call | kinds.Interrupted) -> shapes.CameTo:
    if isinstance(body, kinds.Interrupted):
        return shapes.CameTo(outcome="interrupted", logs=[])
    failure = body.failure
    assert failure is not None, "an incident is a call that failed"
    return shapes.CameTo(
        outcome="failed",
        failure=failure.kind,
        error=failure.error,
        hint=failure.hint,
        logs=body.logs,
        fuel=body.fuel,
    )


def came_to(ran: Ran) -> shapes.CameTo:
    outcome = ran.outcome
    if outcome is None:
        asks = [shapes.AskRow(ask.world, ask.function, msgspec.Raw(ask.args)) for ask in ran.asks]
        return shapes.CameTo(outcome="asks", logs=list(ran.logs), fuel=ran.fuel, asks=asks)
    shared: dict[str, Any] = {
        "logs": list(outcome.logs),
        "fuel": outcome.fuel,
        "abandoned": list(outcome.abandoned),
    }
    if outcome.missing:
        return shapes.CameTo(outcome="failed", failure="missing", error="not defined", **shared)
    failure = outcome.failure
    if failure is not None:
        return shapes.CameTo(
            outcome="failed", failure=failure.kind, error=failure.error, hint=failure.hint, **shared
        )
    assert outcome.value is not None, "what succeeded has a value"
    return shapes.CameTo(
        outcome="value",
        value=msgspec.Raw(outcome.value),
        rolled_back=answers.RolledBack(
            set=[key for key, value in outcome.writes if value is not None],
            deleted=[key for key, value in outcome.writes if value is None],
        ),
        **shared,
    )


def differing(body: kinds.Call | kinds.Interrupted, recorded: shapes.CameTo, now: shapes.CameTo) -> list[str]:
    """The fields in which the run is not as recorded.

    What was interrupted had no outcome to compare with; a conflict says nothing of the run, but its console and its
    fuel are recorded.
    """
    if isinstance(body, kinds.Interrupted):
        return ["outcome"]
    is_conflict = body.failure is not None and body.failure.kind == "conflict"
    fields = ("logs", "fuel") if is_conflict else ("outcome", "failure", "error", "hint", "logs", "fuel")
    return [field for field in fields if getattr(recorded, field) != getattr(now, field)]


def changes_of(changes: logic.Changes) -> kinds.Changes:
    return kinds.Changes(
        list(changes.added), list(changes.changed), list(changes.removed), list(changes.globals)
    )


def broken_of(broken: logic.Broken) -> shapes.BrokenCheck:
    shown = msgspec.Raw(broken.input) if broken.input is not None else None
    return shapes.BrokenCheck(check=broken.check, kind=broken.kind, reason=broken.reason, input=shown)


def shown(ran: Ran) -> list[shapes.StepRow]:
    return [_row(n, step, ran.shown_now) for n, step in enumerate(ran.watcher.steps, 1)]


def _row(n: int, step: Step, shown_now: frozenset[tuple[str, str]]) -> shapes.StepRow:
    is_data = step.kind in ("read", "write", "delete")
    return shapes.StepRow(
        n=n,
        kind=step.kind,
        key=step.name if is_data else None,
        prefix=step.name if step.kind == "list" else None,
        look=step.name if step.kind == "look" else None,
        failure=step.name if step.kind == "end" else None,
        value=msgspec.Raw(step.value) if step.value is not None else None,
        text=step.text if step.kind == "console" else None,
        error=step.text if step.failed else None,
        world=step.world,
        function=step.function,
        ordinal=step.ordinal,
        after=step.after,
        limit=step.limit,
        absent=step.kind == "read" and step.value is None and not step.failed and not step.left_out_bytes,
        own=step.is_own,
        as_of_now=step.kind == "look" and (step.name or "", step.world or "") in shown_now,
        left_out_bytes=step.left_out_bytes,
    )
