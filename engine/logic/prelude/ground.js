// The frozen ground: built-ins that nothing can change, whatever a check relies on.

// Ordinary code assigns over inherited properties of its own instances and classes (`this.name = ...` in an Error
// subclass), which a frozen data property would refuse. On these prototypes any property may be assigned over; on
// the others those of ASSIGNED_OVER, because reading an accessor costs a call.
const ASSIGNED_OVER = new Set(["constructor", "toString", "toLocaleString", "valueOf", "toJSON"]);

const assignedOver = () => {
  const homes = [Object, Function, Promise, WeakMap, RegExp, Iterator].map((constructor) => constructor.prototype);
  for (const name of ownKeys(globalThis)) {
    const { value } = getOwnPropertyDescriptor(globalThis, name);
    if (typeof value === "function" && (value === Error || getPrototypeOf(value) === Error)) homes.push(value.prototype);
  }
  return homes;
};

const turnIntoAccessor = (home, key, descriptor) => {
  const { value, enumerable } = descriptor;
  defineProperty(home, key, {
    enumerable,
    configurable: false,
    get: () => value,
    set(assigned) {
      if (this === home) throw new TypeError(`'${String(key)}' is read-only`);
      if (Object.hasOwn(this, key)) defineProperty(this, key, { value: assigned });
      else defineProperty(this, key, { value: assigned, writable: true, enumerable: true, configurable: true });
    },
  });
};

const turnIntoAccessors = (home, isWanted) => {
  for (const key of ownKeys(home)) {
    const descriptor = getOwnPropertyDescriptor(home, key);
    if (descriptor.writable && descriptor.configurable && isWanted(key)) turnIntoAccessor(home, key, descriptor);
  }
};

const turnPrototypes = () => {
  for (const home of assignedOver()) turnIntoAccessors(home, () => true);
  for (const name of ownKeys(globalThis)) {
    const { value } = getOwnPropertyDescriptor(globalThis, name);
    if (typeof value === "function" && typeof value.prototype === "object")
      turnIntoAccessors(value.prototype, (key) => ASSIGNED_OVER.has(key));
  }
};

// Objects of the language that no global leads to.
const hiddenObjects = () => {
  const found = [];
  Error.prepareStackTrace = (_error, sites) => {
    found.push(...sites);
  };
  void new Error("sites").stack;
  Error.prepareStackTrace = undefined;
  const array = [];
  const helper = array.values().map((x) => x);
  found.push(
    (function* () {})(), (async function* () {})(), function* () {}, async function* () {}, async () => {},
    array.values(), new Map().entries(), new Set().values(), ""[Symbol.iterator](), "".matchAll(/x/g), helper,
    Iterator.from({ next() {} }), Iterator.concat([]), (function () { return arguments; })(),
  );
  return found.map(getPrototypeOf);
};

const makeInert = (object, key, value) =>
  defineProperty(object, key, { get: () => value, set() {}, enumerable: false, configurable: false });

// Freeze everything that can be reached, prototypes and accessors included; the global object itself stays open.
const freezeFrom = (roots) => {
  const seen = new Set([globalThis]);
  const queue = [...roots];
  while (queue.length > 0) {
    const object = queue.pop();
    if ((typeof object !== "object" && typeof object !== "function") || object === null || seen.has(object)) continue;
    seen.add(object);
    queue.push(getPrototypeOf(object));
    for (const key of ownKeys(object)) {
      const { value, get, set } = getOwnPropertyDescriptor(object, key);
      queue.push(value, get, set);
    }
    Object.freeze(object);
  }
};

const STACK_FRAMES_MAX = 30;

const freezeGround = () => {
  const hidden = hiddenObjects();
  Error.stackTraceLimit = STACK_FRAMES_MAX;
  makeInert(Error, "stackTraceLimit", STACK_FRAMES_MAX);
  makeInert(Error, "prepareStackTrace", undefined);
  turnPrototypes();
  const names = ownKeys(globalThis);
  freezeFrom([...hidden, ...names.map((name) => globalThis[name])]);
  lockGlobals(names);
};

const lockGlobals = (names) => {
  for (const name of names) {
    const { value } = getOwnPropertyDescriptor(globalThis, name);
    defineProperty(globalThis, name, { value, writable: false, configurable: false });
    world.builtins.add(name);
  }
};
