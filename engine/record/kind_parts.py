"""The parts that several kinds of records have in common. These are formats, as the kinds are."""

from __future__ import annotations

import msgspec


class Part(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What all bodies and their parts have in common."""


class HeapRef(Part, frozen=True):
    """A heap: BLAKE3 of its image and the blob it is stored as, 64 hex digits each."""

    root: str
    blob: str


class Request(Part, frozen=True):
    """A client's request id and the BLAKE3 of what was asked under it (Invariant 10)."""

    id: str
    hash: str


class Failure(Part, frozen=True):
    """Why a call or preview failed: one of the failures that docs/GUIDE.md lists, the error's text, perhaps a hint."""

    kind: str
    error: str
    hint: str | None = None


class Definition(Part, frozen=True):
    """One entry of a world's catalogue, as it was at the revision that made it."""

    name: str
    kind: str
    version: int
    params: list[str]
    doc: str
    source: str


class Changes(Part, frozen=True):
    added: list[str] = []
    changed: list[str] = []
    removed: list[str] = []
    globals: list[str] = []


class Write(Part, frozen=True, array_like=True):
    """One key's new value as JSON text, or None where the key was deleted."""

    key: str
    value: bytes | None


class PeerAnswer(Part, frozen=True):
    """What another world answered to an operation's call number `ordinal`: JSON text, or the error's text.

    `kind` is the kind of failure where it is another than "threw".
    """

    ordinal: int
    world: str
    function: str
    ok: bool
    value: bytes
    kind: str = ""


class Look(Part, frozen=True):
    """What the host told an operation of other worlds: `what` is list or functions (JSON text), or call.

    `refused` is the kind of failure where a world may not be called; `answer` then says why.
    """

    what: str
    world: str
    answer: bytes
    refused: str | None = None


class Origin(Part, frozen=True):
    """Where a copy comes from: a world, the record after which it was copied, and that record's hash."""

    world: str
    seq: int
    hash: str


class Developed(Part, frozen=True):
    """A source as it was developed in a copy's origin; `commonjs` is what it defined, if it was a library."""

    source: str
    commonjs: str | None
