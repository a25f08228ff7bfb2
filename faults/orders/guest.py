"""Guest functions for a hub without VMs: pure in (arguments, seed, what they read, what they heard)."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from engine.hub.messages import (
    Ask,
    Call,
    Read,
    TryCall,
    Write,
)

Heard = tuple[int, bool, bytes]  # ordinal, ok, value


class Waits(Exception):
    """The guest cannot go on before it hears another answer."""


class View:
    """What a guest sees: one state, its own writes, and what it heard so far; it keeps what was read and asked."""

    def __init__(
        self,
        get: Callable[[str], bytes | None],
        rows: Callable[[str], list[tuple[str, bytes]]],
        heard: Iterable[Heard] = (),
    ) -> None:
        self._get = get
        self._rows = rows
        self._heard = iter(heard)
        self.reads: list[Read] = []
        self.writes: dict[str, bytes | None] = {}
        self.asks: list[Ask] = []

    def ask(self, world: str, function: str, *args: Any) -> None:
        self.asks.append(Ask(len(self.asks), world, function, json.dumps(args).encode()))

    def hear(self) -> int:
        """The next answer, whichever of the asks it belongs to."""
        try:
            _, ok, value = next(self._heard)
        except StopIteration:
            raise Waits from None
        if not ok:
            raise ArithmeticError(value.decode())
        return int(json.loads(value))

    def get(self, key: str) -> int:
        if key in self.writes:
            return int(self.writes[key] or 0)
        self.reads.append(Read(key))
        return int(self._get(key) or 0)

    def set(self, key: str, value: int) -> None:
        self.writes[key] = str(value).encode()

    def delete(self, key: str) -> None:
        self.writes[key] = None

    def list(self, prefix: str) -> list[tuple[str, int]]:
        self.reads.append(Read(prefix, prefix=True))
        return [(key, int(value)) for key, value in self._rows(prefix)]

    def first(self, prefix: str, after: str | None) -> str | None:
        row = next((key for key, _ in self._rows(prefix) if after is None or key > after), None)
        self.reads.append(Read(prefix, prefix=True, after=after, until=row))
        return row


@dataclass(frozen=True)
class Outcome:
    ok: bool
    missing: bool
    value: Any
    reads: tuple[Read, ...]
    writes: tuple[Write, ...]


@functools.cache
def _arguments(args: bytes) -> tuple[Any, ...]:
    return tuple(json.loads(args))


def run_guest(call: Call | TryCall, seed: int, view: View) -> Outcome:
    """Raises Waits; `view.asks` are then all that it has asked."""
    args = _arguments(call.args)
    if call.function not in GUEST:
        return Outcome(False, True, None, (), ())
    try:
        value = GUEST[call.function](view, seed, *args)
        ok = True
    except ArithmeticError as error:
        value, ok = str(error), False
    writes = tuple(Write(key, value) for key, value in view.writes.items())
    return Outcome(ok, False, value, tuple(view.reads), writes)


def _add(view: View, seed: int, key: str) -> int:
    view.set(key, view.get(key) + 1)
    return view.get(key)


def _move(view: View, seed: int, source: str, target: str) -> int:
    amount = view.get(source)
    view.set(target, view.get(target) + amount)
    view.delete(source)
    return amount


def _sum_into(view: View, seed: int, prefix: str, key: str) -> int:
    total = sum(value for _, value in view.list(prefix))
    view.set(key, total % 1000)
    return total


def _pop_first(view: View, seed: int, prefix: str, after: str) -> str | None:
    row = view.first(prefix, after or None)
    view.set("popped", seed) if row is None else view.delete(row)
    return row


def _put(view: View, seed: int, key: str) -> int:
    view.set(key, seed % 100)
    return seed


def _fail(view: View, seed: int, key: str) -> None:
    view.set(key, view.get(key) + 1000)
    raise ArithmeticError(f"{key} is {view.get(key)}")


def _gather(view: View, seed: int, key: str, count: int) -> int:
    for n in range(count):
        view.ask("bcd"[n], "g", n)
    total = sum(view.hear() for _ in range(count))
    view.set(key, (view.get(key) + total) % 1000)
    return total


def _race(view: View, seed: int, key: str) -> int:
    view.ask("b", "g", 1)
    view.ask("c", "g", 2)
    first = view.hear()
    view.set(key, view.get(key) + first)
    return first


def _chain(view: View, seed: int, key: str) -> int:
    count = view.get(key)
    view.ask("b", "g", count)
    view.ask("c", "g", view.hear())
    view.set(key, count + 1)
    return view.hear()


def _ask_only(view: View, seed: int, key: str) -> int:
    view.ask("b", "g", view.get(key))
    return view.hear()


def _tour(view: View, seed: int, key: str, counts: bool, plan: list[Any], salted: bool = False) -> int:
    """Count up under a key, after other worlds have done their parts of the plan: how many parts were done.

    A salted tour asks otherwise when it finds another count.
    """
    count = view.get(key)
    for world, part in plan:
        view.ask(world, "tour", key, counts, part, *([count] if salted else []))
    done = sum(view.hear() for _ in plan)
    if counts:
        view.set(key, count + 1)
    return done + 1


GUEST: dict[str, Callable[..., Any]] = {
    "get": lambda view, seed, key: view.get(key),
    "total": lambda view, seed, prefix: tuple(view.list(prefix)),
    "add": _add,
    "move": _move,
    "sumInto": _sum_into,
    "popFirst": _pop_first,
    "put": _put,
    "fail": _fail,
    "gather": _gather,
    "race": _race,
    "chain": _chain,
    "askOnly": _ask_only,
    "tour": _tour,
}
