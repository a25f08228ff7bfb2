//: generators yield and return
function* g() { const got = yield 1; yield got * 2; return 3 } const it = g(); out(it.next(), it.next(5), it.next(), it.next())
//: yield star passes on
function* inner() { yield 'a'; return 'r' } function* outer() { const r = yield* inner(); yield r; yield* [1, 2] } out([...outer()])
//: throw into a generator
function* g() { try { yield 1 } catch (e) { yield 'caught ' + e } } const it = g(); it.next(); out(it.throw('x'), it.next())
//: return runs finally
const log = []; function* g() { try { yield 1; yield 2 } finally { log.push('f') } } for (const x of g()) { log.push(x); break } out(log)
//: a generator's return method
function* g() { try { yield 1 } finally { yield 'cleanup' } } const it = g(); it.next(); out(it.return(7), it.next(), it.next())
//: a running generator cannot be entered
function* g() { try { it.next() } catch (e) { yield e.name } } const it = g(); out(it.next())
//: iterators of built-ins
out([...[1, 2].keys()], [...[1, 2].entries()], [...new Map([[1, 2]])], [...new Set('aab')], [...'a\u{1F600}'])
//: user iterators
const range = { from: 1, to: 3, [Symbol.iterator]() { let at = this.from; return { next: () => at <= this.to ? { value: at++, done: false } : { value: undefined, done: true } } } }; out([...range], Math.max(...range), Array.from(range, (x) => x * 2))
//: destructuring closes iterators
const closed = []; const it = { [Symbol.iterator]() { return { next: () => ({ value: 1, done: false }), return() { closed.push('r'); return {} } } } }; const [x] = it; out(x, closed)
//: destructuring to the end does not close
const closed = []; const it = { [Symbol.iterator]() { let n = 0; return { next: () => ({ value: n, done: n++ > 1 }), return() { closed.push('r'); return {} } } } }; const [...all] = it; out(all, closed)
//: an exception in the body closes
const closed = []; const it = { [Symbol.iterator]() { return { next: () => ({ done: false }), return() { closed.push('r'); return {} } } } }; try { for (const x of it) throw new Error('b') } catch (e) { out(e.message, closed) }
//: return must give an object
const it = { [Symbol.iterator]() { return { next: () => ({ done: false }), return: () => 5 } } }; try { for (const x of it) break } catch (e) { out(e.name) }
//: iterator helpers
out([1, 2, 3, 4].values().filter((x) => x % 2).map((x) => x * 10).toArray(), [1, 2, 3].values().take(2).toArray(), [1, 2, 3].values().drop(1).toArray())
//: iterator helpers are lazy
const log = []; const it = [1, 2, 3].values().map((x) => (log.push(x), x)); it.next(); out(log)
//: iterator flatMap, reduce, some, every, find, forEach
const v = () => [1, 2, 3].values(); const seen = []; v().forEach((x) => seen.push(x)); out(v().flatMap((x) => [x, x]).toArray(), v().reduce((a, b) => a + b), v().some((x) => x > 2), v().every((x) => x > 2), v().find((x) => x > 1), seen)
//: Iterator.from
out(Iterator.from({ next: (() => { let n = 0; return () => ({ value: n, done: n++ > 2 }) })() }).toArray(), Iterator.from('ab').toArray())
//: generators are iterators
function* g() { yield 1 } out(g() instanceof Iterator, g()[Symbol.iterator]() !== g(), Object.prototype.toString.call(g()))
//: spreading what is not iterable
for (const f of [() => [...5], () => new Map([1]), () => { const [a] = {} }, () => Math.max(...{}), () => { for (const x of null); }]) { try { f(); out('taken') } catch (e) { out(e.name) } }
//: generators with parameters and this
function* g(a, b = a) { yield this.x; yield a + b; yield arguments.length } out([...g.call({ x: 1 }, 2)])
//: a generator is no constructor
function* g() { } try { new g() } catch (e) { out(e.name) }
//: generators make objects of their prototype
function* g() { } g.prototype.hi = () => 'hi'; out(g().hi(), g() instanceof g)
//: infinite sequences
function* nat() { let n = 0; while (true) yield n++ } const firsts = []; for (const n of nat()) { if (n > 3) break; firsts.push(n) } out(firsts, nat().filter((n) => n % 3 === 1).take(3).toArray())
//: zip with two generators
function* zip(a, b) { const i = a[Symbol.iterator](), j = b[Symbol.iterator](); for (;;) { const x = i.next(), y = j.next(); if (x.done || y.done) return; yield [x.value, y.value] } } out([...zip('abc', [1, 2])])
//: recursion with yield star
const tree = { v: 1, kids: [{ v: 2, kids: [] }, { v: 3, kids: [{ v: 4, kids: [] }] }] }; function* walk(t) { yield t.v; for (const k of t.kids) yield* walk(k) } out([...walk(tree)])
//: Map grows while it is iterated
const m = new Map([[1, 1]]); const seen = []; for (const [k] of m) { seen.push(k); if (k < 4) m.set(k + 1, 1); m.delete(k) } out(seen)
//: Array iterators see later elements
const a = [1]; const seen = []; for (const x of a) { seen.push(x); if (x < 3) a.push(x + 1) } out(seen)
//: Object.groupBy and Map.groupBy
out(Object.groupBy([1, 2, 3], (x) => x % 2 ? 'odd' : 'even'), [...Map.groupBy([1, 2, 3], (x) => x > 1).keys()])
//: Array.from with length
out(Array.from({ length: 3, 1: 'b' }), Array.from({ length: 2 }, (_, i) => i))
