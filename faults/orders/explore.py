"""Every order of a small scenario, depth first: a state that was seen, by whichever way, is not entered again."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from faults.orders.branching import Branching, Choice
from faults.orders.place import Place

Path = tuple[Any, Choice] | None
"""How a state was reached: the way to the one before, and the last choice."""


@dataclass(frozen=True)
class Failing:
    """An order that breaks a promise."""

    choices: tuple[Choice, ...]
    error: Exception

    def labels(self, start: Branching | Place) -> list[str]:
        """Of its choices, which `start` was the beginning of."""
        life, labels = start.alone(), []
        for choice in self.choices[:-1]:
            labels.append(life.label(choice))
            life.happen(choice)
        return [*labels, life.label(self.choices[-1])] if self.choices else []


@dataclass(frozen=True)
class Explored:
    """`states` are different ones, `ends` those of them where nothing can happen any more.

    `complete`: no state was left out because there were enough.
    """

    states: int
    transitions: int
    ends: int
    failing: Failing | None
    complete: bool = True


def explore(start: Branching, judge: Callable[[Branching], None], *, states_max: int = 10**9) -> Explored:
    """Enter every state that can be reached from `start`, at most `states_max`; `judge` every end of it.

    Stops at the first order that fails: in a step, or in the judgement of its end.
    """
    collecting = gc.isenabled()
    gc.disable()  # a state is no cycle, and the collector would walk all of them again and again
    try:
        return _explore(start, judge, states_max)
    finally:
        if collecting:
            gc.enable()


def _explore(start: Branching, judge: Callable[[Branching], None], states_max: int) -> Explored:
    first = start.alone()
    first.share_hubs()
    stack: list[tuple[Branching, Path]] = [(first, None)]
    seen = {hash(first.key())}
    transitions = ends = 0
    complete = True
    while stack:
        life, path = stack.pop()
        choices = life.choices()
        if not choices:
            ends += 1
            try:
                judge(life.alone() if life.unrecorded else life)  # else nothing is left to happen
            except Exception as error:
                return Explored(len(seen), transitions, ends, Failing(_choices_of(path), error))
            continue
        for choice in choices:
            after = life if choice is choices[-1] else life.fork()
            transitions += 1
            try:
                after.happen(choice)
            except Exception as error:
                return Explored(len(seen), transitions, ends, Failing(_choices_of((path, choice)), error))
            key = hash(after.key())
            if key in seen:
                continue
            if len(seen) == states_max:
                complete = False
                continue
            seen.add(key)
            stack.append((after, (path, choice)))
    return Explored(len(seen), transitions, ends, None, complete)


def explore_again(start: Place, judge: Callable[[Place], None], *, states_max: int = 10**9) -> Explored:
    """The same for lives that cannot be forked: each way to a new state is lived from the beginning.

    Ways that part early come first, so that a part of all states is a part of everywhere.
    """
    seen: set[int] = set()
    ways: deque[tuple[Choice, ...]] = deque([()])
    transitions = ends = 0
    while ways and len(seen) < states_max:
        way = ways.popleft()
        life = start.alone()
        try:
            for choice in way:
                life.happen(choice)
            while (key := hash(life.key())) not in seen:
                seen.add(key)
                choices = life.choices()
                transitions += len(choices)
                if not choices:
                    ends += 1
                    judge(life)
                    break
                ways += [(*way, choice) for choice in choices[1:]]
                way = (*way, choices[0])
                life.happen(choices[0])
        except Exception as error:
            return Explored(len(seen), transitions, ends, Failing(way, error))
    return Explored(len(seen), transitions, ends, None, not ways)


def _choices_of(path: Path) -> tuple[Choice, ...]:
    choices = []
    while path is not None:
        path, choice = path
        choices.append(choice)
    return tuple(reversed(choices))
