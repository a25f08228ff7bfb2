# ruff: noqa: E501  (programs in tables stay on their lines)
"""A check cannot be weakened: not by what it calls, nor by how it is run, nor by its counterexample."""

from __future__ import annotations

import json
from typing import Any

import pytest
from arena import World, host

from engine.host import answers
from engine.hub import messages as hub

DOUBLE = "function dbl(n) { return n * 2 }"
BROKEN = "function dbl(n) { return -n * 2 }"


def enrol(world: World, expression: str, counterexample: str = BROKEN, generator: str | None = None) -> Any:
    return host().perform(
        world.id,
        hub.Enrol("holds", expression=expression, counterexample=counterexample, generator=generator),
    )


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr("engine.limits.CHECK_FUEL_MAX", 600_000_000)
    world = World(DOUBLE)
    assert isinstance(enrol(world, "dbl(2) === 4 && dbl(3) === 6"), answers.Enrolled)
    return world


WEAKENING = {
    "a wrong answer": "function dbl(n) { return n + 2 }",
    "an object that reads as the number": "function dbl(n) { return { valueOf: () => n * 2 } }",
    "a boxed number": "function dbl(n) { return Object(n * 2) }",
    "the text of the number": "function dbl(n) { return String(n * 2) }",
    "a promise of the number": "async function dbl(n) { return n * 2 }",
    "a count of its calls": "state('s', () => ({ n: 0 }));\nfunction dbl(n) { return state('s', () => ({})).n++ < 1 ? n * 2 : 0 }",
    "a count that a property keeps": "function dbl(n) { dbl.n = (dbl.n ?? 0) + 1; return dbl.n < 2 ? n * 2 : 0 }",
    "a redefinition of itself while it is called": "function dbl(n) { define('dbl', (m) => m * 20); return n * 2 }",
    "the stack of its caller": "function dbl(n) { return new Error().stack.split('\\n').length > 99 ? n * 2 : 0 }",
    "a throw that hides": "function dbl(n) { throw true }",
    "a result of equality": "function dbl(n) { return { [Symbol.toPrimitive]: () => 4 } }",
    "a Proxy that says yes": "define('dbl', new Proxy(function () {}, { apply: () => new Proxy({}, { get: () => true }) }))",
    "endless work": "function dbl(n) { for (;;); }",
    "endless microtasks": "function dbl(n) { const f = () => queueMicrotask(f); f(); return n }",
    "memory": "function dbl(n) { const a = []; for (;;) a.push(new Uint8Array(1e6)) }",
    "recursion": "function dbl(n) { return dbl(n) }",
    "its removal": "undefine('dbl')",
    "a built-in": "Number.prototype.valueOf = () => 4; function dbl(n) { return 0 }",
    "equality of what is no number": "function dbl(n) { return NaN }",
    "two answers by turns": "define('dbl', ((i) => (n) => (i = !i) ? n * 2 : 0)(false))",
}


@pytest.mark.parametrize("source", WEAKENING.values(), ids=WEAKENING.keys())
def test_what_a_check_calls_cannot_fool_it(world: World, source: str) -> None:
    assert world.rejected(source)[0] in {"check", "threw"}
    assert world.call("dbl", 5) == 10
    assert world.value("dbl(2) === 4 && dbl(3) === 6") is True


def test_state_that_one_check_leaves_is_not_there_for_the_next(world: World) -> None:
    world.accepted(
        "state('seen', () => ({ n: 0 }));\nfunction seen() { return ++state('seen', () => ({})).n }"
    )
    other = hub.Enrol(
        "fresh", expression="seen() === 1", counterexample="function seen() { return 7 }", generator=None
    )
    assert isinstance(host().perform(world.id, other), answers.Enrolled)
    world.accepted("function more() { return seen() }")
    assert world.call("more") == 1


DEAF = {
    "a definition that is another name of it": "function real(n) { return n * 2 }\nfunction dbl(n) { return real(n) }",
}


@pytest.mark.parametrize("source", DEAF.values(), ids=DEAF.keys())
def test_a_change_that_the_counterexample_still_breaks_goes_through(world: World, source: str) -> None:
    world.accepted(source)
    assert world.rejected("function real(n) { return 0 }")[0] == "check"


NO_LONGER_BREAKABLE = {
    "a frozen state": (
        "state('rate', () => ({ by: 2 }));\nfunction dbl(n) { return n * state('rate', () => ({})).by }",
        "state('rate', () => ({})).by = 3",
        "Object.freeze(state('rate', () => ({})));",
    ),
    "a state that is not looked at": (
        "state('rate', () => ({ by: 2 }));\nfunction dbl(n) { return n * state('rate', () => ({})).by }",
        "state('rate', () => ({})).by = 3",
        "function dbl(n) { return n * 2 }",
    ),
    "a setter that swallows": (
        "state('rate', () => ({ by: 2 }));\nfunction dbl(n) { return n * state('rate', () => ({})).by }",
        "state('rate', () => ({})).by = 3",
        "Object.defineProperty(state('rate', () => ({})), 'by', { get: () => 2, set() {} });",
    ),
    "a library that is no longer asked": (
        "define('kit', { by: () => 2 });\nfunction dbl(n) { return n * kit.by() }",
        "define('kit', { by: () => 3 })",
        "function dbl(n) { return n + n }",
    ),
}


@pytest.mark.parametrize(
    ("source", "counterexample", "change"), NO_LONGER_BREAKABLE.values(), ids=NO_LONGER_BREAKABLE.keys()
)
def test_a_check_that_can_no_longer_fail_refuses_the_change_that_made_it_so(
    source: str, counterexample: str, change: str
) -> None:
    world = World(source)
    assert isinstance(enrol(world, "dbl(2) === 4", counterexample), answers.Enrolled)
    assert world.rejected(change)[0] == "vacuous"
    assert world.call("dbl", 4) == 8


PROPOSALS = {
    "true itself": ("true", BROKEN),
    "what only reads as true": ("new Boolean(dbl(2) === 4)", BROKEN),
    "a counterexample that changes another thing": ("dbl(2) === 4", "function other() { return 1 }"),
    "a counterexample that throws": ("dbl(2) === 4", BROKEN + "\nthrow new Error('x')"),
    "a counterexample that touches data": ("dbl(2) === 4", BROKEN + "\ntry { data.set('k', 1) } catch {}"),
    "a check that changes built-ins": ("(Array.prototype.map = 1, true)", BROKEN),
    "a check that never settles": ("new Promise(() => {})", BROKEN),
    "a check of more than one expression": ("dbl(2) === 4; true", BROKEN),
    "a check that closes its function": ("true }) || (() => { return dbl(2) === 4", BROKEN),
}


@pytest.mark.parametrize(("expression", "counterexample"), PROPOSALS.values(), ids=PROPOSALS.keys())
def test_what_is_no_check_is_refused_and_kept_as_a_numbered_record(
    expression: str, counterexample: str
) -> None:
    world = World(DOUBLE)
    refused = enrol(world, expression, counterexample)
    assert isinstance(refused, answers.RefusedCheck)
    assert refused.rejection == 1
    assert host().checks(world.id).checks == []
    assert (world.head, world.call("dbl", 3)) == (1, 6)


def test_inputs_are_drawn_once_and_no_change_draws_easier_ones() -> None:
    world = World(DOUBLE + "\nfunction limit() { return 1000 }")
    enrolled = enrol(world, "(n) => dbl(n) === n * 2", generator="gen.int(0, limit())")
    assert enrolled.check.inputs == 50
    world.accepted("function limit() { return 0 }")
    rejected = world.develop("function dbl(n) { return n < 300 ? n * 2 : 0 }")
    assert (rejected.kind, rejected.check) == ("check", "holds")
    assert 300 <= json.loads(bytes(rejected.input)) <= 1000


def test_a_check_reaches_no_data_no_world_and_leaves_nothing() -> None:
    world = World(
        DOUBLE + "\nfunction kept() { const n = (data.get('n') ?? 0) + 1; data.set('n', n); return n }"
    )
    for _ in range(3):
        world.call("kept")
    assert isinstance(enrol(world, "kept() === 1", "function kept() { return 2 }"), answers.Enrolled)
    world.accepted("function other() { return 3 }")
    assert world.data() == {"n": 3}
    assert world.call("kept") == 4
