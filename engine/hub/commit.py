"""What jobs came to: validated against what was committed since, drafted as records, or run again.

Calls are serializable per world (Invariant 12): a call that writes is recorded only if nothing it read has
changed between its snapshot and its commit, drafts that are not durable yet included. Readers and failed
calls stand at their snapshot. A call that must run again waits until what it missed is durable; from its
second re-run on it runs alone: no other starts, and none commits writes ahead of it. Only while it waits for
another world do those go on that other worlds wait for.
"""

from __future__ import annotations

from engine import limits
from engine.hub import refusals
from engine.hub.messages import (
    Append,
    AttemptDone,
    Call,
    CallDone,
    Checkpoint,
    Effect,
    Enrol,
    JobLost,
    Pin,
)
from engine.hub.world import NUMBERED, Op, World, answer, draft, end_run, leave, refuse, take_number

_ATTEMPT_KINDS = {
    "accepted": "revision",
    "unchanged": "unchanged",
    "rejected": "rejection",
    "enrolled": "check-enrolled",
    "pinned": "golden-pinned",
    "held": "held",
}


def call_done(world: World, event: CallDone, effects: list[Effect]) -> None:
    op = world.ops.get(event.op)
    if op is None or op.phase != "running":
        return  # its client was answered when a failed append dropped it
    end_run(world)
    if type(op.operation) is Call and event.ok and (event.writes or op.retries is not None):
        if may_commit(world, op):
            commit(world, op, event, effects)
        else:
            op.move("held")
            op.held = event
            world.held.append(op)
    else:
        _record_reader(world, op, event, effects)


def may_commit(world: World, op: Op) -> bool:
    """Whether no other call runs alone, or that one would wait for this one if this one waited for it."""
    return world.alone is None or world.alone is op or (bool(op.path) and world.alone_yields)


def commit(world: World, op: Op, done: CallDone, effects: list[Effect]) -> None:
    """Draft a call that writes, or let it run again where what it read has changed (Invariant 12).

    A retry reads whether its incident is closed, and closes it.
    """
    retries = op.retries
    if retries in world.closed:
        assert retries is not None
        leave(world, op, effects)
        refuse(world, op, effects, refusals.incident_closed(retries))
    elif retries not in world.closing and world.data.changed_since(done.reads, op.snapshot) is None:
        leave(world, op, effects)
        record = draft(world, op, "call", done.detail, writes=done.writes, closes=retries)
        effects.append(Append((record,), True))
    elif op.rerun < limits.CALL_RERUNS_MAX:
        _run_again(world, op)
    else:
        leave(world, op, effects)
        number = take_number(world, "call")
        record = draft(world, op, "call", done.detail, number=number, failure="conflict")
        effects.append(Append((record,), True))


def _run_again(world: World, op: Op) -> None:
    """Once everything drafted until now is durable, what it conflicts with included."""
    del world.jobs[op.id]
    op.move("waiting")
    op.rerun += 1
    op.wait_seq = world.data.newest_seq
    if op.retries in world.closing:
        op.wait_seq = max(op.wait_seq, world.closing[op.retries])
    if op.talk is not None:
        op.talk.begin_again()
    world.waiting.append(op)


def _record_reader(world: World, op: Op, done: CallDone, effects: list[Effect]) -> None:
    """A preview, a failed call or one that wrote nothing.

    Only a number, a request id, other worlds' answers or having been admitted before have to wait.
    """
    leave(world, op, effects)
    is_call = type(op.operation) is Call
    kind = "call" if is_call else "preview"
    number = take_number(world, "call") if is_call and not done.ok and not done.missing else None
    record = draft(world, op, kind, done.detail, number=number)
    if number is None and op.request is None and op.talk is None and not op.is_durably_admitted:
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
    elif event.verdict == "existing":
        assert type(op.operation) in (Enrol, Pin) and event.seq is not None, "what is there has a record"
        world.change = None
        answer(world, op, effects, event.seq)
        return
    else:
        assert op.revision == world.revision, "the head stays while the change lock is held"
        kind = _ATTEMPT_KINDS[event.verdict]
    number = take_number(world, kind) if kind in NUMBERED else None
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
        end_run(world)
        leave(world, op, effects)
    refuse(world, op, effects, refusals.lost(event.reason))
