"""`python -m tests.faults.plants [NAME ...]`: plant each fault, and see in how many tries it is found.

NAME is a part of a plant's name; without any, all are planted. 0 where each was found within its budget. `--sound`
lives everything that all budgets allow without any plant: nothing may be found then.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from typing import NamedTuple

from faults.checking import Broken
from tests.faults.plants_hub import PLANTS as OF_HUB
from tests.faults.plants_looks import Found, Lives, Look, prepare
from tests.faults.plants_planting import Plant
from tests.faults.plants_storage import PLANTS as OF_STORAGE
from tests.faults.plants_world import PLANTS as OF_WORLD

PLANTS: tuple[Plant, ...] = (*OF_STORAGE, *OF_HUB, *OF_WORLD)
BY_NAME = {plant.name: plant for plant in PLANTS}
NOT_PLANTED = "nothing"


class Searched(NamedTuple):
    """What looking for a plant came to: in which of its looks it was found, and after how many CPU seconds."""

    name: str
    look: Look
    found: Found | None
    seconds: float


def search(plant: Plant) -> Searched:
    """Plant it and look, in the order of its looks, until it is found.

    A try that fails without the plant too proves nothing, and the search goes on after it.
    """
    for look in plant.looks:
        prepare(look)
    began = time.process_time()
    tries = 0
    for look in plant.looks:
        left: Look | None = look
        tries = 0
        while left is not None:
            with plant.planted():
                found = left.search(plant.name)
            if found is None:
                break
            tries += found.tries
            if left.one(found.tries).search(NOT_PLANTED) is None:
                seconds = time.process_time() - began
                return Searched(plant.name, look, found._replace(tries=tries), seconds)
            left = left.after(found.tries)
    return Searched(plant.name, plant.looks[-1], None, time.process_time() - began)


def search_sound(look: Look) -> Found | None:
    """The same without any plant."""
    prepare(look)
    return look.search(NOT_PLANTED)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.plants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a part of the name of a plant")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--sound", action="store_true", help="look without any plant")
    parser.add_argument("--trace", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    if asked.trace:
        seed, ops, name = asked.names
        print(_trace(int(seed), int(ops), name))
        return 0
    chosen = [p for p in PLANTS if not asked.names or any(part in p.name for part in asked.names)]
    if not chosen:
        parser.error(f"no plant's name has {' or '.join(asked.names)} in it")
    return _sound(chosen, asked.jobs) if asked.sound else _planted(chosen, asked.jobs)


def _planted(chosen: Sequence[Plant], jobs: int) -> int:
    missed = 0
    print(f"{'plant':<64} {'breaks':<9} {'found by':<44} {'tries':>18} {'s':>6}")
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as processes:
        for searched in processes.map(_search, [plant.name for plant in chosen]):
            print(_row(searched), flush=True)
            missed += searched.found is None
    print(f"{len(chosen) - missed} of {len(chosen)} plants found")
    return 1 if missed else 0


def _search(name: str) -> Searched:
    return search(BY_NAME[name])


def _row(searched: Searched) -> str:
    plant, found = BY_NAME[searched.name], searched.found
    breaks = ", ".join(map(str, plant.invariants))
    by = found.by if found is not None else "NOT FOUND"
    tries = f"{found.tries if found else '-'} of {searched.look.budget} {searched.look.unit}"
    return f"{plant.name:<64} {breaks:<9} {by:<44} {tries:>18} {searched.seconds:>6.1f}"


def _sound(chosen: Sequence[Plant], jobs: int) -> int:
    looks = list(dict.fromkeys(look for plant in chosen for look in plant.looks))
    wrong = 0
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as processes:
        for look, found in zip(looks, processes.map(search_sound, looks), strict=True):
            print(f"{look}: {'nothing' if found is None else found}", flush=True)
            wrong += found is not None
    return 1 if wrong else 0


def _trace(seed: int, ops: int, name: str) -> str:
    """The hash of a life's trace, or what it broke."""
    look = Lives(1, ops)
    planted = BY_NAME[name].planted() if name in BY_NAME else nullcontext()
    with planted:
        try:
            return look.live(seed).trace_hash
        except Broken as broken:
            return str(broken).partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
