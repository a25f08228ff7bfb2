"""A world's hub twice: its state as it is now, to go on with in two ways. What cannot change is shared.

Every slot is named here; a test compares them with the hub's, so that a new one is not forgotten.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence

from engine.hub.data import Version, VersionedData
from engine.hub.messages import Write
from engine.hub.requests import Claim, Requests
from engine.hub.talk import Asked, Talk
from engine.hub.world import Op, World


class _Rows(dict[str, Version]):
    """What data needs of a sorted dict: few rows are sorted faster than a sorted dict is copied."""

    def items(self) -> list[tuple[str, Version]]:  # type: ignore[override]
        return sorted(super().items())

    def irange(self, minimum: str, inclusive: tuple[bool, bool] = (True, True)) -> Iterator[str]:
        """The keys from `minimum` on, ascending; without itself unless it is included."""
        return iter([key for key in sorted(self) if key > minimum or (inclusive[0] and key == minimum)])


class SharedData(VersionedData):
    """Data that several forks hold together until one of them writes or forgets."""

    __slots__ = ("_is_own",)

    def apply(self, seq: int, writes: Sequence[Write]) -> None:
        self._make_own()
        super().apply(seq, writes)

    def drop_drafts(self) -> None:
        self._make_own()
        super().drop_drafts()

    def prune(self, floor_seq: int) -> None:
        if self._changes and self._changes[0][0] <= floor_seq:
            self._make_own()
        super().prune(floor_seq)

    def fork(self) -> SharedData:
        self._is_own = False
        return _shared(self)

    def _make_own(self) -> None:
        if not self._is_own:
            self._newest = _Rows(self._newest)  # type: ignore[assignment]
            self._older = {key: list(older) for key, older in self._older.items()}
            self._changes = deque(self._changes)
            self._is_own = True


def _shared(data: VersionedData) -> SharedData:
    twin = SharedData.__new__(SharedData)
    twin._newest = data._newest
    twin._older = data._older
    twin._changes = data._changes
    twin.floor_seq = data.floor_seq
    twin.durable_seq = data.durable_seq
    twin.newest_seq = data.newest_seq
    twin._is_own = False
    return twin


def fork_world(world: World) -> World:
    """The same state, apart from now on."""
    twin = World.__new__(World)
    twin.id = world.id
    twin.durable_seq = world.durable_seq
    twin.revision = world.revision
    twin.archived = world.archived
    twin.frozen = world.frozen
    twin.purged = world.purged
    data = world.data
    twin.data = data.fork() if type(data) is SharedData else _with_own_data(world)
    twin.requests = _fork_requests(world.requests)
    twin.closed = world.closed.copy()
    twin.goldens = world.goldens.copy()
    twin.held_changes = world.held_changes.copy()
    twin.goldens = world.goldens.copy()
    twin.held_changes = world.held_changes.copy()
    twin.pending = world.pending.copy()
    twin.next_seq = world.next_seq
    twin.next_numbers = world.next_numbers.copy()
    twin.durable_numbers = world.durable_numbers.copy()
    twin.closing = world.closing.copy()
    twin.next_token = world.next_token
    twin.slots = world.slots
    twin.running_max = world.running_max
    twin.draining = world.draining
    twin.drained = world.drained
    # What is drafted only waits to be durable, and changes no more.
    ops = twin.ops = {id: op if op.phase == "drafted" else _fork_op(op) for id, op in world.ops.items()}
    twin.jobs = _ordered(world.jobs, ops)
    twin.queue = _ordered(world.queue, ops) if world.queue else OrderedDict()
    twin.queue_inner = _ordered(world.queue_inner, ops) if world.queue_inner else OrderedDict()
    twin.admitted = _line(world.admitted, ops) if world.admitted else deque()
    twin.parked = {id: ops[id] for id in world.parked} if world.parked else {}
    twin.ready = _line(world.ready, ops) if world.ready else deque()
    twin.ask_timers = {token: (ops[op.id], ordinal) for token, (op, ordinal) in world.ask_timers.items()}
    twin.waiting = [ops[op.id] for op in world.waiting] if world.waiting else []
    twin.held = _line(world.held, ops) if world.held else deque()
    twin.alone = ops[world.alone.id] if world.alone is not None else None
    twin.change = ops[world.change.id] if world.change is not None else None
    twin.changes_queued = _line(world.changes_queued, ops) if world.changes_queued else deque()
    return twin


def _with_own_data(world: World) -> SharedData:
    """From the first fork on the world's data is shared."""
    shared = _shared(world.data)
    world.data = shared
    return shared.fork()


def _ordered(ops: OrderedDict[int, Op], twins: dict[int, Op]) -> OrderedDict[int, Op]:
    return OrderedDict([(id, twins[id]) for id in ops])


def _line(ops: Iterable[Op], twins: dict[int, Op]) -> deque[Op]:
    return deque([twins[op.id] for op in ops])


def _fork_op(op: Op) -> Op:
    twin = Op.__new__(Op)
    twin.id = op.id
    twin.operation = op.operation
    twin.actor = op.actor
    twin.request = op.request
    twin.flick = op.flick
    twin.arrived_flick = op.arrived_flick
    twin.seed = op.seed
    twin.asks_as = op.asks_as
    twin.phase = op.phase
    twin.lets_go = op.lets_go
    twin.revision = op.revision
    twin.snapshot = op.snapshot
    twin.rerun = op.rerun
    twin.wait_seq = op.wait_seq
    twin.held = op.held
    twin.talk = _fork_talk(op.talk) if op.talk is not None else None
    twin.path = op.path
    return twin


def _fork_talk(talk: Talk) -> Talk:
    twin = Talk.__new__(Talk)
    asked = twin.asked = {ask: _fork_asked(one) for ask, one in talk.asked.items()}
    twins = {one.token: one for one in asked.values()}
    twin.open = {ordinal: twins[one.token] for ordinal, one in talk.open.items()}
    twin.inbox = deque([twins[one.token] for one in talk.inbox])
    twin.heard = talk.heard.copy()
    twin.unheard = talk.unheard
    twin.detail = talk.detail
    return twin


def _fork_asked(one: Asked) -> Asked:
    twin = Asked(one.ask, one.run, one.token)
    twin.answer = one.answer
    return twin


def _fork_requests(requests: Requests) -> Requests:
    twin = Requests.__new__(Requests)
    if not requests._claims and not requests._recorded:
        twin._claims, twin._recorded = {}, deque()
        return twin
    twins: dict[int, Claim] = {}  # by the identity of the claim that it is the twin of
    twin._claims = {id: _fork_claim(claim, twins) for id, claim in requests._claims.items()}
    twin._recorded = deque([_fork_claim(claim, twins) for claim in requests._recorded])
    return twin


def _fork_claim(claim: Claim, twins: dict[int, Claim]) -> Claim:
    """One twin, also of a claim that is forgotten by its id and still stands in line."""
    twin = twins.get(id(claim))
    if twin is None:
        twin = twins[id(claim)] = Claim(claim.id, claim.hash, claim.flick, claim.seq)
        twin.joined = claim.joined.copy()
    return twin
