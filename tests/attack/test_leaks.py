# ruff: noqa: E501  (programs in tables stay on their lines)
"""Nothing passes from one operation to another but by data, nor from one world to another but by calls."""

from __future__ import annotations

import pytest
from arena import World, host

MARK = "quintessential-marker-of-one-world"
SPELLED = "-".join(["quintessential", "marker", "of", "one", "world"])
FILL = """
const parts = ["quintessential", "marker", "of", "one", "world"];
const mark = () => parts.join("-");
function fill() {
  const kept = [];
  for (let i = 0; i < 2000; i++) kept.push(mark() + i);
  const text = mark(), bytes = new Uint8Array(100_000);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i % 34);
  return kept.length;
}
"""
UNSET_MEMORY = """(() => {
  const seen = new Set();
  for (let i = 0; i < 3; i++) {
    const buffer = new ArrayBuffer(60_000, { maxByteLength: 120_000 });
    buffer.resize(120_000);
    for (const byte of new Uint8Array(new ArrayBuffer(100_000).transfer(150_000))) seen.add(byte);
    for (const byte of new Uint8Array(buffer.transfer(90_000))) seen.add(byte);
  }
  return [...seen];
})()"""


def heap_of(world: World) -> bytes:
    """The bytes of the head's heap."""
    runtime = host().runtimes.get(world.id)
    assert runtime is not None
    return host().parts.images.get(runtime.heaps[world.head]).to_bytes()


def test_a_vm_that_served_one_world_shows_another_nothing_of_it() -> None:
    one, two = World(FILL), World("function mine() { return 1 }")
    for _ in range(3):
        assert one.call("fill") == 2000
        assert one.rejected(FILL + "\nfill(); throw new Error('x')")[0] == "threw"
        assert two.value(UNSET_MEMORY) == [0]
        two.accepted("function mine() { return " + str(one.head) + " + Math.random() }\nmine()")
    assert MARK.encode() not in heap_of(two)
    assert SPELLED == MARK


def test_a_preview_a_rejection_and_a_call_leave_nothing_in_the_next_revision() -> None:
    world = World(FILL)
    world.call("fill")
    world.value("fill()")
    assert world.rejected("fill(); state('s', () => [mark()]); throw new Error('x')")[0] == "threw"
    world.accepted("function other() { return 2 }")
    assert MARK.encode() not in heap_of(world)


CARRIERS = {
    "a global by eval": ("eval('globalThis.kept = 1')", "typeof kept", "undefined"),
    "a property of a function": ("(f.kept = 1)", "f.kept", None),
    "a property of a library": ("(lib.kept = 1)", "lib.kept", None),
    "a state": ("(state('s', () => ({})).kept = 1)", "state('s', () => ({})).kept", None),
    "a redefinition": ("define('f', () => 2) && 1", "f()", 1),
    "a new definition": ("define('g', () => 2) && 1", "typeof g", "undefined"),
    "a symbol": (
        "(globalThis[Symbol.for('kept')] = 1)",
        "typeof globalThis[Symbol.for('kept')]",
        "undefined",
    ),
    "a pending promise": ("(queueMicrotask(() => { f.kept = 1 }), 1)", "f.kept", None),
    "a finaliser": ("(new FinalizationRegistry(() => { f.kept = 1 }).register({}, 1), 1)", "f.kept", None),
    "a random number": ("Math.random() && 1", "f.kept", None),
    "a regular expression's last index": ("lib.re.test('aa') && 1", "lib.re.lastIndex", 0),
    "a generator's place": ("lib.gen.next().value", "lib.gen.next().value", 1),
}


@pytest.mark.parametrize(("write", "read", "wanted"), CARRIERS.values(), ids=CARRIERS.keys())
def test_the_heap_of_an_operation_vanishes(write: str, read: str, wanted: object) -> None:
    world = World(
        "define('f', () => 1); define('lib', { re: /a/g, gen: (function* () { yield 1; yield 2 })() }); state('s', () => ({}));"
    )
    assert world.value(write) == 1
    assert world.value(read) == wanted


def test_random_numbers_of_one_operation_say_nothing_of_another() -> None:
    world = World("function draw() { return Math.random() }")
    drawn = [world.call("draw") for _ in range(8)]
    assert len(set(drawn)) == 8
    other = World("function draw() { return Math.random() }")
    assert other.call("draw") not in drawn


def test_time_stands_still_within_an_operation() -> None:
    world = World()
    assert world.value(
        "(() => { const a = [Date.now(), performance.now(), +new Date()]; for (let i = 0; i < 1e6; i++); return a.join() === [Date.now(), performance.now(), +new Date()].join() })()"
    )


OUTSIDE = ["process", "require", "module", "Deno", "fetch", "XMLHttpRequest", "WebSocket", "setTimeout", "setInterval", "setImmediate", "Worker", "SharedArrayBuffer", "Atomics", "WebAssembly", "crypto", "os", "std", "bjson", "Bun", "navigator", "localStorage", "print", "scriptArgs", "gc", "load", "Intl", "host", "compile", "collect"]  # fmt: skip


def test_there_is_nothing_to_reach_files_network_threads_or_clocks_by() -> None:
    found = World().value(f"{OUTSIDE!r}.filter((name) => typeof globalThis[name] !== 'undefined')")
    assert [name for name in found if name not in {"Atomics", "SharedArrayBuffer"}] == []


IMPORTS = ["import('fs')", "import('node:fs')", "import('/etc/passwd')", "import('std')", "import('data:text/javascript,1')", "import('http://localhost')"]  # fmt: skip


@pytest.mark.parametrize("expression", IMPORTS)
def test_no_module_can_be_loaded(expression: str) -> None:
    assert World().failure(expression)[0] == "threw"


def test_shared_memory_and_waiting_stop_nobody() -> None:
    world = World()
    answer = world.preview(
        "typeof Atomics === 'undefined' ? 1 : (() => { try { Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0, 1e9) } catch (e) { return 'refused' } return 'waited' })()"
    )
    assert bytes(getattr(answer, "value", b'"refused"')) in (b"1", b'"refused"')
    assert world.is_well()
