"""Checks: what holds, what is refused, and what every change is judged by."""

from __future__ import annotations

import json

import pytest
from judged import JudgedWorld, renamed

from engine import limits
from engine.logic import Broken, Check

DOUBLE = "function dbl(n) { return 2 * n }"
NEGATIVE = "function dbl(n) { return -2 * n }"


def doubling() -> JudgedWorld:
    world = JudgedWorld()
    world.develop(DOUBLE)
    return world


def test_a_change_that_breaks_a_check_is_refused_by_its_name():
    world = doubling()
    world.enrol("dbl(2) === 4", NEGATIVE, name="doubles")
    assert world.change(NEGATIVE) == Broken(check="doubles", kind="check", reason="returned false")
    assert world.result("dbl", 3) == 6


def test_a_change_that_breaks_nothing_goes_through():
    world = doubling()
    world.enrol("dbl(2) === 4", NEGATIVE)
    assert world.change("function dbl(n) { return n + n }") is None
    assert world.result("dbl", 3) == 6


def test_enrolling_leaves_the_world_as_it_was():
    world = doubling()
    root, names = world.image.root, world.names
    world.enrol("(dbl(2), state('s', () => ({})).n = 1, true) && dbl(2) === 4", NEGATIVE)
    assert (world.image.root, world.names) == (root, names)


def test_a_check_without_a_generator_has_no_inputs_and_is_enrolled_as_it_was_proposed():
    world = doubling()
    assert world.enrol("dbl(2) === 4", NEGATIVE, name="n", seed=3) == Check(
        name="n", expression="dbl(2) === 4", counterexample=NEGATIVE, generator=None, inputs=(), seed=3
    )


@pytest.mark.parametrize("counterexample", [NEGATIVE, "", "// nothing", DOUBLE])
def test_a_check_that_still_holds_with_its_counterexample_is_vacuous(counterexample):
    world = doubling()
    reason = "it still holds with the counterexample: a check must be able to fail"
    assert world.refuse("true", counterexample) == ("vacuous", reason)


def test_a_check_that_does_not_hold_now_is_refused():
    world = doubling()
    assert world.refuse("dbl(2) === 5", NEGATIVE) == ("check", "it does not hold now: returned false")


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("dbl(2) - 3", "1"),
        ("'true'", '"true"'),
        ("undefined", "undefined"),
        ("null", "null"),
        ("NaN", "NaN"),
        ("-0", "0"),
        ("1n", "1n"),
        ("Symbol('s')", "Symbol(s)"),
        ("{a: 1}", '{"a":1}'),
        ("[true]", "[true]"),
        ("dbl", "[function dbl]"),
        ("new Boolean(true)", "an object that reads as true"),
        ("({toJSON: () => true})", "an object that reads as true"),
        ("new Proxy(new Boolean(true), {})", "{}"),
        ("Promise.resolve(1)", "1"),
        ("({then: (resolve) => resolve('true')})", '"true"'),
        ("(() => { const a = []; a.push(a); return a })()", "a value that has no JSON text"),
        ("'x'.repeat(5000)", '"' + "x" * (limits.CHECK_SHOWN_CHARS_MAX - 2) + "…"),
    ],
)
def test_only_true_itself_is_true(expression, shown):
    world = doubling()
    assert world.refuse(expression, NEGATIVE) == ("check", f"it does not hold now: returned {shown}")


@pytest.mark.parametrize(
    "expression", ["Promise.resolve(dbl(2) === 4)", "(async () => dbl(await 2) === 4)()"]
)
def test_a_check_may_settle_to_true(expression):
    world = doubling()
    world.enrol(expression, NEGATIVE)
    broken = world.judged(NEGATIVE)
    assert broken is not None and broken.reason == "returned false"


def test_a_check_that_throws_says_what():
    world = doubling()
    world.enrol("dbl(2) === 4", NEGATIVE)
    broken = world.judged("function dbl() { throw new RangeError('no doubling') }")
    assert broken is not None and broken.kind == "check"
    assert broken.reason.startswith("threw RangeError: no doubling\n    at dbl (pw:")


def test_a_check_that_never_settles_does_not_hold():
    world = doubling()
    kind, reason = world.refuse("new Promise(() => {})", NEGATIVE)
    assert (kind, reason[:58]) == ("check", "it does not hold now: the promise that it returned never s")


def test_a_check_that_runs_for_ever_does_not_hold(monkeypatch):
    world = doubling()
    monkeypatch.setattr(limits, "CHECK_FUEL_MAX", 50_000_000)
    world.enrol("dbl(2) === 4", NEGATIVE)
    broken = world.judged("function dbl() { for (;;); }")
    assert broken is not None and broken.kind == "check"
    assert broken.reason.startswith("the budget ended: ")


@pytest.mark.parametrize(
    ("expression", "counterexample", "generator", "reason"),
    [
        ("dbl(", NEGATIVE, None, "SyntaxError: unexpected end: "),
        ("", NEGATIVE, None, "SyntaxError: expected an expression, got nothing"),
        ("1; 2", NEGATIVE, None, "SyntaxError: expected one expression"),
        ("await dbl(2)", NEGATIVE, None, "SyntaxError: no await at the top level"),
        ("dbl(2) === 4", "function (", None, "the counterexample: SyntaxError: "),
        ("x => true", NEGATIVE, "gen.int(", "the generator: SyntaxError: unexpected end: "),
    ],
)
def test_what_is_no_program_is_refused_as_syntax(expression, counterexample, generator, reason):
    world = doubling()
    kind, told = world.refuse(expression, counterexample, generator)
    assert kind == "syntax" and told.startswith(reason)


@pytest.mark.parametrize(
    ("counterexample", "kind", "reason"),
    [
        ("throw new Error('not I')", "threw", "the counterexample: Error: not I"),
        (
            "data.set('a', 1)",
            "touched-data",
            "the counterexample: data.set was used: data and worlds are for calls only",
        ),
        (
            "globalThis.leak = 1",
            "leaked-global",
            "the counterexample: it left a global that is no definition: leak",
        ),
    ],
)
def test_a_counterexample_must_be_a_change_that_can_be_made(counterexample, kind, reason):
    world = doubling()
    told_kind, told = world.refuse("dbl(2) === 4", counterexample)
    assert told_kind == kind and told.startswith(reason)


@pytest.mark.parametrize("part", ["expression", "counterexample", "generator"])
def test_each_text_of_a_check_has_the_size_limit_of_a_source(part, monkeypatch):
    monkeypatch.setattr(limits, "SOURCE_BYTES_MAX", 2000)
    world = doubling()
    texts = {"expression": "x => dbl(2) === 4", "counterexample": NEGATIVE, "generator": "gen.int()"}
    texts[part] += " " * (limits.SOURCE_BYTES_MAX - len(texts[part]))
    world.enrol(*texts.values())
    texts[part] += " "
    size = limits.SOURCE_BYTES_MAX + 1
    reason = f"the {part} is {size} bytes; at most {limits.SOURCE_BYTES_MAX} are allowed"
    assert world.refuse(*texts.values()) == ("size", reason)


def test_each_run_has_a_data_store_of_its_own_which_it_may_read_and_write():
    world = JudgedWorld()
    world.develop("function visit() { const n = (data.get('n') ?? 0) + 1; data.set('n', n); return n }")
    world.data["n"] = b"41"
    world.enrol("visit() + visit() === 3 && data.list('').length === 1", "function visit() { return 0 }")
    world.enrol("x => visit() === 1", "function visit() { return 0 }", "gen.int()", name="each")
    assert world.change("function other() {}") is None
    assert world.data == {"n": b"41"}


def test_no_run_sees_what_another_did_to_the_heap():
    world = JudgedWorld()
    world.develop("function tick() { return ++state('s', () => ({ n: 0 })).n }")
    world.enrol("x => tick() === 1", "function tick() { return 0 }", "gen.int()")
    world.enrol("tick() === 1", "function tick() { return 0 }", name="again")
    assert world.change("function other() {}") is None
    assert world.value("tick()") == 1


def test_other_worlds_are_out_of_reach():
    world = doubling()
    for use in ("worlds.list()", "worlds.functions('w')", "worlds.call('w', 'f')"):
        kind, reason = world.refuse(use, NEGATIVE)
        op = use.split("(")[0]
        assert (kind, reason) == (
            "check",
            f"it does not hold now: threw TypeError: {op} works in calls only, not in a check",
        )


def test_the_clock_stands_at_2000_and_random_numbers_are_the_same_each_time():
    world = doubling()
    world.enrol("Date.now() === 946684800000 && dbl(2) === 4", NEGATIVE)
    first = world.refuse("Math.random()", NEGATIVE)
    assert first == world.refuse("Math.random()", NEGATIVE)
    assert first != world.refuse("+Math.random()", NEGATIVE)


def test_the_first_broken_check_is_named_and_holding_comes_before_being_vacuous():
    world = doubling()
    world.enrol("dbl(1) === 2", NEGATIVE, name="one")
    world.enrol("dbl(2) === 4", NEGATIVE, name="two")
    broken = world.judged("function dbl(n) { return n === 1 ? 2 : 0 }")
    assert broken is not None and (broken.check, broken.kind) == ("two", "check")


def test_a_change_that_makes_a_check_vacuous_is_refused():
    world = JudgedWorld()
    world.develop("function add(a, b) { return a + b } function total(xs) { return xs.reduce(add, 0) }")
    world.enrol("total([1, 2]) === 3", "function add(a, b) { return a - b }", name="totals")
    assert world.judged("function total(xs) { return 3 }") == Broken(
        check="totals", kind="vacuous", reason="it still holds with the counterexample"
    )


def test_a_counterexample_that_no_longer_applies_makes_its_check_vacuous():
    world = JudgedWorld()
    world.develop("function rate() { return 2 }")
    world.enrol("rate() > 0", "if (rate() !== 2) throw new Error('other'); define('rate', () => -1)")
    assert world.judged("function rate() { return 1 + 1 }") is None
    broken = world.judged("function rate() { return 3 }")
    assert broken is not None and (broken.check, broken.kind) == ("c", "vacuous")
    assert broken.reason.startswith(
        "its counterexample no longer applies: Error: other\n    at <source> (pw:"
    )


def test_proposals_are_compared_by_what_they_say():
    check = Check(name="n", expression="e", counterexample="c", generator="g", seed=1)
    assert check.says_the_same(renamed(check, seed=2, inputs=(b"1",)))
    for field in ("name", "expression", "counterexample", "generator"):
        assert not check.says_the_same(renamed(check, **{field: "other"}))


# ---- with a generator


REVERSE = "function reverse(xs) { return xs.toReversed() }"


def reversing() -> JudgedWorld:
    world = JudgedWorld()
    world.develop(REVERSE)
    return world


def test_a_check_with_a_generator_keeps_fifty_inputs_drawn_by_its_seed():
    world = reversing()
    proposal = (
        "xs => String(reverse(reverse(xs))) === String(xs)",
        "function reverse(xs) { return xs.slice(1) }",
        "gen.array(gen.int())",
    )
    first = world.enrol(*proposal, seed=1)
    assert len(set(first.inputs)) == limits.CHECK_INPUTS == 50
    assert first.inputs == world.enrol(*proposal, seed=1).inputs
    assert first.inputs != world.enrol(*proposal, seed=2).inputs
    assert all(isinstance(json.loads(text), list) for text in first.inputs)


def test_a_failure_names_the_smallest_input():
    world = reversing()
    world.enrol(
        "xs => String(reverse(xs)) === String(xs.toReversed())",
        "function reverse(xs) { return [] }",
        "gen.array(gen.int())",
        name="reverses",
    )
    wrong = "function reverse(xs) { return xs.length > 2 ? [...xs] : xs.toReversed() }"
    assert world.judged(wrong) == Broken(
        check="reverses",
        kind="check",
        reason="returned false; the smallest input is [0,0,1]",
        input=b"[0,0,1]",
    )


def test_the_smallest_input_comes_before_the_stack_of_what_was_thrown():
    world = reversing()
    world.enrol(
        "xs => reverse(xs).length === xs.length",
        "function reverse(xs) { return [0] }",
        "gen.array(gen.int())",
    )
    broken = world.judged("function reverse(xs) { if (xs[0] > 6) throw new Error('seven'); return xs }")
    assert broken is not None and broken.input == b"[7]"
    assert broken.reason.startswith("threw Error: seven; the smallest input is [7]\n    at reverse (pw:")


def test_a_check_with_a_generator_that_fails_now_is_refused_with_the_smallest_input():
    world = reversing()
    broken = world.propose("xs => xs.length < 3", "", "gen.array(gen.bool())")
    assert broken == Broken(
        check="c",
        kind="check",
        reason="it does not hold now: returned false; the smallest input is [false,false,false]",
        input=b"[false,false,false]",
    )


def test_the_expression_of_a_check_with_a_generator_is_a_function():
    world = reversing()
    kind, reason = world.refuse("true", "", "gen.int()")
    assert kind == "check"
    assert reason == (
        "it does not hold now: threw TypeError: a check with a generator is a function of the generated value, "
        "not true; the smallest input is 0"
    )


def test_inputs_stay_when_the_world_that_drew_them_changes():
    world = reversing()
    world.develop("function size() { return 3 }")
    world.enrol(
        "xs => reverse(xs).length === 3",
        "function reverse(xs) { return [] }",
        "gen.array(gen.int(), {min: size(), max: size()})",
    )
    assert world.change("undefine('size')") is None
    broken = world.judged("function reverse(xs) { return xs.filter((x) => x < 5) }")
    assert broken is not None and broken.kind == "check"
    assert broken.input in world.checks[0].inputs  # the generator is broken too: no shrinking


def test_shrinking_ends_when_its_runs_are_spent(monkeypatch):
    world = reversing()
    monkeypatch.setattr(limits, "CHECK_SHRINK_RUNS_MAX", 0)
    world.enrol(
        "xs => reverse(xs).length === xs.length",
        "function reverse(xs) { return [0] }",
        "gen.array(gen.int())",
    )
    broken = world.judged("function reverse(xs) { return xs.slice(0, 3) }")
    assert broken is not None and broken.input in world.checks[0].inputs


def test_a_vacuous_property_is_refused():
    world = reversing()
    reason = "it still holds with the counterexample: a check must be able to fail"
    assert world.refuse("x => x === x", "define('reverse', () => 1)", "gen.int()") == ("vacuous", reason)


def test_judging_says_the_same_each_time():
    world = reversing()
    world.enrol(
        "xs => String(reverse(xs)) === String(xs.toReversed())",
        "function reverse(xs) { return [] }",
        "gen.array(gen.text())",
    )
    wrong = "function reverse(xs) { return xs.toReversed().map((t) => t.slice(0, 4)) }"
    first = world.judged(wrong)
    assert first is not None and first == world.judged(wrong)
    assert first.input == b'["00000"]'
