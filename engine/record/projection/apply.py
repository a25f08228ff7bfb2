"""From durable batches to rows. Everything here is a function of the records, in their order (Invariant 9).

Also of erased ones: what expires in the log (bodies of old read-only calls and previews, all bodies of
purged worlds) leaves no row that a rebuild could not make again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from engine.io.log import Cursor, LogEntry, LogHead
from engine.limits import READ_BODIES_KEPT_FLICKS, REQUEST_ID_KEPT_FLICKS
from engine.record import kinds
from engine.record.canonical import to_bytes
from engine.record.kinds import Body, Header, HeapRef
from engine.record.projection.pinned import APPLY as PINNED_KINDS
from engine.record.projection.pinned import Pinned
from engine.record.projection.schema import OF_ONE_WORLD, pack, unpack
from engine.record.projection.standing import APPLY as STANDING_KINDS
from engine.record.projection.standing import Standing
from engine.record.records import (
    FIRST_SEQ,
    RecordRotten,
    decode,
    genesis_previous,
    record_hash,
)

_NO_HEAP = HeapRef("", "")


@dataclass(slots=True)
class WorldState:
    """One row of `worlds`, in the order of its columns."""

    no: int
    id: str
    name: str = ""
    archived: bool = False
    frozen: bool = False
    purged: bool = False
    created_flick: int = 0
    revision: int = 0
    heap: HeapRef = _NO_HEAP
    prelude_version: int = 0
    engine: str = ""
    engine_blob: str = ""
    seq: int = FIRST_SEQ - 1
    hash: str = genesis_previous()
    next_revision: int = 0
    next_rejection: int = 1
    next_incident: int = 1
    definitions: int = 0
    read_bodies_kept_flicks: int = READ_BODIES_KEPT_FLICKS

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> WorldState:
        """Invert `row`."""
        no, id_, name, archived, frozen, purged, created, revision, root, blob, *rest = row
        flags = bool(archived), bool(frozen), bool(purged)
        return cls(no, id_, unpack(name), *flags, created, revision, HeapRef(root, blob), *rest)

    def row(self) -> tuple[object, ...]:
        return (
            self.no,
            self.id,
            pack(self.name),
            self.archived,
            self.frozen,
            self.purged,
            self.created_flick,
            self.revision,
            self.heap.root,
            self.heap.blob,
            self.prelude_version,
            self.engine,
            self.engine_blob,
            self.seq,
            self.hash,
            self.next_revision,
            self.next_rejection,
            self.next_incident,
            self.definitions,
            self.read_bodies_kept_flicks,
        )


class Applier:
    """Writes batches into an open transaction of `db`. After any exception the transaction must be rolled
    back.
    """

    def __init__(self, db: apsw.Connection, worlds: dict[str, WorldState]) -> None:
        """`worlds` are the states that `db` holds."""
        self._db = db
        self._standing = Standing(db)
        self._pinned = Pinned(db)
        self._worlds = worlds
        self._touched: dict[str, WorldState] = {}
        self._records: list[tuple[object, ...]] = []
        self._data: dict[tuple[int, bytes], tuple[bytes | None, int]] = {}
        self._requests: list[tuple[object, ...]] = []

    def apply(self, head: LogHead, entries: Sequence[tuple[Cursor, LogEntry]]) -> None:
        """One whole batch. Raises RecordForeign, RecordRotten."""
        flick: Any = self._db.execute("SELECT flick FROM applied").fetchall()[0][0]
        for cursor, entry in entries:
            header, body = decode(entry)
            flick = header.flick
            self._apply_one(cursor, entry, header, body)
        self._flush()
        self._db.execute("DELETE FROM requests WHERE flick < ?", (flick - REQUEST_ID_KEPT_FLICKS,))
        self._db.execute("UPDATE applied SET batch = ?, hash = ?, flick = ?", (head.batch, head.hash, flick))

    def _apply_one(self, cursor: Cursor, entry: LogEntry, header: Header, body: Body | None) -> None:
        world = self._state_of(entry, header)
        self._records.append(
            (
                world.no,
                header.seq,
                header.kind,
                pack(header.actor),
                header.flick,
                cursor.segment,
                cursor.batch,
                cursor.index,
            )
        )
        if header.kind in STANDING_KINDS:
            if body is not None:
                STANDING_KINDS[header.kind](self._standing, world.no, header, body)
        elif header.kind in PINNED_KINDS:
            if body is not None:
                PINNED_KINDS[header.kind](self._pinned, world.no, header, body)
        else:
            _APPLY[header.kind](self, world, header, body)
        request = getattr(body, "request", None)
        if request is not None:
            self._requests.append(
                (world.no, pack(request.id), request.hash, header.seq, header.kind, header.flick)
            )

    def _state_of(self, entry: LogEntry, header: Header) -> WorldState:
        world = self._worlds.get(entry.world)
        if world is None:
            world = self._worlds[entry.world] = WorldState(len(self._worlds) + 1, entry.world)
            world.created_flick = header.flick
        if not self._follows(world, header):
            raise RecordRotten(
                entry.world,
                entry.seq,
                f"it does not follow record {world.seq} with hash {world.hash}. Run: pw doctor",
            )
        world.seq, world.hash = header.seq, record_hash(entry.header)
        self._touched[world.id] = world
        return world

    def _follows(self, world: WorldState, header: Header) -> bool:
        return header.seq == world.seq + 1 and header.previous == world.hash

    def _flush(self) -> None:
        db = self._db
        db.executemany("INSERT INTO records VALUES (?,?,?,?,?,?,?,?)", self._records)
        gone = [place for place, (value, _) in self._data.items() if value is None]
        kept = [(*place, value, seq) for place, (value, seq) in self._data.items() if value is not None]
        db.executemany("DELETE FROM data WHERE world = ? AND key = ?", gone)
        db.executemany("INSERT OR REPLACE INTO data VALUES (?,?,?,?)", kept)
        db.executemany("INSERT OR REPLACE INTO requests VALUES (?,?,?,?,?,?)", self._requests)
        marks = ",".join("?" * len(WorldState.__slots__) + "?")
        db.executemany(
            f"INSERT OR REPLACE INTO worlds VALUES ({marks})", [w.row() for w in self._touched.values()]
        )
        self._records, self._data, self._requests, self._touched = [], {}, [], {}

    # ---- one kind each

    def _genesis(self, world: WorldState, header: Header, body: kinds.Genesis | None) -> None:
        if body is not None:
            world.name, world.heap, world.prelude_version = body.name, body.heap, body.prelude_version
            world.engine, world.engine_blob = body.engine, body.engine_blob
            self._insert_definitions(world, 0, body.definitions)
        self._insert_revision(world, header, body, n=0, cause="genesis")

    def _revision(self, world: WorldState, header: Header, body: kinds.Revision | None) -> None:
        if body is None:
            self._insert_revision(world, header, None, n=world.next_revision, cause="erased")
            return
        world.heap, world.prelude_version = body.heap, body.prelude_version
        self._insert_revision(world, header, body, n=body.n, cause=body.cause)
        self._pinned.revised(world.no, header, body)
        ended = dict.fromkeys([*body.changes.removed, *(d.name for d in body.definitions)])
        for name in ended:
            self._db.execute(
                "UPDATE definitions SET until_n = ? WHERE world = ? AND name = ? AND until_n IS NULL",
                (body.n, world.no, pack(name)),
            )
            world.definitions -= self._db.changes()
        self._insert_definitions(world, body.n, body.definitions)

    def _insert_definitions(self, world: WorldState, n: int, definitions: list[kinds.Definition]) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO definitions VALUES (?,?,?,NULL,?)",
            [(world.no, pack(d.name), n, to_bytes(d)) for d in definitions],
        )
        world.definitions += len(definitions)

    def _insert_revision(
        self, world: WorldState, header: Header, body: Body | None, *, n: int, cause: str
    ) -> None:
        world.revision, world.next_revision = n, n + 1
        self._db.execute(
            "INSERT INTO revisions VALUES (?,?,?,?,?,?,?)",
            (world.no, n, header.seq, cause, pack(header.actor), header.flick, _bytes_of(body)),
        )

    def _rejection(self, world: WorldState, header: Header, body: kinds.Rejection | None) -> None:
        n = world.next_rejection if body is None else body.n
        world.next_rejection = n + 1
        kind = "erased" if body is None else body.kind
        self._db.execute(
            "INSERT INTO rejections VALUES (?,?,?,?,?,?,?)",
            (world.no, n, header.seq, kind, pack(header.actor), header.flick, _bytes_of(body)),
        )

    def _call(self, world: WorldState, header: Header, body: kinds.Call | None) -> None:
        """An erased call had neither writes nor an incident: only such bodies expire (see `retention`)."""
        if body is None:
            return
        self._standing.call_ended(world.no, header, body)
        for write in body.writes:
            self._data[world.no, pack(write.key)] = (write.value, header.seq)
        if body.incident is not None and body.failure is not None:
            alike = pack(body.function) + b"\0" + pack(body.failure.error.partition("\n")[0])
            self._insert_incident(world, header, body, body.incident, body.failure.kind, alike, None, 0)

    def _interrupted(self, world: WorldState, header: Header, body: kinds.Interrupted | None) -> None:
        if body is None:
            self._insert_incident(world, header, None, world.next_incident, "interrupted", b"", None, 0)
            return
        self._standing.interrupted(world.no, header, body)
        alike = pack(body.subject) + b"\0interrupted"
        self._insert_incident(
            world, header, body, body.incident, "interrupted", alike, body.work, body.deaths
        )

    def _insert_incident(
        self,
        world: WorldState,
        header: Header,
        body: Body | None,
        n: int,
        kind: str,
        alike: bytes,
        work: str | None,
        deaths: int,
    ) -> None:
        world.next_incident = n + 1
        actor = pack(header.actor)
        self._db.execute(
            "INSERT INTO incidents VALUES (?,?,?,?,?,?,?,?,?,?)",
            (world.no, n, header.seq, kind, actor, header.flick, alike, work, deaths, _bytes_of(body)),
        )

    def _data_changed(
        self,
        world: WorldState,
        header: Header,
        body: kinds.DataEdit | kinds.DataRestored | kinds.DataCopied | None,
    ) -> None:
        for write in kinds.writes_of(body):
            self._data[world.no, pack(write.key)] = (write.value, header.seq)

    def _describe(self, world: WorldState, header: Header, body: kinds.Describe | None) -> None:
        if body is None:
            return
        world.name = world.name if body.name is None else body.name
        world.archived = world.archived if body.archived is None else body.archived
        world.frozen = world.frozen if body.frozen is None else body.frozen
        if body.read_bodies_kept_flicks is not None:
            world.read_bodies_kept_flicks = body.read_bodies_kept_flicks

    def _imported(self, world: WorldState, header: Header, body: kinds.Imported | None) -> None:
        """A new lineage: what was promised elsewhere is not promised here (see `kinds.Imported`)."""
        self._flush()
        self._standing.imported(world.no, header)
        self._touched[world.id] = world

    def _purge(self, world: WorldState, header: Header, body: kinds.Purge | None) -> None:
        """What is left is what a rebuild finds when all bodies before this record are gone."""
        self._flush()
        for table in OF_ONE_WORLD:
            self._db.execute(f"DELETE FROM {table} WHERE world = ?", (world.no,))
        blank = WorldState(world.no, world.id, archived=True, frozen=True, purged=True, next_revision=1)
        for name in ("created_flick", "seq", "hash"):
            setattr(blank, name, getattr(world, name))
        self._worlds[world.id] = self._touched[world.id] = blank

    def _checkpoint(self, world: WorldState, header: Header, body: kinds.Checkpoint | None) -> None:
        if body is not None:
            self._db.execute("INSERT INTO checkpoints VALUES (?,?,?)", (world.no, header.seq, to_bytes(body)))

    def _no_rows(self, world: WorldState, header: Header, body: Body | None) -> None:
        """The record itself and its request id are all there is to remember."""


_APPLY: dict[str, Callable[[Applier, WorldState, Header, Any], None]] = {
    "genesis": Applier._genesis,
    "revision": Applier._revision,
    "rejection": Applier._rejection,
    "call": Applier._call,
    "preview": Applier._no_rows,
    "interrupted": Applier._interrupted,
    "data-edit": Applier._data_changed,
    "data-restored": Applier._data_changed,
    "data-copied": Applier._data_changed,
    "imported": Applier._imported,
    "describe": Applier._describe,
    "purge": Applier._purge,
    "checkpoint": Applier._checkpoint,
}


def _bytes_of(body: Body | None) -> bytes | None:
    return None if body is None else to_bytes(body)
