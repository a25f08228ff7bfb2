"""The jobs of the language and their outcomes: what the host asks of a heap, and all that it may record of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, cast, get_args

from engine.logic.image import HeapImage
from engine.logic.syntax import free_names
from engine.logic.vm import Job, JobResult

FailureKind = Literal[
    "threw",
    "syntax",
    "size",
    "budget",
    "memory",
    "pending",
    "timeout",
    "conflict",
    "denied",
    "interrupted",
    "trap",
]
RejectionKind = Literal[
    "threw", "syntax", "budget", "memory", "pending", "touched-data", "leaked-global", "size", "trap"
]
DefinitionKind = Literal["function", "class", "library"]
Verdict = Literal["accepted", "unchanged", "rejected"]


class DataView(Protocol):
    """The data of a world at one sequence: immutable. Values are JSON text; keys are ordered by code point."""

    def get(self, key: str) -> bytes | None: ...

    def list(self, prefix: str, after: str | None, limit: int | None) -> list[tuple[str, bytes]]:
        """At most `limit` rows whose keys begin with `prefix` and come after `after`, in order."""


class WrittenSource(NamedTuple):
    """A source as it was developed; `is_library` if it was a CommonJS file."""

    text: str
    is_library: bool


class SourceLookup(Protocol):
    """Finds the source that runs under a file name ("pw:" and 8 hex digits), or None if it is not known."""

    def __call__(self, file: str, /) -> WrittenSource | None: ...


class KeyRead(NamedTuple):
    """A key whose value, or absence, an operation saw."""

    key: str


class RangeRead(NamedTuple):
    """The keys with `prefix`, after `after` (None: from the first) up to and with `until` (None: to the last)."""

    prefix: str
    after: str | None
    until: str | None


Read = KeyRead | RangeRead


def failure_kind(kind: str) -> FailureKind:
    """The kind of that name, which comes from our own side."""
    assert kind in get_args(FailureKind), f"{kind} is no kind of failure"
    return cast(FailureKind, kind)


def definition_kind(kind: str) -> DefinitionKind:
    """The kind of that name, which comes from a record."""
    assert kind in get_args(DefinitionKind), f"{kind} is no kind of definition"
    return cast(DefinitionKind, kind)


class Peers(Protocol):
    """The other worlds, as one world may know them. An operation asks each question once."""

    def may_call(self, world: str, /) -> tuple[str, str] | None:
        """Why not, as the kind of failure (a FailureKind) and a message; None if it may."""

    def list(self) -> Sequence[str]:
        """The ids of the worlds that may be called, without the world itself."""

    def functions(self, world: str, /) -> Sequence[tuple[str, str, str, Sequence[str]]]:
        """Name, kind, doc and params of each definition of a world that may be called."""


class Alone:
    """The `Peers` of a world that may call none."""

    def may_call(self, world: str, /) -> tuple[str, str] | None:
        named = json.dumps(world)
        return (
            "denied",
            f"this world may not call {named}: the operator grants it with `pw grants` or PUT .../grants",
        )

    def list(self) -> Sequence[str]:
        return ()

    def functions(self, world: str, /) -> Sequence[tuple[str, str, str, Sequence[str]]]:
        return ()


class Ask(NamedTuple):
    """A call of another world's definition. `ordinal` counts an operation's from 0; `args` is a JSON array."""

    ordinal: int
    world: str
    function: str
    args: bytes


class Look(NamedTuple):
    """What the host itself told an operation about other worlds: a replay tells it the same.

    `what` is "list", "functions" (both with JSON text), or "call": whether a world may be called; `refused` is the
    kind of failure if it may not, and `answer` says why.
    """

    what: str
    world: str
    answer: bytes
    refused: FailureKind | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why an operation failed. `error` is the error's line and its stack, with positions as written."""

    kind: FailureKind
    error: str
    hint: str | None = None

    @property
    def headline(self) -> str:
        """The first line, by which incidents are grouped."""
        return self.error.split("\n", 1)[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class CallOutcome:
    """What a call or a preview came to.

    `value` is the JSON text that the guest made, on success. `missing` says that there is no such definition:
    nothing ran. `reads` are in their order, each once; `writes` hold the last write of each key in the order of
    these (None deletes), and are void if it failed. `abandoned` names the calls of other worlds that had no answer
    when it ended, as "world.function". `fuel` is that of all parts, if it waited in between.
    """

    ok: bool
    fuel: int
    value: bytes | None = None
    failure: Failure | None = None
    missing: bool = False
    logs: tuple[str, ...] = ()
    reads: tuple[Read, ...] = ()
    writes: tuple[tuple[str, bytes | None], ...] = ()
    abandoned: tuple[str, ...] = ()
    looks: tuple[Look, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """One entry of a catalogue.

    `source` is the definition's own text as written ("" for a library file), `origin` the file name of the source
    that made it ("pw:" and 8 hex digits).
    """

    name: str
    kind: DefinitionKind
    version: int
    params: tuple[str, ...]
    doc: str
    source: str
    origin: str
    is_library_file: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """What an attempt did to the catalogue: sorted names. `globals` are those that a library file left."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    globals: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalogue:
    """What a heap holds: definitions sorted by name, states with versions, globals left by libraries."""

    definitions: tuple[Definition, ...] = ()
    states: tuple[tuple[str, int], ...] = ()
    globals: tuple[str, ...] = ()
    prelude_version: int = 0

    def find(self, name: str) -> Definition | None:
        return next((definition for definition in self.definitions if definition.name == name), None)

    def calls(self, name: str) -> tuple[str, ...]:
        """The definitions that the text of `name` refers to, sorted."""
        definition = self.find(name)
        taken = free_names(definition.source) if definition is not None else frozenset()
        return tuple(other.name for other in self.definitions if other.name in taken)

    def called_by(self, name: str) -> tuple[str, ...]:
        """The definitions whose text refers to `name`, sorted."""
        return tuple(other.name for other in self.definitions if name in free_names(other.source))


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptOutcome:
    """What a develop came to, before any check.

    `image` and `catalogue` are those after it, if it was accepted; else `image` is None and the catalogue is the
    one before. `kind` and `reason` say why it was rejected. `rewritten` is the text that was evaluated.
    """

    verdict: Verdict
    fuel: int
    catalogue: Catalogue
    image: HeapImage | None = None
    kind: RejectionKind | None = None
    reason: str = ""
    changes: Changes = Changes()
    logs: tuple[str, ...] = ()
    rewritten: str = ""


class Runs(Protocol):
    """Where jobs run: the pool."""

    def run(self, job: Job, /) -> JobResult: ...
