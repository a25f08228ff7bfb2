"""The state of one world's hub: what is durable, what is drafted, and every operation under way.

An operation's life (`Op.phase`), and who moves it:

    queued --admission--> running --commit--> drafted --durable--> (answered)
                           |   ^ \\--commit--> held --commit--> drafted, waiting
                           v   | admission
                          waiting  (it read what another changed; it runs again once that is durable)

From every phase it can also end in a refusal: nothing recorded, its request id free again.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Any

from engine import limits
from engine.hub.data import VersionedData
from engine.hub.messages import Admit, Answer, CallDone, Draft, Effect, Loaded, Purge, Refusal
from engine.hub.requests import Requests

MOVES = {
    "arrived": ("queued", "running", "drafted"),
    "queued": ("running", "drafted"),
    "running": ("drafted", "held", "waiting"),
    "held": ("drafted", "waiting"),
    "waiting": ("running",),
    "drafted": (),
}

# Which count a record of a kind takes its number from; a kind that is not here has none.
NUMBERED = {"revision": "revision", "rejection": "rejection", "call": "incident", "interrupted": "incident"}


class Op:
    """One operation from its arrival to its answer."""

    __slots__ = (
        "actor",
        "flick",
        "held",
        "id",
        "operation",
        "phase",
        "request",
        "rerun",
        "revision",
        "seed",
        "snapshot",
        "wait_seq",
    )

    def __init__(self, arrival: Admit) -> None:
        self.id = arrival.op
        self.operation = arrival.operation
        self.actor = arrival.actor
        self.request = arrival.request
        self.flick = arrival.flick
        self.seed = arrival.seed
        self.phase = "arrived"
        self.revision = 0  # what it runs, or ran, on
        self.snapshot = 0  # the durable sequence that it reads, or read
        self.rerun = 0
        self.wait_seq = 0  # while waiting: the sequence that must be durable before it runs again
        self.held: CallDone | None = None  # while held: what its run came to

    def move(self, phase: str) -> None:
        assert phase in MOVES[self.phase], f"operation {self.id} moves from {self.phase} to {phase}"
        self.phase = phase


class World:
    """Opened by `open_world`, changed by `step` alone. The host may read `data` and the durable fields."""

    __slots__ = (
        "alone",
        "archived",
        "change",
        "changes_queued",
        "data",
        "drained",
        "draining",
        "durable_numbers",
        "durable_seq",
        "frozen",
        "held",
        "id",
        "jobs",
        "next_numbers",
        "next_seq",
        "ops",
        "pending",
        "purged",
        "queue",
        "requests",
        "revision",
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
        # Drafted and not yet durable, in order; the numbers that follow them, and that follow the state.
        self.pending: deque[Draft] = deque()
        self.next_seq = loaded.seq + 1
        self.next_numbers = {
            "revision": loaded.next_revision,
            "rejection": loaded.next_rejection,
            "incident": loaded.next_incident,
        }
        self.durable_numbers = dict(self.next_numbers)
        # Every operation that has arrived and has no answer yet; those below are some of them.
        self.ops: dict[int, Op] = {}
        self.jobs: OrderedDict[int, Op] = (
            OrderedDict()
        )  # run, or are held: their snapshots are kept; oldest first
        self.queue: OrderedDict[int, Op] = OrderedDict()  # calls and previews that wait for a slot
        self.slots = 0  # calls and previews that have one: from their start until they are drafted
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
    def is_purging(self) -> bool:
        """A purge holds the change lock: no call starts any more, since nothing may follow a tombstone."""
        return self.change is not None and type(self.change.operation) is Purge


def open_world(loaded: Loaded) -> World:
    """The hub of a world whose durable state is `loaded`; nothing is under way in it."""
    assert loaded.next_revision == loaded.revision + 1, "revisions are contiguous"
    assert loaded.next_rejection >= 1 and loaded.next_incident >= 1, "counted from 1"
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
) -> Draft:
    """The record of `op`'s outcome, next in order (Invariants 6, 16); its writes are seen once durable."""
    op.move("drafted")
    seq = world.next_seq
    world.next_seq = seq + 1
    record = Draft(
        seq,
        kind,
        op.id,
        op.operation,
        op.actor,
        op.request,
        op.flick,
        op.seed,
        op.revision,
        op.snapshot,
        op.rerun,
        number,
        writes,
        failure,
        detail,
    )
    world.pending.append(record)
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
        effects.extend(Answer(joined, seq) for joined in world.requests.record(op.request.id, seq))


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
    assert world.slots <= limits.CALLS_RUNNING_MAX and len(world.queue) <= limits.CALLS_QUEUED_MAX
    assert len(world.changes_queued) <= limits.DEVELOPS_QUEUED_MAX
    if world.ops:
        blocked = world.alone is not None or world.is_purging
        assert blocked or world.slots == limits.CALLS_RUNNING_MAX or not world.queue, "a free slot is used"
        assert world.change is not None or not world.changes_queued, "a free lock is taken"
        assert world.alone is not None or not world.held, "what is held waits for somebody"
        assert world.alone is None or world.alone.id in world.ops, "who runs alone is still there"
    else:
        assert not world.jobs and not world.slots and not world.alone and not world.change, (
            "nothing is left behind"
        )
    assert not world.draining or not (world.queue or world.changes_queued), "a draining world starts nothing"
