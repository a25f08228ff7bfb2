"""Pinned results and held changes as the hub has them: numbers, the change lock, who may still be blessed."""

from __future__ import annotations

import pytest
from hub_bench import Bench

from engine import limits
from engine.hub.messages import (
    AttemptDone,
    Bless,
    Develop,
    Pin,
    RejectHeld,
    Request,
    Rollback,
    Unpin,
)

DEVELOP = Develop("define('f', () => 1)", "f")
PIN = Pin(1, "adds up", "")


def attempt(bench: Bench, operation, verdict: str, detail=None, request: Request | None = None) -> int:
    """Let it run to that verdict and become durable."""
    op = bench.admit(operation, request)
    bench.feed(AttemptDone(op, verdict, detail))
    bench.durable()
    return op


def code(bench: Bench, op: int) -> str:
    return bench.answers[op].refusal.code


def kinds(bench: Bench) -> list[tuple[str, int | None]]:
    return [(draft.kind, draft.number) for draft in bench.drafts]


def test_pinned_results_and_held_changes_are_numbered_together():
    bench = Bench()
    attempt(bench, PIN, "pinned")
    attempt(bench, DEVELOP, "held")
    attempt(bench, PIN, "pinned")
    assert kinds(bench) == [("golden-pinned", 1), ("held", 2), ("golden-pinned", 3)]
    assert (list(bench.world.goldens), list(bench.world.held_changes)) == ([1, 3], [2])


def test_a_blessed_change_becomes_a_revision_and_is_closed_once_that_is_durable():
    bench = Bench(next_golden=2, held=(1,))
    op = bench.admit(Bless(1, "meant"))
    bench.attempt(op)
    assert list(bench.world.held_changes) == [1]
    bench.durable()
    assert kinds(bench) == [("revision", 1)] and not bench.world.held_changes
    again = bench.admit(Bless(1, "meant"))
    assert code(bench, again) == "closed"


def test_of_two_blessings_at_once_the_second_is_refused_and_the_same_request_id_gets_the_same_answer():
    bench = Bench(next_golden=2, held=(1,))
    request = Request("r", "h")
    first, joined, second = (
        bench.admit(Bless(1, ""), request),
        bench.admit(Bless(1, ""), request),
        bench.admit(Bless(1, "")),
    )
    bench.attempt(first)
    bench.durable()
    assert bench.answers[first].seq == bench.answers[joined].seq == 2
    assert code(bench, second) == "closed"


def test_a_blessing_that_finds_something_else_holds_anew_and_closes_what_it_was_asked_for():
    bench = Bench(next_golden=2, held=(1,))
    attempt(bench, Bless(1, ""), "held")
    assert kinds(bench) == [("held", 2)] and list(bench.world.held_changes) == [2]


def test_a_rejected_blessing_leaves_the_held_change_and_one_that_changes_nothing_closes_it():
    bench = Bench(next_golden=2, held=(1,))
    attempt(bench, Bless(1, ""), "rejected")
    assert list(bench.world.held_changes) == [1]
    attempt(bench, Bless(1, ""), "unchanged")
    assert kinds(bench) == [("rejection", 1), ("unchanged", None)] and not bench.world.held_changes


def test_a_held_change_is_rejected_with_a_reason_in_its_turn():
    bench = Bench(next_golden=2, held=(1,))
    blank = bench.admit(RejectHeld(1, " "))
    assert code(bench, blank) == "bad-reason"
    develop, reject = bench.admit(DEVELOP), bench.admit(RejectHeld(1, "no"))
    bench.attempt(develop)
    bench.durable()
    assert kinds(bench) == [("revision", 1), ("held-rejected", None)]
    bench.durable()
    assert bench.answers[reject].seq == 3 and not bench.world.held_changes


def test_a_storage_failure_leaves_what_was_held_as_it_was_and_gives_the_number_again():
    bench = Bench(next_golden=2, held=(1,))
    op = bench.admit(Bless(1, ""))
    bench.feed(AttemptDone(op, "held", None))
    bench.append_fails(durable_seq=1)
    assert list(bench.world.held_changes) == [1] and code(bench, op) == "storage"
    attempt(bench, PIN, "pinned")
    assert kinds(bench) == [("held", 2), ("golden-pinned", 2)]


def test_a_pin_that_does_not_hold_at_the_head_is_a_rejection_and_pins_nothing():
    bench = Bench()
    attempt(bench, PIN, "rejected")
    assert kinds(bench) == [("rejection", 1)] and not bench.world.goldens


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (Bless(9, ""), "no-golden"),
        (Bless(0, ""), "no-golden"),
        (Bless(1, ""), "closed"),  # a pinned result
        (Bless(3, ""), "closed"),  # rejected before
        (RejectHeld(1, "no"), "closed"),
        (RejectHeld(-1, "no"), "no-golden"),
        (Unpin(2, "no"), "closed"),  # a held change
        (Unpin(4, "no"), "no-golden"),
        (Unpin(1, ""), "bad-reason"),
    ],
)
def test_what_names_no_open_golden_is_refused(operation, expected: str):
    bench = Bench(next_golden=4, goldens=(1,), held=(2,))
    assert code(bench, bench.admit(operation)) == expected
    assert not bench.drafts


def test_a_frozen_world_blesses_nothing_and_rejects_and_an_archived_one_does_neither():
    frozen = Bench(next_golden=2, held=(1,), frozen=True)
    assert code(frozen, frozen.admit(Bless(1, ""))) == "frozen"
    frozen.admit(RejectHeld(1, "no"))
    assert kinds(frozen) == [("held-rejected", None)]
    archived = Bench(next_golden=3, goldens=(2,), held=(1,), archived=True)
    for operation in (Bless(1, ""), RejectHeld(1, "no"), Unpin(2, "no"), PIN):
        assert code(archived, archived.admit(operation)) == "archived"


def test_a_world_holds_and_pins_no_more_than_its_limits():
    bench = Bench(next_golden=1 + limits.GOLDENS_MAX, goldens=tuple(range(1, 1 + limits.GOLDENS_MAX)))
    assert code(bench, bench.admit(PIN)) == "too-many"
    held = tuple(range(1, 1 + limits.HELD_CHANGES_MAX))
    full = Bench(next_golden=1 + len(held), held=held)
    assert code(full, full.admit(DEVELOP)) == "too-many"
    assert code(full, full.admit(Rollback(0, "why"))) in ("too-many", "already-head")
    attempt(full, Bless(1, ""), "held")
    assert len(full.world.held_changes) == limits.HELD_CHANGES_MAX
    almost = Bench(next_golden=len(held), held=held[:-1])
    attempt(almost, DEVELOP, "held")
    assert len(almost.world.held_changes) == limits.HELD_CHANGES_MAX
