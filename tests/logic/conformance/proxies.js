//: get and set traps
const log = []; const p = new Proxy({}, { get: (t, k, r) => (log.push('get ' + String(k)), t[k]), set: (t, k, v) => (log.push('set ' + k), t[k] = v, true) }); p.a = 1; out(p.a, log)
//: has, delete and ownKeys
const p = new Proxy({ a: 1, _b: 2 }, { has: (t, k) => !k.startsWith('_') && k in t, deleteProperty: (t, k) => delete t[k], ownKeys: (t) => Reflect.ownKeys(t).filter((k) => !k.startsWith('_')) }); out('a' in p, '_b' in p, Object.keys(p), delete p.a, Object.keys(p))
//: apply and construct
const F = new Proxy(function (a) { this.a = a }, { apply: (f, t, args) => ['called', ...args], construct: (f, args) => ({ made: args }) }); out(F(1), new F(2), F.call(null, 3))
//: a false set throws in strict code
const p = new Proxy({}, { set: () => false }); try { p.x = 1 } catch (e) { out(e.name) }
//: invariants are kept
const fixed = Object.freeze({ a: 1 }); const p = new Proxy(fixed, { get: () => 2, has: () => false, ownKeys: () => [], getPrototypeOf: () => Array.prototype }); for (const f of [() => p.a, () => 'a' in p, () => Object.keys(p), () => Object.getPrototypeOf(p)]) { try { f(); out('taken') } catch (e) { out(e.name) } }
//: defineProperty and descriptors
const log = []; const p = new Proxy({}, { defineProperty: (t, k, d) => (log.push(k), Reflect.defineProperty(t, k, d)), getOwnPropertyDescriptor: (t, k) => (log.push('d' + k), Reflect.getOwnPropertyDescriptor(t, k)) }); Object.defineProperty(p, 'x', { value: 1, configurable: true }); p.y = 2; out(Object.getOwnPropertyDescriptor(p, 'x'), log)
//: revocable
const { proxy, revoke } = Proxy.revocable({ a: 1 }, {}); out(proxy.a); revoke(); try { proxy.a } catch (e) { out(e.name) }
//: prototype traps
const p = new Proxy({}, { getPrototypeOf: () => Array.prototype, setPrototypeOf: () => false }); out(p instanceof Array, Reflect.setPrototypeOf(p, {}), Array.isArray(p), Array.isArray(new Proxy([], {})))
//: extensibility traps
const p = new Proxy({}, { preventExtensions: (t) => Reflect.preventExtensions(t), isExtensible: (t) => Reflect.isExtensible(t) }); Object.preventExtensions(p); out(Object.isExtensible(p))
//: a proxy as prototype
const log = []; const o = Object.create(new Proxy({}, { get: (t, k) => (log.push(String(k)), 'none'), has: (t, k) => (log.push('has ' + String(k)), false) })); o.own = 1; out(o.own, o.missing, 'x' in o, log)
//: Reflect mirrors
const o = { get v() { return this.x }, x: 1 }; out(Reflect.get(o, 'v', { x: 2 }), Reflect.has(o, 'v'), Reflect.ownKeys({ b: 1, [Symbol('s')]: 1, 1: 1 }).map(String), Reflect.apply(Math.max, null, [1, 2]), Reflect.set(Object.freeze({ a: 1 }), 'a', 2))
//: a negative index array
const neg = (a) => new Proxy(a, { get: (t, k, r) => Reflect.get(t, typeof k === 'string' && k < 0 ? t.length + +k : k, r) }); out(neg([1, 2, 3])[-1], neg([1, 2]).length, [...neg([1, 2])])
//: JSON of a proxy
out(JSON.stringify(new Proxy({ a: 1 }, {})), JSON.stringify(new Proxy([1, 2], {})), JSON.stringify({ p: new Proxy({}, { ownKeys: () => ['k'], getOwnPropertyDescriptor: () => ({ value: 5, enumerable: true, configurable: true }), get: () => 5 }) }))
//: spread and assign through traps
const log = []; const p = new Proxy({ a: 1, b: 2 }, { ownKeys: (t) => (log.push('keys'), Reflect.ownKeys(t)), get: (t, k) => (log.push(k), t[k]) }); out({ ...p }, log)
//: with a class behind it
class A { #x = 1; get x() { return this.#x } m() { return this } } const p = new Proxy(new A(), {}); out(p.m() === p); try { p.x } catch (e) { out(e.name) }
//: a function proxy keeps its length and name
const p = new Proxy(function named(a, b) { }, {}); out(p.name, p.length, typeof p, p instanceof Function)
//: property order
out(Object.keys({ b: 1, 2: 1, a: 1, 1: 1, [Symbol()]: 1 }), Reflect.ownKeys({ z: 1, 0: 1 }))
//: descriptors
const o = { a: 1, get b() { return 2 } }; out(Object.getOwnPropertyDescriptor(o, 'a'), Object.keys(Object.getOwnPropertyDescriptors(o)), Object.getOwnPropertyDescriptor(o, 'b').set === undefined)
//: non-writable and inherited
const base = Object.freeze({ a: 1 }); const o = Object.create(base); try { o.a = 2 } catch (e) { out(e.name) } Object.defineProperty(o, 'a', { value: 3 }); out(o.a)
//: seal, freeze and preventExtensions
const s = Object.seal({ a: 1 }); s.a = 2; for (const f of [() => { s.b = 1 }, () => { delete s.a }, () => { Object.freeze(s); s.a = 3 }]) { try { f(); out('taken') } catch (e) { out(e.name) } } out(s, Object.isSealed(s), Object.isFrozen(s))
//: Object.entries, fromEntries, assign
out(Object.entries({ a: 1 }), Object.fromEntries(new Map([['x', 1]])), Object.assign({ a: 1 }, null, { b: 2 }, 'c'), Object.values('ab'))
//: getters run on assign, not on define
const log = []; const src = { get g() { log.push('g'); return 1 } }; Object.assign({}, src); ({ ...src }); Object.defineProperties({}, Object.getOwnPropertyDescriptors(src)); out(log)
//: Object.is, hasOwn, and null prototypes
const n = Object.create(null, { x: { value: 1, enumerable: true } }); out(Object.hasOwn(n, 'x'), n.toString === undefined, 'x' in n, Object.is(-0, 0))
//: hasInstance
class Even { static [Symbol.hasInstance](n) { return n % 2 === 0 } } out(2 instanceof Even, 3 instanceof Even); try { 1 instanceof {} } catch (e) { out(e.name) }
//: isConcatSpreadable and toStringTag
out([1].concat({ length: 1, 0: 'x', [Symbol.isConcatSpreadable]: true }), String({ [Symbol.toStringTag]: 'T' }))
//: WeakRef and FinalizationRegistry exist
const w = new WeakRef({ a: 1 }); out(typeof w.deref(), typeof new FinalizationRegistry(() => { }).register)
//: WeakMap and WeakSet
const k = {}; const w = new WeakMap([[k, 1]]); w.set(k, 2); out(w.get(k), w.has({}), w.delete(k), w.has(k)); try { w.set(1, 1) } catch (e) { out(e.name) } out(new WeakSet([k]).has(k))
//: own toString and toJSON on plain objects
const o = { toString() { return 'o' }, toJSON() { return 'j' }, valueOf() { return 7 }, constructor: 'c', hasOwnProperty: 1 }; out(`${o}`, JSON.stringify(o), o + 1, o.constructor)
//: assigning over inherited methods
const o = {}; o.toString = () => 'mine'; o.constructor = 5; o.valueOf = () => 3; out(String(o), o.constructor, o * 2, Object.keys(o))
//: assigning over methods of functions and of arrays
const f = () => { }; f.call = 1; f.toString = () => 'f'; const a = []; a.toString = () => 'a'; out(f.call, `${f}`, `${a}`)
