# ruff: noqa: E501  (programs in tables stay on their lines)
"""Nothing of the prelude is in reach of world code, and nothing that world code does to itself misleads it."""

from __future__ import annotations

import pytest
from arena import World

# What the prelude keeps and the host gives it: none of these names or objects may ever be seen.
HUNT = """
const found = [];
const known = new Set();
const isOurs = (value) => {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  let keys;
  try { keys = Reflect.ownKeys(value) } catch { return false }
  return ["cells", "stubs", "takeCalled", "impl", "dataGet", "worldsCall", "entry", "failed"].some((key) => keys.includes(key));
};
const look = (path, value, depth = 0) => {
  if (value === null || (typeof value !== "object" && typeof value !== "function") || known.has(value)) return;
  known.add(value);
  if (isOurs(value)) found.push(path);
  if (depth > 6) return;
  for (const key of Reflect.ownKeys(value)) {
    let descriptor;
    try { descriptor = Reflect.getOwnPropertyDescriptor(value, key) } catch { continue }
    if (descriptor === undefined) continue;
    for (const part of ["value", "get", "set"]) look(path + "." + String(key), descriptor[part], depth + 1);
  }
  try { look(path + ".__proto__", Object.getPrototypeOf(value), depth + 1) } catch {}
};
"""

WAYS_IN = {
    "what hangs on the globals": "look('globalThis', globalThis)",
    "the callers of a getter": "({ get a() { look('this', this); look('caller', new Error().stack) } }).a",
    "Function.prototype.caller": "for (const f of [define, data.get, console.log, worlds.call]) for (const k of ['caller', 'callee', 'arguments']) { try { look(k, f[k]) } catch {} }",
    "arguments.callee": "(function () { try { look('callee', arguments.callee) } catch {} })()",
    "arguments.callee of sloppy code": "look('callee', new Function('with ({}) return [arguments.callee, arguments.callee.caller, arguments]')())",
    "the receiver of a trap": "Reflect.get(new Proxy({}, { get(t, k, r) { look('receiver', r); look('trap', this) } }), 'x')",
    "the receiver of a toJSON": "console.log({ toJSON() { look('this', this); look('arguments', arguments); return 1 } })",
    "the holder of a toJSON": "data.set('k', { a: { toJSON(key) { look('this', this); look('key', key); return 1 } } })",
    "a valueOf that crosses": "data.set({ toString() { look('this', this); look('arguments', arguments); return 'k' } }, 1)",
    "a replacer's view of a Map": "data.set('k', new Map([[{ toString() { look('this', this); return 'x' } }, new Map()]]))",
    "a name that is a getter": "console.log(Object.defineProperty(() => 1, 'name', { get() { look('this', this); return 'n' } }))",
    "a thrown getter": "try { define('zz', 1) } catch (e) { look('error', e) }",
    "errors of every part": "for (const f of [() => define(), () => undefine('x'), () => state(), () => reset(), () => data.list('', 1), () => eval('}'), () => new Function('}')]) { try { f() } catch (e) { look('error', e); look('stack', e.stack) } }",
    "Error.prepareStackTrace": "let sites; try { Error.prepareStackTrace = (e, s) => { sites = s } } catch {} ; try { define() } catch (e) { e.stack } look('sites', sites)",
    "a CallSite of a subclass": "class E extends Error { static prepareStackTrace(e, s) { look('sites', s) } } try { throw new E() } catch (e) { e.stack }",
    "Error.captureStackTrace": "const o = {}; Error.captureStackTrace(o, define); look('o', o)",
    "a Proxy of a stub": "define('target', () => 1); look('stub', new Proxy(target, { get(t, k, r) { look('t', t); return Reflect.get(t, k, r) } }))",
    "the descriptors of a stub": "define('target', function () { return this }); for (const k of Reflect.ownKeys(target)) look(String(k), Reflect.getOwnPropertyDescriptor(target, k)); look('called', target.call(target)); look('bound', target.bind(target)())",
    "the descriptors of a class": "class Klass { static s = 1; m() { return new.target } } look('class', Klass); look('instance', new Klass()); look('new.target', Reflect.construct(Klass, [], function () {}))",
    "new.target in a constructor": "class Klass { constructor() { look('target', new.target); look('this', this) } } new Klass(); Reflect.construct(Klass, [], Klass)",
    "a trap of the implementation": "define('target', new Proxy(function () {}, { get(t, k, r) { look('this', this); look('receiver', r); return t[k] }, apply(t, self, args) { look('self', self); look('args', args) }, ownKeys(t) { look('t', t); return Reflect.ownKeys(t) } })); target(1); Object.keys(target); target.x",
    "a library's traps": "define('lib', { get a() { look('this', this); return 1 }, f() { look('this', this); look('arguments', arguments) } }); lib.a; lib.f()",
    "a migration's arguments": "state('s', () => ({})); state('s', () => ({}), { version: 2, migrate(...args) { look('args', args); look('this', this); return args[0] } })",
    "an initialiser's arguments": "state('s', function (...args) { look('args', args); look('this', this); return {} })",
    "the options": "define('o', () => 1, new Proxy({}, { get(t, k, r) { look('r', r); return undefined }, has() { return true } }))",
    "Symbol.species": "class A extends Array { static get [Symbol.species]() { look('this', this); return Array } } data.set('k', new A(3)); console.log(A.of(1, 2))",
    "Symbol.iterator": "console.log({ *[Symbol.iterator]() { look('this', this); yield 1 } }); console.log(...{ [Symbol.iterator]() { look('this', this); return [1][Symbol.iterator]() } })",
    "Symbol.toPrimitive": "data.get({ [Symbol.toPrimitive](hint) { look('this', this); look('hint', arguments); return 'k' } })",
    "Symbol.hasInstance": "class H { static [Symbol.hasInstance](v) { look('v', v); return true } } console.log(new Error('x'), [] instanceof H)",
    "Symbol.toStringTag": "console.log({ get [Symbol.toStringTag]() { look('this', this); return 'x' } })",
    "generators": "const g = (function* () { look('sent', yield 1) })(); g.next(); g.next(g); look('g', g)",
    "async generators": "return (async () => { for await (const x of (async function* () { yield 1 })()) look('x', x) })()",
    "a thenable that settles the operation": "return { then(...args) { look('args', args); look('this', this); args.forEach((f) => look('settle', f)); args[0](found) } }",
    "a Promise subclass": "class P extends Promise { then(...args) { args.forEach((f) => look('reaction', f)); return super.then(...args) } static get [Symbol.species]() { look('this', this); return P } } return new P((r) => r(found))",
    "a Promise with its own constructor": "const p = Promise.resolve(1); p.constructor = { [Symbol.species]: function (executor) { executor((v) => look('v', v), (e) => look('e', e)); } }; p.then(() => 1)",
    "a finaliser": "new FinalizationRegistry(function (held) { look('held', held); look('this', this) }).register({}, 1)",
    "a WeakRef": "look('ref', new WeakRef(define).deref())",
    "Reflect on a stub": "define('target', () => 1); for (const f of [Reflect.ownKeys, Reflect.getPrototypeOf, Reflect.isExtensible]) look('r', f(target))",
    "with": "look('with', new Function('o', 'with (o) { return typeof world + typeof host + typeof table + typeof cells }')(data))",
    "the scope of eval": "look('eval', eval('(() => { try { return [typeof world, typeof host, typeof table, typeof $source] } catch (e) { return e } })()'))",
    "GeneratorFunction": "const G = (function* () {}).constructor; look('G', [...G('yield this; yield arguments')()])",
    "AsyncFunction": "const A = (async () => {}).constructor; return A('return [this, arguments]')().then((v) => { look('A', v); return found })",
    "the caches of tagged templates": "const tag = (s) => s; const a = (() => tag`x${1}`)(); look('template', a); look('raw', a.raw)",
    "legacy statics of RegExp": "try { define('not a name', () => 1) } catch {} for (const k of ['$1', '$_', '$&', 'input', 'lastMatch', 'lastParen', 'leftContext', 'rightContext']) look(k, RegExp[k]); if (RegExp.input || RegExp.$1) found.push('statics')",
    "the global symbol registry": "for (const k of ['world', 'cell', 'stub', 'host', 'prelude']) look(k, globalThis[Symbol.for(k)])",
    "an iterator helper": "look('helper', Iterator.from({ next() { look('this', this); return { done: true } } }).map((x) => x))",
    "the disposal of resources": "look('symbols', [Symbol.dispose, Symbol.asyncDispose])",
    "every function that a global leads to": "for (const f of [define, undefine, state, reset, versionOf, data.get, data.set, data.delete, data.list, worlds.list, worlds.functions, worlds.call, console.log, eval, Function]) { for (const k of Reflect.ownKeys(f)) look(String(k), f[k]); look('text', String(f)) }",
}


@pytest.mark.parametrize("way", WAYS_IN.values(), ids=WAYS_IN.keys())
def test_no_way_leads_in(way: str) -> None:
    world = World()
    declared = [line for line in way.splitlines() if line]
    text = f"(() => {{ {HUNT} const run = () => {{ {' '.join(declared)} }}; const made = run(); return made === undefined ? found : Promise.resolve(made).then(() => found) }})()"
    assert world.value(text) == []


def test_the_hunt_finds_what_it_hunts_for() -> None:
    assert World().value(f"(() => {{ {HUNT} look('x', {{ a: [{{ impl: 1 }}] }}); return found }})()") == [
        "x.a.0"
    ]


TEXTS_OF_OURS = ["waiting", "touched", "handedOver", "const cell", "host(", "registry"]


def test_the_text_of_a_global_function_says_nothing_of_what_is_behind_it() -> None:
    shown = World().value(
        "[define, state, reset, undefine, versionOf, data.get, data.set, worlds.call, console.log, eval, Function].map(String).join('\\n')"
    )
    assert [word for word in TEXTS_OF_OURS if word in shown] == []


def test_a_stack_names_no_frame_of_the_prelude() -> None:
    world = World("function boom() { define('x y', () => 1) }")
    answer = world.ask("boom")
    assert "prelude" not in answer.error
    assert "boom" in answer.error


POLLUTION = {
    "Object.prototype": "Object.prototype.version = 7",
    "by __proto__": "({}).__proto__.doc = 'x'",
    "by __proto__ of JSON": "Object.assign({}.__proto__, JSON.parse('{\"migrate\": 1}'))",
    "by __proto__ of an array": "[].__proto__[0] = 1",
    "by a setter of Array.prototype": "Object.defineProperty(Array.prototype, 0, { set() {} })",
    "by a getter of Object.prototype": "Object.defineProperty(Object.prototype, 'value', { get() { return 1 } })",
    "by __defineGetter__": "Object.prototype.__defineGetter__('get', () => 1)",
    "by constructor.prototype": "({}).constructor.prototype.writable = true",
    "of Function.prototype": "Function.prototype.live = true",
    "of Promise": "Promise.resolve = () => 1",
    "of Map": "Map.prototype.get = () => 1",
    "of a Set's iterator": "Object.getPrototypeOf(new Set().values()).next = () => ({ done: true })",
    "of Proxy": "Proxy.revocable = 1",
    "of Reflect": "Reflect.apply = () => 1",
    "of Symbol.species": "Object.defineProperty(Array, Symbol.species, { value: 1 })",
    "of a regular expression": "RegExp.prototype.test = () => true",
    "of text": "String.prototype.split = () => []",
    "of JSON": "JSON.parse = () => ({})",
    "of WeakRef": "WeakRef.prototype.deref = () => undefined",
    "of errors": "Object.defineProperty(Error, 'prepareStackTrace', { value: () => 'x' })",
    "by setPrototypeOf": "Object.setPrototypeOf(Object.prototype, { version: 1 })",
    "by the prototype of globalThis": "Object.setPrototypeOf(globalThis, { evil: 1 })",
    "by deleting": "delete globalThis.define",
    "by a sloppy function": "new Function('with ({}) { Array = 1 }')(); if (typeof Array === 'function') throw new TypeError('as it was')",
    "by a hoisted function": "eval('function Array() {}'); new Function('}}} function Array() {} {{{'); throw 1",
}


@pytest.mark.parametrize("source", POLLUTION.values(), ids=POLLUTION.keys())
def test_nothing_that_the_prelude_stands_on_can_be_changed(source: str) -> None:
    world = World()
    assert world.rejected(source)[0] in {"threw", "leaked-global"}
    assert world.value(
        "[typeof Array, [3, 1, 2].sort().map((x) => x * 2).join(), ({}).version, typeof evil]"
    ) == [
        "function",
        "2,4,6",
        None,
        "undefined",
    ]
    world.accepted("function still(n) { return n + 1 }")
    assert world.call("still", 1) == 2


BREAKOUTS = {
    "a closed function": "}}; globalThis.k = 1; ({ a() {",
    "a closed block and a var": "}} var k = 1; {{",
    "a closed function and a declaration": "} function k() {} {",
    "a closed function and a let": "}} let k = 1; {{",
    "an HTML comment": "} <!-- \n globalThis.k = 1; {",
    "a template": "`}` + globalThis.k; }; globalThis.k = 1; {",
    "a regular expression": "/}/; }; globalThis.k = 1; {",
    "a line separator": "}\u2028globalThis.k = 1;\u2028{",
    "eval that closes": "eval('}; globalThis.k = 1; {')",
    "Function that closes": "new Function('}; globalThis.k = 1; {')",
    "Function with parameters that close": "new Function('a = function () {') ",
    "a default that closes": "new Function('a = 1) { globalThis.k = 1 } function x(', '')",
    "Function with a var outside": "new Function('}}} var k; {{{')",
    "a generator that closes": "(function* () {}).constructor('}; globalThis.k = 1; function* x() {')",
    "an async function that closes": "(async () => {}).constructor('}; globalThis.k = 1; async function x() {')",
    "a longer function of the same name": "new Function('} function anonymous() { globalThis.k = 1; return ' + '1'.repeat(50) + ' ')()",
}


@pytest.mark.parametrize("source", BREAKOUTS.values(), ids=BREAKOUTS.keys())
def test_a_source_does_not_break_out_of_its_function(source: str) -> None:
    world = World()
    assert world.rejected(source)[0] in {"syntax", "threw", "leaked-global"}
    assert world.value("typeof k") == "undefined"
    answer = world.preview(
        f"(() => {{ try {{ {source.replace(chr(10), ' ')} }} catch {{}} return typeof k }})()"
    )
    assert getattr(answer, "failure", "") in {"", "syntax", "threw"}
    assert world.value("typeof k") == "undefined"


def test_what_runs_while_an_attempt_is_looked_at_changes_nothing_that_is_told_of_it() -> None:
    world = World()
    world.accepted(
        """define('aaa', new Proxy({}, { ownKeys() {
             try { undefine('hidden') } catch {}
             try { define('ghost', () => 1) } catch {}
             Promise.resolve().then(() => { globalThis.late = 1 });
             return [];
           } }));
           define('hidden', () => 5);"""
    )
    assert world.names == ["aaa", "hidden"]
    assert world.call("hidden") == 5
    assert world.value("[typeof ghost, typeof late]") == ["undefined", "undefined"]


STAMPS = {
    "a copied prototype": "versionOf(Object.create(P.prototype)) === undefined",
    "a changed prototype": "versionOf(Object.setPrototypeOf({}, P.prototype)) === undefined",
    "copied members": "versionOf(Object.assign(Object.create(P.prototype), new P())) === undefined",
    "a Proxy of an instance": "versionOf(new Proxy(new P(), {})) === undefined",
    "all own keys": "Reflect.ownKeys(new P()).length === 0 && Object.getOwnPropertySymbols(new P()).length === 0",
    "a JSON copy": "versionOf(JSON.parse(JSON.stringify(new P()))) === undefined",
    "Reflect.construct on another class": "versionOf(Reflect.construct(Object, [], P)) === undefined",
    "a call of the function behind it": "(() => { try { P.prototype.constructor.call({}); return false } catch { return true } })()",
    "the version of the class": "versionOf(P) === undefined && P.version === undefined",
}


@pytest.mark.parametrize("expression", STAMPS.values(), ids=STAMPS.keys())
def test_a_version_stamp_is_only_given_by_new(expression: str) -> None:
    world = World("class P { }\nstate('one', () => new P())")
    assert world.value("versionOf(state('one'.trim(), () => ({})))") == 1
    assert world.value(expression) is True
