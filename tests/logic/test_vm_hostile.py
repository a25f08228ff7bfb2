"""Hostile sources on both paths: each ends in its budget, with the same fuel each time, and the next job is well."""

from __future__ import annotations

import pytest
from vm_bench import Bench

from engine.logic import Engine, VmPool

TOO_DEEP = "Maximum call stack size exceeded"

OUT_OF_FUEL = {
    "indexOf over a huge length": "Array.prototype.indexOf.call({ length: 4294967295 }, 9)",
    "includes over a huge length": "Array.prototype.includes.call({ length: 4294967295 }, 9)",
    "every over a huge length": "Array.prototype.every.call({ length: 4294967295 }, () => true)",
    "some over a huge length": "Array.prototype.some.call({ length: 4294967295 }, () => false)",
    "lastIndexOf over a huge length": "Array.prototype.lastIndexOf.call({ length: 4294967295 }, 9)",
    "fill over a huge length": "Array.prototype.fill.call({ length: 4294967295 }, 0)",
    "a sparse array into text": "const a = []; a.length = 1e9; a.join()",
    "an exponential pattern": "/^(x+)+$/.test('x'.repeat(36) + '!')",
    "a loop of empty matches": "/(?:(?:)*)*(x|y|xy)*(x|y|xy)*(x|y|xy)*z/.test('xy'.repeat(60))",
    "a text split and sorted": "('ba'.repeat(3e5)).split('').sort().length",
    "an endless loop": "for (;;);",
    "an endless chain of microtasks": "(async () => { for (;;) await null })()",
    "two promises that wake each other": "const f = () => Promise.resolve().then(f); f()",
    "a generator without end": "const g = (function* () { for (;;) yield 1 })(); for (const x of g);",
}

CAUGHT = {
    "plain recursion": "function f() { f() } f()",
    "recursion through toString": "const o = { toString() { return '' + o } }; '' + o",
    "recursion through a Proxy": "const p = new Proxy({}, { get(t, k, r) { return r[k] } }); p.x",
    "a deep JSON text": "JSON.parse('['.repeat(1e6))",
    "an array in itself, flattened": "const a = []; a[0] = a; a.flat(Infinity)",
    "nested parentheses": "eval('('.repeat(5000) + '1' + ')'.repeat(5000))",
    "nested arrays in a source": "eval('['.repeat(200000))",
    "recursive sorts": "function f() { [2, 1].sort(f) } f()",
    "recursion through replace": "function f() { return 'x'.replace(/x/, f) } f()",
    "recursion through toJSON": "function f() { return JSON.stringify({ toJSON: f }) } f()",
    "recursion through eval": "globalThis.f = () => eval('f()'); f()",
    "a chain of proxies": "let p = {}; for (let i = 0; i < 2e4; i++) p = new Proxy(p, {}); p.x",
}


@pytest.fixture
def bench(pool: VmPool, engine: Engine) -> Bench:
    return Bench(pool, engine)


@pytest.mark.parametrize("source", OUT_OF_FUEL.values(), ids=OUT_OF_FUEL.keys())
def test_what_never_ends_runs_out_of_fuel(bench, source):
    ends = [bench.run(source, fuel=60_000_000) for _ in range(2)]
    assert [(end.status, end.fuel_used) for end in ends] == [("fuel", 60_000_000)] * 2
    assert bench.value("1 + 1") == "2"


@pytest.mark.parametrize("source", CAUGHT.values(), ids=CAUGHT.keys())
def test_unbounded_recursion_is_an_error_that_the_guest_can_catch(bench, source):
    caught = f"(() => {{ try {{ {source} }} catch (e) {{ return e.name + ': ' + e.message }} }})()"
    ends = [bench.run(caught) for _ in range(2)]
    assert [end.text for end in ends] == [f"RangeError: {TOO_DEEP}".encode()] * 2
    assert ends[0].fuel_used == ends[1].fuel_used
    assert bench.value("1 + 1") == "2"


def test_recursion_ends_at_exactly_the_same_depth_everywhere(bench):
    source = (
        "(() => { let depth = 0; const f = () => { depth++; f() }; try { f() } catch {} return depth })()"
    )
    assert bench.value(source) == "2127"


def test_nested_groups_in_a_pattern_are_an_error(bench):
    source = "try { new RegExp('(?='.repeat(1e5) + 'x' + ')'.repeat(1e5)) } catch (e) { '' + e }"
    assert bench.value(source) == "SyntaxError: stack overflow"


OUT_OF_MEMORY = {
    "a JSON text of a hundred megabytes": "JSON.parse('[' + '1,'.repeat(5e7) + '1]').length",
    "a huge buffer, filled": "new Uint8Array(1e9).fill(1)",
    "a huge buffer, moved": "new Uint8Array(1e9).copyWithin(0, 1)",
    "a huge text": "'x'.repeat(5e8)",
    "many buffers": "const a = []; for (;;) a.push(new Uint8Array(1e5))",
    "memory in a microtask": "Promise.resolve().then(() => 'x'.repeat(5e8))",
}


@pytest.mark.parametrize("source", OUT_OF_MEMORY.values(), ids=OUT_OF_MEMORY.keys())
def test_memory_is_refused_and_no_guest_code_can_hide_it(bench, source):
    hidden = f"(() => {{ try {{ {source} }} catch {{ return 'hidden' }} finally {{ return 'hidden' }} }})()"
    ends = [bench.run(hidden) for _ in range(2)]
    assert [(end.status, end.text) for end in ends] == [("memory", b"InternalError: out of memory")] * 2
    assert ends[0].fuel_used == ends[1].fuel_used
    assert bench.value("1 + 1") == "2"


def test_filling_memory_is_paid_for_in_fuel_that_grows_with_the_size(bench):
    small, large = (
        bench.run(f"new Uint8Array({size}).fill(1).length").fuel_used for size in (10_000, 40_000_000)
    )
    assert large > 40 * small


def test_a_heap_that_overflows_leaves_a_hundred_others_healthy(bench):
    assert bench.run(OUT_OF_MEMORY["many buffers"]).status == "memory"
    assert [bench.value(f"{n} + 1") for n in range(100)] == [str(n + 1) for n in range(100)]


def test_a_detached_buffer_reads_as_undefined_and_the_heap_is_the_same_in_two_runs(bench):
    source = "globalThis.t = new Uint8Array(64); const moved = t.buffer.transfer(); t[0] + ',' + t.length"
    ends = [bench.run(source, keep_heap=True, collect=True) for _ in range(2)]
    assert [end.text for end in ends] == [b"undefined,0"] * 2
    assert ends[0].image.root == ends[1].image.root


def test_an_endless_async_loop_ends_and_the_next_snapshot_is_sound(bench):
    assert bench.run("(async () => { for (;;) await null })()", fuel=20_000_000, keep_heap=True).image is None
    bench.keep("globalThis.sound = 1; 0")
    assert bench.value("sound") == "1"
