"""A failing order made short: choices that do not matter are dropped, and what is left is what breaks the promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from faults.orders.branching import Branching, Choice
from faults.orders.place import Place

Judge = Callable[[Any], None]
"""Of a life at its end: raises where a promise is broken."""


@dataclass(frozen=True)
class Outcome:
    """What came of an order: what happened, and what it broke, if anything. The first `chosen` were named."""

    choices: tuple[Choice, ...]
    labels: tuple[str, ...]
    chosen: int
    error: Exception | None


class NoSuchChoice(ValueError):
    """An order names what cannot happen then."""


def live(start: Branching | Place, labels: Sequence[str], judge: Judge, *, strictly: bool = False) -> Outcome:
    """Let what is named happen, then all that is under way end, and judge.

    What cannot happen at its turn is passed over; `strictly` it raises NoSuchChoice.
    """
    life = start.alone()
    done: list[Choice] = []
    said: list[str] = []
    chosen = len(labels)

    def happen(choice: Choice) -> None:
        done.append(choice)
        said.append(life.label(choice))
        life.happen(choice)

    try:
        for label in labels:
            possible = {life.label(choice): choice for choice in life.choices()}
            if label in possible:
                happen(possible[label])
            elif strictly:
                raise NoSuchChoice(
                    f"{label!r} cannot happen after {'; '.join(said) or 'the start'}; what can: {', '.join(possible)}"
                )
        chosen = len(done)
        while (choice := life.rest()) is not None:
            happen(choice)
        judge(life)
    except NoSuchChoice:
        raise
    except Exception as error:
        return Outcome(tuple(done), tuple(said), min(chosen, len(done)), error)
    return Outcome(tuple(done), tuple(said), chosen, None)


def shrink(start: Branching | Place, labels: Sequence[str], judge: Judge) -> Outcome:
    """The order with the fewest choices found by leaving out some of a failing one, pieces first, then one by one.

    What follows the last choice is what follows by itself. What fails may be another promise than at first: the
    shortest way to break one is wanted.
    """
    best = live(start, labels, judge)
    assert best.error is not None, "a failing order fails again"
    size = max(1, best.chosen // 2)
    while True:
        shorter = _without_a_piece(start, best, judge, size)
        if shorter is not None:
            best = shorter
        elif size > 1:
            size //= 2
        else:
            return best


def _without_a_piece(start: Branching | Place, best: Outcome, judge: Judge, size: int) -> Outcome | None:
    chosen = best.labels[: best.chosen]
    for at in reversed(range(0, len(chosen), size)):
        tried = live(start, chosen[:at] + chosen[at + size :], judge)
        if tried.error is not None and tried.chosen < best.chosen:
            return tried
    return None
