//: fields, methods and accessors
class A { x = 1; y = this.x + 1; static s = 5; m() { return this.y } get g() { return 6 } set g(v) { this.x = v } } const a = new A(); a.g = 9; out(a, a.m(), a.g, A.s)
//: a class needs new
class A { } try { A() } catch (e) { out(e.name) }
//: methods are not enumerable and have no prototype
class A { m() {} } out(Object.keys(A.prototype), A.prototype.m.prototype === undefined); try { new (new A().m)() } catch (e) { out(e.name) }
//: extends and super
class A { constructor(x) { this.x = x } hi() { return 'A' + this.x } static s() { return 'sA' } }
class B extends A { constructor() { super(3); this.y = 4 } hi() { return super.hi() + 'B' } static s() { return super.s() + 'sB' } } out(new B().hi(), B.s(), new B())
//: this before super throws
class A { } class B extends A { constructor() { this.x = 1; super() } } try { new B() } catch (e) { out(e.name) }
//: a derived constructor must call super
class A { } class B extends A { constructor() { } } try { new B() } catch (e) { out(e.name) }
//: super twice throws
class A { } class B extends A { constructor() { super(); super() } } try { new B() } catch (e) { out(e.name) }
//: a derived constructor may return an object
class A { } class B extends A { constructor() { return { other: 1 } } } out(new B())
//: default constructors pass arguments on
class A { constructor(...a) { this.a = a } } class B extends A { } out(new B(1, 2).a)
//: fields come after super
class A { constructor() { this.seen = this.f } } class B extends A { f = 1 } const b = new B(); out(b.seen === undefined, b.f)
//: fields are defined, not assigned
class A { set f(v) { out('set') } } class B extends A { f = 1 } out(new B())
//: private fields and methods
class A { #x = 1; #m() { return this.#x } get #g() { return 2 } set #g(v) { this.#x = v } run() { this.#g = 7; return [this.#m(), this.#g] } static has(o) { return #x in o } } out(new A().run(), A.has(new A()), A.has({}))
//: private names of another class are refused
class A { #x = 1; static get(o) { return o.#x } } try { A.get({}) } catch (e) { out(e.name) }
//: private statics
class A { static #n = 0; static #inc() { return ++A.#n } static next() { return A.#inc() } } A.next(); out(A.next())
//: private statics through this
class A { static #n = 5; static n() { return this.#n } } out(A.n())
//: private methods are not written
class A { #m() {} w() { this.#m = 1 } } try { new A().w() } catch (e) { out(e.name) }
//: static blocks see the class
class A { static list = []; static { for (let i = 0; i < 3; i++) A.list.push(i); this.done = true } } out(A.list, A.done)
//: the class sees itself in statics
class A { static zero = new A(0); static me = A; constructor(x) { this.x = x } clone() { return new A(this.x + 1) } } out(A.zero.clone().clone(), A.me === A)
//: computed names run once in order
const l = []; class A { [(l.push('a'), 'a')]() { } static [(l.push('b'), 'b')] = l.push('init'); [(l.push('c'), 'c')] = 1 } out(l, Object.keys(new A()))
//: generators and async methods
class A { *g() { yield 1; yield 2 } async a() { return 3 } async *ag() { yield 4 } } out([...new A().g()]); new A().a().then(out); (async () => { for await (const x of new A().ag()) out(x) })()
//: symbols as members
class A { [Symbol.iterator]() { return [1, 2].values() } get [Symbol.toStringTag]() { return 'Tag' } static [Symbol.hasInstance](x) { return x === 5 } } out([...new A()], String(new A()), 5 instanceof A)
//: instanceof and isPrototypeOf
class A { } class B extends A { } out(new B() instanceof A, A.prototype.isPrototypeOf(new B()), Object.getPrototypeOf(B) === A, B.prototype.constructor === B, A instanceof Function)
//: name and toString of classes
class A { } const B = class { }; const C = class D { }; out(A.name, B.name, C.name, (class { static name = 'own' }).name, typeof A)
//: length of a class
out((class { constructor(a, b) { } }).length, (class { }).length)
//: class expressions know their name inside only
const X = class Y { me() { return Y === X } }; out(new X().me(), typeof Y)
//: the name of a class is read-only inside
class A { static m() { A = 1 } } try { A.m() } catch (e) { out(e.name) }
//: extends null
class N extends null { static s = 1 } out(N.s, Object.getPrototypeOf(N.prototype) === null); try { new N() } catch (e) { out(e.name) }
//: extends an expression
const mixin = (B) => class extends B { mixed() { return 'm' } }; class A extends mixin(Object) { } out(new A().mixed())
//: extends what is no constructor
for (const B of [5, () => 1, undefined, { }]) { try { class A extends B { } out('taken') } catch (e) { out(e.name) } }
//: extends a function
function F(x) { this.x = x } F.prototype.m = function () { return this.x } ; class A extends F { } out(new A(4).m(), Object.getPrototypeOf(A) === F)
//: subclass of Array
class L extends Array { sum() { return this.reduce((a, b) => a + b, 0) } } const l = L.from([1, 2, 3]); out(l.map((x) => x * 2) instanceof L, l.sum(), l.length, Array.isArray(l), l.concat([4]).sum())
//: Symbol.species is asked
class L extends Array { static get [Symbol.species]() { return Array } } out(new L(1, 2).map((x) => x) instanceof L)
//: subclass of Map and Set
class M extends Map { get(k) { return super.get(k) ?? 'none' } } class S extends Set { add(x) { return super.add(x * 2) } } out(new M([[1, 2]]).get(1), new M().get(1), [...new S([1, 2])])
//: subclass of Error
class E extends Error { constructor(m) { super(m); this.name = 'E' } } try { throw new E('m') } catch (e) { out(String(e), e instanceof E, e instanceof Error, e.message) }
//: subclass of Error with a field name
class E extends RangeError { name = 'Mine' } out(String(new E('x')), Object.prototype.toString.call(new E('x')))
//: subclass of Promise
class P extends Promise { } const p = P.resolve(1); out(p instanceof P, p.then(() => 2) instanceof P); p.then(out)
//: subclass of Function and RegExp
class R extends RegExp { test(s) { return !super.test(s) } } out(new R('a').test('b'), new (class extends Function { })('return 3')())
//: subclass of Uint8Array and Date
class U extends Uint8Array { } class D extends Date { y() { return this.getUTCFullYear() } } out([...new U([1, 2]).map((x) => x * 2)], new D(0).y())
//: new.target in constructors
class A { constructor() { this.t = new.target.name } } class B extends A { } out(new A().t, new B().t)
//: abstract by new.target
class A { constructor() { if (new.target === A) throw new TypeError('abstract') } } class B extends A { } try { new A() } catch (e) { out(e.message) } out(new B() instanceof A)
//: Reflect.construct with another target
class A { constructor() { this.p = Object.getPrototypeOf(this) === B.prototype } } class B { } out(Reflect.construct(A, [], B).p)
//: accessors on the prototype chain
class A { get v() { return this._v ?? 0 } set v(x) { this._v = x } } class B extends A { get v() { return super.v + 1 } set v(x) { super.v = x * 2 } } const b = new B(); b.v = 5; out(b.v)
//: a getter without setter
class A { get v() { return 1 } } try { new A().v = 2 } catch (e) { out(e.name) }
//: static inheritance is by prototype
class A { static n = 1; static inc() { return ++this.n } } class B extends A { } B.inc(); out(A.n, B.n, Object.hasOwn(B, 'n'))
//: statics are enumerable, static methods are not
class A { static a = 1; static m() { } } A.b = 2; out(Object.keys(A), Object.getOwnPropertyNames(A).includes('m'), 'a' in A, delete A.a, A.a === undefined)
//: static accessors
class A { static #v = 1; static get v() { return A.#v } static set v(x) { A.#v = x * 2 } } A.v = 4; out(A.v)
//: static name and length may be own
class A { static name() { return 'n' } static length = 9 } out(A.name(), A.length)
//: prototype of a class is fixed
class A { } const d = Object.getOwnPropertyDescriptor(A, 'prototype'); out(d.enumerable, d.configurable); try { Object.defineProperty(A, 'prototype', { value: {} }); out('taken') } catch (e) { out(e.name) }
//: members added to the prototype later
class A { } A.prototype.late = function () { return this.x } ; class B extends A { x = 3 } out(new B().late())
//: arrow fields keep this
class A { x = 1; f = () => this.x } const { f } = new A(); out(f())
//: methods lose this
class A { m() { return this } } const { m } = new A(); out(m() === undefined)
//: JSON of instances
class A { #p = 1; q = 2; get r() { return 3 } toJSON() { return { ...this, j: 1 } } } out(JSON.stringify({ a: new A() }))
//: instances in collections
class K { constructor(x) { this.x = x } } const k = new K(1); const w = new WeakMap([[k, 'w']]); const m = new Map([[k, 'm']]); out(w.get(k), m.get(k), m.get(new K(1)) === undefined)
//: symbols describe and compare
class A { static s = Symbol('d') } out(A.s.description, String(A.s), Symbol.for('a') === Symbol.for('a'), Symbol.keyFor(Symbol.for('a')))
//: the constructor property
class A { } const a = new A(); out(a.constructor === A, Object.hasOwn(a, 'constructor'), new a.constructor() instanceof A)
//: setPrototypeOf of instances
class A { m() { return 'A' } } class B { m() { return 'B' } } const a = new A(); Object.setPrototypeOf(a, B.prototype); out(a.m(), a instanceof A, a instanceof B)
//: class in a class
class A { static In = class { static deep = 1; m() { return A.In.deep } } } out(new A.In().m(), A.In.name)
//: await and yield in class bodies
async function f() { class A { [await 'k']() { return 1 } static s = 2 } return [new A().k(), A.s] } f().then(out)
//: brand checks with try
class A { #b; static is(o) { try { o.#b; return true } catch { return false } } } out(A.is(new A()), A.is(Object.create(A.prototype)))
//: a private method called on the wrong receiver
class A { #m() { return 1 } static call(o) { return o.#m() } } try { A.call(Object.create(A.prototype)) } catch (e) { out(e.name) }
//: optional chaining with private names
class A { #x = { y: 2 }; static g(o) { return o?.#x?.y } } out(A.g(new A()), A.g(null) === undefined)
//: super in object literals and arrows
class A { m() { return 'A' } } class B extends A { m() { return (() => super.m() + 'B')() } get x() { return super['m']() } } out(new B().m(), new B().x)
//: toString of an instance
class A { toString() { return 'mine' } } out(`${new A()}`, new A() + '', [new A()].join())
//: valueOf and comparison
class V { constructor(v) { this.v = v } valueOf() { return this.v } } out(new V(1) < new V(2), new V(3) + new V(4), +new V(5))
