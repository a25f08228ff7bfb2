# ruff: noqa: E501  (programs in tables stay on their lines)
"""The frozen ground: nothing that a check relies on can be changed, and ordinary code goes on working (cases D)."""

from __future__ import annotations

import pytest
from language import World, empty_world

REACHABLE = """(() => {
  const roots = Reflect.ownKeys(globalThis).map((key) => [String(key), globalThis[key]]);
  const hidden = {
    generator: function* () {}, generatorObject: Object.getPrototypeOf((function* () {})()),
    asyncGenerator: async function* () {}, asyncGeneratorObject: Object.getPrototypeOf((async function* () {})()), asyncFunction: async () => {}, arrayIterator: [][Symbol.iterator](),
    mapIterator: new Map().keys(), setIterator: new Set().values(), stringIterator: ''[Symbol.iterator](),
    regexpIterator: ''.matchAll(/x/g), helper: [].values().map((x) => x), wrapped: Iterator.from({ next() {} }),
    concat: Iterator.concat([]), arguments: (function () { return arguments })(),
  };
  for (const [name, object] of Object.entries(hidden)) roots.push([name, Object.getPrototypeOf(object)]);
  const open = [], seen = new Set([globalThis]);
  const visit = (path, object) => {
    if ((typeof object !== 'object' && typeof object !== 'function') || object === null || seen.has(object)) return;
    seen.add(object);
    if (!Object.isFrozen(object)) open.push(path);
    visit(path + '.__proto__', Object.getPrototypeOf(object));
    for (const key of Reflect.ownKeys(object)) {
      const { value, get, set } = Object.getOwnPropertyDescriptor(object, key);
      for (const part of [value, get, set]) visit(path + '.' + String(key), part);
    }
  };
  roots.forEach(([path, object]) => visit(path, object));
  return { open, seen: seen.size };
})()"""


def test_everything_that_globals_lead_to_is_frozen() -> None:
    found = empty_world().value(REACHABLE)
    assert found["open"] == []
    assert found["seen"] > 700


def test_the_bindings_of_built_ins_stay() -> None:
    bindings = """Reflect.ownKeys(globalThis).filter((key) => {
      const { writable, configurable, get } = Object.getOwnPropertyDescriptor(globalThis, key);
      return writable || configurable || get;
    }).map(String)"""
    assert empty_world().value(bindings) == []


UNCHANGEABLE = [
    "Array.prototype.some = () => true",
    "Object.prototype.toString = () => 'x'",
    "Object.prototype.injected = 1",
    "Function.prototype.call = () => 1",
    "Promise.prototype.then = () => 1",
    "Error.prototype.message = 'x'",
    "TypeError.prototype.name = 'x'",
    "RegExp.prototype.exec = () => null",
    "Object.defineProperty(Array.prototype, 'map', { value: 1 })",
    "Object.defineProperty(Object.prototype, 'toString', { get: () => 1 })",
    "Object.setPrototypeOf(Array.prototype, null)",
    "Math.random = () => 4",
    "Date.now = () => 4",
    "JSON.stringify = () => 'x'",
    "delete Array.prototype.map",
    "Object.getPrototypeOf([][Symbol.iterator]()).next = () => 1",
    "Object.getPrototypeOf((function*(){})()).next = () => 1",
    "Object.getPrototypeOf(Int8Array).prototype.fill = () => 1",
    "define.x = 1",
    "data.get = () => 1",
    "console.log = () => 1",
    "globalThis.Array = 1",
    "globalThis.define = 1",
    "Array.prototype[Symbol.unscopables].x = 1",
    "Symbol.iterator.description = 1",
]


@pytest.mark.parametrize("expression", UNCHANGEABLE)
def test_a_built_in_does_not_change(expression: str) -> None:
    kind, headline = empty_world().failure(expression)
    assert kind == "threw"
    assert headline.startswith("TypeError: ")


def test_a_check_cannot_be_fooled() -> None:
    world = World()
    assert world.reject("Array.prototype.some = () => true")[1] == "TypeError: 'some' is read-only"
    world.develop("Array.prototype.some = () => true; exports.ok = 1", commonjs="sloppy")
    assert world.value("[1].some((x) => x > 5)") is False


WORKS = [
    (
        "(() => { class E extends TypeError { constructor(m) { super(m); this.name = 'E' } } const e = new E('m'); return [e.name, e.message, String(e)] })()",
        ["E", "m", "E: m"],
    ),
    (
        "(() => { function Old(m) { this.message = m } Old.prototype = Object.create(Error.prototype); Old.prototype.name = 'Old'; Old.prototype.constructor = Old; return [String(new Old('x')), new Old('x') instanceof Error] })()",
        ["Old: x", True],
    ),
    (
        "(() => { class T { } T.prototype.toString = () => 'T!'; const o = {}; o.toString = () => 'o!'; o.constructor = 1; return [`${new T()}`, `${o}`, o.constructor] })()",
        ["T!", "o!", 1],
    ),
    (
        "(() => { const f = () => 1; f.call = 5; f.toString = () => 'mine'; return [f.call, String(f)] })()",
        [5, "mine"],
    ),
    (
        "(() => { class P extends Promise { then(a, b) { return super.then(a, b) } } P.prototype.catch = function () { return 'mine' }; return P.resolve(1).catch() })()",
        "mine",
    ),
    (
        "(() => { class R extends RegExp { exec(s) { const m = super.exec(s); return m } } return new R('b').test('abc') })()",
        True,
    ),
    ("(() => { const o = Object.create({ valueOf: () => 3 }); return o + 1 })()", 4),
    (
        "(() => { const o = { hasOwnProperty: 1, __proto__: null }; return Object.keys(o) })()",
        ["hasOwnProperty"],
    ),
    (
        "(() => { const e = new Error('a'); e.message = 'b'; e.stack = 'mine'; return [e.message, e.stack] })()",
        ["b", "mine"],
    ),
    ("(() => { const e = new Error('a', { cause: 1 }); return [e.cause, Object.keys(e).length] })()", [1, 0]),
    (
        "[typeof Object.prototype.toString, {}.toString === Object.prototype.toString, 'toString' in {}, Object.keys({})]",
        ["function", True, True, []],
    ),
    ("(() => { const keys = []; for (const key in { a: 1 }) keys.push(key); return keys })()", ["a"]),
    (
        "[Object.prototype.hasOwnProperty.call({ a: 1 }, 'a'), Object.getPrototypeOf({}) === Object.prototype]",
        [True, True],
    ),
    ("[...[1, 2].values().map((x) => x * 2).filter((x) => x > 2)]", [4]),
    (
        "[new Function('a', 'b', 'return a + b')(1, 2), Function('return 1')(), new Function() instanceof Function, Function.length]",
        [3, 1, True, 1],
    ),
    (
        "[Object.getPrototypeOf(async () => {}).constructor('await 0; return 5')(), (() => 1).constructor === Function].map(String)",
        ["[object Promise]", "true"],
    ),
    ("[...new (Object.getPrototypeOf(function* () {}).constructor)('yield 1; yield 2')()]", [1, 2]),
    ("Function('a', 'with (a) { return x }')({ x: 3 })", 3),
    ("Function('return this')() === globalThis", True),
    (
        "[eval('1 + 1'), eval('var v = 2; v * 2'), (0, eval)('let w = 3; w'), eval(5), eval(''), typeof v]",
        [2, 4, 3, 5, None, "undefined"],
    ),
    ("new Function('a', '/* } */ return `}` + a')(1)", "}1"),
    ("new Function('a = 1', 'b = /[}]/', 'return a + b.source')()", "1[}]"),
    ("String(new Function('a', 'b', 'return a'))", "function anonymous(a,b\n) {\nreturn a\n}"),
    (
        "(() => { Error.stackTraceLimit = 0; Error.prepareStackTrace = () => 'fooled'; return [Error.stackTraceLimit, typeof Error.prepareStackTrace, new Error('x').stack.includes('at ')] })()",
        [30, "undefined", True],
    ),
    ("(() => { const o = {}; Error.captureStackTrace(o); return typeof o.stack })()", "string"),
    (
        "(() => { function S() {} S.prototype = Object.create(String.prototype); S.prototype.valueOf = () => 'v'; "
        "const d = new Date(0); d.toJSON = () => 'mine'; const a = []; a.toString = () => 'a!'; "
        "return [new S() + '', JSON.stringify(d), `${a}`] })()",
        ["v", '"mine"', "a!"],
    ),
    ("Reflect.set(Object.prototype, 'toString', 5, { own: 1 }) && 1", 1),
    ("Object.assign(Object.create(Error.prototype), { name: 'n' }).name", "n"),
]


@pytest.mark.parametrize(("expression", "wanted"), WORKS)
def test_ordinary_code_goes_on_working(expression: str, wanted: object) -> None:
    assert empty_world().value(expression) == wanted


ESCAPES = [
    # What a stub, a frame, a receiver or a getter might hand out: none leads to the prelude.
    "(() => { let seen; const f = function () { 'use strict'; seen = this; return 1 }; define('f', f); f(); return seen === undefined })()",
    "(() => { define('f', function () { return this }); return f() === undefined })()",
    "(() => { define('f', (...a) => a.length); return f(1, 2) === 2 })()",
    "(() => { try { define.caller } catch { return true } return false })()",
    "(() => { define('f', () => { throw new Error('x') }); try { f() } catch (e) { return typeof e.stack === 'string' } })()",
    "typeof host === 'undefined' && typeof compile === 'undefined' && typeof world === 'undefined' && typeof table === 'undefined'",
    "typeof $source === 'undefined' && typeof $define === 'undefined'",
    "(() => { let me; data.list.constructor('me', 'me(this)')((x) => { me = x }); return me === undefined })()",
    "(() => { define('f', () => 1); const d = Object.getOwnPropertyDescriptor(globalThis, 'f'); return d.value === f && !d.writable })()",
    "(() => { define('lib', { a: 1 }); try { Object.setPrototypeOf(lib, {}); return false } catch { return Object.getPrototypeOf(lib) === Object.prototype } })()",
    "(() => { define('f', () => 1); try { Object.freeze(f); return false } catch { return true } })()",
]


@pytest.mark.parametrize("expression", ESCAPES)
def test_the_insides_of_the_prelude_are_out_of_reach(expression: str) -> None:
    assert empty_world().value(expression) is True


def test_a_source_does_not_get_at_what_defines_its_declarations() -> None:
    world = World()
    world.develop(
        "function f() { return 1 }\nstate('s', () => ({ got: [typeof arguments[0], arguments.length, this === undefined] }))"
    )
    assert world.value("state('s', () => ({})).got") == ["undefined", 1, True]
