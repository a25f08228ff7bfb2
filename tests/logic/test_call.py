# ruff: noqa: E501  (programs in tables stay on their lines)
"""Calls and previews: data as one snapshot, console, hints, positions of errors, budgets (cases A, B, H, hostile)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language import MOMENT_FLICKS, Rows, World, empty_world, pool

from engine import limits
from engine.logic import Engine, KeyRead, RangeRead, VmPool
from engine.logic import call as call_definition
from engine.logic.call import milliseconds_of
from engine.logic.call_host import CONSOLE_CUT
from engine.logic.failures import ENDS_EARLY
from engine.logic.source import file_of


def test_an_unknown_name_is_missing_and_runs_nothing() -> None:
    for name in ("nope", "toString", "constructor", "__proto__", "define", "a b", "", "a\nb"):
        outcome = empty_world().call(name)
        assert (outcome.ok, outcome.missing, outcome.failure) == (False, True, None), name
    world = World()
    world.develop("define('f', () => nope()); define('g', () => 1)")
    assert not world.call("g").missing
    outcome = world.call("f")
    failure = outcome.failure
    assert failure is not None and not outcome.missing
    assert (failure.kind, failure.headline) == ("threw", "ReferenceError: nope is not defined")


def test_an_async_function_answers_with_what_it_settles_to() -> None:
    world = World()
    world.develop(
        'define("dbl", async x => { await 0; return 2*x }); define("never", () => new Promise(() => {}))'
    )
    assert world.result("dbl", 4) == 8
    failure = world.call("never").failure
    assert failure is not None and failure.kind == "pending"


def test_the_clock_of_a_call_is_its_flick() -> None:
    world = empty_world()
    assert world.value("[Date.now(), performance.now() === performance.now(), new Date().toISOString()]") == [
        1_700_000_000_000,
        True,
        "2023-11-14T22:13:20.000Z",
    ]
    assert milliseconds_of(MOMENT_FLICKS + 705_600) == 1_700_000_000_001


def test_draws_differ_by_seed_and_repeat_with_it() -> None:
    world = World()
    world.develop(
        "define('draw', async () => { const a = Math.random(); await 0; return [a, Math.random()] })"
    )
    first = json.loads(world.call("draw", seed=1).value or b"")
    assert first == json.loads(world.call("draw", seed=1).value or b"")
    assert first != json.loads(world.call("draw", seed=2).value or b"")
    assert first[0] != first[1]


def test_a_call_sees_its_own_writes_and_leaves_the_heap_alone() -> None:
    world = World()
    world.develop(
        """
        const s = state("s", () => ({ n: 0 }))
        define("bump", () => {
          s.n++
          const stored = (data.get("n") ?? 0) + 1
          const returned = data.set("n", stored)
          return [s.n, stored, returned, data.get("n")]
        })
        """
    )
    assert world.result("bump") == [1, 1, 1, 1]
    assert world.result("bump") == [1, 2, 2, 2]
    assert world.data == {"n": b"2"}


def test_data_keeps_json_copies_under_text_keys() -> None:
    world = World()
    world.develop(
        r"""
        define("run", () => {
          const value = { a: undefined, n: NaN, m: new Map([["k", 1n]]) }
          const same = data.set(5, value) === value
          value.a = "later"
          data.set(null, undefined)
          data.set("\ud800", "\udc00")
          data.set("line\nfeed", [1])
          return [same, data.get("5"), data.get("null"), data.get("missing") === undefined, data.get("\ud800") === "\udc00",
                  data.get("line\nfeed"), data.delete("5"), data.delete("5"), data.get(5) === undefined]
        })
        """
    )
    assert world.result("run") == [
        True,
        {"n": None, "m": {"k": "1"}},
        None,
        True,
        True,
        [1],
        True,
        False,
        True,
    ]
    assert world.data == {"null": b"null", "\ud800": b'"\\udc00"', "line\nfeed": b"[1]"}


def test_reads_and_writes_are_recorded_in_their_order() -> None:
    world = World()
    world.data = {"a": b"1", "p:1": b"1", "p:2": b"2", "p:3": b"3"}
    outcome = world.execute(
        """(() => {
          data.get("a"); data.get("a"); data.get("b")
          data.set("w", 1); data.get("w"); data.set("x", 2); data.set("w", 3); data.delete("a")
          data.list("p:"); data.list("p:", { limit: 2 }); data.list("p:", { after: "p:1", limit: 1 })
        })()"""
    )
    assert outcome.reads == (
        KeyRead("a"),
        KeyRead("b"),
        RangeRead("p:", None, None),
        RangeRead("p:", None, "p:3"),
        RangeRead("p:", "p:1", "p:3"),
    )
    assert outcome.writes == (("x", b"2"), ("w", b"3"), ("a", None))


def test_a_failed_call_tells_its_writes_and_they_are_void() -> None:
    world = World()
    world.develop("define('f', () => { data.set('k', 1); throw new Error('after') })")
    outcome = world.call("f")
    assert outcome.failure is not None
    assert outcome.failure.headline == "Error: after"
    assert world.data == {}


def test_rows_are_sorted_by_code_point() -> None:
    world = World()
    world.data = {key: b"0" for key in ("t:b", "t:a", "t:\U00010000", "t:\uffff", "t:\ud800", "u")}
    rows = world.value("[data.list('t:').map((row) => row.key), Object.keys(data.list('t:a')[0])]")
    assert rows == [["t:a", "t:b", "t:\ud800", "t:\uffff", "t:\U00010000"], ["key", "value"]]


def test_the_own_writes_are_among_the_rows() -> None:
    world = World()
    world.data = {"k1": b"1", "k3": b"3", "k5": b"5"}
    listed = world.value(
        """(() => {
          data.set("k2", 2); data.delete("k3"); data.set("k5", 55); data.set("k6", 6)
          const page = data.list("k", { limit: 2 })
          return [data.list("k"), page, page.next, data.list("k", { limit: 2, after: page.next }), data.list("k", { limit: 4 }).next]
        })()"""
    )
    rows = [
        {"key": "k1", "value": 1},
        {"key": "k2", "value": 2},
        {"key": "k5", "value": 55},
        {"key": "k6", "value": 6},
    ]
    assert listed == [rows, rows[:2], "k2", rows[2:], None]


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["set", "delete"]), st.sampled_from(["a", "ab", "b", "c", "ca"])), max_size=6
)


@settings(max_examples=30)
@given(
    before=st.sets(st.sampled_from(["a", "ab", "b", "c", "ca", "cb"])),
    operations=OPERATIONS,
    limit=st.integers(1, 4),
    prefix=st.sampled_from(["", "a", "c", "x"]),
)
def test_paging_gives_what_one_list_gives(
    before: set[str], operations: list[tuple[str, str]], limit: int, prefix: str
) -> None:
    world = World(empty_world().image)
    world.data = {key: b"0" for key in before}
    model = dict.fromkeys(before, 0)
    for op, key in operations:
        if op == "set":
            model[key] = 1
        else:
            model.pop(key, None)
    script = "".join(f"data.{op}({json.dumps(key)}{', 1' if op == 'set' else ''});" for op, key in operations)
    pages = world.value(
        f"""(() => {{
          {script}
          const pages = []; let after
          do {{
            const page = data.list({json.dumps(prefix)}, {{ limit: {limit}, after }})
            pages.push(page.map((row) => [row.key, row.value])); after = page.next
          }} while (after !== undefined)
          return [pages.flat(), data.list({json.dumps(prefix)}).map((row) => [row.key, row.value]), pages.length]
        }})()"""
    )
    wanted = [[key, model[key]] for key in sorted(model) if key.startswith(prefix)]
    assert pages[0] == pages[1] == wanted
    assert pages[2] == max(1, -(-len(wanted) // limit))


def test_ten_thousand_rows_are_listed_at_once_and_no_more() -> None:
    world = World()
    world.data = {f"k{number:05}": b"0" for number in range(limits.DATA_ROWS_UNPAGED_MAX)}
    assert world.value("[data.list('').length, data.list().next]") == [10_000, None]
    world.data["k99999"] = b"1"
    kind, headline = world.failure("data.list('')")
    assert kind == "threw"
    assert headline == (
        'RangeError: data.list: more than 10000 keys begin with ""; page with {limit: 1000}, '
        "then {limit: 1000, after: rows.next} while there is a next"
    )
    paging = """(() => {
      let count = 0, after, pages = 0
      do { const rows = data.list("", { limit: 1000, after }); count += rows.length; after = rows.next; pages++ } while (after !== undefined)
      return [count, pages, data.list("", { limit: 10001 }).length]
    })()"""
    assert world.value(paging) == [10_001, 11, 10_001]


DATA_REFUSALS = [
    (
        "data.set('k', 'x'.repeat(262143))",
        "size",
        'RangeError: data.set: the value of "k" is 262145 bytes of JSON; at most 262144 are kept under one key',
    ),
    (
        "data.set('k'.repeat(1025), 1)",
        "size",
        "RangeError: data: a key is 1025 bytes; at most 1024 are allowed",
    ),
    ("data.get('é'.repeat(513))", "size", "RangeError: data: a key is 1026 bytes; at most 1024 are allowed"),
    ("data.list('', { limit: 0 })", "threw", "TypeError: data.list: the limit must be an integer >= 1"),
    ("data.list('', { limit: '5' })", "threw", "TypeError: data.list: the limit must be an integer >= 1"),
    (
        "data.list('', null)",
        "threw",
        "TypeError: data.list: the options must be an object such as {after, limit}",
    ),
    (
        "data.list('', { foo: 1 })",
        "threw",
        "TypeError: data.list: there is no option foo; there are after, limit",
    ),
    (
        "data.list('', { after: 5 })",
        "threw",
        "TypeError: data.list: after must be text, the key to go on behind, not number",
    ),
    ("data.list(5)", "threw", "TypeError: data.list: the prefix must be text, not number"),
    ("data.get()", "threw", "TypeError: data.get: the key is missing"),
    ("data.set(undefined, 1)", "threw", "TypeError: data.set: the key is missing"),
    ("data.delete()", "threw", "TypeError: data.delete: the key is missing"),
    (
        "data.set('k', (() => { const o = {}; o.o = o; return o })())",
        "threw",
        "TypeError: circular reference",
    ),
]


@pytest.mark.parametrize(("expression", "kind", "headline"), DATA_REFUSALS)
def test_data_refuses_what_is_too_large_or_of_another_kind(expression: str, kind: str, headline: str) -> None:
    assert empty_world().failure(expression) == (kind, headline)


def test_the_empty_text_is_a_key_like_any_other() -> None:
    assert empty_world().value("[data.set('', 1), data.get(''), data.list('')[0].key, data.delete('')]") == [
        1,
        1,
        "",
        True,
    ]


def test_data_takes_what_is_just_as_large_as_allowed() -> None:
    outcome = empty_world().execute("(data.set('k'.repeat(1024), 'x'.repeat(262142)), 1)")
    assert outcome.value == b"1"
    assert len(outcome.writes[0][1] or b"") == limits.DATA_VALUE_BYTES_MAX


def test_a_size_error_that_is_caught_is_no_failure() -> None:
    assert (
        empty_world().value("(() => { try { data.set('k'.repeat(2000), 1) } catch (e) { return e.name } })()")
        == "RangeError"
    )


def test_worlds_lists_none_and_refuses_calls_without_a_grant() -> None:
    world = empty_world()
    assert world.value("worlds.list()") == []
    kind, headline = world.failure("worlds.call('shop', 'f', 1)")
    assert kind == "denied"
    assert headline.startswith('Error: this world may not call "shop": ')
    assert world.failure("worlds.functions('shop')")[0] == "denied"
    assert world.value("worlds.call('shop', 'f').catch((e) => e.name)") == "Error"


def test_the_console_is_captured_with_the_outcome() -> None:
    world = empty_world()
    outcome = world.execute(
        r"""(console.log("a", 1, null, undefined, { b: [1n] }, [new Map([["k", 2]])]), console.warn(() => 1, Symbol("s")),
            console.error(new TypeError("bad")), console.info(), console.debug("\ud800"), console.log((() => { const o = {}; o.o = o; return o })()))"""
    )
    assert outcome.logs == (
        'a 1 null undefined {"b":["1"]} [{"k":2}]',
        "[function anonymous] Symbol(s)",
        "TypeError: bad",
        "",
        "\ud800",
        "[TypeError: circular reference]",
    )
    failed = world.execute("(() => { console.log('before'); throw 1 })()")
    assert failed.logs == ("before",)


def test_the_console_keeps_so_many_lines() -> None:
    lines = limits.CONSOLE_LINES_MAX
    full = empty_world().execute(f"(() => {{ for (let i = 0; i < {lines}; i++) console.log(i) }})()")
    assert full.logs == tuple(str(i) for i in range(lines))
    over = empty_world().execute(f"(() => {{ for (let i = 0; i < {lines + 50}; i++) console.log(i) }})()")
    assert over.logs == (*full.logs, CONSOLE_CUT)


def test_the_console_keeps_so_many_bytes() -> None:
    half = limits.CONSOLE_BYTES_MAX // 2
    full = empty_world().execute(
        f"(() => {{ for (let i = 0; i < 2; i++) console.log('x'.repeat({half})) }})()"
    )
    assert [len(line) for line in full.logs] == [half, half]
    over = empty_world().execute(
        f"(() => {{ console.log('y' + 'é'.repeat({half})); console.log('gone') }})()"
    )
    assert over.logs == ("y" + "é" * (half - 1), CONSOLE_CUT)


HINTS = [
    ('fetch("x")', "a world reaches no network"),
    ("setTimeout(() => 1, 5)", "there are no timers"),
    ("require('fs')", "there are no modules"),
    ("document.title", "there is no page here"),
    ("process.env", "this is not Node"),
    ("new Intl.NumberFormat()", "there is no Intl"),
    ("import('fs')", "there are no modules"),
]


@pytest.mark.parametrize(("expression", "hint"), HINTS)
def test_what_is_absent_fails_with_a_hint(expression: str, hint: str) -> None:
    failure = empty_world().execute(expression).failure
    assert failure is not None and failure.hint is not None
    assert failure.headline.startswith("ReferenceError: ")
    assert failure.hint.startswith(hint)


def test_other_errors_carry_no_hint() -> None:
    failure = empty_world().execute("nothing").failure
    assert failure is not None and failure.hint is None


def test_what_is_absent_is_undefined() -> None:
    absent = "[typeof setTimeout, typeof fetch, typeof Intl, typeof require, typeof window, typeof process]"
    assert empty_world().value(absent) == ["undefined"] * 6


def test_positions_are_those_of_the_text_as_written() -> None:
    lines = [
        '/** Doc. */ function thrower(x) { const e = "é"; x.y.field }',
        'const wide = "é\U0001f600"; class Box { open(f) { return f.y.field } }',
        "define('outer', () => {",
        "  return thrower(1) + 1",
        "})",
        "function viaMap() { return [1].map((x) => new Box().open(x)) }",
    ]
    world = World()
    world.develop("\n".join(lines))
    file = world.catalogue.definitions[0].origin

    def at(row: int, text: str) -> str:
        return f"({file}:{row}:{lines[row - 1].index(text) + 1})"

    assert stack_of(world, "outer()")[:2] == [f"thrower {at(1, 'x.y')}", f"outer {at(4, 'thrower')}"]
    assert stack_of(world, "viaMap()")[:4] == [
        f"open {at(2, 'f.y')}",
        f"<anonymous> {at(6, 'x)) }')}",
        "map (native)",
        f"viaMap {at(6, 'map')}",
    ]
    assert stack_of(world, "  outer()")[2:] == [f"<source> ({file_of('  outer()')}:1:3)"]


def stack_of(world: World, expression: str) -> list[str]:
    failure = world.execute(expression).failure
    assert failure is not None
    return [line.removeprefix("    at ") for line in failure.error.split("\n")[1:]]


def test_a_syntax_error_points_into_the_text_as_written() -> None:
    outcome = World().attempt("function ok() {}\nconst é = 5; foo bar")
    assert outcome.kind == "syntax"
    assert outcome.reason.split("\n")[1].endswith(":2:18")


@pytest.mark.parametrize(
    ("expression", "position"),
    [("dbl(", "1:5"), ("1 +", "1:4"), ("[1,\n(2", "2:3"), ("f)", "1:3"), ("(() => {", "1:9"), ("é(", "1:3")],
)
def test_a_text_that_ends_too_early_is_told_so_at_its_end(expression: str, position: str) -> None:
    wanted = f"{ENDS_EARLY}\n    at {file_of(expression)}:{position}"
    failure = empty_world().execute(expression).failure
    assert failure is not None
    assert (failure.kind, failure.error) == ("syntax", wanted)


@pytest.mark.parametrize("commonjs", [None, "lib"])
def test_so_is_a_source(commonjs: str | None) -> None:
    outcome = World().attempt("const a = 1\nconst b = [a,", commonjs=commonjs)
    assert outcome.kind == "syntax"
    assert outcome.reason.split("\n")[0] == ENDS_EARLY
    assert outcome.reason.endswith(":2:14")


def test_errors_are_bounded() -> None:
    failure = empty_world().execute("(() => { throw new Error('x'.repeat(100000)) })()").failure
    assert failure is not None
    assert len(failure.error) == limits.ERROR_CHARS_MAX


RECURSIONS = [
    "(() => { const f = () => f() + 1; return f() })()",
    "(() => { const o = { toString() { return `${o}` } }; return `${o}` })()",
    "(() => { const p = new Proxy({}, { get: (t, k, r) => r[k] }); return p.x })()",
    "JSON.parse('['.repeat(1e6))",
    "(() => { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a.flat(Infinity) })()",
    "(() => { define('r', (n) => r(n + 1)); return r(0) })()",
]


@pytest.mark.parametrize("expression", RECURSIONS)
def test_unbounded_recursion_can_be_caught(expression: str) -> None:
    world = empty_world()
    caught = world.value(f"(() => {{ try {{ return {expression} }} catch (e) {{ return e.name }} }})()")
    assert caught in ("RangeError", "SyntaxError")
    assert world.execute(expression).failure is not None
    assert world.value("1 + 1") == 2


SMALL_FUEL = 30_000_000
ENDLESS = [
    "Array.prototype.indexOf.call({ length: 4294967295 }, 9)",
    "Array.prototype.every.call({ length: 4294967295 }, () => true)",
    "(() => { const a = []; a.length = 1e9; return String(a).length })()",
    '/^(x+)+$/.test("x".repeat(36) + "!")',
    "(() => { for (;;) {} })()",
    "(async () => { for (;;) await 0 })()",
    "(async () => { let s = 0; for (let i = 0; i < 1000; i++) s += i; await 0; for (;;) s++ })()",
    "(() => { for (;;) console.log('x') })()",
    "(() => { for (;;) data.get('x') })()",
]


@pytest.mark.parametrize("expression", ENDLESS)
def test_what_never_ends_ends_with_the_budget(expression: str) -> None:
    world = empty_world()
    outcome = world.execute(expression, fuel=SMALL_FUEL)
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.fuel) == ("budget", SMALL_FUEL)
    assert world.value("1 + 1") == 2


def test_one_budget_covers_what_comes_before_and_after_an_await() -> None:
    world = World()
    world.develop(
        """
        const spin = (n) => { let s = 0; for (let i = 0; i < n; i++) s ^= i; return s }
        define("both", async (a, b) => { spin(a); await 0; spin(b); return 'done' })
        """
    )
    first, both = world.call("both", 20_000, 0).fuel, world.call("both", 20_000, 20_000).fuel
    assert both - first > (first - world.call("both", 0, 0).fuel) * 0.9
    failure = world.call("both", 20_000, 20_000, fuel=first + 1000).failure
    assert failure is not None and failure.kind == "budget"


def test_memory_that_runs_out_is_a_failure_and_no_more() -> None:
    world = empty_world()
    failure = world.execute("(() => { const a = []; for (;;) a.push(new Array(100000).fill(1)) })()").failure
    assert failure is not None and failure.kind == "memory"
    failure = world.execute("new Uint8Array(1e9).fill(1)").failure
    assert failure is not None and failure.kind in ("memory", "threw")
    assert world.value("1") == 1


class Interrupting:
    """Data whose reading is interrupted, as by Ctrl-C."""

    def get(self, key: str) -> bytes | None:
        raise KeyboardInterrupt

    def list(self, prefix: str, after: str | None, limit: int | None) -> list[tuple[str, bytes]]:
        return []


def test_an_interrupt_inside_a_host_function_fails_the_call_alone() -> None:
    world = World()
    world.develop("define('f', () => { data.set('w', 1); return data.get('k') })")

    def run(data: object) -> object:
        return call_definition(
            pool(),
            world.image,
            "f",
            b"[]",
            flick=0,
            seed=1,
            fuel=10**9,
            data=data,
            source_lookup=world.source,  # type: ignore[arg-type]
        )

    outcome = run(Interrupting())
    assert outcome.failure.kind == "trap"  # type: ignore[attr-defined]
    assert run(Rows({"k": b"5"})).value == b"5"  # type: ignore[attr-defined]


def test_both_paths_give_the_same_outcome(c_engine: Engine, python_engine: Engine) -> None:
    world = World()
    world.develop(
        "define('f', async (n) => { console.log(n); data.set('k', n); await 0; return [Math.random(), data.list('')] })"
    )

    def run(engine: Engine) -> object:
        return call_definition(
            VmPool(engine),
            world.image,
            "f",
            b"[3]",
            flick=5,
            seed=1,
            fuel=10**9,
            data=Rows({"a": b"1"}),
            source_lookup=world.source,
        )

    assert run(c_engine) == run(python_engine)


def test_fuel_is_the_same_each_time_and_whatever_ran_before() -> None:
    world = World()
    world.develop("define('f', (n) => { let s = 0; for (let i = 0; i < n; i++) s += i * 1.5; return s })")
    first = world.call("f", 1000)
    world.call("f", 50_000)
    world.execute("nothing")
    assert world.call("f", 1000) == first
