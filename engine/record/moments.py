"""Worlds as they were: the projection of one world up to one of its records, and its data alone, which is cheaper.

A moment is what stood once record `seq` was applied. It is made of the log only, as the projection is, so it answers
as the projection answered then (Invariant 9). What a purge erased has no moments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, cast

import apsw
from sortedcontainers import SortedDict

from engine.io.blobs import BlobError, Blobs
from engine.io.log import Cursor, Log, LogEntry, LogHead
from engine.limits import MOMENT_RECORDS_STEP
from engine.record.checkpoints import DataBlobRefused, decode_data
from engine.record.kinds import Header, writes_of
from engine.record.projection import schema
from engine.record.projection.apply import Applier, WorldState
from engine.record.projection.queries import Queries
from engine.record.projection.rows import CheckpointRow, RecordRow
from engine.record.records import FIRST_SEQ, decode, decode_header, record_hash
from engine.record.retention import MAY_EXPIRE

Rows = list[tuple[str, bytes]]
_KIND_PURGE = "purge"


class NoMoment(Exception):
    """A world has no such moment: why, and what it has. `erased`: it had, and its records' bodies are gone."""

    def __init__(self, world: str, seq: int, reason: str, *, erased: bool = False) -> None:
        super().__init__(reason)
        self.world = world
        self.seq = seq
        self.reason = reason
        self.erased = erased


class Moment(Queries):
    """One world as it was after its record `seq`: the questions of `Queries`, asked of that time.

    In memory, one thread at a time. Request ids are forgotten by the time of this world's records alone, so some may be
    known here that the whole log's projection had forgotten.
    """

    def __init__(self, log: Log, world: str) -> None:
        """Before the first record: there is no world yet. `advance_to` goes on from there."""
        self.may_lack_bodies = (
            False  # then records without a body are passed over, as in a redacted recording
        )
        self.world_id = world
        self.seq = FIRST_SEQ - 1
        self._log = log
        self._db = apsw.Connection(":memory:")
        self._db.execute(schema.creation())
        self._db.execute("INSERT INTO applied VALUES (0, '', 0)")
        self._applier = Applier(self._db, {})

    def advance_to(self, seq: int) -> None:
        """Apply the records up to `seq`, which is not before where it is.

        Raises NoMoment, RecordForeign, RecordRotten, LogError; then this object is of no more use.
        """
        assert seq >= self.seq, "a moment only goes forward"
        records = _records(self._log, self.world_id, self.seq + 1, seq, may_lack_bodies=self.may_lack_bodies)
        for entries in _in_steps(records):
            cursor, last = entries[-1]
            with self._db:
                self._applier.apply(LogHead(cursor.batch, ""), entries)
            self.seq = last.seq
        assert self.seq == seq, "the log has all records up to its last one"

    @classmethod
    def of(cls, log: Log, world: str, seq: int, rows: Sequence[RecordRow], data: RollingData) -> Moment:
        """The same without reading every record: of `rows`, which a projection knows to have left more than data
        (`Queries.records_but_data`), and of the data at `seq`. It does not know the other records, nor request ids.

        Raises NoMoment, RecordForeign, RecordRotten, LogError.
        """
        assert data.seq == seq and rows, "a world begins with its genesis"
        last_kind = check_there(log, world, seq)
        moment = cls(log, world)
        applier = moment._applier = _SparseApplier(moment._db, {})
        for step in _in_steps((row.cursor, log.read_at(row.cursor)) for row in rows):
            if last_kind != _KIND_PURGE:
                for _, entry in step:
                    _check_whole(world, seq, entry)
            with moment._db:
                applier.apply(LogHead(step[-1][0].batch, ""), step)
        _, last = next(iter(log.read(world, seq)))
        with moment._db:
            applier.end_at(last, data)
        moment.seq = seq
        return moment

    @property
    def rows_count(self) -> int:
        """Rows that are held, of all tables."""
        return sum(self._rows(f"SELECT count(*) FROM {table}")[0][0] for table in schema.TABLES)

    def close(self) -> None:
        self._db.close()

    def _rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        return self._db.execute(sql, bindings).fetchall()


class _SparseApplier(Applier):
    """Takes some of a world's records, and is told where the world stands after all of them."""

    def _follows(self, world: WorldState, header: Header) -> bool:
        return header.seq > world.seq

    def end_at(self, last: LogEntry, data: RollingData) -> None:
        """`last` is the world's record after which `data` stood: they are its data, whatever was applied."""
        world = self._worlds[last.world]
        world.seq, world.hash = last.seq, record_hash(last.header)
        self._touched[world.id] = world
        self._db.execute("DELETE FROM data")
        self._data = {(world.no, schema.pack(key)): (value, last.seq) for key, value in data.rows.items()}
        self._flush()


def projection_at(log: Log, world: str, seq: int) -> Moment:
    """The world after its record `seq`. Raises NoMoment, RecordForeign, RecordRotten, LogError."""
    moment = Moment(log, world)
    moment.advance_to(seq)
    return moment


class RollingData:
    """A world's data at a sequence that only goes forward. It is the data that a job can be run on: `get`, `list`."""

    def __init__(self, log: Log, blobs: Blobs, world: str, checkpoint: CheckpointRow | None = None) -> None:
        """Before the first record, or where the checkpoint stood: then `seq` is the checkpoint's snapshot.

        A checkpoint whose blob cannot be read is passed over: the log has all that it says.
        """
        self.seq = FIRST_SEQ - 1
        self.rows: SortedDict = SortedDict()  # key -> JSON text, by code point
        self._log = log
        self._world = world
        if checkpoint is not None:
            body = checkpoint.body
            try:
                self.rows.update(decode_data(body.data_blob, blobs.get(body.data_blob)))
            except (BlobError, DataBlobRefused):
                return
            self.seq = body.snapshot

    def advance_to(self, seq: int) -> None:
        """Apply the writes of the records up to `seq`, which is not before where it is.

        Raises NoMoment, RecordForeign, RecordRotten, LogError; then this object is of no more use.
        """
        assert seq >= self.seq, "data only rolls forward"
        for _, entry in _records(self._log, self._world, self.seq + 1, seq):
            self.apply(entry)

    def apply(self, entry: LogEntry) -> None:
        """Take the world's next record. Raises RecordForeign, RecordRotten."""
        assert entry.seq == self.seq + 1, "records come in order"
        self.seq = entry.seq
        header, body = decode(entry)
        if header.kind == _KIND_PURGE:
            self.rows.clear()
        for write in writes_of(body):
            if write.value is None:
                self.rows.pop(write.key, None)
            else:
                self.rows[write.key] = write.value

    def get(self, key: str) -> bytes | None:
        """The JSON text under a key; None where there is none."""
        return cast(bytes | None, self.rows.get(key))

    def list(self, prefix: str, after: str | None, limit: int | None) -> Rows:
        """Rows whose key has the prefix and follows `after`, by code point; all of them where `limit` is None."""
        found: Rows = []
        start = prefix if after is None else max(prefix, after)
        for key in self.rows.irange(start):
            if (limit is not None and len(found) >= limit) or not key.startswith(prefix):
                break
            if after is None or key > after:
                found.append((key, self.rows[key]))
        return found


def data_at(
    log: Log, blobs: Blobs, world: str, seq: int, checkpoint: CheckpointRow | None = None
) -> RollingData:
    """The world's data after its record `seq`, rolled forward from a checkpoint that is not above it, if there is one.

    Raises NoMoment, RecordForeign, RecordRotten, LogError.
    """
    assert checkpoint is None or checkpoint.body.snapshot <= seq, "a checkpoint from before"
    data = RollingData(log, blobs, world, checkpoint)
    data.advance_to(seq)
    return data


def _records(
    log: Log, world: str, from_seq: int, until_seq: int, *, may_lack_bodies: bool = False
) -> Iterator[tuple[Cursor, LogEntry]]:
    """A world's records between two sequences, both included. Raises NoMoment, before the first record."""
    last_kind = check_there(log, world, until_seq)
    if from_seq > until_seq:
        return
    for cursor, entry in log.read(world, from_seq):
        if last_kind != _KIND_PURGE and not may_lack_bodies:
            _check_whole(world, until_seq, entry)
        yield cursor, entry
        if entry.seq == until_seq:
            return


def check_there(log: Log, world: str, seq: int) -> str:
    """The kind of the world's last record, up to which there are moments. Raises NoMoment where this one is not there.

    Where the last one is a purge, its own is the only one.
    """
    last = log.last(world)
    if last is None:
        raise NoMoment(world, seq, f"there is no world {world}")
    head = last[0]
    if not FIRST_SEQ <= seq <= head:
        raise NoMoment(world, seq, f"world {world} has records 0 to {head}, so there is no moment {seq}")
    _, entry = next(iter(log.read(world, head)))
    kind = decode_header(entry).kind
    if seq < head and kind == _KIND_PURGE:
        raise _erased(world, seq, f"world {world} was purged by record {head}")
    return kind


def _check_whole(world: str, until_seq: int, entry: LogEntry) -> None:
    """Raise NoMoment where a body that counts is gone: a purge came while its world was being read."""
    if entry.body is None and (kind := decode_header(entry).kind) not in MAY_EXPIRE:
        raise _erased(world, until_seq, f"the body of record {entry.seq}, a {kind}, is erased")


def _in_steps(
    records: Iterable[tuple[Cursor, LogEntry]],
) -> Iterator[list[tuple[Cursor, LogEntry]]]:
    remaining = iter(records)
    while step := list(islice(remaining, MOMENT_RECORDS_STEP)):
        yield step


def _erased(world: str, seq: int, why: str) -> NoMoment:
    return NoMoment(world, seq, f"{why}: what the world was at record {seq} is gone for good", erased=True)
