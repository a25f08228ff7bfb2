"""The example worlds that a new directory can begin with: `pw serve --examples DIR`.

DIR/NAME/world.toml says all of a world: its files in order, its checks, the other examples that it may call, its
page, and example calls. What it says is a list of steps; the log of the world says which of them were taken. A world
that somebody else made or changed, or that was planted from another text, is left alone, and so is a finished one,
whatever became of it since.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from engine.host import LiveHost
from engine.host.answers import Accepted, Created, Done, Enrolled, LogRow, Unchanged, WorldSummary
from engine.hub.messages import Develop, Enrol, Grant, Operation, SetPage

ACTOR = "examples"
LOG_ROWS = 100  # read at once; a planting is in the first of them
# The kinds of records that change what a world is; what it is used for changes no more than its data.
CHANGES = (
    "revision",
    "unchanged",
    "check-enrolled",
    "check-removed",
    "granted",
    "page-set",
    "describe",
    "purge",
)


class BadExample(Exception):
    """An example world cannot be made; the text says which file and why."""


# ---- what a world.toml may say ------------------------------------------------------------------------------


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class File(_Entry, frozen=True):
    """A source; `path` starts at the world's own directory."""

    path: str
    summary: str


class Check(_Entry, frozen=True):
    name: str
    expression: str
    counterexample: str
    generator: str | None = None


class Page(_Entry, frozen=True):
    access: Literal["private", "public"]
    functions: list[str] = []


class ExampleCall(_Entry, frozen=True):
    """A call and what comes of it: `value`, or the first line of `error`. `world` names another example."""

    call: str
    args: list[Any]
    value: Any = msgspec.UNSET
    error: str | None = None
    world: str | None = None


class Example(_Entry, frozen=True):
    """A world.toml. `grants` are names of other examples."""

    name: str
    description: str
    file: list[File]
    check: list[Check] = []
    grants: list[str] = []
    page: Page | None = None
    example: list[ExampleCall] = []


def read_examples(directory: str) -> list[tuple[str, Example]]:
    """(folder, example) of each world.toml in the directory, by name. Raises BadExample."""
    found = []
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name, "world.toml")
        if os.path.isfile(path):
            with open(path, "rb") as file:
                try:
                    example = msgspec.convert(tomllib.load(file), Example)
                except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
                    raise BadExample(f"{path}: {error}") from None
            found.append((os.path.dirname(path), example))
    return found


# ---- planting -----------------------------------------------------------------------------------------------

Says = tuple[Any, ...]
"""What a step changes, as its record says it too."""


@dataclass(frozen=True, slots=True)
class Step:
    where: str  # for an error
    operation: Operation
    says: Says


async def plant(host: LiveHost, directory: str) -> list[str] | None:
    """Make what is missing of the worlds of `directory`. Returns a first `pw` command to try on one of them.

    Raises BadExample.
    """
    examples = read_examples(directory)
    ids: dict[str, str] = {}
    for folder, example in examples:
        world = await _world_of(host, folder, example)
        if world is not None:
            ids[example.name] = world
    for folder, example in examples:
        if example.name in ids:
            await _grow(host, ids[example.name], _steps(folder, example, ids))
    return _first_command([example for _, example in examples])


async def _world_of(host: LiveHost, folder: str, example: Example) -> str | None:
    """The id of the world that was made for an example, now or before; None where the name is somebody else's."""
    named = [world for world in host.worlds(archived=True) if world.name == example.name]
    if named:
        return next((world.id for world in named if _is_ours(host, world)), None)
    answer = await host.create(example.name, actor=ACTOR)
    if not isinstance(answer, Created):
        raise BadExample(f"{folder}: {answer}")
    return answer.id


def _is_ours(host: LiveHost, world: WorldSummary) -> bool:
    if world.archived or world.purged:
        return False
    return host.log(world.id, after=-1, limit=1).records[0].actor == ACTOR


def _steps(folder: str, example: Example, ids: dict[str, str]) -> list[Step]:
    """All steps of a planting, in their order. `ids` are those of the examples by name."""
    steps = []
    for file in example.file:
        path = os.path.join(folder, file.path)
        source = _source_in(path)
        steps.append(Step(path, Develop(source=source, summary=file.summary), ("source", source)))
    for check in example.check:
        proposal = Enrol(check.name, check.expression, check.counterexample, check.generator)
        says = ("check", check.name, check.expression, check.counterexample, check.generator)
        steps.append(Step(f"{folder}: check {check.name!r}", proposal, says))
    if example.page is not None:
        access, functions = example.page.access, tuple(sorted(example.page.functions))
        steps.append(Step(f"{folder}: page", SetPage(access, functions), ("page", access, functions)))
    if example.grants:
        granted = tuple(sorted(ids[name] for name in example.grants if name in ids))
        steps.append(Step(f"{folder}: grants", Grant(granted), ("grants",)))
    return steps


def _source_in(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise BadExample(f"{path}: {error.strerror if isinstance(error, OSError) else error}") from None


async def _grow(host: LiveHost, world: str, steps: list[Step]) -> None:
    for step in _missing(host, world, steps):
        answer = await host.perform(world, step.operation, actor=ACTOR)
        if not isinstance(answer, Accepted | Unchanged | Enrolled | Done):
            raise BadExample(f"{step.where}: {answer}")


def _missing(host: LiveHost, world: str, steps: list[Step]) -> list[Step]:
    """The steps that were not taken; none where anything else was changed before all of them were."""
    left = {step.says: step for step in steps}
    rows = _rows(host, world)
    while left and (row := next(rows, None)) is not None:
        says = _says(row)
        if says is None:
            continue
        if row.actor != ACTOR or left.pop(says, None) is None:
            return []
    return list(left.values())


def _rows(host: LiveHost, world: str) -> Iterator[LogRow]:
    after, more = -1, True
    while more:
        page = host.log(world, after=after, limit=LOG_ROWS)
        yield from page.records
        more = page.more
        after = page.records[-1].seq if page.records else after


def _says(row: LogRow) -> Says | None:
    """What a record changed about its world, as its step says it; None where nothing of what steps change."""
    if row.kind not in CHANGES or row.body is None:
        return None
    body = json.loads(bytes(row.body))
    match row.kind:
        case "revision" | "unchanged":
            return None if body.get("cause") == "upgrade" else ("source", body["source"])
        case "check-enrolled":
            return ("check", body["name"], body["expression"], body["counterexample"], body.get("generator"))
        case "page-set":
            return ("page", body["access"], tuple(body["functions"]))
        case "granted":
            return ("grants",)
    return (row.kind,)


def _first_command(examples: list[Example]) -> list[str] | None:
    calls = {example.name: _shown_call(example) for example in examples}
    return calls.get("shout") or next(filter(None, calls.values()), None)


def _shown_call(example: Example) -> list[str] | None:
    calls = [call for call in example.example if call.error is None and call.world is None]
    if not calls:
        return None
    # The last one shows what the world is for; the first ones show its parts.
    shown = next((call for call in reversed(calls) if any(call.args)), calls[0])
    return ["call", example.name, shown.call, *(_argument(value) for value in shown.args)]


def _argument(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
