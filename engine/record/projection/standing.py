"""What stands in a world beside its code and data: checks, grants, its page, how incidents ended, admitted calls."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import apsw
import msgspec

from engine.record import kinds
from engine.record.canonical import from_bytes, to_bytes
from engine.record.kinds import Header
from engine.record.projection.schema import pack, unpack


class CheckRow(msgspec.Struct, frozen=True):
    seq: int
    body: kinds.CheckEnrolled


class RemovedCheckRow(msgspec.Struct, frozen=True):
    """`seq`, `actor` and `flick` are those of its removal."""

    seq: int
    actor: str
    flick: int
    reason: str
    body: kinds.CheckEnrolled


class AdmittedRow(msgspec.Struct, frozen=True):
    """A durably admitted call; `outcome_seq` is the record that ended it, None while it goes on."""

    seq: int
    outcome_seq: int | None
    body: kinds.Admitted


class Standing:
    """The rows of one world, written by the kinds of records below. `no` is the world's number in the tables."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def check_enrolled(self, no: int, header: Header, body: kinds.CheckEnrolled) -> None:
        self._db.execute(
            "INSERT INTO checks VALUES (?,?,?,?,NULL,NULL,NULL,NULL)",
            (no, header.seq, pack(body.name), to_bytes(body)),
        )

    def check_removed(self, no: int, header: Header, body: kinds.CheckRemoved) -> None:
        self._db.execute(
            "UPDATE checks SET removed_seq = ?, actor = ?, flick = ?, reason = ?"
            " WHERE world = ? AND name = ? AND removed_seq IS NULL",
            (header.seq, pack(header.actor), header.flick, pack(body.reason), no, pack(body.name)),
        )

    def set(self, no: int, header: Header, body: kinds.Granted | kinds.PageSet) -> None:
        """Grants and page access: the last record counts."""
        self._db.execute("INSERT OR REPLACE INTO settings VALUES (?,?,?)", (no, header.kind, to_bytes(body)))

    def incident_closed(self, no: int, header: Header, body: kinds.IncidentClosed) -> None:
        self._end(no, body.incident, body.how, header.seq, pack(body.reason), body.value)

    def call_ended(self, no: int, header: Header, body: kinds.Call) -> None:
        """A call may settle what it was admitted by, and a successful one the incident that it tried again."""
        if body.retries is not None and body.failure is None:
            self._end(no, body.retries, "retried", header.seq, b"", None)
        if body.admitted is not None:
            self._db.execute(
                "UPDATE admitted SET outcome_seq = ? WHERE world = ? AND seq = ?",
                (header.seq, no, body.admitted),
            )

    def admitted(self, no: int, header: Header, body: kinds.Admitted) -> None:
        self._db.execute(
            "INSERT INTO admitted VALUES (?,?,NULL,?,?,?)",
            (no, header.seq, body.flick, str(body.seed), to_bytes(body)),
        )

    def interrupted(self, no: int, header: Header, body: kinds.Interrupted) -> None:
        """The end of a process ended an admitted call that ran then."""
        self._db.execute(
            "UPDATE admitted SET outcome_seq = ? WHERE world = ? AND flick = ? AND seed = ? AND outcome_seq IS NULL",
            (header.seq, no, body.admitted_flick, str(body.seed)),
        )

    def imported(self, no: int, header: Header) -> None:
        """Nobody may open the page or be called before the operator says so here; what was admitted ends."""
        self._db.execute("DELETE FROM settings WHERE world = ?", (no,))
        self._db.execute("DELETE FROM requests WHERE world = ? AND kind = 'genesis'", (no,))
        self._db.execute(
            "UPDATE admitted SET outcome_seq = ? WHERE world = ? AND outcome_seq IS NULL", (header.seq, no)
        )

    def _end(self, no: int, incident: int, how: str, seq: int, reason: bytes, value: bytes | None) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO endings VALUES (?,?,?,?,?,?)", (no, incident, how, seq, reason, value)
        )


APPLY: dict[str, Callable[[Standing, int, Header, Any], None]] = {
    "check-enrolled": Standing.check_enrolled,
    "check-removed": Standing.check_removed,
    "granted": Standing.set,
    "page-set": Standing.set,
    "incident-closed": Standing.incident_closed,
    "admitted": Standing.admitted,
}

_OF = "world = (SELECT no FROM worlds WHERE id = ?)"


class StandingQueries:
    """Questions about these rows; `_rows` runs one statement.

    `arriving` are worlds of which not all records are here yet: for everybody who asks they are not there.
    """

    arriving: Collection[str] = ()

    def _rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        raise AssertionError("a projection runs statements")

    def checks(self, world: str) -> list[CheckRow]:
        """The checks that judge every change, in the order of their enrolment."""
        sql = f"SELECT seq, body FROM checks WHERE {_OF} AND removed_seq IS NULL ORDER BY seq"
        return [
            CheckRow(seq, from_bytes(kinds.CheckEnrolled, body)) for seq, body in self._rows(sql, (world,))
        ]

    def removed_checks(self, world: str) -> list[RemovedCheckRow]:
        """The checks that were removed, the last one first; they are kept for ever."""
        sql = (
            f"SELECT removed_seq, actor, flick, reason, body FROM checks WHERE {_OF} AND removed_seq IS NOT NULL"
            " ORDER BY removed_seq DESC"
        )
        return [
            RemovedCheckRow(seq, unpack(actor), flick, unpack(reason), from_bytes(kinds.CheckEnrolled, body))
            for seq, actor, flick, reason, body in self._rows(sql, (world,))
        ]

    def grants(self, world: str) -> list[str]:
        """The worlds that this one may call, sorted; none at first."""
        body = self._setting(world, "granted")
        return from_bytes(kinds.Granted, body).worlds if body is not None else []

    def page(self, world: str) -> kinds.PageSet | None:
        """Who may open its page; None until it was said."""
        body = self._setting(world, "page-set")
        return from_bytes(kinds.PageSet, body) if body is not None else None

    def closed_incidents(self, world: str) -> list[int]:
        """Numbers of the incidents that were retried, answered or dismissed, ascending."""
        return [n for (n,) in self._rows(f"SELECT n FROM endings WHERE {_OF} ORDER BY n", (world,))]

    def admitted(self, world: str, seq: int) -> AdmittedRow | None:
        sql = f"SELECT seq, outcome_seq, body FROM admitted WHERE {_OF} AND seq = ?"
        rows = self._rows(sql, (world, seq))
        return _admitted(rows[0]) if rows else None

    def unsettled(self, world: str) -> list[AdmittedRow]:
        """Admitted calls without an outcome, oldest first."""
        sql = f"SELECT seq, outcome_seq, body FROM admitted WHERE {_OF} AND outcome_seq IS NULL ORDER BY seq"
        return [_admitted(row) for row in self._rows(sql, (world,))]

    def worlds_with_unsettled(self) -> list[str]:
        """In the order of their creation."""
        sql = "SELECT id FROM worlds WHERE no IN (SELECT world FROM admitted WHERE outcome_seq IS NULL) ORDER BY no"
        return [world for (world,) in self._rows(sql) if world not in self.arriving]

    def _setting(self, world: str, kind: str) -> bytes | None:
        rows = self._rows(f"SELECT body FROM settings WHERE {_OF} AND kind = ?", (world, kind))
        return rows[0][0] if rows else None


def _admitted(row: tuple[Any, ...]) -> AdmittedRow:
    return AdmittedRow(row[0], row[1], from_bytes(kinds.Admitted, row[2]))
