"""The example worlds do what their own examples say, and `pw serve --examples` makes them once, also in two goes."""

from __future__ import annotations

import asyncio
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from engine.host import answers, simulated
from engine.hub.messages import Call, Describe, Develop, Operation
from engine.serve.examples import BadExample, plant

WORLDS = Path(__file__).parents[2] / "worlds"
EXAMPLES = [(path.parent, tomllib.loads(path.read_text())) for path in sorted(WORLDS.glob("*/world.toml"))]
NAMES = [example["name"] for _, example in EXAMPLES]
FILES = [file["path"] for _, example in EXAMPLES for file in example["file"]]


class CutOff(Exception):
    """The process that planted ended here."""


class Host:
    """A simulated host with the live one's way of being asked; it dies before develop number `dies_at`."""

    def __init__(self) -> None:
        self.simulated = simulated(1)
        self.worlds = self.simulated.worlds
        self.revisions = self.simulated.revisions
        self.developed = 0
        self.dies_at: int | None = None

    async def create(self, name: str, *, actor: str, request_id: str | None = None) -> Any:
        return self.simulated.create(name, actor=actor, request_id=request_id)

    async def perform(
        self, world: str, operation: Operation, *, actor: str, request_id: str | None = None
    ) -> Any:
        if isinstance(operation, Develop):
            if self.developed == self.dies_at:
                raise CutOff
            self.developed += 1
        return self.simulated.perform(world, operation, actor=actor, request_id=request_id)

    def plant(self, directory: Path = WORLDS) -> list[str] | None:
        return asyncio.run(plant(self, str(directory)))

    def id_of(self, name: str) -> str:
        return next(world.id for world in self.worlds() if world.name == name)

    def call(self, world: str, function: str, args: list[Any]) -> answers.OperationAnswer:
        return self.simulated.perform(world, Call(function, json.dumps(args).encode()))


def grown(folder: Path, example: dict[str, Any]) -> tuple[Host, str]:
    """A world with an example's files in it, one revision each."""
    host = Host()
    world = host.simulated.create(example["name"]).id
    for n, file in enumerate(example["file"], start=1):
        answer = host.simulated.perform(world, Develop((folder / file["path"]).read_text(), file["summary"]))
        assert isinstance(answer, answers.Accepted) and answer.revision == n, answer
    return host, world


def test_there_are_the_four_worlds():
    assert NAMES == ["currency", "shout", "todos", "trip-budget"]


@pytest.mark.parametrize(("folder", "example"), EXAMPLES, ids=NAMES)
def test_an_example_world_does_what_its_examples_say(folder: Path, example: dict[str, Any]):
    host, world = grown(folder, example)
    for call in example["example"]:
        answer = host.call(world, call["call"], call["args"])
        if "error" in call:
            assert isinstance(answer, answers.CallFailed), (call, answer)
            assert answer.error.splitlines()[0] == call["error"]
        else:
            assert isinstance(answer, answers.CallOk), (call, answer)
            assert json.loads(bytes(answer.value)) == call["value"]


@pytest.mark.parametrize(("folder", "example"), EXAMPLES, ids=NAMES)
def test_every_function_of_an_example_world_is_documented(folder: Path, example: dict[str, Any]):
    host, world = grown(folder, example)
    rows = host.simulated.functions(world)
    assert [row.name for row in rows if not row.doc] == []
    assert {call["call"] for call in example["example"]} <= {row.name for row in rows}


def test_planting_makes_all_worlds_and_names_a_command_to_try():
    host = Host()
    assert host.plant() == ["call", "shout", "shoutBackwards", "hello"]
    assert sorted(world.name for world in host.worlds()) == NAMES
    assert host.developed == len(FILES)
    answer = host.call(host.id_of("shout"), "shoutBackwards", ["hello"])
    assert bytes(answer.value) == b'"OLLEH"'


def test_planting_again_does_nothing():
    host = Host()
    host.plant()
    before = {world.id: world.records for world in host.worlds()}
    host.plant()
    assert {world.id: world.records for world in host.worlds()} == before


@pytest.mark.parametrize("dies_at", range(len(FILES)))
def test_planting_that_was_cut_off_is_finished_by_the_next(dies_at: int):
    host = Host()
    host.dies_at = dies_at
    with pytest.raises(CutOff):
        host.plant()
    host.dies_at = None
    host.plant()
    assert {world.name: world.revision for world in host.worlds()} == {
        example["name"]: len(example["file"]) for _, example in EXAMPLES
    }


def test_a_world_that_its_owner_changed_or_archived_is_left_alone():
    host = Host()
    host.plant()
    shout, todos = host.id_of("shout"), host.id_of("todos")
    host.simulated.perform(shout, Develop("function shoutBackwards() { return 'mine' }", ""))
    host.simulated.perform(todos, Describe(archived=True))
    host.plant()
    assert bytes(host.call(shout, "shoutBackwards", ["x"]).value) == b'"mine"'
    assert [world.name for world in host.worlds(archived=True) if world.name == "todos"] == ["todos"]


def test_an_example_that_is_rejected_names_its_file(tmp_path: Path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "bad.js").write_text("throw new Error('no')")
    (tmp_path / "bad" / "world.toml").write_text(
        'name = "bad"\ndescription = "d"\n[[file]]\npath = "bad.js"\nsummary = "s"\n'
    )
    with pytest.raises(BadExample, match=r"bad\.js: Rejected"):
        Host().plant(tmp_path)
