"""What must be right before a server serves: its address, its directory, its examples."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
from served import Served

from engine.host import CannotOpen
from engine.serve.examples import BadExample, plant
from engine.serve.server import CannotListen, listen


def test_a_port_in_use_is_refused_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=f"port {port} of 127.0.0.1 is in use.*another --port"):
            listen("127.0.0.1", port)


@pytest.mark.parametrize("address", ["256.0.0.1", "no.such.host.invalid", "2001:db8::1"])
def test_an_address_that_is_not_ours_is_refused(address: str) -> None:
    with pytest.raises(CannotListen, match="cannot listen on"):
        listen(address, 0)


def test_a_foreign_directory_is_refused_and_not_changed(tmp_path: Path) -> None:
    (tmp_path / "FORMAT").write_text("another program's\n")
    with pytest.raises(CannotOpen, match="FORMAT"):
        Served(tmp_path)
    assert (tmp_path / "FORMAT").read_text() == "another program's\n"


def plant_in(server: Served, directory: Path) -> list[str] | None:
    return asyncio.run_coroutine_threadsafe(plant(server.serving.host, str(directory)), server.loop).result(
        60
    )


def write_example(directory: Path, name: str, source: str) -> None:
    (directory / name).mkdir()
    (directory / name / "code.js").write_text(source)
    (directory / name / "more.js").write_text("function more() { return 1 }")
    (directory / name / "world.toml").write_text(
        f'name = "{name}"\n[[file]]\npath = "code.js"\nsummary = "Code"\n'
        '[[file]]\npath = "more.js"\nsummary = "More"\n'
        '[[example]]\ncall = "greet"\nargs = ["you", {a = 1}]\nvalue = "hello you"\n'
    )


def test_examples_are_planted_once_and_give_a_first_command(served: Served, tmp_path: Path) -> None:
    write_example(tmp_path, "greet", "function greet(name) { return 'hello ' + name }")
    (tmp_path / "no-example").mkdir()
    for _ in range(2):
        assert plant_in(served, tmp_path) == ["call", "greet", "greet", "you", '{"a": 1}']
    [world] = [world for world in served.client().worlds() if world.name == "greet"]
    assert [row.summary for row in served.client().revisions(world.id).revisions[:2]] == ["More", "Code"]


def test_an_example_that_somebody_changed_is_left_alone(served: Served, tmp_path: Path) -> None:
    client = served.client()
    write_example(tmp_path, "mine", "function greet(name) { return 'hello ' + name }")
    world = client.create("mine").id
    client.develop(world, "function greet() { return 'mine' }")
    plant_in(served, tmp_path)
    assert client.world(world).revision == 1


def test_an_example_that_was_not_finished_is_finished(served: Served, tmp_path: Path) -> None:
    write_example(tmp_path, "half", "throw new Error('not today')")
    with pytest.raises(BadExample, match=r"code\.js.*not today"):
        plant_in(served, tmp_path)
    (tmp_path / "half" / "code.js").write_text("function greet() { return 1 }")
    plant_in(served, tmp_path)
    [world] = [world for world in served.client().worlds() if world.name == "half"]
    assert world.revision == 2
