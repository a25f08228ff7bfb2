"""The mutation tester: what it changes, what it leaves alone, and that it tells good tests from weak ones."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from tests.mutation.__main__ import PARTS, Case, cases_of, judge, sampled
from tests.mutation.mutants import mutants_of
from tests.mutation.trees import ROOT, Tree, mirrors_of


def changes(text: str) -> list[tuple[str, str, str]]:
    return [(mutant.kind, mutant.before, mutant.after) for mutant in mutants_of(text)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x = a < b", [("comparison", "a < b", "(a <= b)")]),
        ("x = a >= b", [("comparison", "a >= b", "(a > b)")]),
        ("x = a is None", [("comparison", "a is None", "(a is not None)")]),
        ("x = a not in b", [("comparison", "a not in b", "(a in b)")]),
        (
            "x = a < b == c",
            [("comparison", "a < b == c", "(a < b != c)"), ("comparison", "a < b == c", "(a <= b == c)")],
        ),
        ("x = a and b", [("and/or", "a and b", "(a or b)")]),
        ("x = not a", [("not", "not a", "(a)")]),
        ("x = 7", [("off by one", "7", "8")]),
        ("x = True", [("constant", "True", "False")]),
        ("x = a + b", [("arithmetic", "a + b", "(a - b)")]),
        ("x += y", [("arithmetic", "x += y", "x -= y"), ("left out", "x += y", "pass")]),
        ("go(x)", [("left out", "go(x)", "pass")]),
        ("a.b = c", [("left out", "a.b = c", "pass")]),
        ("del a[b]", [("left out", "del a[b]", "pass")]),
        ("raise a", [("left out", "raise a", "pass")]),
        ("def f():\n    return a", [("result", "return a", "return None")]),
        ("def f():\n    return", [("left out", "return", "pass")]),
        ("while a: break", [("condition", "a", "(not a)"), ("left out", "break", "pass")]),
        ("x = a if b else c", [("condition", "b", "(not b)")]),
    ],
)
def test_a_mistake_is_one_change_of_one_place(text: str, wanted: list[tuple[str, str, str]]):
    assert changes(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "assert a < b, 7",
        "x = f'{a + 1}'",
        "x = 'a' + b",
        "def f(a: Literal[3] = None) -> Literal[4]: ...",
        "if TYPE_CHECKING:\n    x = 1",
        "__slots__ = (1,)",
        '"""Text."""',
        "from a import b",
        "def f():\n    return None",
        "@cache(maxsize=32)\ndef f(): ...",
    ],
)
def test_what_would_be_noise_is_left_alone(text: str):
    assert changes(text) == []


def test_a_mistake_is_put_in_its_place_behind_any_characters():
    text = "é = 'ü€😀'; x = a < b\n"
    (mutant,) = mutants_of(text)
    assert mutant.applied(text) == "é = 'ü€😀'; x = (a <= b)\n"
    assert str(mutant) == "1: comparison: a < b -> (a <= b)"


def test_every_mutant_of_every_part_can_be_run_and_differs():
    cases = cases_of(ROOT, list(PARTS))
    assert {case.part for case in cases} == set(PARTS)
    texts = {case.module: (ROOT / case.module).read_text() for case in cases}
    trees = {module: ast.dump(ast.parse(text)) for module, text in texts.items()}
    for case in sampled(cases, 90, seed=0):
        mutated = case.mutant.applied(texts[case.module])
        assert ast.dump(ast.parse(mutated)) != trees[case.module], str(case)


def test_a_sample_has_as_many_of_each_part_and_is_the_same_for_a_seed():
    cases = cases_of(ROOT, list(PARTS))
    sample = sampled(cases, 31, seed=5)
    assert sample == sampled(cases, 31, seed=5) != sampled(cases, 31, seed=6)
    assert [sum(case.part == part for case in sample) for part in PARTS] == [10, 10, 11]
    few = [case for case in cases if case.part == "hub"][:4]
    assert sampled([*few, *(case for case in cases if case.part == "logic")], 20, seed=0)[:4] == few
    assert sampled(cases, None, seed=0) == cases


def test_the_tests_of_a_module_come_before_those_of_its_neighbours():
    files = mirrors_of("engine/logic/overlaid.py")
    assert files[0] == "tests/logic/test_overlaid.py"
    assert sorted(files) == sorted(
        str(path.relative_to(ROOT)) for path in (ROOT / "tests/logic").glob("test_*.py")
    )
    assert mirrors_of("engine/record/lthash.py").index("tests/record/test_checkpoints.py") < 3


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A tree of one module, whose tests notice whether it adds, but not where it stops."""
    (tmp_path / "engine/part").mkdir(parents=True)
    (tmp_path / "tests/part").mkdir(parents=True)
    (tmp_path / "engine/part/total.py").write_text(
        "def total(numbers, most):\n"
        "    summed = 0\n"
        "    for number in numbers:\n"
        "        if summed > most:\n"
        "            break\n"
        "        summed += number\n"
        "    while summed < 0:\n"
        "        summed += 1\n"
        "    return summed\n"
    )
    (tmp_path / "tests/part/test_total.py").write_text(
        "from engine.part.total import total\n"
        "def test_it_adds():\n    assert total([1, 2], 9) == 3\n"
        "def test_it_is_never_less_than_nothing():\n    assert total([-3], 9) == 0\n"
    )
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\npythonpath = ['.']\n")
    return Tree(tmp_path)


def test_mistakes_that_tests_notice_are_found_and_others_survive(tree: Tree):
    files = mirrors_of("engine/part/total.py", tree.directory)
    assert tree.test(files, 60, compiles=True).ended == "passed"
    cases = {(case.mutant.line, case.mutant.after): case for case in cases_of(tree.directory, ["part"])}
    for line, after, limit_s, ended in (
        (6, "summed -= number", 60, "failed"),
        (9, "return None", 60, "failed"),
        (4, "(summed >= most)", 60, "passed"),
        (8, "pass", 3, "late"),
    ):
        judged = judge(tree, cases[line, after], limit_s)
        assert (judged.ran.ended, judged.survived) == (ended, ended == "passed"), after
    assert tree.test(files, 60).ended == "passed", "the tree is as it was"


def test_a_mistake_of_the_same_length_in_the_same_second_is_run_and_not_what_was_compiled_before(tree: Tree):
    files = mirrors_of("engine/part/total.py", tree.directory)
    assert tree.test(files, 60, compiles=True).ended == "passed"
    module = "engine/part/total.py"
    text = (tree.directory / module).read_text()
    (mutant,) = (each for each in mutants_of(text) if each.after == "summed -= number")
    assert len(mutant.before) == len(mutant.after)
    judged = judge(tree, Case("part", module, mutant), 60)
    assert (judged.survived, judged.ran.by) == (False, "tests/part/test_total.py::test_it_adds")
    assert (tree.directory / module).read_text() == text


def test_a_copy_of_this_tree_holds_what_git_does_not_ignore(tmp_path: Path):
    tree = Tree.of_this(tmp_path / "a").copied(tmp_path / "b")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert (tree.directory / "engine/hub/commit.py").read_bytes() == (
        ROOT / "engine/hub/commit.py"
    ).read_bytes()
    assert (tree.directory / "tests/mutation/__main__.py").is_file() or "tests/mutation" not in listed
    assert not (tree.directory / ".git").exists()
