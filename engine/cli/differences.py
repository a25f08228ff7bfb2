"""Printing what a change would change: each call with its result before and after, line by line."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from engine.cli.output import say

if TYPE_CHECKING:
    from engine.host.golden_answers import CallRow, DifferenceRow, OutcomeRow

SHORT_CHARS = 60


def show_differences(rows: Sequence[DifferenceRow]) -> None:
    """Each call, and how the lines of its result change: "-" before, "+" after."""
    for row in rows:
        pinned = f', pinned as "{row.name}" ({row.golden})' if row.golden else ""
        say(f"  {call_text(row.call)}, record {row.call.seq}{pinned}")
        for line in _diff(list(_lines(row.before)), list(_lines(row.after))):
            say(f"    {line}")


def each_once(goldens: Sequence[DifferenceRow], differs: Sequence[DifferenceRow]) -> list[DifferenceRow]:
    """Pinned results first, then those of the recorded calls that are not among them."""
    pinned = {row.call.seq for row in goldens}
    return [*goldens, *(row for row in differs if row.call.seq not in pinned)]


def call_text(call: CallRow) -> str:
    """A call as one writes it."""
    if call.args is None:
        return f"{call.function}(…)"
    text = ", ".join(json.dumps(value, ensure_ascii=False) for value in json.loads(bytes(call.args)))
    return f"{call.function}({_short(text)})"


def outcome_text(outcome: OutcomeRow) -> str:
    """A result in one line."""
    if outcome.stopped is None and outcome.large is None and outcome.error is None:
        first = _short(json.dumps(json.loads(bytes(outcome.value or b"null")), ensure_ascii=False))
    else:
        first = next(_lines(outcome))
    return f"{first}, {len(outcome.writes)} written" if outcome.writes else first


def _lines(outcome: OutcomeRow) -> Iterator[str]:
    if outcome.stopped is not None:
        yield f"not known: {outcome.stopped}"
    elif outcome.large is not None:
        size = f"{outcome.size_bytes:,} bytes in all, " if outcome.size_bytes else ""
        yield f"{_short(outcome.beginning, cut=True)} ({size}too large to be kept: {outcome.large[:16]})"
    elif outcome.error is not None:
        yield outcome.error.split("\n", 1)[0]
    else:
        yield from _json_lines(bytes(outcome.value or b"null"))
    for write in outcome.writes:
        if write.deleted:
            yield f"deletes {write.key}"
        else:
            first, *rest = _json_lines(bytes(write.value or b"null"))
            yield f"writes {write.key}: {first}"
            yield from rest
    yield from (f"log: {line}" for line in outcome.logs or [])


def _short(text: str, *, cut: bool = False) -> str:
    """The text, or how it begins; `cut`: there is more of it than that."""
    if len(text) <= SHORT_CHARS and not cut:
        return text
    return text[: SHORT_CHARS - 1] + "…"


def _json_lines(text: bytes) -> list[str]:
    value = json.loads(text)
    line = json.dumps(value, ensure_ascii=False)
    return [line] if len(line) <= SHORT_CHARS else json.dumps(value, ensure_ascii=False, indent=1).split("\n")


def _diff(before: list[str], after: list[str]) -> Iterator[str]:
    lines = difflib.unified_diff(before, after, n=1, lineterm="")
    for line in list(lines)[2:]:  # without the heads of files that there are none of
        if not line.startswith("@@"):
            yield f"{line[:1]} {line[1:]}"
        elif not line.startswith(("@@ -1,", "@@ -1 ")):
            yield "…"
