// Instances: which definitions made them, at which versions, and where they are.
//
// A stamp lists the definitions behind an instance, nearest first, each with the version that the instance is at and
// the generation (how often the definition was made) that built it. Instances made alike share one. It is kept in a
// private field, so that no world code can read, copy or forge it.
//
// What is to outlive an operation is made in attempts only. So in attempts each new instance is remembered, weakly
// and in the order of creation; elsewhere it is not.

const makeStamps = () => {
  function Given(object) {
    return object;
  }
  return class Stamps extends Given {
    #stamp;
    constructor(object, stamp) {
      super(object);
      this.#stamp = stamp;
    }
    static of(object) {
      return #stamp in object ? object.#stamp : undefined;
    }
    // Whether it had none before.
    static mark(object, stamp) {
      if (#stamp in object) return false;
      new Stamps(object, stamp);
      return true;
    }
    static replace(object, stamp) {
      object.#stamp = stamp;
    }
  };
};

const PRUNED_MIN = 64;
const instances = (world.instances ??= { refs: [], orders: [], made: 0, pruneAt: 0, Stamps: makeStamps() });
const { Stamps } = instances;
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

const newStamp = (constructor) =>
  makersOf(constructor).map((cell) => ({ cell, version: cell.version, generation: cell.generation }));

const dropStamps = () => {
  for (const cell of world.cells.values()) if (cell.stamp !== null) cell.stamp = null;
};

// `new` on the stub of a class. What it makes is stamped once, by the stub nearest to the ground.
const constructClass = (cell, args) => {
  const order = tracking ? ++instances.made : 0;
  const instance = construct(cell.impl, args, cell.stub);
  if (getPrototypeOf(instance) === cell.prototype && Stamps.mark(instance, (cell.stamp ??= newStamp(cell.stub))) && tracking)
    remember(instance, order);
  return instance;
};

// The same for functions, for `super(...)` in a subclass, and for a class that means its implementation by its name.
const constructFor = (cell, args, newTarget) => {
  const maker = world.stubs.get(newTarget) ?? world.impls.get(newTarget)?.cell;
  const constructor = maker === undefined ? newTarget : maker.stub;
  const order = tracking ? ++instances.made : 0;
  const instance = construct(cell.impl, args, constructor);
  const prototype = maker === undefined ? constructor.prototype : prototypeOf(maker);
  if (getPrototypeOf(instance) !== prototype) return instance;
  const stamp = maker === undefined ? newStamp(constructor) : (maker.stamp ??= newStamp(constructor));
  if (stamp.length > 0 && Stamps.mark(instance, stamp) && tracking) remember(instance, order);
  return instance;
};

// `order` says when its construction began: what it made meanwhile is younger.
const remember = (instance, order) => {
  instances.refs.push(new WeakRef(instance));
  instances.orders.push(order);
  if (instances.refs.length >= instances.pruneAt) pruneInstances();
};

// Forget what died. Done whenever their number has doubled, so that it costs little for each instance.
const pruneInstances = () => {
  const { refs, orders } = instances;
  let kept = 0;
  for (let at = 0; at < refs.length; at++) {
    if (refs[at].deref() === undefined) continue;
    refs[kept] = refs[at];
    orders[kept++] = orders[at];
  }
  refs.length = orders.length = kept;
  instances.pruneAt = Math.max(PRUNED_MIN, 2 * kept);
};

const entryOf = (instance, cell) => Stamps.of(instance).find((entry) => entry.cell === cell);

// The instances of a definition that live, oldest first. Collects, so that those that nothing reaches are not counted.
const instancesOf = (cell) => {
  collect("", "");
  pruneInstances();
  const { refs, orders } = instances;
  return refs
    .map((ref, at) => ({ instance: ref.deref(), order: orders[at] }))
    .filter(({ instance }) => entryOf(instance, cell) !== undefined)
    .sort((a, b) => a.order - b.order)
    .map(({ instance }) => instance);
};

// How many instances live that an earlier generation of the class built.
const staleInstances = (cell) =>
  instancesOf(cell).filter((instance) => entryOf(instance, cell).generation < cell.generation).length;

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
  if (version === cell.version || migrate !== undefined) return;
  const left = instancesOf(cell).map((instance) => entryOf(instance, cell));
  const behind = left.filter((entry) => entry.version !== version && entry.generation < generation).length;
  if (behind === 0) return;
  throw spoil(
    new TypeError(
      `define ${cell.name}: ${count(behind, "live instance")} would be left at version ${cell.version}; ` +
        `say how to bring one to version ${version}: {version: ${version}, migrate: (instance, {from, to}) => ...}`,
    ),
  );
};

// Bring every living instance to the version that its definition has now. What the newest generation built needs no
// migration, whatever the version was called then.
const migrateInstances = (cell, migrate) => {
  const renewed = new Map();
  const to = cell.version;
  for (const instance of instancesOf(cell)) {
    const entry = entryOf(instance, cell);
    if (entry.version === to) continue;
    if (entry.generation < cell.generation)
      refusePromise(`define ${cell.name}: migrate`, migrate(instance, { from: entry.version, to }));
    const stamp = Stamps.of(instance);
    if (!renewed.has(stamp))
      renewed.set(stamp, stamp.map((old) => (old.cell === cell ? { cell, version: to, generation: cell.generation } : old)));
    Stamps.replace(instance, renewed.get(stamp));
  }
};

table.versionOf = (value) => {
  const isObject = (typeof value === "object" && value !== null) || typeof value === "function";
  return isObject ? Stamps.of(value)?.[0].version : undefined;
};
