"""What the worlds of a life define, and what each function must come to: the same once in JavaScript and once here.

A definition is known by its source as a record holds it, so a model needs no more than the records themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

KEYS = ("hot", "warm", "cold")
"""The keys that calls fight over."""
VARIANTS = (1, 2, 3)

_TEXTS = {
    "add": (
        "function add(key, amount) { const before = data.get(key) ?? 0; "
        "data.set(key, before + amount * %d); return [before, before + amount * %d] }"
    ),
    "read": "function read(key) { return [%d, data.get(key) ?? null] }",
    "rows": "function rows(prefix) { return data.list(prefix).map(({ key, value }) => [key, value, %d]) }",
    "move": (
        "function move(from, to) { const moved = data.get(from) ?? 0; data.delete(from); "
        "data.set(to, (data.get(to) ?? 0) + moved); return [%d, moved] }"
    ),
    "note": "function note(key, text) { data.set(key, { text, by: %d }); return text }",
    "needs": (
        "function needs(key, least) { const there = data.get(key) ?? 0; data.set(key, there + 1); "
        "if (there < least) throw new Error(key + ' is ' + there + ', not ' + least + ' (%d)'); return there }"
    ),
    "draw": "function draw() { return [%d, Math.random(), Math.random(), Date.now()] }",
    "kept": (
        "function kept() { return [%d, state('count', () => ({ n: 0 })).n, "
        "state('bag', () => ({ items: [] })).items.map((item) => item.weight())] }"
    ),
    "grow": "function grow(length) { const long = 'x'.repeat(length); return [%d, (long + 'y').length] }",
    "told": "function told(text) { console.log(text, %d); return text.length }",
    "dbl": "function dbl(n) { return n * 2 + 0 * %d }",
    "pay": (
        "async function pay(token, key, amount, route) { const before = data.get(key) ?? 0; "
        "const noted = data.get('paid:' + token) ?? 0; const [next, ...rest] = route; "
        "data.set('paid:' + token, noted + 1); "
        "if (next !== undefined) await Promise.all(next.map((world, i) => "
        "worlds.call(world, 'pay', token + '.' + i, key, amount, rest))); data.set(key, before + amount); "
        "console.log(Math.random()); return [before, data.get(key), %d] }"
    ),
    "app": "function app(request) { return '<p>' + request.path + ' ' + (data.get('hot') ?? 0) + ' %d</p>' }",
    "Item": "class Item { constructor(n) { this.n = n } weight() { return this.n * %d } }",
}
BAD_DOUBLE = "function dbl(n) { return n * 3 }"
MAY_WRITE = ("add", "move", "note", "needs", "pay")
"""Functions whose success wrote something: its record is durable before its answer leaves."""


def text_of(name: str, variant: int) -> str:
    """The source of one definition."""
    text = _TEXTS[name]
    return text % ((variant,) * text.count("%d"))


LIBRARY = tuple(_TEXTS)


@dataclass(frozen=True)
class Source:
    """One thing to develop and what an accepted one does to what the heap holds. `bad`: it can never be accepted."""

    text: str
    counts: int = 0
    items: tuple[int, ...] = ()
    bad: bool = False
    commonjs: str | None = None


def _library(variant: int) -> str:
    large = "\nstate('large', () => ({ text: 'x'.repeat(1_500_000) }));" if variant == 3 else ""
    return "/** One of many. */\n" + "\n".join(text_of(name, variant) for name in LIBRARY) + large


_BUMP = "const count = state('count', () => ({ n: 0 })); count.n += %d;"
_PUT = "state('bag', () => ({ items: [] })).items.push(new Item(%d));"
SOURCES: dict[str, Source] = {
    **{f"library {n}": Source(_library(n)) for n in VARIANTS},
    **{f"add {n}": Source(text_of("add", n)) for n in VARIANTS},
    **{f"class {n}": Source(text_of("Item", n)) for n in VARIANTS},
    **{f"kept {n}": Source(text_of("kept", n) + "\n" + _BUMP % n, counts=n) for n in VARIANTS},
    **{f"item {n}": Source(_PUT % n, items=(n,)) for n in VARIANTS},
    "double": Source(text_of("dbl", 1)),
    "no double": Source(BAD_DOUBLE),
    "without note": Source("undefine('note');"),
    "commonjs": Source(
        "const shout = (text) => String(text).toUpperCase() + '!'", commonjs="module.exports = (text) => text"
    ),
    "nothing": Source("1 + 1"),
    "throws": Source("state('count', () => ({ n: 0 })).n = 1000; throw new Error('not this one')", bad=True),
    "syntax": Source("function add(key { return 1 }", bad=True),
    "touches data": Source("data.set('hot', 1000);", bad=True),
    "asks": Source("worlds.list();", bad=True),
    "no state": Source("state('count').n += 1;", bad=True),
}
SOURCE_OF_TEXT = {source.text: source for source in SOURCES.values()}

CHECKS: dict[str, tuple[str, str, str | None]] = {
    "doubles": ("dbl(2) === 4", BAD_DOUBLE, None),
    "doubles all": ("n => dbl(n) === n + n", BAD_DOUBLE, "gen.int(1, 50)"),
    "always": ("true", BAD_DOUBLE, None),
    "never": ("dbl(2) === 5", BAD_DOUBLE, None),
}
"""Name -> (expression, counterexample, generator); the last two can never be enrolled."""
SOUND_CHECKS = ("doubles", "doubles all")


class GuestError(Exception):
    """What the function throws; the first line of the failure ends with this text."""


@dataclass
class Seen:
    """What one run may see, and what it would leave: data of one moment, the heap's state, the clock, answers."""

    get: Callable[[str], Any]
    list: Callable[[str], list[tuple[str, Any]]]
    count: int
    items: tuple[int, ...]
    weight: int
    now_ms: int
    answers: list[Any] = field(default_factory=list)
    writes: dict[str, Any] = field(default_factory=dict)

    def read(self, key: str, default: Any = 0) -> Any:
        value = self.writes[key] if key in self.writes else self.get(key)
        return default if value is None else value


class Any_:
    """Equal to every number: what a model cannot know, such as a drawn one."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | float)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "a number"


def _add(seen: Seen, k: int, key: str, amount: int) -> Any:
    before = seen.read(key)
    seen.writes[key] = before + amount * k
    return [before, before + amount * k]


def _move(seen: Seen, k: int, source: str, target: str) -> Any:
    moved = seen.read(source)
    seen.writes[source] = None
    seen.writes[target] = seen.read(target) + moved
    return [k, moved]


def _note(seen: Seen, k: int, key: str, text: str) -> Any:
    seen.writes[key] = {"text": text, "by": k}
    return text


def _needs(seen: Seen, k: int, key: str, least: int) -> Any:
    there = seen.read(key)
    seen.writes[key] = there + 1
    if there < least:
        raise GuestError(f"{key} is {there}, not {least} ({k})")
    return there


def _pay(seen: Seen, k: int, token: str, key: str, amount: int, route: list[Any]) -> Any:
    before, noted = seen.read(key), seen.read(f"paid:{token}")
    if any(not answer.ok for answer in seen.answers):
        raise GuestError("")
    seen.writes[key] = before + amount
    seen.writes[f"paid:{token}"] = noted + 1
    return [before, before + amount, k]


_MODELS: dict[str, Callable[..., Any]] = {
    "add": _add,
    "read": lambda seen, k, key: [k, seen.read(key, None)],
    "rows": lambda seen, k, prefix: [[key, value, k] for key, value in seen.list(prefix)],
    "move": _move,
    "note": _note,
    "needs": _needs,
    "draw": lambda seen, k: [k, Any_(), Any_(), seen.now_ms],
    "kept": lambda seen, k: [k, seen.count, [n * seen.weight for n in seen.items]],
    "grow": lambda seen, k, length: [k, length + 1],
    "told": lambda seen, k, text: len(text),
    "dbl": lambda seen, k, n: n * 2,
    "pay": _pay,
    "app": lambda seen, k, request: f"<p>{request['path']} {seen.read('hot')} {k}</p>",
}


@dataclass(frozen=True)
class Guest:
    """One known definition."""

    name: str
    variant: int

    def run(self, seen: Seen, args: list[Any]) -> Any:
        """Its value; what it writes is in `seen.writes`. Raises GuestError, and its writes then do not count."""
        return _MODELS[self.name](seen, self.variant, *args)


GUESTS: dict[str, Guest] = {text_of(name, n): Guest(name, n) for name in LIBRARY for n in VARIANTS}
"""By source; `Item` is a class and never run by itself."""


def known(source: str) -> Guest | None:
    """The model of a definition; None for one that has none."""
    return GUESTS.get(source)


def as_rows(view: Iterable[tuple[str, bytes]]) -> dict[str, Any]:
    """Rows of data with their values parsed."""
    return {key: json.loads(value) for key, value in view}
