"""What the projection knows of pinned call results and held changes."""

from __future__ import annotations

from record_lives import Book, difference, genesis, golden, held, outcome, revision, unchanged

from engine.io.mem_log import MemLog
from engine.record.golden_kinds import Blessed
from engine.record.kinds import GoldenUnpinned, HeldRejected, Purge
from engine.record.projection import Ended, Projection


def projected(*bodies) -> Projection:
    log = MemLog()
    Book(log).write("w", genesis(), *bodies)
    return Projection(None, log)


def states(projection: Projection) -> dict[int, str]:
    rows, _ = projection.goldens("w", limit=100)
    return {row.n: row.state for row in rows}


def test_pinned_calls_and_held_changes_share_one_numbering_newest_first():
    projection = projected(golden(1), held(2), golden(3))
    rows, more = projection.goldens("w", limit=2)
    assert [(row.n, row.state) for row in rows] == [(3, "pinned"), (2, "open")] and more
    rows, more = projection.goldens("w", limit=2, before=2)
    assert [row.n for row in rows] == [1] and not more
    assert projection.next_golden("w") == 4
    assert projection.next_golden("nobody") == 1


def test_a_blessing_pins_what_the_call_comes_to_now_and_closes_the_held_change():
    blessed = Blessed(2, "meant", [1])
    projection = projected(
        golden(1), held(2, goldens=[difference(1), difference(9)]), revision(1, "f", blessed=blessed)
    )
    row = projection.golden("w", 1)
    assert row.outcome == difference(1).after and row.body.outcome == golden(1).outcome
    assert (row.blessing.held, row.blessing.revision, row.blessing.reason) == (2, 1, "meant")
    assert projection.golden("w", 2).ended == Ended(3, "operator", 1000, "meant", by=1)
    assert [row.n for row in projection.open_goldens("w")] == [1]


def test_a_held_change_ends_rejected_replaced_or_unchanged():
    projection = projected(
        held(1),
        HeldRejected(1, "no"),
        held(2),
        held(3, replaces=2),
        unchanged(0, blesses=3),
        golden(4),
        GoldenUnpinned(4, "gone"),
    )
    assert states(projection) == {4: "unpinned", 3: "unchanged", 2: "replaced", 1: "rejected"}
    assert projection.golden("w", 2).ended.by == 3
    assert projection.golden("w", 1).ended.reason == "no"
    assert projection.open_goldens("w") == [] and projection.worlds_with_goldens() == []


def test_a_purge_leaves_none_of_them():
    projection = projected(golden(1), held(2), Purge("asked"))
    assert states(projection) == {} and projection.worlds_with_goldens() == []


def test_what_is_pinned_unblessed_is_as_it_was_pinned():
    row = projected(golden(1)).golden("w", 1)
    assert row.outcome == golden(1).outcome != outcome()
