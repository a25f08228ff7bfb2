// Installing: globals are trampolines through the table, so that a later prelude can put others behind them.

const trampoline = (name, method = name) =>
  ({ [name]: { [name]: (...values) => table[method](...values) }[name] })[name];

const printer = (name) => ({ [name]: (...values) => table.print(values) })[name];

const installed = {
  define: () => trampoline("define"),
  undefine: () => trampoline("undefine"),
  state: () => trampoline("state"),
  reset: () => trampoline("reset"),
  versionOf: () => trampoline("versionOf"),
  data: () => ({
    get: trampoline("get", "dataGet"),
    set: trampoline("set", "dataSet"),
    delete: trampoline("delete", "dataDelete"),
    list: trampoline("list", "dataList"),
  }),
  console: () =>
    Object.fromEntries(["log", "info", "debug", "warn", "error", "trace"].map((name) => [name, printer(name)])),
  worlds: () => ({
    list: trampoline("list", "worldsList"),
    functions: trampoline("functions", "worldsFunctions"),
    call: trampoline("call", "worldsCall"),
  }),
};

const installGlobals = () => {
  const names = Object.keys(installed).filter((name) => name !== "worlds" || PRELUDE_VERSION >= 2);
  const missing = names.filter((name) => !world.builtins.has(name));
  for (const name of missing) {
    if (Object.hasOwn(globalThis, name)) throw new TypeError(`the global ${name} is in the way of the prelude`);
    defineProperty(globalThis, name, { value: installed[name](), configurable: true });
  }
  return missing;
};

const install = () => {
  const added = installGlobals();
  if (world.version === 0) {
    installCode();
    freezeGround();
  } else {
    freezeFrom(added.map((name) => globalThis[name]));
    lockGlobals(added);
  }
  world.version = PRELUDE_VERSION;
};
