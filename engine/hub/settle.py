"""What storage says of the drafts: they are durable and become the state, or they are not and never were."""

from __future__ import annotations

from collections import deque

from engine.hub import refusals
from engine.hub.messages import AppendFailed, Describe, Draft, Durable, Effect
from engine.hub.world import NUMBERED, World, answer, refuse


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
    for op in world.waiting:
        op.wait_seq = world.durable_seq
    for record in dropped:
        client = world.ops.get(record.op)
        if client is not None:
            if client is world.change:
                world.change = None
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
        if op is not None:
            if op is world.change:
                world.change = None
            answer(world, op, effects, record.seq)


def _become_state(world: World, record: Draft) -> None:
    if record.number is not None:
        world.durable_numbers[NUMBERED[record.kind]] = record.number + 1
    if record.kind == "revision":
        assert record.number == world.revision + 1, "a revision follows the head"
        world.revision = record.number
    elif record.kind == "purge":
        world.purged = True
    elif record.kind == "describe":
        operation = record.operation
        assert isinstance(operation, Describe)
        if operation.archived is not None:
            world.archived = operation.archived
        if operation.frozen is not None:
            world.frozen = operation.frozen
