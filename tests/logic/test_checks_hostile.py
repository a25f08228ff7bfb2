"""An attacker develops against a check: to change what it relies on, to feign its result, or to escape from it."""

from __future__ import annotations

import pytest
from judged import JudgedWorld

from engine import limits
from engine.logic import Broken

HOLDS_STILL = "it still holds with the counterexample"


def shop() -> JudgedWorld:
    """A world whose check goes through a helper, as checks do."""
    world = JudgedWorld()
    world.develop(
        """
        function isFair(price) { return Number.isFinite(price) && price >= 0 }
        function price(count) { return count * 3 }
        const rules = { most: 100 }
        define("rules", rules)
        """
    )
    world.enrol("isFair(price(2)) && price(2) < rules.most", "function price() { return -1 }", name="fair")
    return world


@pytest.mark.parametrize(
    "weaker",
    [
        "function isFair() { return true } function price() { return -5 }",
        "function isFair() { return true }",
        "define('isFair', new Proxy(function () {}, { apply: () => true }))",
        "const always = new Proxy(() => true, {}); define('isFair', always); define('price', () => -1)",
        "define('isFair', (price) => ({ valueOf: () => 1 }) && true)",
        "let first = true; define('isFair', () => first || (first = false) || true)",
        "define('isFair', () => { state('seen', () => ({ n: 0 })).n++; return true })",
        "define('isFair', () => Date.now() === 946684800000)",
        "define('isFair', () => Math.random() < 1)",
    ],
)
def test_a_helper_that_says_yes_to_all_leaves_the_check_vacuous(weaker):
    assert shop().judged(weaker) == Broken(check="fair", kind="vacuous", reason=HOLDS_STILL)


@pytest.mark.parametrize(
    "result", ["new Boolean(true)", "new Proxy(function () {}, {})", "{ toJSON: () => true }", "[true]", "1"]
)
def test_what_only_looks_like_true_is_not(result):
    world = JudgedWorld()
    world.develop("function isFair() { return true }")
    world.enrol("isFair()", "function isFair() { return false }", name="alone")
    broken = world.judged(f"define('isFair', () => ({result}))")
    assert broken is not None and (broken.check, broken.kind) == ("alone", "check")


@pytest.mark.parametrize(
    "thenable",
    [
        "({ then(yes) { yes(1); yes(true) } })",
        "({ then(yes, no) { no(new Error('x')); yes(true) } })",
        "Object.assign(Promise.resolve(false), { then: undefined })",
        "new Promise((yes) => { yes(false); yes(true) })",
        "({ get then() { throw new Error('x') } })",
        "new Promise(() => {})",
        "(async () => { await 0; return 'true' })()",
        "Promise.reject(true)",
    ],
)
def test_a_promise_counts_only_if_it_settles_first_and_only_to_true(thenable):
    world = JudgedWorld()
    world.develop("function answer() { return true }")
    world.enrol("answer()", "function answer() { return false }")
    broken = world.judged(f"function answer() {{ return {thenable} }}")
    assert broken is not None and broken.kind == "check"


@pytest.mark.parametrize(
    "swap",
    [
        "Number.isFinite = () => true",
        "Object.defineProperty(Number, 'isFinite', { value: () => true })",
        "globalThis.Number = { isFinite: () => true }",
        "Object.prototype.then = function (yes) { yes(true) }",
        "Boolean.prototype.then = function (yes) { yes(true) }",
        "Promise.prototype.then = function () { return true }",
        "JSON.parse = () => 0",
        "Function.prototype.call = () => true",
        "Reflect.apply = () => true",
        "Array.prototype[Symbol.iterator] = function* () {}",
        "WeakMap.prototype.get = () => ({ kind: 'constant' })",
    ],
)
def test_what_checks_rest_on_cannot_be_swapped(swap):
    kind, reason = shop().reject(swap)
    assert kind == "threw" and reason.startswith("TypeError: ")


@pytest.mark.parametrize(
    "stuck",
    [
        "function isFair(price) { if (price < 0) for (;;); return true }",
        "function isFair(price) { if (price < 0) { const all = []; for (;;) all.push(new Array(1e6)) } return true }",
    ],
)
def test_running_out_with_the_counterexample_is_no_proof_that_the_check_can_fail(stuck, monkeypatch):
    monkeypatch.setattr(limits, "CHECK_FUEL_MAX", 400_000_000)
    broken = shop().judged(stuck)
    assert broken is not None and (broken.check, broken.kind) == ("fair", "vacuous")
    assert broken.reason.startswith("with the counterexample it comes to no result: ")


def test_removing_what_the_counterexample_changes_does_not_help():
    world = JudgedWorld()
    world.develop("function add(a, b) { return a + b } function total(xs) { return xs.reduce(add, 0) }")
    world.enrol("total([1, 2]) === 3", "define('add', (a, b) => a - b)", name="totals")
    assert world.develop("undefine('add')").image is not None
    broken = world.judged("function total(xs) { return 3 }")
    assert broken == Broken(check="totals", kind="vacuous", reason=HOLDS_STILL)


def test_checks_cannot_tell_each_other_anything():
    world = JudgedWorld()
    world.develop("function once() { return ++state('s', () => ({ n: 0 })).n + (data.get('n') ?? 0) }")
    for name in ("a", "b", "c"):
        world.enrol("(data.set('n', 1), once() === 2)", "function once() { return 0 }", name=name)
    assert world.judged("function other() {}") is None


def test_microtasks_that_outlive_a_check_change_nothing_in_the_next_one():
    world = JudgedWorld()
    world.develop(
        "function late() { Promise.resolve().then(() => { late.n = (late.n ?? 0) + 1 }); return late.n ?? 0 }"
    )
    world.enrol("x => late() === 0", "function late() { return 1 }", "gen.int()")
    assert world.judged("function other() {}") is None


def test_the_requests_of_checks_are_not_within_reach_of_the_world():
    world = JudgedWorld()
    names = "['judgeValue', 'outcome', 'planned', 'generatorLanguage', 'table', 'host', 'nodeOfGenerator']"
    assert (
        world.value(f"{names}.map((name) => typeof globalThis[name] + (0, eval)('typeof ' + name))")
        == ["undefinedundefined"] * 7
    )


@pytest.mark.parametrize(
    "reach",
    [
        "(gen.int = () => gen.bool(), gen.int())",
        "(Object.setPrototypeOf(gen.int(), null), gen.int())",
        "(gen.int().kind = 'text', gen.int())",
        "(Object.getPrototypeOf(gen.int()).map = () => 1, gen.int())",
    ],
)
def test_the_language_of_generators_is_frozen(reach):
    kind, reason = JudgedWorld().refuse("() => true", "", reach)
    assert kind == "threw" and reason.startswith("the generator: TypeError: ")


def test_a_forged_generator_is_a_constant_like_any_other_value():
    world = JudgedWorld()
    world.develop("function holds() { return true }")
    forged = "gen.tuple({ __proto__: Object.getPrototypeOf(gen.int()), kind: 'self' })"
    assert world.inputs(forged) == [[{"kind": "self"}]]


def test_a_generator_cannot_weaken_its_check_once_it_is_enrolled():
    world = JudgedWorld()
    world.develop("function half(n) { return n / 2 } function most() { return 100 }")
    world.enrol(
        "(n) => half(n) * 2 === n", "function half() { return 7 }", "gen.int(0, most())", name="halves"
    )
    inputs = world.checks[0].inputs
    assert len(inputs) == 50
    broken = world.judged("function most() { return 0 } function half(n) { return n > 60 ? 0 : n / 2 }")
    assert broken is not None and broken.kind == "check" and int(broken.input or b"0") > 60
    assert broken.input in inputs


def test_inputs_are_the_same_value_for_each_run_and_no_run_can_change_them():
    world = JudgedWorld()
    world.develop("function eat(xs) { const n = xs.length; xs.length = 0; return n }")
    world.enrol(
        "(xs) => eat(xs) === 3", "function eat() { return 0 }", "gen.array(gen.int(), {min: 3, max: 3})"
    )
    inputs = world.checks[0].inputs
    assert world.judged("function other() {}") is None
    assert world.checks[0].inputs == inputs and all(text.count(b",") == 2 for text in inputs)
