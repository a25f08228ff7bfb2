"""Which seeds the tests live: a fixed few for everybody, and new ones with every commit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from faults.lives import life_of
from faults.twice import live_twice

SHARDS = 4
FIXED_SEEDS = 24
NEW_SEEDS = 24


def new_seeds_from() -> int:
    """PW_SEEDS_FROM, or a number made of the commit: the same for all who test it, another for the next one."""
    told = os.environ.get("PW_SEEDS_FROM")
    if told is not None:
        return int(told)
    try:
        asked = ["git", "rev-parse", "HEAD"]
        commit = subprocess.run(asked, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 1_000_000
    return 1_000_000 + int(commit.stdout[:8], 16)


def seeds_of(shard: int) -> list[int]:
    """The seeds of one of SHARDS test files."""
    first = new_seeds_from()
    return [*range(FIXED_SEEDS), *range(first, first + NEW_SEEDS)][shard::SHARDS]


def live(seed: int) -> None:
    """Twice; what it breaks says how to live it again."""
    try:
        lived = live_twice(life_of(seed))
    except BaseException as error:
        error.add_note(f"again, shortened: python -m faults {seed}")
        raise
    assert lived.lines, "something happened"
    if not lived.ended and lived.life.options.replays:
        assert lived.counts.replayed > 0, "records were replayed"
