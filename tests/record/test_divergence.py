"""What differs between records is named by its path, and the first that differs is found by halves."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import limits
from engine.io.mem_log import MemLog
from engine.record import kinds
from engine.record.comparing import Difference, differences, json_differences, one_line
from engine.record.divergence import Section, first_difference, first_where, sections
from engine.record.records import encode, genesis_previous

CALL = kinds.Call(
    function="f",
    args=b"[]",
    revision=1,
    snapshot=1,
    flick=5,
    seed=6,
    value=b'{"items":[{"price":5}]}',
    failure=None,
    writes=[kinds.Write("n", b"1"), kinds.Write("m", None)],
    logs=["one", "two"],
    fuel=1000,
    reruns=0,
)
OUTCOMES: list[tuple[dict[str, Any], list[str]]] = [
    ({"value": b'{"items":[{"price":6}]}'}, ["value.items[0].price: 5 -> 6"]),
    ({"value": b'{"items":[]}'}, ['value.items[0]: {"price": 5} -> nothing']),
    ({"value": b'{ "items":[{"price":5}]}'}, ['value: {"items":[{"price":5}]} -> { "items":[{"price":5}]}']),
    ({"value": None}, ['value: {"items":[{"price":5}]} -> null']),
    ({"fuel": 1001}, ["fuel: 1000 -> 1001"]),
    ({"logs": ["one"]}, ['logs[1]: "two" -> nothing']),
    ({"logs": ["one", "2"]}, ['logs[1]: "two" -> "2"']),
    ({"writes": [kinds.Write("n", b"2"), kinds.Write("m", None)]}, ['writes["n"]: 1 -> 2']),
    ({"writes": [kinds.Write("n", b"1")]}, ['writes["m"]: null -> nothing']),
    (
        {"writes": [kinds.Write("m", None), kinds.Write("n", b"1")]},
        ['writes, their order: ["n", "m"] -> ["m", "n"]'],
    ),
    ({"writes": []}, ['writes["n"]: 1 -> nothing', 'writes["m"]: null -> nothing']),
    (
        {"value": None, "failure": kinds.Failure("threw", "Error: no"), "incident": 1},
        [
            'value: {"items":[{"price":5}]} -> null',
            'failure: null -> {"kind": "threw", "error": "Error: no"}',
            "incident: nothing -> 1",
        ],
    ),
]


@pytest.mark.parametrize(("change", "told"), OUTCOMES)
def test_what_differs_is_named_by_its_path(change: dict[str, Any], told: list[str]) -> None:
    found = differences(CALL, kinds.Call(**{**as_fields(CALL), **change}))
    assert [one_line(difference) for difference in found] == told


def as_fields(body: Any) -> dict[str, Any]:
    return {name: getattr(body, name) for name in body.__struct_fields__}


def test_values_that_look_like_records_are_compared_as_values() -> None:
    before, after = (
        b'{"writes":[1,["a",2]],"definitions":[{}]}',
        b'{"writes":[1,["a",3]],"definitions":[{},5]}',
    )
    assert [one_line(difference) for difference in json_differences("value", before, after)] == [
        "value.writes[1][1]: 2 -> 3",
        "value.definitions[1]: nothing -> 5",
    ]


def test_records_of_two_kinds_differ_in_their_kind() -> None:
    edit = kinds.DataEdit(kinds.Write("k", b"1"), "why")
    assert differences(CALL, edit) == [Difference("kind", "call", "data-edit")]
    assert differences(edit, edit) == []


def test_long_texts_are_shown_from_where_they_part_and_many_differences_are_cut() -> None:
    before, after = "x" * 5000 + "a" + "y" * 5000, "x" * 5000 + "b" + "y" * 5000
    (found,) = differences(kinds.CheckRemoved("n", before), kinds.CheckRemoved("n", after))
    assert found.expected.startswith("…" + "x" * 40 + "a") and found.actual.startswith("…" + "x" * 40 + "b")
    assert max(len(found.expected), len(found.actual)) <= limits.DIFFERENCE_CHARS_MAX + 2
    many = json_differences("value", str(list(range(1000))).encode(), str(list(range(1, 1001))).encode())
    assert len(many) == limits.DIFFERENCES_MAX


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_two_values_differ_exactly_if_some_difference_is_told(before: Any, after: Any) -> None:
    import json

    texts = [json.dumps(value, sort_keys=True).encode() for value in (before, after)]
    assert bool(json_differences("value", *texts)) == (texts[0] != texts[1])


@given(st.integers(0, 400), st.integers(0, 500))
def test_the_first_that_differs_is_found_with_few_questions(count: int, first: int) -> None:
    asked: list[int] = []

    def differs(n: int) -> bool:
        asked.append(n)
        assert 0 <= n < count
        return n >= first

    assert first_where(count, differs) == min(first, count)
    assert len(asked) <= math.log2(count + 1) + 1


@given(
    st.integers(0, 50),
    st.integers(0, 3000),
    st.lists(st.integers(0, 3100), max_size=10, unique=True).map(sorted),
)
def test_sections_cover_all_records_once_and_end_at_checkpoints(
    first: int, more: int, checkpoints: list[int]
) -> None:
    last = first + more
    cut = sections(first, last, checkpoints)
    covered = [seq for section in cut for seq in range(section.first, section.last + 1)]
    assert covered == list(range(first, last + 1))
    assert all(0 < s.last - s.first + 1 < 2 * limits.REPLAY_SECTION_RECORDS + 1 for s in cut)
    assert {seq for seq in checkpoints if first <= seq < last} <= {section.last for section in cut}


def test_a_single_record_is_one_section() -> None:
    assert sections(7, 7, [7]) == [Section(7, 7)]


def log_of(bodies: list[kinds.Body], actor: str = "operator") -> MemLog:
    log, previous = MemLog(), genesis_previous()
    for seq, body in enumerate(bodies):
        entry, previous = encode(body, world="a-123456", seq=seq, actor=actor, flick=seq, previous=previous)
        log.append([entry])
    return log


def edits(count: int, *, other_from: int) -> list[kinds.Body]:
    return [kinds.DataEdit(kinds.Write("k", b"%d" % (n + (n >= other_from))), "why") for n in range(count)]


@given(st.integers(1, 40), st.integers(0, 45), st.integers(1, 40))
def test_the_first_record_in_which_two_recordings_part_is_found_by_their_hashes(
    count: int, other_from: int, other_count: int
) -> None:
    ours, theirs = log_of(edits(count, other_from=99)), log_of(edits(other_count, other_from=other_from))
    found = first_difference(ours, theirs, "a-123456")
    if other_from >= min(count, other_count):
        assert found is None
    else:
        assert found is not None and found.seq == other_from
        assert [one_line(d) for d in found.differences] == [
            f'write["value"]: {other_from} -> {other_from + 1}'
        ]


def test_recordings_that_part_in_a_header_alone_say_so() -> None:
    bodies = edits(3, other_from=9)
    found = first_difference(log_of(bodies), log_of(bodies, actor="host"), "a-123456")
    assert found is not None and [one_line(d) for d in found.differences] == ['actor: "operator" -> "host"']
    assert found.text().splitlines()[0] == "world a-123456, record 0, a data-edit: expected -> actual"
