"""The example worlds do what their own examples say, and are loaded once, also when the loading is cut off."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from engine.cli.examples import BadExample, Example, load, read_examples
from engine.host import answers, simulated
from engine.hub.messages import Call, Describe, Develop

WORLDS = Path(__file__).parents[2] / "worlds"
EXAMPLES = read_examples(WORLDS)
NAMES = [example.name for _, example in EXAMPLES]


class HostClient:
    """What `load` needs of the typed client, straight on a simulated host; `dies_after` develops it is cut off."""

    def __init__(self, seed: int = 1) -> None:
        self.host = simulated(seed)
        self.developed: list[str] = []
        self.dies_after: int | None = None

    def worlds(self, *, archived: bool = False) -> list[answers.WorldSummary]:
        return self.host.worlds(archived=archived)

    def create(self, name: str, *, request_id: str | None = None) -> answers.Created:
        return self.host.create(name, request_id=request_id)

    def develop(self, world: str, source: str, *, summary: str = "", request_id: str | None = None):
        if self.dies_after == len(self.developed):
            raise ConnectionError("cut off")
        self.developed.append(summary)
        return self.host.perform(world, Develop(source, summary), request_id=request_id)

    def call(self, world: str, function: str, args: list[object]) -> answers.OperationAnswer:
        return self.host.perform(world, Call(function, json.dumps(args).encode()))

    def id_of(self, name: str) -> str:
        return next(world.id for world in self.worlds() if world.name == name)


def loaded(client: HostClient) -> list[str]:
    lines: list[str] = []
    load(client, WORLDS, lines.append)
    return lines


def test_there_are_the_four_worlds():
    assert NAMES == ["currency", "shout", "todos", "trip-budget"]


@pytest.mark.parametrize(("folder", "example"), EXAMPLES, ids=NAMES)
def test_an_example_world_does_what_its_examples_say(folder: Path, example: Example):
    client = HostClient()
    world = client.create(example.name).id
    for n, file in enumerate(example.file, start=1):
        answer = client.develop(world, (folder / file.path).read_text(), summary=file.summary)
        assert isinstance(answer, answers.Accepted) and answer.revision == n, answer
    for call in example.example:
        answer = client.call(world, call.call, call.args)
        if call.error is not None:
            assert isinstance(answer, answers.CallFailed), (call, answer)
            assert answer.error.splitlines()[0] == call.error
        else:
            assert isinstance(answer, answers.CallOk), (call, answer)
            assert msgspec.json.decode(answer.value) == call.value


@pytest.mark.parametrize(("folder", "example"), EXAMPLES, ids=NAMES)
def test_every_function_of_an_example_world_is_documented_and_called(folder: Path, example: Example):
    client = HostClient()
    world = client.create(example.name).id
    sources = [(folder / file.path).read_text() for file in example.file]
    for source in sources:
        client.develop(world, source)
    rows = client.host.functions(world)
    assert [row.name for row in rows if not row.doc] == []
    called = {call.call for call in example.example} | {name for row in rows for name in row.calls}
    unused = {row.name for row in rows} - called
    assert sorted(unused) == sorted({"reopenTodo"} & unused)


def test_loading_brings_all_worlds_and_says_so():
    client = HostClient()
    lines = loaded(client)
    assert [line.split(":")[0] for line in lines] == NAMES
    assert sorted(world.name for world in client.worlds()) == NAMES
    answer = client.call(client.id_of("shout"), "shoutBackwards", ["hello"])
    assert bytes(answer.value) == b'"OLLEH"'


def test_loading_again_does_nothing():
    client = HostClient()
    loaded(client)
    before = {world.id: world.records for world in client.worlds()}
    assert loaded(client) == []
    assert {world.id: world.records for world in client.worlds()} == before


@pytest.mark.parametrize("dies_after", range(8))
def test_loading_that_is_cut_off_goes_on_where_it_stopped(dies_after: int):
    client = HostClient()
    client.dies_after = dies_after
    with pytest.raises(ConnectionError):
        loaded(client)
    client.dies_after = None
    loaded(client)
    summaries = [file.summary for _, example in EXAMPLES for file in example.file]
    assert client.developed == summaries
    assert sorted(world.name for world in client.worlds()) == NAMES


def test_a_world_that_its_owner_changed_or_archived_is_left_alone():
    client = HostClient()
    loaded(client)
    shout, todos = client.id_of("shout"), client.id_of("todos")
    client.develop(shout, "function shoutBackwards() { return 'mine' }")
    client.host.perform(todos, Describe(archived=True))
    assert loaded(client) == []
    assert bytes(client.call(shout, "shoutBackwards", ["x"]).value) == b'"mine"'


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("name = 1", "Expected `str`"),
        ("name =", "Invalid value"),
        ('name = "a"\ndescription = "b"\nfile = []\nextra = 1', "unknown field `extra`"),
    ],
)
def test_a_bad_example_is_refused_by_file(tmp_path: Path, toml: str, says: str):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "world.toml").write_text(toml)
    with pytest.raises(BadExample, match=re.escape(says)) as refused:
        read_examples(tmp_path)
    assert "bad/world.toml" in str(refused.value)


def test_a_directory_without_examples_is_refused(tmp_path: Path):
    with pytest.raises(BadExample, match=re.escape("holds no */world.toml")):
        read_examples(tmp_path)


def test_an_example_that_is_rejected_names_its_file(tmp_path: Path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "bad.js").write_text("throw new Error('no')")
    (tmp_path / "bad" / "world.toml").write_text(
        'name = "bad"\ndescription = "d"\n[[file]]\npath = "bad.js"\nsummary = "s"\n'
    )
    with pytest.raises(BadExample, match=r"bad\.js was not accepted"):
        load(HostClient(), tmp_path, lambda line: None)
