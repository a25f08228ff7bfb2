// State: heap objects that `init` makes once and later evaluations keep.

const checkStateName = (where, name) => {
  if (typeof name !== "string" || name === "") throw new TypeError(`${where}: the name must be text that is not empty`);
};

const checkStateValue = (where, value) => {
  if (typeof value !== "object" || value === null)
    throw new TypeError(
      `${where} must return an object, an array, a Map or the like, not ${value === null ? "null" : typeof value}`,
    );
  refusePromise(where, value);
  return value;
};

const migrateState = (name, migrate, kept, version) =>
  unspoiled(() => checkStateValue(`state ${name}: migrate`, migrate(kept.value, { from: kept.version, to: version })));

table.state = (name, init, options) => {
  checkStateName("state", name);
  if (typeof init !== "function") throw new TypeError(`state ${name}: init must be a function that returns an object`);
  const { version = 1, migrate } = optionsOf(`state ${name}`, options, ["version", "migrate"]);
  checkMigrate(`state ${name}`, migrate);
  checkVersion(`state ${name}`, version);
  const kept = world.states.get(name);
  if (kept !== undefined && kept.version === version) return kept.value;
  const value =
    kept !== undefined && migrate !== undefined
      ? migrateState(name, migrate, kept, version)
      : checkStateValue(`state ${name}: init`, init());
  world.states.set(name, { value, version });
  return value;
};

table.reset = (name) => {
  checkStateName("reset", name);
  return world.states.delete(name);
};
