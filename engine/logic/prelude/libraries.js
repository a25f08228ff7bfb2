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

const evaluateLibrary = (name, run) => {
  const module = { exports: {} };
  const { exports } = module;
  const require = (id) => requireLibrary(id);
  apply(run, exports, [exports, require, module]);
  put(name, module.exports, undefined, true);
};
