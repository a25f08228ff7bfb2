// Other worlds: promises of what the host answers. Since version 2.

const asked = (op, request) =>
  new Promise((resolve) => {
    const answer = host(op, stringify(request));
    resolve(answer === undefined ? undefined : parse(answer));
  });

table.worldsList = () => asked("worlds.list", []);
table.worldsFunctions = (id) => asked("worlds.functions", [String(id)]);
table.worldsCall = (id, name, ...args) =>
  new Promise((resolve) => resolve(parse(host("worlds.call", `${stringify([String(id), String(name)])}\n${encode(args)}`))));
