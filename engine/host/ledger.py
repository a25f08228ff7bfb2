"""The projection as the host uses it: one lock, durable batches applied a little later, always before a read."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from fastrlock.rlock import FastRLock

from engine.host.writer import Written
from engine.hub import messages as hub
from engine.io.disk import Disk
from engine.io.log import Cursor, Log, LogHead
from engine.record import kinds
from engine.record.projection import Projection
from engine.record.projection import rows as projected
from engine.record.projection.pinned import GoldenRow, HeldRow
from engine.record.projection.queries import Queries
from engine.record.records import decode

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LoadedWorld:
    """All that a runtime begins with."""

    hub: hub.Loaded
    heap: kinds.HeapRef
    prelude_version: int
    engine: str
    engine_blob: str
    names: Sequence[str] = ()
    quarantined: Sequence[str] = ()
    checks: Sequence[tuple[int, kinds.CheckEnrolled]] = ()
    grants: Sequence[str] = ()
    page: kinds.PageSet | None = None
    unsettled: Sequence[tuple[int, kinds.Admitted]] = ()
    goldens: Sequence[GoldenRow] = ()
    held: Sequence[tuple[int, str]] = ()
    """Number and cause of each change that is held."""


class LedgerReads:
    """What is asked of worlds' durable records, under one lock. `read` gives the queries."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._lock = FastRLock()

    @property
    def lock(self) -> FastRLock:
        return self._lock

    @property
    def log(self) -> Log:
        return self._log

    def read(self) -> Queries:
        """Use it under `lock`."""
        raise AssertionError("a ledger has queries")

    def has(self, world: str) -> bool:
        with self._lock:
            return self.read().world(world) is not None

    def load(self, world: str) -> LoadedWorld | None:
        """What a world is opened with; None where there is none."""
        with self._lock:
            return loaded_world(self.read(), world)

    def creation(self, request_id: str) -> projected.RequestRow | None:
        """The creation that was asked under this request id."""
        with self._lock:
            return self.read().creation(request_id)

    def held(self, world: str, n: int) -> kinds.Held | None:
        """A held change, whatever became of it; None where there is none of that number."""
        with self._lock:
            row = self.read().golden(world, n)
        return row.body if isinstance(row, HeldRow) else None

    def revision(self, world: str, n: int) -> projected.RevisionRow | None:
        with self._lock:
            return self.read().revision(world, n)

    def revisions(
        self, world: str, *, limit: int, before: int | None
    ) -> projected.Page[projected.RevisionRow]:
        with self._lock:
            return self.read().revisions(world, limit=limit, before=before)

    def functions(self, world: str) -> list[projected.DefinitionRow]:
        """The head's definitions."""
        with self._lock:
            return self.read().functions(world)

    def worlds_with_unsettled(self) -> list[str]:
        with self._lock:
            return self.read().worlds_with_unsettled()

    def definitions_at(self, world: str, n: int) -> list[projected.DefinitionRow]:
        with self._lock:
            return self.read().definitions_at(world, n)

    def incident(self, world: str, n: int) -> kinds.Call | kinds.Interrupted | None:
        """What failed as incident `n`; None where there is none of that number, or it was erased."""
        with self._lock:
            row = self.read().incident(world, n)
        return row.body if row is not None else None

    def deaths(self, world: str, work: str) -> int:
        """How many processes are known to have ended while this work ran."""
        with self._lock:
            return self.read().deaths(world, work)

    def body_at(self, world: str, seq: int) -> kinds.Body | None:
        """One record's body from the log; None where it was erased."""
        with self._lock:
            row = self.read().record(world, seq)
        assert row is not None, "a recorded answer has its record"
        return self.body_of(row.cursor)

    def body_of(self, cursor: Cursor) -> kinds.Body | None:
        return decode(self._log.read_at(cursor))[1]


class Ledger(LedgerReads):
    """Of now, called from any thread. Reads see everything durable (Invariant 2: and nothing more)."""

    def __init__(self, disk: Disk, log: Log) -> None:
        super().__init__(log)
        self._pending: deque[tuple[LogHead, list[Written]]] = deque()
        self._projection = Projection(disk, log)

    def durable(self, head: LogHead, written: list[Written]) -> None:
        """A batch is durable; it is applied at the next read or `catch_up`."""
        self._pending.append((head, written))

    def catch_up(self) -> None:
        """Apply what is durable."""
        with self._lock:
            while self._pending:
                head, written = self._pending[0]
                self._projection.apply(head, [(record.cursor, record.entry) for record in written])
                self._pending.popleft()

    def read(self) -> Projection:
        """The projection, caught up. Use it under `lock`, on the host's thread or a lane."""
        self.catch_up()
        return self._projection

    def warnings(self) -> list[str]:
        """What became of the projection's file, where that is not as it should be."""
        projection = self._projection
        told = []
        if projection.rebuilt is not None:
            told.append(f"the projection was built again from the log: {projection.rebuilt}")
        if projection.trouble is not None:
            told.append(f"the projection is in memory only: {projection.trouble}")
        told += [
            f"world {world} is not whole yet: if nobody imports it now, import its recording again or purge it"
            for world in list(projection.arriving)
        ]
        return told

    def flush(self) -> None:
        """Apply and write down, so that the next opening has nothing to catch up with."""
        with self._lock:
            self.read().commit()

    def scrub(self) -> int:
        """Nothing deleted stays in the projection's files; bytes freed of a damaged one set aside. Raises DiskError."""
        with self._lock:
            return self.read().scrub()

    def abandon(self) -> None:
        """See `Projection.abandon`."""
        self._projection.abandon()

    def close(self) -> None:
        with self._lock:
            self.catch_up()
            self._projection.close()


def loaded_world(queries: Queries, world: str) -> LoadedWorld | None:
    """What a world is opened with, as `queries` have it: now, or as it was at a moment. None where there is none."""
    row = queries.world(world)
    if row is None:
        return None
    opened = queries.open_goldens(world)
    goldens = [golden for golden in reversed(opened) if isinstance(golden, GoldenRow)]
    held = [(held.n, held.body.cause) for held in reversed(opened) if isinstance(held, HeldRow)]
    loaded = hub.Loaded(
        world=world,
        seq=row.seq,
        revision=row.revision,
        next_revision=row.next_revision,
        next_rejection=row.next_rejection,
        next_incident=row.next_incident,
        archived=row.archived,
        frozen=row.frozen,
        purged=row.purged,
        requests={r.id: (r.hash, r.seq, r.flick) for r in queries.requests(world)},
        rows=tuple(queries.all_data(world)),
        closed_incidents=tuple(queries.closed_incidents(world)),
        next_golden=queries.next_golden(world),
        goldens=tuple(golden.n for golden in goldens),
        held=tuple(n for n, _ in held),
    )
    return LoadedWorld(
        hub=loaded,
        heap=row.heap or kinds.HeapRef("", ""),
        prelude_version=row.prelude_version,
        engine=row.engine,
        engine_blob=row.engine_blob,
        names=[d.definition.name for d in queries.functions(world)],
        quarantined=queries.quarantined(world, row.revision),
        checks=[(check.seq, check.body) for check in queries.checks(world)],
        grants=queries.grants(world),
        page=queries.page(world),
        unsettled=[(admitted.seq, admitted.body) for admitted in queries.unsettled(world)],
        goldens=goldens,
        held=held,
    )
