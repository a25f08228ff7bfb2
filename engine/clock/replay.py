"""Clock readings recorded and given again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from engine.clock.clock import Clock


class Reading(NamedTuple):
    """One reading of a clock."""

    which: Literal["wall", "monotonic"]
    flicks: int


class ReadingDiverged(Exception):
    """A replay asked the clock something else than the recorded run did: which reading, recorded, asked."""


class RecordingClock:
    """A clock that keeps what it said."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.readings: list[Reading] = []

    def now_flicks(self) -> int:
        self.readings.append(Reading("wall", self._clock.now_flicks()))
        return self.readings[-1].flicks

    def monotonic_flicks(self) -> int:
        self.readings.append(Reading("monotonic", self._clock.monotonic_flicks()))
        return self.readings[-1].flicks


class ReplayingClock:
    """A clock that says again what was recorded, in that order, and refuses any other question."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self._readings = readings
        self._next = 0

    def now_flicks(self) -> int:
        return self._reading("wall")

    def monotonic_flicks(self) -> int:
        return self._reading("monotonic")

    def _reading(self, which: Literal["wall", "monotonic"]) -> int:
        if self._next == len(self._readings):
            raise ReadingDiverged(
                f"clock reading {self._next}: the recording ended, the replay asked for {which} time"
            )
        reading = self._readings[self._next]
        if reading.which != which:
            raise ReadingDiverged(
                f"clock reading {self._next}: recorded {reading.which} time, "
                f"the replay asked for {which} time"
            )
        self._next += 1
        return reading.flicks
