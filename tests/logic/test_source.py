"""Sources before they run: wrapping, renaming, positions, parameters, names."""

from __future__ import annotations

import re
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.logic.failures import readable_error
from engine.logic.source import (
    SourceError,
    develop_program,
    expression_program,
    file_of,
    library_program,
    restored_text,
    utf16_length,
)
from engine.logic.syntax import Syntax, free_names, has_private_members, params_of

PARAMS = [
    ("(w, h) => 1", ["w", "h"]),
    ("class { constructor(w) {} }", ["w"]),
    ("class A extends B { m(x) {} }", []),
    ("async x => x", ["x"]),
    ("function*g(t){}", ["t"]),
    ("(x = f(1), y) => 0", ["x = f(1)", "y"]),
    ("m(a){}", ["a"]),
    ("async *m({ a, b: [c] } = {}, ...d) {}", ["{ a, b: [c] } = {}", "...d"]),
    ("get m() { return 1 }", []),
    ("function map() {\n    [native code]\n}", []),
    ("() => ((a, b) => a)", []),
    ("(/* one */ a, // two\n b) => a", ["a", "b"]),
    ("not javascript (", []),
]


@pytest.mark.parametrize(("text", "params"), PARAMS)
def test_parameters_come_from_a_parser(text: str, params: list[str]) -> None:
    assert params_of(text) == params


def test_free_names_are_those_taken_from_around() -> None:
    text = """(a, { b, c: d = k }, [e] = w) => {
      const f = a + z; let { g } = f
      for (const q of r) q(s)
      try { t() } catch (u) { u() }
      function v() { return v }
      class C extends D { m() { return C } }
      return { a, x, y: b.p, [n]: 1, m() {} }
    }"""
    assert free_names(text) == {"k", "w", "z", "r", "s", "t", "D", "x", "n"}


def test_a_name_is_renamed_only_where_it_is_declared() -> None:
    program = develop_program("function f(n) { return n ? f(n - 1) : g.f }")
    assert program.body == "function f$pw(n) { return n ? f(n - 1) : g.f }"
    assert program.text == (
        '"use strict";{throw $source;function $source($define){'
        'const f=$define.define("f",f$pw,"");arguments[0]=void 0;\n'
        "function f$pw(n) { return n ? f(n - 1) : g.f }\n}}"
    )
    assert program.function_length == len(program.text) - len('"use strict";{throw $source;}')


def test_given_names_are_in_no_source() -> None:
    program = develop_program("function f() { return f$pw + $source + $define }\nfunction f$pw1() {}")
    assert "function f$pw2(" in program.text
    assert "function $source1($define2){" in program.text


def test_a_class_is_defined_at_its_place() -> None:
    program = develop_program("/** D */ class C extends B { }\nnew C()")
    assert program.body == '/** D */ $define.define("C",class C extends B { },"D");\nnew C()'
    assert 'const C=$define.reserve("C");arguments[0]=void 0;' in program.text


BEGUN = 'class C$pw {static{$define.begin("C",this)} '
CLASSES = [
    ("class C { m() { return new C() } }", f'$define.define("C",{BEGUN}m() {{ return new C() }} }},"");'),
    (
        "class C { static #n = 0; m() { C.#n++; return #n in C || C.x.#n } }",
        f'$define.define("C",{BEGUN}static #n = 0; m() {{ C$pw.#n++; return #n in C$pw || C.x.#n }} }},"");',
    ),
    ("define('C', class C { m() { C } })", f"define('C', {BEGUN}m() {{ C }} }})"),
    (
        'if (x) { define ( "C",\nclass C { m() { C } }, {}) }',
        f'if (x) {{ define ( "C",\n{BEGUN}m() {{ C }} }}, {{}}) }}',
    ),
]
NOT_REWRITTEN = [
    "define('C', class { m() { return C } })",
    "define('C', class C { m() { return this.C + other.C } })",
    "define('C', class C { m(C) { return C } })",
    "define('D', class C { m() { return C } })",
    "other.define('C', class C { m() { return C } })",
    "const define = f; define('C', class C { m() { return C } })",
    "const E = class C { m() { return C } }",
    "// define('C', class C { m() { C } })",
]


@pytest.mark.parametrize(("source", "body"), CLASSES)
def test_a_class_that_uses_its_own_name_is_renamed_and_begun(source: str, body: str) -> None:
    program = develop_program(source)
    assert program.complaint is None
    assert program.body == body
    start, end = program.body.index("class"), program.body.rindex("}") + 1
    assert (
        restored_text("C", program.body[start:end]) == source[source.index("class") : source.rindex("}") + 1]
    )


@pytest.mark.parametrize("source", NOT_REWRITTEN)
def test_other_classes_are_left_as_they_are(source: str) -> None:
    assert develop_program(source).body == source


def test_the_written_text_comes_back_from_a_renamed_one() -> None:
    for text in (
        "function {}(a) {{}}",
        "async  function* {}() {{}}",
        "function\n{}() {{}}",
    ):
        assert restored_text("f", text.format("f$pw3_2")) == text.format("f")
    assert restored_text("f", "function g$pw() {}") == "function g$pw() {}"
    assert restored_text("f", "function f$pwx() {}") == "function f$pwx() {}"
    nested = 'define("C", class C$pw7 {static{$define7.begin("C",this)} m() { C$pw7.#x; C$pw } })'
    assert restored_text("f", f"() => {nested}") == '() => define("C", class C { m() { C.#x; C$pw } })'


PRIVATE = [
    ("class { #x = 1 }", True),
    ("class C extends B { static #x() {} }", True),
    ("class { get #x() { return 1 } }", True),
    ("class { static async *#x() {} }", True),
    ("class { x = '#y'; m() { return /#z/ } }", False),
    ("class { m() { return class { #x } } }", False),
    ("class { /* #x */ m(o) { return o } }", False),
]


@pytest.mark.parametrize(("text", "wanted"), PRIVATE)
def test_private_members_are_found_where_a_class_has_them(text: str, wanted: bool) -> None:
    assert has_private_members(text) is wanted


LETTERS = st.text("a \n\r\té\u2028\U0001f600/*'", max_size=12)


@given(st.lists(st.tuples(st.sampled_from("fgh"), LETTERS), min_size=1, max_size=4))
def test_every_position_finds_its_way_back(parts: list[tuple[str, str]]) -> None:
    """Where the body has a marker, the written text has it at the position that is given back."""
    source = "".join(
        f"function {name}{index}() {{ '@{index}' }} class C{index} {{ static s = C{index} }} "
        f"/*{re.sub(r'[*]+/', '', filler)}*/ '#{index}';"
        for index, (name, filler) in enumerate(parts)
    )
    program = develop_program(source)
    assert program.complaint is None
    written = _lines(source)
    for index in range(len(parts)):
        for marker in (f"@{index}", f"#{index}"):
            for row, line in enumerate(_lines(program.text), 1):
                if marker in line:
                    column = len(line[: line.index(marker)].encode()) + 1
                    at_row, at_column = program.written_position(row, column)
                    assert written[at_row - 1][at_column - 1 :].startswith(marker)


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def test_positions_outside_of_the_source_are_at_its_edges() -> None:
    program = develop_program("a\nbc")
    assert program.written_position(1, 70) == (1, 1)
    assert program.written_position(99, 1) == (2, 3)
    assert program.written_position(3, 99) == (2, 3)


EXPRESSIONS = [
    ("1 + 2", "1 + 2"),
    ("1;", "1"),
    ("f(1); // done", "f(1)"),
    ("{ a: 1 }", "{ a: 1 }"),
    ("function f() {}", "function f() {}"),
    ("a, b", "a, b"),
    ("x // why", "x // why"),
]


@pytest.mark.parametrize(("expression", "body"), EXPRESSIONS)
def test_an_expression_is_returned_from_a_function(expression: str, body: str) -> None:
    program = expression_program(expression)
    assert program.text == f'"use strict";{{throw $source;function $source(){{return (\n{body}\n)}}}}'


@pytest.mark.parametrize(
    "text", ["", "// only", "1; 2", "const x = 1", "if (a) b", "a)(b", "1), (2", "return 5"]
)
def test_anything_but_one_expression_is_refused(text: str) -> None:
    with pytest.raises(SourceError, match=r"expected (one|an) expression"):
        expression_program(text)


def test_a_library_keeps_its_lines_and_may_be_sloppy() -> None:
    program = library_program("#!/usr/bin/env node\nmodule.exports = 1")
    assert program.text == (
        "{let $source;{throw $source;function $source(exports,require,module){\n"
        "///usr/bin/env node\nmodule.exports = 1\n}}}"
    )
    assert program.written_position(3, 8) == (2, 8)


def test_the_file_name_comes_of_the_text_alone() -> None:
    assert file_of("5") == "pw:b3372b58"
    assert (
        file_of("5") == develop_program("5").file == expression_program("5").file == library_program("5").file
    )
    assert file_of("\ud800") != file_of("\udc00")


def test_lengths_are_counted_as_javascript_counts() -> None:
    assert [utf16_length(text) for text in ("", "ab", "é", "\U0001f600", "\ud800x")] == [0, 2, 1, 2, 2]


def test_deep_nesting_is_read_without_recursion() -> None:
    deep = "(" * 5000 + "1" + ")" * 5000
    assert Syntax(deep).free_names() == frozenset()
    assert develop_program(f"const x = {deep}").complaint is None


AWAITS = [
    ("await 1", 0),
    ("f(async () => await 1)", None),
    ("async function f() { await 1 }\nif (x) { await 2 }", 40),
    ("for await (const x of y) {}", 0),
    ("async function f() { for await (const x of y) {} }", None),
    ("for (const x of y) await x", 19),
    ("class C { x = await 1; static { await 2 } async m() { await 3 } }", None),
    ("class C extends (await b) { async m() { await 3 } }", 17),
    ("const f = async (a = await 1) => {}; await 2", 37),
    ("async function* g() { (() => { await 1 })(); await 2 }", None),
    ("'await'", None),
    ("const awaited = 1 // await", None),
]


@pytest.mark.parametrize(("text", "at"), AWAITS)
def test_an_await_is_at_the_top_level_if_no_function_is_around_it(text: str, at: int | None) -> None:
    found = Syntax(text).top_level_await()
    assert (None if found is None else found.start_byte) == at


def test_looking_for_an_await_visits_no_node_of_a_large_text_but_those() -> None:
    text = "async function f(a) { return [await a, a + 1, { b: a * 2 }] }\n" * 16_000
    parsed = Syntax(text)
    begun = perf_counter()
    assert parsed.top_level_await() is None
    assert perf_counter() - begun < 2


@given(st.text(max_size=40))
def test_no_text_makes_the_reader_fail(text: str) -> None:
    params_of(text)
    free_names(text)
    for wrap in (develop_program, expression_program):
        try:
            wrap(text)
        except SourceError as error:
            assert str(error).startswith("SyntaxError: ")


def test_frames_of_the_prelude_are_left_out() -> None:
    error = "\n".join(
        [
            "Error: it broke",
            "    at (a (b) c) is no frame",
            "    at f (pw:00000000:3:5)",
            "    at <anonymous> (prelude:9:9)",
            "    at map (native)",
            "    at <anonymous> (<input>:1:1)",
            "    at $source (pw:00000000:2:1)",
            "    at apply (native)",
            "    at answer (prelude:1:1)",
            "    at <anonymous> (vm:1:1)",
            "",
        ]
    )
    assert readable_error(error, lambda file: None).split("\n") == [
        "Error: it broke",
        "    at (a (b) c) is no frame",
        "    at f (pw:00000000:2:5)",
        "    at map (native)",
        "    at <anonymous> (<eval>:1:1)",
        "    at <source> (pw:00000000:1:1)",
    ]
