"""Replays: a world's records are lived again by the same hub, jobs and VM, and what they come to is compared.

What came from outside is given as it was recorded: times, seeds, requests, what other worlds answered, in the order in
which it was heard, and what the host said of them. The state before the first record is that of the records before
it, which are not run. A record that cannot be lived again here is taken over as it was written, and counted with the
reason. Nothing is written (Invariant 13).

The log says in which order records were drafted, and on the data of which record each operation ran; that is all of
the schedule that can be seen. So an operation is admitted when its snapshot is durable, and ends when its record is
next; records become durable only as far as the next operation needs it. How often it had run before was left to
chance, and is taken over.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import msgspec

from engine.host.bodies import body_of
from engine.host.ledger import loaded_world
from engine.host.opening import Machine
from engine.host.replaying_heaps import heap_differences
from engine.host.replaying_kinds import GONE, HOW, How, with_what_is_left
from engine.host.replaying_order import Turns, early, oldest_snapshot
from engine.host.replaying_parts import NotRecorded, ReplayJobs, ReplayParts, ReplaySources, replay_parts
from engine.host.replaying_records import Record, Records, as_far_as_known
from engine.host.runtime import Runtime
from engine.host.shell import deep_thread
from engine.hub import messages as hub
from engine.hub import step
from engine.io.blobs import Blobs
from engine.io.log import Log
from engine.record import kinds
from engine.record.comparing import ABSENT, Difference, differences
from engine.record.divergence import Diverged, Divergence
from engine.record.moments import NoMoment, data_at, projection_at
from engine.record.records import FIRST_SEQ

_PROGRESS_RECORDS = 256
_UNBOUNDED = sys.maxsize

Progress = Callable[[int, int], None]
"""Told how many records are done, of how many."""


class CannotReplay(Exception):
    """These records cannot be replayed: why, and what to do."""


class Replayed(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a replay came to.

    `compared` counts records that were lived again, by kind; `taken_over` those that were not, by reason; `erased`
    those without a body. `divergence` is the first record that came out otherwise: there it ended.
    """

    world: str
    from_seq: int
    until_seq: int
    compared: dict[str, int]
    taken_over: dict[str, int]
    erased: int
    divergence: Divergence | None

    @property
    def count(self) -> int:
        """Records that were compared and are equal."""
        return sum(self.compared.values())

    @property
    def is_equal(self) -> bool:
        """Whether something was compared, and all of it is as it was recorded."""
        return self.divergence is None and self.count > 0


def replay(
    log: Log,
    blobs: Blobs,
    world: str,
    machine: Machine,
    *,
    from_seq: int = FIRST_SEQ,
    until_seq: int | None = None,
    on_progress: Progress | None = None,
) -> Replayed:
    """Live a world's records `from_seq` to `until_seq` (its last one) again, as far as they come out as recorded.

    On the process's deep thread; who is there already just goes on. Raises CannotReplay, EngineForeign, and what
    the log and the blobs raise: LogError, BlobError, RecordForeign, RecordRotten.
    """
    last = log.last(world)
    if last is None:
        raise CannotReplay(f"there is no world {world} among these records")
    until_seq = last[0] if until_seq is None else until_seq
    if not FIRST_SEQ <= from_seq <= until_seq <= last[0]:
        raise CannotReplay(
            f"world {world} has records {FIRST_SEQ} to {last[0]}; there are none from {from_seq} until {until_seq}"
        )
    walk = _Walk(log, blobs, world, machine, from_seq, until_seq)
    return deep_thread().run(lambda: walk.go(on_progress))


class _Walk:
    """One replay. `_hub` stands where the records so far have led; `_durable` of them are its state."""

    def __init__(
        self, log: Log, blobs: Blobs, world: str, machine: Machine, from_seq: int, until_seq: int
    ) -> None:
        self._log = log
        self._blobs = blobs
        self._world = world
        self._machine = machine
        self._from = from_seq
        self._until = until_seq
        self._compared: Counter[str] = Counter()
        self._taken_over: Counter[str] = Counter()
        self._erased = 0
        self._jobs_due: dict[int, hub.RunJob] = {}
        self._drafts: list[hub.Draft] = []
        self._ended: dict[int, hub.Answer] = {}  # by what was fed last of each operation
        self._ran: tuple[tuple[hub.Read, ...], int] = (
            (),
            FIRST_SEQ,
        )  # what the last job read, at which record
        self._begun: dict[int, int] = {}  # operations that began before their turn, by their record
        self._admitted: set[int] = set()  # membership only: operations that were admitted durably
        self._next_op = 1

    # ---- the whole way ----------------------------------------------------------------------------------------------

    def go(self, on_progress: Progress | None) -> Replayed:
        parts = self._stand_at(self._start())
        try:
            divergence = self._live_all(on_progress)
        finally:
            parts.ledger.close()
        return Replayed(
            world=self._world,
            from_seq=self._from,
            until_seq=self._until,
            compared=dict(self._compared),
            taken_over=dict(self._taken_over),
            erased=self._erased,
            divergence=divergence,
        )

    def _start(self) -> int:
        """The record whose state the walk begins with: old enough for all snapshots that are looked at."""
        if self._from == FIRST_SEQ:
            return FIRST_SEQ
        return max(FIRST_SEQ, oldest_snapshot(self._log, self._world, self._from, self._until))

    def _stand_at(self, start: int) -> ReplayParts:
        try:
            moment = projection_at(self._log, self._world, start)
        except NoMoment as error:
            if start == FIRST_SEQ:
                raise CannotReplay(error.reason) from None
            return self._stand_at(FIRST_SEQ)  # what is missing on the way may be needed by nothing
        loaded = loaded_world(moment, self._world)
        if loaded is None or not loaded.engine:
            raise CannotReplay(
                f"the genesis of world {self._world} is erased: there is nothing to begin with"
            )
        self._parts = replay_parts(self._log, self._blobs, moment, self._machine)
        self._parts.engines.pool_for(loaded.engine, loaded.engine_blob)
        loaded = dataclasses.replace(loaded, hub=dataclasses.replace(loaded.hub, running_max=_UNBOUNDED))
        self._runtime = Runtime(loaded, self._parts.ledger)
        self._sources = self._runtime.sources = ReplaySources(self._parts.ledger, self._world)
        self._jobs = ReplayJobs(self._parts)
        self._hub = self._runtime.hub
        self._turns = Turns(self._from)
        self._early = deque(early(self._log, self._world, start, self._from, self._until))
        self._records = Records(self._log, self._world, start)
        return self._parts

    def _live_all(self, on_progress: Progress | None) -> Divergence | None:
        count = self._until - self._from + 1
        record = self._records.take(self._hub.durable_seq)
        try:
            if self._from == FIRST_SEQ:
                self._compare_genesis(record)
            for seq in range(self._hub.durable_seq + 1, self._until + 1):
                record = self._records.take(seq)
                self._live(record)
                if on_progress is not None and seq % _PROGRESS_RECORDS == 0 and seq >= self._from:
                    on_progress(seq - self._from + 1, count)
        except Diverged as diverged:
            return Divergence(self._world, record.seq, record.header.kind, diverged.differences)
        return None

    def _compare_genesis(self, record: Record) -> None:
        body, machine = record.body, self._machine
        assert isinstance(body, kinds.Genesis), "a world begins with its genesis"
        if body.origin is not None:
            self._taken_over["the first heap of a copy, which is its origin's"] += 1
        elif body.prelude_version != machine.prelude_version:
            theirs, ours = body.prelude_version, machine.prelude_version
            self._taken_over[f"a first heap of prelude {theirs}, where this build has prelude {ours}"] += 1
        elif body.heap.root != machine.genesis.root:
            raise Diverged.in_one("heap.root", body.heap.root, machine.genesis.root)
        else:
            self._compared[record.header.kind] += 1

    # ---- one record -------------------------------------------------------------------------------------------------

    def _live(self, record: Record) -> None:
        kind, body = record.header.kind, record.body
        how = HOW[kind] if body is not None else GONE
        needed = self._turns.needed(record.seq, kind, body)
        self._parts.ledger.seq = record.seq - 1
        op = self._begun.pop(record.seq, None)
        if op is None:
            if needed >= record.seq:
                raise Diverged.in_one("snapshot", f"a record before {record.seq}", str(needed))
            self._advance(needed)
            how = with_what_is_left(how, kind, body, self._hub, self._log)
            op = self._begin(record, how)
        why_not = how.why_not(body) if body is not None else None
        is_lived = record.seq >= self._from and body is not None and why_not is None
        if how.came_to is not None:
            job = self._jobs_due.pop(op, None)
            if job is None:
                raise self._refused(op)
            self._feed(self._run(op, job, record) if is_lived else how.came_to(op, body))
        draft = self._drafted(op, record)
        if is_lived:
            self._compare(record, draft)
        elif record.seq >= self._from:
            self._count_apart(why_not)
        self._become(record, draft.detail if is_lived else None)

    def _begin(self, record: Record, how: How) -> int:
        """Admit a record's operation as it was admitted, on what is durable now."""
        op = self._next_op
        self._next_op += 1
        header, body = record.header, record.body
        request = getattr(body, "request", None)
        if request is not None:
            self._settle_id(request.id)
        operation = how.operation(body)
        if isinstance(operation, hub.RestoreData):
            operation = dataclasses.replace(operation, rows=self._rows_at(operation))
        admit = hub.Admit(
            op,
            operation,
            header.actor,
            hub.Request(request.id, request.hash) if request is not None else None,
            getattr(body, "flick", header.flick),
            0,
            getattr(body, "seed", None) or 0,
            header.flick,
            getattr(body, "reruns", 0),
            getattr(body, "asks_as", None),
        )
        if header.kind == "admitted":
            self._admitted.add(op)
        self._feed(admit)
        return op

    def _settle_id(self, id: str) -> None:
        """An id that comes again had been forgotten, so the record that had it before was durable."""
        under = [draft.seq for draft in self._hub.pending if draft.request and draft.request.id == id]
        if under:
            self._advance(under[-1])

    def _rows_at(self, restore: hub.RestoreData) -> tuple[tuple[str, bytes], ...]:
        data = data_at(self._log, self._blobs, self._world, restore.at)
        return tuple(data.list(restore.prefix, None, None))

    def _run(self, op: int, job: hub.RunJob, record: Record) -> hub.Event:
        """Run a job as it was recorded, and give it the recorded answers of other worlds, in the order of old."""
        body: Any = record.body
        answers = iter(getattr(body, "answers", ()))
        try:
            event = self._jobs.run_as_recorded(self._runtime, job, body)
            while isinstance(event, hub.CallWaiting):
                self._feed(event)
                answer = next(answers, None)
                if answer is None:
                    asked = [f"{ask.world}.{ask.function}" for ask in event.asks]
                    raise Diverged.in_one("answers", "no further answer", f"it waits for one, asked {asked}")
                kind = answer.kind or ("" if answer.ok else "threw")
                self._feed(hub.PeerAnswered(op, answer.ordinal, answer.ok, answer.value, kind))
                resumed = self._jobs_due.pop(op, None)
                if resumed is None:
                    raise Diverged.in_one(
                        "answers", f"{answer.world}.{answer.function} as call {answer.ordinal}", "not asked"
                    )
                event = self._jobs.run_as_recorded(self._runtime, resumed, body)
        except NotRecorded as asked_for:
            raise Diverged.in_one("looks", ABSENT, str(asked_for)) from None
        self._ran = event.reads if isinstance(event, hub.CallDone) else (), job.snapshot
        return event

    def _drafted(self, op: int, record: Record) -> hub.Draft:
        if len(self._drafts) != 1 or self._drafts[0].seq != record.seq:
            raise self._refused(op)
        self._ended.pop(op, None)
        return self._drafts.pop()

    def _refused(self, op: int) -> Diverged:
        """Why the hub made no record where there is one."""
        ended = self._ended.get(op)
        if ended is not None and ended.refusal is not None:
            return Diverged.in_one(
                "kind", "a record", f"refused, {ended.refusal.code}: {ended.refusal.error}"
            )
        if ended is not None:
            return Diverged.in_one("kind", "a record", f"answered by record {ended.seq}")
        changed = self._hub.data.changed_since(*self._ran)
        if changed is None:
            return Diverged.in_one("kind", "a record", ABSENT)
        unchanged = f"nothing that it read changed after record {self._ran[1]}"  # Invariant 12
        return Diverged.in_one("snapshot", unchanged, f"{changed!r} did")

    def _compare(self, record: Record, draft: hub.Draft) -> None:
        recorded: Any = record.body
        actual: Any = as_far_as_known(recorded, body_of(draft), self._runtime.goldens)
        if actual != recorded:
            raise Diverged(self._differences(recorded, actual))
        self._compared[record.header.kind] += 1

    def _differences(self, recorded: kinds.Body, actual: kinds.Body) -> list[Difference]:
        """Of heaps also what the world would see of them; the blob is only where one is kept."""
        if not isinstance(recorded, kinds.Revision) or not isinstance(actual, kinds.Revision):
            return differences(recorded, actual)
        if actual.heap.root == recorded.heap.root:
            return differences(recorded, actual)
        pool = self._parts.engines.pool_for(*self._runtime.engine)
        in_heaps = heap_differences(pool, self._parts.images, recorded.heap, actual.heap)
        heap = kinds.HeapRef(actual.heap.root, recorded.heap.blob)
        return [*differences(recorded, msgspec.structs.replace(actual, heap=heap)), *in_heaps]

    def _count_apart(self, why_not: str | None) -> None:
        if why_not is None:
            self._erased += 1
        else:
            self._taken_over[why_not] += 1

    def _become(self, record: Record, detail: Any) -> None:
        """The host's side of a draft: what will be the state once it is durable."""
        body = record.body
        if body is None:
            return
        self._runtime.undurable[record.seq] = body
        if isinstance(body, kinds.Revision):
            self._runtime.catalogue = detail.catalogue if detail is not None else None
            self._sources.passed(body)

    # ---- the hub ----------------------------------------------------------------------------------------------------

    def _advance(self, seq: int) -> None:
        """Let records up to `seq` become durable; whoever began on fewer begins on the way."""
        while self._early and self._early[0].snapshot < seq:
            snapshot, early_seq = self._early.popleft()
            if early_seq <= self._records.taken:
                continue  # it began in its turn
            self._make_durable(snapshot)
            record = self._records.peek(early_seq)
            self._begun[early_seq] = self._begin(record, HOW[record.header.kind])
        self._make_durable(seq)

    def _make_durable(self, seq: int) -> None:
        if seq <= self._hub.durable_seq:
            return
        self._runtime.made_durable(seq)
        self._feed(hub.Durable(seq))

    def _feed(self, event: hub.Event) -> None:
        """What is asked of other worlds, timed or answered concerns nobody here."""
        dropped = []
        for effect in step(self._hub, event):
            if isinstance(effect, hub.RunJob):
                if effect.op in self._admitted:
                    dropped.append(effect.op)
                else:
                    self._jobs_due[effect.op] = effect
            elif isinstance(effect, hub.Append):
                self._drafts.extend(effect.drafts)
            elif isinstance(effect, hub.Answer) and effect.op == getattr(event, "op", None):
                self._ended[effect.op] = effect
        for op in dropped:
            # Its outcome, if it has one, begins anew on the data that was its own: perhaps another process ran it.
            self._admitted.discard(op)
            self._feed(hub.JobLost(op, ""))


__all__ = ["CannotReplay", "Divergence", "Replayed", "replay"]
