// Other worlds, by promises. What the host knows of them it says at once. A call waits: its promise is kept under the
// ordinal that the host gave it, and the operation may be put away and go on elsewhere. Since version 2.

const waiting = new Map();

const told = (op, request) =>
  new Promise((resolve) => {
    resolve(parse(host(op, request())));
  });

const checkText = (where, what, value) => {
  if (typeof value !== "string") throw new TypeError(`${where}: the ${what} must be text, not ${kindOfValue(value)}`);
};

table.worldsList = () => told("worlds.list", () => "");
table.worldsFunctions = (id) => told("worlds.functions", () => {
  checkText("worlds.functions", "id of a world", id);
  return id;
});

table.worldsCall = (id, name, ...args) =>
  new Promise((resolve, reject) => {
    checkText("worlds.call", "id of a world", id);
    checkText("worlds.call", "name of a function", name);
    const failed = new Error(); // made here, so that its stack leads to who asked
    const ordinal = host("worlds.call", `${stringify([id, name])}\n${encode(args)}`);
    waiting.set(ordinal, { resolve, reject, failed });
  });

// Settle the promise of one call. Nobody need have awaited it, and the operation may have ended.
const answerWaiting = (ordinal, ok, text) => {
  const wait = waiting.get(ordinal);
  if (wait === undefined) return;
  waiting.delete(ordinal);
  if (ok) return wait.resolve(parse(text));
  defineProperty(wait.failed, "message", { value: text, writable: true, configurable: true });
  wait.reject(wait.failed);
};
