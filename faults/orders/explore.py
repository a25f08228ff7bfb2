"""Every order of a small scenario, depth first: a state that was seen, by whichever way, is not entered again."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from faults.orders.branching import Branching, Choice

Path = tuple[Any, Choice] | None
"""How a state was reached: the way to the one before, and the last choice."""


@dataclass(frozen=True)
class Failing:
    """An order that breaks a promise."""

    choices: tuple[Choice, ...]
    error: Exception

    def labels(self, start: Branching) -> list[str]:
        """Of its choices, which `start` was the beginning of."""
        life, labels = start.alone(), []
        for choice in self.choices:
            labels.append(life.label(choice))
            if choice is not self.choices[-1]:
                life.happen(choice)
        return labels


@dataclass(frozen=True)
class Explored:
    """`states` are different ones, `ends` those of them where nothing can happen any more."""

    states: int
    transitions: int
    ends: int
    failing: Failing | None


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
    while stack:
        life, path = stack.pop()
        choices = life.choices()
        if not choices:
            ends += 1
            try:
                judge(life.alone())
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
            if key not in seen and len(seen) < states_max:
                seen.add(key)
                stack.append((after, (path, choice)))
    return Explored(len(seen), transitions, ends, None)


def _choices_of(path: Path) -> tuple[Choice, ...]:
    choices = []
    while path is not None:
        path, choice = path
        choices.append(choice)
    return tuple(reversed(choices))
