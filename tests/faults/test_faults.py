"""The simulator itself: lives are data, the same everywhere, and what breaks is told, shortened and kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from engine.host import answers
from engine.host.writer import Writer
from engine.hub import messages as hub
from faults import steps
from faults.__main__ import main
from faults.actions import ACTIONS
from faults.asking import Asked, Book
from faults.checking import SUSPENDED, Broken, Judge
from faults.history import History
from faults.lives import life_of, live, live_life
from faults.options import draw_options
from faults.shrinking import shrink
from faults.steps import Life, from_json, to_json
from faults.telling import failure, shortened
from faults.twice import first_difference

ROOT = Path(__file__).parents[2]


def test_a_life_is_the_same_as_its_text_and_each_step_is_one_line() -> None:
    life = life_of("text")
    assert from_json(to_json(life)) == life
    assert all("\n" not in line for line in life.lines())
    assert len(life.lines()) == len(life.steps)


def test_a_text_that_is_no_life_is_refused() -> None:
    options = msgspec.json.encode(draw_options(1))
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        from_json(options + b'\n{"type":"pass","flicks":1,"more":2}')


def test_many_seeds_draw_every_action_and_every_trouble() -> None:
    found = [step for seed in range(120) for step in life_of(seed).steps]
    assert {type(step) for step in found} == set(steps.Step.__args__)
    assert {step.what for step in found if isinstance(step, steps.Ask)} == set(ACTIONS)


def test_another_length_of_a_life_changes_none_of_the_steps_before_its_end() -> None:
    short, long = life_of(5, ops=40).steps, life_of(5, ops=80).steps
    assert long[: len(short)] == short


@pytest.mark.parametrize("hash_seed", ["0", "1", "random"])
def test_a_life_leaves_the_same_trace_in_another_process_with_another_hash_seed(hash_seed: str) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "faults", "7", "--ops", "60", "--trace"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == live(7, ops=60).trace_hash


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["--seeds", "3..1"], "argument --seeds: there is no seed from 3 to 1"),
        (["--seeds", "abc"], "argument --seeds: must be two numbers as in 1..100, not 'abc'"),
        (["--seeds", "1..b"], "argument --seeds: must be two numbers as in 1..100, not '1..b'"),
        (["--seeds", ""], "argument --seeds: must be two numbers as in 1..100, not ''"),
        (["1", "--keep", "0..2"], "argument --keep: must be numbers of steps as in 1,2,9..12, not '0..2'"),
        (["1", "--keep", "2,x"], "argument --keep: must be numbers of steps as in 1,2,9..12, not '2,x'"),
        (["1", "--keep", "100000"], "argument --keep: this life has "),
        (["--seeds", "1..2", "--minutes", "0"], "argument --minutes: must be a number above 0, not '0'"),
        (["--seeds", "1..2", "--jobs", "0"], "argument --jobs: must be a whole number from 1 on, not '0'"),
        (["1", "--ops", "-5"], "argument --ops: must be a whole number from 1 on, not '-5'"),
        (["--life", "no such file"], "argument --life: no such file: no such file or directory"),
        (["--life", __file__], f"argument --life: {__file__} holds no life: "),
        (["7", "--seeds", "1..2"], "say one of SEED, --seeds A..B and --life FILE"),
        ([], "say one of SEED, --seeds A..B and --life FILE"),
    ],
)
def test_what_names_no_life_is_misuse_and_never_green(
    capsys: pytest.CaptureFixture[str], argv: list[str], error: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert told.out == "" and f"error: {error}" in told.err


def test_where_the_time_was_over_before_the_first_life_nothing_is_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--seeds", "1..2", "--minutes", "1e-12"]) == 1
    assert capsys.readouterr().out == "no life was lived in that time, so nothing is known\n"


def test_a_broken_promise_about_an_answer_prints_it_as_json() -> None:
    judge = Judge()
    book = Book(judge, History(judge))
    asked = Asked(1, "w-1", hub.Call("f", b"[]"), "a call", None, hears=True)
    book.add(asked)
    book.heard(asked, answers.CallOk(ok=True, value=msgspec.Raw(b'{"a":[1]}'), revision=1, logs=[]))
    with pytest.raises(Broken) as broken:
        book.check(at_rest=False, gone=set())
    assert '{"ok":true,"value":{"a":[1]}' in str(broken.value)
    assert "object at 0x" not in str(broken.value)


def test_a_judge_lets_pass_what_is_suspended_and_nothing_else() -> None:
    judge = Judge()
    judge.suspend("expiry")
    judge.require(10, False, "not asked")
    with pytest.raises(Broken, match="Invariant 12: asked"):
        judge.require(12, False, "asked")
    judge.resume("expiry")
    with pytest.raises(Broken, match="Invariant 10"):
        judge.require(10, False, "asked again")


def test_what_is_suspended_has_a_reason_and_is_never_everything() -> None:
    for trouble, (invariants, why) in SUSPENDED.items():
        assert invariants and len(why) > 30, trouble
        assert 12 not in invariants and 18 not in invariants, "serial order and previews are always judged"


@pytest.fixture
def too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: what is on its way to the disk is answered as if it were there."""
    appended = Writer._write

    def write(self: Writer, entries):
        sync = type(self._log._segments._active).sync if self._log._segments._active else None
        if sync is None:
            return appended(self, entries)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("engine.io.sim_file.SimFile.sync", lambda file: None)
            return appended(self, entries)

    monkeypatch.setattr(Writer, "_write", write)


def first_broken(seeds: range) -> tuple[Life, Broken]:
    for seed in seeds:
        life = life_of(seed, ops=60)
        try:
            live_life(life)
        except Broken as broken:
            return life, broken
    raise AssertionError("no seed found it")


@pytest.mark.usefixtures("too_early")
def test_a_fault_is_found_shortened_and_told_with_one_command() -> None:
    life, broken = first_broken(range(20))

    def lives(candidate: Life) -> Broken | None:
        try:
            live_life(candidate)
        except Broken as again:
            return again
        return None

    shrunk = shrink(life, broken, lives, seconds=8)
    assert shrunk.broken.invariant == broken.invariant
    assert len(shrunk.life.steps) < len(life.steps) // 3
    told = failure(life.options.seed, life, broken, 60)
    assert f"again: python -m faults {life.options.seed} --ops 60" in told
    text = shortened(shrunk)
    assert text.count("\n") > len(shrunk.life.steps)
    assert lives(from_json(to_json(shrunk.life))) is not None, "what is kept breaks it too"


def test_the_command_lives_a_seed_and_says_how_it_went(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["3", "--ops", "30", "--verbose"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("seed 3: 30 operations")
    assert "1. world a: create it" in told
    assert "trace" in told.splitlines()[-2]


def test_the_command_keeps_only_the_steps_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["3", "--ops", "30", "--keep", "1,2..4", "--verbose", "--once"]) == 0
    assert len([line for line in capsys.readouterr().out.splitlines() if line[:1].isdigit()]) == 4


def test_the_command_lives_many_and_says_which_broke(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["--seeds", "1..2", "--ops", "12", "--once"]) == 0
    assert "2 lives" in capsys.readouterr().out
    monkeypatch.setattr("faults.lives._use_every_world", lambda driver: 1 / 0)
    assert main(["--seeds", "1..2", "--ops", "12", "--once", "--shrink-seconds", "0"]) == 1
    told = capsys.readouterr().out
    assert "broken: [1, 2]" in told and "ZeroDivisionError" in told


def test_two_traces_that_part_are_shown_where_they_do() -> None:
    told = first_difference(["a", "b", "c"], ["a", "b", "d"])
    assert told.splitlines() == [
        "the two lives part at line 3, after",
        "  a",
        "  b",
        "first:  c",
        "second: d",
    ]
    assert first_difference(["a"], ["a", "b"]).endswith("first:  (its end)\nsecond: b")
