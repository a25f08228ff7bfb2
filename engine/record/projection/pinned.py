"""Pinned call results and held changes: one numbering a world, one table, and what became of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw
import msgspec

from engine.record import kinds
from engine.record.canonical import from_bytes, to_bytes
from engine.record.golden_kinds import Outcome
from engine.record.kinds import Header
from engine.record.projection.schema import pack, unpack

_OF = "world = (SELECT no FROM worlds WHERE id = ?)"
_COLUMNS = "n, seq, kind, actor, flick, body, state, blessing, ended"
_OPEN = "state IN ('pinned', 'open')"


class Blessing(msgspec.Struct, frozen=True):
    """The last time that a pinned result became another one: by which held change, in which revision, who, why."""

    held: int
    revision: int
    actor: str
    flick: int
    reason: str
    outcome: Outcome


class Ended(msgspec.Struct, frozen=True):
    """How a golden was unpinned, or a held change closed; `by` is the revision or held change that followed it."""

    seq: int
    actor: str
    flick: int
    reason: str
    by: int | None = None


class GoldenRow(msgspec.Struct, frozen=True):
    """`state` is pinned or unpinned."""

    n: int
    seq: int
    actor: str
    flick: int
    body: kinds.GoldenPinned
    state: str
    blessing: Blessing | None
    ended: Ended | None

    @property
    def outcome(self) -> Outcome:
        """What the call is to come to: as it was pinned, or as it was blessed last."""
        return self.blessing.outcome if self.blessing is not None else self.body.outcome


class HeldRow(msgspec.Struct, frozen=True):
    """`state` is open, blessed, rejected, replaced (by another one) or unchanged (it changed nothing any more)."""

    n: int
    seq: int
    actor: str
    flick: int
    body: kinds.Held
    state: str
    ended: Ended | None


class Pinned:
    """The rows, written by the kinds of records below. `no` is the world's number in the tables."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def golden_pinned(self, no: int, header: Header, body: kinds.GoldenPinned) -> None:
        self._insert(no, header, body, "pinned")

    def golden_unpinned(self, no: int, header: Header, body: kinds.GoldenUnpinned) -> None:
        self._end(no, body.golden, header, "unpinned", body.reason)

    def held(self, no: int, header: Header, body: kinds.Held) -> None:
        self._insert(no, header, body, "open")
        if body.replaces is not None:
            self._end(no, body.replaces, header, "replaced", "", body.n)

    def held_rejected(self, no: int, header: Header, body: kinds.HeldRejected) -> None:
        self._end(no, body.held, header, "rejected", body.reason)

    def revised(self, no: int, header: Header, body: kinds.Revision) -> None:
        """A revision closes the held change that it makes good; what that changed is pinned as it is now."""
        blessed = body.blessed
        if blessed is None:
            return
        self._end(no, blessed.held, header, "blessed", blessed.reason, body.n)
        for golden, outcome in self._shown(no, blessed.held).items():
            if golden in blessed.goldens:
                blessing = Blessing(blessed.held, body.n, header.actor, header.flick, blessed.reason, outcome)
                self._db.execute(
                    "UPDATE goldens SET blessing = ? WHERE world = ? AND n = ?",
                    (to_bytes(blessing), no, golden),
                )

    def _shown(self, no: int, held: int) -> dict[int, Outcome]:
        """What a held change had shown of pinned results, by number; nothing where its body was left out."""
        sql = "SELECT body FROM goldens WHERE world = ? AND n = ?"
        rows: list[tuple[Any, ...]] = self._db.execute(sql, (no, held)).fetchall()
        return from_bytes(kinds.Held, rows[0][0]).shown if rows else {}

    def unchanged(self, no: int, header: Header, body: kinds.Unchanged) -> None:
        if body.blesses is not None:
            self._end(no, body.blesses, header, "unchanged", "", body.revision)

    def _insert(self, no: int, header: Header, body: kinds.GoldenPinned | kinds.Held, state: str) -> None:
        self._db.execute(
            "INSERT INTO goldens VALUES (?,?,?,?,?,?,?,?,NULL,NULL)",
            (no, body.n, header.seq, header.kind, pack(header.actor), header.flick, to_bytes(body), state),
        )

    def _end(self, no: int, n: int, header: Header, state: str, reason: str, by: int | None = None) -> None:
        ended = Ended(header.seq, header.actor, header.flick, reason, by)
        self._db.execute(
            "UPDATE goldens SET state = ?, ended = ? WHERE world = ? AND n = ?",
            (state, to_bytes(ended), no, n),
        )


APPLY: dict[str, Callable[[Pinned, int, Header, Any], None]] = {
    "golden-pinned": Pinned.golden_pinned,
    "golden-unpinned": Pinned.golden_unpinned,
    "held": Pinned.held,
    "held-rejected": Pinned.held_rejected,
    "unchanged": Pinned.unchanged,
}


class PinnedQueries:
    """Questions about these rows; `_rows` runs one statement."""

    def _rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        raise AssertionError("a projection runs statements")

    def next_golden(self, world: str) -> int:
        """The number that the next pinned call or held change gets."""
        return 1 + self._rows(f"SELECT coalesce(max(n), 0) FROM goldens WHERE {_OF}", (world,))[0][0]

    def goldens(
        self, world: str, limit: int, before: int | None = None
    ) -> tuple[list[GoldenRow | HeldRow], bool]:
        """Pinned calls and held changes, newest first, those with a number below `before`; whether there are more."""
        sql = f"SELECT {_COLUMNS} FROM goldens WHERE {_OF} AND (n < ? OR ? IS NULL) ORDER BY n DESC LIMIT ?"
        rows = self._rows(sql, (world, before, before, limit + 1))
        return [_row(row) for row in rows[:limit]], len(rows) > limit

    def golden(self, world: str, n: int) -> GoldenRow | HeldRow | None:
        rows = self._rows(f"SELECT {_COLUMNS} FROM goldens WHERE {_OF} AND n = ?", (world, n))
        return _row(rows[0]) if rows else None

    def open_goldens(self, world: str) -> list[GoldenRow | HeldRow]:
        """What is pinned and what is held now, newest first."""
        sql = f"SELECT {_COLUMNS} FROM goldens WHERE {_OF} AND {_OPEN} ORDER BY n DESC"
        return [_row(row) for row in self._rows(sql, (world,))]

    def worlds_with_goldens(self) -> list[str]:
        """Worlds with something pinned or held, in the order of their creation."""
        sql = f"SELECT id FROM worlds WHERE no IN (SELECT world FROM goldens WHERE {_OPEN}) ORDER BY no"
        return [world for (world,) in self._rows(sql)]


def _row(columns: tuple[Any, ...]) -> GoldenRow | HeldRow:
    n, seq, kind, packed_actor, flick, body, state, blessing, ended = columns
    actor, end = unpack(packed_actor), from_bytes(Ended, ended) if ended is not None else None
    if kind == "held":
        return HeldRow(n, seq, actor, flick, from_bytes(kinds.Held, body), state, end)
    blessed = from_bytes(Blessing, blessing) if blessing is not None else None
    return GoldenRow(n, seq, actor, flick, from_bytes(kinds.GoldenPinned, body), state, blessed, end)
