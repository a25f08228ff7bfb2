"""The repository's goldens: green as they are, red for every way in which a set is not what was blessed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import goldens.__main__ as tool
from goldens.files import BadSet, Golden, read_set, write_set
from goldens.lives import results_of

ROOT = Path(__file__).parents[2]
WORLD = """
name = "counter"
description = "Counts."

[[file]]
path = "counter.js"
summary = "Counts"

[[example]]
call = "count"
args = [2]
value = 2

[[example]]
call = "count"
args = [3]
value = 5

[[example]]
call = "fail"
args = []
error = "Error: no"

[[example]]
call = "dice"
args = []
value = 0
"""
SOURCE = """
/** Count. */
function count(n) {
  const sum = (data.get("sum") ?? 0) + n;
  console.log("counted", n);
  data.set("sum", sum);
  return sum;
}
/** Fail. */
function fail() { throw new Error("no") }
/** Throw dice, now. */
function dice() { return [Math.random(), Date.now(), true] }
"""


@pytest.fixture
def worlds(tmp_path: Path) -> Path:
    """A directory with one example world."""
    folder = tmp_path / "worlds" / "counter"
    folder.mkdir(parents=True)
    (folder / "world.toml").write_text(WORLD)
    (folder / "counter.js").write_text(SOURCE)
    return folder.parent


@pytest.fixture
def blessed(worlds: Path, tmp_path: Path) -> Path:
    """A set in which all of it is blessed."""
    (tmp_path / "set").mkdir()
    assert run(worlds, tmp_path / "set", "bless", "--all", "--reason", "at first") == 0
    return tmp_path / "set"


def run(worlds: Path, set: Path, *argv: str) -> int:
    return tool.main(["--worlds", str(worlds), "--set", str(set), *argv])


def change(worlds: Path, before: str, after: str) -> None:
    source = worlds / "counter" / "counter.js"
    assert before in source.read_text()
    source.write_text(source.read_text().replace(before, after))


def entries(set: Path) -> dict[str, Any]:
    return json.loads((set / "counter.json").read_text())


def test_the_repositorys_goldens_are_green() -> None:
    """A change of this is a change of what the example worlds come to: `python -m goldens` shows it."""
    comparison = tool.compared(read_set(tool.HERE), results_of(tool.WORLDS))
    assert (comparison.changed, comparison.new, comparison.missing) == ({}, {}, {})
    assert comparison.is_green
    assert {id.partition("/")[0] for id in comparison.same} == {
        folder.name for folder in (ROOT / "worlds").iterdir() if (folder / "world.toml").exists()
    }


def test_what_was_blessed_is_green_and_written_as_it_is_read(blessed: Path, worlds: Path) -> None:
    assert run(worlds, blessed) == 0
    written = {path.name: path.read_text() for path in blessed.iterdir()}
    write_set(str(blessed), read_set(str(blessed)))
    assert {path.name: path.read_text() for path in blessed.iterdir()} == written
    assert entries(blessed)["counter/count 2"] == {
        "call": "count",
        "args": [3],
        "outcome": {"value": 5, "writes": {"sum": 5}, "logs": ["counted 3"]},
        "by": "operator",
        "reason": "at first",
    }


@pytest.mark.parametrize(
    ("before", "after", "id"),
    [
        ("return sum;", "return sum + 1;", "counter/count 1"),
        ('data.set("sum", sum)', 'data.set("total", sum)', "counter/count 1"),
        ('"counted"', '"added"', "counter/count 1"),
        ('Error("no")', 'TypeError("no")', "counter/fail 1"),
        ("Date.now(), true", "Date.now(), 1", "counter/dice 1"),
        ("function dice", "function nice", "counter/dice 1"),
    ],
)
def test_a_changed_result_is_red_and_shown(
    blessed: Path, worlds: Path, capsys: pytest.CaptureFixture, before: str, after: str, id: str
) -> None:
    change(worlds, before, after)
    assert run(worlds, blessed) == 1
    assert f"changed: {id}\n" in capsys.readouterr().out


def test_an_empty_set_is_red_and_so_is_a_missing_one(worlds: Path, tmp_path: Path, capsys: Any) -> None:
    assert run(worlds, tmp_path / "nowhere") == 1
    assert "nothing was compared" in capsys.readouterr().out
    shutil.rmtree(worlds / "counter")
    assert run(worlds, tmp_path / "nowhere") == 1, "nothing against nothing is no comparison"


def test_a_golden_that_is_not_found_any_more_and_one_that_is_not_blessed_are_red(
    blessed: Path, worlds: Path, capsys: pytest.CaptureFixture
) -> None:
    goldens = read_set(str(blessed))
    write_set(str(blessed), goldens | {"counter/count 9": goldens["counter/count 1"]})
    assert run(worlds, blessed) == 1 and "missing: counter/count 9\n" in capsys.readouterr().out
    del goldens["counter/fail 1"]
    write_set(str(blessed), goldens)
    assert run(worlds, blessed) == 1 and "new: counter/fail 1\n" in capsys.readouterr().out


def test_blessing_takes_what_is_named_and_keeps_the_reasons_of_the_rest(blessed: Path, worlds: Path) -> None:
    change(worlds, "return sum;", "return sum + 1;")
    change(worlds, 'Error("no")', 'Error("never")')
    assert run(worlds, blessed, "bless", "counter/fail 1", "--reason", "stricter", "--by", "ada") == 0
    assert run(worlds, blessed) == 1, "the counts are not blessed"
    now = entries(blessed)
    assert (now["counter/fail 1"]["by"], now["counter/fail 1"]["reason"]) == ("ada", "stricter")
    assert now["counter/count 1"]["outcome"]["value"] == 2
    assert run(worlds, blessed, "bless", "--all", "--reason", "one more") == 0
    assert run(worlds, blessed) == 0
    assert entries(blessed)["counter/dice 1"]["reason"] == "at first"


def test_one_more_call_changes_none_of_the_others(blessed: Path, worlds: Path) -> None:
    toml = worlds / "counter" / "world.toml"
    toml.write_text(WORLD.replace("[[example]]", '[[example]]\ncall = "fail"\nargs = []\n\n[[example]]', 1))
    comparison = tool.compared(read_set(str(blessed)), results_of(str(worlds)))
    assert comparison.changed == {} and list(comparison.new) == ["counter/fail 2"]


def test_what_is_missing_is_removed_by_a_blessing_and_an_empty_file_with_it(
    blessed: Path, worlds: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run(empty, blessed, "bless", "--all", "--reason", "no world is left") == 0
    assert list(blessed.iterdir()) == []


@pytest.mark.parametrize(
    "argv",
    [
        ["bless", "--all"],
        ["bless", "--all", "--reason", " "],
        ["bless", "--reason", "why"],
        ["bless", "counter/count 1", "--all", "--reason", "why"],
        ["bles"],
    ],
)
def test_a_blessing_says_what_and_why(blessed: Path, worlds: Path, argv: list[str]) -> None:
    before = entries(blessed)
    with pytest.raises(SystemExit) as misused:
        run(worlds, blessed, *argv)
    assert misused.value.code == 2 and entries(blessed) == before


def test_an_unknown_golden_is_not_blessed(blessed: Path, worlds: Path, capsys: Any) -> None:
    assert run(worlds, blessed, "bless", "counter/nothing 1", "--reason", "why") == 2
    assert "there is no counter/nothing 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"counter/count 1": 5}',
        '{"other/count 1": {}}',
        '{"counter/count 1": {"call": "count"}}',
    ],
)
def test_a_file_that_is_no_set_is_refused_by_name(
    blessed: Path, worlds: Path, text: str, capsys: Any
) -> None:
    (blessed / "counter.json").write_text(text)
    with pytest.raises(BadSet, match=r"counter\.json"):
        read_set(str(blessed))
    assert run(worlds, blessed) == 1 and "counter.json" in capsys.readouterr().err


def test_a_set_may_hold_any_text(tmp_path: Path) -> None:
    odd = Golden("f", ["\ud800", "ü"], {"value": "\ud83d\ude00 \udc00"}, "ada", "why")
    write_set(str(tmp_path), {"w/f 1": odd, "w/f 10": odd, "w/f 2": odd})
    found = read_set(str(tmp_path))
    assert list(found) == ["w/f 1", "w/f 2", "w/f 10"]
    assert json.dumps(found["w/f 1"].args) == json.dumps(odd.args)


def test_they_are_the_same_in_a_process_with_other_hashes() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "goldens"],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ended.returncode, ended.stderr) == (0, "") and ended.stdout.endswith(" the same\n")
