"""What a state is, in a value that is equal for equal states: by whichever way they came about."""

from __future__ import annotations

from typing import Any

from engine.hub.data import VersionedData
from engine.hub.messages import Call, Draft, Interrupt, Resume
from engine.hub.requests import Requests
from engine.hub.talk import Talk
from engine.hub.world import Op, World


class Numbering:
    """Gives equal records one small number, so that a state holds numbers instead of whole records."""

    def __init__(self) -> None:
        self._by_content: dict[Draft, int] = {}
        self._by_identity: dict[int, int] = {}
        self._kept: list[Draft] = []  # so that no identity is given twice

    def of(self, draft: Draft) -> int:
        number = self._by_identity.get(id(draft))
        if number is None:
            number = self._by_content.setdefault(draft, len(self._by_content))
            self._by_identity[id(draft)] = number
            self._kept.append(draft)
        return number


def world_key(world: World) -> tuple:
    """All that a world's hub goes by: equal for two hubs that answer every event in the same way from now on."""
    return (
        world.durable_seq,
        world.next_seq,
        world.revision,
        timer_key(world.next_token),
        world.slots,
        (world.archived, world.frozen, world.purged, world.draining, world.drained),
        _data_key(world.data),
        _requests_key(world.requests),
        tuple(world.next_numbers.values()),
        tuple(world.durable_numbers.values()),
        tuple(world.closed),
        tuple(world.goldens),
        tuple(world.held_changes),
        tuple(world.goldens),
        tuple(world.held_changes),
        tuple(world.closing.items()),
        frozenset([_op_key(op) for op in world.ops.values()]),
        tuple([(draft.op, draft.kind, draft.number) for draft in world.pending]),
        tuple(world.jobs),
        frozenset(world.parked),
        tuple([(timer_key(token), op.id, n) for token, (op, n) in world.ask_timers.items()]),
        tuple(world.queue),
        tuple(world.queue_inner),
        tuple([op.id for op in world.ready]),
        tuple([op.id for op in world.waiting]),
        tuple([op.id for op in world.held]),
        tuple([op.id for op in world.changes_queued]),
        world.alone.id if world.alone is not None else 0,
        world.change.id if world.change is not None else 0,
    )


def _data_key(data: VersionedData) -> tuple:
    older = data._older
    return (
        data.floor_seq,
        data.newest_seq,
        *data._newest.items(),
        *data._changes,
        *[(key, *older[key]) for key in sorted(older)],
    )


def _op_key(op: Op) -> tuple:
    if op.phase == "drafted":
        return op.id, op.lets_go, op.request is None
    operation = op.operation
    return (
        op.id,
        op.flick,  # tells apart what runs again under one number
        op.arrived_flick,
        op.seed,
        op.asks_as,
        operation.detail if type(operation) is Interrupt else None,
        op.phase,
        op.revision,
        op.snapshot,
        op.rerun,
        op.wait_seq,
        op.lets_go,
        op.request is None,
        operation.admitted if type(operation) is Call else None,
        op.held and (op.held.reads, op.held.writes),
        op.talk and _talk_key(op.talk),
    )


def _talk_key(talk: Talk) -> tuple:
    return (
        *[
            (
                one.ask.ordinal,
                one.ask.world,
                one.ask.function,
                one.ask.args,
                one.run,
                timer_key(one.token),
                one.answer,
            )
            for one in talk.asked.values()
        ],
        tuple(talk.open),
        tuple([timer_key(one.token) for one in talk.inbox]),
        tuple(
            [
                (answer.ordinal, answer.world, answer.function, answer.ok, answer.value)
                for answer in talk.heard
            ]
        ),
        talk.unheard,
        talk.detail,
    )


def _requests_key(requests: Requests) -> tuple:
    if not requests._claims and not requests._recorded:
        return ()
    return (
        frozenset(
            [(c.id, c.hash, c.flick, c.seq, tuple(c.joined)) for c in requests._claims.values()],
        ),
        tuple([(c.id, c.flick, c.seq) for c in requests._recorded]),
    )


def resume_key(resume: Resume | None) -> Any:
    return resume and (resume.ordinal, resume.ok, resume.value, resume.kind, resume.detail)


def timer_key(token: int) -> int:
    """A key holds no negative numbers: Python's hashes of -1 and -2 are the same."""
    return 2 * token if token >= 0 else -2 * token + 1
