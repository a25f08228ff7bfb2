// Console: lines go to the host, which bounds their bytes. Past the most lines it keeps it is told so, once.

const consoleText = (value) => {
  if (typeof value === "string") return value;
  if (value === undefined || typeof value === "symbol") return String(value);
  if (typeof value === "function") return functionText(value);
  try {
    return value instanceof Error ? headline(value) : encode(value);
  } catch (error) {
    return `[${headline(error)}]`;
  }
};

table.print = (values) => {
  if (world.lines > CONSOLE_LINES_MAX) return;
  world.lines++;
  if (world.lines > CONSOLE_LINES_MAX) host("console.full", "");
  else host("console", values.map(consoleText).join(" "));
};
