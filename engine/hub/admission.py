"""Who enters, who waits, who starts: request ids, the call queues, the change lock.

Calls and previews take one of a few slots or wait in order for a short time; what has run in part, and then
what other worlds wait for, goes before what is new. Changes of the world (its code, checks, grants, page,
incidents and what it is called) hold the change lock one after the other, each until its record is durable.
Edits of data, data brought back and interrupted operations need no job and are drafted where they arrive.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from engine import limits
from engine.hub import refusals
from engine.hub.commit import commit, may_commit
from engine.hub.data import write_bytes
from engine.hub.door import refuse_at_door, refuse_in_turn, refuse_incident
from engine.hub.messages import (
    Admit,
    Answer,
    Append,
    Call,
    CancelTimer,
    CloseIncident,
    Describe,
    Drain,
    EditData,
    Effect,
    Execute,
    Grant,
    Interrupt,
    Operation,
    Purge,
    Refusal,
    RejectHeld,
    RemoveCheck,
    Request,
    RestoreData,
    RunJob,
    SetPage,
    SetTimer,
    TimerFired,
    TryCall,
    Unpin,
    Write,
)
from engine.hub.parks import ask_timed_out, resume_ready
from engine.hub.requests import Claim
from engine.hub.world import Op, World, arrived_flick, draft, leave, refuse, take_number

_CALLS = (Call, Execute, TryCall)
_DRAFTED_ON_ARRIVAL = {EditData: "data-edit", Interrupt: "interrupted"}
_DRAFTED_IN_TURN = {
    Describe: "describe",
    RemoveCheck: "check-removed",
    CloseIncident: "incident-closed",
    Grant: "granted",
    SetPage: "page-set",
    Unpin: "golden-unpinned",
    RejectHeld: "held-rejected",
    Purge: "purge",
}


# ---- events ------------------------------------------------------------------------------------------------


def arrive(world: World, event: Admit, effects: list[Effect]) -> None:
    world.drained = False
    operation = event.operation
    request = event.request
    if isinstance(operation, Interrupt):
        request = operation.request
    if request is not None:
        claim = world.requests.find(request.id, arrived_flick(event))
        if claim is not None:
            if not isinstance(operation, Interrupt) or claim.hash == request.hash:
                _repeat(world, event.op, claim, request, effects)
                return
            request = None  # what was interrupted is recorded all the same; the id stays with its first owner
    # What a replay runs for the last time had entered before its first: the world may have been archived since.
    refusal = refuse_at_door(world, operation) if not event.rerun else None
    if refusal is not None:
        effects.append(Answer(event.op, None, refusal))
        return
    op = Op(event)
    op.request = request
    world.ops[op.id] = op
    if request is not None:
        world.requests.claim(request, op.arrived_flick)
    if isinstance(operation, _CALLS):
        _enter_call(world, op, event.monotonic_flicks, effects)
    elif type(operation) in _DRAFTED_ON_ARRIVAL:
        _draft_without_job(world, op, _DRAFTED_ON_ARRIVAL[type(operation)], effects)
    elif isinstance(operation, RestoreData):
        _restore(world, op, operation, effects)
    else:
        op.move("queued")
        world.changes_queued.append(op)


def timer_fired(world: World, event: TimerFired, effects: list[Effect]) -> None:
    """A call's time to start is over, or another world's to answer; if it came meanwhile, nothing happens."""
    if event.token < 0:
        ask_timed_out(world, event.token)
        return
    op = world.queue.pop(event.token, None) or world.queue_inner.pop(event.token, None)
    if op is not None:
        refuse(world, op, effects, refusals.busy("this call could not start in time"))


def drain(world: World, event: Drain, effects: list[Effect]) -> None:
    """What other worlds wait for may still start: their calls are running work too."""
    world.draining = True
    _refuse_calls(world, world.queue, refusals.draining(), effects)
    _refuse_changes(world, refusals.draining(), effects)


def start_what_can(world: World, effects: list[Effect]) -> None:
    """After every event: let everything happen that nothing is in the way of any more, oldest first."""
    if world.held:
        _commit_held(world, effects)
    while world.admitted:
        _start_job(world, world.admitted.popleft(), effects)
    while world.waiting and _run_again(world, effects):
        _commit_held(world, effects)
    _change_further(world, effects)
    if world.ready:
        resume_ready(world, effects)
    if world.queue_inner:
        _start_queued(world, world.queue_inner, effects)
    if world.queue:
        _start_queued(world, world.queue, effects)


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


# ---- calls ------------------------------------------------------------------------------------------------


def _has_free_slot(world: World, op: Op) -> bool:
    """Whether a new call may start. Those of the world's own clients leave room to who must run again."""
    if op.path:
        return world.slots < world.running_max and (world.alone is None or world.alone_yields)
    return world.places_taken < world.running_max and world.alone is None


def _enter_call(world: World, op: Op, monotonic_flicks: int, effects: list[Effect]) -> None:
    """Start it or let it wait: for as long as its caller in another world does, else for a short time."""
    queue = world.queue_inner if op.path else world.queue
    if _has_free_slot(world, op):
        _start_call(world, op, effects)
        return
    op.move("queued")
    queue[op.id] = op
    if not op.is_durably_admitted:  # which was promised an outcome, however long it takes
        flicks_max = limits.PEER_WAIT_FLICKS_MAX if op.path else limits.CALL_START_FLICKS_MAX
        effects.append(SetTimer(op.id, monotonic_flicks + flicks_max))


def _start_queued(world: World, queue: OrderedDict[int, Op], effects: list[Effect]) -> None:
    while queue and _has_free_slot(world, next(iter(queue.values()))):
        _, op = queue.popitem(last=False)
        _cancel_start_timer(op, effects)
        refusal = refuse_in_turn(world, op.operation)
        if refusal is None:
            _start_call(world, op, effects)
        else:
            refuse(world, op, effects, refusal)


def _start_call(world: World, op: Op, effects: list[Effect]) -> None:
    world.slots += 1
    operation = op.operation
    if _is_asynchronous(operation):
        _draft_without_job(world, op, "admitted", effects)
    else:
        _start_job(world, op, effects)


def _is_asynchronous(operation: Operation) -> bool:
    """A retry never is: it may yet be refused, where another has closed its incident before it."""
    return (
        type(operation) is Call
        and operation.asynchronous
        and operation.admitted is None
        and operation.retries is None
    )


def _run_again(world: World, effects: list[Effect]) -> bool:
    """Start the re-runs whose cause is durable; the first that lost too often runs alone.

    Returns whether who should have run alone was refused, so that others are free again.
    """
    if world.alone is None:
        world.alone = next((op for op in world.waiting if op.rerun >= limits.ALONE_FROM_RERUN), None)
        if world.alone is not None:
            world.alone.wait_seq = world.data.newest_seq
    for op in [op for op in world.waiting if op.wait_seq <= world.durable_seq and may_commit(world, op)]:
        if world.slots == world.running_max:
            break
        world.waiting.remove(op)
        refusal = refuse_incident(world, op.retries) if op.retries is not None else None
        if refusal is None:
            world.slots += 1
            _start_job(world, op, effects)
        else:
            was_alone = op is world.alone
            leave(world, op, effects)
            refuse(world, op, effects, refusal)
            if was_alone:
                return True
    return False


def _commit_held(world: World, effects: list[Effect]) -> None:
    """What ended while another call ran alone, in the order in which it ended."""
    held, world.held = world.held, deque()
    for op in held:
        if may_commit(world, op):
            done, op.held = op.held, None
            assert done is not None
            commit(world, op, done, effects)
        else:
            world.held.append(op)


def _refuse_calls(world: World, queue: OrderedDict[int, Op], refusal: Refusal, effects: list[Effect]) -> None:
    while queue:
        _, op = queue.popitem(last=False)
        _cancel_start_timer(op, effects)
        refuse(world, op, effects, refusal)


def _cancel_start_timer(op: Op, effects: list[Effect]) -> None:
    if not op.is_durably_admitted:
        effects.append(CancelTimer(op.id))


# ---- changes -----------------------------------------------------------------------------------------------


def _change_further(world: World, effects: list[Effect]) -> None:
    while world.change is None and world.changes_queued:
        _take_change_lock(world, world.changes_queued.popleft(), effects)
    change = world.change
    if change is not None and change.phase == "queued" and not _is_in_the_way(world, change):
        _draft_change(world, change, effects)


def _take_change_lock(world: World, op: Op, effects: list[Effect]) -> None:
    refusal = refuse_in_turn(world, op.operation)
    if refusal is not None:
        refuse(world, op, effects, refusal)
        return
    world.change = op
    if isinstance(op.operation, Purge):
        # Nothing may follow a tombstone: what is queued is refused.
        _refuse_calls(world, world.queue_inner, refusals.purging(), effects)
        _refuse_calls(world, world.queue, refusals.purging(), effects)
        _refuse_changes(world, refusals.purging(), effects)
    elif type(op.operation) not in _DRAFTED_IN_TURN:
        _start_job(world, op, effects)


def _is_in_the_way(world: World, change: Op) -> bool:
    """A purge waits for every call under way; who closes an incident, for a drafted record that closes it."""
    operation = change.operation
    if isinstance(operation, Purge):
        return world.is_calling
    return isinstance(operation, CloseIncident) and operation.incident in world.closing


def _draft_change(world: World, change: Op, effects: list[Effect]) -> None:
    operation = change.operation
    refusal = refuse_incident(world, operation.incident) if isinstance(operation, CloseIncident) else None
    if refusal is None:
        _draft_without_job(world, change, _DRAFTED_IN_TURN[type(operation)], effects)
    else:  # what it waited for has closed the incident
        world.change = None
        refuse(world, change, effects, refusal)
        _change_further(world, effects)


def _refuse_changes(world: World, refusal: Refusal, effects: list[Effect]) -> None:
    while world.changes_queued:
        refuse(world, world.changes_queued.popleft(), effects, refusal)


# ---- jobs and drafts ---------------------------------------------------------------------------------------


def _start_job(world: World, op: Op, effects: list[Effect]) -> None:
    """Run it on the durable head and data of this moment (Invariant 1); a re-run keeps flick and seed."""
    op.move("running")
    op.revision = world.revision
    op.snapshot = world.durable_seq
    world.jobs[op.id] = op
    effects.append(RunJob(op.id, op.operation, op.revision, op.snapshot, op.flick, op.seed, op.rerun))


def _restore(world: World, op: Op, operation: RestoreData, effects: list[Effect]) -> None:
    """Draft what makes the past data of the newest, drafts included: who read any of it runs again (Invariant 12)."""
    assert operation.at <= world.durable_seq, "Invariant 1: only what is durable is brought back"
    writes = world.data.writes_to(operation.prefix, operation.rows)
    size_bytes = sum(write_bytes(write) for write in writes)
    if size_bytes > limits.DATA_WRITES_BYTES_MAX:
        refuse(world, op, effects, refusals.restores_too_much(size_bytes))
        return
    op.revision = world.revision
    op.snapshot = world.durable_seq
    effects.append(Append((draft(world, op, "data-restored", None, writes=writes),), True))


def _draft_without_job(world: World, op: Op, kind: str, effects: list[Effect]) -> None:
    op.revision = world.revision
    op.snapshot = world.durable_seq
    operation = op.operation
    if isinstance(operation, EditData):
        record = draft(world, op, kind, None, writes=(Write(operation.key, operation.value),))
    elif isinstance(operation, Interrupt):
        record = draft(world, op, kind, operation.detail, number=take_number(world, kind))
    elif isinstance(operation, CloseIncident):
        record = draft(world, op, kind, None, closes=operation.incident)
    else:
        record = draft(world, op, kind, None)
    effects.append(Append((record,), True))
