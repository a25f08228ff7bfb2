"""Recordings whose records somebody changed, and sealed again so that every chunk, hash and chain holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
from recorded import chunks_of, sealed, with_head

from engine.record.canonical import from_bytes, to_bytes
from engine.record.recording import End, Manifest, PackedRecords, step_between
from engine.record.recording_format import END, MANIFEST, PLAIN, RECORDS, Chunk
from engine.record.records import KINDS


class Said(NamedTuple):
    """One record as a recording says it; what is left out has the hash of what it was."""

    kind: str
    actor: str
    flick: int
    body: Any
    erased: bytes = b""


def said_in(recording: bytes) -> list[Said]:
    said: list[Said] = []
    flick = 0
    for chunk in chunks_of(recording):
        if chunk.tag != RECORDS:
            continue
        packed = from_bytes(PackedRecords, chunk.content)
        erased = iter(packed.erased)
        columns = zip(packed.kinds, packed.actors, packed.steps, packed.bodies, strict=True)
        for kind, actor, step, body in columns:
            flick = step_between(0, flick + step)
            left_out = next(erased) if body is None else b""
            decoded = from_bytes(KINDS[kind], body) if body is not None else None
            said.append(Said(kind, actor, flick, decoded, left_out))
    return said


def saying(recording: bytes, said: Sequence[Said], **manifest_changes: Any) -> bytes:
    """The recording with these records in place of its own."""
    flicks = [0, *(one.flick for one in said)]
    packed = PackedRecords(
        first=0,
        kinds=[one.kind for one in said],
        actors=[one.actor for one in said],
        steps=[step_between(flicks[n], flicks[n + 1]) for n in range(len(said))],
        bodies=[to_bytes(one.body) if one.body is not None else None for one in said],
        erased=[one.erased for one in said if one.body is None],
    )
    kept = [chunk for chunk in chunks_of(recording) if chunk.tag not in (MANIFEST, RECORDS, END)]
    first, last = chunks_of(recording)[0], chunks_of(recording)[-1]
    manifest = msgspec.json.decode(first.content, type=Manifest)
    manifest = msgspec.structs.replace(manifest, records=len(said), **manifest_changes)
    end = msgspec.json.decode(last.content, type=End)
    end = msgspec.structs.replace(end, records=len(said), erased=len(packed.erased))
    return with_head(
        sealed(
            [
                first._replace(content=msgspec.json.encode(manifest)),
                *kept,
                Chunk(RECORDS, 1, to_bytes(packed), 0),
                last._replace(content=msgspec.json.encode(end), method=PLAIN),
            ]
        )
    )


def changed(recording: bytes, n: int, change: Callable[[Said], Said], **manifest_changes: Any) -> bytes:
    said = said_in(recording)
    said[n] = change(said[n])
    return saying(recording, said, **manifest_changes)


def with_fields(recording: bytes, at: int, /, **fields: Any) -> bytes:
    """The recording in which record `at` says something else."""
    return changed(recording, at, lambda one: one._replace(body=msgspec.structs.replace(one.body, **fields)))
