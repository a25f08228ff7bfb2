"""How each kind of record is lived again: the operation that it was, and what a job of it had come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from engine.host.goldens import attempted_by
from engine.hub import World
from engine.hub import messages as hub
from engine.io.log import Log
from engine.logic import PRELUDE_VERSION
from engine.record import kinds

_CHECK_SUMMARY = "check "
_PIN_SUMMARY = "pin "


@dataclass(frozen=True, slots=True)
class How:
    """`operation` makes of a body what was asked of the hub.

    Where that needs a job, `came_to` makes the event of its outcome as it was recorded, for records that are taken
    over, not run. `changes`: it holds the change lock. `reads`: it began on the data of the record's `snapshot`.
    `why_not` says why a record of this kind cannot be lived again, if it cannot.
    """

    operation: Callable[[Any], hub.Operation]
    came_to: Callable[[int, Any], hub.Event] | None = None
    changes: bool = False
    reads: bool = False
    why_not: Callable[[Any], str | None] = lambda _: None


def _call(body: kinds.Call) -> hub.Operation:
    return hub.Call(body.function, body.args, tuple(body.path), retries=body.retries, admitted=body.admitted)


def _call_came_to(op: int, body: kinds.Call) -> hub.Event:
    writes = tuple(hub.Write(write.key, write.value) for write in body.writes)
    return hub.CallDone(op, body.incident is None, False, (), writes, body)


def _preview(body: kinds.Preview) -> hub.Operation:
    if body.function is None:
        return hub.Execute(body.expression)
    overlay = tuple((write.key, write.value) for write in body.overlay)
    return hub.TryCall(body.function, body.args, tuple(body.path), None, overlay)


def _stopped_by_raising(body: kinds.Call | kinds.Preview) -> str | None:
    failure = body.failure
    if failure is not None and failure.kind == "trap" and "host function raised" in failure.error:
        return "stopped from outside while it used a host function"
    return None


def _admitted(body: kinds.Admitted) -> hub.Operation:
    return hub.Call(body.function, body.args, tuple(body.path), asynchronous=True)


def _revision(body: kinds.Revision) -> hub.Operation:
    if body.blessed is not None:
        return hub.Bless(body.blessed.held, body.blessed.reason)
    if body.cause == "rollback":
        assert body.target is not None, "a rollback has its target"
        return hub.Rollback(body.target, body.summary, body.forced)
    if body.cause == "upgrade":
        return hub.Upgrade()
    return hub.Develop(body.source, body.summary, body.commonjs)


def _cannot_upgrade(body: kinds.Revision) -> str | None:
    if body.cause == "upgrade" and body.prelude_version != PRELUDE_VERSION:
        return f"an upgrade to prelude {body.prelude_version}, where this build has prelude {PRELUDE_VERSION}"
    return None


def _rejection(body: kinds.Rejection) -> hub.Operation:
    if body.cause == "rollback":
        return hub.Rollback(body.base if body.target is None else body.target, body.summary)
    if body.cause == "upgrade":
        return hub.Upgrade()
    if body.cause == "pin":
        return hub.Pin(int(body.summary.removeprefix(_PIN_SUMMARY)), "", "")
    if body.cause == "check":
        name = body.summary.removeprefix(_CHECK_SUMMARY)
        return hub.Enrol(name, body.source, body.counterexample or "", body.generator)
    return hub.Develop(body.source, body.summary, body.commonjs)


def _cannot_reject(body: kinds.Rejection) -> str | None:
    if body.cause == "rollback" and body.target is None:
        return "a refused rollback whose record does not say to where"
    if body.cause == "check" and body.seed is None:
        return "a refused check whose record does not say its seed"
    if body.cause == "upgrade":
        return "an upgrade that was refused"
    if body.cause == "pin":
        return "a call that was not pinned"
    return None


def _enrolled(body: kinds.CheckEnrolled) -> hub.Operation:
    return hub.Enrol(body.name, body.expression, body.counterexample, body.generator)


def _attempted(verdict: str) -> Callable[[int, Any], hub.Event]:
    return lambda op, body: hub.AttemptDone(op, verdict, body)


def _interrupted(body: kinds.Interrupted) -> hub.Operation:
    request = hub.Request(body.request.id, body.request.hash) if body.request is not None else None
    return hub.Interrupt(msgspec.structs.replace(body, incident=0), request)


def with_what_is_left(how: How, kind: str, body: kinds.Body | None, world: World, log: Log) -> How:
    """How a record can be lived again where that takes other records, of which bodies may be gone."""
    held = None
    if isinstance(body, kinds.Revision) and body.blessed is not None:
        held = body.blessed.held
    elif isinstance(body, kinds.Unchanged):
        held = body.blesses
    elif isinstance(body, kinds.GoldenPinned):
        _, call = next(iter(log.read(world.id, body.call)))
        if call.body is None:
            return replace(how, why_not=lambda _: "a pinned call whose own body is erased")
    if held is None or held in world.held_changes:
        return how
    unblessed = {"blessed": None} if kind == "revision" else {"blesses": None}
    return replace(
        how,
        operation=lambda body: how.operation(msgspec.structs.replace(body, **unblessed)),
        why_not=lambda _: "a blessed change: what was held is left out of the recording",
    )


GONE = How(
    lambda _: hub.Call("", b"[]", admitted=0), lambda op, _: hub.CallDone(op, True, False, (), (), None)
)
"""A record whose body was erased: it takes its sequence and does nothing."""


def _as_written(why: str) -> How:
    """A record that no operation made: it takes its sequence and leaves what it wrote."""

    def came_to(op: int, body: Any) -> hub.Event:
        writes = tuple(hub.Write(write.key, write.value) for write in kinds.writes_of(body))
        return hub.CallDone(op, True, False, (), writes, body)

    return replace(GONE, came_to=came_to, why_not=lambda _: why)


def _held(body: kinds.Held) -> hub.Operation:
    if body.replaces is not None:
        return hub.Bless(body.replaces, "")
    return attempted_by(body)


def _cannot_hold(body: kinds.Held) -> str | None:
    if body.cause == "upgrade":
        return "an upgrade that was held"
    if body.tried_until is not None:
        return "a change held for recorded calls, of which some may be erased since"
    return None


HOW: dict[str, How] = {
    "call": How(_call, _call_came_to, reads=True, why_not=_stopped_by_raising),
    "preview": How(
        _preview,
        lambda op, body: hub.CallDone(op, True, False, (), (), body),
        reads=True,
        why_not=_stopped_by_raising,
    ),
    "admitted": How(_admitted),
    "revision": How(_revision, _attempted("accepted"), changes=True, why_not=_cannot_upgrade),
    "unchanged": How(
        lambda body: (
            hub.Develop(body.source, body.summary, body.commonjs)
            if body.blesses is None
            else hub.Bless(body.blesses, "")
        ),
        _attempted("unchanged"),
        changes=True,
    ),
    "rejection": How(_rejection, _attempted("rejected"), changes=True, why_not=_cannot_reject),
    "check-enrolled": How(_enrolled, _attempted("enrolled"), changes=True),
    "check-removed": How(lambda body: hub.RemoveCheck(body.name, body.reason), changes=True),
    "incident-closed": How(
        lambda body: hub.CloseIncident(body.incident, body.how, body.reason, body.value), changes=True
    ),
    "granted": How(lambda body: hub.Grant(tuple(body.worlds)), changes=True),
    "page-set": How(
        lambda body: hub.SetPage(body.access, tuple(body.functions), body.link_hash), changes=True
    ),
    "describe": How(lambda body: hub.Describe(body.name, body.archived, body.frozen), changes=True),
    "checkpoint": How(lambda _: hub.Checkpoint(), _attempted("accepted"), changes=True, reads=True),
    "purge": How(lambda body: hub.Purge(body.reason), changes=True),
    "data-edit": How(lambda body: hub.EditData(body.write.key, body.write.value, body.reason)),
    "data-restored": How(lambda body: hub.RestoreData(body.at, body.prefix, (), body.reason)),
    "interrupted": How(_interrupted),
    "data-copied": _as_written("the data of a copy, which is its origin's"),
    "imported": _as_written("an import: the records before it were made elsewhere"),
    "golden-pinned": How(
        lambda body: hub.Pin(body.call, body.name, body.reason), _attempted("pinned"), changes=True
    ),
    "golden-unpinned": How(lambda body: hub.Unpin(body.golden, body.reason), changes=True),
    "held": How(_held, _attempted("held"), changes=True, why_not=_cannot_hold),
    "held-rejected": How(lambda body: hub.RejectHeld(body.held, body.reason), changes=True),
}
"""Every kind but the genesis, with which a replay begins."""
