// The persistent data of the world: every operation is the host's, which records what was read and written.

const keyOf = (key) => (typeof key === "symbol" ? key.toString() : String(key));

table.dataGet = (key) => {
  const text = host("data.get", keyOf(key));
  return text === undefined ? undefined : parse(text);
};

table.dataSet = (key, value) => {
  const text = encode(value); // no JSON text has a raw line feed in it, so the key may follow one
  host("data.set", `${text}\n${keyOf(key)}`);
  return value;
};

table.dataDelete = (key) => host("data.delete", keyOf(key)) === "true";

table.dataList = (prefix = "", options = undefined) => {
  if (options !== undefined && (typeof options !== "object" || options === null))
    throw new TypeError("data.list: the options must be an object such as {after, limit}");
  const { after, limit } = options ?? {};
  if (limit !== undefined && (!Number.isSafeInteger(limit) || limit < 1))
    throw new TypeError("data.list: the limit must be an integer >= 1");
  const request = { prefix: keyOf(prefix), limit };
  if (after !== undefined && after !== null) request.after = keyOf(after);
  const { rows, next } = parse(host("data.list", stringify(request)));
  if (next !== undefined) rows.next = next;
  return rows;
};
