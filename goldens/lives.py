"""The example worlds, each lived on a simulated host of its own: its example calls, and what they came to.

Every call has a clock and a seed that follow from its id alone, so that one more call changes none of the others.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from blake3 import blake3

from engine.host import SimulatedHost, simulated
from engine.host.recovery import Again
from engine.hub import messages as hub
from engine.limits import FLICKS_PER_SECOND
from engine.record import kinds

FIRST_FLICK = 1_767_225_600 * FLICKS_PER_SECOND  # 2026-01-01T00:00:00Z
"""What the clock says in every example call."""


class BadExample(Exception):
    """An example world cannot be lived as it is; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Result:
    """One call of an example world and what it came to, as JSON values: `value` or `error`, the writes, the console."""

    call: str
    args: list[Any]
    outcome: dict[str, Any]


def results_of(directory: str) -> dict[str, Result]:
    """All results of the example worlds in a directory, by id: "WORLD/FUNCTION N", N counting from 1."""
    examples = dict(_read(directory))
    found: dict[str, Result] = {}
    for name in sorted(examples):
        found.update(_live(directory, name, examples))
    return found


def _read(directory: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for folder in sorted(os.listdir(directory)):
        path = os.path.join(directory, folder, "world.toml")
        if os.path.isfile(path):
            with open(path, "rb") as file:
                try:
                    example = tomllib.load(file)
                except tomllib.TOMLDecodeError as error:
                    raise BadExample(f"{path}: {error}") from None
            yield example["name"], example | {"folder": folder}


def _live(directory: str, name: str, examples: dict[str, dict[str, Any]]) -> Iterator[tuple[str, Result]]:
    example = examples[name]
    calls = example.get("example", [])
    asked = [name, *example.get("grants", []), *(call["world"] for call in calls if "world" in call)]
    host = simulated(f"goldens of {name}")
    ids = {other: host.create(other).id for other in sorted(set(asked))}
    for other, world in ids.items():
        _grow(host, world, directory, examples[other], ids)
    counts: dict[str, int] = {}
    for call in calls:
        function = call["call"]
        world = ids[call.get("world", name)]
        counts[function] = counts.get(function, 0) + 1
        id = f"{name}/{function} {counts[function]}"
        body = _call(host, world, id, function, call["args"])
        yield id, Result(function, _plain(call["args"]), _without_ids(_outcome(body), ids))
    host.shut_down()


def _grow(
    host: SimulatedHost, world: str, directory: str, example: dict[str, Any], ids: dict[str, str]
) -> None:
    for file in example["file"]:
        path = os.path.join(directory, example["folder"], file["path"])
        with open(path, encoding="utf-8") as source:
            answer: Any = host.perform(world, hub.Develop(source.read(), file["summary"]))
        if not hasattr(answer, "revision"):
            raise BadExample(f"{path}: {answer}")
    granted = tuple(sorted(ids[other] for other in example.get("grants", []) if other in ids))
    if granted:
        host.perform(world, hub.Grant(granted))


def _call(host: SimulatedHost, world: str, id: str, function: str, args: list[Any]) -> kinds.Call:
    """Make a call at the clock and with the seed of its id; its record."""
    runtime = host.runtimes.get(world)
    assert runtime is not None, "the world was made"
    seed = int.from_bytes(blake3(id.encode()).digest(length=8), "little")
    text = json.dumps(_plain(args), separators=(",", ":")).encode()
    heard: list[Any] = []
    host.admit(
        runtime,
        hub.Call(function, text),
        actor="goldens",
        request=None,
        done=heard.append,
        again=Again(FIRST_FLICK, seed),
    )
    host.shell.run_until(lambda: bool(heard))
    host.settle()
    for body in reversed(runtime.recent.values()):
        if isinstance(body, kinds.Call) and (body.function, body.seed) == (function, seed):
            return body
    raise BadExample(f"{id}: the call left no record: {heard[0]}")


def _outcome(body: kinds.Call) -> dict[str, Any]:
    outcome: dict[str, Any] = {}
    if body.failure is None:
        outcome["value"] = json.loads(body.value or b"null")
    else:
        outcome["failure"] = body.failure.kind
        outcome["error"] = body.failure.error.split("\n", 1)[0]
    if body.writes:
        written = {write.key: write.value for write in body.writes}
        outcome["writes"] = {key: json.loads(value) for key, value in written.items() if value is not None}
        outcome["deletes"] = [key for key, value in written.items() if value is None]
    if body.logs:
        outcome["logs"] = list(body.logs)
    return {name: value for name, value in outcome.items() if name == "value" or value}


def _without_ids(outcome: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    """The names of worlds in braces in place of their ids, which no golden depends on."""
    text = json.dumps(outcome)
    for name, id in ids.items():
        text = text.replace(id, f"{{{name}}}")
    replaced: dict[str, Any] = json.loads(text)
    return replaced


def _plain(value: Any) -> Any:
    """TOML's dates as the text that they are written as."""
    return json.loads(json.dumps(value, default=str))
