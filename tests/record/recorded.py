"""A small world that can be recorded, and recordings taken apart and put together again as somebody else would."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from record_lives import EVERY_KIND, Book, Heaps, call, checkpoint, genesis, preview, revision

from engine.io.mem_blobs import MemBlobs
from engine.io.mem_log import MemLog
from engine.record.canonical import from_bytes, to_bytes
from engine.record.kinds import Body, Checkpoint, Genesis, Header, Purge, Request, Revision
from engine.record.recording import (
    Manifest,
    PackedRecords,
    Recording,
    read_recording,
    write_recording,
)
from engine.record.recording_format import MANIFEST, RECORDS, Chunk, ChunkReader, ChunkWriter

ENGINE = b"\0asm" + b"an engine " * 30
WORLD = "w-123456"


class Recorded:
    """One world in memory; `write` appends, `recording` records it."""

    def __init__(self) -> None:
        self.log, self.blobs = MemLog(), MemBlobs()
        self.book = Book(self.log)
        self.heaps = Heaps(self.blobs)
        self.engine_blob = self.blobs.put(ENGINE)
        self.blobs.put(b"what another world needs")
        self.write(genesis("A world", self.heaps.ref, self.engine_blob))

    def write(self, *bodies: Body) -> int:
        return self.book.write(WORLD, *bodies)

    def grow(self, n: int) -> None:
        """A revision, whose heap stands on the one before."""
        self.write(revision(n, f"f{n}", heap=self.heaps.change(n, 7 * n, b"changed %d" % n)))

    def recording(self, **options: Any) -> bytes:
        return b"".join(write_recording(self.log, self.blobs, WORLD, **options))


def of_every_kind() -> Recorded:
    """One record of each kind but a purge, with the blobs that they name."""
    recorded = Recorded()
    for body in EVERY_KIND:
        match body:
            case Genesis() | Purge():
                continue
            case Revision():
                body = msgspec.structs.replace(body, heap=recorded.heaps.change(body.n, body.n, b"x"))
            case Checkpoint():
                body = checkpoint(recorded.blobs, {"k": b"1"}, 3, recorded.heaps.ref, 9)
        recorded.write(body)
    return recorded


def small() -> Recorded:
    recorded = Recorded()
    recorded.grow(1)
    recorded.write(
        call(writes={"k": b"1"}, request=Request("r", "5" * 64)),
        preview(),
        checkpoint(recorded.blobs, {"k": b"1"}, 1, recorded.heaps.ref, 2),
    )
    return recorded


def read(recording: bytes) -> Recording:
    return read_recording(io.BytesIO(recording))


def chunks_of(recording: bytes) -> list[Chunk]:
    reader = ChunkReader(io.BytesIO(recording))
    chunks = [reader.chunk()]
    while reader.offset_bytes < len(recording):
        chunks.append(reader.chunk())
    return chunks


def sealed(chunks: Sequence[Chunk]) -> bytes:
    """A file of these chunks whose checks all hold: only what they say can be wrong."""
    writer = ChunkWriter()
    return writer.start + b"".join(
        writer.chunk(chunk.tag, chunk.content, method=chunk.method) for chunk in chunks
    )


def with_manifest(recording: bytes, **changes: Any) -> bytes:
    def changed(content: bytes) -> bytes:
        return msgspec.json.encode(
            msgspec.structs.replace(msgspec.json.decode(content, type=Manifest), **changes)
        )

    return _with(recording, MANIFEST, changed)


def with_records(recording: bytes, change: Callable[[PackedRecords], PackedRecords]) -> bytes:
    return _with(recording, RECORDS, lambda content: to_bytes(change(from_bytes(PackedRecords, content))))


def with_head(recording: bytes) -> bytes:
    """Let the manifest say the hash that the records really come to."""
    chunks = chunks_of(recording)
    manifest = msgspec.json.decode(chunks[0].content, type=Manifest)
    previous, flick = "0" * 64, 0
    from blake3 import blake3

    for chunk in chunks:
        if chunk.tag != RECORDS:
            continue
        packed = from_bytes(PackedRecords, chunk.content)
        erased = iter(packed.erased)
        for n, body in enumerate(packed.bodies):
            flick += packed.steps[n]
            body_hash = next(erased).hex() if body is None else blake3(body).hexdigest()
            header = Header(
                manifest.record_format,
                manifest.world,
                packed.first + n,
                packed.kinds[n],
                packed.actors[n],
                flick,
                body_hash,
                previous,
            )
            previous = blake3(to_bytes(header)).hexdigest()
    return with_manifest(recording, head=previous)


def _with(recording: bytes, tag: int, change: Callable[[bytes], bytes]) -> bytes:
    return sealed(
        [
            chunk._replace(content=change(chunk.content)) if chunk.tag == tag else chunk
            for chunk in chunks_of(recording)
        ]
    )
