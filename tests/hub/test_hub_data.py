"""Rows with versions, against a model that keeps every state there ever was."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from engine.hub import VersionedData
from engine.hub.messages import Read, Write

KEYS = st.text(alphabet=["a", "b", "\x7f", "é", "\ud800", "\uffff", "\U00010000"], max_size=3)
VALUES = st.one_of(st.none(), st.integers(0, 9).map(lambda n: str(n).encode()))


def rows(*keys: str) -> list[tuple[str, bytes]]:
    return [(key, key.encode("utf-8", "surrogatepass")) for key in keys]


def test_a_listing_is_in_order_of_code_points_lone_surrogates_included():
    data = VersionedData(rows("\U00010000", "\uffff", "\ud800", "z", "é"), 1)
    assert [key for key, _ in data.list("", None, None, 1)] == ["z", "é", "\ud800", "\uffff", "\U00010000"]


def test_a_listing_goes_on_after_a_key_and_stops_at_its_limit():
    data = VersionedData(rows("a", "t:1", "t:2", "t:3", "u"), 1)
    assert data.list("t:", None, 2, 1) == rows("t:1", "t:2")
    assert data.list("t:", "t:2", 2, 1) == rows("t:3")
    assert data.list("t:", "a", None, 1) == rows("t:1", "t:2", "t:3")
    assert data.list("t:", "t:9", None, 1) == []
    assert data.list("t:", "u", None, 1) == []
    assert data.list("t:", None, 0, 1) == []


def test_each_sequence_sees_its_own_versions():
    data = VersionedData(rows("k"), 1)
    data.apply(2, [Write("k", b"two")])
    data.apply(3, [Write("k", None), Write("l", b"three")])
    data.settle(3)
    assert [data.get("k", seq) for seq in (1, 2, 3)] == [b"k", b"two", None]
    assert [data.list("", None, None, seq) for seq in (1, 2, 3)] == [
        [("k", b"k")],
        [("k", b"two")],
        [("l", b"three")],
    ]


def test_of_two_writes_to_one_key_in_a_record_the_last_counts():
    data = VersionedData((), 1)
    data.apply(2, [Write("k", b"1"), Write("k", b"2")])
    data.settle(2)
    assert data.get("k", 2) == b"2"
    data.prune(2)
    assert data.versions_count() == 1


def test_what_is_not_durable_cannot_be_read():
    data = VersionedData((), 1)
    data.apply(2, [Write("k", b"1")])
    with pytest.raises(AssertionError, match="Invariant 1"):
        data.get("k", 2)
    with pytest.raises(AssertionError, match="Invariant 1"):
        data.list("", None, None, 2)


def test_dropped_drafts_leave_no_trace():
    data = VersionedData(rows("k"), 1)
    data.apply(2, [Write("k", b"two")])
    data.settle(2)
    data.apply(3, [Write("k", None), Write("new", b"3")])
    data.apply(4, [Write("k", b"four")])
    data.drop_drafts()
    assert data.list("", None, None, 2) == [("k", b"two")]
    assert data.get("k", 1) == b"k"
    assert data.newest_seq == 2
    data.prune(2)
    assert data.versions_count() == 1


def test_tombstones_stay_while_an_older_snapshot_is_read_and_then_go():
    data = VersionedData(rows("k"), 1)
    data.apply(2, [Write("k", None)])
    data.settle(2)
    assert data.changed_since([Read("k")], 1) == "k"
    assert data.versions_count() == 2
    data.prune(2)
    assert data.versions_count() == 0
    assert data.changed_since([Read("k")], 2) is None


def test_a_tombstone_under_a_dropped_draft_is_not_left_behind():
    data = VersionedData(rows("k"), 1)
    data.apply(2, [Write("k", None)])
    data.settle(2)
    data.apply(3, [Write("k", b"three")])
    data.prune(2)
    data.drop_drafts()
    assert data.get("k", 2) is None
    assert data.versions_count() == 0


@pytest.mark.parametrize(
    ("read", "conflicts"),
    [
        (Read("t:2"), True),
        (Read("t:"), False),
        (Read("t:", prefix=True), True),
        (Read("", prefix=True), True),
        (Read("u", prefix=True), False),
        (Read("t:", prefix=True, after="t:1"), True),
        (Read("t:", prefix=True, after="t:2"), False),
        (Read("t:", prefix=True, until="t:1"), False),
        (Read("t:", prefix=True, until="t:2"), True),
        (Read("t:", prefix=True, after="a", until="t:3"), True),
    ],
)
def test_a_change_meets_exactly_the_reads_that_cover_its_key(read: Read, conflicts: bool):
    data = VersionedData(rows("t:1", "t:3"), 1)
    data.apply(2, [Write("t:2", b"new")])
    assert data.changed_since([read], 1) == ("t:2" if conflicts else None)


def test_changes_that_an_older_reader_keeps_do_not_meet_the_ranges_of_a_newer_one():
    data = VersionedData((), 1)
    data.apply(2, [Write("t:1", b"1")])
    data.apply(3, [Write("u", b"1")])
    data.settle(3)
    everything = (Read("t:", prefix=True),)
    assert data.changed_since(everything, 1) == "t:1"
    assert data.changed_since(everything, 2) is None


def test_the_first_changed_key_is_that_of_the_first_read_that_meets_one():
    data = VersionedData((), 1)
    data.apply(2, [Write("b", b"1"), Write("a", b"1"), Write("c", b"1")])
    assert data.changed_since([Read("x"), Read("c"), Read("", prefix=True)], 1) == "c"
    assert data.changed_since([Read("", prefix=True), Read("c")], 1) == "a"


class AgainstEveryState(RuleBasedStateMachine):
    """The model keeps the rows of every sequence; the real one must agree wherever it may be asked."""

    def __init__(self) -> None:
        super().__init__()
        self.data = VersionedData((), 0)
        self.states: list[dict[str, bytes]] = [{}]  # by sequence
        self.changed: list[set[str]] = [set()]
        self.floor = self.durable = 0

    @rule(writes=st.lists(st.builds(Write, KEYS, VALUES), max_size=4))
    def draft(self, writes: list[Write]) -> None:
        state = dict(self.states[-1])
        for write in writes:
            if write.value is None:
                state.pop(write.key, None)
            else:
                state[write.key] = write.value
        self.states.append(state)
        self.changed.append({write.key for write in writes})
        self.data.apply(len(self.states) - 1, writes)

    @rule(share=st.integers(0, 4))
    def settle(self, share: int) -> None:
        self.durable += (len(self.states) - 1 - self.durable) * share // 4
        self.data.settle(self.durable)

    @rule()
    def drop(self) -> None:
        del self.states[self.durable + 1 :]
        del self.changed[self.durable + 1 :]
        self.data.drop_drafts()

    @rule(share=st.integers(0, 4))
    def prune(self, share: int) -> None:
        self.floor += (self.durable - self.floor) * share // 4
        self.data.prune(self.floor)

    @rule(key=KEYS, share=st.integers(0, 4))
    def get(self, key: str, share: int) -> None:
        seq = self.floor + (self.durable - self.floor) * share // 4
        assert self.data.get(key, seq) == self.states[seq].get(key)

    @rule(prefix=KEYS, writes=st.dictionaries(KEYS, st.sampled_from([b"1", b"2"]), max_size=4))
    def writes_to(self, prefix: str, writes: dict[str, bytes]) -> None:
        rows = [(key, value) for key, value in sorted(writes.items()) if key.startswith(prefix)]
        made = self.data.writes_to(prefix, rows)
        state = self.states[-1]
        expected = {key: value for key, value in state.items() if not key.startswith(prefix)} | dict(rows)
        after = dict(state)
        for write in made:
            assert state.get(write.key) != write.value, "nothing is written that is there"
            if write.value is None:
                del after[write.key]
            else:
                after[write.key] = write.value
        assert after == expected
        assert [write.key for write in made] == sorted(write.key for write in made)

    @rule(
        prefix=KEYS,
        after=st.one_of(st.none(), KEYS),
        limit=st.one_of(st.none(), st.integers(0, 4)),
        share=st.integers(0, 4),
    )
    def list(self, prefix: str, after: str | None, limit: int | None, share: int) -> None:
        seq = self.floor + (self.durable - self.floor) * share // 4
        expected = [
            (key, value)
            for key, value in sorted(self.states[seq].items())
            if key.startswith(prefix) and (after is None or key > after)
        ]
        assert self.data.list(prefix, after, limit, seq) == expected[:limit]

    @rule(
        reads=st.lists(
            st.one_of(
                st.builds(Read, KEYS),
                st.builds(Read, KEYS, st.just(True), st.one_of(st.none(), KEYS), st.one_of(st.none(), KEYS)),
            ),
            max_size=3,
        ),
        share=st.integers(0, 4),
    )
    def changed_since(self, reads: list[Read], share: int) -> None:
        seq = self.floor + (len(self.states) - 1 - self.floor) * share // 4
        changed = sorted(set().union(*self.changed[seq + 1 :]))
        expected = next((key for read in reads for key in changed if _covers(read, key)), None)
        assert self.data.changed_since(reads, seq) == expected

    @precondition(lambda self: self.floor == len(self.states) - 1)
    @invariant()
    def only_rows_are_held_when_nobody_looks_back(self) -> None:
        assert self.data.versions_count() == len(self.states[-1])


def _covers(read: Read, key: str) -> bool:
    if not read.prefix:
        return key == read.key
    return (
        key.startswith(read.key)
        and (read.after is None or key > read.after)
        and (read.until is None or key <= read.until)
    )


TestAgainstEveryState = AgainstEveryState.TestCase
TestAgainstEveryState.settings = settings(max_examples=60, stateful_step_count=40, derandomize=True)


@given(st.lists(KEYS, unique=True))
def test_loaded_rows_come_back_sorted(keys: list[str]):
    data = VersionedData(rows(*keys), 5)
    assert data.list("", None, None, 5) == rows(*sorted(keys))
