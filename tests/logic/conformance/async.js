//: promises run after the code
out(1); Promise.resolve().then(() => out(3)); out(2)
//: await lets others run
const f = async (n) => { out(n + 'a'); await null; out(n + 'b') }; f(1); f(2); out('end')
//: the order of reactions
const p = Promise.resolve(); p.then(() => out('a')).then(() => out('c')); p.then(() => out('b'))
//: resolving with a thenable takes two more turns
Promise.resolve().then(() => Promise.resolve('slow')).then(out); Promise.resolve().then(() => 0).then(() => 0).then(() => 0).then(() => out('quick'))
//: async functions return promises
const f = async () => 5; out(f() instanceof Promise, Object.prototype.toString.call(f)); f().then(out)
//: rejections are caught
(async () => { try { await Promise.reject(new Error('x')) } catch (e) { out(e.message) } finally { out('f') } })()
//: throw in an async function
const f = async () => { throw new TypeError('t') }; f().catch((e) => out(e.name))
//: Promise.all
Promise.all([1, Promise.resolve(2), { then: (r) => r(3) }]).then(out); Promise.all([]).then(out); Promise.all([Promise.reject(4), 5]).catch(out)
//: Promise.allSettled
Promise.allSettled([1, Promise.reject('no')]).then((r) => out(r))
//: Promise.any
Promise.any([Promise.reject(1), Promise.resolve(2)]).then(out); Promise.any([Promise.reject(1)]).catch((e) => out(e.name, e.errors))
//: Promise.race
Promise.race([new Promise(() => { }), Promise.resolve('first')]).then(out)
//: Promise.withResolvers
const { promise, resolve } = Promise.withResolvers(); promise.then(out); resolve('later')
//: Promise.try
Promise.try(() => { throw new RangeError('r') }).catch((e) => out(e.name)); Promise.try((x) => x, 5).then(out)
//: finally passes values
Promise.resolve(1).finally(() => 2).then(out); Promise.reject(3).finally(() => { }).catch(out); Promise.resolve(1).finally(() => { throw 4 }).catch(out)
//: a promise settles once
new Promise((res, rej) => { res(1); rej(2); res(3) }).then(out, out)
//: a promise cannot be its own answer
const p = new Promise((r) => Promise.resolve().then(() => r(p))); p.catch((e) => out(e.name))
//: executor throws
new Promise(() => { throw 'x' }).catch(out)
//: then with what is no function
Promise.resolve(1).then(2).then(out); Promise.reject(3).then(out).catch((e) => out('c', e))
//: await of thenables and values
(async () => { out(await 1, await { then: (r) => r(2) }, await { then: 3 }) })()
//: await in expressions
(async () => { const a = [1, 2]; out((await a[0]) + (await a[1]), [await 3, await 4], `${await 5}`, { k: await 6 }) })()
//: await in loops and conditions
(async () => { const l = []; for (let i = 0; i < 3; i++) { if (await (i % 2)) continue; l.push(i) } out(l) })()
//: async generators
async function* g() { yield 1; yield Promise.resolve(2); try { yield 3 } finally { out('closed') } } (async () => { for await (const x of g()) { out(x); if (x === 3) break } })()
//: for await over promises
(async () => { const l = []; for await (const x of [Promise.resolve(1), 2]) l.push(x); out(l) })()
//: for await over a rejected promise
(async () => { try { for await (const x of [1, Promise.reject('r')]) out(x) } catch (e) { out('caught', e) } })()
//: requests to an async generator wait in line
async function* g() { yield 1; yield 2 } const it = g(); Promise.all([it.next(), it.next(), it.next()]).then(out)
//: async iterators of one's own
const it = { [Symbol.asyncIterator]() { let n = 0; return { next: async () => ({ value: n, done: n++ > 1 }), return: async () => (out('r'), {}) } } }; (async () => { for await (const x of it) { out(x); if (x) break } })()
//: yield star in async generators
async function* a() { yield* [1, Promise.resolve(2)]; return 'r' } async function* b() { out(await (yield* a())) } (async () => { for await (const x of b()) out(x) })()
//: async arrows and methods
const o = { v: 1, async m() { return this.v }, f: async (x) => x * 2 }; o.m().then(out); o.f(4).then(out)
//: an async function's own this and arguments
async function f() { await null; return [this.x, arguments.length] } f.call({ x: 1 }, 2, 3).then(out)
//: errors thrown after await keep their type
(async () => { await null; null.x })().catch((e) => out(e.name, e instanceof TypeError))
//: parallel and sequential
const l = []; const t = async (n, k) => { for (let i = 0; i < k; i++) await null; l.push(n) }; (async () => { await Promise.all([t('slow', 5), t('quick', 1)]); await t('last', 1); out(l) })()
//: many awaits
(async () => { let s = 0; for (let i = 0; i < 500; i++) s += await i; out(s) })()
//: an async function as a constructor
try { new (async () => { })() } catch (e) { out(e.name) }
//: queueMicrotask is not there or works
out(typeof queueMicrotask)
//: thenables are called in a job of their own
const log = []; Promise.resolve({ then(r) { log.push('then'); r() } }).then(() => { log.push('done'); out(log) }); log.push('sync')
//: Array.fromAsync
Array.fromAsync([Promise.resolve(1), 2], async (x) => x * 2).then(out)
