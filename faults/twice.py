"""Equal lives leave equal traces: the same steps lived twice, in this process or in two."""

from __future__ import annotations

from faults.checking import DETERMINISM, Broken
from faults.lives import Lived, live_life
from faults.steps import Life

_BEFORE = 5


def live_twice(life: Life) -> Lived:
    """Raises Broken, also where the two differ: with the first difference and what came before it."""
    first, second = live_life(life), live_life(life)
    if first.trace_hash != second.trace_hash:
        raise Broken(DETERMINISM, first_difference(first.lines, second.lines))
    return second


def first_difference(one: list[str], other: list[str]) -> str:
    """Where two traces part."""
    shorter = min(len(one), len(other))
    at = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    before = "\n".join(f"  {line[:300]}" for line in one[max(0, at - _BEFORE) : at])
    ends = [lines[at][:300] if at < len(lines) else "(its end)" for lines in (one, other)]
    return f"the two lives part at line {at + 1}, after\n{before}\nfirst:  {ends[0]}\nsecond: {ends[1]}"
