# ruff: noqa: E501  (programs in tables stay on their lines)
"""A develop writes no data and asks no world, whatever runs for it, however late, and whoever catches the error."""

from __future__ import annotations

import pytest
from arena import World

TOUCH = "(() => { try { data.set('k', 1) } catch {} return 1 })()"
LATE = {
    "itself": f"{TOUCH}",
    "a microtask": f"Promise.resolve().then(() => {TOUCH})",
    "a microtask of a microtask": f"queueMicrotask(() => queueMicrotask(() => {TOUCH}))",
    "a rejection": f"Promise.reject(1).finally(() => {TOUCH}).catch(() => 1)",
    "an async generator": f"(async () => {{ for await (const x of (async function* () {{ yield 1; {TOUCH} }})()); }})()",
    "a getter": f"({{ get a() {{ return {TOUCH} }} }}).a",
    "a getter of the options": f"define('f', () => 1, {{ get doc() {{ {TOUCH}; return 'd' }} }})",
    "a getter of a state's options": f"state('s', () => ({{}}), {{ get version() {{ return {TOUCH} }} }})",
    "a getter of what is thrown": f"throw {{ get message() {{ return {TOUCH} }} }}",
    "a getter of then": f"return {{ get then() {{ {TOUCH} }} }}",
    "a thenable": f"return {{ then(done) {{ {TOUCH}; done() }} }}",
    "a toJSON": f"JSON.stringify({{ toJSON() {{ return {TOUCH} }} }})",
    "a toJSON in the console": f"console.log({{ toJSON() {{ return {TOUCH} }} }})",
    "a toJSON of what is thrown": f"throw {{ toJSON() {{ return {TOUCH} }} }}",
    "a toString": f"`${{{{ toString() {{ return {TOUCH} }} }}}}`",
    "a name": f"console.log(Object.defineProperty(() => 1, 'name', {{ get() {{ return '' + {TOUCH} }} }}))",
    "a trap of a library": f"define('lib', new Proxy({{}}, {{ ownKeys() {{ {TOUCH}; return [] }} }}))",
    "a trap of what is thrown": f"throw new Proxy(new Error('x'), {{ getPrototypeOf() {{ {TOUCH}; return Error.prototype }} }})",
    "a static block": f"class A {{ static {{ {TOUCH} }} }}",
    "a field": f"class A {{ x = {TOUCH} }}\nnew A()",
    "a computed key": f"class A {{ [{TOUCH}]() {{}} }}",
    "a decorator of itself": f"define('f', () => {TOUCH}); f()",
    "a migration of a state": f"state('s', () => ({{}})); state('s', () => ({{}}), {{ version: 2, migrate(old) {{ {TOUCH}; return old }} }})",
    "a species": f"class A extends Array {{ static get [Symbol.species]() {{ {TOUCH}; return Array }} }}\nA.of(1).map((x) => x)",
    "eval": f"eval({TOUCH!r})",
    "Function": f"new Function({TOUCH!r})()",
    "a generator that is closed": f"for (const x of (function* () {{ try {{ yield 1 }} finally {{ {TOUCH} }} }})()) break",
    "a replacer": f"'a'.replace(/a/, () => {TOUCH})",
    "a comparator": f"[2, 1].sort(() => {TOUCH})",
    "a finaliser of what is dropped at once": f"const r = new FinalizationRegistry(() => {TOUCH}); state('r', () => ({{ r }})); r.register({{}}, 1)",
    "a finaliser of a ring": f"const r = new FinalizationRegistry(() => {TOUCH}); state('r', () => ({{ r }})); (() => {{ const a = {{}}; a.a = a; r.register(a, 1) }})()",
    "a finaliser that leaves another ring": f"const r = new FinalizationRegistry((n) => {{ if (n) ring(n - 1); else {TOUCH} }}); const ring = (n) => {{ const a = {{}}; a.a = a; r.register(a, n) }}; state('r', () => ({{ r, ring }})); ring(3)",
    "another world": "worlds.list().catch(() => 1)",
    "a call of another world": "try { worlds.call('x', 'y').catch(() => 1) } catch {}",
    "a list": "try { data.list('') } catch {}",
    "a delete": "try { data.delete('x') } catch {}",
}


@pytest.mark.parametrize("source", LATE.values(), ids=LATE.keys())
def test_data_that_is_touched_rejects_the_attempt(source: str) -> None:
    world = World("function read() { return data.list('') }")
    assert world.rejected(source)[0] == "touched-data"
    assert world.call("read") == []
    assert world.is_well()


def test_a_finaliser_leaves_no_work_to_the_next_call() -> None:
    world = World(
        """const kept = { seen: 0 };
        const r = new FinalizationRegistry(() => { kept.seen++ });
        state('r', () => ({ r, kept }));
        for (let i = 0; i < 3; i++) { const a = {}; a.a = a; r.register(a, i) }
        function seen() { return state('r', () => ({})).kept.seen }"""
    )
    assert world.call("seen") == 3
    world.accepted("function other() { return 1 }")
    assert (world.call("seen"), world.data()) == (3, {})


def test_finalisers_without_end_are_stopped_by_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    endless = "const r = new FinalizationRegistry(() => ring()); const ring = () => { const a = {}; a.a = a; a.t = 'x'.repeat(1e6).split(''); r.register(a, 1) }; state('r', () => ({ r, ring })); ring()"
    assert world.rejected(endless)[0] == "budget"
    assert world.is_well()


def test_a_finaliser_of_a_call_writes_only_if_the_call_could() -> None:
    world = World(
        "function drop() { new FinalizationRegistry(() => data.set('k', 1)).register({}, 1); return 1 }\n"
        "function fail() { new FinalizationRegistry(() => data.set('k', 2)).register({}, 1); throw new Error('x') }"
    )
    world.fails("fail")
    assert world.data() == {}
    world.call("drop")
    assert world.data() in ({}, {"k": 1})
    assert world.preview("drop()").ok
    assert world.is_well()
