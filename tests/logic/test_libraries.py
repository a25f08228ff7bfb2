"""Libraries from npm, unmodified, developed as CommonJS: what they answer is what they answer in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from language import PACKAGES, World
from library_calls import LIBRARIES, Library

NODE = shutil.which("node")
ANSWER = "(run) => { try { return { value: run() } } catch (error) { return { error: String(error) } } }"


def all_calls(library: Library) -> str:
    """One expression: the answers to all calls, one after the other on one copy of the library."""
    calls = ",\n".join(f"() => ({expression})" for expression in library.calls)
    return f"[\n{calls}\n].map({ANSWER})"


def node_answers(library: Library) -> list[Any]:
    """What Node says, with the same file as a CommonJS module."""
    script = f"""
      const module = {{ exports: {{}} }};
      const source = require("fs").readFileSync({json.dumps(str(PACKAGES / library.file))}, "utf8");
      new Function("exports", "require", "module", source).call(module.exports, module.exports, require, module);
      const {library.name} = module.exports;
      process.stdout.write(JSON.stringify({all_calls(library)}));"""
    assert NODE is not None
    environment = {"TZ": "UTC", "PATH": str(Path(NODE).parent)}
    done = subprocess.run([NODE, "-e", script], capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def test_every_library_has_twenty_calls() -> None:
    assert {library.name: len(set(library.calls)) for library in LIBRARIES} == {
        library.name: 20 for library in LIBRARIES
    }


@pytest.mark.needs_node
@pytest.mark.skipif(NODE is None, reason="Node says what the right answers are: install node")
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_a_library_answers_as_in_node(library: Library) -> None:
    world = World()
    outcome = world.develop((PACKAGES / library.file).read_text(encoding="utf-8"), commonjs=library.name)
    assert (outcome.changes.added, outcome.changes.globals) == ((library.name,), library.globals)
    got = world.value(all_calls(library))
    assert dict(zip(library.calls, got, strict=True)) == dict(
        zip(library.calls, node_answers(library), strict=True)
    )
    assert [answer for answer in got if "value" not in answer] == []
