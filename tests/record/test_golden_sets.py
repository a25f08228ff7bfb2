"""Golden sets: when one is green, and when two results of a call are the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.limits import OUTCOME_ARGS_BYTES_MAX, OUTCOME_BYTES_MAX
from engine.record.canonical import to_bytes
from engine.record.golden_kinds import Outcome
from engine.record.goldens import compare, identity_of, is_same_result, kept, kept_args
from engine.record.kinds import Failure, Write

SETS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2))


def test_nothing_compared_is_never_green():
    assert not compare({}, {}).is_green


@given(blessed=SETS, found=SETS)
def test_a_set_is_green_exactly_if_both_sides_are_equal_and_not_empty(blessed, found):
    comparison = compare(blessed, found)
    assert comparison.is_green == (blessed == found != {})
    told = [*comparison.same, *comparison.changed, *comparison.missing, *comparison.new]
    assert sorted(told) == sorted({**blessed, **found}), "each id is told once"
    for id, changed in comparison.changed.items():
        assert (changed.before, changed.after) == (blessed[id], found[id])


SAME = Outcome(value=b"1", writes=[Write("a", b"1"), Write("b", None)], logs=["x"], fuel=5)
FAILED = Outcome(failure=Failure("threw", "Error: no\n    at f"), fuel=5)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (SAME, Outcome(value=b"1", writes=[Write("b", None), Write("a", b"1")], logs=[], fuel=9), True),
        (SAME, Outcome(value=b"2", writes=SAME.writes), False),
        (SAME, Outcome(value=b"1", writes=[Write("a", b"1")]), False),
        (SAME, Outcome(value=b"1", writes=[Write("a", b"1"), Write("b", b"1")]), False),
        (FAILED, Outcome(failure=Failure("threw", "Error: no\n    at g", "a hint")), True),
        (FAILED, Outcome(failure=Failure("threw", "Error: yes")), False),
        (FAILED, Outcome(failure=Failure("budget", "Error: no")), False),
        (
            Outcome(failure=Failure("missing", "not defined")),
            Outcome(failure=Failure("missing", "f is not defined")),
            True,
        ),
        (Outcome(stopped="it would ask a"), Outcome(stopped="it would ask b"), False),
        (Outcome(stopped="it would ask a"), Outcome(value=b"1"), False),
        (Outcome(value=b"null"), Outcome(), False),
    ],
)
def test_a_result_is_its_value_or_failure_and_its_writes(one: Outcome, other: Outcome, expected: bool):
    assert is_same_result(one, other) == is_same_result(other, one) == expected


@given(
    size=st.integers(OUTCOME_BYTES_MAX - 200, OUTCOME_BYTES_MAX + 200),
    lines=st.integers(0, 3),
    big=st.booleans(),
)
def test_an_outcome_as_it_is_kept_is_the_same_result_within_its_bounds(size: int, lines: int, big: bool):
    outcome = Outcome(value=b'"%s"' % (b"x" * (size if big else 5)), logs=["y" * size] * lines, fuel=7)
    small = kept(outcome)
    assert is_same_result(small, outcome) and kept(small) == small and small.fuel == 7
    assert len(to_bytes(small)) <= OUTCOME_BYTES_MAX
    assert (small == outcome) == (len(to_bytes(outcome)) <= OUTCOME_BYTES_MAX)
    assert big or small.value == outcome.value, "the console goes first"


def test_arguments_too_large_to_be_shown_are_left_out():
    assert kept_args(b"x" * OUTCOME_ARGS_BYTES_MAX) and kept_args(b"x" * (OUTCOME_ARGS_BYTES_MAX + 1)) == b""


def test_identities_are_64_hex_digits():
    assert len(identity_of(SAME)) == 64 and int(identity_of(SAME), 16) >= 0
