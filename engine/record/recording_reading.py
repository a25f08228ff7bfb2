"""Reading a recording from somebody else: whatever it says is checked before it is believed.

Every length is bounded before it is used, every chunk is compared with its check, headers are made anew, and the last
one must have the hash that the manifest says. Only then the end mark is believed, and until then nobody may act on
what came before: whoever imports reads to the end first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeVar

import msgspec
from blake3 import blake3

from engine.ids import BadId, check_world_id, content_id
from engine.io.log import LogEntry
from engine.limits import (
    RECORDING_BLOB_BYTES_MAX,
    RECORDING_CHUNK_RECORDS_MAX,
    RECORDING_ENGINE_BYTES_MAX,
)
from engine.record import heaps
from engine.record.canonical import NotCanonical, from_bytes, to_bytes
from engine.record.checkpoints import DataBlobRefused, check_data
from engine.record.kinds import Genesis, Header, Purge
from engine.record.recording import (
    KINDS_KEPT,
    BlobPart,
    End,
    Manifest,
    PackedRecords,
    blobs_for,
    step_between,
)
from engine.record.recording_format import (
    BLOB,
    END,
    MANIFEST,
    PIECE,
    PLAIN,
    RECORDS,
    VERSION,
    Chunk,
    ChunkReader,
    RecordingRefused,
    Source,
    name_of,
)
from engine.record.records import FIRST_SEQ, FORMAT, KINDS, genesis_previous, record_hash
from engine.record.retention import MAY_EXPIRE

S = TypeVar("S", bound=msgspec.Struct)
_HASH = re.compile(r"[0-9a-f]{64}\Z")
_FLICK_MAX = 2**63


def read_parts(source: Source) -> Iterator[Manifest | BlobPart | list[LogEntry]]:
    """The manifest, each blob, and the records in lists; after the last part it is whole and proven.

    Raises RecordingRefused, at the first thing that is wrong.
    """
    chunks = ChunkReader(source)
    first = chunks.chunk()
    if first.tag != MANIFEST:
        raise _refused(first, f"expected the manifest, got a {name_of(first.tag)}")
    manifest = _manifest(first)
    yield manifest
    reader = _Reader(manifest)
    while (chunk := chunks.chunk()).tag != END:
        part = reader.take(chunk)
        if part is not None:
            yield part
    chunks.finish()
    reader.end(chunk)


class _Reader:
    """What was read so far, and what must still be true of the rest."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._pieces: list[bytes] = []
        self._pieces_bytes = 0
        self._packed = False  # a piece of the blob at hand was compressed by the recording
        self._blobs: dict[str, int] = {}  # by name: where each began
        self._needed: dict[str, str] = {}  # by name: what needs it
        self._seq = FIRST_SEQ - 1
        self._hash = genesis_previous()
        self._flick = 0
        self._erased = 0

    def take(self, chunk: Chunk) -> BlobPart | list[LogEntry] | None:
        if chunk.tag in (PIECE, BLOB) and self._seq < FIRST_SEQ:
            return self._blob(chunk)
        if chunk.tag == RECORDS and not self._pieces:
            return self._records(chunk)
        raise _refused(chunk, f"a {name_of(chunk.tag)} has no place here")

    def _blob(self, chunk: Chunk) -> BlobPart | None:
        self._pieces.append(chunk.content)
        self._pieces_bytes += len(chunk.content)
        self._packed = self._packed or chunk.method != PLAIN
        bytes_max = RECORDING_ENGINE_BYTES_MAX if self._packed else RECORDING_BLOB_BYTES_MAX
        if self._pieces_bytes > bytes_max:
            raise _refused(chunk, f"a blob has more than the {bytes_max} bytes that are allowed")
        if chunk.tag == PIECE:
            return None
        content, packed = b"".join(self._pieces), self._packed
        self._pieces, self._pieces_bytes, self._packed = [], 0, False
        name = content_id(content)
        if packed and name != self._manifest.engine_blob:
            raise _refused(chunk, f"blob {name} is compressed twice; only the engine is compressed here")
        if self._blobs and name <= next(reversed(self._blobs)):
            raise _refused(chunk, f"blob {name} is out of order, or there twice")
        self._blobs[name] = chunk.offset_bytes
        self._look_into(chunk, name, content)
        return BlobPart(name, content)

    def _look_into(self, chunk: Chunk, name: str, content: bytes) -> None:
        try:
            if content.startswith(heaps.MAGIC):
                for below in heaps.references(name, content):
                    self._needed[below] = f"blob {name}"
            elif name != self._manifest.engine_blob:
                check_data(name, content)
        except (heaps.HeapRefused, DataBlobRefused) as refused:
            raise _refused(chunk, str(refused)) from None

    def _records(self, chunk: Chunk) -> list[LogEntry]:
        packed = _decoded(chunk, PackedRecords)
        count = len(packed.kinds)
        if not 0 < count <= RECORDING_CHUNK_RECORDS_MAX or not (
            count == len(packed.actors) == len(packed.steps) == len(packed.bodies)
            and packed.bodies.count(None) == len(packed.erased)
        ):
            raise _refused(chunk, "its columns are not of one length, or it holds too many records or none")
        if packed.first != self._seq + 1:
            raise _refused(chunk, f"expected record {self._seq + 1}, got record {packed.first}")
        erased = iter(packed.erased)
        columns = zip(packed.kinds, packed.actors, packed.steps, packed.bodies, strict=True)
        return [
            self._record(chunk, kind, actor, step, body, next(erased) if body is None else b"")
            for kind, actor, step, body in columns
        ]

    def _record(
        self, chunk: Chunk, kind: str, actor: str, step: int, body: bytes | None, erased: bytes
    ) -> LogEntry:
        seq, flick = self._seq + 1, step_between(0, self._flick + step)
        if kind not in KINDS:
            raise _refused(
                chunk,
                f"record {seq}: its kind {kind!r} is not known to this version (record format {FORMAT}, kinds "
                f"{', '.join(sorted(KINDS))}). Read it with the version that wrote it",
            )
        if (kind == "genesis") != (seq == FIRST_SEQ):
            raise _refused(chunk, f"record {seq} is a {kind}; a world begins with its genesis, and only so")
        if body is None:
            self._check_erased(chunk, seq, kind, erased)
            body_hash = erased.hex()
        else:
            self._check_body(chunk, seq, kind, body)
            body_hash = blake3(body).hexdigest()
        header = to_bytes(
            Header(FORMAT, self._manifest.world, seq, kind, actor, flick, body_hash, self._hash)
        )
        self._seq, self._hash, self._flick = seq, record_hash(header), flick
        return LogEntry(self._manifest.world, seq, header, body)

    def _check_erased(self, chunk: Chunk, seq: int, kind: str, erased: bytes) -> None:
        redacted = self._manifest.redacted
        if len(erased) != 32 or not ((redacted and kind not in KINDS_KEPT) or kind in MAY_EXPIRE):
            raise _refused(chunk, f"record {seq}: a {kind} without a body cannot be understood")
        self._erased += 1

    def _check_body(self, chunk: Chunk, seq: int, kind: str, packed: bytes) -> None:
        if self._manifest.redacted and kind not in KINDS_KEPT:
            raise _refused(chunk, f"record {seq}: a redacted recording holds no body of a {kind}")
        try:
            body = from_bytes(KINDS[kind], packed)
        except NotCanonical as error:
            raise _refused(chunk, f"record {seq}: its body is no {kind} ({error})") from None
        if isinstance(body, Purge):
            raise _refused(chunk, f"record {seq}: a purged world cannot be replayed")
        if isinstance(body, Genesis):
            self._check_genesis(chunk, body)
        for name in blobs_for(body, redact=self._manifest.redacted):
            self._needed.setdefault(name, f"record {seq}")

    def _check_genesis(self, chunk: Chunk, body: Genesis) -> None:
        said = self._manifest.engine, self._manifest.engine_blob
        if (body.engine, body.engine_blob) != said:
            raise _refused(
                chunk,
                f"the genesis is of engine '{body.engine}', the manifest says '{self._manifest.engine}'",
            )

    def end(self, chunk: Chunk) -> None:
        """Everything was read: does it make one recording?"""
        if self._pieces:
            raise _refused(chunk, "a blob is not complete")
        counted = End(self._seq - FIRST_SEQ + 1, self._erased, len(self._blobs))
        said = _from_json(chunk, End)
        if said != counted:
            raise _refused(chunk, f"the end mark counts {said}, the file holds {counted}")
        if counted.records != self._manifest.records or self._hash != self._manifest.head:
            raise _refused(
                chunk,
                f"the manifest says {self._manifest.records} records that end in {self._manifest.head}, "
                f"the file holds {counted.records} that end in {self._hash}",
            )
        for name, by in self._needed.items():
            if name not in self._blobs:
                raise _refused(chunk, f"blob {name} is missing; {by} needs it")
        for name, offset_bytes in self._blobs.items():
            if name not in self._needed:
                raise RecordingRefused(f"blob {name} is needed by no record", offset_bytes=offset_bytes)


def _manifest(chunk: Chunk) -> Manifest:
    manifest = _from_json(chunk, Manifest)
    if manifest.format != VERSION:
        raise _refused(chunk, f"the manifest format is {manifest.format}; the file's is {VERSION}")
    if manifest.record_format != FORMAT:
        raise _refused(
            chunk,
            f"its records have format {manifest.record_format}; this version reads format {FORMAT}. "
            "Read it with the version that wrote it",
        )
    try:
        check_world_id(manifest.world)
    except BadId as error:
        raise _refused(chunk, str(error)) from None
    if not (_HASH.match(manifest.head) and _HASH.match(manifest.engine_blob)):
        raise _refused(chunk, "the manifest's hashes are none")
    return manifest


def _from_json(chunk: Chunk, kind: type[S]) -> S:
    """A struct in the one form that it is written in. Raises RecordingRefused."""
    try:
        value = msgspec.json.decode(chunk.content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _refused(chunk, f"the {name_of(chunk.tag)} does not read as one ({error})") from None
    if chunk.method != PLAIN or msgspec.json.encode(value) != chunk.content:
        raise _refused(chunk, f"the {name_of(chunk.tag)} is not in its one form")
    return value


def _decoded(chunk: Chunk, kind: type[S]) -> S:
    try:
        return from_bytes(kind, chunk.content)
    except NotCanonical as error:
        raise _refused(chunk, f"the records do not read as such ({error})") from None


def _refused(chunk: Chunk, reason: str) -> RecordingRefused:
    return RecordingRefused(reason, offset_bytes=chunk.offset_bytes)
