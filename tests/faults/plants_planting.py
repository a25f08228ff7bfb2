"""What a plant is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from engine.host.machine import machine
from tests.faults.plants_looks import Look

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Plant:
    """A mistake that somebody might make. `name` says it; `looks` is where it must be found, one after the other.

    `quick`: it is found in seconds, so that every run of the tests can see it found.
    """

    name: str
    invariants: tuple[int, ...]
    plant: Callable[[Patch], None]
    looks: tuple[Look, ...]
    quick: bool = False

    @contextmanager
    def planted(self) -> Iterator[None]:
        """The program has the mistake inside. No VM of before is there in it, and none of it afterwards."""
        machine.cache_clear()
        try:
            with pytest.MonkeyPatch.context() as patch:
                self.plant(patch)
                yield
        finally:
            machine.cache_clear()
