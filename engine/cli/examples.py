"""The example worlds: create those a server does not have yet, and develop their files into them.

A directory of examples holds one directory a world: `NAME/world.toml` names the world and its files in order.
Each file becomes one revision, so a load that was cut off goes on at the file where it stopped, and a world
that its owner has developed further is left alone.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import msgspec

from engine.host.answers import Accepted
from engine.ids import content_id
from engine.serve.client import Client


class BadExample(Exception):
    """An example cannot be loaded: which file, and what is wrong with it."""


class ExampleFile(msgspec.Struct, frozen=True):
    """One source of a world; `path` is relative to its directory."""

    path: str
    summary: str


class ExampleCall(msgspec.Struct, frozen=True):
    """A call made in a fresh world, after the ones before it: its value, or the first line of its error."""

    call: str
    args: list[object]
    value: object = None
    error: str | None = None


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `world.toml` says, in the file's own words."""

    name: str
    description: str
    file: list[ExampleFile]
    example: list[ExampleCall] = []


def read_examples(directory: Path) -> list[tuple[Path, Example]]:
    """The examples below a directory with the directory of each, sorted by it. Raises BadExample."""
    found = []
    for path in sorted(directory.glob("*/world.toml")):
        try:
            example = msgspec.convert(tomllib.loads(path.read_text("utf-8")), Example)
        except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as wrong:
            raise BadExample(f"{path}: {wrong}") from None
        found.append((path.parent, example))
    if not found:
        raise BadExample(f"{directory} holds no */world.toml; name a directory with example worlds")
    return found


def load(client: Client, directory: Path, report: Callable[[str], None]) -> None:
    """Bring the examples of a directory into a server; `report` takes one line for each thing done.

    Safe to repeat and to cut off anywhere. Raises BadExample, and what the client raises.
    """
    known = {world.name: world for archived in (False, True) for world in client.worlds(archived=archived)}
    for folder, example in read_examples(directory):
        world = known.get(example.name)
        if world is not None and (world.archived or world.revision >= len(example.file)):
            continue
        if world is None:
            made = client.create(example.name, request_id=f"example {example.name}")
            world_id, done = made.id, 0
        else:
            world_id, done = world.id, world.revision
        for file in example.file[done:]:
            _develop(client, world_id, folder / file.path, file.summary)
        report(f"{example.name}: {example.description}")


def _develop(client: Client, world_id: str, path: Path, summary: str) -> None:
    try:
        source = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        raise BadExample(f"{path}: {wrong}") from None
    request_id = f"example {content_id((world_id + source).encode())}"
    answer = client.develop(world_id, source, summary=summary, request_id=request_id)
    if not isinstance(answer, Accepted):
        raise BadExample(f"{path} was not accepted as a revision of {world_id}: {answer}")
