// Code from text: sources, `eval` and the Function constructors.
//
// A function's text is compiled as `{throw S;function S(...){...}}`. The declaration is hoisted, so the throw is
// the first thing to run and hands it over; text that closes the function early only makes it shorter, and what
// it put behind never runs. A function of the expected length therefore holds the whole text.

const evaluate = globalThis.eval; // called as a function: global scope

const handedOver = (run, length) => {
  try {
    run();
  } catch (thrown) {
    if (typeof thrown !== "function") throw thrown;
    if (textOfFunction(thrown).length === length) return thrown;
  }
  throw new SyntaxError("the text closes the function that it is the body of: unbalanced brackets");
};

// The function of a source that the host wrapped; `length` is that of the function's own text.
const compileSource = (program, file, length) => handedOver(() => compile(program, file), length);

const strictEval = (code) => (typeof code === "string" ? evaluate(`"use strict";void 0;${code}`) : code);

// One constructor each for functions, generators and their async kin. The text is strict code. Only text that is
// none (templates that use `with`) is taken as sloppy: globals that it makes are still found after the attempt.
const functionConstructor = (keyword, original) => {
  const make = (...texts) => {
    const body = texts.length === 0 ? "" : String(texts.pop());
    const params = texts.map(String).join(",");
    if (params === "" && GLOBAL_OBJECT_IDIOM.test(body)) return () => globalThis;
    const text = `${keyword} anonymous(${params}\n) {\n${body}\n}`;
    try {
      return handedOver(() => evaluate(`"use strict";{throw anonymous;${text}}`), text.length);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return handedOver(() => evaluate(`{let anonymous;{throw anonymous;${text}}}`), text.length);
    }
  };
  const constructor = { [original.name]: function (...texts) { return make(...texts); } }[original.name];
  defineProperty(constructor, "length", { value: 1 });
  defineProperty(constructor, "prototype", { value: original.prototype, writable: false });
  if (original !== Function) Object.setPrototypeOf(constructor, globalThis.Function);
  defineProperty(original.prototype, "constructor", { value: constructor });
  return constructor;
};

const GLOBAL_OBJECT_IDIOM = /^\s*return\s+this\s*;?\s*$/;

const installCode = () => {
  const constructors = [
    ["function", Function],
    ["function*", (function* () {}).constructor],
    ["async function", (async () => {}).constructor],
    ["async function*", (async function* () {}).constructor],
  ];
  for (const [keyword, original] of constructors) {
    const constructor = functionConstructor(keyword, original);
    if (original === Function) defineProperty(globalThis, "Function", { value: constructor });
  }
  const { eval: renamed } = { eval: (code) => strictEval(code) };
  defineProperty(globalThis, "eval", { value: renamed });
};
