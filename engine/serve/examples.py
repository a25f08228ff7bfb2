"""The example worlds that a new directory can begin with: `pw serve --examples DIR`.

DIR/NAME/world.toml names the world, its files in order, and example calls. A world that exists under that name is
left alone, unless nobody but this module has ever changed it and it was not finished.
"""

from __future__ import annotations

import json
import os
import tomllib
from typing import Any

from engine.host import LiveHost
from engine.host.answers import Accepted, Created, Unchanged
from engine.hub.messages import Develop

ACTOR = "examples"


class BadExample(Exception):
    """An example world cannot be made; the text says which file and why."""


async def plant(host: LiveHost, directory: str) -> list[str] | None:
    """Make the worlds of `directory` that are not there. Returns a first `pw` command to try on one of them."""
    first = None
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name, "world.toml")
        if not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            example = tomllib.load(file)
        await _plant_one(host, os.path.dirname(path), example)
        if first is None or example["name"] == "shout":
            first = _first_command(example) or first
    return first


async def _plant_one(host: LiveHost, directory: str, example: dict[str, Any]) -> None:
    named = [world for world in host.worlds(archived=True) if world.name == example["name"]]
    if named:
        world = named[0].id
        page = host.revisions(world, limit=1000, before=None)
        planted = [row.actor for row in page.revisions if row.n > 0]
        if named[0].archived or len(planted) >= len(example["file"]) or set(planted) - {ACTOR}:
            return
    else:
        answer = await host.create(example["name"], actor=ACTOR)
        if not isinstance(answer, Created):
            raise BadExample(f"{directory}: {answer}")
        world = answer.id
    for entry in example["file"]:
        await _develop(host, world, os.path.join(directory, entry["path"]), entry["summary"])


async def _develop(host: LiveHost, world: str, path: str, summary: str) -> None:
    with open(path, encoding="utf-8") as file:
        source = file.read()
    answer = await host.perform(world, Develop(source=source, summary=summary), actor=ACTOR)
    if not isinstance(answer, Accepted | Unchanged):
        raise BadExample(f"{path}: {answer}")


def _first_command(example: dict[str, Any]) -> list[str] | None:
    calls = [entry for entry in example.get("example", []) if "value" in entry]
    if not calls:
        return None
    # The last one shows what the world is for; the first ones show its parts.
    shown = next((entry for entry in reversed(calls) if any(entry["args"])), calls[0])
    return ["call", example["name"], shown["call"], *(_argument(value) for value in shown["args"])]


def _argument(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
