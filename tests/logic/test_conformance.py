"""Small programs of the language do in a world what they do in the bare engine.

The differences are listed with their reasons. Each program of `conformance/*.js` begins with its title and shows
values by `out(...)`. It runs three times: in a heap without a prelude, as a preview, and as a source, whose top-level
functions and classes become definitions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from language import World, empty_world, engine, pool

from engine import limits
from engine.logic import HeapImage, Job, boot, text_of, wtf8

TITLE = "//: "
SHOW = (
    "const show = (v) => v === undefined ? 'undefined' "
    ": JSON.stringify(v, (k, x) => typeof x === 'bigint' ? x + 'n' : x);"
)
BARE = """(host, compile) => {
  let outcome = "pending";
  const done = (lines) => { outcome = JSON.stringify(lines); };
  const fail = (error) => { outcome = JSON.stringify(`${error.name}: ${error.message}`); };
  return (request) => {
    if (request === "outcome") return outcome;
    try {
      compile(`(function () { "use strict"; return ${request} })`, "program")().then(done, fail);
    } catch (error) {
      fail(error);
    }
  };
}"""
TURNS = 1500  # of the microtasks, which is more than any program takes

FROZEN = "built-ins cannot be changed: that is what checks rest on"
ACCESSORS = "on these prototypes properties are accessors, so that ordinary code may assign over them"
STRICT_EVAL = "eval and Function make strict code, in the global scope"
FUNCTIONS_KEEP_NO_INSTANCES = (
    "a function that is a definition keeps no instances: instanceof says to define a class"
)
STUBS = "a definition is known by its stub, which has no text"
ASSIGNED_OVER = (
    "on most prototypes only names such as toString may be assigned over: reading an accessor costs a call"
)

DIFFERENCES = {
    "a built-in prototype is changed": FROZEN,
    "a built-in method is replaced": FROZEN,
    "a built-in global is replaced": FROZEN,
    "whether built-ins are frozen": FROZEN,
    "descriptors of other built-ins": FROZEN,
    "prepareStackTrace": FROZEN,
    "descriptors of prototypes that are assigned over": ACCESSORS,
    "any method of an array is assigned over": ASSIGNED_OVER,
    "any method of a text object is assigned over": ASSIGNED_OVER,
    "the text of Function and eval": STRICT_EVAL,
    "eval sees the scope around it": STRICT_EVAL,
    "eval is sloppy unless it says otherwise": STRICT_EVAL,
}
DIFFERENCES_OF_DEFINITIONS = {
    "functions as text": STUBS,
    "old style subclasses": FUNCTIONS_KEEP_NO_INSTANCES,
    "generators make objects of their prototype": FUNCTIONS_KEEP_NO_INSTANCES,
}


def programs() -> Iterator[tuple[str, str]]:
    """Title and text of each program."""
    for path in sorted((Path(__file__).parent / "conformance").glob("*.js")):
        for block in path.read_text(encoding="utf-8").split(TITLE)[1:]:
            title, _, text = block.partition("\n")
            yield title, text.rstrip("\n")


PROGRAMS = dict(programs())


def expression(text: str) -> str:
    """A promise of what a program showed."""
    return f"""(() => {{
{SHOW} const lines = []; const out = (...values) => {{ for (const v of values) lines.push(show(v)) }};
(() => {{ {text}
}})();
return (async () => {{ for (let turn = 0; turn < {TURNS}; turn++) await null; return lines }})() }})()"""


@cache
def bare_heap() -> HeapImage:
    return boot(engine(), BARE)


def in_the_bare_engine(text: str) -> object:
    result = pool().run(
        Job(
            image=bare_heap(),
            request=wtf8(expression(text)),
            collect_request=b"outcome",
            clock_ms=946_684_800_000,
            seed=7,
            fuel=limits.CALL_FUEL_MAX,
            host=lambda op, asked: None,
        )
    )
    assert result.text is not None, result
    return json.loads(text_of(result.text))


def in_a_preview(text: str) -> object:
    outcome = empty_world().execute(expression(text))
    if outcome.failure is not None:
        return outcome.failure.headline
    assert outcome.value is not None
    return json.loads(outcome.value)


def as_a_source(text: str) -> object:
    """What it showed when its top-level functions and classes were definitions."""
    world = World()
    kept = "state('lines', () => [])"
    outcome = world.attempt(
        f"{SHOW} const out = (...values) => {{ for (const v of values) {kept}.push(show(v)) }};\n{text}"
    )
    return outcome.reason.split("\n", 1)[0] if outcome.verdict == "rejected" else world.value(kept)


def test_titles_are_unique_and_the_programs_many() -> None:
    assert len(list(programs())) == len(PROGRAMS)
    assert len(PROGRAMS) >= 300


def test_every_difference_is_of_a_program() -> None:
    assert {*DIFFERENCES, *DIFFERENCES_OF_DEFINITIONS} <= set(PROGRAMS)


@pytest.mark.parametrize("title", PROGRAMS)
def test_a_program_does_in_a_world_what_it_does_in_the_bare_engine(title: str) -> None:
    text = PROGRAMS[title]
    bare = in_the_bare_engine(text)
    assert bare, "it shows something"
    assert (in_a_preview(text) == bare) is (title not in DIFFERENCES)
    assert (as_a_source(text) == bare) is (title not in {*DIFFERENCES, *DIFFERENCES_OF_DEFINITIONS})
