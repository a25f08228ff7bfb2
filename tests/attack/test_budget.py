# ruff: noqa: E501  (programs in tables stay on their lines)
"""Whatever it does, an operation ends within its budget, at the same fuel each time, and its world answers afterwards."""

from __future__ import annotations

import pytest
from arena import World

FUEL = 60_000_000

ENDLESS = {
    "a loop": "(() => { for (;;); })()",
    "a loop that catches": "(() => { for (;;) try { for (;;) null.x } catch {} })()",
    "a loop in finally": "(() => { try { for (;;); } finally { for (;;); } })()",
    "a loop in a generator's return": "(() => { for (const x of (function* () { try { yield 1 } finally { for (;;); } })()) break })()",
    "microtasks": "(async () => { for (;;) await null })()",
    "microtasks after the answer": "(queueMicrotask(function again() { queueMicrotask(again) }), 1)",
    "two promises": "(() => { const f = () => Promise.resolve().then(f); f(); return 1 })()",
    "a thenable that is never done": "({ then(done) { done({ then: this.then }) } })",
    "a toJSON": "({ toJSON() { for (;;); } })",
    "a getter of then": "({ get then() { for (;;); } })",
    "a getter of what is thrown": "(() => { throw { get message() { for (;;); } } })()",
    "a toString of what is thrown": "(() => { const e = new Error('x'); Object.defineProperty(e, 'name', { value: { toString() { for (;;); } } }); throw e })()",
    "a Proxy of what is thrown": "(() => { throw new Proxy({}, { get() { for (;;); }, getPrototypeOf() { for (;;); } }) })()",
    "a Proxy as the result": "new Proxy([], { get(t, k) { return k === 'length' ? 4294967295 : 1 } })",
    "a sparse array as the result": "(() => { const a = []; a.length = 1e9; return a })()",
    "a key of data": "data.get({ toString() { for (;;); } })",
    "arguments for another world": "worlds.call('b', 'x', { toJSON() { for (;;); } })",
    "console lines": "(() => { for (;;) console.log('x') })()",
    "reads of data": "(() => { for (;;) data.get('k') })()",
    "writes of data": "(() => { for (let i = 0; ; i++) data.set('k', i) })()",
    "lists of data": "(() => { for (;;) data.list('') })()",
    "finalisers": "(() => { const r = new FinalizationRegistry(make); function make() { r.register({}, 1) } for (;;) make() })()",
    "definitions": "(() => { for (let i = 0; ; i++) define('f' + i % 9, () => i) })()",
    "sources": "(() => { for (let i = 0; ; i++) new Function('return ' + i) })()",
    "eval": "(() => { for (;;) eval('1 + 1') })()",
    "regular expressions": "/^(x+)+$/.test('x'.repeat(36) + '!')",
    "a replacement": "'x'.repeat(1e5).replace(/(x*)*y/g, '')",
    "a normalisation": "(() => { for (;;) 'é'.repeat(1e4).normalize('NFD') })()",
    "a sort": "(() => { for (;;) 'ba'.repeat(1e4).split('').sort() })()",
    "huge numbers": "(() => { let n = 3n; for (;;) n *= n % (10n ** 5000n) + 3n })()",
    "a Date": "(() => { for (;;) new Date('2020-01-01').toString() })()",
    "holes": "Array.prototype.indexOf.call({ length: 4294967295 }, 9)",
    "a copy within": "(() => { const a = new Uint8Array(1e7); for (;;) a.copyWithin(1, 0) })()",
    "a flat array": "(() => { const a = []; for (let i = 0; i < 1e3; i++) a.push(a.slice(0, 30)); for (;;) a.flat(2) })()",
    "a chain of prototypes": "(() => { let o = {}; for (let i = 0; i < 1e4; i++) o = Object.create(o); for (;;) o.nothing })()",
    "JSON": "(() => { const t = '[' + '1,'.repeat(1e4) + '1]'; for (;;) JSON.parse(t) })()",
    "random numbers": "(() => { for (;;) Math.random() })()",
    "symbols": "(() => { for (;;) Symbol('x') })()",
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose operations have a small budget."""
    for name in ("CALL_FUEL_MAX", "DEVELOP_FUEL_MAX"):
        monkeypatch.setattr(f"engine.limits.{name}", FUEL)
    return World("function f() { return 1 }")


def fuel_of(world: World, kind: str) -> list[int]:
    return [body["fuel"] for body in world.bodies(kind)]


@pytest.mark.parametrize("expression", ENDLESS.values(), ids=ENDLESS.keys())
def test_it_ends_with_the_budget_on_the_same_fuel_each_time(small: World, expression: str) -> None:
    first, second = small.failure(expression), small.failure(expression)
    assert first == second
    assert first[0] in {"budget", "memory", "size"}
    fuel = fuel_of(small, "preview")
    assert fuel[0] == fuel[1] <= FUEL
    assert small.value("1 + 1") == 2


SPLIT = {
    "work before and after an await": "(async () => { let n = 0; for (let i = 0; i < 5e5; i++) n++; await 0; for (let i = 0; i < 5e5; i++) n++; return n })()",
    "work in many microtasks": "(async () => { let n = 0; for (let k = 0; k < 1e3; k++) { await 0; for (let i = 0; i < 1e3; i++) n++ } return n })()",
    "work in an async generator": "(async () => { let n = 0; for await (const k of (async function* () { for (let k = 0; k < 1e3; k++) yield k })()) for (let i = 0; i < 1e3; i++) n++; return n })()",
}


@pytest.mark.parametrize("expression", SPLIT.values(), ids=SPLIT.keys())
def test_one_budget_covers_all_of_an_operation(small: World, expression: str) -> None:
    assert small.failure(expression)[0] == "budget"


def test_each_call_of_another_world_has_its_own_budget_and_the_caller_one_for_all_its_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.limits.CALL_FUEL_MAX", FUEL)
    peer = World("function answer() { return 1 }", "peer")
    caller = World(
        """async function spread(id, parts) {
          for (let k = 0; k < parts; k++) { await worlds.call(id, "answer"); for (let i = 0; i < 3e4; i++); }
          return parts;
        }""",
        "caller",
        grants=(peer,),
    )
    assert caller.call("spread", peer.id, 2) == 2
    assert caller.fails("spread", peer.id, 50)[0] == "budget"


DEVELOPS = ["for (;;);", "queueMicrotask(function again() { queueMicrotask(again) })", "class A { static x = (() => { for (;;); })() }", "state('s', () => { for (;;); })", "define('lib', new Proxy({}, { ownKeys() { for (;;); } }))"]  # fmt: skip


@pytest.mark.parametrize("source", DEVELOPS)
def test_a_develop_without_end_is_rejected_twice_on_the_same_fuel(small: World, source: str) -> None:
    assert small.rejected(source)[0] == small.rejected(source)[0] == "budget"
    assert fuel_of(small, "rejection") == [FUEL, FUEL]
    assert small.call("f") == 1


def test_the_same_work_costs_the_same_and_twice_the_work_twice(small: World) -> None:
    loop = "(() => { for (let i = 0; i < %d; i++); return 1 })()"
    for turns in (50_000, 50_000, 100_000):
        assert small.value(loop % turns) == 1
    once, again, twice = fuel_of(small, "preview")
    assert once == again
    assert abs(twice / once - 2) < 0.05
