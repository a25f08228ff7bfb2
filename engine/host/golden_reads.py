"""Reads of pinned results and held changes: what is, and what became of each."""

from __future__ import annotations

import re

from engine.clock.flicks import iso_from_flicks
from engine.host import golden_answers as shapes
from engine.host.api import NotThere
from engine.host.golden_answers import difference_rows, golden_id, outcome_row
from engine.host.parts import Parts
from engine.record import kinds
from engine.record.projection.pinned import Ended, GoldenRow, HeldRow

_ID = re.compile(r"([a-z0-9-]{1,64})\.([1-9][0-9]{0,15})")


class GoldenReads:
    """The part of a host that reads them, on durable state only (Invariant 1)."""

    parts: Parts

    def goldens(self, world: str, *, limit: int, before: int | None) -> shapes.GoldenPage:
        """A world's, newest first, those with a number below `before`. Raises NotThere."""
        ledger = self.parts.ledger
        with ledger.lock:
            if ledger.read().world(world) is None:
                raise NotThere(f"there is no world {world}")
            rows, more = ledger.read().goldens(world, limit=limit, before=before)
            unlike = self._unlike(world)
        return _page(world, rows, unlike, more=more)

    def golden(self, world: str, n: int) -> shapes.GoldenRow | shapes.HeldRow:
        """Raises NotThere."""
        ledger = self.parts.ledger
        with ledger.lock:
            row = ledger.read().golden(world, n)
            unlike = self._unlike(world)
        if row is None:
            raise NotThere(f"no golden {n} in world {world}")
        if isinstance(row, GoldenRow):
            return _golden(world, row, unlike)
        return _held(world, row, with_source=True)

    def all_goldens(self) -> shapes.GoldenPage:
        """What is pinned and what is held now, in all worlds in the order of their creation; each newest first."""
        ledger = self.parts.ledger
        goldens, held = [], []
        with ledger.lock:
            for world in ledger.read().worlds_with_goldens():
                rows = ledger.read().open_goldens(world)
                page = _page(world, rows, self._unlike(world), more=False)
                goldens += page.goldens
                held += page.held
        return shapes.GoldenPage(goldens=goldens, held=held, more=False)

    def _unlike(self, world: str) -> list[int]:
        """The numbers of pinned results that the world's head does not give. Under the ledger's lock."""
        read = self.parts.ledger.read()
        row = read.world(world)
        head = read.revision(world, row.revision) if row is not None else None
        return head.body.unlike if head is not None and isinstance(head.body, kinds.Revision) else []


def parse_golden_id(id: str) -> tuple[str, int] | None:
    """World and number of an id; None for what is none."""
    found = _ID.fullmatch(id)
    return (found[1], int(found[2])) if found else None


def _page(world: str, rows: list[GoldenRow | HeldRow], unlike: list[int], *, more: bool) -> shapes.GoldenPage:
    return shapes.GoldenPage(
        goldens=[_golden(world, row, unlike) for row in rows if isinstance(row, GoldenRow)],
        held=[_held(world, row, with_source=False) for row in rows if isinstance(row, HeldRow)],
        more=more,
    )


def _golden(world: str, row: GoldenRow, unlike: list[int]) -> shapes.GoldenRow:
    blessing = row.blessing
    pinned = shapes.pinned(world, row.body)
    return shapes.GoldenRow(
        id=pinned.id,
        world=world,
        n=row.n,
        state=row.state,
        name=row.body.name,
        call=pinned.call,
        outcome=outcome_row(row.outcome),
        reason=row.body.reason,
        actor=row.actor,
        at=iso_from_flicks(row.flick),
        blessed=None
        if blessing is None
        else shapes.BlessingRow(
            held=golden_id(world, blessing.held),
            revision=blessing.revision,
            actor=blessing.actor,
            at=iso_from_flicks(blessing.flick),
            reason=blessing.reason,
        ),
        ended=_ended(row.ended, None),
        differs=row.state == "pinned" and row.n in unlike,
    )


def _held(world: str, row: HeldRow, *, with_source: bool) -> shapes.HeldRow:
    body, ended = row.body, row.ended
    by = None
    if ended is not None and ended.by is not None:
        by = golden_id(world, ended.by) if row.state == "replaced" else f"revision {ended.by}"
    return shapes.HeldRow(
        id=golden_id(world, row.n),
        world=world,
        n=row.n,
        state=row.state,
        base=body.base,
        cause=body.cause,
        summary=body.summary,
        source=body.source if with_source else None,
        changes=body.changes,
        goldens=difference_rows(world, body.goldens),
        differs=difference_rows(world, body.differs),
        logs=body.logs,
        actor=row.actor,
        at=iso_from_flicks(row.flick),
        commonjs=body.commonjs,
        target=body.target,
        replaces=golden_id(world, body.replaces) if body.replaces is not None else None,
        ended=_ended(ended, by),
    )


def _ended(ended: Ended | None, by: str | None) -> shapes.EndedRow | None:
    if ended is None:
        return None
    return shapes.EndedRow(
        seq=ended.seq, actor=ended.actor, at=iso_from_flicks(ended.flick), reason=ended.reason, by=by
    )
