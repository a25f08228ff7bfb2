"""Divergences: the record from which a replay, or another recording, says something else; and how to look for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from engine.io.log import Log, LogEntry
from engine.limits import REPLAY_SECTION_RECORDS
from engine.record.comparing import Difference, differences, header_differences, one_line
from engine.record.records import FIRST_SEQ, decode, record_hash

STILL_DIVERGES = (
    "that sections go on diverging once one has diverged, as they do where the engine or the rules are others"
)
"""What a search by sections takes for granted. Each of them begins with what was recorded, not with what diverged."""


class Divergence(msgspec.Struct, frozen=True):
    """The first record that does not come out as it was recorded: where, and in what."""

    world: str
    seq: int
    kind: str
    differences: list[Difference]

    def text(self) -> str:
        """For people: a line that says where, and one for each difference."""
        lines = [f"world {self.world}, record {self.seq}, a {self.kind}: expected -> actual"]
        return "\n".join([*lines, *(f"  {one_line(difference)}" for difference in self.differences)])


class Diverged(Exception):
    """What a record came to differs from what it says."""

    def __init__(self, found: Sequence[Difference]) -> None:
        super().__init__("; ".join(map(one_line, found)))
        self.differences = list(found)

    @classmethod
    def in_one(cls, path: str, expected: str, actual: str) -> Diverged:
        return cls([Difference(path, expected, actual)])


class Section(NamedTuple):
    """Records `first` to `last`."""

    first: int
    last: int


def sections(first: int, last: int, checkpoints: Sequence[int]) -> list[Section]:
    """Records cut behind each checkpoint, and every REPLAY_SECTION_RECORDS where there are none, in order."""
    cuts: list[int] = []
    begin = first
    for end in [*(seq for seq in checkpoints if first <= seq < last), last]:
        while end - begin >= 2 * REPLAY_SECTION_RECORDS:
            begin += REPLAY_SECTION_RECORDS
            cuts.append(begin - 1)
        cuts.append(end)
        begin = end + 1
    starts = [first, *(cut + 1 for cut in cuts[:-1])]
    return [Section(start, end) for start, end in zip(starts, cuts, strict=True)]


def first_where(count: int, differs: Callable[[int], bool]) -> int:
    """The first of `count` places that differs, where all after one that differs do too; `count` where none does.

    Asks log2(count) + 1 times at most.
    """
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if differs(middle):
            high = middle
        else:
            low = middle + 1
    return low


def first_difference(log: Log, other: Log, world: str) -> Divergence | None:
    """The first record in which two recordings of a world differ; None where one is the beginning of the other.

    Each record's hash covers all before it, so the search halves what is left and needs no assumption.
    """
    lasts = [one.last(world) for one in (log, other)]
    assert lasts[0] is not None and lasts[1] is not None, "both have the world"
    count = min(last[0] for last in lasts if last is not None) - FIRST_SEQ + 1
    seq = FIRST_SEQ + first_where(
        count, lambda n: _hash_at(log, world, FIRST_SEQ + n) != _hash_at(other, world, FIRST_SEQ + n)
    )
    if seq == FIRST_SEQ + count:
        return None
    expected, actual = _entry_at(log, world, seq), _entry_at(other, world, seq)
    header, body = decode(expected)
    other_header, other_body = decode(actual)
    found = header_differences(header, other_header)
    if body is not None and other_body is not None:
        found = [
            *differences(body, other_body),
            *(difference for difference in found if difference.path not in ("body_hash", "kind")),
        ]
    return Divergence(world, seq, header.kind, found)


def _hash_at(log: Log, world: str, seq: int) -> str:
    return record_hash(_entry_at(log, world, seq).header)


def _entry_at(log: Log, world: str, seq: int) -> LogEntry:
    return next(iter(log.read(world, seq)))[1]
