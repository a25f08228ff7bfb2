// Stubs: what world code knows a definition by. A definition's cell is at once the handler of its stub, a Proxy:
// references to the stub, wherever they are held, reach the newest implementation.

const FUNCTION_PLAIN = /^(?:async\s+)?function\b\s*\*?\s*[\w$]*\s*\(([\w$\s,]*)\)\s*\{/;
const ARROW_PLAIN = /^(?:async\s*)?\(?([\w$\s,]*)\)?\s*=>/;
const CALL_DEPENDENT = ["this", "arguments", "eval", "target", "\\u", "[native code]"];
const FORWARDED_MAX = 4;
const { hasInstance } = Symbol;

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

// What all stubs do with what world code asks of them.
const stubTraps = {
  __proto__: null,
  set(_target, key, value, receiver) {
    return Reflect.set(this.impl, key, value, receiver === this.stub ? this.impl : receiver);
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
  getOwnPropertyDescriptor(target, key) {
    const own = getOwnPropertyDescriptor(target, key);
    if (this.kind !== "library") {
      if (key === "prototype") return { ...own, value: prototypeOf(this) };
      if ((key === "name" || key === "length") && !isStatic(this, key)) return own;
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
};

const libraryTraps = {
  __proto__: null,
  ...stubTraps,
  get(_target, key) {
    const value = this.impl[key];
    return this.methods !== null && typeof value === "function" ? methodOf(this, value) : value;
  },
  ownKeys() {
    return ownKeys(this.impl);
  },
};

const functionTraps = {
  __proto__: null,
  ...stubTraps,
  get(target, key) {
    if (key === "name" || key === "length") return target[key];
    if (key === hasInstance) return instanceTest(this);
    return key === "prototype" ? prototypeOf(this) : this.impl[key];
  },
  ownKeys(target) {
    const keys = ownKeys(this.impl);
    for (const key of ownKeys(target)) if (!keys.includes(key)) keys.push(key);
    return keys;
  },
  construct(_target, args, newTarget) {
    called = true;
    return constructFor(this, args, newTarget);
  },
};

const classTraps = {
  __proto__: null,
  ...functionTraps,
  get(target, key, receiver) {
    return key === "prototype" ? this.prototype : getStatic(this, target, key, receiver);
  },
  construct(_target, args, newTarget) {
    called = true;
    return newTarget === this.stub ? constructClass(this, args) : constructFor(this, args, newTarget);
  },
};

const TRAPS = { __proto__: null, library: libraryTraps, function: functionTraps, class: classTraps };

// Cells outlive upgrades: what an older prelude made is handled by this one.
for (const cell of world.cells.values()) Object.setPrototypeOf(cell, TRAPS[cell.kind]);

// A function's `constructor` leads to the newest implementation too. The engine makes a function's prototype when it
// is first looked at, and so most functions never have one: set it no sooner. For classes see `classes.js`.
const prototypeOf = (cell) => {
  if (cell.kind === "class") return cell.prototype;
  const { prototype } = cell.impl;
  if (typeof prototype === "object" && prototype !== null && prototype.constructor === cell.impl)
    Reflect.defineProperty(prototype, "constructor", { value: cell.stub });
  return prototype;
};

// A function has another prototype after each definition, so `instanceof` would forget its instances one day: it is
// refused at once. A library file's function is what its author made it.
const instanceTest = (cell) => {
  const test = cell.impl[hasInstance];
  if (cell.commonjs || test !== Function.prototype[hasInstance]) return test;
  throw new TypeError(`${cell.name} is a function and keeps no instances: define a class to use instanceof`);
};

// A library file may export an instance, and a class have private statics: methods that reach into these need the
// implementation as `this`.
const methodOf = (cell, method) => {
  let bound = cell.methods.get(method);
  if (bound === undefined) {
    bound = reachesInside(cell.kind, textOfFunction(method))
      ? new Proxy(method, {
          apply: (fn, receiver, args) => apply(fn, receiver === cell.stub ? cell.impl : receiver, args),
        })
      : method;
    cell.methods.set(method, bound);
  }
  return bound;
};

const reachesInside = (kind, text) => !CLASS.test(text) && (kind === "library" || text.includes("#"));

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
