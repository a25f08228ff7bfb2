"""The machine's clock: the only file of the core that reads it."""

from __future__ import annotations

import time

from engine.clock.flicks import flicks_from_nanoseconds


class RealClock:
    """The Clock port on the machine's clocks. Both are counted in nanoseconds and never in floats."""

    def now_flicks(self) -> int:
        return flicks_from_nanoseconds(time.time_ns(), "floor")

    def monotonic_flicks(self) -> int:
        return flicks_from_nanoseconds(time.monotonic_ns(), "floor")
