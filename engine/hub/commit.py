"""What jobs came to: validated against what was committed since, drafted as records, or run again.

Calls are serializable per world (Invariant 12): a call that writes is recorded only if nothing it read has
changed between its snapshot and its commit, drafts that are not durable yet included. Readers and failed
calls stand at their snapshot. A call that must run again waits until what it missed is durable; from its
second re-run on it runs alone.
"""

from __future__ import annotations

from engine import limits
from engine.hub import refusals
from engine.hub.messages import Append, AttemptDone, Call, CallDone, Checkpoint, Effect, JobLost
from engine.hub.world import Op, World, answer, draft, refuse, take_number

_ATTEMPT_KINDS = {"accepted": "revision", "unchanged": "unchanged", "rejected": "rejection"}


def call_done(world: World, event: CallDone, effects: list[Effect]) -> None:
    op = world.ops.get(event.op)
    if op is None or op.phase != "running":
        return  # its client was answered when a failed append dropped it
    if type(op.operation) is Call and event.ok and event.writes:
        if world.alone is not None and world.alone is not op:
            op.move("held")
            op.held = event
            world.held.append(op)
        else:
            commit(world, op, event, effects)
    else:
        _record_reader(world, op, event, effects)


def commit(world: World, op: Op, done: CallDone, effects: list[Effect]) -> None:
    """Draft a call that writes, or let it run again where what it read has changed (Invariant 12)."""
    if world.data.changed_since(done.reads, op.snapshot) is None:
        _leave_job(world, op)
        effects.append(Append((draft(world, op, "call", done.detail, writes=done.writes),), True))
    elif op.rerun < limits.CALL_RERUNS_MAX:
        del world.jobs[op.id]
        op.move("waiting")
        op.rerun += 1
        op.wait_seq = world.data.newest_seq
        world.waiting.append(op)
    else:
        _leave_job(world, op)
        number = take_number(world, "call")
        record = draft(world, op, "call", done.detail, number=number, failure="conflict")
        effects.append(Append((record,), True))


def _record_reader(world: World, op: Op, done: CallDone, effects: list[Effect]) -> None:
    """A preview, a failed call or one that wrote nothing; only a number or a request id has to wait."""
    _leave_job(world, op)
    is_call = type(op.operation) is Call
    kind = "call" if is_call else "preview"
    number = take_number(world, "call") if is_call and not done.ok and not done.missing else None
    record = draft(world, op, kind, done.detail, number=number)
    if number is None and op.request is None:
        effects.append(Append((record,), False))
        answer(world, op, effects, record.seq)
    else:
        effects.append(Append((record,), True))


def attempt_done(world: World, event: AttemptDone, effects: list[Effect]) -> None:
    op = world.ops.get(event.op)
    if op is None or op.phase != "running":
        return
    assert op is world.change, "who holds the change lock runs an attempt"
    del world.jobs[op.id]
    if type(op.operation) is Checkpoint:
        assert event.verdict == "accepted", "a checkpoint is made or lost"
        kind = "checkpoint"
    else:
        assert op.revision == world.revision, "the head stays while the change lock is held"
        kind = _ATTEMPT_KINDS[event.verdict]
    number = None if kind in ("unchanged", "checkpoint") else take_number(world, kind)
    effects.append(Append((draft(world, op, kind, event.detail, number=number),), True))


def job_lost(world: World, event: JobLost, effects: list[Effect]) -> None:
    """The job has no outcome: refuse, and let go of whatever the operation held."""
    op = world.ops.get(event.op)
    if op is None or op.phase != "running":
        return
    if op is world.change:
        del world.jobs[op.id]
        world.change = None
    else:
        _leave_job(world, op)
    refuse(world, op, effects, refusals.storage(event.reason))


def _leave_job(world: World, op: Op) -> None:
    """A call or preview has run for the last time: its slot, its snapshot and its being alone end."""
    del world.jobs[op.id]
    world.slots -= 1
    if world.alone is op:
        world.alone = None
