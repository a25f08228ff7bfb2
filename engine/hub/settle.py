"""What storage says of the drafts: they are durable and become the state, or they are not and never were."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from engine.hub import refusals
from engine.hub.messages import (
    Answer,
    AppendFailed,
    Bless,
    Call,
    Describe,
    Draft,
    Durable,
    Effect,
    Pin,
    RejectHeld,
    Unpin,
)
from engine.hub.world import NUMBERED, Op, World, answer, end_run, refuse

_OF_GOLDENS = ("golden-pinned", "golden-unpinned", "held", "held-rejected", "unchanged")


def durable(world: World, event: Durable, effects: list[Effect]) -> None:
    _settle(world, event.seq, effects)


def append_failed(world: World, event: AppendFailed, effects: list[Effect]) -> None:
    """Fall back to the durable state; what the drafts were numbered was never acknowledged (Invariant 17)."""
    assert event.durable_seq >= world.durable_seq, "what was durable stays so"
    _settle(world, event.durable_seq, effects)
    dropped, world.pending = world.pending, deque()
    world.next_seq = world.durable_seq + 1
    world.next_numbers = dict(world.durable_numbers)
    world.data.drop_drafts()
    world.closing.clear()
    for op in world.waiting:
        op.wait_seq = world.durable_seq
    for record in dropped:
        client = world.ops.get(record.op)
        if client is not None:
            if client is world.change:
                world.change = None
            elif record.kind == "admitted":
                end_run(world)
            refuse(world, client, effects, refusals.storage(event.reason))


def _settle(world: World, seq: int, effects: list[Effect]) -> None:
    """Records up to `seq` become the state, and their clients get their answers (Invariant 1)."""
    assert seq < world.next_seq, "only what was drafted can become durable"
    if seq <= world.durable_seq:
        return
    world.durable_seq = seq
    world.data.settle(seq)
    pending = world.pending
    while pending and pending[0].seq <= seq:
        record = pending.popleft()
        _become_state(world, record)
        op = world.ops.get(record.op)
        if op is None:
            continue
        if record.kind == "admitted":
            _begin_admitted(world, op, record.seq, effects)
            continue
        if op is world.change:
            world.change = None
        answer(world, op, effects, record.seq)


def _begin_admitted(world: World, op: Op, seq: int, effects: list[Effect]) -> None:
    """Its client, and those who asked the same, hear that it is admitted; it goes on for nobody.

    Its request id is answered by this record for good, so its outcome carries none (Invariant 10).
    """
    effects.append(Answer(op.id, seq, goes_on=True))
    if op.request is not None:
        effects.extend(Answer(joined, seq) for joined in world.requests.record(op.request.id, seq))
        op.request = None
    assert type(op.operation) is Call
    op.operation = replace(op.operation, admitted=seq)
    world.admitted.append(op)


def _become_state(world: World, record: Draft) -> None:
    if world.closing:
        _close_incidents(world, record.seq)
    if record.number is not None:
        world.durable_numbers[NUMBERED[record.kind]] = record.number + 1
    if record.kind == "revision":
        assert record.number == world.revision + 1, "a revision follows the head"
        world.revision = record.number
        if isinstance(record.operation, Bless):
            del world.held_changes[record.operation.held]
    elif record.kind in _OF_GOLDENS:
        _settle_golden(world, record)
    elif record.kind == "purge":
        world.purged = True
    elif record.kind == "describe":
        operation = record.operation
        assert isinstance(operation, Describe)
        if operation.archived is not None:
            world.archived = operation.archived
        if operation.frozen is not None:
            world.frozen = operation.frozen


def _settle_golden(world: World, record: Draft) -> None:
    """Of a blessing that did not come to a revision: a rejection alone leaves the held change as it was."""
    operation = record.operation
    if isinstance(operation, Bless | RejectHeld):
        del world.held_changes[operation.held]
    if record.kind == "held":
        assert record.number is not None, "a held change is numbered"
        world.held_changes[record.number] = None
    elif isinstance(operation, Pin):
        assert record.number is not None, "a golden is numbered"
        world.goldens[record.number] = None
    elif isinstance(operation, Unpin):
        del world.goldens[operation.golden]


def _close_incidents(world: World, seq: int) -> None:
    for incident, closing_seq in list(world.closing.items()):  # in the order of their records
        if closing_seq > seq:
            return
        del world.closing[incident]
        world.closed[incident] = None
