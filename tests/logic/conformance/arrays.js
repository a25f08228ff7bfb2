//: mutating methods
const a = [3, 1, 2]; out(a.push(4), a.pop(), a.shift(), a.unshift(9), a.reverse(), a.splice(1, 1, 'x', 'y'), a, a.fill(0, 1, 2), a.copyWithin(0, 2))
//: copying methods
const a = [3, 1, 2]; out(a.toSorted(), a.toReversed(), a.toSpliced(0, 1), a.with(1, 9), a.slice(-2), a.concat([4], 5, [[6]]), a)
//: sorting is stable and by text
out([10, 9, 1].sort(), [3, undefined, 1].sort(), [{ k: 1, i: 0 }, { k: 0, i: 1 }, { k: 1, i: 2 }].sort((a, b) => a.k - b.k).map((x) => x.i), [, 2, 1].sort())
//: a comparator that throws or is none
try { [1, 2].sort(() => { throw new Error('c') }) } catch (e) { out(e.message) } try { [1].sort(5) } catch (e) { out(e.name) }
//: searching in arrays
const a = [1, NaN, 3, 1]; out(a.indexOf(NaN), a.includes(NaN), a.lastIndexOf(1), a.find((x) => x > 1), a.findIndex((x) => x > 5), a.findLast((x) => x < 3), a.findLastIndex((x) => x === 1), a.at(-1))
//: folding
out([1, 2, 3].reduce((a, b) => a + b), [[1], [2]].reduceRight((a, b) => a.concat(b)), [].reduce((a) => a, 'init')); try { [].reduce((a) => a) } catch (e) { out(e.name) }
//: mapping and flattening
out([1, 2].map((x, i, all) => [x, i, all.length]), [1, [2, [3, [4]]]].flat(), [1, [2, [3]]].flat(Infinity), [1, 2].flatMap((x) => [x, [x]]))
//: every, some, filter
out([].every((x) => false), [].some((x) => true), [1, 2, 3].filter((x) => x % 2), [1, 2].every((x) => x > 0))
//: holes
const h = [1, , 3]; out(h.length, 1 in h, h.map((x) => 2), h.forEach.length, Object.keys(h), [...h], h.indexOf(undefined), h.includes(undefined), h.join('-'))
//: length cuts and grows
const a = [1, 2, 3]; a.length = 1; a[3] = 4; out(a, a.length); try { a.length = -1 } catch (e) { out(e.name) } try { new Array(-1) } catch (e) { out(e.name) }
//: making arrays
out(Array(3).length, Array.of(3), Array(1, 2), Array.from('abc'), Array.from(new Map([[1, 2]])), Array.from({ length: 2, 0: 'a' }), Array.isArray([]), Array.isArray({ length: 0 }))
//: generic methods on array-likes
out(Array.prototype.map.call('abc', (x) => x + x), Array.prototype.join.call({ length: 2, 0: 'a', 1: 'b' }, '+'), Array.prototype.push.call({ length: 0 }, 1))
//: join and toString of nested values
out([1, [2, [3, null]], undefined, { }].join(), String([[], [[]]]), [null].join('x'), [1, 2].toString())
//: join of a cycle
const a = [1]; a.push(a); out(a.join())
//: entries, keys, values
out([...['a', 'b'].entries()], [...['a'].keys()], ['a'].values().next())
//: callbacks get this
out([1].map(function () { return this.x }, { x: 5 }), [1, 2, 3].find(function (v) { return v === this.v }, { v: 2 }))
//: changes while visiting
const a = [1, 2, 3]; const seen = []; a.forEach((x, i) => { seen.push(x); if (i === 0) a.pop() }); out(seen)
//: frozen arrays refuse
const f = Object.freeze([1]); for (const g of [() => f.push(2), () => { f[0] = 2 }, () => f.sort(), () => { f.length = 0 }]) { try { g(); out('taken') } catch (e) { out(e.name) } }
//: array destructuring of holes and defaults
const [a = 1, [b] = [2], ...[c]] = [, undefined, 3]; out(a, b, c)
//: negative and fractional indexes
const a = [1, 2, 3]; out(a[-1], a['1'], a[1.5], a.slice(1.9), a.at(-4), a.indexOf(3, -1))
//: large sparse arrays
const a = []; a[4294967294] = 1; out(a.length, Object.keys(a)); a[4294967295] = 2; out(a.length)
//: lastIndexOf and includes from an index
out([1, 2, 1].lastIndexOf(1, -2), [1, 2, 3].includes(1, 1), [1, 2, 3].indexOf(3, 5))
//: typed arrays convert
out([...new Uint8Array([1, 256, -1, 1.9, NaN])], [...new Int8Array([128, -129])], [...new Uint8ClampedArray([300, -5, 1.5, 2.5])], [...new Float32Array([0.1])], [...new Int16Array([40000])])
//: typed arrays share a buffer
const b = new ArrayBuffer(8); const u = new Uint8Array(b); new DataView(b).setUint16(0, 258); new Float32Array(b, 4, 1)[0] = 1; out([...u], u.byteLength, new Uint16Array(b, 2, 1).byteOffset)
//: views and subarrays
const u = Uint8Array.of(1, 2, 3, 4); const s = u.subarray(1, 3); s[0] = 9; out([...u], [...u.slice(2)], s.length, u.buffer === s.buffer)
//: DataView both ways
const d = new DataView(new ArrayBuffer(16)); d.setInt32(0, -2); d.setFloat64(8, Math.PI, true); out(d.getUint32(0), d.getInt32(0, true), d.getFloat64(8, true), d.getUint8(3)); try { d.getInt32(13) } catch (e) { out(e.name) }
//: BigInt arrays
const b = new BigInt64Array([1n, -1n]); out(String(b), [...new BigUint64Array(b.buffer)].map(String)); try { b[0] = 1 } catch (e) { out(e.name) }
//: typed array methods
const u = new Uint8Array([3, 1, 2]); out([...u.sort()], [...u.map((x) => x * 100)], u.join('-'), u.indexOf(2), [...u.toReversed()], [...u.with(0, 7)], u.at(-1), [...u.filter((x) => x > 1)], u.reduce((a, x) => a + x))
//: typed arrays are not extended
const u = new Uint8Array(2); u[5] = 1; u.extra = 2; out(u.length, u[5] === undefined, u.extra, Object.keys(u), '5' in u)
//: typed array set and fill
const u = new Uint8Array(4); u.set([1, 2], 1); u.fill(9, 3); out([...u]); try { u.set([1, 2, 3], 3) } catch (e) { out(e.name) }
//: typed array constructors
out([...new Uint8Array(new Set([1, 2]))], [...Uint8Array.from({ length: 2 }, (_, i) => i + 1)], new Float64Array(2).length, [...new Uint8Array(new Uint16Array([257]))]); try { new Uint16Array(new ArrayBuffer(3)) } catch (e) { out(e.name) } try { Uint8Array(1) } catch (e) { out(e.name) }
//: array buffers slice and transfer
const b = new Uint8Array([1, 2, 3]).buffer; out([...new Uint8Array(b.slice(1))], ArrayBuffer.isView(new DataView(b)), b.byteLength, typeof b.transfer, typeof b.resizable)
//: NaN and zeros in arrays
out([NaN].includes(NaN), [0].includes(-0), Object.is([-0][0], -0), [..."\ud83d\ude00"].length, new Float32Array([-0])[0] === 0)
//: array methods keep their names and lengths
out(['map', 'push', 'splice', 'reduce', 'indexOf', 'concat', 'from', 'of'].map((k) => { const f = [][k] ?? Array[k]; return [f.name, f.length] }))
