//: JSON round trip
const v = { a: [1, 'x', null, true, { b: {} }], 'ké': '\n"\\/\u2028' }; out(JSON.stringify(v), JSON.stringify(JSON.parse(JSON.stringify(v))) === JSON.stringify(v))
//: what JSON leaves out
out(JSON.stringify({ u: undefined, f() { }, s: Symbol(), n: NaN, i: Infinity, z: -0, d: new Date(0) }), JSON.stringify([undefined, () => 1, Symbol()]), JSON.stringify(undefined) === undefined)
//: indent
out(JSON.stringify({ a: [1, { b: 2 }], c: {} , d: [] }, null, 2), JSON.stringify([1], null, '--'))
//: replacer function and list
out(JSON.stringify({ a: 1, b: [2, 3] }, (k, v) => typeof v === 'number' ? v * 2 : v), JSON.stringify({ a: 1, b: { a: 2, c: 3 } }, ['a', 'b']), JSON.stringify({ a: 1 }, function (k, v) { return k === '' ? v : this.a + 1 }))
//: reviver
out(JSON.parse('{"a":1,"b":[2,{"c":3}]}', (k, v) => typeof v === 'number' ? v + 1 : v), JSON.parse('{"a":1,"b":2}', (k, v) => k === 'a' ? undefined : v))
//: toJSON
out(JSON.stringify({ toJSON: (k) => 'key:' + k }), JSON.stringify({ a: { toJSON(k) { return k + 1 } } }))
//: cycles throw
const o = {}; o.o = o; try { JSON.stringify(o) } catch (e) { out(e.name) }
//: bad JSON
for (const t of ['', '{', "{'a':1}", '[1,]', '01', '{"a":1}}', 'undefined', '"\n"', 'NaN', '1.', '+1', '\u00a01']) { try { JSON.parse(t); out('taken', t) } catch (e) { out(e.name) } }
//: JSON numbers and texts
out(JSON.parse('1e3'), JSON.parse('-0') === 0, JSON.parse('"\\u0041\\ud83d"').length, JSON.parse(' [ 1 ] '), JSON.stringify('\ud800'), JSON.stringify('\u007f\u0001'))
//: __proto__ in JSON is a key
const p = JSON.parse('{"__proto__":{"x":1}}'); out(Object.keys(p), p.x === undefined, Object.hasOwn(p, '__proto__'))
//: repeated keys take the last
out(JSON.parse('{"a":1,"b":2,"a":3}'), Object.keys(JSON.parse('{"2":1,"1":2,"b":0}')))
//: JSON of collections and boxes
out(JSON.stringify([new Map([[1, 2]]), new Set([1]), /r/g, new Error('e'), new Boolean(false), new Uint8Array([1, 2])]))
//: dates in UTC
const d = new Date(Date.UTC(2024, 1, 29, 12, 30, 45, 678)); out(d.toISOString(), d.getTime(), d.getUTCDay(), d.getTimezoneOffset(), d.getHours(), d.toJSON())
//: parsing dates
out(Date.parse('2024-02-29'), Date.parse('2024-02-29T12:00:00Z'), Date.parse('2024-02-29T12:00:00+02:00'), Date.parse('2024-02-29T12:00'), Date.parse('2024-02-30'), Date.parse('nope'), Date.parse('Thu, 29 Feb 2024 12:00:00 GMT'))
//: dates overflow
out(new Date(2024, 0, 31 + 1).getDate(), new Date(2023, 1, 29).toISOString(), new Date(2024, 12).toISOString(), new Date(2024, 0, 0).toISOString(), new Date(99, 0).getFullYear())
//: setters of dates
const d = new Date(0); d.setUTCFullYear(2024, 1, 29); d.setUTCHours(25, 61, 61, 1001); out(d.toISOString(), d.setTime(5), d.setMonth(13), d.toISOString())
//: invalid dates
const d = new Date(NaN); out(String(d), d.getTime(), JSON.stringify(d), new Date(8.64e15 + 1).getTime(), new Date(8.64e15).toISOString()); try { d.toISOString() } catch (e) { out(e.name) }
//: dates as text and numbers
const d = new Date(0); out(String(d), d.toUTCString(), +d, d + 1, `${d}`, d.toDateString(), d[Symbol.toPrimitive]('number'), d - new Date(-5))
//: calling Date gives text
out(typeof Date(), typeof new Date(), typeof Date.now(), new Date(new Date(5)).getTime(), new Date('5').getTime() === new Date(5).getTime())
//: months and leap years
out([1900, 2000, 2023, 2024].map((y) => new Date(Date.UTC(y, 2, 0)).getUTCDate()), new Date(Date.UTC(-1, 0)).toISOString(), new Date(Date.UTC(12345, 0)).toISOString())
//: maps keep the order of insertion
const m = new Map([['b', 1], ['a', 2]]); m.set('b', 3); m.delete('a'); m.set('a', 4); out([...m], m.size, [...m.keys()], m.get('x') === undefined)
//: keys of maps
const m = new Map([[NaN, 'n'], [0, 'z'], ['0', 't'], [undefined, 'u']]); out(m.get(NaN), m.get(-0), m.get('0'), m.get(), m.has({}), Object.is([...new Map([[-0, 1]]).keys()][0], 0))
//: sets
const s = new Set([1, 1, '1', NaN, NaN]); out(s.size, s.has('1'), s.delete(1), [...s].map(String), s.add(1) === s, [...new Set('hello')].join(''))
//: set algebra
const a = new Set([1, 2, 3]), b = new Set([2, 3, 4]); out([...a.union(b)], [...a.intersection(b)], [...a.difference(b)], [...a.symmetricDifference(b)], a.isSubsetOf(b), new Set([2]).isSubsetOf(b), a.isDisjointFrom(new Set([9])))
//: forEach of maps and sets
const l = []; new Map([[1, 2]]).forEach(function (v, k, m) { l.push(v, k, m.size, this.x) }, { x: 9 }); new Set([3]).forEach((v, k) => l.push(v, k)); out(l)
//: collections need new
for (const C of [Map, Set, WeakMap, Promise, Proxy, ArrayBuffer]) { try { C(); out('taken') } catch (e) { out(e.name) } }
//: methods on the wrong receiver
for (const f of [() => Map.prototype.get.call({}, 1), () => Date.prototype.getTime.call({}), () => Set.prototype.add.call(new Map(), 1), () => RegExp.prototype.exec.call({}, ''), () => Promise.prototype.then.call({}), () => Symbol.prototype.toString.call(1)]) { try { f(); out('taken') } catch (e) { out(e.name) } }
//: structured copies by hand
const deep = (v) => v && typeof v === 'object' ? Array.isArray(v) ? v.map(deep) : Object.fromEntries(Object.entries(v).map(([k, x]) => [k, deep(x)])) : v; const o = { a: [1, { b: 2 }] }; const c = deep(o); c.a[1].b = 3; out(o, c)
