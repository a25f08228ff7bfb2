# ruff: noqa: E501  (programs in tables stay on their lines)
"""Attempts: what is accepted, what changes nothing, what is rejected and why (cases A to C, H and I)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from language import World, empty_world, engine, genesis, pool

from engine import limits
from engine.logic import Changes, Engine, HeapImage, VmPool, attempt, boot, prelude_source

REJECTED = [
    ('throw new Error("zip")', "threw", "Error: zip"),
    ("throw 'text'", "threw", "text"),
    (
        "Promise.reject(new Error('unseen'));\nreturn Promise.reject(new TypeError('seen'))",
        "threw",
        "TypeError: seen",
    ),
    ("loose = 1", "threw", "ReferenceError: loose is not defined"),
    ("(0, eval)('loose = 1')", "threw", "ReferenceError: loose is not defined"),
    ("new Function('loose = 1')()", "threw", "ReferenceError: loose is not defined"),
    ("undefined = 1", "threw", "TypeError: 'undefined' is read-only"),
    ("Array = 1", "threw", "TypeError: 'Array' is read-only"),
    ("Object.freeze({a: 1}).a = 2", "threw", "TypeError: 'a' is read-only"),
    ("Array.prototype.some = () => true", "threw", "TypeError: 'some' is read-only"),
    (
        "return new Promise(() => {})",
        "pending",
        "the promise that it returned never settled: nothing was left to run that could settle it",
    ),
    ("globalThis.k = 1", "leaked-global", "it left a global that is no definition: k; use define or state"),
    (
        "globalThis.k = globalThis.j = 1",
        "leaked-global",
        "it left a global that is no definition: j, k; use define or state",
    ),
    (
        "globalThis[Symbol('s')] = 1",
        "leaked-global",
        "it left a global that is no definition: Symbol(s); use define or state",
    ),
    ("globalThis[7] = 1", "leaked-global", "it left a global that is no definition: 7; use define or state"),
    (
        "Promise.resolve().then(() => { globalThis.k = 1 })",
        "leaked-global",
        "it left a global that is no definition: k; use define or state",
    ),
    (
        "Object.setPrototypeOf(globalThis, { k: 1 })",
        "leaked-global",
        "it gave globalThis another prototype; use define or state for what all sources should see",
    ),
    (
        "new Function('with ({}) {} ; k = 1')()",
        "leaked-global",
        "it left a global that is no definition: k; use define or state",
    ),
    (
        "await 1",
        "syntax",
        "SyntaxError: no await at the top level: use it in an async function, or return the promise, which is waited for",
    ),
    (
        "for await (const x of []) {}",
        "syntax",
        "SyntaxError: no await at the top level: use it in an async function, or return the promise, which is waited for",
    ),
    ("let a = ;", "syntax", "SyntaxError: unexpected token in expression: ';'"),
    ("const a = 1; const a = 2", "syntax", "SyntaxError: invalid redefinition of lexical identifier"),
    ("with ({}) {}", "syntax", "SyntaxError: invalid keyword: with"),
    ("})(); globalThis.k = 1; (() => {", "syntax", "SyntaxError: "),
    ("}} globalThis.k = 1; {{", "syntax", "SyntaxError: "),
    ("} function $source() {", "syntax", "SyntaxError: "),
    ("*/ 1", "syntax", "SyntaxError: "),
    ('new Function("})(); globalThis.k = 1; (() => {")', "threw", "SyntaxError: "),
    ('new Function("} / (globalThis.k = 1) / {")', "threw", "SyntaxError: "),
    ('new Function("a = 1) { } function b(", "")', "threw", "SyntaxError: "),
    ("eval('})(); globalThis.k = 1')", "threw", "SyntaxError: "),
]


@pytest.mark.parametrize(("source", "kind", "headline"), REJECTED)
def test_a_rejection_has_a_kind_and_a_reason(source: str, kind: str, headline: str) -> None:
    world = World()
    got_kind, got_headline = world.reject(source)
    assert got_kind == kind
    assert got_headline.startswith(headline)
    assert world.image is genesis()


@pytest.mark.parametrize(
    "word", ["import x from 'y'", "export const x = 1", "import 'y'", "export default 5"]
)
def test_module_declarations_say_what_to_do_instead(word: str) -> None:
    kind, reason = World().reject(f"\n  {word}")
    assert kind == "syntax"
    assert reason == (
        f"SyntaxError: {word.split()[0]} declarations do not work: there are no modules here. A top-level function or "
        "class is a definition that all sources see, and libraries enter as CommonJS"
    )


CLOSED = "it closed globalThis, where every definition lives: freeze and seal objects of your own"


@pytest.mark.parametrize(
    "source",
    [
        'state("a", () => ({})).x = 1; Object.preventExtensions(globalThis)',
        "Object.freeze(globalThis)",
        "Object.seal(globalThis)",
        "Reflect.preventExtensions(globalThis)",
        "Object.preventExtensions(new Proxy(globalThis, {}))",
        "class C { static { Object.preventExtensions(globalThis) } }",
        "const o = { get x() { return Object.preventExtensions(globalThis) } }; o.x",
        "Promise.resolve().then(() => Object.preventExtensions(globalThis))",
        "new Function('return this')().x; Object.preventExtensions(new Function('return this')())",
    ],
)
def test_a_source_that_closes_the_global_object_is_rejected(source: str) -> None:
    world = World()
    assert world.reject(source) == ("leaked-global", CLOSED)
    world.develop("function f() { return 1 }")
    assert world.call("f").ok


@pytest.mark.parametrize(
    "source", ["Object.freeze(globalThis)", "Object.setPrototypeOf(globalThis, { k: 1 })"]
)
def test_not_even_a_library_file_may_spoil_the_global_object(source: str) -> None:
    world = World()
    world.develop("exports.n = 1", commonjs="lib")
    assert world.reject(source, commonjs="lib")[0] == "leaked-global"


TOUCHING = [
    ('try { data.set("k",1) } catch {}', "data.set"),
    ('data.list("a"); data.set("b",1)', "data.list"),
    ('define("f", () => data.get("q")); f()', "data.get"),
    ('Promise.resolve().then(() => data.delete("k"))', "data.delete"),
    ("worlds.list()", "worlds.list"),
    ("worlds.call('x', 'f').catch(() => {})", "worlds.call"),
    ("worlds.functions('x').catch(() => {})", "worlds.functions"),
    ("try { data.get('a') } catch {} throw new Error('later')", "data.get"),
]


@pytest.mark.parametrize(("source", "operation"), TOUCHING)
def test_data_and_worlds_are_for_calls(source: str, operation: str) -> None:
    assert World().reject(source) == (
        "touched-data",
        f"{operation} was used: data and worlds are for calls only",
    )


UNCHANGED = [
    "",
    "  \n",
    "5",
    "-5;",
    "'use strict'",
    "// only\n/* comments */",
    "return 5",
    "null; `text`; /r/; (1)",
    ";;",
]


@pytest.mark.parametrize("source", UNCHANGED)
def test_literals_and_comments_change_nothing_and_run_nothing(source: str) -> None:
    outcome = World().attempt(source)
    assert (outcome.verdict, outcome.image, outcome.fuel) == ("unchanged", None, 0)


def test_a_local_of_one_source_is_not_seen_by_the_next() -> None:
    world = World()
    world.attempt("let q = 1; var r = 2;")
    assert world.value("[typeof q, typeof r]") == ["undefined", "undefined"]


SAME = [
    "define('f', (x) => x, { doc: 'd' }); state('s', () => ({ n: 1 }))",
    "state('s', () => ({ other: 2 }))",
    "function g(a) { return f(a) }",
    "define('f', (x) => x, { doc: 'd' })\n\nfunction g(a) { return f(a) }",
    "const unused = 6; define('f', (x) => x, { doc: 'd' })",
    "define('lib', { a: 1, b() {} })",
]
BASE = "define('f', (x) => x, { doc: 'd' }); function g(a) { return f(a) } state('s', () => ({ n: 1 })); define('lib', { a: 1, b() {} })"


@pytest.mark.parametrize("source", SAME)
def test_identical_definitions_change_nothing(source: str) -> None:
    world = World()
    world.develop(BASE)
    outcome = world.attempt(source)
    assert (outcome.verdict, outcome.image) == ("unchanged", None)


OTHER = [
    ("define('f', (x) => x)", ("f",)),
    ("define('f', (x) => x, { doc: 'd', version: 2 })", ("f",)),
    ("define('f', (y) => y, { doc: 'd' })", ("f",)),
    ("define('lib', { a: 2, b() {} })", ("lib",)),
    ("define('f', (x) => x, { doc: 'd' }); f(1)", ()),
    ("state('s', () => ({})).n = 2", ()),
    ("state('s', () => ({}), { version: 2 })", ()),
    ("reset('s')", ()),
    ("state('t', () => ({}))", ()),
    ("f.note = 'static'", ()),
    ("const x = 6; define('f', (x) => x, { doc: 'd' }); define('f', f => x)", ("f",)),
]


@pytest.mark.parametrize(("source", "changed"), OTHER)
def test_anything_else_is_a_revision(source: str, changed: tuple[str, ...]) -> None:
    world = World()
    world.develop(BASE)
    outcome = world.develop(source)
    assert outcome.changes.changed == changed


def test_a_definition_over_another_constant_is_another_definition() -> None:
    world = World()
    world.develop("const rate = 5; define('tax', () => rate)")
    assert world.attempt("const rate = 5; define('tax', () => rate)").verdict == "unchanged"
    outcome = world.develop("const rate = 6; define('tax', () => rate)")
    assert outcome.changes.changed == ("tax",)
    assert world.result("tax") == 6
    world.develop("const { rate } = { rate: 1 }; define('lib', { tax: (x) => rate * x })")
    assert world.develop("const [rate] = [2]; define('lib', { tax: (x) => rate * x })").changes.changed == (
        "lib",
    )
    assert world.develop("define('lib', { tax: (x) => rate * x })").changes.changed == ("lib",), (
        "rate is gone"
    )
    assert world.attempt("define('lib', { tax: (x) => rate * x }); const y = 1").verdict == "unchanged"


def test_what_a_prototype_holds_counts() -> None:
    world = World()
    world.develop("function Shape() {}")
    world.develop("Shape.prototype.area = () => 5")
    assert world.value("new Shape().area()") == 5


def test_changes_name_what_was_added_changed_and_removed() -> None:
    world = World()
    world.develop("define('a', () => 1); define('b', () => 1); define('c', () => 1)")
    outcome = world.develop("define('a', () => 1); define('b', () => 2); undefine('c'); define('d', () => 1)")
    assert (outcome.changes.added, outcome.changes.changed, outcome.changes.removed) == (
        ("d",),
        ("b",),
        ("c",),
    )
    assert world.names == ["a", "b", "d"]


def test_a_rejection_leaves_no_trace() -> None:
    world = World()
    world.develop("const s = state('s', () => ({ n: 1 })); define('p', () => s.n)")
    before = world.image
    world.reject(
        "state('s', () => ({})).n = 99; define('p', () => 0); define('q', () => 0); throw new Error('no')"
    )
    assert world.image is before
    assert (world.result("p"), world.names) == (1, ["p"])


def test_dynamic_import_fails_and_can_be_caught() -> None:
    world = World()
    world.develop('import("y").catch(e => { state("i", () => ({})).m = String(e) })')
    assert "could not load module" in world.value('state("i", () => ({})).m')


def test_microtasks_are_drained_before_the_verdict() -> None:
    world = World()
    world.develop("(async () => { for (let i = 0; i < 50; i++) await i; define('late', () => 'here') })()")
    assert world.result("late") == "here"


def test_a_returned_promise_is_waited_for() -> None:
    world = World()
    world.develop("return (async () => { await 0; define('f', () => 1) })()")
    assert world.names == ["f"]


def test_logs_come_with_any_verdict() -> None:
    world = World()
    assert world.attempt("console.log('a', { b: 1 })").logs == ('a {"b":1}',)
    assert world.attempt("console.warn('w'); throw new Error('x')").logs == ("w",)


def test_the_clock_stands_at_the_year_2000_and_draws_repeat() -> None:
    source = "const s = state('s', () => ({})); s.now = [Date.now(), performance.now(), new Date().getTimezoneOffset()]; s.r = [Math.random(), Math.random()]"
    one, two = World(), World()
    one.develop(source)
    two.develop(source)
    assert one.image.root == two.image.root
    drawn = one.value("state('s', () => ({}))")
    assert drawn["now"][0] == 946_684_800_000
    assert drawn["now"][2] == 0
    three = World()
    three.develop(source + "// other")
    assert three.value("state('s', () => ({})).r") != drawn["r"]


def test_the_same_source_on_the_same_base_gives_the_same_bytes() -> None:
    def grown() -> HeapImage:
        world = World()
        world.develop(
            "function f(x) { return [x, Math.random()] }\nstate('s', () => ({ m: new Map([[f(1), 2]]) }))"
        )
        world.develop("f(2); define('g', (a, ...b) => b)")
        return world.image

    assert grown().to_bytes() == grown().to_bytes()


def test_a_heap_that_is_restored_from_bytes_goes_on() -> None:
    world = World()
    world.develop("define('id', (x) => x)")
    again = World(HeapImage.from_bytes(world.image.to_bytes(), world.image.meta))
    assert again.result("id", 7) == 7
    assert again.call("nope").missing


def test_endless_loops_end_with_the_budget_at_the_same_fuel() -> None:
    world = World()
    fuel = 20_000_000
    outcomes = [world.attempt("for(;;);", fuel=fuel) for _ in range(2)]
    assert [(outcome.kind, outcome.fuel) for outcome in outcomes] == [("budget", fuel)] * 2
    assert outcomes[0].reason == f"the budget ended: {fuel} units of fuel were spent"
    assert (
        world.attempt(
            "Promise.resolve().then(function again() { return Promise.resolve().then(again) })", fuel=fuel
        ).kind
        == "budget"
    )
    assert world.value("1 + 2") == 3


def test_a_loop_costs_what_it_runs() -> None:
    def fuel(rounds: int) -> int:
        source = f"let s = 0; for (let i = 0; i < {rounds}; i++) s ^= i; state('s', () => [s])"
        outcome = World().attempt(source)
        assert outcome.verdict == "accepted"
        return outcome.fuel

    base = fuel(1)
    once, twice = fuel(100_000) - base, fuel(200_000) - base
    assert fuel(100_000) - base == once
    assert abs(twice / once - 2) < 0.01


def test_a_source_may_be_as_large_as_the_limit_and_no_larger() -> None:
    source = "define('f', () => 1);" + " " * (limits.SOURCE_BYTES_MAX - 21)
    World().develop(source)
    assert World().reject(source + " ") == (
        "size",
        "the source is 1048577 bytes; at most 1048576 are allowed",
    )


def test_what_the_parser_does_not_know_is_not_run_by_halves() -> None:
    # The engine knows neither accessor fields nor what the parser makes of them: the engine's error is shown.
    kind, reason = World().reject("class A { accessor x = 1 }\nfunction f() {}")
    assert kind == "syntax"
    assert reason.startswith("SyntaxError: ")


def test_a_library_file_runs_as_commonjs() -> None:
    world = World()
    outcome = world.develop(
        "#!/usr/bin/env node\nvar self = this === module.exports; leaked = 1; exports.self = self; exports.twice = (n) => 2 * n",
        commonjs="lib",
    )
    assert (outcome.changes.added, outcome.changes.globals) == (("lib",), ("leaked",))
    assert world.value("[lib.self, lib.twice(4), leaked]") == [True, 8, 1]
    assert world.catalogue.globals == ("leaked",)
    assert world.develop("define('x', () => leaked)").changes.globals == ()


def test_a_library_may_require_others() -> None:
    world = World()
    world.develop("module.exports = { one: 1 }", commonjs="base_lib")
    world.develop("const b = require('./base-lib.js'); exports.two = () => b.one + 1", commonjs="next")
    assert world.value("next.two()") == 2
    world.develop("module.exports = { one: 10 }", commonjs="base_lib")
    assert world.value("next.two()") == 11
    kind, reason = world.reject("require('fs')", commonjs="other")
    assert (kind, reason) == (
        "threw",
        "Error: Cannot find module 'fs': require reaches the definitions of this world (base_lib, next)",
    )


LIBRARY_EXPORTS = [
    ("module.exports = function greet(n) { return 'hi ' + n }", "lib('x')", "hi x", "function"),
    ("module.exports = class { constructor() { this.n = 1 } }", "new lib().n", 1, "class"),
    ("module.exports = new (class Box { get() { return 5 } })()", "lib.get()", 5, "library"),
    (
        "exports.default = exports; exports.v = 2",
        "[lib.default === lib, lib.default.v]",
        [True, 2],
        "library",
    ),
    (
        "'use strict'; try { undeclared = 1 } catch (e) { exports.e = e.name }",
        "lib.e",
        "ReferenceError",
        "library",
    ),
    ("exports.tag = Object.prototype.toString.call(exports)", "lib.tag", "[object Object]", "library"),
    ("Array.prototype.some = () => true; exports.a = 1", "[1].some((x) => x > 5)", False, "library"),
]


@pytest.mark.parametrize(("source", "expression", "wanted", "kind"), LIBRARY_EXPORTS)
def test_a_library_defines_what_it_exports(source: str, expression: str, wanted: object, kind: str) -> None:
    world = World()
    world.develop(source, commonjs="lib")
    assert world.value(expression) == wanted
    assert world.catalogue.definitions[0].kind == kind


def test_a_library_that_exports_nothing_callable_is_rejected() -> None:
    assert World().reject("module.exports = 5", commonjs="lib")[0] == "threw"
    assert World().reject("exports.a = 1", commonjs="a-b") == (
        "threw",
        'TypeError: define: "a-b" is not an ASCII identifier',
    )
    assert World().reject("exports.a = ;", commonjs="lib")[0] == "syntax"


def test_the_same_library_again_changes_nothing_and_another_does() -> None:
    world = World()
    source = "let n = 1; exports.next = () => n++"
    world.develop(source, commonjs="lib")
    assert world.attempt(source, commonjs="lib").verdict == "unchanged"
    assert world.develop(source + " // edited", commonjs="lib").changes.changed == ("lib",)


def test_the_catalogue_of_an_image_is_the_one_after_the_attempt() -> None:
    world = World()
    world.develop(
        "/** D */ function f(a) { return g(a) }\ndefine('g', (x) => x, { version: 2 }); state('s', () => [])"
    )
    world.develop("module.exports = { a: 1 }; left = 1", commonjs="lib")
    world.develop("undefine('g')")
    assert attempt.catalogue_of(pool(), world.image) == world.catalogue


def test_a_rollback_says_what_it_changes() -> None:
    world = World()
    world.develop("define('v', () => 1); define('gone', () => 1)")
    then = world.catalogue
    world.develop("define('v', () => 2); undefine('gone'); define('came', () => 1)")
    changes = attempt.changes_between(world.catalogue, then)
    assert (changes.added, changes.changed, changes.removed) == (("gone",), ("v",), ("came",))


def test_an_old_prelude_is_upgraded_and_definitions_are_kept() -> None:
    old = World(genesis(1))
    old.develop("const s = state('s', () => ({ n: 1 })); define('f', () => ++s.n); f()")
    assert old.value("typeof worlds") == "undefined"
    outcome = attempt.upgrade(pool(), old.image)
    assert outcome.image is not None
    assert (outcome.changes, outcome.catalogue.prelude_version) == (Changes(), 2)
    new = World(outcome.image)
    assert attempt.upgrade(pool(), new.image).verdict == "unchanged"
    assert new.value("[typeof worlds, typeof worlds.call]") == ["object", "function"]
    assert new.value("worlds.list()") == []
    assert new.result("f") == 3
    assert new.reject("worlds.list()")[0] == "touched-data"
    assert new.reject("globalThis.k = 1")[0] == "leaked-global"
    new.develop("define('f', () => 'new'); define('g', () => f())")
    assert new.result("g") == "new"
    assert new.attempt("define('f', () => 'new')").verdict == "unchanged"
    assert new.attempt("define('f', () => 'new'); f()").verdict == "accepted"
    assert new.attempt("define('f', () => 'new'); g()").verdict == "accepted"
    again = World(HeapImage.from_bytes(new.image.to_bytes(), new.image.meta))
    assert again.value("worlds.list()") == []


def test_both_paths_of_the_vm_grow_the_same_heap(c_engine: Engine, python_engine: Engine) -> None:
    """Everything of an outcome but the image object, and the image's bytes."""
    source = """function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
      state('s', () => ({ at: Date.now(), r: Math.random(), f: fib(9) }))"""

    def grown(engine: Engine) -> tuple[object, bytes]:
        base = empty_world()
        outcome = attempt.develop(
            VmPool(engine), base.image, source, catalogue=base.catalogue, source_lookup=base.source
        )
        assert outcome.image is not None
        return replace(outcome, image=None), outcome.image.to_bytes()

    assert grown(c_engine) == grown(python_engine)


def test_booting_twice_gives_the_same_heap() -> None:
    assert boot(engine(), prelude_source(2)).root == genesis(2).root


def test_the_definitions_of_a_world_are_so_many_bytes_and_not_one_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Counted as what a record of them takes: names twice, docs, texts, parameters, and a little for each."""
    source = "/** Töne. */\nfunction f(a, bc) { return a }"
    texts = ["f", "f", "Töne.", "function f(a, bc) { return a }", "a", "bc"]
    size_bytes = sum(len(text.encode()) + limits.DATA_WRITE_BYTES_ABOUT for text in texts)
    monkeypatch.setattr(limits, "CATALOGUE_BYTES_MAX", size_bytes)
    World().develop(source)
    monkeypatch.setattr(limits, "CATALOGUE_BYTES_MAX", size_bytes - 1)
    assert World().reject(source) == (
        "size",
        f"with it the definitions of the world are {size_bytes} bytes of text; "
        f"at most {size_bytes - 1} are allowed",
    )
