"""Values that cross from the guest: JSON, and what JSON has no word for (cases A)."""

from __future__ import annotations

import json
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language import World, empty_world

from engine import limits

CROSSINGS = [
    ("undefined", "null"),
    ("null", "null"),
    ("NaN", "null"),
    ("-0", "0"),
    ("1/0", "null"),
    ("-1/0", "null"),
    ("1.5e300", "1.5e+300"),
    ("10n", '"10"'),
    ("[1n, {a: 2n}]", '["1",{"a":"2"}]'),
    ('Symbol("q")', "null"),
    ("() => 1", '"[function anonymous]"'),
    ("(function named() {})", '"[function named]"'),
    ("class C {}", '"[function C]"'),
    ("Math.max", '"[function max]"'),
    ("[1, undefined, () => 1]", '[1,null,"[function anonymous]"]'),
    ("[Symbol('s'), NaN, -0, Infinity]", "[null,null,0,null]"),
    ("({a: undefined, b: 1})", '{"b":1}'),
    ("({a: Symbol('s'), f() {}, b: 1})", '{"f":"[function f]","b":1}'),
    ("new Date(0)", '"1970-01-01T00:00:00.000Z"'),
    ("new Date(NaN)", "null"),
    ("/r/", "{}"),
    ('new Error("e")', '{"error":"Error","message":"e"}'),
    ("[new RangeError('far')]", '[{"error":"RangeError","message":"far"}]'),
    ("new Map([['a', 1], [2, new Map([['b', undefined]])]])", '{"2":{},"a":1}'),
    ("new Map([['__proto__', 1]])", '{"__proto__":1}'),
    ("new Set([1, 'a', new Set()])", '[1,"a",[]]'),
    ("(function*(){ yield 1 })()", "{}"),
    ("({toJSON() { return 7 }})", "7"),
    ("({toJSON() {}})", "null"),
    ("Object(1n)", '"1"'),
    ("Object('boxed')", '"boxed"'),
    ("new Uint8Array([1, 2])", '{"0":1,"1":2}'),
    ("(() => { const o = {n: 1}; return [o, o] })()", '[{"n":1},{"n":1}]'),
    (r"'\ud800'", r'"\ud800"'),
    ("'\U0001f600\\u0000'", '"\U0001f600\\u0000"'),
    ("Promise.resolve(5)", "5"),
    ("({then(r){r(9)}})", "9"),
    ("({then:5})", '{"then":5}'),
    ("(async () => { await 0; return new Map([['k', 1]]) })()", '{"k":1}'),
    ("{ a: 1 }", '{"a":1}'),
    ("1 + 2;", "3"),
]


@pytest.mark.parametrize(("expression", "wanted"), CROSSINGS)
def test_a_value_crosses_as_json(expression: str, wanted: str) -> None:
    outcome = empty_world().execute(expression)
    assert outcome.failure is None
    assert outcome.value == wanted.encode("utf-8")


CYCLES = [
    "(() => { const o = {}; o.o = o; return o })()",
    "(() => { const a = []; a.push([a]); return a })()",
    "(() => { const m = new Map(); m.set('m', m); return m })()",
    "(() => { const s = new Set(); s.add({ s }); return s })()",
]


@pytest.mark.parametrize("expression", CYCLES)
def test_a_cycle_is_an_error(expression: str) -> None:
    assert empty_world().failure(expression) == ("threw", "TypeError: circular reference")


NESTED = "(() => {{ let v = {leaf}; for (let i = 0; i < {levels}; i++) v = {around}; return {use} }})()"
TOO_DEEP = ("size", "RangeError: a value is nested deeper than 500 levels of objects and arrays")


@pytest.mark.parametrize("around", ["{ v }", "[1, v, 2]", "new Map([['v', v]])", "new Set([v])"])
def test_a_value_nests_so_many_levels_and_no_deeper(around: str) -> None:
    def nested(levels: int) -> str:
        return NESTED.format(leaf=1, levels=levels, around=around, use="v")

    assert empty_world().execute(nested(limits.NESTED_MAX)).ok
    assert empty_world().failure(nested(limits.NESTED_MAX + 1)) == TOO_DEEP


def test_siblings_do_not_add_to_the_depth() -> None:
    assert (
        empty_world().value("Array.from({length: 600}, () => ({ a: [{}], b: new Map([['c', []]]) }))")
        == [{"a": [{}], "b": {"c": []}}] * 600
    )


@pytest.mark.parametrize("use", ["data.set('k', v)", "worlds.call('b', 'f', v)"])
def test_what_is_stored_and_what_is_asked_with_nests_no_deeper_either(use: str) -> None:
    expression = NESTED.format(leaf="{}", levels=2000, around="{ v }", use=use)
    world = empty_world()
    assert world.failure(expression)[0] == "size"
    assert world.failure(expression) == TOO_DEEP


def test_refusing_what_nests_deeply_costs_in_proportion_to_its_depth() -> None:
    def fuel(levels: int) -> int:
        outcome = empty_world().execute(NESTED.format(leaf="{}", levels=levels, around="{ v }", use="v"))
        assert outcome.failure is not None and outcome.failure.kind == "size"
        return outcome.fuel

    assert fuel(100_000) < 30 * fuel(10_000)


FAILURES = [
    ("new Promise(() => {})", "pending", "the promise that it returned never settled"),
    ('Promise.reject(new Error("no"))', "threw", "Error: no"),
    ('(() => { class E extends Error { name = "E" } throw new E("x") })()', "threw", "E: x"),
    ("(() => { throw 'text' })()", "threw", "text"),
    ("(() => { throw { code: 5 } })()", "threw", '{"code":5}'),
    ("(() => { throw undefined })()", "threw", "undefined"),
    ("(() => { throw Object.assign(new Error('m'), { name: '' }) })()", "threw", "m"),
    ("({ get x() { throw new TypeError('got') } })", "threw", "TypeError: got"),
    ("({ get then() { throw new TypeError('then') } })", "threw", "TypeError: then"),
    (
        "(() => { throw new Proxy({}, { getPrototypeOf() { throw 1 } }) })()",
        "threw",
        "an error that cannot be",
    ),
    ("JSON.parse('{')", "threw", "SyntaxError: "),
    ("1 +", "syntax", "SyntaxError: "),
    ("", "syntax", "SyntaxError: expected an expression, got nothing"),
    ("1; 2", "syntax", "SyntaxError: expected one expression"),
    ("const x = 1", "syntax", "SyntaxError: expected one expression"),
    ("1); globalThis.k = 1; (2", "syntax", "SyntaxError: "),
    ("await 1", "syntax", "SyntaxError: no await at the top level"),
    ("loose = 1", "threw", "ReferenceError: loose is not defined"),
    ("new f()", "threw", "ReferenceError: f is not defined"),
]


@pytest.mark.parametrize(("expression", "kind", "headline"), FAILURES)
def test_a_failure_has_a_kind_and_a_first_line(expression: str, kind: str, headline: str) -> None:
    got_kind, got_headline = empty_world().failure(expression)
    assert got_kind == kind
    assert got_headline.startswith(headline)


def test_arguments_and_results_keep_every_text() -> None:
    world = World()
    world.develop("define('id', (...a) => a)")
    outcome = world.call("id", raw=b'[1,"x",null,{"a":[1]},"\\ud800 \\u0000 \\udc00"]')
    assert outcome.value == b'[1,"x",null,{"a":[1]},"\\ud800 \\u0000 \\udc00"]'
    assert world.result("id", "é\U0001f600\x7f") == ["é\U0001f600\x7f"]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@cache
def echo_world() -> World:
    world = World()
    world.develop("define('id', (...a) => a)")
    return world


@settings(max_examples=50)
@given(st.lists(JSON_VALUES, max_size=4))
def test_any_json_comes_back_as_it_went(args: list[object]) -> None:
    outcome = echo_world().call("id", *args)
    assert outcome.value is not None
    assert json.loads(outcome.value, parse_int=float) == args


def test_a_result_may_be_as_large_as_the_limit_and_no_larger() -> None:
    world = empty_world()
    at_limit = limits.RESULT_BYTES_MAX - 2
    assert len(world.value(f"'x'.repeat({at_limit})")) == at_limit
    assert world.failure(f"'x'.repeat({at_limit + 1})") == (
        "size",
        "the result is 1048577 bytes; at most 1048576 are allowed",
    )


def test_arguments_may_be_as_large_as_the_limit_and_no_larger() -> None:
    world = World()
    world.develop("define('size', (text) => text.length)")
    at_limit = limits.ARGUMENTS_BYTES_MAX - 4
    assert world.result("size", "x" * at_limit) == at_limit
    outcome = world.call("size", "x" * (at_limit + 1))
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.fuel) == ("size", 0)
    assert outcome.failure.error == "the arguments are 1048577 bytes; at most 1048576 are allowed"


def test_an_expression_may_be_as_large_as_the_limit_and_no_larger() -> None:
    world = empty_world()
    at_limit = "1" + " " * (limits.SOURCE_BYTES_MAX - 1)
    assert world.value(at_limit) == 1
    assert world.failure(at_limit + " ")[0] == "size"
