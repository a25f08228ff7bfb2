# ruff: noqa: E501  (programs in tables stay on their lines)
"""Migration: versions of classes and states, and the instances that follow them (cases F and G)."""

from __future__ import annotations

import pytest
from language import World, genesis, pool

from engine.logic import HeapImage, attempt

K = "state('k', () => ({}))"
LEFT = (
    "TypeError: define P: {} would be left at version {}; say how to bring one to version {}: "
    "{{version: {}, migrate: (instance, {{from, to}}) => ...}}"
)


def world_of(*sources: str) -> World:
    world = World()
    for source in sources:
        world.develop(source)
    return world


def test_another_version_without_migrate_is_refused_while_instances_live() -> None:
    world = world_of(f"class P {{}}\n{K}.all = [new P(), new P(), new P()]")
    assert world.reject("define('P', class {}, { version: 2 })") == (
        "threw",
        LEFT.format("3 live instances", 1, 2, 2),
    )
    world.develop(f"{K}.all.length = 1")
    assert world.reject("define('P', class {}, { version: 2 })") == (
        "threw",
        LEFT.format("1 live instance", 1, 2, 2),
    )
    world.develop(f"{K}.all = null")
    world.develop("define('P', class {}, { version: 2 })")
    assert world.value("versionOf(new P())") == 2


def test_a_refused_version_cannot_be_caught() -> None:
    world = world_of(f"class P {{}}\n{K}.p = new P()")
    assert world.reject("try { define('P', class {}, { version: 2 }) } catch {}")[1] == LEFT.format(
        "1 live instance", 1, 2, 2
    )


def test_migrate_changes_every_living_instance_in_the_order_of_creation() -> None:
    world = world_of(
        f"class P {{ constructor(x) {{ this.x = x }} }}\n{K}.all = [new P(1), new P(2)]; const gone = new P(0); {K}.all.unshift(new P(3))"
    )
    world.develop(
        f"""const seen = {K}.seen = []
        define("P", class P {{ constructor(d) {{ this.d = d }} double() {{ return 2 * this.d }} }}, {{ version: 2, migrate(p, {{ from, to }}) {{
          seen.push([p.x, from, to, versionOf(p), typeof p.double]); p.d = p.x; delete p.x }} }})
        {K}.at_once = [{K}.all.map((p) => p.double()), versionOf({K}.all[0])]"""
    )
    assert world.value(f"[{K}.seen, {K}.all, {K}.at_once]") == [
        [[1, 1, 2, 1, "function"], [2, 1, 2, 1, "function"], [3, 1, 2, 1, "function"]],
        [{"d": 3}, {"d": 1}, {"d": 2}],
        [[6, 2, 4], 2],
    ]


def test_what_an_instance_makes_is_younger_than_it() -> None:
    world = world_of(
        f"class N {{ constructor(depth, id) {{ this.id = id; this.kids = depth ? [new N(depth - 1, id + 'a'), new N(depth - 1, id + 'b')] : [] }} }}\n{K}.root = new N(2, 'r')"
    )
    world.develop(
        f"{K}.ids = []; define('N', class {{}}, {{ version: 2, migrate: (n) => {{ {K}.ids.push(n.id) }} }})"
    )
    assert world.value(f"{K}.ids") == ["r", "ra", "raa", "rab", "rb", "rba", "rbb"]


def test_a_lower_version_migrates_too_and_the_same_one_does_not() -> None:
    world = world_of(f"define('P', class {{}}, {{ version: 3 }})\n{K}.p = new P()")
    world.develop(
        "define('P', class { m() {} }, { version: 3, migrate: () => { throw new Error('never') } })"
    )
    world.develop("define('P', class {}, { version: 1, migrate(p, v) { p.v = v } })")
    assert world.value(f"[{K}.p.v, versionOf({K}.p)]") == [{"from": 3, "to": 1}, 1]


def test_a_declaration_is_version_one_again() -> None:
    world = world_of(f"define('P', class {{}}, {{ version: 2 }})\n{K}.p = new P()")
    assert world.reject("class P {}")[1] == LEFT.format("1 live instance", 2, 1, 1)


def test_a_throw_in_migrate_leaves_no_trace_even_if_it_is_caught() -> None:
    world = world_of(f"class P {{ constructor(x) {{ this.x = x }} }}\n{K}.all = [new P(1), new P(2)]")
    before = world.image
    source = "define('P', class {}, { version: 2, migrate(p) { if (p.x === 2) throw new RangeError('cannot'); p.x = 9 } })"
    assert world.reject(source) == ("threw", "RangeError: cannot")
    assert world.reject(f"try {{ {source} }} catch {{}}") == ("threw", "RangeError: cannot")
    assert world.reject(f"Promise.resolve().then(() => {source}).catch(() => {{}})") == (
        "threw",
        "RangeError: cannot",
    )
    assert world.image is before
    assert world.value(f"[{K}.all, versionOf({K}.all[0])]") == [[{"x": 1}, {"x": 2}], 1]


def test_migrate_must_be_done_when_it_returns() -> None:
    world = world_of(f"class P {{}}\n{K}.p = new P()")
    assert world.reject("define('P', class {}, { version: 2, migrate: async (p) => { p.x = 1 } })") == (
        "threw",
        "TypeError: define P: migrate must return when it is done: it returned a promise",
    )


def test_unreachable_instances_do_not_count_not_even_in_cycles() -> None:
    world = world_of(
        f"class P {{ constructor() {{ this.me = this; this.made = {K} }} }}\n{K}.p = new P(); {K}.twin = new P()"
    )
    world.develop(f"delete {K}.p; delete {K}.twin; new P(); define('P', class {{}}, {{ version: 2 }})")
    assert world.value("versionOf(new P())") == 2


def test_only_what_is_reachable_is_migrated() -> None:
    world = world_of(
        f"class P {{ constructor(x) {{ this.x = x; this.me = this }} }}\n{K}.p = new P(1); {K}.gone = new P(2)"
    )
    world.develop(
        f"delete {K}.gone; {K}.seen = []; define('P', class {{}}, {{ version: 2, migrate: (p) => {{ {K}.seen.push(p.x) }} }})"
    )
    assert world.value(f"{K}.seen") == [1]


HIDDEN = [
    "const p = new P(7); define('get', () => p)",
    "class Box { #p = new P(7); get p() { return this.#p } }\nconst box = new Box(); define('get', () => box.p)",
    "const w = new WeakMap([[state('k', () => ({})), new P(7)]]); define('get', () => w.get(state('k', () => ({}))))",
    "P.kept = new P(7); define('get', () => P.kept ?? kept()); const p = P.kept; define('kept', () => p)",
    "function* g() { const p = new P(7); while (true) yield p } const it = g(); it.next(); define('get', () => it.next().value)",
    "define('lib', { p: new P(7) }); define('get', () => lib.p)",
    "const r = (async () => new P(7))(); r.then((p) => define('get', () => p))",
]


@pytest.mark.parametrize("source", HIDDEN)
def test_instances_are_found_wherever_they_are_kept(source: str) -> None:
    world = world_of("class P { constructor(x) { this.x = x } }", source)
    assert world.value("[get().x, versionOf(get())]") == [7, 1]
    assert world.reject("define('P', class {}, { version: 2 })")[1] == LEFT.format("1 live instance", 1, 2, 2)
    world.develop("define('P', class {}, { version: 2, migrate: (p) => { p.d = p.x } })")
    assert world.value("[get().d, versionOf(get())]") == [7, 2]


def test_each_class_stamps_its_own_version() -> None:
    world = world_of(
        f"define('B', class {{}}, {{ version: 5 }}); define('D', class extends B {{}}, {{ version: 2 }}); {K}.d = new D(); {K}.b = new B(); {K}.log = []"
    )
    assert world.value(f"[versionOf({K}.d), versionOf({K}.b)]") == [2, 5]
    log = "migrate: (x, { from, to }) => { %s.log.push([%s, x === %s.d, from, to, versionOf(x)]) }"
    world.develop(f"define('B', class {{}}, {{ version: 6, {log % (K, repr('B'), K)} }})")
    world.develop(f"define('D', class extends B {{}}, {{ version: 3, {log % (K, repr('D'), K)} }})")
    assert world.value(f"[{K}.log, versionOf({K}.d), versionOf({K}.b)]") == [
        [["B", True, 5, 6, 2], ["B", False, 5, 6, 5], ["D", True, 2, 3, 2]],
        3,
        6,
    ]
    assert world.reject("define('B', class {}, { version: 7 })")[1].startswith(
        "TypeError: define B: 2 live instances would"
    )


def test_a_subclass_that_left_its_base_is_not_migrated_by_it_while_it_keeps_its_stamp() -> None:
    world = world_of(
        f"class B {{}}\nclass D extends B {{}}\n{K}.old = new D()", f"class D {{}}\n{K}.new = new D()"
    )
    world.develop(
        f"{K}.seen = []; define('B', class {{}}, {{ version: 2, migrate: (x) => {{ {K}.seen.push(x === {K}.old) }} }})"
    )
    assert world.value(f"[{K}.seen, versionOf({K}.old), versionOf({K}.new)]") == [[True], 1, 1]


def test_a_subclass_that_is_no_definition_is_an_instance_of_its_base() -> None:
    world = world_of(
        f"class B {{}}\n(() => {{ class Local extends B {{ constructor() {{ super(); this.l = 1 }} }} {K}.x = new Local() }})()"
    )
    assert world.value(f"versionOf({K}.x)") == 1
    world.develop("define('B', class {}, { version: 2, migrate: (x) => { x.seen = true } })")
    assert world.value(f"[versionOf({K}.x), {K}.x]") == [2, {"l": 1, "seen": True}]


UNSTAMPED = [
    "Object.create(P.prototype)",
    "Object.setPrototypeOf({}, P.prototype)",
    "{ __proto__: P.prototype }",
    "Reflect.construct(Object, [], P)",
    "{}",
    "P",
    "P.prototype",
    "5",
    "null",
    "undefined",
    "'text'",
    "new Map()",
]


@pytest.mark.parametrize("expression", UNSTAMPED)
def test_what_new_did_not_make_has_no_version_and_is_never_migrated(expression: str) -> None:
    world = world_of(f"class P {{}}\n{K}.x = [{expression}]")
    assert world.value(f"versionOf({K}.x[0])") is None
    assert world.value(f"versionOf({expression})") is None
    world.develop("define('P', class {}, { version: 2 })")


def test_an_object_made_with_the_prototype_is_an_instance_all_the_same() -> None:
    world = world_of(
        f"class P {{ m() {{ return 1 }} }}\n{K}.o = Object.create(P.prototype)",
        "class P { m() { return 2 } }",
    )
    assert world.value(f"[{K}.o instanceof P, {K}.o.m()]") == [True, 2]


def test_stamps_cannot_be_seen_or_forged() -> None:
    world = world_of(f"class P {{}}\n{K}.p = new P()")
    assert world.value(
        f"[Reflect.ownKeys({K}.p), JSON.stringify({K}.p), versionOf(Object.assign(Object.create(P.prototype), {K}.p)), versionOf({{ version: 5 }}), versionOf(Reflect.construct(P, [])), versionOf(new Proxy(new P(), {{}}))]"
    ) == [[], "{}", None, None, 1, None]
    assert world.failure("(() => { versionOf = 1 })()")[1] == "TypeError: 'versionOf' is read-only"


def test_instances_of_a_call_are_stamped_and_vanish() -> None:
    world = world_of(
        "class P {}\ndefine('made', () => { const p = new P(); return [versionOf(p), p instanceof P] })"
    )
    assert world.result("made") == [1, True]
    world.develop("define('P', class {}, { version: 2 })")
    assert world.result("made") == [2, True]


def test_a_preview_may_migrate_and_leaves_nothing() -> None:
    world = world_of(f"class P {{}}\n{K}.p = new P()")
    assert world.value(
        f"(() => {{ define('P', class {{}}, {{ version: 2, migrate: (p) => {{ p.n = 1 }} }}); return [{K}.p, versionOf({K}.p)] }})()"
    ) == [{"n": 1}, 2]
    assert world.value(f"[{K}.p, versionOf({K}.p)]") == [{}, 1]
    assert world.failure("define('P', class {}, { version: 2 })")[1] == LEFT.format(
        "1 live instance", 1, 2, 2
    )


def test_migrate_may_make_instances_which_are_new() -> None:
    world = world_of(f"class P {{ constructor(x) {{ this.x = x }} }}\n{K}.p = new P(1)")
    world.develop(
        "define('P', class P { constructor(y) { this.y = y } }, { version: 2, migrate(p) { p.next = new P(p.x + 1) } })"
    )
    assert world.value(f"[{K}.p, versionOf({K}.p.next)]") == [{"x": 1, "next": {"y": 2}}, 2]


def test_migrate_may_replace_instances() -> None:
    world = world_of(f"class P {{ #x = 3; get x() {{ return this.#x }} }}\n{K}.p = new P()")
    world.develop(
        f"const x = {K}.p.x; {K}.p = null; class P {{ #y; constructor(y) {{ this.#y = y }} get y() {{ return this.#y }} }}\n{K}.p = new P(x)"
    )
    assert world.value(f"{K}.p.y") == 3


def test_instances_that_died_are_forgotten() -> None:
    def size(count: int) -> int:
        world = world_of("class P { constructor(x) { this.x = x } }")
        world.develop(f"for (let i = 0; i < {count}; i++) new P(i); {K}.done = true")
        world.develop(f"{K}.again = new P(1)")
        return sum(1 for byte in world.image.to_bytes() if byte)

    assert abs(size(20_000) - size(200)) < 20_000


def test_an_instance_costs_an_attempt_less_than_twice_what_it_costs_a_call() -> None:
    world = world_of("class P { constructor(x) { this.x = x } }")

    def fuel(run) -> float:
        return (
            run("for (let i = 0; i < 4000; i++) new P(i)").fuel
            - run("for (let i = 0; i < 1000; i++) new P(i)").fuel
        )

    in_call = fuel(lambda loop: world.execute(f"(() => {{ {loop} }})()"))
    in_attempt = fuel(lambda loop: World(world.image).attempt(loop))
    assert 1 < in_attempt / in_call < 2


def test_a_heap_restored_from_bytes_still_knows_its_instances() -> None:
    world = world_of(f"class P {{}}\n{K}.p = new P()")
    again = World(HeapImage.from_bytes(world.image.to_bytes(), world.image.meta))
    assert again.reject("define('P', class {}, { version: 2 })")[1] == LEFT.format("1 live instance", 1, 2, 2)


def test_an_upgrade_keeps_classes_instances_and_stamps() -> None:
    old = World(genesis(1))
    old.develop(
        f"class P {{ constructor(x) {{ this.x = x }} m() {{ return 1 }} }}\nclass D extends P {{}}\n{K}.p = new P(1); {K}.d = new D(2)"
    )
    outcome = attempt.upgrade(pool(), old.image)
    assert outcome.image is not None
    new = World(outcome.image)
    assert new.value(f"[versionOf({K}.p), {K}.p instanceof P, {K}.d.m(), new D(3).x]") == [1, True, 1, 3]
    assert "2 live instances" in new.reject("define('P', class {}, { version: 2 })")[1]
    new.develop(f"{K}.late = new D(4)")
    new.develop(
        f"{K}.seen = []; define('P', class {{ m() {{ return 2 }} }}, {{ version: 2, migrate: (p) => {{ {K}.seen.push(p.x) }} }})"
    )
    assert new.value(f"[{K}.seen, {K}.d.m()]") == [[1, 2, 4], 2]


def test_rolling_a_class_back_in_the_same_source_is_a_migration_each_time() -> None:
    world = world_of(f"class P {{}}\n{K}.p = new P()")
    world.develop(
        f"""{K}.log = []; const migrate = (p, {{ from, to }}) => {{ {K}.log.push([from, to]) }}
        define("P", class {{}}, {{ version: 2, migrate }}); define("P", class {{}}, {{ version: 5, migrate }}); define("P", class {{}}, {{ migrate }})"""
    )
    assert world.value(f"[{K}.log, versionOf({K}.p)]") == [[[1, 2], [2, 5], [5, 1]], 1]


# -- states


def test_a_state_of_the_same_version_is_kept_and_of_another_made_again_or_migrated() -> None:
    world = world_of("state('s', () => ({ n: 1 })).n = 5")
    world.develop("state('s', () => ({ n: 100 }))" + "; define('x', () => 1)")
    assert world.value("state('s', () => ({})).n") == 5
    world.develop(
        "state('s', () => ({ n: 100 }), { version: 2, migrate: (old, v) => Object.assign(old, v) })"
    )
    assert world.value("state('s', () => ({}), { version: 2 })") == {"n": 5, "from": 1, "to": 2}
    world.develop("state('s', () => new Map([['n', 7]]), { version: 1 })")
    assert world.value("state('s', () => ({}))") == {"n": 7}


BAD_STATES = [
    (
        "state('s', () => ({}), { version: 2, migrate: () => 5 })",
        "TypeError: state s: migrate must return an object, an array, a Map or the like, not number",
    ),
    (
        "state('s', () => ({}), { version: 2, migrate: () => {} })",
        "TypeError: state s: migrate must return an object, an array, a Map or the like, not undefined",
    ),
    (
        "state('s', () => ({}), { version: 2, migrate: async (old) => old })",
        "TypeError: state s: migrate must return when it is done: it returned a promise",
    ),
    (
        "state('s', async () => ({}), { version: 2 })",
        "TypeError: state s: init must return when it is done: it returned a promise",
    ),
    (
        "try { state('s', () => ({}), { version: 2, migrate(old) { old.n = 9; throw new Error('half') } }) } catch {}",
        "Error: half",
    ),
    (
        "state('s', () => ({}), { version: 2, migrate: 'x' })",
        "TypeError: state s: migrate must be a function",
    ),
    ("state('s', () => ({}), { version: 0 })", "TypeError: state s: the version must be an integer >= 1"),
]


@pytest.mark.parametrize(("source", "headline"), BAD_STATES)
def test_a_state_that_cannot_move_says_why_and_stays(source: str, headline: str) -> None:
    world = world_of("state('s', () => ({ n: 1 }))")
    assert world.reject(source) == ("threw", headline)
    assert world.value("state('s', () => ({}))") == {"n": 1}


def test_case_81_a_state_survives_its_source() -> None:
    source = "const c = state('c', () => ({ n: 0 })); define('bump', () => ++c.n)"
    world = world_of(source, "bump(); bump()")
    world.attempt(source)
    assert world.result("bump") == 3
