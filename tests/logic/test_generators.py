"""Generators: what each draws, what is refused, and the smallest counterexamples, beside plain Hypothesis."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import threading
from datetime import datetime
from functools import cache
from pathlib import Path

import pytest
from hypothesis import Phase, find, settings
from hypothesis import strategies as st
from judged import JudgedWorld

from engine import limits
from engine.logic import VmPool, vm_thread_stack_bytes

SAFE_MAX = 2**53 - 1


@cache
def world() -> JudgedWorld:
    world = JudgedWorld()
    world.develop("function holds() { return true }")
    return world


def drawn(generator: str, seed: int = 20):
    return world().inputs(generator, seed=seed)


# ---- what is drawn


def test_ints_are_safe_unless_bounds_say_otherwise():
    values = drawn("gen.int()")
    assert len(values) == limits.CHECK_INPUTS
    assert all(isinstance(n, int) and -SAFE_MAX <= n <= SAFE_MAX for n in values)
    assert min(values) < 0 < max(values) and 0 in values


def test_ints_keep_their_bounds_and_are_all_drawn_when_they_are_few():
    assert sorted(drawn("gen.int(-2, 3)")) == [-2, -1, 0, 1, 2, 3]


def test_floats_are_finite_and_keep_their_bounds():
    assert all(math.isfinite(x) for x in drawn("gen.float()"))
    values = drawn("gen.float(-0.5, 2)")
    assert all(-0.5 <= x <= 2 for x in values) and any(x != int(x) for x in values)


def test_bools_constants_and_choices():
    assert sorted(drawn("gen.bool()")) == [False, True]
    assert drawn("gen.constant({a: [1, null]})") == [{"a": [1, None]}]
    assert sorted(drawn("gen.oneOf('a', gen.constant('b'), 'c')")) == ["a", "b", "c"]


def test_an_optional_value_may_be_null():
    values = drawn("gen.optional(gen.int(1, 3))")
    assert None in values and {1, 2, 3} == {v for v in values if v is not None}


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def test_text_is_all_of_unicode_and_the_hostile_too():
    texts = [text for seed in range(4) for text in drawn("gen.text()", seed)]
    chars = {char for text in texts for char in text}
    assert any(char > "\uffff" for char in chars) and any(char < " " for char in chars)
    assert any("\ud800" <= char <= "\udfff" for char in chars)
    assert {"__proto__", "constructor", "</script><script>"} & set(texts)


def test_text_is_as_long_as_javascript_counts():
    assert {utf16_units(text) for text in drawn("gen.text({min: 2, max: 3})")} == {2, 3}
    assert {utf16_units(text) for text in drawn("gen.text({min: 1, max: 1})")} == {1}


def test_arrays_tuples_records_and_maps_have_their_shapes():
    assert {len(value) for value in drawn("gen.array(gen.int(), {min: 1, max: 3})")} == {1, 2, 3}
    assert all(type(n) is int and type(b) is bool for n, b in drawn("gen.tuple(gen.int(), gen.bool())"))
    for record in drawn("gen.record({name: gen.text(), inner: gen.record({n: gen.int()}), kind: 'k'})"):
        assert list(record) == ["name", "inner", "kind"]
        assert type(record["inner"]["n"]) is int and record["kind"] == "k"
    maps = drawn("gen.map(gen.text(), gen.int(), {min: 1, max: 4})")
    assert {len(value) for value in maps} == {1, 2, 3, 4}


def test_a_field_or_key_may_be_called_proto():
    assert drawn("gen.record({['__proto__']: gen.constant(1)})") == [{"__proto__": 1}]
    assert drawn("gen.map(gen.constant('__proto__'), gen.constant(1), {min: 1})") == [{"__proto__": 1}]


def test_dates_are_iso_texts_within_their_bounds():
    moments = [datetime.fromisoformat(text) for text in drawn("gen.date()")]
    assert len({moment.year for moment in moments}) > 5
    few = drawn("gen.date('2024-02-28', '2024-03-01')")
    assert all("2024-02-28T00:00:00.000Z" <= text <= "2024-03-01T00:00:00.000Z" for text in few)
    assert "2024-02-29T00:00:00.000Z" in few


def depth(value) -> int:
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


def test_recursive_values_nest_and_end():
    values = drawn("gen.recursive(gen.int(0, 9), (self) => gen.array(self, {max: 3}))")
    assert {0, 1, 2} <= {depth(value) for value in values}


def test_recursions_may_lie_within_recursions():
    values = drawn(
        "gen.recursive(gen.bool(), (outer) => gen.record({a: outer, "
        "list: gen.recursive(outer, (inner) => gen.tuple(inner, outer))}))"
    )
    assert any(isinstance(value, dict) and isinstance(value["list"], list) for value in values)


def test_map_and_filter_run_in_the_world():
    world().develop("function twice(n) { return 2 * n }")
    assert sorted(drawn("gen.int(0, 20).filter((n) => n % 5 === 0).map(twice)")) == [0, 10, 20, 30, 40]
    mapped = drawn("gen.array(gen.int(0, 9).map((n) => ({n})).filter(({n}) => n > 6), {min: 1, max: 2})")
    assert {entry["n"] for value in mapped for entry in value} == {7, 8, 9}


def test_a_generator_is_an_expression_of_the_world():
    world().develop("function trips(gen) { return gen.record({days: gen.int(1, 30)}) }")
    assert all(1 <= trip["days"] <= 30 for trip in drawn("trips(gen)"))


def test_gen_is_there_for_generators_only():
    assert (
        world()
        .refuse("() => gen", "", "gen.int()")[1]
        .startswith("it does not hold now: threw ReferenceError: gen is not defined")
    )
    assert world().value("typeof gen") == "undefined"


def test_what_generators_do_to_the_heap_is_gone():
    drawn("(state('s', () => ({})).n = 1, gen.int(0, state('s', () => ({})).n))")
    assert world().value("state('s', () => ({}))") == {}


@pytest.mark.parametrize(
    ("generator", "reason"),
    [
        ("gen.int(5, 1)", "RangeError: gen.int: nothing lies between 5 and 1"),
        ("gen.int(0.5)", "TypeError: gen.int: 0.5 is no bound for it"),
        ("gen.float(0, Infinity)", "TypeError: gen.float: Infinity is no bound for it"),
        ("gen.text({max: -1})", "TypeError: gen.text: -1 is no bound for it"),
        ("gen.text(5)", "TypeError: gen.text: the lengths are an object such as {min: 1, max: 5}"),
        ("gen.array(gen.int(), {min: 3, max: 2})", "RangeError: gen.array: nothing lies between 3 and 2"),
        ("gen.array()", "TypeError: gen.array: expected a generator or a JSON value, not undefined"),
        ("gen.oneOf()", "TypeError: gen.oneOf: there is nothing to choose from"),
        ("gen.record(gen.int())", "TypeError: gen.record: expected an object of generators"),
        ("gen.date('soon')", "TypeError: gen.date: NaN is no bound for it"),
        ("gen.int", "TypeError: gen.constant: expected a generator or a JSON value, not [function int]"),
        ("gen.int().map(5)", "TypeError: gen: map takes a function"),
        ("gen.recursive(1, 2)", "TypeError: gen: recursive takes a function"),
        ("gen.int().map(async (n) => n)", "TypeError: gen: map returns a value, not a promise"),
        ("gen.int().map(() => { throw new Error('no') })", "Error: no"),
        ("gen.int().filter(() => { throw new Error('no') })", "Error: no"),
        ("gen.int().filter(() => false)", "hardly anything can be drawn: its filters let too little through"),
        (
            "gen.constant('x'.repeat(70000))",
            "hardly anything can be drawn: its filters let too little through",
        ),
        (
            "(gen.recursive(1, (s) => (globalThis.Math, keep.s = s, s)), keep.s)",
            "ReferenceError: keep is not defined",
        ),
        (
            "data.get('k')",
            "TypeError: data.get works in calls only, not while the inputs of a check are drawn",
        ),
        (
            "gen.int().map(() => data.get('k'))",
            "TypeError: data.get works in calls only, not while the inputs",
        ),
        (
            "worlds.list()",
            "TypeError: gen.constant: expected a generator or a JSON value, not a promise",
        ),
        (
            "Array.from({length: 60}).reduce((g) => gen.tuple(g), gen.int())",
            "the generator is 61 parts deep; at most 40 are allowed",
        ),
        (
            "gen.tuple(...Array.from({length: 1000}, () => gen.int()))",
            "the generator has 1001 parts; at most 1000 are allowed",
        ),
    ],
)
def test_what_is_no_generator_is_refused_with_its_reason(generator, reason):
    kind, told = world().refuse("() => true", "", generator)
    assert kind == "threw" and told.startswith(f"the generator: {reason}"), told


def test_the_self_of_a_recursion_is_of_no_use_outside_of_it():
    generator = (
        "((kept) => { gen.recursive(1, (self) => { kept = self; return 1 }); return gen.array(kept) })()"
    )
    reason = "the generator: gen.recursive: its `self` is used outside of it"
    assert world().refuse("() => true", "", generator) == ("threw", reason)


def test_recursions_that_unfold_too_far_are_refused():
    generator = "gen.tuple(s0, s1, s2, s3, s4, s5)"
    for number in reversed(range(6)):
        generator = f"gen.recursive(1, (s{number}) => {generator})"
    reason = "the generator: the generator's recursions unfold too far: nest fewer of them"
    assert world().refuse("() => true", "", generator) == ("threw", reason)


def test_as_many_strategies_as_there_may_be_are_built_and_not_one_more(monkeypatch):
    monkeypatch.setattr(limits, "GENERATOR_STRATEGIES_MAX", 3)
    two = "gen.tuple(gen.int(), gen.bool())"
    assert len(drawn(two)) > 0
    three = "gen.tuple(gen.int(), gen.bool(), gen.int())"
    reason = "the generator: the generator's recursions unfold too far: nest fewer of them"
    assert world().refuse("() => true", "", three) == ("threw", reason)


def test_a_generator_that_never_ends_is_refused(monkeypatch):
    monkeypatch.setattr(limits, "GENERATOR_FUEL_MAX", 100_000_000)
    assert world().refuse("() => true", "", "(() => { for (;;); })()")[0] == "budget"
    assert world().refuse("() => true", "", "gen.int().map(() => { for (;;); })")[0] == "budget"


# ---- the smallest


def peer(strategy: st.SearchStrategy, is_counterexample):
    """What plain Hypothesis finds."""
    quiet = settings(database=None, deadline=None, max_examples=2000, phases=[Phase.generate, Phase.shrink])
    return find(strategy, is_counterexample, settings=quiet, random=random.Random(20))


INTS = "gen.array(gen.int())"
BOUND = "gen.tuple(gen.array(gen.int(-32768, 32767)), gen.array(gen.int(-32768, 32767)))"
ITEM = "gen.record({price: gen.float(0, 1000), count: gen.int(0, 100), tag: gen.optional(gen.text())})"
item = st.fixed_dictionaries(
    {"price": st.floats(0, 1000), "count": st.integers(0, 100), "tag": st.none() | st.text()}
)
ints = st.lists(st.integers(-SAFE_MAX, SAFE_MAX))
CASES = {
    "reverse-concat": (
        "([a, b]) => String([...a, ...b].reverse()) === String([...a.toReversed(), ...b.toReversed()])",
        f"gen.tuple({INTS}, {INTS})",
        [[[0], [1]]],
        st.tuples(ints, ints),
        lambda v: [*v[0], *v[1]][::-1] != [*v[0][::-1], *v[1][::-1]],
    ),
    "bound-sum": (
        "(xs) => xs.reduce((a, b) => a + b, 0) < 1000",
        "gen.array(gen.int(0, 500))",
        [[500, 500]],
        st.lists(st.integers(0, 500)),
        lambda v: sum(v) >= 1000,
    ),
    "length-of-list": (
        "(xs) => xs.length < 5",
        INTS,
        [[0, 0, 0, 0, 0]],
        ints,
        lambda v: len(v) >= 5,
    ),
    "large-element": (
        "(xs) => xs.every((x) => x < 900)",
        "gen.array(gen.int(0, 1000), {min: 1})",
        [[900]],
        st.lists(st.integers(0, 1000), min_size=1),
        lambda v: any(x >= 900 for x in v),
    ),
    "distinct": (
        "(xs) => new Set(xs).size < 3",
        INTS,
        [[0, 1, -1], [0, -1, 1], [-1, 0, 1]],
        ints,
        lambda v: len(set(v)) >= 3,
    ),
    "sorted": (
        "(xs) => String(xs) === String(xs.toSorted((a, b) => a - b))",
        INTS,
        [[0, -1], [1, 0]],
        ints,
        lambda v: v != sorted(v),
    ),
    "text-length": (
        "(t) => t.length < 3",
        "gen.text()",
        ["000"],
        st.text(),
        lambda v: len(v) >= 3,
    ),
    "nested-records": (
        "(r) => r.a.b.c < 10",
        "gen.record({a: gen.record({b: gen.record({c: gen.int(), d: gen.text()})}), e: gen.bool()})",
        [{"a": {"b": {"c": 10, "d": ""}}, "e": False}],
        st.fixed_dictionaries(
            {
                "a": st.fixed_dictionaries(
                    {"b": st.fixed_dictionaries({"c": st.integers(-SAFE_MAX, SAFE_MAX), "d": st.text()})}
                ),
                "e": st.booleans(),
            }
        ),
        lambda v: v["a"]["b"]["c"] >= 10,
    ),
    "records-in-lists": (
        "(r) => r.items.every((i) => i.tag === null)",
        f"gen.record({{name: gen.text(), items: gen.array({ITEM})}})",
        [{"name": "", "items": [{"price": 0, "count": 0, "tag": ""}]}],
        st.fixed_dictionaries({"name": st.text(), "items": st.lists(item)}),
        lambda v: any(i["tag"] is not None for i in v["items"]),
    ),
    "mapped": (
        "(n) => n < 100",
        "gen.int(0, 1000).filter((n) => n % 2 === 0).map((n) => n + 1)",
        [101],
        st.integers(0, 1000).filter(lambda n: n % 2 == 0).map(lambda n: n + 1),
        lambda v: v >= 100,
    ),
    "recursive": (
        "(v) => !JSON.stringify(v).includes('[[')",
        "gen.recursive(gen.int(0, 9), (self) => gen.array(self, {max: 3}))",
        [[[]]],
        st.recursive(st.integers(0, 9), lambda s: st.lists(s, max_size=3), max_leaves=16),
        lambda v: "[[" in json.dumps(v),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_shrinking_reaches_the_minimal_counterexample_as_plain_hypothesis_does(case):
    expression, generator, minimal, strategy, is_counterexample = CASES[case]
    assert world().counterexample(expression, generator) in minimal
    assert json.loads(json.dumps(peer(strategy, is_counterexample))) in minimal


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_smallest_does_not_depend_on_the_seed(seed):
    expression, generator, minimal, _, _ = CASES["reverse-concat"]
    assert world().counterexample(expression, generator, seed=seed) in minimal


def test_a_date_shrinks_towards_2000():
    smallest = world().counterexample("(t) => t < '2001' || t > '2999'", "gen.date()")
    assert smallest == "2001-01-01T00:00:00.000Z"


# ---- nothing around it


def test_while_a_search_runs_other_threads_draw_their_own_random_numbers(monkeypatch):
    before, seen = random.getstate(), []
    run = VmPool.run

    def noting(self, job):
        seen.append(random.getstate())
        return run(self, job)

    monkeypatch.setattr(VmPool, "run", noting)
    assert world().counterexample("(n) => n < 40", "gen.int()") == 40
    assert len(seen) > 10
    assert all(state == before for state in seen)


def test_searches_leave_nothing_behind(tmp_path):
    script = f"""
import random, sys, threading
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[2])!r}]
from engine.logic import vm_thread_stack_bytes
def main():
    import judged
    world = judged.JudgedWorld()
    world.develop("function holds() {{ return true }}")
    before = random.getstate()
    world.inputs("gen.tuple(gen.text(), gen.float(), gen.date())")
    assert world.counterexample("([t]) => t.length < 3", "gen.tuple(gen.text(), gen.int())") == ["000", 0]
    assert random.getstate() == before
threading.stack_size(vm_thread_stack_bytes)
failed = []
threading.excepthook = lambda args: failed.append(args.exc_value)
thread = threading.Thread(target=main); thread.start(); thread.join()
sys.exit(repr(failed) if failed else 0)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_hypothesis_is_imported_only_when_something_is_drawn():
    script = "import sys; import engine.logic; sys.exit('hypothesis' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0


def test_searches_on_many_threads_find_what_they_find_alone():
    expression, generator, _, _, _ = CASES["bound-sum"]
    alone = [world().counterexample(expression, generator, seed=seed) for seed in range(3)]
    together: dict[int, object] = {}

    def search(seed: int) -> None:
        together[seed] = world().counterexample(expression, generator, seed=seed)

    before = threading.stack_size(vm_thread_stack_bytes)
    threads = [threading.Thread(target=search, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    threading.stack_size(before)
    for thread in threads:
        thread.join()
    assert [together[seed] for seed in range(3)] == alone
