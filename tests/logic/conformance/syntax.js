//: let and const are scoped to blocks
let x = 1; { let x = 2; out(x) } out(x)
//: var is hoisted
out(typeof v); { var v = 1 } out(v)
//: a binding is dead before its declaration
try { use } catch (e) { out(e.name) } const use = 1
//: const is not assigned
const k = 1; try { k = 2 } catch (e) { out(e.name, k) }
//: functions are hoisted with their bodies
out(early()); function early() { return 'early' }
//: functions in blocks stay there
{ function inner() { return 1 } out(inner()) } out(typeof inner)
//: closures see later values
let n = 1; const get = () => n; n = 5; out(get())
//: each round of a loop has its own binding
const fs = []; for (let i = 0; i < 3; i++) fs.push(() => i); out(fs.map((f) => f()))
//: var in a loop is one binding
const gs = []; for (var j = 0; j < 3; j++) gs.push(() => j); out(gs.map((f) => f()))
//: destructuring takes arrays apart
const [a, , b = 7, ...rest] = [1, 2, undefined, 4, 5]; out(a, b, rest)
//: destructuring takes objects apart
const { p, q: { r = 3 } = {}, ...others } = { p: 1, s: 2, t: 3 }; out(p, r, others)
//: destructuring swaps
let s1 = 1, s2 = 2; [s1, s2] = [s2, s1]; out(s1, s2)
//: destructuring into members
const o = {}; [o.x, o['y']] = [1, 2]; ({ z: o.z } = { z: 3 }); out(o)
//: destructuring of null throws
try { const { z } = null } catch (e) { out(e.name) }
//: default parameters see earlier ones
const f1 = (a, b = a + 1, c = a + b) => [a, b, c]; out(f1(1), f1(1, 5), f1(1, undefined, 2))
//: default parameters have a scope of their own
let z1 = 'outer'; const f2 = (g = () => z1) => { let z1 = 'inner'; return g() + z1 }; out(f2())
//: rest parameters and length
const f3 = (a, b = 1, ...c) => c; out(f3.length, f3(1, 2, 3, 4))
//: arguments has what was given
function f4() { return [arguments.length, [...arguments]] } out(f4(1, undefined, 3))
//: arguments is not tied to parameters in strict code
function f5(a) { a = 9; return arguments[0] } out(f5(1))
//: this is undefined in a plain call
function f6() { return this === undefined } out(f6(), f6.call(5), (() => typeof this)())
//: spread in calls, arrays and objects
out(Math.max(...[1, 5, 3]), [...'ab', ...new Set([1, 1])], { ...{ a: 1, b: 2 }, b: 3, ...null })
//: template strings
const who = 'x'; out(`a${1 + 1}b${who}`, `line
two`, `${[1, 2]}`)
//: tagged templates get raw strings
const tag = (strings, ...values) => [strings, strings.raw, values]; out(tag`a\n${1}b${2}`)
//: tagged templates are frozen and cached
const same = () => ((s) => s)`x`; out(same() === same(), Object.isFrozen(same()))
//: String.raw
out(String.raw`a\n${2}\u0041`)
//: optional chaining
const oc = { a: { f() { return this.v }, v: 4 } }; out(oc?.a?.f?.(), oc.b?.c.d.e, oc.a.g?.(), oc?.['a'].v, delete oc?.a)
//: nullish coalescing and logical assignment
let nu = null; nu ??= 5; let ze = 0; ze ||= 6; let on = 1; on &&= 7; out(nu, ze, on, 0 ?? 1, '' || 'b')
//: exponent binds to the right
out(2 ** 3 ** 2, (-2) ** 2, 2 ** -1)
//: the comma, void, in and typeof
out((1, 2), void 0 === undefined, 'a' in { a: 1 }, typeof null, typeof (() => 1), typeof 1n, typeof Symbol())
//: labels leave nested loops
let steps = 0; outer: for (let i = 0; i < 3; i++) { for (;;) { steps++; if (i === 1) break outer; continue outer } } out(steps)
//: switch falls through
const sw = (v) => { const l = []; switch (v) { case 1: l.push(1); case 2: l.push(2); break; default: l.push('d'); case 3: l.push(3) } return l }; out(sw(1), sw(2), sw(9), sw(3))
//: switch compares strictly
switch ('1') { case 1: out('loose'); break; default: out('strict') }
//: for in lists inherited enumerable keys in order
const base = { b: 1 }; const der = Object.create(base); der[2] = 1; der.a = 1; der[1] = 1; const ks = []; for (const k in der) ks.push(k); out(ks)
//: for of over entries
const es = []; for (const [i, v] of ['a', 'b'].entries()) es.push(i + v); out(es)
//: do while runs once
let dw = 0; do { dw++ } while (false); out(dw)
//: getters, setters and computed names
const gs1 = { get ['a' + 1]() { return 5 }, set v(x) { this._ = x }, ['b']: 1, async *['c']() {} }; gs1.v = 3; out(gs1.a1, gs1._, Object.keys(gs1))
//: shorthand and __proto__ in literals
const pr = { m() { return 'm' } }; const li = { __proto__: pr, pr }; out(li.m(), Object.keys(li), Object.getPrototypeOf({ ['__proto__']: 1 }) === Object.prototype)
//: method shorthand calls super
const sup = { m() { return 'base' } }; const subo = { __proto__: sup, m() { return super.m() + '!' } }; out(subo.m())
//: numeric separators and literals
out(1_000, 0xff, 0o17, 0b101, .5e1, 1e-7, 0xFFn)
//: unicode escapes in names and texts
const \u0061b = 3; out(ab, '\u{1F600}', '\x41')
//: semicolons are inserted
let asi = 1
let asj = asi
++asi
out(asi, asj)
//: a return is cut by a line end
const cut = () => { return
  5 }
out(cut())
//: new.target
function NT() { return new.target === undefined } out(NT(), typeof new NT())
//: immediately invoked and recursive by name
out((function fac(n) { return n < 2 ? 1 : n * fac(n - 1) })(10))
//: a named function's own name is read-only
out((function self() { try { self = 1 } catch (e) { return e.name } })())
//: getter on classes and objects are not enumerable alike
class En { get a() { return 1 } m() {} } out(Object.keys(En.prototype), Object.keys({ get a() { return 1 } }))
//: strict code refuses octal and with
for (const code of ['010', 'with ({}) {}', 'delete x', 'var eval', 'arguments = 1', 'let let = 1']) { try { new Function('"use strict";' + code); out('taken') } catch (e) { out(e.name) } }
//: bad programs are syntax errors
for (const code of ['let a; let a', 'a b', '({a:1', 'for (', '`${', 'class { constructor() {} constructor() {} }', 'break', 'yield 1 1', 'async () => { for await (x in y) ; }', '1 = 2', 'new.target']) { try { (0, eval)(code); out('taken') } catch (e) { out(e.name) } }
//: comments of all kinds
out(1 /* a */ + /* b
*/ 2) // c
//: try, catch and finally
const tcf = () => { try { throw 1 } catch { return 'c' } finally { out('f') } }; out(tcf())
//: finally overrules
out((() => { try { return 1 } finally { return 2 } })(), (() => { for (const x of [1]) { try { throw 1 } catch { continue } finally { } } return 'end' })())
//: the order of evaluation
const log = []; const at = (x) => (log.push(x), x); at(1) + at(2) * at(3); [at(4)][at(0)]; out(log)
//: assignment evaluates the target first
const ord = []; const tgt = () => (ord.push('t'), {}); tgt()[(ord.push('k'), 'k')] = (ord.push('v'), 1); out(ord)
//: delete and configurable
const dl = Object.freeze({ a: 1 }); try { delete dl.a } catch (e) { out(e.name) } out(delete dl.b)
//: equality
out(null == undefined, null == 0, '1' == 1, [1] == 1, NaN == NaN, Object.is(NaN, NaN), Object.is(0, -0), 1n == 1, '' == 0)
//: comparison of texts and numbers
out('10' < '9', '10' < 9, null >= 0, undefined >= 0, 'a' < 'b', 2n > 1)
//: bit operations
out(5 & 3, 5 | 3, 5 ^ 3, ~5, 1 << 31, -1 >>> 28, -9 >> 1, 2 ** 32 | 0)
//: conversion by valueOf and toString
const cv = { valueOf: () => 4, toString: () => 's' }; out(cv + 1, `${cv}`, cv * 2, [cv] + '')
//: conversion by Symbol.toPrimitive
const tp = { [Symbol.toPrimitive]: (hint) => hint }; out(`${tp}`, tp + '', isNaN(+tp))
//: increment of members
const inc = { a: 1, b: '5' }; inc.a++; --inc.b; out(inc, inc.a++ + ++inc.a)
