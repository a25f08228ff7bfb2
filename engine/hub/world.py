"""The state of one world's hub: what is durable, what is drafted, and every operation under way.

An operation's life (`Op.phase`), and who moves it:

    queued --admission--> running --commit--> drafted --durable--> (answered)
                          |  ^ | ^ \\--commit--> held --commit--> drafted, waiting
                          |  | | | admission
                          |  | waiting  (it read what another changed; it runs again once that is durable)
                          |  | parks
                          parked --parks--> ready  (another world has answered; it goes on once a slot is free)

An asynchronous call is `admitting` before it runs: until the record that says so is durable.
From every phase it can also end in a refusal: nothing recorded, its request id free again.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Any

from engine import limits
from engine.hub.data import VersionedData
from engine.hub.messages import (
    Admit,
    Answer,
    Call,
    CallDone,
    CancelTimer,
    Draft,
    Effect,
    Loaded,
    Purge,
    Refusal,
    TryCall,
    asked_as,
)
from engine.hub.requests import Requests
from engine.hub.talk import Talk
from engine.ids import PEER_REQUEST_PREFIX

MOVES = {
    "arrived": ("queued", "admitting", "running", "drafted"),
    "queued": ("admitting", "running", "drafted"),
    "admitting": ("running",),
    "running": ("drafted", "held", "waiting", "parked"),
    "parked": ("ready",),
    "ready": ("running",),
    "held": ("drafted", "waiting"),
    "waiting": ("running",),
    "drafted": (),
}

# Which count a record of a kind takes its number from; a kind that is not here has none.
NUMBERED = {
    "revision": "revision",
    "rejection": "rejection",
    "call": "incident",
    "interrupted": "incident",
    "golden-pinned": "golden",
    "held": "golden",
}


class Op:
    """One operation from its arrival to its answer."""

    __slots__ = (
        "actor",
        "arrived_flick",
        "asks_as",
        "flick",
        "held",
        "id",
        "lets_go",
        "operation",
        "path",
        "phase",
        "request",
        "rerun",
        "revision",
        "seed",
        "snapshot",
        "talk",
        "wait_seq",
    )

    def __init__(self, arrival: Admit) -> None:
        self.id = arrival.op
        self.operation = arrival.operation
        self.actor = arrival.actor
        self.request = arrival.request
        self.flick = arrival.flick  # what its clock says
        self.arrived_flick = arrived_flick(arrival)
        self.seed = arrival.seed
        self.asks_as = arrival.asks_as
        self.phase = "arrived"
        # Of its request id: another world's call failed, did nothing, and may be asked again.
        self.lets_go = False
        self.revision = 0  # what it runs, or ran, on
        self.snapshot = 0  # the durable sequence that it reads, or read
        self.rerun = arrival.rerun
        self.wait_seq = 0  # while waiting: the sequence that must be durable before it runs again
        self.held: CallDone | None = None  # while held: what its run came to
        self.talk: Talk | None = None  # with other worlds, once it has asked one
        operation = self.operation
        # The worlds whose calls wait for this one, the first one first.
        self.path = operation.path if isinstance(operation, (Call, TryCall)) else ()

    @property
    def is_durably_admitted(self) -> bool:
        """It ends in a recorded outcome even if this process does not live to see it (Invariant 16)."""
        return type(self.operation) is Call and self.operation.admitted is not None

    @property
    def asking_name(self) -> str:
        """Under which it asks other worlds: the same when a client asks again, if a crash took every trace of the first
        time, and when it is run again that was durably admitted (Invariant 11)."""
        if self.asks_as is not None:
            return self.asks_as
        if self.request is not None and not (type(self.operation) is Call and self.operation.asynchronous):
            return self.request.asks_as
        return asked_as(self.flick, self.seed)

    @property
    def retries(self) -> int | None:
        """The incident that it tries again, and closes if it succeeds."""
        return self.operation.retries if type(self.operation) is Call else None

    def move(self, phase: str) -> None:
        assert phase in MOVES[self.phase], f"operation {self.id} moves from {self.phase} to {phase}"
        self.phase = phase


def arrived_flick(arrival: Admit) -> int:
    """When it arrived: its record's time, and its request id's."""
    return arrival.flick if arrival.arrived_flick is None else arrival.arrived_flick


class World:
    """Opened by `open_world`, changed by `step` alone. The host may read `data` and the durable fields."""

    __slots__ = (
        "admitted",
        "alone",
        "archived",
        "ask_timers",
        "change",
        "changes_queued",
        "closed",
        "closing",
        "data",
        "drained",
        "draining",
        "durable_numbers",
        "durable_seq",
        "frozen",
        "goldens",
        "held",
        "held_changes",
        "id",
        "jobs",
        "next_numbers",
        "next_seq",
        "next_token",
        "ops",
        "parked",
        "pending",
        "purged",
        "queue",
        "queue_inner",
        "ready",
        "requests",
        "revision",
        "running_max",
        "slots",
        "waiting",
    )

    def __init__(self, loaded: Loaded) -> None:
        self.id = loaded.world
        # Durable: the only ground that jobs and answers stand on (Invariant 1).
        self.durable_seq = loaded.seq
        self.revision = loaded.revision
        self.archived = loaded.archived
        self.frozen = loaded.frozen
        self.purged = loaded.purged
        self.data = VersionedData(loaded.rows, loaded.seq)
        self.requests = Requests(loaded.requests)
        self.closed = dict.fromkeys(loaded.closed_incidents)
        self.goldens = dict.fromkeys(loaded.goldens)
        self.held_changes = dict.fromkeys(loaded.held)  # that wait to be blessed or rejected
        # Drafted and not yet durable, in order; the numbers that follow them, and that follow the state.
        self.pending: deque[Draft] = deque()
        self.next_seq = loaded.seq + 1
        self.next_numbers = {
            "revision": loaded.next_revision,
            "rejection": loaded.next_rejection,
            "incident": loaded.next_incident,
            "golden": loaded.next_golden,
        }
        self.durable_numbers = dict(self.next_numbers)
        self.closing: dict[int, int] = {}  # incident -> the drafted record that closes it
        # Every operation that has arrived and has no answer yet; those below are some of them.
        self.ops: dict[int, Op] = {}
        self.jobs: OrderedDict[int, Op] = OrderedDict()  # their snapshots are kept; oldest first
        self.queue: OrderedDict[int, Op] = OrderedDict()  # calls and previews that wait for a slot
        self.queue_inner: OrderedDict[int, Op] = OrderedDict()  # those that other worlds' calls wait for
        self.slots = 0  # calls and previews that run or are being admitted
        self.running_max = loaded.running_max or limits.CALLS_RUNNING_MAX
        self.admitted: deque[Op] = deque()  # asynchronous calls with a slot whose jobs begin now
        self.parked: dict[int, Op] = {}  # parked and ready
        self.ready: deque[Op] = deque()
        self.ask_timers: dict[int, tuple[Op, int]] = {}  # token -> an ask without an answer
        self.next_token = -1  # of an ask's timer; that of a queued call is its number
        self.waiting: list[Op] = []  # calls that will run again
        self.held: deque[Op] = deque()  # writing calls that ended while another runs alone
        self.alone: Op | None = None  # a call on a hot key: no other starts or commits writes ahead of it
        self.change: Op | None = None  # holds the change lock until its record is durable
        self.changes_queued: deque[Op] = deque()
        self.draining = False
        self.drained = False

    @property
    def is_idle(self) -> bool:
        """Nothing runs, is queued, or is drafted and not durable."""
        return not self.ops and not self.pending

    @property
    def is_at_rest(self) -> bool:
        """Idle but for parked calls that the next process runs again."""
        return not self.pending and all(
            op.phase == "parked" and op.is_durably_admitted for op in self.ops.values()
        )

    @property
    def is_full(self) -> bool:
        """No further call may wait, for a slot or for another world."""
        return len(self.queue) + len(self.queue_inner) + len(self.parked) >= limits.CALLS_QUEUED_MAX

    @property
    def places_taken(self) -> int:
        """Slots, as new calls of this world's own clients find them: who must run again keeps a place."""
        return self.slots + len(self.held) + len(self.waiting)

    @property
    def is_calling(self) -> bool:
        """A call or preview has started and is not drafted."""
        return bool(self.slots or self.jobs or self.waiting)

    @property
    def alone_yields(self) -> bool:
        """Who runs alone waits for another world: what other worlds wait for goes on, lest they wait in a ring."""
        return self.alone is not None and self.alone.phase == "parked"

    @property
    def is_purging(self) -> bool:
        """A purge holds the change lock: no call starts any more, since nothing may follow a tombstone."""
        return self.change is not None and type(self.change.operation) is Purge


def open_world(loaded: Loaded) -> World:
    """The hub of a world whose durable state is `loaded`; nothing is under way in it."""
    assert loaded.next_revision == loaded.revision + 1, "revisions are contiguous"
    assert loaded.next_rejection >= 1 and loaded.next_incident >= 1, "counted from 1"
    assert all(0 < n < loaded.next_golden for n in (*loaded.goldens, *loaded.held)), "Invariant 17"
    world = World(loaded)
    check(world)
    return world


def draft(
    world: World,
    op: Op,
    kind: str,
    detail: Any,
    *,
    number: int | None = None,
    failure: str | None = None,
    writes: tuple = (),
    closes: int | None = None,
) -> Draft:
    """The record of `op`'s outcome, next in order (Invariants 6, 16); its writes are seen once durable.

    `closes` is the incident that it closes.
    """
    op.move("admitting" if kind == "admitted" else "drafted")
    if kind == "call" and number is not None and op.request is not None:
        op.lets_go = op.request.id.startswith(PEER_REQUEST_PREFIX)
    seq = world.next_seq
    world.next_seq = seq + 1
    record = Draft(
        seq,
        kind,
        op.id,
        op.operation,
        op.actor,
        None if op.lets_go else op.request,
        op.flick,
        op.arrived_flick,
        op.seed,
        op.revision,
        op.snapshot,
        op.rerun,
        number,
        writes,
        failure,
        detail,
        tuple(op.talk.heard) if op.talk is not None else (),
        op.asking_name if op.lets_go else op.asks_as,
    )
    world.pending.append(record)
    if closes is not None:
        assert closes not in world.closed and closes not in world.closing, "an incident is closed once"
        world.closing[closes] = seq
    if writes:
        world.data.apply(seq, writes)
    return record


def take_number(world: World, kind: str) -> int:
    """The next number of a kind of record, given again only if never acknowledged (Invariant 17)."""
    count = NUMBERED[kind]
    number = world.next_numbers[count]
    world.next_numbers[count] = number + 1
    return number


def answer(world: World, op: Op, effects: list[Effect], seq: int) -> None:
    """End `op` with its record, for its client and for those that joined it."""
    del world.ops[op.id]
    effects.append(Answer(op.id, seq))
    if op.request is not None:
        assert seq <= world.durable_seq, "Invariant 1"
        requests = world.requests
        joined = requests.release(op.request.id) if op.lets_go else requests.record(op.request.id, seq)
        effects.extend(Answer(other, seq) for other in joined)


def end_run(world: World) -> None:
    """A call or preview has stopped running, for now or for good: its slot is free."""
    world.slots -= 1


def leave(world: World, op: Op, effects: list[Effect]) -> None:
    """A call or preview has run for the last time: its snapshot, its being alone and its asks end."""
    world.jobs.pop(op.id, None)  # one that was to run again had left
    if world.alone is op:
        world.alone = None
    if op.talk is not None:
        for asked in op.talk.open.values():
            del world.ask_timers[asked.token]
            effects.append(CancelTimer(asked.token))
        op.talk.open.clear()


def refuse(world: World, op: Op, effects: list[Effect], refusal: Refusal) -> None:
    """End `op` with nothing recorded; its request id is free again."""
    del world.ops[op.id]
    effects.append(Answer(op.id, None, refusal))
    if op.request is not None:
        effects.extend(Answer(joined, None, refusal) for joined in world.requests.release(op.request.id))


def prune(world: World) -> None:
    """Forget the versions of data that no job can look at any more."""
    # Snapshots never step back, so the first to start has the oldest.
    floor_seq = next(iter(world.jobs.values())).snapshot if world.jobs else world.durable_seq
    if floor_seq > world.data.floor_seq:
        world.data.prune(floor_seq)


def check(world: World) -> None:
    """What holds between any two events. Cheap: it runs after each."""
    assert world.next_seq == world.durable_seq + 1 + len(world.pending), "Invariant 6: no gap in the drafts"
    assert world.data.durable_seq == world.durable_seq, (
        "Invariant 1: data can be read as far as it is durable"
    )
    assert world.data.newest_seq < world.next_seq
    assert world.durable_numbers["revision"] == world.revision + 1, "Invariant 17"
    assert 0 <= world.slots <= world.running_max
    assert len(world.queue) + len(world.queue_inner) <= limits.CALLS_QUEUED_MAX
    assert len(world.changes_queued) <= limits.DEVELOPS_QUEUED_MAX
    if world.ops:
        free = world.slots < world.running_max
        if world.queue:
            assert world.alone is not None or world.places_taken >= world.running_max, "a free slot is used"
        if free:
            assert not world.ready, "a free slot is used by who has an answer"
            assert not world.queue_inner or (world.alone is not None and not world.alone_yields), (
                "a free slot is used by what another world waits for"
            )
        assert world.change is not None or not world.changes_queued, "a free lock is taken"
        assert world.alone is not None or not world.held, "what is held waits for somebody"
        assert world.alone is None or world.alone.id in world.ops, "who runs alone is still there"
        assert len(world.ready) <= len(world.parked), "who is ready was parked"
        assert not world.admitted, "what is admitted begins at once"
    else:
        assert not (world.jobs or world.slots or world.alone or world.change), "nothing is left behind"
        assert not (world.parked or world.ask_timers or world.waiting), "nothing is left behind"
    assert not world.draining or not (world.queue or world.changes_queued), "a draining world starts nothing"
