"""What the host answers about recordings and copies, in the shapes of the wire."""

from __future__ import annotations

import msgspec

from engine.host.answers import OperationAnswer
from engine.record.problems import Problem


class _Shape(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    pass


class Imported(_Shape, frozen=True):
    """A recording became a world here. `records` are those of the recording, `head` is the hash of its last."""

    id: str
    name: str
    records: int
    head: str
    lineage: str


class AlreadyHere(_Shape, frozen=True):
    """The world is here and has all records of the recording: nothing was done."""

    id: str
    name: str
    records: int
    head: str


class Verified(_Shape, frozen=True, omit_defaults=False):
    """What verifying a world's records and blobs found; without `problems` all are sound."""

    world: str
    records: int
    erased: int
    blobs: int
    problems: list[Problem]


ImportAnswer = Imported | AlreadyHere | OperationAnswer
