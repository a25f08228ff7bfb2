"""The Clock port, and the clock that owns its time.

Wall time says what time it is; it may jump, also back. Monotonic time only grows, from a beginning that means
nothing; timers and time-outs run on it.
"""

from __future__ import annotations

from typing import Protocol

from engine.limits import FLICKS_PER_SECOND

PPM = 1_000_000
# 2000-01-01T00:00:00Z: the first wall time of a simulation.
SIM_WALL_START_FLICKS = 946_684_800 * FLICKS_PER_SECOND
# Far from any wall time: whoever compares the two clocks fails at once, and not in some year to come.
SIM_MONOTONIC_START_FLICKS = 7_777_777 * FLICKS_PER_SECOND


class Clock(Protocol):
    def now_flicks(self) -> int:
        """Wall time: flicks since 1970-01-01T00:00:00Z. May step back."""
        ...

    def monotonic_flicks(self) -> int:
        """Flicks since some beginning; never less than the last reading."""
        ...


class SimClock:
    """A clock that moves only when told. Its wall time may run fast or slow, and jump.

    `drift_ppm`: so many flicks in a million that wall time gains on monotonic time (negative: loses).
    """

    def __init__(
        self,
        *,
        wall_flicks: int = SIM_WALL_START_FLICKS,
        monotonic_flicks: int = SIM_MONOTONIC_START_FLICKS,
        drift_ppm: int = 0,
    ) -> None:
        self._monotonic_flicks = monotonic_flicks
        self._anchor_wall_flicks = wall_flicks
        self._anchor_monotonic_flicks = monotonic_flicks
        self._drift_ppm = drift_ppm
        self._jumps: list[tuple[int, int]] = []  # (monotonic flicks, gain), ascending

    def now_flicks(self) -> int:
        return self._wall_at(self._monotonic_flicks)

    def monotonic_flicks(self) -> int:
        return self._monotonic_flicks

    def advance_to(self, monotonic_flicks: int) -> None:
        """Move on to a monotonic time, through the jumps that were set on the way."""
        assert monotonic_flicks >= self._monotonic_flicks, "monotonic time does not go back"
        while self._jumps and self._jumps[0][0] <= monotonic_flicks:
            at_flicks, gain_flicks = self._jumps.pop(0)
            self._anchor(at_flicks, self._wall_at(at_flicks) + gain_flicks)
        self._monotonic_flicks = monotonic_flicks

    def advance_by(self, flicks: int) -> None:
        """Move on by so many monotonic flicks."""
        self.advance_to(self._monotonic_flicks + flicks)

    def jump(self, gain_flicks: int) -> None:
        """Set wall time so much ahead, or back if negative, now. Monotonic time does not notice."""
        self._anchor(self._monotonic_flicks, self.now_flicks() + gain_flicks)

    def jump_at(self, monotonic_flicks: int, gain_flicks: int) -> None:
        """Let wall time jump when monotonic time gets there; equal times keep the order they were set in."""
        assert monotonic_flicks > self._monotonic_flicks, "a jump to come; `jump` makes one now"
        self._jumps.append((monotonic_flicks, gain_flicks))
        self._jumps.sort(key=lambda jump: jump[0])

    def drift(self, drift_ppm: int) -> None:
        """Let wall time run by so many flicks in a million faster (negative: slower) from now on."""
        assert drift_ppm > -PPM, "wall time does not run backwards; it may `jump` back"
        self._anchor(self._monotonic_flicks, self.now_flicks())
        self._drift_ppm = drift_ppm

    def _wall_at(self, monotonic_flicks: int) -> int:
        passed_flicks = monotonic_flicks - self._anchor_monotonic_flicks
        return self._anchor_wall_flicks + passed_flicks * (PPM + self._drift_ppm) // PPM

    def _anchor(self, monotonic_flicks: int, wall_flicks: int) -> None:
        """Count wall time from here on from these two."""
        self._anchor_monotonic_flicks = monotonic_flicks
        self._anchor_wall_flicks = wall_flicks
