# ruff: noqa: E501  (programs in tables stay on their lines)
"""Classes: one prototype a name, patched in place; their stubs, statics, subclasses and private members (cases F)."""

from __future__ import annotations

import pytest
from language import World, pool

from engine.logic import Engine, VmPool, attempt

K = "state('k', () => ({}))"


def world_of(*sources: str) -> World:
    world = World()
    for source in sources:
        world.develop(source)
    return world


def test_old_instances_get_new_methods_and_lose_those_that_are_gone() -> None:
    world = world_of(
        f"class P {{ constructor(x) {{ this.x = x }} toString() {{ return 'P' + this.x }} old() {{ return 1 }} }}\n{K}.p = new P(3)",
        "class P { fresh() { return this.x + 1 } }",
    )
    assert world.value(f"[{K}.p.fresh(), String({K}.p), typeof {K}.p.old, {K}.p.x]") == [
        4,
        "[object Object]",
        "undefined",
        3,
    ]


def test_accessors_and_symbol_members_are_patched_and_removed() -> None:
    world = world_of(
        f"""class P {{
          get v() {{ return 1 }} set v(x) {{ this.set = x }} get gone() {{ return 1 }}
          [Symbol.iterator]() {{ return [1][Symbol.iterator]() }} get [Symbol.toStringTag]() {{ return 'Old' }}
          static get s() {{ return 1 }} static [Symbol.for('a')] = 1
        }}
        {K}.p = new P()""",
        """class P { get v() { return 2 } *[Symbol.iterator]() { yield 5; yield 6 } static get s() { return 2 } }""",
    )
    assert world.value(
        f"(() => {{ const {{ p }} = {K}; return [p.v, [...p], 'gone' in p, String(p), P.s, P[Symbol.for('a')] === undefined] }})()"
    ) == [2, [5, 6], False, "[object Object]", 2, True]
    assert world.failure(f"(() => {{ {K}.p.v = 1 }})()")[1] == "TypeError: no setter for property"


def test_a_removed_member_that_a_base_has_is_the_bases() -> None:
    world = world_of(
        f"class B {{ m() {{ return 'base' }} }}\nclass D extends B {{ m() {{ return 'sub ' + super.m() }} }}\n{K}.d = new D()",
        "class D extends B { other() { return super.m() } }",
    )
    assert world.value(f"[{K}.d.m(), {K}.d.other(), Object.hasOwn(D.prototype, 'm')]") == [
        "base",
        "base",
        False,
    ]


def test_the_constructor_is_the_stub_and_instanceof_works_across_redefinitions() -> None:
    world = world_of(f"class P {{}}\n{K}.p = new P()", "class P { two() { return 2 } }")
    assert world.value(
        f"[new P().constructor === P, {K}.p.constructor === P, {K}.p instanceof P, new P() instanceof P, Object.getPrototypeOf({K}.p) === P.prototype, {{}} instanceof P, Object.keys(P.prototype), Object.getOwnPropertyNames(P.prototype)]"
    ) == [True, True, True, True, True, False, [], ["constructor", "two"]]


def test_a_subclass_follows_its_base() -> None:
    world = world_of(
        "class B { constructor(x) { this.x = x } hi() { return 'B' + this.x } static make(x) { return new this(x) } static n = 1 }",
        f"class D extends B {{ constructor(x) {{ super(x * 2) }} hi() {{ return 'D' + super.hi() }} }}\n{K}.d = D.make(2)",
        "class B { constructor(x) { this.x = x + 100 } hi() { return 'new' + this.x } static make(x) { return new this(x) } static n = 2 }",
    )
    assert world.value(
        f"[{K}.d.hi(), {K}.d instanceof B, new D(1).hi(), D.n, D.make(3) instanceof D, D.make(3).x, Object.getPrototypeOf(D) === B]"
    ) == ["Dnew4", True, "Dnew102", 2, True, 106, True]


def test_extends_may_change() -> None:
    world = world_of(
        "class A { who() { return 'A' } static s = 'a' }\nclass B { who() { return 'B' } static s = 'b' }",
        f"class D extends A {{ say() {{ return super.who() }} }}\n{K}.d = new D()",
        "class D extends B { say() { return super.who() + '!' } }",
    )
    assert world.value(f"[{K}.d.who(), {K}.d.say(), D.s, {K}.d instanceof A, {K}.d instanceof B]") == [
        "B",
        "B!",
        "b",
        False,
        True,
    ]
    world.develop("class D { }")
    assert world.value(f"[{K}.d instanceof B, {K}.d instanceof D, typeof {K}.d.who, D.s === undefined]") == [
        False,
        True,
        "undefined",
        True,
    ]


BUILT_IN_BASES = [
    ("class E extends Error { constructor(m) { super(m); this.name = 'E' } }", "String(new E('x'))", "E: x"),
    (
        "class S extends Array { sum() { return this.reduce((a, b) => a + b, 0) } }",
        "S.of(1, 2, 3).map(x => x * 2).sum()",
        12,
    ),
    (
        "class M extends Map { getOr(k, d) { return this.has(k) ? this.get(k) : d } }",
        "new M([['a', 1]]).getOr('b', 2)",
        2,
    ),
    ("class T extends Promise {}", "T.resolve(5).then(x => x + 1)", 6),
    ("class U extends Uint8Array {}", "[...new U([1, 300]), new U(2).slice(1) instanceof U]", [1, 44, True]),
    (
        "class N extends null { static s = 1 }",
        "[N.s, Object.getPrototypeOf(N.prototype) === null]",
        [1, True],
    ),
]


@pytest.mark.parametrize(("source", "expression", "wanted"), BUILT_IN_BASES)
def test_classes_extend_built_ins(source: str, expression: str, wanted: object) -> None:
    assert world_of(source).value(expression) == wanted


def test_a_class_needs_new_and_an_arrow_refuses_it() -> None:
    world = world_of("class P {}\ndefine('f', () => 1)")
    assert world.failure("P()") == ("threw", "TypeError: class constructors must be invoked with 'new'")
    assert world.failure("new f()") == ("threw", "TypeError: not a constructor")


def test_an_abstract_class_may_look_at_new_target() -> None:
    world = world_of(
        "class Shape { constructor() { if (new.target === Shape) throw new TypeError('abstract') } }"
    )
    world.develop("class Circle extends Shape {}")
    assert world.failure("new Shape()")[1] == "TypeError: abstract"
    assert world.value("[new Circle() instanceof Shape, versionOf(new Circle())]") == [True, 1]


def test_inside_of_a_class_its_name_means_the_definition() -> None:
    world = world_of(
        f"""class P {{
          static n = 0; static zero = new P(7); static me = P; static {{ P.late = P.n + 10 }}
          constructor(x = 0) {{ this.x = x; P.n++; this.of = P }}
          clone() {{ return new P(this.x) }} static is(o) {{ return o instanceof P }}
        }}
        {K}.p = new P(1); {K}.inner = {K}.p.clone()"""
    )
    assert world.value(
        f"[P.n, P.zero.x, P.me === P, P.late, {K}.p.of === P, P.is({K}.inner), versionOf(P.zero), versionOf({K}.inner)]"
    ) == [3, 7, True, 11, True, True, 1, 1]
    world.develop("class P { two() { return new P() } constructor() { this.x = 'new' } }")
    assert world.value(f"[{K}.inner.two().x, {K}.p.of === P, {K}.p.two() instanceof P]") == [
        "new",
        True,
        True,
    ]


def test_define_with_a_class_of_that_name_is_no_different() -> None:
    world = world_of(
        f"""define("P", class P {{ static n = 0; static one = new P(); constructor() {{ P.n++ }} clone() {{ return new P() }} }}, {{ version: 3 }})
        {K}.c = P.one.clone()"""
    )
    assert world.value(f"[P.n, versionOf(P.one), versionOf({K}.c), {K}.c instanceof P]") == [2, 3, 3, True]
    assert world.catalogue.definitions[0].source == (
        "class P { static n = 0; static one = new P(); constructor() { P.n++ } clone() { return new P() } }"
    )


def test_an_inner_name_that_the_host_cannot_see_still_makes_instances_that_follow() -> None:
    world = world_of(
        "const make = () => class Inner { clone() { return new Inner() } m() { return 1 } }; define('P', make())"
    )
    world.develop(
        "const make = () => class Inner { clone() { return new Inner() } m() { return 2 } }; define('P', make())"
    )
    world.develop(f"{K}.c = new P().clone()")
    assert world.value(f"[{K}.c instanceof P, {K}.c.m(), {K}.c.constructor === P]") == [True, 2, True]
    world.develop("class P { m() { return 3 } }")
    assert world.value(f"{K}.c.m()") == 3
    world.develop(
        f"const mk = () => class Sub extends P {{ twin() {{ return new Sub() }} }}; define('Sub', mk()); {K}.s = new Sub().twin()"
    )
    assert world.value(f"[versionOf({K}.s), {K}.s instanceof Sub, {K}.s.m()]") == [1, True, 3]


def test_statics_are_read_and_written_through_the_stub() -> None:
    world = world_of(
        """class P { static a = 1; static set b(v) { this.a = v } static get b() { return this.a * 2 } static m() { return this.a } static name = 'mine' }
        class D extends P {}
        P.a = 5; P.extra = [1]; D.a = 7"""
    )
    assert world.value("[P.a, P.b, P.m(), P.extra, P.name, D.a, D.m(), Object.keys(P), Object.keys(D), delete P.extra, P.extra]") == [
        5, 10, 5, [1], "mine", 7, 7, ["name", "a", "extra"], ["a"], True, None,
    ]  # fmt: skip
    world.develop("P.b = 50")
    assert world.value("[P.a, D.a]") == [50, 7]
    world.develop("class P { static c = 1 }")
    assert world.value("[P.a, P.c, P.name, D.c, D.m]") == [None, 1, "P", 1, None]


def test_private_members_of_instances_and_of_the_class_work() -> None:
    world = world_of(
        """class Account {
          static #made = 0; static #check(n) { if (n < 0) throw new RangeError('negative') }
          #balance = 0
          constructor(b) { Account.#check(b); this.#balance = b; Account.#made++ }
          get balance() { return this.#balance } static is(o) { return #balance in o }
          static count() { return this.#made } static get made() { return Account.#made }
          static copy(a) { return new Account(a.#balance) } static open() { return new this(1) }
        }
        class Savings extends Account {}"""
    )
    assert world.value(
        "(() => { const a = new Account(5), s = new Savings(6); return [a.balance, s.balance, Account.is(a), Account.is({}), Account.count(), Account.made, Account.copy(s).balance] })()"
    ) == [5, 6, True, False, 2, 2, 6]
    assert world.value("[versionOf(Account.open()), versionOf(Savings.open())]") == [1, 1]
    assert world.failure("new Account(-1)")[1] == "RangeError: negative"


def test_a_class_with_private_members_is_not_redefined_under_living_instances() -> None:
    world = world_of(f"class P {{ #x = 1; get x() {{ return this.#x }} }}\n{K}.list = [new P(), new P()]")
    text = "TypeError: define P: it has private members and {} live instance{} of the class as it was, which cannot follow; give another version and a migrate that deals with them"
    assert world.reject("class P { #x = 2; get x() { return this.#x } }") == ("threw", text.format(2, "s"))
    assert world.reject("class P { }")[0] == "threw", "what it knew would be lost"
    world.develop(f"{K}.list.pop()")
    assert world.reject("class P { #x = 2; get x() { return this.#x } }") == ("threw", text.format(1, ""))
    assert world.value(f"{K}.list[0].x") == 1
    world.develop(f"{K}.list = []")
    world.develop("class P { #x = 2; get x() { return this.#x } }")
    assert world.value("new P().x") == 2


def test_a_public_class_does_not_get_private_members_under_living_instances() -> None:
    world = world_of(f"class P {{ }}\n{K}.p = new P()", "class P { pub() {} }")
    assert "1 live instance of" in world.reject("class P { #x = 2; get x() { return this.#x } }")[1]


def test_a_migration_may_deal_with_private_members() -> None:
    world = world_of(f"class P {{ #x = 4; get x() {{ return this.#x }} }}\n{K}.p = new P()")
    world.develop(
        f"""const x = {K}.p.x
        define("P", class {{ #y = 1; static is(o) {{ return #y in o }} }}, {{ version: 2, migrate: (p) => {{ p.open = x }} }})"""
    )
    assert world.value(f"[{K}.p.open, P.is({K}.p), P.is(new P()), versionOf({K}.p)]") == [4, False, True, 2]


def test_new_instances_of_a_private_class_do_not_stand_in_its_way() -> None:
    world = world_of("class P { #x = 1 }")
    world.develop(f"class P {{ #x = 2; get x() {{ return this.#x }} }}\n{K}.p = new P()")
    assert world.value(f"{K}.p.x") == 2


def test_the_same_class_again_changes_nothing_even_with_private_members() -> None:
    source = "class P { #x = 1; clone() { return new P() } }"
    world = world_of(source, f"{K}.p = new P()")
    assert world.attempt(source).verdict == "unchanged"
    assert "1 live instance of" in world.reject(source + " const y = 1; define('other', () => y)")[1]


def test_a_private_name_of_a_base_stands_in_the_way_of_instances_of_subclasses() -> None:
    world = world_of(f"class B {{ #x = 1 }}\nclass D extends B {{}}\n{K}.d = new D()")
    assert "define B: it has private members and 1 live instance" in world.reject("class B { #x = 2 }")[1]
    world.develop("class D extends B { free() {} }")


KINDS = [
    ("class P {}", "define('P', () => 1)", "class", "function"),
    ("define('P', () => 1)", "class P {}", "function", "class"),
    ("define('P', () => 1)", "define('P', class P { m() { return P } })", "function", "class"),
    ("class P {}", "define('P', {})", "class", "library"),
    ("define('P', {})", "class P {}", "library", "class"),
]


@pytest.mark.parametrize(("first", "second", "old", "new"), KINDS)
@pytest.mark.parametrize("between", ["", "undefine('P')"])
def test_kinds_do_not_mix(first: str, second: str, old: str, new: str, between: str) -> None:
    world = world_of(first)
    if between:
        world.develop(between)
    assert world.reject(second) == (
        "threw",
        f"TypeError: define P: it is a {old} and cannot become a {new}; choose another name",
    )


def test_a_removed_class_makes_no_instances_and_keeps_those_it_has() -> None:
    world = world_of(f"class P {{ m() {{ return 1 }} }}\n{K}.p = new P()", "undefine('P')")
    assert world.failure("new P()") == ("threw", "ReferenceError: P was removed by undefine")
    assert world.value(f"[{K}.p.m(), {K}.p instanceof P]") == [1, True]
    world.develop("class P { m() { return 2 } }")
    assert world.value(f"[{K}.p.m(), versionOf({K}.p), versionOf(new P())]") == [2, 1, 1]


def test_another_name_of_a_class_is_a_subclass_of_it() -> None:
    world = world_of("class P { m() { return 1 } static s = 1 }\ndefine('Q', P)")
    world.develop("class P { m() { return 2 } static s = 2 }")
    assert world.value("[new Q().m(), Q.s, new Q() instanceof P, new Q() instanceof Q, new P() instanceof Q]") == [
        2, 2, True, True, False,
    ]  # fmt: skip
    assert world.reject("define('P', Q)")[1] == "TypeError: define P: it would be an alias of itself"


def test_one_class_may_be_defined_twice_and_come_back() -> None:
    world = world_of(
        f"""const A = class {{ m() {{ return 'A' }} }}; define("P", A); define("Q", A); {K}.p = new P(); {K}.q = new Q(); {K}.A = A
        define("P", class {{ m() {{ return 'B' }} }})"""
    )
    assert world.value(f"[{K}.p.m(), {K}.q.m(), {K}.p.constructor === P, {K}.q.constructor === Q]") == [
        "B",
        "A",
        True,
        True,
    ]
    world.develop(f"define('P', {K}.A)")
    assert world.value(f"[{K}.p.m(), new P().m(), {K}.q.m()]") == ["A", "A", "A"]


def test_a_frozen_prototype_cannot_follow() -> None:
    world = world_of("class P { m() {} }\nObject.freeze(P.prototype)")
    assert world.reject("class P { }") == (
        "threw",
        "TypeError: define P: its prototype was frozen and cannot follow",
    )


def test_an_instance_that_freezes_itself_is_stamped_and_migrated() -> None:
    world = world_of(f"class P {{ constructor() {{ this.x = 1; Object.freeze(this) }} }}\n{K}.p = new P()")
    world.develop(f"define('P', class {{}}, {{ version: 2, migrate: (p) => {{ {K}.seen = p.x }} }})")
    assert world.value(f"[versionOf({K}.p), {K}.seen]") == [2, 1]


def test_a_constructor_that_returns_another_object_is_let_be() -> None:
    world = world_of(
        """class One { constructor() { if (One.it) return One.it; One.it = this } }
        class Plain { constructor() { return { plain: true } } }
        new One()"""
    )
    assert world.value("[new One() === new One(), new One() === One.it, versionOf(new One()), versionOf(new Plain()), new Plain()]") == [
        True, True, 1, None, {"plain": True},
    ]  # fmt: skip


def test_a_class_is_constructed_by_a_call_and_crosses_as_json() -> None:
    world = world_of(
        """class Point { #id = 1; constructor(x, y = 2) { this.x = x; this.y = y; this.f = () => 1 } get sum() { return 1 } }
        class Money { constructor(n) { this.n = n } toJSON() { return `EUR ${this.n}` } }"""
    )
    assert world.result("Point", 1) == {"x": 1, "y": 2, "f": "[function anonymous]"}
    assert world.result("Money", 3) == "EUR 3"
    assert world.call("Money").ok


def test_the_catalogue_has_constructor_parameters_texts_and_docs() -> None:
    world = World()
    outcome = world.develop(
        """/** A rectangle. */
        class Rect { static unit = new Rect(1, 1); constructor(w, h = w) { this.w = w } }
        class Bare {}
        define("Named", class Named { constructor({ a }, ...rest) {} again() { return new Named({}) } }, { doc: "D", version: 2 })"""
    )
    assert outcome.changes.added == ("Bare", "Named", "Rect")
    assert [(d.name, d.kind, d.version, d.params, d.doc) for d in world.catalogue.definitions] == [
        ("Bare", "class", 1, (), ""),
        ("Named", "class", 2, ("{ a }", "...rest"), "D"),
        ("Rect", "class", 1, ("w", "h = w"), "A rectangle."),
    ]
    assert [d.source for d in world.catalogue.definitions] == [
        "class Bare {}",
        "class Named { constructor({ a }, ...rest) {} again() { return new Named({}) } }",
        "class Rect { static unit = new Rect(1, 1); constructor(w, h = w) { this.w = w } }",
    ]
    assert attempt.catalogue_of(pool(), world.image) == world.catalogue


def test_errors_in_a_renamed_class_are_at_their_place() -> None:
    world = world_of("class P {\n  static s = P; boom() { null.x; return P }\n}")
    outcome = world.execute("new P().boom()")
    assert outcome.failure is not None
    assert outcome.failure.error.split("\n")[:2] == [
        "TypeError: cannot read property 'x' of null",
        f"    at boom ({world.catalogue.definitions[0].origin}:2:26)",
    ]
    assert (
        world.reject("class Q { static s = Q; static t = nope }")[1] == "ReferenceError: nope is not defined"
    )


DECLARED = [
    ("class A {}\nclass A {}", "syntax", "SyntaxError: "),
    ("class A {}\nlet A = 1", "syntax", "SyntaxError: "),
    ("class A {}\nfunction A() {}", "syntax", "SyntaxError: "),
    ("class Array {}", "threw", "TypeError: define: Array is already a global"),
    ("class state {}", "threw", "TypeError: define: state is a reserved name"),
    ("new A(); class A {}", "threw", "ReferenceError: A is not defined yet"),
    ("class A {}\nA = 1", "threw", "TypeError: 'A' is read-only"),
    ("class A extends B {}", "threw", "ReferenceError: B is not defined"),
    ("class A extends 5 {}", "threw", "TypeError: "),
    (
        "try { define('A', class A { static me = A; static bad = nope }) } catch {}",
        "threw",
        "TypeError: define A: an initialiser of the class threw, and it was never defined",
    ),
]


@pytest.mark.parametrize(("source", "kind", "headline"), DECLARED)
def test_a_bad_declaration_says_why(source: str, kind: str, headline: str) -> None:
    got_kind, got = World().reject(source)
    assert (got_kind, got[: len(headline)]) == (kind, headline)


def test_a_function_makes_instances_but_keeps_none() -> None:
    world = world_of("function F(x) { this.x = x }")
    assert world.value("[new F(3).x, versionOf(new F(3)), new F(1).constructor === F]") == [3, 1, True]
    assert world.failure("new F(1) instanceof F") == (
        "threw",
        "TypeError: F is a function and keeps no instances: define a class to use instanceof",
    )
    world.develop("module.exports = function G() { if (!(this instanceof G)) return new G() }", commonjs="G")
    assert world.value("[new G() instanceof G, G() instanceof G]") == [True, True]


def test_classes_of_library_files_keep_their_private_statics() -> None:
    world = World()
    world.develop(
        "class Counter { static #n = 0; static next() { return ++this.#n } static get n() { return this.#n } static Sub = class extends Counter {} }\nmodule.exports = Counter",
        commonjs="Counter",
    )
    assert world.value("[Counter.next(), Counter.next(), Counter.n, new Counter.Sub() instanceof Counter, Counter.Sub === Counter.Sub]") == [
        1, 2, 2, True, True,
    ]  # fmt: skip


def test_what_a_class_is_made_of_is_the_same_bytes_on_every_path(
    c_engine: Engine, python_engine: Engine
) -> None:
    sources = [
        f"class P {{ static one = new P(1); constructor(x) {{ this.x = x }} }}\nclass D extends P {{}}\n{K}.all = [new P(2), new D(3)]; {K}.loop = [new P(4)]; {K}.loop.push({K}.loop)",
        f"delete {K}.loop; const seen = []; define('P', class P {{ m() {{ return P }} }}, {{ version: 2, migrate(p, v) {{ p.y = p.x; seen.push(p.x) }} }}); {K}.seen = seen",
        "class P { n() {} }",
    ]

    def grown(engine: Engine) -> list[object]:
        base, kept = World(), []
        for source in sources:
            outcome = attempt.develop(
                VmPool(engine), base.image, source, catalogue=base.catalogue, source_lookup=base.source
            )
            kept.append((outcome.verdict, outcome.reason, outcome.fuel, outcome.image and outcome.image.root))
            if outcome.image is not None:
                base.image, base.catalogue = outcome.image, outcome.catalogue
        return kept

    on_c = grown(c_engine)
    assert on_c == grown(python_engine)
    assert [verdict for verdict, *_ in on_c] == ["accepted", "accepted", "rejected"]
