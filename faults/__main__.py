"""`python -m faults SEED`: live one seed. `--seeds A..B`: live many. `orders`: explore orders instead.

Exit status 1 where a promise was broken. Each failure is shortened and told with the one command that repeats it.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import msgspec

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
    parser = _parser()
    given = parser.parse_args(argv)
    if sum(one is not None for one in (given.seed, given.seeds, given.life)) != 1:
        parser.error("say one of SEED, --seeds A..B and --life FILE")
    if given.seeds is not None:
        return _live_many(given)
    life = given.life or life_of(given.seed, ops=given.ops)
    if given.keep is not None:
        if max(given.keep) > len(life.steps):
            parser.error(f"argument --keep: this life has {len(life.steps)} steps, none is {max(given.keep)}")
        life = Life(life.options, [life.steps[n - 1] for n in given.keep])
    return _live_one(given, life)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("seed", nargs="?", help="a number or any text")
    parser.add_argument("--seeds", type=_seeds, metavar="A..B", help="all seeds from A to B")
    parser.add_argument("--life", type=_life_in, metavar="FILE", help="live the steps that a file holds")
    parser.add_argument(
        "--ops", type=_at_least_one, metavar="N", help="operations of a life; about 200 where it is not said"
    )
    parser.add_argument("--keep", type=_steps, metavar="STEPS", help="live only these steps, as in 1,2,9..12")
    parser.add_argument("--verbose", action="store_true", help="say each step as it begins")
    parser.add_argument("--once", action="store_true", help="do not live it a second time to compare")
    parser.add_argument("--trace", action="store_true", help="print the hash of the trace and nothing else")
    parser.add_argument("--jobs", type=_at_least_one, default=1, metavar="N", help="processes")
    parser.add_argument("--minutes", type=_minutes, metavar="N", help="begin no life after so many minutes")
    parser.add_argument(
        "--shrink-seconds",
        type=float,
        default=SECONDS_MAX,
        metavar="N",
        help="shorten a failure no longer; 0: not",
    )
    return parser


# ---- what is said on the command line: argparse tells what these raise, as misuse


def _seeds(text: str) -> range:
    """A..B, or one number, with at least one seed in it: no lives are never green."""
    said = _RANGE.fullmatch(text)
    if said is None:
        raise argparse.ArgumentTypeError(f"must be two numbers as in 1..100, not {text[:40]!r}")
    first, last = int(said[1]), int(said[2] or said[1])
    if first > last:
        raise argparse.ArgumentTypeError(
            f"there is no seed from {first} to {last}; write the lower one first"
        )
    return range(first, last + 1)


def _steps(text: str) -> list[int]:
    """1,2,9..12 as numbers of steps, the first is 1."""
    try:
        steps = [step for part in text.split(",") for step in _seeds(part)]
    except argparse.ArgumentTypeError:
        steps = []
    if not steps or min(steps) < 1:
        raise argparse.ArgumentTypeError(f"must be numbers of steps as in 1,2,9..12, not {text[:40]!r}")
    return steps


def _life_in(file: str) -> Life:
    try:
        return from_json(Path(file).read_bytes())
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{file}: {(error.strerror or str(error)).lower()}") from None
    except msgspec.MsgspecError as error:
        raise argparse.ArgumentTypeError(f"{file} holds no life: {error}") from None


def _at_least_one(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 on, not {text[:40]!r}")
    return int(text)


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = math.nan
    if not minutes > 0:
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {text[:40]!r}")
    return minutes


_RANGE = re.compile(r"([0-9]{1,18})(?:\.\.([0-9]{1,18}))?")

# ---- one life


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
    began, told, lived, broken = time.monotonic(), time.monotonic(), 0, []
    for seed, found in _each(given.seeds, given):
        lived += 1
        if found is not None:
            broken.append(seed)
            print(found, flush=True)
        if time.monotonic() - told > _TOLD_EVERY_SECONDS:
            told = time.monotonic()
            print(f"... seed {seed}: {lived} lives in {told - began:.0f} s, {len(broken)} broken", flush=True)
    if not lived:
        print("no life was lived in that time, so nothing is known")
        return 1
    print(f"{lived} lives in {time.monotonic() - began:.0f} s; broken: {broken or 'none'}")
    return 1 if broken else 0


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
