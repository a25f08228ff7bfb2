"""How fast whole simulated lives are lived: the real host and VM under faults, in time of its own."""

from __future__ import annotations

import statistics
import time

from engine.limits import FLICKS_PER_SECOND
from faults.lives import Lived, life_of, live_life
from tests.bench.table import Row

LIVES = 40
LIVES_A_SECOND_MIN = 5
FASTER_MIN = 1_000


def rows() -> list[Row]:
    """Each life once, with all its checks; seconds are those that one core worked."""
    live_life(life_of("warm"))
    lived: list[tuple[Lived, float]] = []
    for seed in range(LIVES):
        life = life_of(f"bench {seed}")
        began = time.process_time()
        ended = live_life(life)
        lived.append((ended, time.process_time() - began))
    whole = [(life, seconds) for life, seconds in lived if not life.ended]
    median_seconds = statistics.median(seconds for _, seconds in whole)
    operations = statistics.median(life.counts.asked for life, _ in whole)
    simulated_seconds = sum(life.counts.simulated_flicks for life, _ in whole) / FLICKS_PER_SECOND
    faster = simulated_seconds / sum(seconds for _, seconds in whole)
    return [
        Row(
            f"full simulated lives (real VM), {operations:.0f} operations, median of {len(whole)}",
            f">= {LIVES_A_SECOND_MIN} a second a core",
            f"{1 / median_seconds:.1f} a second",
            met=1 / median_seconds >= LIVES_A_SECOND_MIN,
        ),
        Row(
            "simulated against real time, the same lives",
            f">= {FASTER_MIN:,}x",
            f"{faster:,.0f}x",
            met=faster >= FASTER_MIN,
        ),
    ]
