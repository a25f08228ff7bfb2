//: errors have name, message and text
const e = new Error('m'); out(e.name, e.message, String(e), Object.keys(e), e instanceof Error, Object.prototype.toString.call(e), Error('x') instanceof Error)
//: the kinds of errors
for (const E of [TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError]) { const e = new E('m'); out(e.name, e instanceof Error, Object.getPrototypeOf(E) === Error, String(e)) }
//: causes
const e = new Error('m', { cause: new TypeError('c') }); out(e.cause.name, Object.hasOwn(e, 'cause'), 'cause' in new Error('x'), Object.getOwnPropertyDescriptor(e, 'cause').enumerable)
//: aggregate errors
const e = new AggregateError([1, new Error('b')], 'many'); out(e.name, e.message, e.errors.length, e instanceof Error)
//: errors of the language
for (const f of [() => null.x, () => undefined(), () => nope, () => { const c = 1; c = 2 }, () => new 5, () => [].reduce((a) => a), () => 'a'.repeat(Infinity), () => (1).toString(1), () => new Array(-1), () => Symbol() + '', () => decodeURI('%'), () => 1n + 1, () => ({}).x.y, () => 'a' in 'b', () => Object.defineProperty(1, 'a', {})]) { try { f(); out('none') } catch (e) { out(e.name) } }
//: a stack is text
const e = new Error('s'); out(typeof e.stack, e.stack.length > 0)
//: names may be set
const e = new Error('m'); e.name = 'Mine'; e.message = 'other'; out(String(e), Object.keys(e)); const f = new TypeError('t'); f.name = ''; out(String(f)); f.message = ''; out(String(f))
//: anything may be thrown
for (const v of [1, 'text', null, undefined, { a: 1 }]) { try { throw v } catch (e) { out(e === v) } }
//: errors in finally hide others
try { try { throw new Error('a') } finally { throw new Error('b') } } catch (e) { out(e.message) }
//: rethrowing keeps the object
const first = new Error('x'); try { try { throw first } catch (e) { throw e } } catch (e) { out(e === first) }
//: endless recursion is a RangeError
const f = () => 1 + f(); try { f() } catch (e) { out(e instanceof Error, ['RangeError', 'InternalError'].includes(e.name)) }
//: error constructors as functions and subclasses
class HttpError extends Error { constructor(status, ...rest) { super(...rest); this.status = status } get name() { return 'HttpError' } } const e = new HttpError(404, 'gone', { cause: 1 }); out(String(e), e.status, e.cause, { ...e })
//: old style subclasses
function Old(m) { const e = Reflect.construct(Error, [m], Old); e.name = 'Old'; return e } Old.prototype = Object.create(Error.prototype, { constructor: { value: Old } }); out(String(new Old('m')), new Old('x') instanceof Old, new Old('y') instanceof Error)
//: toString of odd errors
out(Error.prototype.toString.call({ name: 'N', message: 'M' }), Error.prototype.toString.call({}), Error.prototype.toString.call({ name: undefined, message: '' })); try { Error.prototype.toString.call(5) } catch (e) { out(e.name) }
//: isError
out(typeof Error.isError === 'function' ? [Error.isError(new TypeError()), Error.isError({})] : 'absent')
//: eval is strict, in the global scope
out((0, eval)('1 + 1'), eval('var hidden = 2; hidden'), typeof hidden, eval('"x"'), eval(5), eval(''))
//: Function makes functions
out(new Function('a', 'b = 2', 'return a + b')(1), Function('return 5')(), new Function().name, new Function('a,b', 'c', '').length, (async () => { }).constructor('return 1')() instanceof Promise)
//: Function sees globals only
const local = 1; try { new Function('return local')() } catch (e) { out(e.name) } out(new Function('return typeof Array')())
//: functions as text
function named(a, b) { return a + b } out(String(named), String((x) => x), String(class Q { }), /native code/.test(String(Math.max)))
//: call, apply and bind
function f(...a) { return [this?.x, ...a] } const b = f.bind({ x: 1 }, 2); out(f.call({ x: 3 }, 4), f.apply(null, [5]), b(6), b.name, b.length, b.bind({ x: 9 })(7), new ((function G(x) { this.x = x }).bind(null, 8))().x)
//: globals
out(typeof globalThis, typeof globalThis.Array, Object.keys(globalThis).includes('Array'), typeof undefined, NaN !== NaN, Infinity > 1)
//: what is not there
out(typeof window, typeof setTimeout, typeof fetch, typeof require, typeof process, typeof Intl, typeof document)
//: symbols of the language
out(['iterator', 'asyncIterator', 'hasInstance', 'toPrimitive', 'toStringTag', 'species', 'isConcatSpreadable', 'unscopables', 'match', 'matchAll', 'replace', 'search', 'split'].map((k) => typeof Symbol[k]))
//: built-ins and their sizes
out([Object, Function, Array, Map, Promise, RegExp, Date, Error, Symbol, Proxy].map((C) => [C.name, C.length]))
//: properties of built-ins are not enumerable
out(Object.keys(Math), Object.keys(JSON), Object.keys(Array.prototype), Object.keys(Object), Object.keys(Promise.prototype))
//: Object.prototype methods
out({}.toString(), [].toString.call({ join: () => 'j' }), ({}).hasOwnProperty.call({ a: 1 }, 'a'), ({ a: 1 }).propertyIsEnumerable('a'), ({}).valueOf.call(5) + 1, Object.prototype.toString.call(null), Object.prototype.toString.call([]), Object.prototype.toString.call(() => 1))
