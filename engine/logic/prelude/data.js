// The persistent data of the world: every operation is the host's, which records what was read and written.

// Keys are text, the empty one too; a number or the like is taken as its text. What is missing is a mistake.
const keyOf = (key, where) => {
  if (key === undefined) throw new TypeError(`${where}: the key is missing`);
  return typeof key === "symbol" ? key.toString() : String(key);
};

table.dataGet = (key) => {
  const text = host("data.get", keyOf(key, "data.get"));
  return text === undefined ? undefined : parse(text);
};

table.dataSet = (key, value) => {
  const text = encode(value); // no JSON text has a raw line feed in it, so the key may follow one
  host("data.set", `${text}\n${keyOf(key, "data.set")}`);
  return value;
};

table.dataDelete = (key) => host("data.delete", keyOf(key, "data.delete")) === "true";

table.dataList = (prefix = "", options = undefined) => {
  if (typeof prefix !== "string") throw new TypeError(`data.list: the prefix must be text, not ${kindOfValue(prefix)}`);
  const { after, limit } = optionsOf("data.list", options, ["after", "limit"]);
  if (after !== undefined && after !== null && typeof after !== "string")
    throw new TypeError(`data.list: after must be text, the key to go on behind, not ${kindOfValue(after)}`);
  if (limit !== undefined && (!Number.isSafeInteger(limit) || limit < 1))
    throw new TypeError("data.list: the limit must be an integer >= 1");
  const request = { prefix, limit };
  if (after !== undefined && after !== null) request.after = after;
  const { rows, next } = parse(host("data.list", stringify(request)));
  if (next !== undefined) rows.next = next;
  return rows;
};
