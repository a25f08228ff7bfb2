//: printing
out(1 / 3, 1e21, 1e-7, 123456789012345680000, 0.1 + 0.2, -0, [-0], String(-0), 5e-324, 1.7976931348623157e308, 100, 1e2.toString())
//: toFixed, toPrecision, toExponential
out((1.005).toFixed(2), (1e21).toFixed(2), (0.000001234).toPrecision(2), (12345).toExponential(1), (25).toString(36), (0.5).toString(2), (-255).toString(16), (1.45).toFixed(1), (8.345).toFixed(2)); try { (1).toFixed(101) } catch (e) { out(e.name) }
//: limits and predicates
out(Number.MAX_SAFE_INTEGER, Number.EPSILON, Number.isInteger(5.0), Number.isSafeInteger(2 ** 53), Number.isNaN('a'), isNaN('a'), Number.isFinite('1'), isFinite('1'))
//: remainders and division
out(5 % -3, -5 % 3, 5.5 % 2, 1 / 0 > 1e308, 0 / 0, -1 % 1, 2 ** 53 + 1)
//: rounding
out(Math.round(2.5), Math.round(-2.5), Math.round(0.49999999999999994), Math.trunc(-1.9), Math.floor(-1.1), Math.ceil(-1.9), Math.fround(5.5), Math.sign(-3))
//: Math functions
out(Math.max(), Math.min(), Math.max(1, NaN), Math.hypot(3, 4), Math.cbrt(27), Math.log2(8), Math.log10(1000), Math.expm1(0), Math.atan2(1, 1), Math.clz32(1), Math.imul(0xffffffff, 5), Math.abs(-5))
//: transcendental functions to the last bit
out(Math.sin(1), Math.cos(1), Math.tan(1), Math.exp(1), Math.log(10), Math.pow(2, 0.5), Math.sinh(1), Math.asin(0.5), Math.sqrt(2))
//: BigInt arithmetic
out(String(2n ** 100n), String(-7n / 2n), String(-7n % 3n), String(5n & 3n), String(-1n >> 1n), 10n > 9, 1n == 1, typeof 1n, String(BigInt('0xff')), String(BigInt.asUintN(8, 257n)), String(BigInt.asIntN(8, 255n)))
//: BigInt and numbers do not mix
for (const f of [() => 1n + 1, () => +1n, () => BigInt(1.5), () => 1n / 0n, () => Math.max(1n), () => 2n ** -1n, () => BigInt('x'), () => JSON.stringify(1n)]) { try { f(); out('taken') } catch (e) { out(e.name) } }
//: Number objects
const n = new Number(5); out(typeof n, n + 1, n == 5, n === 5, JSON.stringify(n), Number(n), !!new Number(0))
//: conversions
out(Number(null), Number(undefined), Number(true), Number([]), Number([5]), Number({}), Number('1,5'), Number(new Date(5)), ~~'7.9', '5' | 0)
//: integers and shifts wrap
out(2 ** 31 | 0, 2 ** 32 >>> 0, 1 << 32, -1 >>> 0, 4294967296.5 | 0)
//: parsing with radix
out(parseInt('101', 2), parseInt('9', 8), (35).toString(36), parseInt('1e3'), parseInt(0.0000005), Number.parseFloat === parseFloat)
//: comparison with NaN and zero
out(NaN !== NaN, 0 === -0, 1 / -0 < 0, [NaN].indexOf(NaN), Math.min(0, -0), Object.is(Math.min(0, -0), -0))
//: sums of floats
let s = 0; for (let i = 0; i < 10; i++) s += 0.1; out(s, s === 1, 0.1 * 3, 9007199254740993, 1.1 + 2.2)
//: a random number is one
const r = Math.random(); out(r >= 0 && r < 1, typeof r)
