// The peer of the engine rows: quickjs-wasi, the same engine, as its authors mean it to be used under Node.
// Reads {wrapper, wasm, runs, programs: {name: source}} on stdin; prints one JSON object of medians.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const { wrapper, wasm, runs, programs, trivial } = JSON.parse(readFileSync(0, "utf8"));
const { QuickJS } = await import(pathToFileURL(wrapper));
const module = await WebAssembly.compile(readFileSync(wasm));

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

async function timed(count, work) {
  const times = [];
  for (let i = 0; i < count; i++) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  return median(times);
}

function call(vm, source) {
  const value = vm.evalCode(source);
  const result = vm.dump(value);
  value.dispose();
  return result;
}

const vm = await QuickJS.create(module);
const empty = vm.snapshot();
const report = { raw_bytes: QuickJS.serializeSnapshot(empty).length };
report.gzip_bytes = gzipSync(QuickJS.serializeSnapshot(empty)).length;
report.snapshot_ms = await timed(runs, () => void vm.snapshot());
report.restore_ms = await timed(runs, async () => (await QuickJS.restore(empty, module)).dispose());

vm.evalCode(trivial.source).dispose();
const defined = vm.snapshot();
report.restore_call_ms = await timed(runs, async () => {
  const fresh = await QuickJS.restore(defined, module);
  const answer = call(fresh, trivial.call);
  if (answer !== trivial.value) throw new Error(`the peer answered ${answer}`);
  fresh.dispose();
});

for (const [name, program] of Object.entries(programs)) {
  const guest = await QuickJS.create(module);
  guest.evalCode(program.source).dispose();
  report[`${name}_ms`] = await timed(5, () => {
    const answer = call(guest, program.call);
    if (answer !== program.value) throw new Error(`${name}: the peer answered ${answer}`);
  });
  guest.dispose();
}
console.log(JSON.stringify(report));
