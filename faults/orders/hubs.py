"""Every state of one world's hub that was met, once, and what came of each event in it.

A hub's step depends on its state and the event alone, and many states of a whole scenario have their hub in the same
state: its clients and its disk differ. So each step is done once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from engine.hub import World
from engine.hub.messages import Effect, Event, Resume, RunJob
from engine.hub.step import step
from faults.orders.fingerprints import world_key
from faults.orders.forks import fork_world


class Hubs:
    """The worlds in it are never changed: a step forks."""

    def __init__(self) -> None:
        self._states: dict[tuple, tuple[int, World]] = {}
        self._steps: dict[tuple[int, Hashable], tuple[int, World, list[Effect]]] = {}
        self._outcomes: dict[tuple[int, int, int, Resume | None], Event] = {}

    def known(self, world: World) -> tuple[int, World]:
        """The number of its state, and the world that stands for it."""
        return self._states.setdefault(world_key(world), (len(self._states), world))

    def step(
        self, number: int, world: World, cause: Hashable, event: Event
    ) -> tuple[int, World, list[Effect]]:
        """What `event` makes of a state; equal causes in one state are equal events."""
        known = self._steps.get((number, cause))
        if known is None:
            after = fork_world(world)
            effects = step(after, event)
            known = self._steps[number, cause] = (*self.known(after), effects)
        return known

    def outcome(self, number: int, job: RunJob, run: Callable[[], Event]) -> Event:
        """What a job comes to on the data of a state."""
        key = number, job.op, job.rerun, job.resume
        known = self._outcomes.get(key)
        if known is None:
            known = self._outcomes[key] = run()
        return known

    @property
    def steps(self) -> int:
        """How many different ones were done."""
        return len(self._steps)
