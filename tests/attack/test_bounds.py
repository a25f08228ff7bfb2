# ruff: noqa: E501  (programs in tables stay on their lines)
"""What a world makes is bounded where it leaves it: no size, however it came about, harms the host or another world."""

from __future__ import annotations

import json

import pytest
from arena import World, host

from engine import limits

WRITE = """function write(count, size) {
  const value = "x".repeat(size);
  for (let i = 0; i < count; i++) data.set("k" + i, value);
  return count;
}"""
MANY = 200_000


@pytest.fixture
def world() -> World:
    return World(WRITE)


def test_a_call_writes_just_as_much_as_a_record_takes_and_no_more(world: World) -> None:
    each = limits.DATA_VALUE_BYTES_MAX - 2  # the quotes are JSON's
    most = limits.DATA_WRITES_BYTES_MAX // (each + 2 + limits.DATA_WRITE_BYTES_ABOUT + 3)
    assert world.call("write", most, each) == most
    assert world.fails("write", most + 1, each) == (
        "size",
        f"RangeError: data: one call writes {limits.DATA_WRITES_BYTES_MAX} bytes at most; "
        "divide the work into several",
    )
    assert world.is_well()


def test_writing_one_key_over_and_over_is_not_writing_much(world: World) -> None:
    world.accepted(
        "function again(n, size) { const v = 'x'.repeat(size); while (n--) data.set('k', v); return 1 }"
    )
    assert world.call("again", 100, 250_000) == 1
    assert list(world.data()) == ["k"]


def test_deleting_counts_too(world: World) -> None:
    world.call("write", 1, 1)
    world.accepted(
        "function flip(n) { for (let i = 0; i < n; i++) { data.set('y'.repeat(1000) + i, 1); data.delete('y'.repeat(1000) + i) } }"
    )
    assert world.fails("flip", 20_000)[0] == "size"


def test_so_many_different_keys_are_read_and_no_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DATA_READS_MAX", 100)
    world.accepted("function look(n) { for (let i = 0; i < n; i++) data.get('k' + (i % n)); return n }")
    assert world.call("look", 100) == 100
    assert world.fails("look", 101)[0] == "size"
    assert (
        world.value("(() => { for (let i = 0; i < 1000; i++) data.get('k' + (i % 100)); return 1 })()") == 1
    )


def test_a_list_of_rows_is_refused_before_it_is_made(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.call("write", 8, 1000)
    monkeypatch.setattr(limits, "DATA_LIST_BYTES_MAX", 8 * 1002)
    assert world.value("data.list('k').length") == 8
    monkeypatch.setattr(limits, "DATA_LIST_BYTES_MAX", 8 * 1002 - 1)
    kind, error = world.failure("data.list('k')")
    assert (kind, error.endswith("page with a smaller limit")) == ("size", True)
    assert world.value("data.list('k', { limit: 7 }).next") == "k6"


ERRORS = {
    "of millions of lines": f"(() => {{ throw new Error('\\n'.repeat({MANY * 50})) }})()",
    "of millions of lines, as text": f"(() => {{ throw '\\n'.repeat({MANY * 50}) }})()",
    "of many frames": f"(() => {{ throw new Error('\\n    at x (prelude:1:1)'.repeat({MANY})) }})()",
    "of frames full of brackets": f"(() => {{ throw '    at ' + ' ('.repeat({MANY}) }})()",
    "of frames full of positions": f"(() => {{ throw 'E\\n    at ' + ':1'.repeat({MANY}) }})()",
    "with a long stack": f"(() => {{ const e = new Error('x'); e.stack = 's'.repeat({MANY}); throw e }})()",
    "with a long name": f"(() => {{ const e = new Error('x'); e.name = 'n'.repeat({MANY}); throw e }})()",
}


@pytest.mark.parametrize("expression", ERRORS.values(), ids=ERRORS.keys())
def test_an_error_is_cut_and_read_no_further(world: World, expression: str) -> None:
    answer = world.preview(expression)
    assert answer.failure == "threw"
    assert len(answer.error) <= limits.ERROR_CHARS_MAX
    assert world.is_well()


def test_a_console_keeps_so_much_and_the_answer_is_not_much_longer(world: World) -> None:
    answer = world.preview(
        "(() => { for (let i = 0; i < 50; i++) console.log('x'.repeat(1e6)); return 1 })()"
    )
    assert bytes(answer.value) == b"1"
    assert sum(len(line) for line in answer.logs) < limits.CONSOLE_BYTES_MAX + 100


LIARS = {
    "a toJSON": "({ toJSON: () => 'x'.repeat(2e6) })",
    "a Proxy of an array": "new Proxy([], { get: (t, k) => k === 'length' ? 3 : 'x'.repeat(1e6), has: () => true })",
    "a String of another length": "(() => { class S extends String { get length() { return 1 } } return new S('x'.repeat(2e6)) })()",
    "a getter": "({ get a() { return 'x'.repeat(2e6) } })",
    "a Map": "new Map([['a', 'x'.repeat(2e6)]])",
    "a key": "({ ['x'.repeat(2e6)]: 1 })",
    "escapes": "'\\u0001'.repeat(3e5)",
    "surrogates": "'\\ud800'.repeat(3e5)",
}


@pytest.mark.parametrize("expression", LIARS.values(), ids=LIARS.keys())
def test_a_result_is_as_large_as_its_text(world: World, expression: str) -> None:
    kind, error = world.failure(expression)
    assert kind == "size"
    assert error.endswith(f"at most {limits.RESULT_BYTES_MAX} are allowed")


CATALOGUES = {
    "a doc": "define('f', () => 1, { doc: 'x'.repeat(2e5) })",
    "a text": "define('f', eval('() => { /*' + 'x'.repeat(2e5) + '*/ }'))",
    "a library": "define('f', { text: 'x'.repeat(2e5) })",
    "many small ones": "for (let i = 0; i < 1500; i++) define('f' + i, () => 1)",
}


@pytest.mark.parametrize("source", CATALOGUES.values(), ids=CATALOGUES.keys())
def test_definitions_that_no_record_could_hold_are_rejected(
    world: World, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CATALOGUE_BYTES_MAX", 80_000)
    kind, reason = world.rejected(source)
    assert (kind, reason.endswith("at most 80000 are allowed")) == ("size", True)
    assert world.names == ["write"]
    assert world.is_well()


def test_all_definitions_together_stay_so_small_that_a_rollback_to_them_is_one_record(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CATALOGUE_BYTES_MAX", 30_000)
    for name in ("a", "b"):
        world.accepted(f"define('{name}', () => 1, {{ doc: 'x'.repeat(12_000) }})")
    assert world.rejected("define('c', () => 1, { doc: 'x'.repeat(12_000) })")[0] == "size"


def test_a_library_cannot_leave_globals_of_any_length(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CATALOGUE_BYTES_MAX", 30_000)
    source = "globalThis['x'.repeat(30_000)] = 1; exports.a = () => 1"
    assert world.rejected(source, commonjs="lib")[0] == "size"


HEAPS = {
    "a name of a state that is as large as a heap": "state('x'.repeat(5e6), () => ({}))",
    "a heap with holes, larger than what lives in it": (
        "let junk = []; for (let i = 0; i < 280; i++) junk.push(new Uint8Array(2e5)); junk = junk.filter((_, i) => i % 2);"
        "state('big', () => ({ junk, b: new Uint8Array(3.2e7).fill(3) }))"
    ),
}


@pytest.mark.parametrize("source", HEAPS.values(), ids=HEAPS.keys())
def test_a_large_heap_is_kept_as_it_was_before_it_was_looked_at(source: str) -> None:
    world = World()
    world.accepted(source)
    world.accepted("function later() { return 7 }")
    assert world.call("later") == 7


DEEP = {
    "brackets": "(" * 100_000,
    "arrays": "x = " + "[" * 30_000 + "]" * 30_000,
    "blocks": "{" * 30_000 + "}" * 30_000,
    "functions": "function f() {" * 10_000 + "}" * 10_000,
    "patterns of parameters": "function f(" + "{a:" * 10_000 + "a" + "}" * 10_000 + ") {}",
    "defaults of parameters": "function f(" + "a=(" * 10_000 + "1" + ")" * 10_000 + ") {}",
    "templates": "`${" * 20_000,
    "comments that never end": "/*" * 50_000,
}


@pytest.mark.parametrize("source", DEEP.values(), ids=DEEP.keys())
def test_a_source_nested_beyond_reason_is_a_syntax_error(world: World, source: str) -> None:
    kind, reason = world.rejected(source)
    assert kind == "syntax"
    assert len(reason) <= limits.ERROR_CHARS_MAX
    assert world.is_well()


def test_what_a_call_was_told_of_itself_fits_its_record(world: World) -> None:
    world.call("write", 3, 10)
    (call,) = world.bodies("call")
    assert len(json.dumps(call)) < 1000
    assert host().health().state == "ready"


def test_a_list_costs_what_it_gives_however_much_the_call_wrote_before(world: World) -> None:
    world.accepted(
        "function pile(n, lists) { for (let i = 0; i < n; i++) data.set('k' + i, 1);"
        " let seen = 0; for (let i = 0; i < lists; i++) seen += data.list('k', { limit: 2 }).length; return seen }"
    )
    assert world.call("pile", 20_000, 2_000) == 4_000
