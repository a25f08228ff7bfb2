// Classes: one prototype a name, patched in place, so that instances follow every redefinition.

const CLASS = /^class\b/;
const CLASS_PRIVATE_STATIC = /\bstatic\b[^;{(=]*#/;
const SUPER_PROPERTY = /\bsuper\s*(?:\.|\[)/;

// Whether a class has a static member of its own for what every function has ("name", "length").
const isStatic = ({ kind, impl }, key) => {
  if (kind !== "class") return false;
  const descriptor = getOwnPropertyDescriptor(impl, key);
  return descriptor !== undefined && descriptor.writable !== false;
};

const getStatic = (cell, target, key, receiver) => {
  if ((key === "name" || key === "length") && !isStatic(cell, key)) return target[key];
  if (cell.methods === null) return Reflect.get(cell.impl, key, receiver);
  const value = Reflect.get(cell.impl, key, receiver === cell.stub ? cell.impl : receiver);
  return typeof value === "function" ? methodOf(cell, value) : value;
};

// What a class gives its instances, taken before anything is changed.
const membersOf = (prototype) => ({
  base: getPrototypeOf(prototype),
  descriptors: ownKeys(prototype).map((key) => [key, getOwnPropertyDescriptor(prototype, key)]),
});

// Make `home` hold these members and no others, in their order.
const fill = (name, home, { base, descriptors }) => {
  const isOpen =
    Object.isExtensible(home) && ownKeys(home).every((key) => getOwnPropertyDescriptor(home, key).configurable);
  if (!isOpen) throw new TypeError(`define ${name}: its prototype was frozen and cannot follow`);
  for (const key of ownKeys(home)) delete home[key];
  Object.setPrototypeOf(home, base);
  for (const [key, descriptor] of descriptors) defineProperty(home, key, descriptor);
};

const setConstructor = (home, stub) =>
  defineProperty(home, "constructor", { value: stub, writable: true, enumerable: false, configurable: true });

// Give a class to its cell. The prototype of the first class is that of the name for ever. A later one is emptied,
// so that what its own code makes by the class's inner name inherits from that of the name too; unless its methods
// look for `super` members, which they do behind it.
const adoptClass = (cell, impl, text) => {
  const known = world.impls.get(impl);
  const isStub = world.stubs.has(impl);
  const members = known?.members ?? (isStub ? { base: impl.prototype, descriptors: [] } : membersOf(impl.prototype));
  if (cell.prototype === null && known === undefined && !isStub) {
    cell.prototype = impl.prototype;
  } else {
    cell.prototype ??= {};
    fill(cell.name, cell.prototype, members);
    if (known === undefined && !isStub) redirect(cell, impl.prototype, SUPER_PROPERTY.test(text));
  }
  setConstructor(cell.prototype, cell.stub);
  if (!isStub) world.impls.set(impl, { cell, members });
  cell.methods = CLASS_PRIVATE_STATIC.test(text) ? new WeakMap() : null;
};

const redirect = (cell, prototype, usesSuper) => {
  if (usesSuper) setConstructor(prototype, cell.stub);
  else fill(cell.name, prototype, { base: cell.prototype, descriptors: [] });
};

// Give back the name that the host took: for stacks, and for who looks at it from inside.
const nameAsWritten = (name, impl) => {
  if (!isStatic({ kind: kindOf(impl, textOfFunction(impl)), impl }, "name"))
    Reflect.defineProperty(impl, "name", { value: name });
};

// What the host gives a source that it rewrote: names for its top-level declarations.
const definer = {
  // Before all else: a stub to mean by the name.
  reserve(name) {
    checkName(name);
    return (world.cells.get(name) ?? makeCell(name, "class")).stub;
  },
  // First thing in a class that knows its own name: initialisers of statics may already use it.
  begin(name, impl) {
    checkName(name);
    const text = textOfFunction(impl);
    checkKind(name, impl, text, false);
    nameAsWritten(name, impl);
    adopt(world.cells.get(name) ?? makeCell(name, "class"), impl, text);
    world.unfinished.add(name);
  },
  // The definition of a declaration, which the host may have renamed.
  define(name, impl, doc) {
    nameAsWritten(name, impl);
    return put(name, impl, { doc }, false);
  },
};
