// Values that cross to the host as JSON text, and errors as text.

const { stringify, parse } = JSON;
const { apply, construct, ownKeys, getPrototypeOf, getOwnPropertyDescriptor } = Reflect;
const { defineProperty } = Object;
const { isArray } = Array;
const textOfFunction = (() => {
  const { call } = Function.prototype;
  return call.bind(Function.prototype.toString);
})();

const functionText = (fn) => {
  const { name } = fn;
  return `[function ${typeof name === "string" && name !== "" ? name : "anonymous"}]`;
};

// JSON text of any value: what JSON has no word for becomes null, text or a plain object (see `crossing`).
const encode = (value) => {
  switch (typeof value) {
    case "undefined":
    case "symbol":
      return "null";
    case "bigint":
      return `"${value}"`;
    case "string":
    case "number":
    case "boolean":
      return stringify(value);
  }
  const outer = converted; // a toJSON may encode in its turn
  const outerPath = path;
  converted = null;
  path = [];
  try {
    return stringify(value, crossing) ?? "null";
  } finally {
    converted = outer;
    path = outerPath;
  }
};

// The Maps, Sets and Errors of the value at hand, each with the plain object that it crosses as: the same one each
// time it is met, so that the engine still sees the cycles that go through it.
let converted = null;

const once = (value, convert) => {
  converted ??= new Map();
  let plain = converted.get(value);
  if (plain === undefined) converted.set(value, (plain = convert(value)));
  return plain;
};

// The objects from the value at hand down to the one that is met. The engine looks for cycles along it at every step,
// so what nests without bound would cost the square of its depth; and nobody could read the text.
let path = [];

const below = (holder, plain) => {
  while (path.length > 0 && path[path.length - 1] !== holder) path.length--;
  if (path.length === NESTED_MAX && !path.includes(plain)) // a cycle is for the engine to tell
    throw new RangeError(`a value is nested deeper than ${NESTED_MAX} levels of objects and arrays`);
  path[path.length] = plain;
  return plain;
};

// The replacer.
const crossing = function (_key, value) {
  switch (typeof value) {
    case "function":
      return functionText(value);
    case "bigint":
      return String(value);
    case "object":
      if (value === null) return value;
      if (isArray(value) || getPrototypeOf(value) === Object.prototype) return below(this, value);
      if (value instanceof Map) return below(this, once(value, mapToObject));
      if (value instanceof Set) return below(this, once(value, (set) => [...set]));
      if (value instanceof Error) return below(this, once(value, errorToObject));
      if (value instanceof BigInt) return String(value);
      return below(this, value);
  }
  return value;
};

const mapToObject = (map) => {
  const plain = { __proto__: null };
  for (const [key, value] of map) plain[typeof key === "symbol" ? key.toString() : String(key)] = value;
  return plain;
};

const errorToObject = (error) => ({ error: String(error.name), message: String(error.message) });

// "Name: message" and the stack of an error; any other thrown value as its text.
const describe = (thrown) => {
  try {
    if (typeof thrown === "string") return thrown;
    if (!(thrown instanceof Error)) return thrown === undefined ? "undefined" : encode(thrown);
    const { stack } = thrown;
    return typeof stack === "string" && stack !== "" ? `${headline(thrown)}\n${stack}` : headline(thrown);
  } catch {
    return "an error that cannot be turned into text";
  }
};

const headline = (error) => {
  const name = error.name === undefined ? "Error" : String(error.name);
  const message = error.message === undefined ? "" : String(error.message);
  return message === "" ? name : name === "" ? message : `${name}: ${message}`;
};

const kindOfValue = (value) => (value === null ? "null" : isArray(value) ? "an array" : typeof value);

// The options of a built-in; a name that it does not know is a mistake that would go unseen.
const optionsOf = (where, options, known) => {
  if (options === undefined) return {};
  if (typeof options !== "object" || options === null || isArray(options))
    throw new TypeError(`${where}: the options must be an object such as {${known.join(", ")}}`);
  for (const name of ownKeys(options))
    if (!known.includes(name))
      throw new TypeError(`${where}: there is no option ${String(name)}; there are ${known.join(", ")}`);
  return options;
};
