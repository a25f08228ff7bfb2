"""define, undefine, state, reset and the stubs between callers and implementations (cases E and G)."""

from __future__ import annotations

import pytest
from language import World, empty_world


def test_a_definition_is_called_by_its_name() -> None:
    world = World()
    outcome = world.develop('define("up", s => s.toUpperCase() + "?")')
    assert outcome.changes.added == ("up",)
    assert world.result("up", "ab") == "AB?"


def test_every_caller_reaches_the_newest_implementation() -> None:
    world = World()
    world.develop('define("g", n => "a" + n); define("gg", n => g(n) + g(n))')
    world.develop('define("g", n => "b" + n)')
    assert world.result("gg", "x") == "bxbx"


def test_references_that_are_held_follow_a_redefinition() -> None:
    world = World()
    world.develop(
        """
        define("f", function (n) { return "old" + n })
        const held = state("held", () => ({}))
        held.plain = f
        held.bound = f.bind(null, 1)
        held.list = [f]
        held.later = new Map([["f", f]])
        """
    )
    world.develop('define("f", (n) => "new" + n)')
    held = 'state("held", () => ({}))'
    assert world.value(
        f"[{held}.plain(0), {held}.bound(), {held}.list.map(g => g(2)), {held}.later.get('f')(3)]"
    ) == [
        "new0",
        "new1",
        ["new2"],
        "new3",
    ]


def test_a_top_level_function_is_a_definition_and_its_name_means_the_stub() -> None:
    world = World()
    world.develop(
        """
        const early = twice(4)          // hoisted, as functions are
        function twice(n) { return 2 * n }
        async function later(n) { await 0; return twice(n) + early }
        function* upTo(n) { for (let i = 1; i <= n; i++) yield twice(i) }
        async function* slowly(n) { for (const i of upTo(n)) yield i }
        define("same", () => twice === globalThis.twice && twice.name === "twice")
        """
    )
    assert world.names == ["later", "same", "slowly", "twice", "upTo"]
    assert world.result("later", 1) == 10
    assert world.value("[...upTo(3)]") == [2, 4, 6]
    assert world.value(
        "(async () => { const all = []; for await (const i of slowly(2)) all.push(i); return all })()"
    ) == [2, 4]
    assert world.result("same") is True
    world.develop("function twice(n) { return 'two' + n }")
    assert world.result("later", 1) == "two18"


def test_of_two_functions_of_one_name_the_last_counts() -> None:
    world = World()
    world.develop("function f() { return 1 }\nfunction f() { return 2 }")
    assert world.result("f") == 2
    assert world.catalogue.definitions[0].source == "function f() { return 2 }"


def test_a_function_in_a_block_is_no_definition() -> None:
    world = World()
    world.develop(
        "{ function inner() { return 1 } }\nfunction outer() { function deep() { return 2 } return deep() }"
    )
    assert world.names == ["outer"]


@pytest.mark.parametrize(
    "source", ["function f() {}\nf = 5", "define('f', () => 1); f = 5", "define('f', () => 1); f.x = 1; f++"]
)
def test_a_definition_is_not_assigned_to(source: str) -> None:
    assert World().reject(source) == ("threw", "TypeError: 'f' is read-only")


def test_a_stub_has_its_name_no_length_and_stays() -> None:
    world = World()
    world.develop('define("f", (a, b) => 1); define("kept", () => define("f", () => 2) === f)')
    assert world.value("[f.name, f.length, typeof f]") == ["f", 0, "function"]
    assert world.result("kept") is True
    assert world.failure("delete globalThis.f")[0] == "threw"
    assert world.failure("Object.defineProperty(globalThis, 'f', { value: 1 })")[0] == "threw"


def test_statics_are_read_and_written_through_the_stub() -> None:
    world = World()
    world.develop(
        """
        const impl = (n) => n + impl.step
        impl.step = 10
        define("f", impl)
        f.step = 20
        f.extra = { deep: true }
        Object.defineProperty(f, "hidden", { value: 3, configurable: true })
        """
    )
    assert world.result("f", 1) == 21
    assert world.value("[f.step, f.extra.deep, f.hidden, 'step' in f, f.missing, Object.keys(f)]") == [
        20,
        True,
        3,
        True,
        None,
        ["step", "extra"],
    ]
    assert world.value("[delete f.extra, f.extra, Object.hasOwn(f, 'step'), { ...f }]") == [
        True,
        None,
        True,
        {"step": 20},
    ]
    world.develop("define('f', (n) => n)")
    assert world.value("f.step === undefined") is True


def test_a_library_is_an_object_behind_a_stub() -> None:
    world = World()
    world.develop(
        "define('geo', { unit: 'm', area(w, h) { return w * h }, square(w) { return this.area(w, w) } })"
    )
    assert world.value("[geo.square(3), geo.unit, Object.keys(geo), typeof geo, JSON.stringify(geo)]") == [
        9,
        "m",
        ["unit", "area", "square"],
        "object",
        '{"unit":"m"}',
    ]
    world.develop("state('held', () => ({ geo }))")
    world.develop("define('geo', { unit: 'ft', area: (w, h) => w + h })")
    assert world.value("[state('held', () => ({})).geo.unit, 'square' in geo]") == ["ft", False]
    assert world.call("geo").failure.headline == (
        "TypeError: geo is a library: define a function that uses it, and call that"
    )


CALLED_AS = [
    ("Math.max", "[f(1, 2), f(...[3, 9, 4, 1, 5, 7])]", [2, 9]),
    ("function () { return arguments.length }.bind(null, 1)", "[f(), f(2, 3)]", [1, 3]),
    ("new Proxy((...all) => all.length, {})", "[f(), f(2, 3)]", [0, 2]),
    ("(define('g', (...all) => all.length), g)", "[f(), f(2, 3)]", [0, 2]),
    ("function (...all) { return all.length }", "[f(), f(undefined), f(1, 2, 3, 4, 5, 6)]", [0, 1, 6]),
    ("function () { return arguments.length }", "[f(), f(undefined), f(1, 2, 3, 4, 5, 6)]", [0, 1, 6]),
    ("function () { return \\u0061rguments.length }", "[f(), f(1, 2)]", [0, 2]),
    ("(a, b = 5, c, d, e, g) => [a, b, e, g]", "f(1, undefined, 3, 4, 5, 6)", [1, 5, 5, 6]),
    ("(a, b, c, d, e) => e", "f(1, 2, 3, 4, 5)", 5),
    ("({ a }, [b]) => a + b", "f({ a: 1 }, [2])", 3),
    (
        "function () { return this === undefined ? 'none' : this.x }",
        "[f(), f.call({ x: 1 }), ({ f, x: 2 }).f()]",
        ["none", 1, 2],
    ),
    ("function (a) { return new.target === undefined ? a : { a } }", "[f(1), new f(2)]", [1, {"a": 2}]),
    ("(a) => a ?? 'nothing'", "[f(), f(null), [7].map(f)]", ["nothing", "nothing", [7]]),
    (
        "function F(x) { this.x = x }",
        "[new f(3).x, versionOf(new f(1)), new f(1).constructor === f]",
        [3, 1, True],
    ),
    ("async (a, ...rest) => rest", "f(1, 2, 3)", [2, 3]),
    ("{ m(a, b) { return [a, b, this === undefined] } }.m", "f(1, 2)", [1, 2, True]),
]


@pytest.mark.parametrize(("impl", "expression", "wanted"), CALLED_AS)
def test_a_stub_passes_on_how_it_was_called(impl: str, expression: str, wanted: object) -> None:
    world = World()
    world.develop(
        f"define('f', ({impl}))"
        if not impl.startswith("{")
        else f"define('f', ({impl.removesuffix('.m')}).m)"
    )
    assert world.value(expression) == wanted


def test_a_stub_changes_with_what_its_implementation_can_tell() -> None:
    world = World()
    world.develop("define('f', (a) => a)")
    world.develop("define('f', (...all) => all.length)")
    assert world.value("[f(), f(undefined, 1)]") == [0, 2]
    world.develop("define('f', (a) => [a])")
    assert world.value("f(1, 2)") == [1]


def test_an_arrow_is_no_constructor() -> None:
    world = World()
    world.develop("define('f', () => 1)")
    assert world.failure("new f()") == ("threw", "TypeError: not a constructor")


def test_undefine_removes_and_says_so_to_held_references() -> None:
    world = World()
    world.develop('define("f", () => 1); define("lib", { a: 1 }); state("held", () => ({ f }))')
    outcome = world.develop('undefine("f"); undefine("lib")')
    assert outcome.changes.removed == ("f", "lib")
    assert world.names == []
    removed = ("threw", "ReferenceError: f was removed by undefine")
    assert world.failure("f()") == removed
    assert world.failure("new f()") == removed
    assert world.failure("state('held', () => ({})).f(1)") == removed
    assert world.failure("lib.a") == ("threw", "ReferenceError: lib was removed by undefine")
    assert world.value("typeof f") == "function"
    assert world.call("f").missing
    world.develop('define("f", () => 2)')
    assert world.value("state('held', () => ({})).f()") == 2


def test_a_definition_that_comes_and_goes_in_one_source_leaves_its_stub() -> None:
    world = World()
    outcome = world.develop('define("f", () => 1); undefine("f")')
    assert (outcome.changes.added, world.names) == ((), [])
    assert world.failure("f()") == ("threw", "ReferenceError: f was removed by undefine")
    assert world.value("typeof f") == "function"
    assert world.call("f").missing


REFUSED = [
    ("undefine('nope')", "ReferenceError: undefine: nope is not defined"),
    ("define('f', () => 1); undefine('f'); undefine('f')", "ReferenceError: undefine: f is not defined"),
    ("define('state', () => 1)", "TypeError: define: state is a reserved name"),
    ("define('worlds', () => 1)", "TypeError: define: worlds is a reserved name"),
    ("define('schedule', () => 1)", "TypeError: define: schedule is a reserved name"),
    ("define('__world', () => 1)", "TypeError: define: __world is a reserved name"),
    ("define('class', () => 1)", "TypeError: define: class is a reserved name"),
    ("define('Array', () => 1)", "TypeError: define: Array is already a global"),
    ("define('toString', () => 1)", "TypeError: define: toString is already a global"),
    ("define('a-b', () => 1)", 'TypeError: define: "a-b" is not an ASCII identifier'),
    ("define('é', () => 1)", 'TypeError: define: "é" is not an ASCII identifier'),
    ("define('', () => 1)", 'TypeError: define: "" is not an ASCII identifier'),
    ("define('a\\n', () => 1)", 'TypeError: define: "a\\n" is not an ASCII identifier'),
    ("define(Symbol(), () => 1)", "TypeError: define: the name must be text, not symbol"),
    (
        "define('f', 42)",
        "TypeError: define f: expected a function, a class or a plain object of functions and values",
    ),
    (
        "define('f', null)",
        "TypeError: define f: expected a function, a class or a plain object of functions and values",
    ),
    (
        "define('f', [1])",
        "TypeError: define f: expected a function, a class or a plain object of functions and values",
    ),
    (
        "define('f', new Map())",
        "TypeError: define f: expected a function, a class or a plain object of functions and values",
    ),
    ("define('f', () => 1, { version: 0 })", "TypeError: define f: the version must be an integer >= 1"),
    ("define('f', () => 1, { version: 1.5 })", "TypeError: define f: the version must be an integer >= 1"),
    ("define('f', () => 1, { version: '2' })", "TypeError: define f: the version must be an integer >= 1"),
    (
        "define('f', () => 1, null)",
        "TypeError: define f: the options must be an object such as {doc, version, migrate}",
    ),
    (
        "define('f', () => 1, 'doc')",
        "TypeError: define f: the options must be an object such as {doc, version, migrate}",
    ),
    (
        "define('f', () => 1, { foo: 1 })",
        "TypeError: define f: there is no option foo; there are doc, version, migrate",
    ),
    (
        "define('f', () => 1, { [Symbol('s')]: 1 })",
        "TypeError: define f: there is no option Symbol(s); there are doc, version, migrate",
    ),
    (
        "define('f', () => 1, ['doc'])",
        "TypeError: define f: the options must be an object such as {doc, version, migrate}",
    ),
    ("define('f', () => 1, { doc: 5 })", "TypeError: define f: the doc must be text, not number"),
    (
        "state('s', () => ({}), { doc: 'x' })",
        "TypeError: state s: there is no option doc; there are version, migrate",
    ),
    ("define('f', () => 1, { migrate: 1 })", "TypeError: define f: migrate must be a function"),
    (
        "define('f', () => 1); define('f', {})",
        "TypeError: define f: it is a function and cannot become a library; choose another name",
    ),
    (
        "define('f', {}); undefine('f'); define('f', () => 1)",
        "TypeError: define f: it is a library and cannot become a function; choose another name",
    ),
    ("define('f', () => 1); define('f', f)", "TypeError: define f: it would be an alias of itself"),
    (
        "define('f', () => 1); define('g', f); define('f', g)",
        "TypeError: define f: it would be an alias of itself",
    ),
    (
        "state('s', () => 5)",
        "TypeError: state s: init must return an object, an array, a Map or the like, not number",
    ),
    (
        "state('s', () => null)",
        "TypeError: state s: init must return an object, an array, a Map or the like, not null",
    ),
    (
        "state('s', () => () => 1)",
        "TypeError: state s: init must return an object, an array, a Map or the like, not function",
    ),
    ("state('s', {})", "TypeError: state s: init must be a function that returns an object"),
    ("state('', () => ({}))", "TypeError: state: the name must be text that is not empty"),
    ("state('s', () => ({}), { version: -1 })", "TypeError: state s: the version must be an integer >= 1"),
    ("reset(5)", "TypeError: reset: the name must be text that is not empty"),
]


@pytest.mark.parametrize(("source", "headline"), REFUSED)
def test_a_refusal_says_why(source: str, headline: str) -> None:
    assert World().reject(source) == ("threw", headline)


def test_odd_but_good_names_are_taken() -> None:
    world = World()
    world.develop("define('$ok_1', () => 1); define('_', () => 2); define('x'.repeat(128), () => 3)")
    assert world.value("[$ok_1(), _()]") == [1, 2]
    assert world.reject("define('x'.repeat(129), () => 3)")[0] == "threw"


def test_a_definition_may_be_another_name_of_one() -> None:
    world = World()
    world.develop("define('f', () => 1); define('g', f)")
    world.develop("define('f', () => 2)")
    assert world.result("g") == 2


def test_doc_and_version_are_those_of_the_last_define() -> None:
    world = World()
    world.develop(
        "define('f', () => 1, { doc: 'one', version: 3 }); define('g', () => 1, { doc: undefined })"
    )
    assert [(d.doc, d.version) for d in world.catalogue.definitions] == [("one", 3), ("", 1)]
    outcome = world.develop("define('f', () => 1)")
    assert outcome.changes.changed == ("f",)
    assert [(d.doc, d.version) for d in world.catalogue.definitions] == [("", 1), ("", 1)]


def test_the_comment_above_a_declaration_is_its_doc() -> None:
    world = World()
    world.develop(
        """
        /**
         * Adds two numbers.
         *
         * @param {number} a
         */
        function add(a, b) { return a + b }
        // not JSDoc
        function sub(a, b) { return a - b }
        /** one line */ async function one() {}
        /** "quoted" \\ ${x} \u2028 é */
        function odd() {}
        /* plain */
        function plain() {}
        """
    )
    assert {d.name: d.doc for d in world.catalogue.definitions} == {
        "add": "Adds two numbers.\n\n@param {number} a",
        "sub": "",
        "one": "one line",
        "odd": '"quoted" \\ ${x} \u2028 é',
        "plain": "",
    }


def test_the_catalogue_has_parameters_and_texts_as_written() -> None:
    world = World()
    world.develop(
        """
        define("area", (w, h) => w * h)
        define("wait", async x => x)
        define("gen", function*g(t){})
        define("dflt", (x = f(1), y) => 0)
        define("meth", { m(a){} }.m)
        define("rest", function (a, {b, c}, ...d) {})
        define("lib", { one: 1, two() {} })
        function  declared (/* first */ a,
          b) { return a }
        """
    )
    assert {d.name: list(d.params) for d in world.catalogue.definitions} == {
        "area": ["w", "h"],
        "wait": ["x"],
        "gen": ["t"],
        "dflt": ["x = f(1)", "y"],
        "meth": ["a"],
        "rest": ["a", "{b, c}", "...d"],
        "lib": [],
        "declared": ["a", "b"],
    }
    texts = {d.name: d.source for d in world.catalogue.definitions}
    assert texts["declared"] == "function  declared (/* first */ a,\n          b) { return a }"
    assert texts["gen"] == "function*g(t){}"


def test_the_catalogue_knows_who_calls_whom() -> None:
    world = World()
    world.develop(
        """
        define("a", () => b() + c.d)
        define("b", (x) => x ? b(0) : 1)
        define("c", { d: 1 })
        define("shadow", (b) => b)
        """
    )
    assert {d.name: world.catalogue.calls(d.name) for d in world.catalogue.definitions} == {
        "a": ("b", "c"),
        "b": ("b",),
        "c": (),
        "shadow": (),
    }
    assert world.catalogue.called_by("b") == ("a", "b")


def test_state_is_made_once_and_kept() -> None:
    world = World()
    source = """
        const count = state("count", () => ({ n: 0, list: [1], map: new Map() }))
        define("bump", () => ++count.n)
    """
    outcome = world.develop(source)
    assert world.catalogue.states == (("count", 1),)
    assert outcome.catalogue.states == (("count", 1),)
    world.develop("bump(); bump()")
    world.develop(source + "// again")
    assert world.result("bump") == 3
    assert world.result("bump") == 3, "the heap of a call is thrown away"


def test_another_version_of_a_state_is_migrated_or_made_anew() -> None:
    world = World()
    world.develop("state('s', () => ({ x: 1 }))")
    world.develop(
        "state('s', () => ({}), { version: 2, migrate: (old, { from, to }) => ({ d: old.x, from, to }) })"
    )
    assert world.value("state('s', () => ({}), { version: 2 })") == {"d": 1, "from": 1, "to": 2}
    world.develop("state('s', () => ({ fresh: true }), { version: 1 })")
    assert world.value("state('s', () => ({}))") == {"fresh": True}
    assert world.reject(
        "state('s', () => ({}), { version: 4, migrate: () => { throw new Error('cannot') } })"
    ) == (
        "threw",
        "Error: cannot",
    )
    assert world.catalogue.states == (("s", 1),)


def test_reset_drops_a_state() -> None:
    world = World()
    world.develop("state('s', () => ({ n: 1 })).n = 5")
    world.develop("reset('s'); reset('t')")
    assert world.catalogue.states == ()
    assert world.value("[state('s', () => ({ n: 1 })).n, reset('s'), reset('s')]") == [1, True, False]


def test_a_class_is_constructed_by_a_call() -> None:
    world = World()
    world.develop(
        "class P { static made = 0; constructor(x) { this.x = x; P.made++ } double() { return 2 * this.x } }"
    )
    assert world.result("P", 4) == {"x": 4}
    assert world.value(
        "[new P(2).double(), new P(1) instanceof P, new P(1).constructor === P, P.made, P.name]"
    ) == [
        4,
        True,
        True,
        3,
        "P",
    ]
    assert world.failure("P()") == ("threw", "TypeError: class constructors must be invoked with 'new'")
    assert world.catalogue.definitions[0].kind == "class"


def test_the_names_of_the_prelude_are_there() -> None:
    assert (
        empty_world().value("[define, undefine, state, reset, data, worlds, console].map(x => typeof x)")
        == ["function"] * 4 + ["object"] * 3
    )


def test_a_definition_costs_the_same_however_many_there_are() -> None:
    def fuel(count: int) -> int:
        source = f"for (let i = 0; i < {count}; i++) define('f' + i, () => 1)"
        return World().attempt(source).fuel - World().attempt("define('f', () => 1)").fuel

    assert fuel(2000) < 2.2 * fuel(1000)
