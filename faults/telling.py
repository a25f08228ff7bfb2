"""What people read: a failure with the one command that shows it again, and the steps of the short life behind it."""

from __future__ import annotations

from pathlib import Path

from faults.checking import Broken, named
from faults.lives import Lived
from faults.shrinking import Shrunk
from faults.steps import Life, from_json, to_json

KEPT = Path(__file__).resolve().parents[1] / "tests" / "faults" / "kept"
"""Lives that broke a promise once, one file each: tests live all of them."""


def failure(seed: str, life: Life, broken: Broken, operations: int | None) -> str:
    """What broke, where, and how to see it again."""
    at = f" at step {broken.step}" if broken.step else " at the end"
    step = f": {life.steps[broken.step - 1]}" if broken.step else ""
    size = f" --ops {operations}" if operations is not None else ""
    return (
        f"{life.options}\n"
        f"BROKEN{at}{step}\n{named(broken.invariant)}: {broken.message}\n"
        f"again: python -m faults {seed}{size}"
    )


def shortened(shrunk: Shrunk) -> str:
    """The short life as a list of steps, and how to keep it."""
    lines = "\n".join(shrunk.life.lines())
    return (
        f"shortened to {len(shrunk.life.steps)} steps by {shrunk.tried} lives; it breaks "
        f"{named(shrunk.broken.invariant)}: {shrunk.broken.message.splitlines()[0]}\n{lines}\n"
        f"to keep it as a test: put the next {len(shrunk.life.steps) + 1} lines into "
        f"tests/faults/kept/what-must-hold.life, named by a sentence\n{to_json(shrunk.life).decode()}"
    )


def summary(lived: Lived) -> str:
    counts = lived.counts
    told = ", ".join(f"{what} {count}" for what, count in sorted(counts.how.items()))
    ended = f"\nended early, rightly: {lived.ended}" if lived.ended else ""
    return (
        f"lived: {counts.asked} operations, {counts.records} records, {counts.deaths} deaths, "
        f"{counts.openings} openings; trace {lived.trace_hash[:16]} of {len(lived.lines)} lines\n{told}{ended}"
    )


def kept_lives() -> dict[str, Life]:
    """By the sentence that each is named with, sorted."""
    return {path.stem: from_json(path.read_bytes()) for path in sorted(KEPT.glob("*.life"))}
