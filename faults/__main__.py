"""`python -m faults SEED`: live one seed. `--seeds A..B`: live many. `orders`: explore orders instead.

Exit status 1 where a promise was broken. Each failure is shortened and told with the one command that repeats it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from faults.checking import Broken
from faults.lives import life_of, live_life
from faults.shrinking import SECONDS_MAX, shrink
from faults.steps import Life, from_json
from faults.telling import failure, shortened, summary
from faults.twice import live_twice

_TOLD_EVERY_SECONDS = 30.0


def main(argv: list[str]) -> int:
    if argv[:1] == ["orders"]:
        from faults.orders.command import main as orders

        return orders(argv[1:])
    given = _parser().parse_args(argv)
    if given.seeds is not None:
        return _live_many(given)
    if given.life is not None:
        life = from_json(Path(given.life).read_bytes())
    elif given.seed is not None:
        life = life_of(given.seed, ops=given.ops)
    else:
        _parser().error("say a SEED, --seeds A..B or --life FILE")
    if given.keep:
        life = Life(life.options, [life.steps[n - 1] for n in _numbers(given.keep)])
    return _live_one(given, life)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("seed", nargs="?", help="a number or any text")
    parser.add_argument("--seeds", metavar="A..B", help="all seeds from A to B")
    parser.add_argument("--life", metavar="FILE", help="live the steps that a file holds")
    parser.add_argument("--ops", type=int, help="operations of a life; about 200 where it is not said")
    parser.add_argument("--keep", metavar="STEPS", help="live only these steps, as in 1,2,9..12")
    parser.add_argument("--verbose", action="store_true", help="say each step as it begins")
    parser.add_argument("--once", action="store_true", help="do not live it a second time to compare")
    parser.add_argument("--trace", action="store_true", help="print the hash of the trace and nothing else")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--minutes", type=float, help="begin no life after so many minutes")
    parser.add_argument("--shrink-seconds", type=float, default=SECONDS_MAX)
    return parser


def _numbers(text: str) -> list[int]:
    """1,2,9..12 as numbers."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("..")
        found += range(int(first), int(last or first) + 1)
    return found


def _live_one(given: argparse.Namespace, life: Life) -> int:
    if given.trace:
        print(live_life(life).trace_hash)
        return 0
    print(life.options)
    try:
        if given.verbose:
            live_life(life, heard=lambda line: print(line, flush=True))
        lived = live_life(life) if given.once else live_twice(life)
    except Broken as broken:
        _tell(life, broken, given)
        return 1
    print(summary(lived))
    return 0


def _tell(life: Life, broken: Broken, given: argparse.Namespace) -> None:
    print(failure(life.options.seed, life, broken, given.ops), flush=True)
    if given.shrink_seconds > 0:
        print(shortened(shrink(life, broken, _broken_of, seconds=given.shrink_seconds)), flush=True)


def _broken_of(life: Life) -> Broken | None:
    try:
        live_life(life)
    except Broken as broken:
        return broken
    return None


# ---- many seeds


def _live_many(given: argparse.Namespace) -> int:
    first, _, last = given.seeds.partition("..")
    seeds = range(int(first), int(last or first) + 1)
    began, told, lived, broken = time.monotonic(), time.monotonic(), 0, []
    for seed, found in _each(seeds, given):
        lived += 1
        if found is not None:
            broken.append(seed)
            print(found, flush=True)
        if time.monotonic() - told > _TOLD_EVERY_SECONDS:
            told = time.monotonic()
            print(f"... seed {seed}: {lived} lives in {told - began:.0f} s, {len(broken)} broken", flush=True)
    print(f"{lived} lives in {time.monotonic() - began:.0f} s; broken: {broken or 'none'}")
    return 1 if broken or not lived else 0


def _each(seeds: range, given: argparse.Namespace) -> Iterator[tuple[int, str | None]]:
    """Each seed and what it broke, in order; no more begin once the time is over."""
    end = time.monotonic() + given.minutes * 60 if given.minutes else None
    asked = [(str(seed), given.ops, given.once, end, given.shrink_seconds) for seed in seeds]
    if given.jobs == 1:
        for seed, one in zip(seeds, asked, strict=True):
            found = _live_seed(one)
            if found != _NOT_LIVED:
                yield seed, found
        return
    with ProcessPoolExecutor(given.jobs) as pool:
        for seed, found in zip(seeds, pool.map(_live_seed, asked, chunksize=4), strict=True):
            if found != _NOT_LIVED:
                yield seed, found


_NOT_LIVED = ""


def _live_seed(asked: tuple[str, int | None, bool, float | None, float]) -> str | None:
    """In any process: the text of a failure, None where all held, empty where the time was over."""
    seed, operations, once, end, shrink_seconds = asked
    if end is not None and time.monotonic() > end:
        return _NOT_LIVED
    life = life_of(seed, ops=operations)
    try:
        live_life(life) if once else live_twice(life)
    except Broken as broken:
        said = failure(seed, life, broken, operations)
        if shrink_seconds > 0:
            said += "\n" + shortened(shrink(life, broken, _broken_of, seconds=shrink_seconds))
        return said
    return None


if __name__ == "__main__":
    try:
        status = main(sys.argv[1:])
    except KeyboardInterrupt:
        status = 130
    sys.stdout.flush()
    os._exit(status)  # deep threads wait for nobody
