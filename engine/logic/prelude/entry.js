// The entry: the host's requests, told apart by their first character, and the outcome of each.
//
//   c NAME \n ARGS         call a definition with a JSON array
//   x FILE LENGTH \n CODE  evaluate an expression that the host wrapped in a function
//   d FILE LENGTH \n CODE  evaluate a source that the host wrapped in a function
//   m NAME FILE LENGTH \n  CODE   evaluate a library file and define NAME as its exports
//   k FILE LENGTH \n CODE  only compile it
//   r ORDINAL \n + JSON    go on with what another world answered
//   r ORDINAL \n - MESSAGE go on with the error that came instead
//   tv tc tr tg tm tp      checks and generators: see `checks.js`
//   =                      the outcome
//   a i w                  on scratch copies: what an attempt did, the catalogue, the walk of states
//   u PRELUDE              put another prelude behind the globals
//
// An outcome is "+" and JSON text, "-" and the text of what was thrown, "!" and that of a syntax error in the
// source, "?" while a promise is pending, or "~" if another world has yet to answer, "0" where no such definition
// exists.

let outcome = "?";

const succeed = (value) => {
  try {
    outcome = `+${encode(value)}`;
  } catch (error) {
    fail(error);
  }
};

const fail = (error) => {
  outcome = `-${describe(error)}`;
};

const done = () => {
  outcome = "+";
};

// Settle what an operation returned, thenables included.
const settle = (value, succeeded) => {
  if (value !== null && (typeof value === "object" || typeof value === "function")) {
    if (typeof value.then === "function") {
      new Promise((resolve) => resolve(value)).then(succeeded, fail);
      return;
    }
  }
  succeeded(value);
};

const begin = () => {
  outcome = "?";
  world.lines = 0;
  tracking = false;
};

const answerCall = (text) => {
  begin();
  const end = text.indexOf("\n");
  const cell = world.cells.get(text.slice(1, end));
  if (cell === undefined || !cell.live) {
    outcome = "0";
    return;
  }
  const args = parse(text.slice(end + 1));
  try {
    settle(cell.kind === "class" ? construct(cell.stub, args) : apply(callable(cell), undefined, args), succeed);
  } catch (error) {
    fail(error);
  }
};

const callable = (cell) => {
  if (cell.kind === "library")
    throw new TypeError(`${cell.name} is a library: define a function that uses it, and call that`);
  return cell.impl;
};

// Splits "k A B \n CODE" into its words and the code.
const wordsAndCode = (text) => {
  const end = text.indexOf("\n");
  return [...text.slice(1, end).split(" "), text.slice(end + 1)];
};

// The function of a wrapped source; undefined, and the outcome says why, if it does not compile.
const compiled = (code, file, length) => {
  try {
    return compileSource(code, file, +length);
  } catch (error) {
    outcome = `!${describe(error)}`;
  }
};

const answerExpression = (text) => {
  begin();
  const [file, length, code] = wordsAndCode(text);
  const run = compiled(code, file, length);
  if (run === undefined) return;
  try {
    settle(run(), succeed);
  } catch (error) {
    fail(error);
  }
};

const beginAttempt = (file) => {
  begin();
  tracking = true;
  world.spoiled = undefined;
  world.unfinished.clear();
  world.takeCalled();
  world.touched.clear();
  world.origin = file;
  world.foreign = foreignGlobals();
};

const answerDevelop = (text) => {
  const [file, length, code] = wordsAndCode(text);
  beginAttempt(file);
  const run = compiled(code, file, length);
  if (run === undefined) return;
  try {
    settle(run(definer), done);
  } catch (error) {
    fail(error);
  }
};

const answerLibrary = (text) => {
  const [name, file, length, code] = wordsAndCode(text);
  beginAttempt(file);
  const run = compiled(code, file, length);
  if (run === undefined) return;
  try {
    evaluateLibrary(name, run);
    done();
  } catch (error) {
    fail(error);
  }
};

// Only compile a source that the host's parser did not understand.
const answerCheck = (text) => {
  begin();
  const [file, length, code] = wordsAndCode(text);
  if (compiled(code, file, length) !== undefined) done();
};

const goOn = (text) => {
  const end = text.indexOf("\n");
  answerWaiting(text.slice(1, end), text[end + 1] === "+", text.slice(end + 2));
};

// What spoiled an attempt counts whatever came of it: the source may have caught the error.
const outcomeOfAttempt = () => {
  const [unfinished] = world.unfinished;
  if (world.spoiled === undefined && unfinished !== undefined && outcome[0] !== "-")
    return `-TypeError: define ${unfinished}: an initialiser of the class threw, and it was never defined`;
  return world.spoiled === undefined ? outcome : `-${world.spoiled}`;
};

const answerAttempt = () =>
  stringify(
    withTexts({
      outcome: outcomeOfAttempt(),
      stale: staleEntries(),
      called: world.takeCalled(),
      definitions: [...world.touched].map(definitionEntry),
      globals: leakedGlobals(),
      spoiledGlobal: spoiledGlobal(),
      states: stateEntries(),
    }),
  );

const answerCatalogue = () =>
  stringify(
    withTexts({
      prelude: world.version,
      definitions: [...world.cells.values()].filter((cell) => cell.live).map((cell) => definitionEntry(cell.name)),
      states: stateEntries(),
      globals: foreignGlobals().map(String),
    }),
  );

table.entry = (text) => {
  switch (text[0]) {
    case "c":
      return answerCall(text);
    case "=":
      return outcome === "?" && waiting.size > 0 ? "~" : outcome;
    case "x":
      return answerExpression(text);
    case "r":
      return goOn(text);
    case "d":
      return answerDevelop(text);
    case "m":
      return answerLibrary(text);
    case "k":
      return answerCheck(text);
    case "t":
      return answerTest(text);
    case "a":
      return answerAttempt();
    case "i":
      return answerCatalogue();
    case "w":
      return heapText();
    case "u":
      return compile(text.slice(1), "prelude")(host, compile, collect, world);
  }
};
