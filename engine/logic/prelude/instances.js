// Instances: which definitions made them, at which versions, and where they are.
//
// A stamp lists the definitions behind an instance, nearest first, each as it was when it made the instance: its
// version, and its generation (how often it was defined). Instances made alike share one. No world code can read,
// copy or forge it.
//
// What is to outlive an operation is made in attempts only. There each new instance is remembered, weakly and in the
// order of creation, and carries its stamp in a private field, which costs time and hardly any memory. In calls, and
// for objects that take no more fields, a WeakMap has the stamps: it costs memory and hardly any time.

const makeStamps = () => {
  const loose = new WeakMap();
  function Given(object) {
    return object;
  }
  return class Stamps extends Given {
    #stamp;
    constructor(object, stamp) {
      super(object);
      this.#stamp = stamp;
    }
    static loose = loose;
    static of(object) {
      return #stamp in object ? object.#stamp : loose.get(object);
    }
    // Whether it had none before.
    static mark(object, stamp) {
      if (#stamp in object) return false;
      try {
        new Stamps(object, stamp);
      } catch { // it is frozen
        if (loose.has(object)) return false;
        loose.set(object, stamp);
      }
      return true;
    }
    static replace(object, stamp) {
      if (#stamp in object) object.#stamp = stamp;
      else loose.set(object, stamp);
    }
  };
};

const PRUNED_MIN = 64;
const { refs, Stamps } = (world.instances ??= { refs: [], Stamps: makeStamps() });
const setLoose = WeakMap.prototype.set.bind(Stamps.loose); // each look-up of a method there is a call
let pruneAt = 0;
let depth = 0; // of tracked constructions in progress
let tracking = false;

const count = (number, one) => `${number} ${one}${number === 1 ? "" : "s"}`;

// The definitions that `new` on a constructor goes through, nearest first.
const makersOf = (constructor) => {
  const makers = [];
  for (let maker = constructor; maker !== null; ) {
    const cell = world.stubs.get(maker);
    if (cell !== undefined) makers.push(cell);
    const impl = cell === undefined ? maker : cell.impl;
    maker = world.stubs.has(impl) ? impl : getPrototypeOf(impl);
  }
  return makers;
};

const newStamp = (constructor) => makersOf(constructor).map((cell) => cell.now);

// Each cell keeps its stamp until anything is defined, which begins an epoch: an object, that no prelude before or
// after this one has.
let epoch = {};

const dropStamps = () => {
  epoch = {};
};

const restamp = (cell) => {
  cell.epoch = epoch;
  return (cell.stamp = newStamp(cell.stub));
};

// `new` on the stub of a class. What it makes is stamped once, by the stub nearest to the ground.
const constructClass = (cell, args) => {
  const at = refs.length;
  const instance = tracking ? constructTracked(cell, args, cell.stub) : construct(cell.impl, args, cell.stub);
  if (getPrototypeOf(instance) === cell.prototype) stampNew(instance, cell.epoch === epoch ? cell.stamp : restamp(cell), at);
  return instance;
};

// The same for functions, for `super(...)` in a subclass, and for a class that means its implementation by its name.
const constructFor = (cell, args, newTarget) => {
  const maker = world.stubs.get(newTarget) ?? world.impls.get(newTarget)?.cell;
  const constructor = maker === undefined ? newTarget : maker.stub;
  const at = refs.length;
  const instance = tracking ? constructTracked(cell, args, constructor) : construct(cell.impl, args, constructor);
  const prototype = maker === undefined ? constructor.prototype : prototypeOf(maker);
  if (getPrototypeOf(instance) !== prototype) return instance; // the constructor had it lying around
  const stamp = maker === undefined ? newStamp(constructor) : maker.epoch === epoch ? maker.stamp : restamp(maker);
  if (stamp.length > 0) stampNew(instance, stamp, at);
  return instance;
};

const constructTracked = (cell, args, constructor) => {
  depth++;
  try {
    return construct(cell.impl, args, constructor);
  } finally {
    depth--;
  }
};

// Its place is before all that was made while it was made.
const stampNew = (instance, stamp, at) => {
  if (!tracking) {
    setLoose(instance, stamp);
    return;
  }
  if (Stamps.mark(instance, stamp)) {
    if (at === refs.length) refs[at] = new WeakRef(instance);
    else refs.splice(at, 0, new WeakRef(instance));
  }
  if (depth === 0 && refs.length >= pruneAt) pruneInstances();
};

// Forget what died. Done whenever their number has doubled, so that it costs little for each instance.
const pruneInstances = () => {
  let kept = 0;
  for (const ref of refs) if (ref.deref() !== undefined) refs[kept++] = ref;
  refs.length = kept;
  pruneAt = Math.max(PRUNED_MIN, 2 * kept);
};

const entryOf = (instance, cell) => Stamps.of(instance).find((entry) => entry.cell === cell);

// The instances that live, oldest first.
const liveInstances = () => refs.map((ref) => ref.deref()).filter((instance) => instance !== undefined);

// Those of one definition. Collects, so that those that nothing reaches are not among them.
const instancesOf = (cell) => {
  collect("", "");
  return liveInstances().filter((instance) => entryOf(instance, cell) !== undefined);
};

// Each class that lives on in instances which an earlier generation of it built, and how many they are.
const staleInstances = () => {
  const counts = new Map();
  for (const instance of liveInstances())
    for (const { cell, generation } of Stamps.of(instance))
      if (generation < cell.now.generation) counts.set(cell.name, (counts.get(cell.name) ?? 0) + 1);
  return counts;
};

// An attempt that failed half-way through a migration cannot be accepted, even if its source catches the error.
const spoil = (error) => {
  world.spoiled ??= describe(error);
  return error;
};

const unspoiled = (work) => {
  try {
    return work();
  } catch (error) {
    throw spoil(error);
  }
};

const refusePromise = (where, value) => {
  if (value instanceof Promise) throw new TypeError(`${where} must return when it is done: it returned a promise`);
};

// Before a definition gets another version: instances of generations before `generation` must have a way there.
const checkMigration = (cell, version, migrate, generation) => {
  if (version === cell.now.version || migrate !== undefined) return;
  const left = instancesOf(cell).map((instance) => entryOf(instance, cell));
  const behind = left.filter((entry) => entry.version !== version && entry.generation < generation).length;
  if (behind === 0) return;
  throw spoil(
    new TypeError(
      `define ${cell.name}: ${count(behind, "live instance")} would be left at version ${cell.now.version}; ` +
        `say how to bring one to version ${version}: {version: ${version}, migrate: (instance, {from, to}) => ...}`,
    ),
  );
};

// Bring every living instance to the version that its definition has now.
const migrateInstances = (cell, migrate) => {
  const renewed = new Map();
  const to = cell.now.version;
  for (const instance of instancesOf(cell)) {
    const entry = entryOf(instance, cell);
    if (entry.version === to) continue;
    refusePromise(`define ${cell.name}: migrate`, migrate(instance, { from: entry.version, to }));
    const stamp = Stamps.of(instance);
    if (!renewed.has(stamp))
      renewed.set(stamp, stamp.map((old) => (old.cell === cell ? cell.now : old)));
    Stamps.replace(instance, renewed.get(stamp));
  }
};

table.versionOf = (value) => {
  const isObject = (typeof value === "object" && value !== null) || typeof value === "function";
  return isObject ? Stamps.of(value)?.[0].version : undefined;
};
