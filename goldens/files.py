"""The blessed set as files: one a world, its entries sorted by id, so that a change of one shows as a change of one."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Any

SUFFIX = ".json"
_SURROGATE = re.compile("[\ud800-\udfff]")
_FIELDS = {"call", "args", "outcome", "by", "reason"}


class BadSet(Exception):
    """A file of the set does not say what a set says; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Golden:
    """A blessed result: the call, what it is to come to, who blessed it and why."""

    call: str
    args: list[Any]
    outcome: dict[str, Any]
    by: str
    reason: str


def read_set(directory: str) -> dict[str, Golden]:
    """All goldens by id, "WORLD/FUNCTION N". Raises BadSet."""
    found: dict[str, Golden] = {}
    for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else ():
        if not name.endswith(SUFFIX):
            continue
        path = os.path.join(directory, name)
        with open(path, encoding="utf-8") as file:
            try:
                entries = json.load(file)
            except ValueError as error:
                raise BadSet(f"{path}: {error}") from None
        world = name.removesuffix(SUFFIX)
        for id, entry in entries.items() if isinstance(entries, dict) else [("", None)]:
            if not isinstance(entry, dict) or set(entry) != _FIELDS or not id.startswith(f"{world}/"):
                raise BadSet(
                    f"{path}: {id or 'the file'}: an entry is named {world}/FUNCTION N and has "
                    f"{', '.join(sorted(_FIELDS))}"
                )
            found[id] = Golden(**entry)
    return found


def write_set(directory: str, goldens: dict[str, Golden]) -> None:
    """Write the files of all goldens; a file of none is removed."""
    of_world: dict[str, dict[str, Any]] = {}
    for id in sorted(goldens, key=_order):
        golden = goldens[id]
        of_world.setdefault(id.partition("/")[0], {})[id] = {
            name: getattr(golden, name) for name in ("call", "args", "outcome", "by", "reason")
        }
    for name in os.listdir(directory):
        if name.endswith(SUFFIX) and name.removesuffix(SUFFIX) not in of_world:
            os.remove(os.path.join(directory, name))
    for world, entries in of_world.items():
        with open(os.path.join(directory, world + SUFFIX), "w", encoding="utf-8", newline="\n") as file:
            file.write(text_of(entries) + "\n")


def text_of(value: Any) -> str:
    """A JSON value as lines that people read and compare."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _order(id: str) -> tuple[str, int]:
    """By world and function, the calls of one function in their order."""
    function, _, n = id.rpartition(" ")
    return function, int(n)
