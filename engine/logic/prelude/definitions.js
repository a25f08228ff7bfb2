// Definitions: one cell a name, for ever, whose implementation `define` swaps.

const NAME = /^[A-Za-z_$][A-Za-z0-9_$]{0,127}$/;
const LANGUAGE_WORDS = new Set(
  ("await break case catch class const continue debugger default delete do else enum export extends false finally for " +
    "function if implements import in instanceof interface let new null package private protected public return " +
    "static super switch this throw true try typeof var void while with yield arguments").split(" "),
);
const RESERVED_NAMES = new Set(
  ("define undefine state reset data worlds versionOf console pause ask fork schedule every after message scene " +
    "module exports require").split(" "),
);

const DEFINE_OPTIONS = ["doc", "version", "migrate"];

const kindOf = (impl, text) => {
  if (typeof impl === "function") return world.stubs.get(impl)?.kind ?? (CLASS.test(text) ? "class" : "function");
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

const checkMigrate = (where, migrate) => {
  if (migrate !== undefined && typeof migrate !== "function")
    throw new TypeError(`${where}: migrate must be a function`);
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

const removed = (name, kind, why = "was removed by undefine") => {
  const fail = function () {
    throw new ReferenceError(`${name} ${why}`);
  };
  return kind === "library" ? new Proxy({}, { get: fail, set: fail, has: fail, ownKeys: fail }) : fail;
};

const makeCell = (name, kind, impl) => {
  const cell = {
    __proto__: TRAPS[kind], name, kind, impl: removed(name, kind, "is not defined yet"), live: false, doc: "",
    origin: "", commonjs: false, methods: null, stub: null, prototype: null, stamp: null,
    epoch: null, now: null,
  };
  cell.stub = makeStub(cell, impl);
  defineProperty(globalThis, name, { value: cell.stub });
  world.cells.set(name, cell);
  world.stubs.set(cell.stub, cell);
  return cell;
};

// Swap the implementation.
const adopt = (cell, impl, text) => {
  if (cell.kind === "class") adoptClass(cell, impl, text);
  else cell.methods = cell.kind === "library" && isInstance(impl) ? new WeakMap() : null;
  if (cell.kind === "library" || isPlain(text)) delete cell.apply;
  else cell.apply = applyAsCalled;
  cell.impl = impl;
  cell.live = true;
  cell.now = { cell, version: cell.now?.version ?? 0, generation: (cell.now?.generation ?? 0) + 1 };
  dropStamps();
};

// `commonjs` says that it is what a library file exports, of which any object will do.
const put = (name, impl, options, commonjs) => {
  checkName(name);
  const where = `define ${name}`;
  const { doc, version = 1, migrate } = optionsOf(where, options, DEFINE_OPTIONS);
  if (doc !== undefined && typeof doc !== "string")
    throw new TypeError(`${where}: the doc must be text, not ${kindOfValue(doc)}`);
  checkMigrate(where, migrate);
  checkVersion(where, version);
  const text = typeof impl === "function" ? textOfFunction(impl) : "";
  const kind = checkKind(name, impl, text, commonjs);
  const cell = world.cells.get(name) ?? makeCell(name, kind, impl);
  const isBegun = world.unfinished.has(name) && cell.impl === impl;
  const isMoved = cell.now !== null && cell.now.version !== 0 && cell.now.version !== version;
  if (isMoved) checkMigration(cell, version, migrate, cell.now.generation + (isBegun ? 0 : 1));
  if (kind !== "library" && impl.name === "") Reflect.defineProperty(impl, "name", { value: name }); // for stacks
  if (!isBegun) adopt(cell, impl, text);
  world.unfinished.delete(name);
  cell.now.version = version; // also for what its own initialisers made
  cell.doc = doc ?? "";
  cell.origin = world.origin;
  cell.commonjs = commonjs;
  world.touched.add(name);
  if (isMoved && migrate !== undefined) unspoiled(() => migrateInstances(cell, migrate));
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
  dropStamps();
  world.touched.add(name);
};
