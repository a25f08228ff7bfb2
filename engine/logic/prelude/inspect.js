// What a heap holds, told to the host: run on scratch copies, so nothing here need be tidy.

// The text that a definition is compared by: of a library file its origin says all that matters.
const definitionText = (impl, commonjs) => {
  if (typeof impl === "function") return textOfFunction(impl);
  return commonjs ? "" : walkText(impl);
};

const definitionEntry = (name) => {
  const cell = world.cells.get(name);
  if (!cell.live) return { name };
  const { kind, doc, origin, commonjs, impl } = cell;
  return { name, kind, version: cell.now.version, doc, origin, commonjs, impl };
};

// Walking a library may run code of the world's (a Proxy's traps), which could define or undefine: texts are made
// last, of what was found before.
const withTexts = (told) => ({
  ...told,
  definitions: told.definitions.map(({ impl, ...entry }) =>
    impl === undefined ? entry : { ...entry, text: definitionText(impl, entry.commonjs) },
  ),
});

// The classes that were redefined, with the number of instances that still are as an earlier one built them.
const staleEntries = () => {
  const redefined = [...world.touched].map((name) => world.cells.get(name)).filter(isRedefined);
  if (redefined.length === 0) return [];
  const counts = staleInstances();
  return redefined.filter(({ name }) => counts.has(name)).map(({ name }) => [name, counts.get(name)]);
};

const isRedefined = ({ live, kind, now }) => live && kind === "class" && now.generation > 1;

const stateEntries = () => [...world.states].map(([name, { version }]) => [name, version]);

// Keys of the global object that are neither built in nor definitions. Those can never go, so their number tells
// whether it is worth looking.
const foreignGlobals = () => {
  const keys = ownKeys(globalThis);
  if (keys.length === world.builtins.size + world.cells.size) return [];
  return keys.filter((key) => !world.builtins.has(key) && !world.cells.has(key));
};

const leakedGlobals = () => foreignGlobals().filter((key) => !world.foreign.includes(key)).map(String);

// Why no later source could define anything, or would be taken for what leaks: nobody may do that, libraries neither.
const spoiledGlobal = () => {
  if (!Object.isExtensible(globalThis))
    return "it closed globalThis, where every definition lives: freeze and seal objects of your own";
  if (getPrototypeOf(globalThis) !== Object.prototype)
    return "it gave globalThis another prototype; use define or state for what all sources should see";
};

// A text of everything that can be reached from a value without running code; equal texts mean equal structures.
const walkText = (root) => {
  const seen = new Map();
  const out = [];
  const visit = (value) => {
    if ((typeof value !== "object" && typeof value !== "function") || value === null) {
      out.push(Object.is(value, -0) ? "-0" : typeof value === "string" ? stringify(value) : `${typeof value} ${String(value)}`);
      return;
    }
    const cell = world.stubs.get(value);
    if (cell !== undefined) {
      out.push(`stub ${cell.name}`);
      return;
    }
    const number = seen.get(value);
    if (number !== undefined) {
      out.push(`#${number}`);
      return;
    }
    seen.set(value, seen.size);
    out.push(typeof value === "function" ? textOfFunction(value) : walkTag(value), "{");
    visitInside(value, visit, out);
    for (const key of ownKeys(value)) {
      const descriptor = getOwnPropertyDescriptor(value, key);
      out.push(`${stringify(String(key))}${descriptor.writable ? "" : "!"}${descriptor.enumerable ? "" : "~"}:`);
      if ("value" in descriptor) visit(descriptor.value);
      else visit(descriptor.get), visit(descriptor.set);
      out.push(",");
    }
    out.push("}");
    const prototype = getPrototypeOf(value);
    if (prototype !== null && !Object.isFrozen(prototype)) visit(prototype);
  };
  visit(root);
  return out.join("");
};

const walkTag = (value) => {
  const prototype = getPrototypeOf(value);
  if (prototype === null) return "null-prototype";
  const descriptor = getOwnPropertyDescriptor(prototype, "constructor");
  const constructor = descriptor === undefined ? undefined : descriptor.value ?? descriptor.get;
  return typeof constructor === "function" ? String(constructor.name) : "object";
};

const visitInside = (value, visit, out) => {
  if (value instanceof Map || value instanceof Set) {
    for (const entry of (value instanceof Map ? Map : Set).prototype.entries.call(value)) visit(entry[0]), visit(entry[1]);
  } else if (value instanceof Date || value instanceof RegExp) {
    out.push(value instanceof Date ? String(Date.prototype.getTime.call(value)) : RegExp.prototype.toString.call(value));
  }
};

// All that a develop could have changed besides the definitions themselves: states, and properties of definitions.
const heapText = () => {
  const parts = [];
  for (const [name, { value, version }] of world.states) parts.push(`${stringify(name)} ${version} ${walkText(value)}`);
  for (const cell of world.cells.values()) {
    if (!cell.live) continue;
    parts.push(cell.name);
    const prototype = cell.kind === "library" ? undefined : prototypeOf(cell);
    for (const key of ownKeys(cell.impl)) {
      const isPrototype = key === "prototype" && prototype !== undefined;
      const value = isPrototype ? prototype : getOwnPropertyDescriptor(cell.impl, key).value;
      parts.push(`${String(key)} ${walkText(value)}`);
    }
  }
  for (const key of foreignGlobals()) parts.push(`${String(key)} ${walkText(globalThis[key])}`);
  return parts.join("\n");
};
