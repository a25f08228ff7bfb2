// Checks, and the language of the generators that their inputs are drawn with. Only scratch copies see any of it.
//
//   tv FILE LENGTH \n CODE           evaluate a check
//   tc FILE LENGTH \n CODE           compile a check that has a generator
//   tr INPUT                         evaluate it, and call what that gives with an input (JSON text)
//   tg FILE LENGTH \n CODE           evaluate a generator; the outcome is its plan, a list of nodes, children first
//   tm DRAWN                         what the generator makes of what the host drew for its plan
//   tp NODE DRAWN                    whether the filter NODE lets through what was drawn for the node below it
//
// The outcome of a check is "+" if it came to exactly true, "~" and what it returned if it did not; "-", "!" and
// "?" are those of other operations.

const judgeValue = (value) => {
  outcome = value === true ? "+" : `~${shownValue(value)}`;
};

// A value as the reason of a failure shows it. What only reads like `true` must not look like it.
const shownValue = (value) => {
  if (value === undefined || typeof value === "symbol" || typeof value === "number") return String(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return functionText(value);
  if (value instanceof Promise) return "a promise";
  try {
    const text = encode(value);
    return typeof value === "object" && text === "true" ? "an object that reads as true" : text;
  } catch {
    return "a value that has no JSON text";
  }
};

let checked; // the check that this heap has compiled

const compileCheck = (text) => {
  begin();
  const [file, length, code] = wordsAndCode(text);
  checked = compiled(code, file, length);
  if (checked !== undefined) done();
};

const runCheck = (evaluated) => {
  begin();
  try {
    settle(evaluated(), judgeValue);
  } catch (error) {
    fail(error);
  }
};

const evaluateCheck = (text) => {
  compileCheck(text);
  if (checked !== undefined) runCheck(checked);
};

const applyCheck = (check, input) => {
  if (typeof check !== "function")
    throw new TypeError(`a check with a generator is a function of the generated value, not ${shownValue(check)}`);
  return check(input);
};

// ---- generators: a node says what to draw; its object, which world code holds, says nothing but how to go on

const LENGTH_MAX = 10_000;
const DATE_MIN_MS = -62_135_596_800_000; // year 1
const DATE_MAX_MS = 253_402_300_799_999; // year 9999

const nodeOfGenerator = new WeakMap();
let planned = []; // the nodes of the generator that this heap has evaluated

const generatorOf = (node) => {
  const generator = Object.freeze({ __proto__: generatorMethods });
  nodeOfGenerator.set(generator, node);
  return generator;
};

const generatorMethods = Object.freeze({
  map(make) {
    checkFunction("map", make);
    return generatorOf({ kind: "mapped", of: [nodeFrom("map", this)], make });
  },
  filter(lets) {
    checkFunction("filter", lets);
    return generatorOf({ kind: "filtered", of: [nodeFrom("filter", this)], lets });
  },
});

const checkFunction = (where, value) => {
  if (typeof value !== "function") throw new TypeError(`gen: ${where} takes a function`);
};

// The node of a generator; a plain value stands for the generator of that constant.
const nodeFrom = (where, value) => nodeOfGenerator.get(value) ?? constantNode(where, value);

const constantNode = (where, value) => {
  if (value === undefined || typeof value === "function" || typeof value === "symbol" || value instanceof Promise)
    throw new TypeError(`gen.${where}: expected a generator or a JSON value, not ${shownValue(value)}`);
  return { kind: "constant", of: [], text: encode(value) };
};

const checkBounds = (where, min, max, isBound) => {
  for (const bound of [min, max]) if (!isBound(bound)) throw new TypeError(`gen.${where}: ${shownValue(bound)} is no bound for it`);
  if (min > max) throw new RangeError(`gen.${where}: nothing lies between ${min} and ${max}`);
  return [min, max];
};

const isLength = (value) => value === undefined || (Number.isSafeInteger(value) && value >= 0 && value <= LENGTH_MAX);

const lengths = (where, options) => {
  if (typeof options !== "object" || options === null)
    throw new TypeError(`gen.${where}: the lengths are an object such as {min: 1, max: 5}`);
  const { min = 0, max } = options;
  const bounds = checkBounds(where, min, max, isLength);
  return [bounds[0], bounds[1] ?? null];
};

const moment = (value) => Date.prototype.getTime.call(new Date(value));

// `gen` of one generator: what it makes ends in the plan of that one.
const generatorLanguage = () => {
  const language = {
    int: (min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER) =>
      generatorOf({ kind: "int", of: [], bounds: checkBounds("int", min, max, Number.isSafeInteger) }),
    float: (min = -Number.MAX_VALUE, max = Number.MAX_VALUE) =>
      generatorOf({ kind: "float", of: [], bounds: checkBounds("float", min, max, Number.isFinite) }),
    bool: () => generatorOf({ kind: "bool", of: [] }),
    text: (options = {}) => generatorOf({ kind: "text", of: [], bounds: lengths("text", options) }),
    date: (min = DATE_MIN_MS, max = DATE_MAX_MS) => {
      const isDate = (ms) => ms >= DATE_MIN_MS && ms <= DATE_MAX_MS;
      return generatorOf({ kind: "date", of: [], bounds: checkBounds("date", moment(min), moment(max), isDate) });
    },
    constant: (value) => generatorOf(constantNode("constant", value)),
    oneOf: (...choices) => {
      if (choices.length === 0) throw new TypeError("gen.oneOf: there is nothing to choose from");
      return generatorOf({ kind: "oneOf", of: choices.map((choice) => nodeFrom("oneOf", choice)) });
    },
    optional: (some) => generatorOf({ kind: "optional", of: [nodeFrom("optional", some)] }),
    array: (each, options = {}) =>
      generatorOf({ kind: "array", of: [nodeFrom("array", each)], bounds: lengths("array", options) }),
    tuple: (...parts) => generatorOf({ kind: "tuple", of: parts.map((part) => nodeFrom("tuple", part)) }),
    record: (fields) => {
      if (typeof fields !== "object" || fields === null || nodeOfGenerator.has(fields))
        throw new TypeError("gen.record: expected an object of generators");
      const names = Object.keys(fields);
      return generatorOf({ kind: "record", of: names.map((name) => nodeFrom("record", fields[name])), names });
    },
    map: (keys, values, options = {}) => {
      const of = [nodeFrom("map", keys), nodeFrom("map", values)];
      return generatorOf({ kind: "map", of, bounds: lengths("map", options) });
    },
    recursive: (base, step) => {
      checkFunction("recursive", step);
      const node = { kind: "recursive", of: [nodeFrom("recursive", base)] };
      const self = generatorOf({ kind: "self", of: [], target: node });
      node.of.push(nodeFrom("recursive", step(self)));
      return generatorOf(node);
    },
  };
  return Object.freeze(language);
};

const drawnAsIs = (_node, drawn) => drawn;

const objectOf = (entries) => {
  const object = {};
  for (const [key, value] of entries)
    defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true }); // `__proto__` too
  return object;
};

// How a node makes its value of what was drawn for it.
const makers = {
  __proto__: null,
  int: drawnAsIs,
  float: drawnAsIs,
  bool: drawnAsIs,
  text: drawnAsIs,
  date: (_node, ms) => new Date(ms).toISOString(),
  constant: (node) => parse(node.text),
  oneOf: (node, [chosen, drawn]) => made(node.of[chosen], drawn),
  optional: (node, drawn) => (drawn === null ? null : made(node.of[0], drawn[0])),
  array: (node, drawn) => drawn.map((each) => made(node.of[0], each)),
  tuple: (node, drawn) => drawn.map((each, index) => made(node.of[index], each)),
  record: (node, drawn) => objectOf(drawn.map((each, index) => [node.names[index], made(node.of[index], each)])),
  map: (node, drawn) => objectOf(drawn.map(([key, value]) => [String(made(node.of[0], key)), made(node.of[1], value)])),
  recursive: (node, [chosen, drawn]) => made(node.of[chosen], drawn),
  self: (node, drawn) => made(node.target, drawn),
  mapped: (node, drawn) => node.make(made(node.of[0], drawn)),
  filtered: (node, drawn) => made(node.of[0], drawn),
};

const made = (node, drawn) => makers[node.kind](node, drawn);

// Numbers the nodes, each once and after those it is made of.
const planOf = (root) => {
  const numbers = new Map();
  planned = [];
  const visit = (node) => {
    if (numbers.has(node)) return;
    for (const child of node.of) visit(child);
    numbers.set(node, planned.length);
    planned.push(node);
  };
  visit(root);
  return planned.map(({ kind, of, bounds = [], target }) => ({
    kind, of: of.map((child) => numbers.get(child)), bounds, target: numbers.get(target) ?? null,
  }));
};

const evaluateGenerator = (text) => {
  begin();
  const [file, length, code] = wordsAndCode(text);
  const run = compiled(code, file, length);
  if (run === undefined) return;
  try {
    succeed(planOf(nodeFrom("constant", run(generatorLanguage()))));
  } catch (error) {
    fail(error);
  }
};

const makeInput = (text) => {
  begin();
  try {
    const value = made(planned.at(-1), parse(text));
    if (value instanceof Promise) throw new TypeError("gen: map returns a value, not a promise");
    succeed(value);
  } catch (error) {
    fail(error);
  }
};

const letsThrough = (text) => {
  begin();
  const end = text.indexOf(" ");
  const node = planned[+text.slice(0, end)];
  try {
    succeed(Boolean(node.lets(made(node.of[0], parse(text.slice(end + 1))))));
  } catch (error) {
    fail(error);
  }
};

const answerTest = (text) => {
  switch (text[1]) {
    case "v":
      return evaluateCheck(text.slice(1));
    case "c":
      return compileCheck(text.slice(1));
    case "r":
      return runCheck(() => applyCheck(checked(), parse(text.slice(2))));
    case "g":
      return evaluateGenerator(text.slice(1));
    case "m":
      return makeInput(text.slice(2));
    case "p":
      return letsThrough(text.slice(2));
  }
};
