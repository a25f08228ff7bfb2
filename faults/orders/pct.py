"""Orders of larger scenarios, drawn by priorities with few changes (PCT).

Who acts (a client, a job, another world, the log, a timer) has a random priority, and whoever of those that can
act has the highest one does. At `depth - 1` random moments who would act next falls to the bottom. A wrong order of
`depth` events among n, in lives of k choices, is drawn with a chance of at least 1 / (n * k ** (depth - 1)):
Burckhardt, Kothari, Musuvathi, Nagarakatte: A randomized scheduler with probabilistic guarantees of finding bugs
(2010). Trouble has no priority: it comes at random moments.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from faults.orders.branching import Branching, Choice
from faults.orders.explore import Failing
from faults.orders.place import Place
from faults.orders.shrink import Judge

STEPS_ABOUT = 60  # in a life of a large scenario; where the changes of priority may fall
DEPTH_MAX = 5
TROUBLE = ("fail", "crash", "tomorrow", "late", "kill", "power", "time")
TROUBLE_SHARE = 1 / 16


@dataclass(frozen=True)
class Drawn:
    """`states` are different ones that the lives went through."""

    runs: int
    transitions: int
    states: int
    failing: Failing | None
    seed: int
    """Of the failing life, or of the last one."""


class Priorities:
    """Chooses among actors. A new one gets its priority when it is first seen."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        depth = 1 + self.chance.randrange(DEPTH_MAX)
        self._changes = {self.chance.randrange(STEPS_ABOUT) for _ in range(depth - 1)}  # membership only
        self._priorities: dict[Hashable, float] = {}
        self._lowest = 0.0
        self._step = 0

    def choose(self, actors: Sequence[Hashable]) -> int:
        """The index of who acts."""
        for actor in actors:
            if actor not in self._priorities:
                self._priorities[actor] = self.chance.random()
        index = self._highest(actors)
        if self._step in self._changes:
            self._lowest -= 1
            self._priorities[actors[index]] = self._lowest
            index = self._highest(actors)
        self._step += 1
        return index

    def _highest(self, actors: Sequence[Hashable]) -> int:
        return max(range(len(actors)), key=lambda n: (self._priorities[actors[n]], -n))


def draw(make: Callable[[], Branching | Place], judge: Judge, *, runs: int, seed: int) -> Drawn:
    """Live `runs` lives from `seed` on, one seed each. Stops at the first that fails."""
    start = make()
    seen: set[int] = set()
    transitions = 0
    for n in range(runs):
        life = start.fork()
        priorities = Priorities(seed + n)
        done: list[Choice] = []
        try:
            while choices := life.choices():
                done.append(_next(choices, priorities))
                life.happen(done[-1])
                seen.add(hash(life.key()))
            judge(life)
        except Exception as error:
            failing = Failing(tuple(done), error)
            return Drawn(n + 1, transitions + len(done), len(seen), failing, seed + n)
        transitions += len(done)
    return Drawn(runs, transitions, len(seen), None, seed + runs - 1)


def _next(choices: list[Choice], priorities: Priorities) -> Choice:
    """Each client, job and ask acts for itself, and so does the log with each size of a batch."""
    trouble = [choice for choice in choices if choice.kind in TROUBLE]
    others = [choice for choice in choices if choice.kind not in TROUBLE]
    if trouble and (not others or priorities.chance.random() < TROUBLE_SHARE):
        return priorities.chance.choice(trouble)
    return others[priorities.choose(others)]
