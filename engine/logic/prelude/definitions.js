// Definitions: one cell a name, for ever. The cell is what `define` swaps, and it is at once the handler of the
// name's stub, a Proxy: references to the stub, wherever they are held, reach the newest implementation.

const NAME = /^[A-Za-z_$][A-Za-z0-9_$]{0,127}$/;
const FUNCTION_PLAIN = /^(?:async\s+)?function\b\s*\*?\s*[\w$]*\s*\(([\w$\s,]*)\)\s*\{/;
const ARROW_PLAIN = /^(?:async\s*)?\(?([\w$\s,]*)\)?\s*=>/;
const CALL_DEPENDENT = ["this", "arguments", "eval", "target", "\\u", "[native code]"];
const CLASS = /^class\b/;
const FORWARDED_MAX = 4;
const LANGUAGE_WORDS = new Set(
  ("await break case catch class const continue debugger default delete do else enum export extends false finally for " +
    "function if implements import in instanceof interface let new null package private protected public return " +
    "static super switch this throw true try typeof var void while with yield arguments").split(" "),
);
const RESERVED_NAMES = new Set(
  ("define undefine state reset data worlds versionOf console pause ask fork schedule every after message scene " +
    "module exports require").split(" "),
);

// Whether any definition was called: a variable, because stubs set it at every call. Stubs outlive upgrades, so an
// older prelude's variable counts too.
let called = false;
const takeCalledBefore = world.takeCalled;
world.takeCalled = () => {
  const was = takeCalledBefore !== undefined && takeCalledBefore();
  const is = called;
  called = false;
  return was || is;
};

const stubTraps = {
  __proto__: null,
  get(target, key) {
    if (this.kind !== "library") {
      if (key === "name" || key === "length") return target[key];
      return key === "prototype" ? prototypeOf(this) : this.impl[key];
    }
    const value = this.impl[key];
    return this.methods !== null && typeof value === "function" ? methodOf(this, value) : value;
  },
  set(_target, key, value) {
    return Reflect.set(this.impl, key, value);
  },
  has(target, key) {
    return key in this.impl || key in target;
  },
  deleteProperty(_target, key) {
    return Reflect.deleteProperty(this.impl, key);
  },
  defineProperty(_target, key, descriptor) {
    return Reflect.defineProperty(this.impl, key, descriptor);
  },
  ownKeys(target) {
    const keys = ownKeys(this.impl);
    if (this.kind !== "library") for (const key of ownKeys(target)) if (!keys.includes(key)) keys.push(key);
    return keys;
  },
  getOwnPropertyDescriptor(target, key) {
    const own = getOwnPropertyDescriptor(target, key);
    if (this.kind !== "library") {
      if (key === "prototype") return { ...own, value: prototypeOf(this) };
      if (key === "name" || key === "length") return own;
    }
    const descriptor = getOwnPropertyDescriptor(this.impl, key);
    // A Proxy must not promise more than its target does.
    if (descriptor !== undefined && (own === undefined || own.configurable)) descriptor.configurable = true;
    return descriptor;
  },
  getPrototypeOf() {
    return getPrototypeOf(this.impl);
  },
  setPrototypeOf: () => false,
  preventExtensions: () => false,
  construct(_target, args, newTarget) {
    called = true;
    prototypeOf(this);
    return construct(this.impl, args, newTarget);
  },
};

// `constructor` leads to the newest implementation too. The engine makes a function's prototype when it is first
// looked at, and so most functions never have one: set it no sooner.
const prototypeOf = (cell) => {
  const { prototype } = cell.impl;
  if (typeof prototype === "object" && prototype !== null && prototype.constructor === cell.impl)
    Reflect.defineProperty(prototype, "constructor", { value: cell.stub });
  return prototype;
};

// A library file may export an instance, whose methods need it as `this` for what is private or built in.
const methodOf = (cell, method) => {
  let bound = cell.methods.get(method);
  if (bound === undefined) {
    bound = new Proxy(method, {
      apply: (fn, receiver, args) => apply(fn, receiver === cell.stub ? cell.impl : receiver, args),
    });
    cell.methods.set(method, bound);
  }
  return bound;
};

const isInstance = (impl) => {
  const prototype = getPrototypeOf(impl);
  return prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null;
};

// Installed on a cell as its `apply` trap when the implementation can tell how it was called.
function applyAsCalled(_target, receiver, args) {
  called = true;
  return apply(this.impl, receiver, args);
}

// Whether passing exactly FORWARDED_MAX arguments and no `this` cannot be told from the call itself. Such
// functions are reached by the stub's target, without arrays: 2.6 times a plain call instead of 5 times.
const isPlain = (text) => {
  const isFunction = text.startsWith("function") || text.startsWith("async function");
  const params = (isFunction ? FUNCTION_PLAIN : ARROW_PLAIN).exec(text)?.[1];
  if (params === undefined || params.split(",").length > FORWARDED_MAX) return false;
  return !isFunction || !CALL_DEPENDENT.some((word) => text.includes(word));
};

const makeStub = (cell, impl) => {
  if (cell.kind === "library") return new Proxy(isArray(impl) ? [] : {}, cell);
  const target = function (a, b, c, d) {
    called = true;
    return (0, cell.impl)(a, b, c, d);
  };
  defineProperty(target, "name", { value: cell.name });
  defineProperty(target, "length", { value: 0 });
  return new Proxy(target, cell);
};

const kindOf = (impl, text) => {
  if (typeof impl === "function") return CLASS.test(text) ? "class" : "function";
  if (typeof impl !== "object" || impl === null || isArray(impl)) return null;
  const prototype = getPrototypeOf(impl);
  return prototype === Object.prototype || prototype === null ? "library" : null;
};

const checkName = (name) => {
  if (typeof name !== "string") throw new TypeError(`define: the name must be text, not ${typeof name}`);
  if (!NAME.test(name)) throw new TypeError(`define: ${stringify(name)} is not an ASCII identifier`);
  if (LANGUAGE_WORDS.has(name) || RESERVED_NAMES.has(name) || name.startsWith("__"))
    throw new TypeError(`define: ${name} is a reserved name`);
  if (!world.cells.has(name) && name in globalThis) throw new TypeError(`define: ${name} is already a global`);
};

const checkVersion = (where, version) => {
  if (!Number.isSafeInteger(version) || version < 1)
    throw new TypeError(`${where}: the version must be an integer >= 1`);
};

const checkOptions = (where, options) => {
  if (options === undefined) return {};
  if (typeof options !== "object" || options === null)
    throw new TypeError(`${where}: the options must be an object such as {doc, version}`);
  const { migrate } = options;
  if (migrate !== undefined && typeof migrate !== "function")
    throw new TypeError(`${where}: migrate must be a function`);
  return options;
};

const checkKind = (name, impl, text, commonjs) => {
  const kind = commonjs && typeof impl === "object" && impl !== null ? "library" : kindOf(impl, text);
  if (kind === null)
    throw new TypeError(`define ${name}: expected a function, a class or a plain object of functions and values`);
  const cell = world.cells.get(name);
  if (cell !== undefined && cell.kind !== kind)
    throw new TypeError(`define ${name}: it is a ${cell.kind} and cannot become a ${kind}; choose another name`);
  for (let other = world.stubs.get(impl); other !== undefined; other = world.stubs.get(other.impl))
    if (other.name === name) throw new TypeError(`define ${name}: it would be an alias of itself`);
  return kind;
};

const removed = (name, kind) => {
  const fail = function () {
    throw new ReferenceError(`${name} was removed by undefine`);
  };
  return kind === "library" ? new Proxy({}, { get: fail, set: fail, has: fail, ownKeys: fail }) : fail;
};

const makeCell = (name, kind, impl) => {
  const cell = {
    __proto__: stubTraps, name, kind, impl: removed(name, kind), live: false, version: 1, doc: "", origin: "",
    commonjs: false, methods: null, stub: null,
  };
  cell.stub = makeStub(cell, impl);
  defineProperty(globalThis, name, { value: cell.stub });
  world.cells.set(name, cell);
  world.stubs.set(cell.stub, cell);
  return cell;
};

// `commonjs` says that it is what a library file exports, of which any object will do.
const put = (name, impl, options, commonjs) => {
  checkName(name);
  const { doc, version = 1 } = checkOptions(`define ${name}`, options);
  checkVersion(`define ${name}`, version);
  const text = typeof impl === "function" ? textOfFunction(impl) : "";
  const kind = checkKind(name, impl, text, commonjs);
  const cell = world.cells.get(name) ?? makeCell(name, kind, impl);
  if (kind !== "library" && impl.name === "") Reflect.defineProperty(impl, "name", { value: name }); // for stacks
  if (kind === "library" || isPlain(text)) delete cell.apply;
  else cell.apply = applyAsCalled;
  cell.methods = kind === "library" && isInstance(impl) ? new WeakMap() : null;
  cell.impl = impl;
  cell.live = true;
  cell.version = version;
  cell.doc = typeof doc === "string" ? doc : "";
  cell.origin = world.origin;
  cell.commonjs = commonjs;
  world.touched.add(name);
  return cell.stub;
};

table.define = (name, impl, options) => put(name, impl, options, false);

table.undefine = (name) => {
  const cell = world.cells.get(name);
  if (cell === undefined || !cell.live) throw new ReferenceError(`undefine: ${String(name)} is not defined`);
  cell.impl = removed(name, cell.kind);
  delete cell.apply;
  cell.methods = null;
  cell.live = false;
  world.touched.add(name);
};

// A top-level declaration `function f`, which the host renamed: give it back its name and define it.
const declare = (name, impl, doc) => {
  defineProperty(impl, "name", { value: name });
  return put(name, impl, { doc }, false);
};
