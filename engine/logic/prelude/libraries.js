// CommonJS: a library file runs with `module`, `exports` and a `require` of the world's other libraries.

// The definitions that `require(id)` may mean: the id itself, and for package names and paths the last part with
// the characters that no identifier has replaced ("d3-array" is `d3_array` or `d3Array`, "./big.js" is `big`).
const requireNames = (id) => {
  const parts = id.replace(/^node:/, "").split("/").filter((part) => part !== "" && part !== "." && part !== "..");
  const last = (parts.at(-1) ?? "").replace(/\.(?:c?js|min\.js)$/, "");
  return [
    id,
    last,
    last.replace(/[^\w$]+/g, "_"),
    last.replace(/[^\w$]+(.)?/g, (_all, next = "") => next.toUpperCase()),
    last.replace(/[^\w$]+/g, ""),
  ];
};

const requireLibrary = (id) => {
  for (const name of requireNames(String(id))) {
    const cell = world.cells.get(name);
    if (cell !== undefined && cell.live) return cell.stub;
  }
  const names = [...world.cells.values()].filter((cell) => cell.live).map((cell) => cell.name);
  const error = new Error(
    `Cannot find module '${String(id)}': require reaches the definitions of this world (${names.join(", ") || "none"})`,
  );
  error.code = "MODULE_NOT_FOUND";
  throw error;
};

// What a library shows of itself must be the stub, as its users know it: lodash's placeholder is lodash itself,
// and `exports.default` is often `exports`. Looks at the exports, and at what they hold.
const showStub = (impl, stub) => {
  const held = [];
  const replaceIn = (object, each) => {
    for (const key of ownKeys(object)) {
      const { value, writable } = getOwnPropertyDescriptor(object, key);
      if (value === impl && writable) defineProperty(object, key, { value: stub });
      else if (typeof value === "function" || (typeof value === "object" && value !== null)) each(value);
    }
  };
  replaceIn(impl, (value) => held.push(value));
  for (const value of held) if (!world.stubs.has(value)) replaceIn(value, () => {});
};

const evaluateLibrary = (name, run) => {
  const module = { exports: {} };
  const { exports } = module;
  const require = (id) => requireLibrary(id);
  apply(run, exports, [exports, require, module]);
  showStub(module.exports, put(name, module.exports, undefined, true));
};
