"""What a world refuses, and when it is asked: at the door, when a turn comes, before another run."""

from __future__ import annotations

from engine import limits
from engine.hub import refusals
from engine.hub.messages import (
    Bless,
    Call,
    CloseIncident,
    Describe,
    Develop,
    EditData,
    Execute,
    Interrupt,
    Operation,
    Pin,
    Purge,
    Refusal,
    RejectHeld,
    RemoveCheck,
    RestoreData,
    Rollback,
    TryCall,
    Unpin,
    Upgrade,
)
from engine.hub.world import World

_MAKE_REVISIONS = (Develop, Rollback, Upgrade, Bless)
_NEED_REASON = (Rollback, EditData, RestoreData, Purge, RemoveCheck, Unpin, RejectHeld)
_NEED_NO_TURN = (EditData, RestoreData)


def refuse_at_door(world: World, operation: Operation) -> Refusal | None:
    refusal = refuse_by_state(world, operation)
    if refusal is not None:
        return refusal
    if isinstance(operation, Interrupt):
        return None
    if world.draining and not is_inner(operation):
        return refusals.draining()
    if isinstance(operation, (Call, Execute, TryCall)):
        return _refuse_call(world, operation)
    if _lacks_reason(operation):
        return refusals.bad_reason()
    if isinstance(operation, EditData) and operation.value is None and world.data.surely_lacks(operation.key):
        return refusals.no_key(operation.key)
    if not isinstance(operation, _NEED_NO_TURN) and len(world.changes_queued) >= limits.DEVELOPS_QUEUED_MAX:
        return refusals.busy(f"{limits.DEVELOPS_QUEUED_MAX} changes wait already")
    return refuse_incident(world, operation.incident) if isinstance(operation, CloseIncident) else None


def refuse_by_state(world: World, operation: Operation) -> Refusal | None:
    """Asked at the door and again when a queued operation's turn comes."""
    if world.purged:
        return refusals.purged()
    if world.is_purging:
        return refusals.purging()
    if world.archived and not (
        isinstance(operation, (Purge, Interrupt))
        or (isinstance(operation, Describe) and operation.archived is False)
        or _was_admitted(operation)
    ):
        return refusals.archived()
    if world.frozen and isinstance(operation, _MAKE_REVISIONS):
        return refusals.frozen()
    return None


def refuse_in_turn(world: World, operation: Operation) -> Refusal | None:
    """Asked when its turn comes, since what went before it may have changed the answer."""
    refusal = refuse_by_state(world, operation)
    if refusal is None and isinstance(operation, Rollback):
        refusal = _refuse_rollback(world, operation)
    if refusal is None and isinstance(operation, CloseIncident):
        refusal = refuse_incident(world, operation.incident)
    if refusal is None:
        refusal = _refuse_golden(world, operation)
    if refusal is None and type(operation) is Call and operation.retries is not None:
        refusal = refuse_incident(world, operation.retries)
    return refusal


def refuse_incident(world: World, incident: int) -> Refusal | None:
    newest = world.durable_numbers["incident"] - 1
    if not 1 <= incident <= newest:
        return refusals.no_incident(incident, newest=newest)
    if incident in world.closed:
        return refusals.incident_closed(incident)
    return None


def _refuse_golden(world: World, operation: Operation) -> Refusal | None:
    """Pins and held changes: they are numbered together, and the change lock is held while one of them changes."""
    newest = world.durable_numbers["golden"] - 1
    match operation:
        case Bless(held=n) | RejectHeld(held=n) if n not in world.held_changes:
            if not 1 <= n <= newest:
                return refusals.no_golden(n, newest=newest)
            return refusals.golden_pinned(n) if n in world.goldens else refusals.golden_closed(n)
        case Unpin(golden=n) if n not in world.goldens:
            if not 1 <= n <= newest:
                return refusals.no_golden(n, newest=newest)
            return refusals.golden_held(n) if n in world.held_changes else refusals.golden_closed(n)
        case Pin() if len(world.goldens) >= limits.GOLDENS_MAX:
            return refusals.too_many_goldens()
        case Develop() | Rollback() if len(world.held_changes) >= limits.HELD_CHANGES_MAX:
            return refusals.too_many_held()
    return None


def is_inner(operation: Operation) -> bool:
    """Another world's call waits for it."""
    return isinstance(operation, (Call, TryCall)) and bool(operation.path)


def _was_admitted(operation: Operation) -> bool:
    """Admitted durably by an earlier process, so it must end in an outcome (Invariant 16)."""
    return type(operation) is Call and operation.admitted is not None


def _lacks_reason(operation: Operation) -> bool:
    if isinstance(operation, CloseIncident):
        return operation.how == "dismissed" and not operation.reason.strip()
    return isinstance(operation, _NEED_REASON) and not operation.reason.strip()


def _refuse_call(world: World, operation: Call | Execute | TryCall) -> Refusal | None:
    if world.is_full and not _was_admitted(operation):
        return refusals.busy(f"{limits.CALLS_QUEUED_MAX} calls wait already")
    if type(operation) is Call and operation.retries is not None:
        return refuse_incident(world, operation.retries)
    return None


def _refuse_rollback(world: World, operation: Rollback) -> Refusal | None:
    if operation.revision == world.revision:
        return refusals.already_head(operation.revision)
    if not 0 <= operation.revision < world.revision:
        return refusals.no_revision(operation.revision, head=world.revision)
    return None
