"""Who may enter, who waits, who starts: the door, request ids, the call queue, the change lock.

Calls and previews take one of a few slots or wait in order for a short time. Changes of the world (develop,
rollback, upgrade, describe, purge, checkpoint) hold the change lock one after the other, each until its
record is durable. Edits of data and interrupted operations need no job and are drafted where they arrive.
"""

from __future__ import annotations

from engine import limits
from engine.hub import refusals
from engine.hub.commit import commit
from engine.hub.messages import (
    Admit,
    Answer,
    Append,
    Call,
    CancelTimer,
    Describe,
    Develop,
    Drain,
    EditData,
    Effect,
    Execute,
    Interrupt,
    Operation,
    Purge,
    Refusal,
    Request,
    Rollback,
    RunJob,
    SetTimer,
    TimerFired,
    Upgrade,
    Write,
)
from engine.hub.requests import Claim
from engine.hub.world import Op, World, draft, refuse, take_number

_CALLS = (Call, Execute)
_DRAFTED_ON_ARRIVAL = {EditData: "data-edit", Interrupt: "interrupted"}
_MAKE_REVISIONS = (Develop, Rollback, Upgrade)
_NEED_REASON = (Rollback, EditData, Purge)


# ---- events ------------------------------------------------------------------------------------------------


def arrive(world: World, event: Admit, effects: list[Effect]) -> None:
    operation = event.operation
    request = event.request
    if isinstance(operation, Interrupt):
        request = operation.request
    if request is not None:
        claim = world.requests.find(request.id, event.flick)
        if claim is not None:
            if not isinstance(operation, Interrupt) or claim.hash == request.hash:
                _repeat(world, event.op, claim, request, effects)
                return
            request = None  # what was interrupted is recorded all the same; the id stays with its first owner
    refusal = _refuse_at_door(world, operation)
    if refusal is not None:
        effects.append(Answer(event.op, None, refusal))
        return
    op = Op(event)
    op.request = request
    world.ops[op.id] = op
    if request is not None:
        world.requests.claim(request, event.flick)
    if isinstance(operation, _CALLS):
        _enter_call(world, op, event.monotonic_flicks, effects)
    elif type(operation) in _DRAFTED_ON_ARRIVAL:
        _draft_without_job(world, op, _DRAFTED_ON_ARRIVAL[type(operation)], effects)
    else:
        op.move("queued")
        world.changes_queued.append(op)


def timer_fired(world: World, event: TimerFired, effects: list[Effect]) -> None:
    """A call's time to start is over; if it has started meanwhile, nothing happens."""
    op = world.queue.pop(event.token, None)
    if op is not None:
        refuse(world, op, effects, refusals.busy("this call could not start in time"))


def drain(world: World, event: Drain, effects: list[Effect]) -> None:
    world.draining = True
    _refuse_queued(world, refusals.draining(), effects)


def start_what_can(world: World, effects: list[Effect]) -> None:
    """After every event: let everything happen that nothing is in the way of any more, oldest first."""
    while world.held and world.alone is None:
        op = world.held.popleft()
        done, op.held = op.held, None
        assert done is not None
        commit(world, op, done, effects)
    if world.waiting:
        _run_again(world, effects)
    while world.change is None and world.changes_queued:
        _take_change_lock(world, world.changes_queued.popleft(), effects)
    purge = world.change
    if purge is not None and purge.phase == "queued" and not world.slots:
        _draft_without_job(world, purge, "purge", effects)
    while world.queue and _has_free_slot(world):
        _, op = world.queue.popitem(last=False)
        effects.append(CancelTimer(op.id))
        refusal = _refuse_by_state(world, op.operation)
        if refusal is None:
            _start_call(world, op, effects)
        else:
            refuse(world, op, effects, refusal)


# ---- request ids -------------------------------------------------------------------------------------------


def _repeat(world: World, op_id: int, claim: Claim, request: Request, effects: list[Effect]) -> None:
    """Somebody asks under a claimed id: one effect, one answer (Invariant 10)."""
    if claim.hash != request.hash:
        effects.append(Answer(op_id, None, refusals.request_conflict(request.id)))
    elif claim.seq is None:
        claim.joined.append(op_id)
    elif (
        world.purged and claim.seq != world.durable_seq
    ):  # of a purged world only the tombstone, its last, is left
        effects.append(Answer(op_id, None, refusals.purged()))
    else:
        effects.append(Answer(op_id, claim.seq))


# ---- the door ----------------------------------------------------------------------------------------------


def _refuse_at_door(world: World, operation: Operation) -> Refusal | None:
    refusal = _refuse_by_state(world, operation)
    if refusal is not None:
        return refusal
    if isinstance(operation, Interrupt):
        return None
    if world.draining:
        return refusals.draining()
    if isinstance(operation, _CALLS):
        if len(world.queue) >= limits.CALLS_QUEUED_MAX:
            return refusals.busy(f"{limits.CALLS_QUEUED_MAX} calls wait already")
        return None
    if isinstance(operation, _NEED_REASON) and not operation.reason.strip():
        return refusals.bad_reason()
    if not isinstance(operation, EditData) and len(world.changes_queued) >= limits.DEVELOPS_QUEUED_MAX:
        return refusals.busy(f"{limits.DEVELOPS_QUEUED_MAX} changes wait already")
    return None


def _refuse_by_state(world: World, operation: Operation) -> Refusal | None:
    """Asked at the door and again when a queued operation's turn comes."""
    if world.purged:
        return refusals.purged()
    if world.is_purging:
        return refusals.purging()
    if world.archived and not (
        isinstance(operation, (Purge, Interrupt))
        or (isinstance(operation, Describe) and operation.archived is False)
    ):
        return refusals.archived()
    if world.frozen and isinstance(operation, _MAKE_REVISIONS):
        return refusals.frozen()
    return None


def _refuse_rollback(world: World, operation: Rollback) -> Refusal | None:
    """Asked when its turn comes, since the changes before it may move the head."""
    if operation.revision == world.revision:
        return refusals.already_head(operation.revision)
    if not 0 <= operation.revision < world.revision:
        return refusals.no_revision(operation.revision, head=world.revision)
    return None


def _refuse_queued(world: World, refusal: Refusal, effects: list[Effect]) -> None:
    while world.queue:
        _, op = world.queue.popitem(last=False)
        effects.append(CancelTimer(op.id))
        refuse(world, op, effects, refusal)
    while world.changes_queued:
        refuse(world, world.changes_queued.popleft(), effects, refusal)


# ---- starting ----------------------------------------------------------------------------------------------


def _has_free_slot(world: World) -> bool:
    return world.slots < limits.CALLS_RUNNING_MAX and world.alone is None


def _enter_call(world: World, op: Op, monotonic_flicks: int, effects: list[Effect]) -> None:
    if _has_free_slot(world):
        _start_call(world, op, effects)
    else:
        op.move("queued")
        world.queue[op.id] = op
        effects.append(SetTimer(op.id, monotonic_flicks + limits.CALL_START_FLICKS_MAX))


def _start_call(world: World, op: Op, effects: list[Effect]) -> None:
    world.slots += 1
    _start_job(world, op, effects)


def _run_again(world: World, effects: list[Effect]) -> None:
    """Start the re-runs whose cause is durable; the first that lost too often runs alone."""
    if world.alone is None:
        world.alone = next((op for op in world.waiting if op.rerun >= limits.ALONE_FROM_RERUN), None)
        if world.alone is not None:
            world.alone.wait_seq = world.data.newest_seq
    alone = world.alone
    ready = [
        op for op in world.waiting if op.wait_seq <= world.durable_seq and (alone is None or alone is op)
    ]
    for op in ready:
        world.waiting.remove(op)
        _start_job(world, op, effects)


def _take_change_lock(world: World, op: Op, effects: list[Effect]) -> None:
    operation = op.operation
    refusal = _refuse_by_state(world, operation)
    if refusal is None and isinstance(operation, Rollback):
        refusal = _refuse_rollback(world, operation)
    if refusal is not None:
        refuse(world, op, effects, refusal)
        return
    world.change = op
    if isinstance(operation, Purge):
        # Nothing may follow a tombstone: what is queued is refused; it is drafted once no call is under way.
        _refuse_queued(world, refusals.purging(), effects)
    elif isinstance(operation, Describe):
        _draft_without_job(world, op, "describe", effects)
    else:
        _start_job(world, op, effects)


def _start_job(world: World, op: Op, effects: list[Effect]) -> None:
    """Run it on the durable head and data of this moment (Invariant 1); a re-run keeps flick and seed."""
    op.move("running")
    op.revision = world.revision
    op.snapshot = world.durable_seq
    world.jobs[op.id] = op
    effects.append(RunJob(op.id, op.operation, op.revision, op.snapshot, op.flick, op.seed, op.rerun))


def _draft_without_job(world: World, op: Op, kind: str, effects: list[Effect]) -> None:
    op.revision = world.revision
    op.snapshot = world.durable_seq
    operation = op.operation
    if isinstance(operation, EditData):
        record = draft(world, op, kind, None, writes=(Write(operation.key, operation.value),))
    elif isinstance(operation, Interrupt):
        record = draft(world, op, kind, operation.detail, number=take_number(world, kind))
    else:
        record = draft(world, op, kind, None)
    effects.append(Append((record,), True))
