"""What one seed decides before anything happens: how large a life is, and which troubles it knows."""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.io.sim_entropy import SimEntropy
from engine.limits import FLICKS_PER_SECOND, KIB

OPERATIONS = 200
Trouble = Literal["crashes", "syncs", "full", "lies", "rot", "misdirected", "clock", "slow", "expiry"]


class Options(msgspec.Struct, frozen=True):
    """Drawn from the seed, printed first. Times are flicks."""

    seed: str
    operations: int
    worlds: int
    segment_bytes_max: int
    latency_flicks_max: int
    gap_flicks_max: int
    keeps_up: bool
    troubles: tuple[Trouble, ...]
    trouble_every: int
    """About so many operations lie between two troubles."""
    replays: bool = True
    """Whether every world is replayed at the end: it costs as much as a quarter of the life."""

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.operations} operations in {self.worlds} worlds; "
            f"segments of {self.segment_bytes_max // KIB} KiB; jobs take up to "
            f"{self.latency_flicks_max * 1000 / FLICKS_PER_SECOND:.1f} ms; up to "
            f"{self.gap_flicks_max / FLICKS_PER_SECOND:.1f} s between operations; "
            f"troubles: {', '.join(self.troubles) or 'none'}, about every {self.trouble_every} operations"
        )


def draw_options(seed: int | str, operations: int | None = None) -> Options:
    """The options of a seed; `operations` None: about 200."""
    entropy = SimEntropy(f"life {seed}").fork("options")
    gap_seconds = (1, 10, 300)[entropy.below(3)]
    drawn = OPERATIONS * 4 // 5 + entropy.below(OPERATIONS * 2 // 5)
    troubles: list[Trouble] = ["crashes"] if not entropy.chance(1, 12) else []
    rare: tuple[tuple[Trouble, int, int], ...] = (
        ("syncs", 1, 3),
        ("full", 1, 4),
        ("lies", 1, 12),
        ("rot", 1, 6),
        ("misdirected", 1, 12),
        ("clock", 1, 3),
        ("slow", 1, 3),
        ("expiry", 1, 12),
    )
    troubles += [trouble for trouble, n, of in rare if entropy.chance(n, of)]
    return Options(
        seed=str(seed),
        operations=operations if operations is not None else drawn,
        worlds=1 + entropy.below(4),
        segment_bytes_max=(64 + entropy.below(4) * 64) * KIB,
        latency_flicks_max=FLICKS_PER_SECOND // (1000, 200, 50)[entropy.below(3)],
        gap_flicks_max=FLICKS_PER_SECOND * gap_seconds,
        keeps_up=entropy.chance(1, 2) and gap_seconds <= 10,  # four times a second
        troubles=tuple(troubles),
        trouble_every=(6, 12, 25, 60)[entropy.below(4)],
        replays=entropy.chance(1, 2),
    )
