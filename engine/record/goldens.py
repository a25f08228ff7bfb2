"""Golden sets: what things are to come to, compared with what they come to now.

One mechanism for the pinned calls of a world and for the repository's own goldens. What an entry is, the caller says;
here is what makes a set green, and when two results of a call are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import eq
from typing import Generic, TypeVar

from blake3 import blake3

from engine.limits import OUTCOME_ARGS_BYTES_MAX, OUTCOME_BEGINNING_CHARS_MAX, OUTCOME_BYTES_MAX
from engine.record.canonical import to_bytes
from engine.record.golden_kinds import Outcome
from engine.record.kinds import Failure, Write

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Changed(Generic[T]):
    before: T
    after: T


@dataclass(frozen=True, slots=True)
class Comparison(Generic[T]):
    """What came of comparing a set, each by its id, in the order of the set; what is new follows."""

    same: dict[str, T]
    changed: dict[str, Changed[T]]
    new: dict[str, T]
    missing: dict[str, T]

    @property
    def is_green(self) -> bool:
        """Something was compared, all of it is the same, and nothing is new or missing."""
        return bool(self.same) and not (self.changed or self.new or self.missing)


def compare(
    blessed: Mapping[str, T], found: Mapping[str, T], *, same: Callable[[T, T], bool] = eq
) -> Comparison[T]:
    """The set that was blessed against what was found, both by id."""
    there = {id: outcome for id, outcome in blessed.items() if id in found}
    return Comparison(
        same={id: outcome for id, outcome in there.items() if same(outcome, found[id])},
        changed={
            id: Changed(outcome, found[id]) for id, outcome in there.items() if not same(outcome, found[id])
        },
        new={id: outcome for id, outcome in found.items() if id not in blessed},
        missing={id: outcome for id, outcome in blessed.items() if id not in found},
    )


# ---- results of calls -----------------------------------------------------------------------------------------------


def is_same_result(one: Outcome, other: Outcome) -> bool:
    """Whether two results of a call are the same: the value's bytes, the kind and first line of a failure, the writes.

    What it printed and the fuel that it took may differ.
    """
    return identity_of(one) == identity_of(other)


def identity_of(outcome: Outcome) -> str:
    """64 hex digits that two outcomes share exactly if they are the same result."""
    if outcome.large is not None:
        return outcome.large
    failure = outcome.failure
    if failure is not None:
        # Of what is not there, the name says all.
        line = "" if failure.kind == "missing" else failure.error.split("\n", 1)[0]
        failure = Failure(failure.kind, line)
    writes = sorted(outcome.writes, key=lambda write: write.key)
    compared = Outcome(value=outcome.value, failure=failure, writes=writes, stopped=outcome.stopped)
    return blake3(to_bytes(compared)).hexdigest()


def kept(outcome: Outcome) -> Outcome:
    """The outcome as records keep it: of a large one its identity, how it begins, its size; and no console."""
    if len(to_bytes(outcome)) <= OUTCOME_BYTES_MAX:
        return outcome
    without_logs = Outcome(
        outcome.value, outcome.failure, outcome.writes, [], outcome.fuel, outcome.stopped, outcome.large
    )
    if len(to_bytes(without_logs)) <= OUTCOME_BYTES_MAX:
        return without_logs
    value = outcome.value or b""  # a failure is never so large: ERROR_CHARS_MAX
    return Outcome(
        large=identity_of(outcome),
        fuel=outcome.fuel,
        beginning=value.decode("utf-8", "replace")[:OUTCOME_BEGINNING_CHARS_MAX],
        size_bytes=len(value) + sum(map(_written_bytes, outcome.writes)),
    )


def _written_bytes(write: Write) -> int:
    return len(write.key.encode("utf-8", "surrogatepass")) + len(write.value or b"")


def kept_args(args: bytes) -> bytes:
    """Arguments as a difference shows them; empty where they are too large for that."""
    return args if len(args) <= OUTCOME_ARGS_BYTES_MAX else b""
