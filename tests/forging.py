"""Recordings whose records somebody changed, and sealed again so that every chunk, hash and chain holds."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from blake3 import blake3

from engine.record.canonical import from_bytes, to_bytes
from engine.record.kinds import Header
from engine.record.recording import End, Manifest, PackedRecords, step_between
from engine.record.recording_format import (
    BLOB,
    END,
    MANIFEST,
    PIECE,
    PLAIN,
    RECORDS,
    Chunk,
    ChunkReader,
    ChunkWriter,
)
from engine.record.records import KINDS, genesis_previous, record_hash


class Said(NamedTuple):
    """One record as a recording says it; what is left out has the hash of what it was."""

    kind: str
    actor: str
    flick: int
    body: Any
    erased: bytes = b""


def _chunks(recording: bytes) -> Iterator[Chunk]:
    reader = ChunkReader(io.BytesIO(recording))
    while reader.offset_bytes < len(recording):
        yield reader.chunk()


def said_in(recording: bytes) -> list[Said]:
    said: list[Said] = []
    flick = 0
    for chunk in _chunks(recording):
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
    chunks = list(_chunks(recording))
    flicks = [0, *(one.flick for one in said)]
    packed = PackedRecords(
        first=0,
        kinds=[one.kind for one in said],
        actors=[one.actor for one in said],
        steps=[step_between(flicks[n], flicks[n + 1]) for n in range(len(said))],
        bodies=[to_bytes(one.body) if one.body is not None else None for one in said],
        erased=[one.erased for one in said if one.body is None],
    )
    manifest = msgspec.json.decode(chunks[0].content, type=Manifest)
    manifest = msgspec.structs.replace(manifest, records=len(said), **manifest_changes)
    manifest = msgspec.structs.replace(manifest, head=_head(manifest, said))
    blobs = [chunk for chunk in chunks if chunk.tag in (PIECE, BLOB)]
    end = End(len(said), len(packed.erased), sum(chunk.tag == BLOB for chunk in blobs))
    writer = ChunkWriter()
    return writer.start + b"".join(
        [
            writer.chunk(MANIFEST, msgspec.json.encode(manifest), method=PLAIN),
            *(writer.chunk(chunk.tag, chunk.content, method=chunk.method) for chunk in blobs),
            writer.chunk(RECORDS, to_bytes(packed)),
            writer.chunk(END, msgspec.json.encode(end), method=PLAIN),
        ]
    )


def _head(manifest: Manifest, said: Sequence[Said]) -> str:
    head = genesis_previous()
    for seq, one in enumerate(said):
        body_hash = one.erased.hex() if one.body is None else blake3(to_bytes(one.body)).hexdigest()
        fields = (manifest.record_format, manifest.world, seq, one.kind, one.actor, one.flick)
        head = record_hash(to_bytes(Header(*fields, body_hash, head)))
    return head


def changed(recording: bytes, at: int, change: Callable[[Said], Said], **manifest_changes: Any) -> bytes:
    """The recording with another record `at`."""
    said = said_in(recording)
    said[at] = change(said[at])
    return saying(recording, said, **manifest_changes)


def with_fields(recording: bytes, at: int, /, **fields: Any) -> bytes:
    """The recording in which record `at` says something else."""
    return changed(recording, at, lambda one: one._replace(body=msgspec.structs.replace(one.body, **fields)))
