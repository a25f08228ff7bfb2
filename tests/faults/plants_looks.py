"""Where a planted fault is looked for: the general machinery, none of which knows of any plant."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from engine.host.machine import machine
from engine.host.replaying import replay
from engine.host.shell import deep_thread
from faults.checking import FAULT_OF_OURS, Broken, named
from faults.driver import Driver, Ended
from faults.lives import Lived, live_life, take
from faults.options import Trouble, draw_options
from faults.orders.command import SCENARIOS, draw_orders, try_orders
from faults.orders.images import check, images, lived
from faults.steps import Life
from faults.workload import draw_life

ROOT = Path(__file__).parents[2]


class Found(NamedTuple):
    """What found a plant (`by`), in the `tries`-th of the budget, and what was said."""

    by: str
    tries: int
    said: str


class Look(Protocol):
    """`budget` counts tries of `unit`."""

    @property
    def budget(self) -> int: ...

    @property
    def unit(self) -> str: ...

    def search(self, plant: str) -> Found | None:
        """Look until something is wrong; None where the budget ends before. `plant` is the name of what is planted."""
        ...

    def one(self, tries: int) -> Look:
        """The try of that number alone."""
        ...

    def after(self, tries: int) -> Look | None:
        """What is left of the budget after so many."""
        ...


@dataclass(frozen=True)
class Seeds:
    """Tries that are seeds, from `first` on."""

    budget: int
    first: int = 0

    def one(self, tries: int) -> Any:
        return dataclasses.replace(self, first=self.first + tries - 1, budget=1)

    def after(self, tries: int) -> Any:
        left = self.budget - tries
        return dataclasses.replace(self, first=self.first + tries, budget=left) if left > 0 else None


@dataclass(frozen=True)
class Lives(Seeds):
    """Whole lives. `troubles` None: those that each seed draws for itself; `worlds` 0: as many as it draws."""

    ops: int = 100
    troubles: tuple[Trouble, ...] | None = ("crashes",)
    trouble_every: int = 6
    worlds: int = 0
    unit = "lives"

    def search(self, plant: str) -> Found | None:
        for n in range(self.budget):
            try:
                self.live(self.first + n)
            except Broken as broken:
                return Found(_checker(broken), n + 1, broken.message)
        return None

    def live(self, seed: int) -> Lived:
        return live_life(self.life_of(seed))

    def life_of(self, seed: int) -> Life:
        options = draw_options(seed, self.ops)
        if self.troubles is not None:
            options = msgspec.structs.replace(
                options, troubles=self.troubles, trouble_every=self.trouble_every
            )
        return draw_life(msgspec.structs.replace(options, worlds=self.worlds or options.worlds))


@dataclass(frozen=True)
class Orders:
    """Every order of a small scenario, at most `budget` states of it."""

    scenario: str
    budget: int
    unit = "states"

    def one(self, tries: int) -> Orders:
        return self

    def after(self, tries: int) -> None:
        return None

    def search(self, plant: str) -> Found | None:
        explored = try_orders(SCENARIOS[self.scenario], states_max=self.budget)
        if explored.failing is None:
            return None
        error = explored.failing.error
        return Found(f"orders of {self.scenario}", explored.states, f"{type(error).__name__}: {error}")


@dataclass(frozen=True)
class DrawnOrders(Seeds):
    """Some orders of a large scenario."""

    scenario: str = ""
    unit = "drawn orders"

    def search(self, plant: str) -> Found | None:
        drawn = draw_orders(SCENARIOS[self.scenario], runs=self.budget, seed=self.first)
        if drawn.failing is None:
            return None
        error = drawn.failing.error
        said = f"{type(error).__name__}: {error}"
        return Found(f"drawn orders of {self.scenario}", drawn.runs, said)


@dataclass(frozen=True)
class CrashImages:
    """Crash images of a log and its blobs, at most `budget` of them."""

    budget: int
    unit = "crash images"

    def search(self, plant: str) -> Found | None:
        lived.cache_clear()
        try:
            all_images = (image for seed in count() for image in images(seed))
            for n, (point, disk) in enumerate(islice(all_images, self.budget), 1):
                try:
                    check(point, disk)
                except Exception as error:
                    return Found("crash images", n, f"{point}: {type(error).__name__}: {error}")
            return None
        finally:
            lived.cache_clear()

    def one(self, tries: int) -> CrashImages:
        return CrashImages(tries)

    def after(self, tries: int) -> None:
        return None


@dataclass(frozen=True)
class Replays(Seeds):
    """The records of whole lives that the sound program lived, replayed by the one with the plant."""

    ops: int = 60
    unit = "lives replayed"

    def search(self, plant: str) -> Found | None:
        for n, driver in enumerate(_sound_lives(self), 1):
            parts = driver.host.parts
            for world in parts.log.worlds():
                machine.cache_clear()
                try:
                    divergence = replay(parts.log, parts.blobs, world, machine()).divergence
                except AssertionError as error:
                    return Found("replay: an assertion of the engine", n, str(error))
                if divergence is not None:
                    return Found("replay", n, str(divergence))
        return None


_LIVED: dict[Replays, list[Driver]] = {}


def prepare(look: Look) -> None:
    """What the sound program has to do before anything is planted."""
    if isinstance(look, Replays):
        _sound_lives(look)


def _sound_lives(look: Replays) -> list[Driver]:
    if look not in _LIVED:
        seeds = range(look.first, look.first + look.budget)
        lives = [Lives(look.budget, look.ops, troubles=()).life_of(seed) for seed in seeds]
        _LIVED[look] = [deep_thread().run(lambda life=life: _lived(life)) for life in lives]
    return _LIVED[look]


def _lived(life: Life) -> Driver:
    driver = Driver(life)
    try:
        for step in life.steps:
            take(driver, step)
        driver.rest()
    except Ended as told:
        raise AssertionError("a life without troubles goes to its end") from told
    return driver


@dataclass(frozen=True)
class Twice(Seeds):
    """The same seed lived by two processes that hash differently: their traces must be equal."""

    ops: int = 100
    unit = "lives, each lived twice"

    def search(self, plant: str) -> Found | None:
        for n in range(self.budget):
            hashes = [self._trace_hash(plant, self.first + n, hash_seed) for hash_seed in ("0", "1")]
            if hashes[0] != hashes[1]:
                return Found("equal lives", n + 1, f"seed {self.first + n}: two traces, {hashes}")
        return None

    def _trace_hash(self, plant: str, seed: int, hash_seed: str) -> str:
        there = subprocess.run(
            [sys.executable, "-m", "tests.faults.plants", "--trace", str(seed), str(self.ops), plant],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        return there.stdout.strip()


def _checker(broken: Broken) -> str:
    """Which checker it was: a promise as seen from outside, or what the program asserts of itself."""
    if broken.invariant != FAULT_OF_OURS:
        return f"lives: {named(broken.invariant)}"
    kind, _, rest = broken.message.partition(":")
    if kind != "AssertionError":
        return f"lives: {kind}"
    said = rest.strip().partition("\n")[0]
    return f"lives: asserted {said[:24]}"
