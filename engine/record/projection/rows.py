"""What queries of the projection answer with. Numbers of revisions, rejections and incidents are a world's
own.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from engine.io.log import Cursor
from engine.record.kinds import (
    Call,
    Checkpoint,
    Definition,
    Genesis,
    HeapRef,
    Interrupted,
    Rejection,
    Revision,
)

T = TypeVar("T")


class World(msgspec.Struct, frozen=True, kw_only=True):
    """A world as its durable records have it. `heap` is the head's; None and "" where bodies were erased."""

    id: str
    name: str
    archived: bool
    frozen: bool
    purged: bool
    created_flick: int
    revision: int
    heap: HeapRef | None
    prelude_version: int
    engine: str
    engine_blob: str
    seq: int
    hash: str
    next_revision: int
    next_rejection: int
    next_incident: int
    definitions: int
    read_bodies_kept_flicks: int


class RevisionRow(msgspec.Struct, frozen=True):
    """`cause` is genesis (revision 0), develop, rollback or upgrade; `body` is None where it was erased."""

    n: int
    seq: int
    cause: str
    actor: str
    flick: int
    body: Genesis | Revision | None


class DefinitionRow(msgspec.Struct, frozen=True):
    """A definition and the revision that made it as it is."""

    revision: int
    definition: Definition


class RejectionRow(msgspec.Struct, frozen=True):
    n: int
    seq: int
    actor: str
    flick: int
    body: Rejection | None


class IncidentRow(msgspec.Struct, frozen=True):
    """`alike` counts the incidents of the same function and first line of error, this one included.

    `state` is open, retried (by the call that is record `retried_seq`), answered (with `answer`, JSON text) or
    dismissed."""

    n: int
    seq: int
    kind: str
    actor: str
    flick: int
    alike: int
    body: Call | Interrupted | None
    state: str = "open"
    closed_reason: str | None = None
    answer: bytes | None = None
    retried_seq: int | None = None


class DataRow(msgspec.Struct, frozen=True):
    """`value` is JSON text; `seq` the record that wrote it."""

    key: str
    value: bytes
    seq: int


class RequestRow(msgspec.Struct, frozen=True):
    """An answered request id: the hash of what was asked, and the record that holds the answer."""

    world: str
    id: str
    hash: str
    seq: int
    flick: int


class RecordRow(msgspec.Struct, frozen=True):
    seq: int
    kind: str
    actor: str
    flick: int
    cursor: Cursor


class CheckpointRow(msgspec.Struct, frozen=True):
    seq: int
    body: Checkpoint


class Page(msgspec.Struct, Generic[T], frozen=True):
    """Some rows, and whether there are more after them."""

    rows: list[T]
    more: bool
