"""A recording: one world's records from its genesis to one of them, and every blob that replaying them needs, as one
file for another machine (its bytes: `recording_format`, its strict reader: `recording_reading`).

What can be computed is not stored: a record is its kind, actor, time and body, and its header, hashes included, is
made again when it is read; the last record's hash, which the manifest says, proves that all of them are as they were.
No clock and no randomness: the same world and record give the same bytes.

A redacted recording leaves out what people asked and were answered: bodies of other kinds than `KINDS_KEPT`, and data.
Their headers stay, so its chain verifies (Invariant 20), and it can be replayed as far as its bodies go.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import pairwise

import msgspec

from engine.io.blobs import Blobs
from engine.io.log import Log, LogEntry
from engine.io.mem_blobs import MemBlobs
from engine.io.mem_log import MemLog
from engine.limits import (
    LOG_BATCH_BYTES_MAX,
    LOG_BATCH_RECORDS_MAX,
    RECORDING_BLOB_BYTES_MAX,
    RECORDING_BLOB_PIECE_BYTES,
    RECORDING_CHUNK_BYTES,
    RECORDING_CHUNK_RECORDS_MAX,
    RECORDING_MEMORY_BYTES_MAX,
)
from engine.record import heaps
from engine.record.canonical import to_bytes
from engine.record.collection import KINDS_THAT_NAME, blobs_named
from engine.record.kinds import Body, Describe, Genesis, Header, Revision
from engine.record.recording_format import (
    BLOB,
    END,
    MANIFEST,
    PIECE,
    PLAIN,
    RECORDS,
    VERSION,
    ZSTD,
    ChunkWriter,
    RecordingRefused,
    Source,
)
from engine.record.records import FIRST_SEQ, FORMAT, decode, decode_header, record_hash
from engine.record.retention import MAY_EXPIRE

__all__ = [
    "KINDS_KEPT",
    "BlobPart",
    "Manifest",
    "Recording",
    "RecordingRefused",
    "batches_of",
    "read_recording",
    "write_recording",
]

KINDS_KEPT = ("genesis", "revision", "unchanged", "rejection", "check-enrolled", "check-removed", "imported")
"""Kinds whose bodies a redacted recording holds: what was developed, not what was asked and answered."""

_HOLDS = (
    "This recording holds the world's sources, and of every operation who asked for it and when, arguments, results, "
    "data, console lines, errors, request ids and other worlds' answers."
)
_HOLDS_REDACTED = (
    "This recording is redacted: arguments, results, data, previews and their console lines are left out. It still "
    "holds sources, checks with their inputs, rejections and console lines of changes, kinds, times and actors of all "
    "records, and heaps, which may hold texts that the world's code kept."
)


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a recording says of itself first. `head` is the hash of its last record, `engine` who can run it.

    `prelude_version` is the last revision's; `redacted` bodies are left out; `warning` says what it contains.
    """

    format: int
    record_format: int
    world: str
    name: str
    records: int
    head: str
    engine: str
    engine_blob: str
    prelude_version: int
    redacted: bool
    warning: str


class End(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The end mark: what was in the file. `erased` counts the records without a body."""

    records: int
    erased: int
    blobs: int


class PackedRecords(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Records from sequence `first` on, by columns. `steps` are their flicks, each as the step from the one before.

    A record without a body has None in `bodies` and the hash of what it was, 32 bytes, next in `erased`.
    """

    first: int
    kinds: list[str]
    actors: list[str]
    steps: list[int]
    bodies: list[bytes | None]
    erased: list[bytes]


class BlobPart(msgspec.Struct, frozen=True):
    """A blob of a recording."""

    name: str
    content: bytes


class Recording(msgspec.Struct, frozen=True):
    """A recording in memory: `log` holds its world's records, `blobs` what they need."""

    manifest: Manifest
    log: MemLog
    blobs: MemBlobs


def write_recording(
    log: Log, blobs: Blobs, world: str, *, until: int | None = None, redact: bool = False
) -> Generator[bytes, None, None]:
    """The recording of a world's durable records up to `until` (its last one), in pieces of bounded size.

    Raises RecordingRefused for what cannot become one, before the first piece; BlobMissing, BlobRotten, HeapRefused
    and RecordRefused where the directory is damaged, LogError.
    """
    survey = _Survey(log, world, until, redact=redact)
    names = survey.blobs_needed(blobs)
    writer = ChunkWriter()
    yield writer.start
    yield writer.chunk(MANIFEST, msgspec.json.encode(survey.manifest()), method=PLAIN)
    for name in names:
        yield from _blob_chunks(writer, name, blobs.get(name))
    records = erased = 0
    for packed in _packed(log, world, survey.head, redact=redact):
        records += len(packed.kinds)
        erased += len(packed.erased)
        yield writer.chunk(RECORDS, to_bytes(packed))
    yield writer.chunk(END, msgspec.json.encode(End(records, erased, len(names))), method=PLAIN)


def read_recording(source: Source) -> Recording:
    """All of a recording, in memory and verified: chain, bodies, and that every blob it needs is there.

    Raises RecordingRefused.
    """
    from engine.record.recording_reading import read_parts

    log, blobs = MemLog(), MemBlobs()
    manifest: Manifest | None = None
    size_bytes = 0
    for part in read_parts(source):
        match part:
            case Manifest():
                manifest = part
                continue
            case BlobPart():
                size_bytes += len(part.content)
                blobs.put(part.content)
            case entries:
                size_bytes += sum(map(bytes_of, entries))
                for batch in batches_of(entries):
                    log.append(batch)
        if size_bytes > RECORDING_MEMORY_BYTES_MAX:
            raise RecordingRefused(
                f"it holds more than the {RECORDING_MEMORY_BYTES_MAX} bytes that are read into memory; import it"
            )
    assert manifest is not None, "a recording that was read has a manifest"
    return Recording(manifest, log, blobs)


def batches_of(entries: Iterable[LogEntry]) -> Iterator[list[LogEntry]]:
    """Records in their order, in batches that a log takes."""
    batch: list[LogEntry] = []
    size_bytes = 0
    for entry in entries:
        size_bytes += bytes_of(entry)
        if batch and (len(batch) == LOG_BATCH_RECORDS_MAX or size_bytes > LOG_BATCH_BYTES_MAX):
            yield batch
            batch, size_bytes = [], bytes_of(entry)
        batch.append(entry)
    if batch:
        yield batch


def bytes_of(entry: LogEntry) -> int:
    return len(entry.header) + len(entry.body or b"")


def step_between(flick: int, later_flick: int) -> int:
    """From one time to another, signed 64 bits: it wraps, so that any two have a step."""
    return (later_flick - flick + 2**63) % 2**64 - 2**63


def blobs_for(body: Body, *, redact: bool) -> list[str]:
    """The blobs that a record names and its recording holds; data is none of a redacted one's."""
    data_blob = getattr(body, "data_blob", None) if redact else None
    return [blob for blob in blobs_named(body) if blob != data_blob]


class _Survey:
    """A first pass over the records: what the manifest says, and which blobs are named."""

    def __init__(self, log: Log, world: str, until: int | None, *, redact: bool) -> None:
        last = log.last(world)
        if last is None:
            raise RecordingRefused(f"there is no world {world}; `pw worlds` lists them")
        self.head = last[0] if until is None else until
        if not FIRST_SEQ <= self.head <= last[0]:
            raise RecordingRefused(f"world {world} has no record {until}; its last one is {last[0]}")
        self._world = world
        self._redact = redact
        self._named: dict[str, None] = {}
        self._name = ""
        self._genesis: Genesis | None = None
        self._prelude_version = 0
        self._head_hash = ""
        for _, entry in log.read(world):
            if entry.seq > self.head:
                break
            self._take(entry)

    def _take(self, entry: LogEntry) -> None:
        if entry.seq == self.head:
            self._head_hash = record_hash(entry.header)
        kind = decode_header(entry).kind
        left_out = self._redact and kind not in KINDS_KEPT
        if kind == "purge" or (entry.body is None and not left_out and kind not in MAY_EXPIRE):
            raise RecordingRefused(
                f"world {self._world} was purged: what it did is erased and cannot be replayed"
            )
        if kind in (*KINDS_THAT_NAME, "describe") and entry.body is not None:
            self._take_body(decode(entry)[1], left_out=left_out)

    def _take_body(self, body: Body | None, *, left_out: bool) -> None:
        match body:
            case Genesis():
                self._genesis, self._name, self._prelude_version = body, body.name, body.prelude_version
            case Revision():
                self._prelude_version = body.prelude_version
            case Describe() if body.name is not None:
                self._name = body.name
        if body is not None and not left_out:
            self._named.update(dict.fromkeys(blobs_for(body, redact=self._redact)))

    def manifest(self) -> Manifest:
        genesis = self._genesis
        assert genesis is not None, "a world begins with its genesis"
        return Manifest(
            format=VERSION,
            record_format=FORMAT,
            world=self._world,
            name=self._name,
            records=self.head - FIRST_SEQ + 1,
            head=self._head_hash,
            engine=genesis.engine,
            engine_blob=genesis.engine_blob,
            prelude_version=self._prelude_version,
            redacted=self._redact,
            warning=_HOLDS_REDACTED if self._redact else _HOLDS,
        )

    def blobs_needed(self, blobs: Blobs) -> list[str]:
        """What is named and what heaps stand on, sorted."""
        needed: set[str] = set()  # membership only
        for name in self._named:
            below: list[str] = [name]
            while below and below[0] not in needed:
                needed.add(below[0])
                content = blobs.get(below[0])
                if len(content) > RECORDING_BLOB_BYTES_MAX:
                    raise RecordingRefused(
                        f"blob {below[0]} has {len(content)} bytes; a recording takes at most "
                        f"{RECORDING_BLOB_BYTES_MAX} of one"
                    )
                below = heaps.references(below[0], content) if content.startswith(heaps.MAGIC) else []
        return sorted(needed)


def _blob_chunks(writer: ChunkWriter, name: str, content: bytes) -> Iterator[bytes]:
    """Heaps and data are compressed as they are; an engine is not."""
    method = PLAIN if content.startswith((heaps.MAGIC, b"flkdata\n")) else ZSTD
    pieces = max(1, -(-len(content) // RECORDING_BLOB_PIECE_BYTES))
    for n in range(pieces):
        piece = content[n * RECORDING_BLOB_PIECE_BYTES : (n + 1) * RECORDING_BLOB_PIECE_BYTES]
        yield writer.chunk(BLOB if n == pieces - 1 else PIECE, piece, method=method)


def _packed(log: Log, world: str, head: int, *, redact: bool) -> Iterator[PackedRecords]:
    gathered: list[tuple[Header, bytes | None]] = []
    size_bytes = last_flick = 0
    for _, entry in log.read(world):
        if entry.seq > head:
            break
        if gathered and (
            len(gathered) == RECORDING_CHUNK_RECORDS_MAX
            or size_bytes + bytes_of(entry) > RECORDING_CHUNK_BYTES
        ):
            yield _columns(gathered, last_flick)
            last_flick = gathered[-1][0].flick
            gathered, size_bytes = [], 0
        header = decode_header(entry)
        kept = not redact or header.kind in KINDS_KEPT
        gathered.append((header, entry.body if kept else None))
        size_bytes += bytes_of(entry)
    yield _columns(gathered, last_flick)


def _columns(gathered: Sequence[tuple[Header, bytes | None]], last_flick: int) -> PackedRecords:
    flicks = [last_flick, *(header.flick for header, _ in gathered)]
    return PackedRecords(
        first=gathered[0][0].seq,
        kinds=[header.kind for header, _ in gathered],
        actors=[header.actor for header, _ in gathered],
        steps=[step_between(flick, later) for flick, later in pairwise(flicks)],
        bodies=[body for _, body in gathered],
        erased=[bytes.fromhex(header.body_hash) for header, body in gathered if body is None],
    )
