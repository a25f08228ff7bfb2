"""Steps of an operation: all of them, in order, and the operation none the wiser."""

from __future__ import annotations

import json
from typing import Any

import pytest
from language import MOMENT_FLICKS, Rows, World, pool
from peers import Granted

from engine import limits
from engine.logic import CallOutcome, Engine, VmPool, Waiting, call, resume
from engine.logic.jobs import Failure
from engine.logic.watching import Step, Watcher

BUSY = """
function busy() {
  console.log("one", { two: 2 });
  data.get("there"); data.get("not there");
  data.set("there", [1]); data.get("there");
  data.list("", { after: "a", limit: 1 });
  data.delete("there"); data.delete("there"); data.get("there");
  try { data.set("k".repeat(2000), 1) } catch (error) { console.log(error.message.slice(0, 4)) }
  return null;
}
async function asking() {
  const known = await worlds.list();
  await worlds.list();
  await worlds.functions("b");
  try { await worlds.call("z", "f") } catch {}
  const first = await worlds.call("b", "f", 1, "x");
  return [known, first, await worlds.call("b", "g").catch((error) => error.message)];
}
"""
ROWS = {"there": b'"row"', "b": b"2"}


def run(
    function: str, *heard: tuple[bool, bytes], watcher: Watcher | None = None, on: VmPool | None = None
) -> CallOutcome:
    """Call a definition of BUSY; what it asks is answered in turn."""
    world = World()
    world.develop(BUSY)
    shared: dict[str, Any] = {
        "data": Rows(ROWS),
        "peers": Granted("b", functions={"b": [("f", "function", "", ["n"])]}),
        "source_lookup": world.source,
        "watcher": watcher,
    }
    at = on or pool()
    part = call(
        at, world.image, function, b"[]", flick=MOMENT_FLICKS, seed=7, fuel=limits.CALL_FUEL_MAX, **shared
    )
    for ordinal, (ok, value) in enumerate(heard):
        assert isinstance(part, Waiting)
        part = resume(at, world.image, part.park, ordinal, ok, value, **shared)
    assert isinstance(part, CallOutcome), part
    return part


def told(watcher: Watcher) -> list[tuple[Any, ...]]:
    return [
        (step.kind, step.name, json.loads(step.value) if step.value is not None else step.text)
        for step in watcher.steps
    ]


def test_every_read_write_and_line_is_a_step_in_its_order():
    watcher = Watcher()
    outcome = run("busy", watcher=watcher)
    watcher.ended(outcome)
    assert told(watcher) == [
        ("console", None, 'one {"two":2}'),
        ("read", "there", "row"),
        ("read", "not there", None),
        ("write", "there", [1]),
        ("read", "there", [1]),
        ("list", "", {"rows": [{"key": "b", "value": 2}], "next": "b"}),
        ("delete", "there", True),
        ("delete", "there", False),
        ("read", "there", None),
        ("write", "k" * 2000, "data: a key is 2000 bytes; at most 1024 are allowed"),
        ("console", None, "data"),
        ("end", None, None),
    ]
    assert [n for n, step in enumerate(watcher.steps) if step.is_own] == [4, 8]
    assert [n for n, step in enumerate(watcher.steps) if step.failed] == [9]
    listed = watcher.steps[5]
    assert (listed.after, listed.limit) == ("a", 1)
    assert watcher.steps[-1] == Step("end", value=b"null")


def test_asks_answers_and_looks_are_steps_and_a_look_is_told_once():
    watcher = Watcher()
    run("asking", (True, b'{"a":1}'), (False, b"b.g: gone"), watcher=watcher)
    assert told(watcher) == [
        ("look", "list", ["b"]),
        ("look", "functions", [{"name": "f", "kind": "function", "doc": "", "params": ["n"]}]),
        ("look", "call", "a may not call z"),
        ("ask", None, "a may not call z"),
        ("look", "call", None),
        ("ask", None, [1, "x"]),
        ("answer", None, {"a": 1}),
        ("ask", None, []),
        ("answer", None, "b.g: gone"),
    ]
    asks = [step for step in watcher.steps if step.kind in ("ask", "answer")]
    assert [(step.world, step.function, step.ordinal, step.failed) for step in asks] == [
        ("z", "f", None, True),
        ("b", "f", 0, False),
        ("b", "f", 0, False),
        ("b", "g", 1, False),
        ("b", "g", 1, True),
    ]


@pytest.mark.parametrize(
    ("function", "heard"), [("busy", ()), ("asking", ((True, b'{"a":1}'), (False, b"b.g: gone")))]
)
def test_who_is_watched_comes_to_the_same_to_the_last_unit_of_fuel(function: str, heard: Any):
    assert run(function, *heard, watcher=Watcher()) == run(function, *heard)


def test_both_paths_take_the_same_steps(python_engine: Engine, c_engine: Engine):
    steps = []
    for one in (python_engine, c_engine):
        watcher = Watcher()
        on = VmPool(one)
        run("asking", (True, b"1"), (True, b"2"), watcher=watcher, on=on)
        run("busy", watcher=watcher, on=on)
        steps.append(watcher.steps)
    assert steps[0] == steps[1]


def test_the_last_step_says_how_it_ended():
    for outcome, step in (
        (CallOutcome(ok=True, fuel=1, value=b"7"), Step("end", value=b"7")),
        (
            CallOutcome(ok=False, fuel=1, failure=Failure(kind="threw", error="Error: no")),
            Step("end", name="threw", text="Error: no", failed=True),
        ),
        (
            CallOutcome(ok=False, fuel=0, missing=True),
            Step("end", name="missing", text="not defined", failed=True),
        ),
    ):
        watcher = Watcher()
        watcher.ended(outcome)
        assert watcher.steps == [step]


def test_a_step_more_than_there_may_be_is_cut(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "STEPS_MAX", 3)
    watcher = Watcher()
    for n in range(3):
        watcher.note(Step("console", text=str(n)))
    assert (len(watcher.steps), watcher.is_cut) == (3, False)
    watcher.note(Step("console", text="3"))
    watcher.note(Step("console", text="4"))
    assert ([step.text for step in watcher.steps], watcher.is_cut) == (["0", "1", "2"], True)


def test_a_byte_more_than_there_may_be_is_cut(monkeypatch: pytest.MonkeyPatch):
    step = Step("write", name="ké", value=b"12345")
    step_bytes = limits.STEP_BYTES_ABOUT + 3 + 5
    monkeypatch.setattr(limits, "STEPS_BYTES_MAX", 2 * step_bytes)
    watcher = Watcher()
    watcher.note(step)
    watcher.note(step)
    assert not watcher.is_cut
    watcher.note(Step("console", text=""))
    assert (watcher.is_cut, watcher.steps) == (True, [step, step])


@pytest.mark.parametrize("field", ["value", "text"])
def test_what_is_too_large_to_show_is_left_out_and_its_size_told(monkeypatch: pytest.MonkeyPatch, field: str):
    monkeypatch.setattr(limits, "STEP_VALUE_BYTES_MAX", 4)
    fits, large = ("é" * 2, "é" * 2 + "x")
    for text, shown, left_out_bytes in ((fits, fits, 0), (large, None, 5)):
        watcher = Watcher()
        watcher.note(Step("console", **{field: text.encode() if field == "value" else text}))
        (step,) = watcher.steps
        wanted = shown.encode() if shown is not None and field == "value" else shown
        assert (getattr(step, field), step.left_out_bytes) == (wanted, left_out_bytes)


def watched(*texts: str) -> Watcher:
    watcher = Watcher()
    for text in texts:
        watcher.note(Step("console", text=text))
    return watcher


def test_the_first_step_that_departs_is_found():
    original = watched("a", "b", "c")
    assert watched("a", "b", "c").departs_from(original) is None
    assert watched("a", "x", "c").departs_from(original) == 1
    assert watched("x", "b", "c").departs_from(original) == 0
    assert watched("a", "b").departs_from(original) == 2
    assert watched("a", "b", "c", "d").departs_from(original) == 3
    assert watched().departs_from(watched()) is None


def test_past_what_was_cut_nothing_is_known(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "STEPS_MAX", 2)
    long, longer = watched("a", "b", "c"), watched("a", "b", "x")
    assert long.departs_from(longer) is None
    assert watched("a").departs_from(long) == 1
    assert long.departs_from(watched("a")) == 1


def test_what_was_left_out_departs_where_it_differs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "STEP_VALUE_BYTES_MAX", 4)
    assert watched("aaaaa").steps == watched("bbbbb").steps
    assert watched("aaaaa").departs_from(watched("bbbbb")) == 0


def test_a_value_and_a_text_that_look_alike_are_not_the_same_step():
    one, other = Watcher(), Watcher()
    one.note(Step("end", value=b"a"))
    other.note(Step("end", text="a"))
    assert one.departs_from(other) == 0
