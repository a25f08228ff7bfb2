"""Questions about worlds, answered from the tables. Lists end where their limit says, with whether there is
more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from engine.io.log import Cursor
from engine.limits import INFLIGHT_DEATHS_MAX
from engine.record.canonical import from_bytes
from engine.record.kinds import (
    Call,
    Checkpoint,
    Definition,
    Genesis,
    HeapRef,
    Interrupted,
    Rejection,
    Revision,
)
from engine.record.projection.pinned import PinnedQueries
from engine.record.projection.rows import (
    CheckpointRow,
    DataRow,
    DefinitionRow,
    IncidentRow,
    Page,
    RecordRow,
    RejectionRow,
    RequestRow,
    RevisionRow,
    World,
)
from engine.record.projection.schema import KIND_LEAVES_MORE, pack, unpack
from engine.record.projection.standing import StandingQueries

R = TypeVar("R")
_WORLD = (
    "SELECT id, name, archived, frozen, purged, created_flick, revision, heap_root, heap_blob,"
    " prelude_version, engine, engine_blob, seq, hash, next_revision, next_rejection, next_incident,"
    " definitions, read_bodies_kept_flicks FROM worlds"
)
_NO = "(SELECT no FROM worlds WHERE id = ?)"
_INCIDENT = (
    "SELECT n, this.seq, kind, actor, flick, (SELECT count(*) FROM incidents AS other"
    " WHERE other.world = this.world AND other.alike = this.alike), work, body,"
    " how, endings.seq, reason, value FROM incidents AS this LEFT JOIN endings USING (world, n)"
)
_REQUEST = (
    "SELECT worlds.id, requests.id, requests.hash, requests.seq, flick"
    " FROM requests JOIN worlds ON world = no"
)
_RECORD = "SELECT seq, kind, actor, flick, segment, batch, position FROM records"


class Queries(StandingQueries, PinnedQueries):
    """`_rows` runs one statement and gives all of its rows."""

    def _rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        raise AssertionError("a projection runs statements")

    # ---- worlds

    def worlds(self, archived: bool | None = None) -> list[World]:
        """All worlds, archived ones only or the others only, in the order of their creation."""
        rows = self._rows(f"{_WORLD} WHERE archived IS ? OR ? IS NULL ORDER BY no", (archived, archived))
        return [world for world in map(_world, rows) if world.id not in self.arriving]

    def newest_flick(self) -> int:
        """The flick of the last record that was applied; 0 before the first."""
        return int(self._rows("SELECT flick FROM applied")[0][0])

    def world(self, world: str) -> World | None:
        if world in self.arriving:
            return None
        return _one(_world, self._rows(f"{_WORLD} WHERE id = ?", (world,)))

    # ---- revisions and what they define

    def revisions(self, world: str, limit: int, before: int | None = None) -> Page[RevisionRow]:
        """Newest first, those with a number below `before`."""
        return _page(
            _revision,
            self._newest("revisions", "n, seq, kind, actor, flick, body", world, limit, before),
            limit,
        )

    def revision(self, world: str, n: int) -> RevisionRow | None:
        sql = f"SELECT n, seq, kind, actor, flick, body FROM revisions WHERE world = {_NO} AND n = ?"
        return _one(_revision, self._rows(sql, (world, n)))

    def functions(self, world: str) -> list[DefinitionRow]:
        """The head's definitions, by name."""
        sql = f"SELECT from_n, body FROM definitions WHERE world = {_NO} AND until_n IS NULL ORDER BY name"
        return [_definition(row) for row in self._rows(sql, (world,))]

    def function(self, world: str, name: str) -> DefinitionRow | None:
        sql = f"SELECT from_n, body FROM definitions WHERE world = {_NO} AND name = ? AND until_n IS NULL"
        return _one(_definition, self._rows(sql, (world, pack(name))))

    def definitions_at(self, world: str, n: int) -> list[DefinitionRow]:
        """The definitions as revision `n` had them, by name."""
        sql = (
            f"SELECT from_n, body FROM definitions WHERE world = {_NO} AND from_n <= ?"
            " AND (until_n IS NULL OR until_n > ?) ORDER BY name"
        )
        return [_definition(row) for row in self._rows(sql, (world, n, n))]

    # ---- what went wrong

    def rejections(self, world: str, limit: int, before: int | None = None) -> Page[RejectionRow]:
        """Newest first, those with a number below `before`."""
        return _page(
            _rejection, self._newest("rejections", "n, seq, actor, flick, body", world, limit, before), limit
        )

    def rejection(self, world: str, n: int) -> RejectionRow | None:
        sql = f"SELECT n, seq, actor, flick, body FROM rejections WHERE world = {_NO} AND n = ?"
        return _one(_rejection, self._rows(sql, (world, n)))

    def incidents(self, world: str, limit: int, before: int | None = None) -> Page[IncidentRow]:
        """Newest first, those with a number below `before`."""
        sql = f"{_INCIDENT} WHERE world = {_NO} AND (n < ? OR ? IS NULL) ORDER BY n DESC LIMIT ?"
        return _page(_incident, self._rows(sql, (world, before, before, limit + 1)), limit)

    def incident(self, world: str, n: int) -> IncidentRow | None:
        return _one(_incident, self._rows(f"{_INCIDENT} WHERE world = {_NO} AND n = ?", (world, n)))

    def deaths(self, world: str, work: str) -> int:
        """How many processes are known to have ended while this work ran."""
        sql = f"SELECT coalesce(max(deaths), 0) FROM incidents WHERE world = {_NO} AND work = ?"
        return int(self._rows(sql, (world, work))[0][0])

    def quarantined(self, world: str, revision: int) -> list[str]:
        """The work that is not run again at this revision, sorted."""
        sql = (
            f"SELECT DISTINCT work FROM incidents WHERE world = {_NO} AND deaths >= ?"
            " AND seq > (SELECT seq FROM revisions WHERE world = incidents.world AND n = ?) ORDER BY work"
        )
        return [row[0] for row in self._rows(sql, (world, INFLIGHT_DEATHS_MAX, revision))]

    # ---- data

    def data(self, world: str, prefix: str, after: str | None, limit: int) -> Page[DataRow]:
        """Rows whose key has the prefix and follows `after`, by code point."""
        return _page(_data, self._data_rows(world, prefix, after, limit + 1), limit)

    def all_data(self, world: str) -> list[tuple[str, bytes]]:
        """Every (key, JSON text), by code point."""
        return [(unpack(key), bytes(value)) for key, value, _ in self._data_rows(world, "", None, -1)]

    def value(self, world: str, key: str) -> DataRow | None:
        sql = f"SELECT key, value, seq FROM data WHERE world = {_NO} AND key = ?"
        return _one(_data, self._rows(sql, (world, pack(key))))

    def _data_rows(self, world: str, prefix: str, after: str | None, limit: int) -> list[tuple[Any, ...]]:
        low = pack(prefix)
        bounds, bindings = ["key >= ?"], [low]
        if (high := _past(low)) is not None:
            bounds.append("key < ?")
            bindings.append(high)
        if after is not None:
            bounds.append("key > ?")
            bindings.append(pack(after))
        where = f"world = {_NO} AND {' AND '.join(bounds)}"
        sql = f"SELECT key, value, seq FROM data WHERE {where} ORDER BY key LIMIT ?"
        return self._rows(sql, (world, *bindings, limit))

    # ---- requests, records, checkpoints

    def requests(self, world: str) -> list[RequestRow]:
        """The request ids that are still remembered, oldest first."""
        return [
            _request(row)
            for row in self._rows(f"{_REQUEST} WHERE worlds.id = ? ORDER BY requests.seq", (world,))
        ]

    def request(self, world: str, request_id: str) -> RequestRow | None:
        sql = f"{_REQUEST} WHERE worlds.id = ? AND requests.id = ?"
        return _one(_request, self._rows(sql, (world, pack(request_id))))

    def creation(self, request_id: str) -> RequestRow | None:
        """The world that was created under this request id."""
        sql = f"{_REQUEST} WHERE requests.id = ? AND requests.kind = 'genesis' ORDER BY no DESC"
        return _one(_request, self._rows(sql, (pack(request_id),)))

    def records(self, world: str, after: int, limit: int) -> Page[RecordRow]:
        """Oldest first, those with a sequence above `after` (-1: from the genesis)."""
        sql = f"{_RECORD} WHERE world = {_NO} AND seq > ? ORDER BY seq LIMIT ?"
        return _page(_record, self._rows(sql, (world, after, limit + 1)), limit)

    def record(self, world: str, seq: int) -> RecordRow | None:
        sql = f"{_RECORD} WHERE world = {_NO} AND seq = ?"
        return _one(_record, self._rows(sql, (world, seq)))

    def newest_calls(self, world: str, until: int, limit: int) -> list[RecordRow]:
        """The last calls up to record `until`, newest first."""
        sql = f"{_RECORD} WHERE world = {_NO} AND seq <= ? AND kind = 'call' ORDER BY seq DESC LIMIT ?"
        return [_record(row) for row in self._rows(sql, (world, until, limit))]

    def records_but_data(self, world: str, until: int) -> list[RecordRow]:
        """The records up to `until` that left more here than data, their own row or a request id; oldest first."""
        more = " UNION ".join(
            f"SELECT {seq} FROM {table} WHERE world = {_NO}"
            for table, seq in (("incidents", "seq"), ("endings", "seq"), ("admitted", "outcome_seq"))
        )
        sql = (
            f"{_RECORD} WHERE world = {_NO} AND seq <= ? AND {KIND_LEAVES_MORE}"
            f" UNION {_RECORD} WHERE world = {_NO} AND seq <= ? AND seq IN ({more}) ORDER BY seq"
        )
        return [_record(row) for row in self._rows(sql, (world, until, world, until, world, world, world))]

    def checkpoint(self, world: str, at: int | None = None) -> CheckpointRow | None:
        """The newest checkpoint, or the newest that is not above sequence `at`."""
        sql = (
            f"SELECT seq, body FROM checkpoints WHERE world = {_NO} AND (seq <= ? OR ? IS NULL)"
            " ORDER BY seq DESC LIMIT 1"
        )
        return _one(_checkpoint, self._rows(sql, (world, at, at)))

    def _newest(
        self, table: str, columns: str, world: str, limit: int, before: int | None
    ) -> list[tuple[Any, ...]]:
        where = f"world = {_NO} AND (n < ? OR ? IS NULL)"
        sql = f"SELECT {columns} FROM {table} WHERE {where} ORDER BY n DESC LIMIT ?"
        return self._rows(sql, (world, before, before, limit + 1))


def _page(make: Callable[[tuple[Any, ...]], R], rows: list[tuple[Any, ...]], limit: int) -> Page[R]:
    return Page([make(row) for row in rows[:limit]], len(rows) > limit)


def _one(make: Callable[[tuple[Any, ...]], R], rows: list[tuple[Any, ...]]) -> R | None:
    return make(rows[0]) if rows else None


def _past(prefix: bytes) -> bytes | None:
    """The least bytes above everything with this prefix; None where nothing is."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def _world(row: tuple[Any, ...]) -> World:
    (
        id_,
        name,
        archived,
        frozen,
        purged,
        created,
        revision,
        root,
        blob,
        prelude,
        engine,
        engine_blob,
        *rest,
    ) = row
    seq, hash_, next_revision, next_rejection, next_incident, definitions, kept_flicks = rest
    return World(
        id=id_,
        name=unpack(name),
        archived=bool(archived),
        frozen=bool(frozen),
        purged=bool(purged),
        created_flick=created,
        revision=revision,
        heap=HeapRef(root, blob) if blob else None,
        prelude_version=prelude,
        engine=engine,
        engine_blob=engine_blob,
        seq=seq,
        hash=hash_,
        next_revision=next_revision,
        next_rejection=next_rejection,
        next_incident=next_incident,
        definitions=definitions,
        read_bodies_kept_flicks=kept_flicks,
    )


def _revision(row: tuple[Any, ...]) -> RevisionRow:
    n, seq, cause, actor, flick, body = row
    kind: Any = Genesis if cause == "genesis" else Revision
    return RevisionRow(n, seq, cause, unpack(actor), flick, None if body is None else from_bytes(kind, body))


def _definition(row: tuple[Any, ...]) -> DefinitionRow:
    return DefinitionRow(row[0], from_bytes(Definition, row[1]))


def _rejection(row: tuple[Any, ...]) -> RejectionRow:
    n, seq, actor, flick, body = row
    return RejectionRow(n, seq, unpack(actor), flick, None if body is None else from_bytes(Rejection, body))


def _incident(row: tuple[Any, ...]) -> IncidentRow:
    n, seq, kind, actor, flick, alike, work, body, how, ended_seq, reason, value = row
    body_kind: Any = Call if work is None else Interrupted
    decoded = None if body is None else from_bytes(body_kind, body)
    return IncidentRow(
        n,
        seq,
        kind,
        unpack(actor),
        flick,
        alike,
        decoded,
        state=how or "open",
        closed_reason=unpack(reason) if reason else None,
        answer=value,
        retried_seq=ended_seq if how == "retried" else None,
    )


def _data(row: tuple[Any, ...]) -> DataRow:
    return DataRow(unpack(row[0]), bytes(row[1]), row[2])


def _request(row: tuple[Any, ...]) -> RequestRow:
    world, id_, hash_, seq, flick = row
    return RequestRow(world, unpack(id_), hash_, seq, flick)


def _record(row: tuple[Any, ...]) -> RecordRow:
    seq, kind, actor, flick, segment, batch, position = row
    return RecordRow(seq, kind, unpack(actor), flick, Cursor(segment, batch, position))


def _checkpoint(row: tuple[Any, ...]) -> CheckpointRow:
    return CheckpointRow(row[0], from_bytes(Checkpoint, row[1]))
