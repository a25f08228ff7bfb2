"""The bytes of the file log: segment headers, batches and the head file. Pure: bytes in, bytes out.

A segment is a header sector, then batches, each from a sector boundary on and padded with zeros to the next.
Every check is a BLAKE3 keyed with the segment's random key, so nothing that a record holds can pass for a batch; a
batch also states its own offset, so one that was written elsewhere is known for what it is.

A batch's *hash* is another thing: unkeyed, over its number, its predecessor's hash and its records' hashes. It
stays the same when the batch moves to another segment and when bodies are erased (Invariant 20).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import zstandard
from blake3 import blake3

from engine.ids import content_id
from engine.io.log import LogEntry, LogError, LogForeign, LogRotten, WrongSequence
from engine.limits import LOG_BATCH_BYTES_MAX, LOG_BATCH_RECORDS_MAX, SECTOR_BYTES

FORMAT_VERSION = 1
SEGMENT_MAGIC = b"FLICKSEG"
BATCH_MAGIC = b"FLICKBAT"
HEAD_MAGIC = b"FLICKEND"
HASH_BYTES = 32
KEY_BYTES = 32
LOG_ID_BYTES = 16
EMPTY_HASH = bytes(HASH_BYTES)
RECORDS, SEAL = 1, 2  # the kinds of batch

_PREFIX = struct.Struct("<8sI16s16s")  # magic, version, layout, log id
_SEGMENT = struct.Struct("<QI32sQ32sQQ")
_BATCH = struct.Struct("<8sIIQQIIII32s32s32s")
_HEAD = struct.Struct("<Q32s")
_COLUMNS = "worlds:count+(u16 size,utf8)*;u32 world*;u64 seq*;u32 header*;u32 previous_at*;u32 body*;headers"
LAYOUT = blake3(
    "|".join((_PREFIX.format, _SEGMENT.format, _BATCH.format, _HEAD.format, _COLUMNS)).encode()
).digest(length=16)

BATCH_HEADER_BYTES = _BATCH.size + HASH_BYTES
HEAD_SLOTS = 2
HEAD_FILE_BYTES = HEAD_SLOTS * SECTOR_BYTES
_HEAD_SLOT_BYTES = _PREFIX.size + _HEAD.size + HASH_BYTES
_ABSENT = 0xFFFF_FFFF  # of a body: erased; of a position: the header is stored whole
_CHAIN_CONTEXT = "flickworld log batch hash 1"
_HEAD_CONTEXT = "flickworld log head check 1"
_COMPRESS = zstandard.ZstdCompressor(level=3)
_DECOMPRESS = zstandard.ZstdDecompressor()

assert _HEAD_SLOT_BYTES <= 512, "a slot of the head file is one write of the smallest sector"


class SegmentHeader(NamedTuple):
    """The first sector of a segment.

    `previous_end_bytes` is where the segment before it ended: what that one holds past there never counted.
    `end_bytes` is 0, or this segment's own end where it was written again to erase bodies.
    """

    log_id: bytes
    number: int
    generation: int
    key: bytes
    batch_before: int
    hash_before: bytes
    previous_end_bytes: int
    end_bytes: int


class RawBatch(NamedTuple):
    """An authentic batch whose records are still packed."""

    kind: int
    records: int
    number: int
    previous: bytes
    hash: bytes
    headers: bytes
    bodies: bytes
    size_bytes: int


class Batch(NamedTuple):
    """An unpacked batch. `record_hashes` are those of its entries, in order; `places` their worlds and sequences."""

    number: int
    previous: bytes
    hash: bytes
    places: bytes
    entries: list[LogEntry]
    record_hashes: list[bytes]


class HeadMark(NamedTuple):
    """What the head file says: at least this batch is durable (Invariant 2)."""

    log_id: bytes
    batch: int
    hash: bytes


class BadBatch(Exception):
    """No batch of this segment is here. `authentic`: it was written by this segment, for another place."""

    def __init__(self, reason: str, *, authentic: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.authentic = authentic


def round_up(size_bytes: int) -> int:
    """The next sector boundary at or after."""
    return -(-size_bytes // SECTOR_BYTES) * SECTOR_BYTES


def is_zero(content: bytes) -> bool:
    return content == bytes(len(content))


def record_hash(header: bytes) -> bytes:
    return blake3(header).digest()


# Segment headers


def encode_segment_header(header: SegmentHeader) -> bytes:
    """One sector."""
    fields = _PREFIX.pack(SEGMENT_MAGIC, FORMAT_VERSION, LAYOUT, header.log_id) + _SEGMENT.pack(*header[1:])
    content = fields.ljust(SECTOR_BYTES - HASH_BYTES, b"\0")
    return content + blake3(content, key=header.key).digest()


def decode_segment_header(sector: bytes, file: str) -> SegmentHeader:
    """Raises LogForeign, LogRotten."""
    log_id = _decode_prefix(sector, SEGMENT_MAGIC, "a segment of a log", file, 0)
    if len(sector) < SECTOR_BYTES:
        raise LogRotten(
            f"the file has {len(sector)} bytes; its header alone has {SECTOR_BYTES}",
            file=file,
            offset_bytes=0,
        )
    header = SegmentHeader(log_id, *_SEGMENT.unpack_from(sector, _PREFIX.size))
    content, check = sector[:-HASH_BYTES], sector[-HASH_BYTES:]
    if blake3(content, key=header.key).digest() != check:
        raise LogRotten("the segment's header has changed since it was written", file=file, offset_bytes=0)
    return header


def _decode_prefix(content: bytes, magic: bytes, what: str, file: str, offset_bytes: int) -> bytes:
    """The log's id."""
    if len(content) < _PREFIX.size or content[:8] != magic:
        raise LogForeign(
            f"begins with {content[:8]!r}, {what} begins with {magic!r}", file=file, offset_bytes=offset_bytes
        )
    _, version, layout, log_id = _PREFIX.unpack_from(content)
    if (version, layout) != (FORMAT_VERSION, LAYOUT):
        raise LogForeign(
            f"is of format {version}, layout {layout.hex()}; this program reads format {FORMAT_VERSION}, "
            f"layout {LAYOUT.hex()}",
            file=file,
            offset_bytes=offset_bytes,
        )
    return log_id


# The head file


def encode_head_slot(mark: HeadMark) -> bytes:
    fields = _PREFIX.pack(HEAD_MAGIC, FORMAT_VERSION, LAYOUT, mark.log_id) + _HEAD.pack(mark.batch, mark.hash)
    return fields + blake3(fields, derive_key_context=_HEAD_CONTEXT).digest()


def decode_head_slot(sector: bytes, file: str, offset_bytes: int) -> HeadMark:
    """Raises LogForeign, LogRotten."""
    log_id = _decode_prefix(sector, HEAD_MAGIC, "the head file of a log", file, offset_bytes)
    fields, rest = sector[: -HASH_BYTES + _HEAD_SLOT_BYTES], sector[_HEAD_SLOT_BYTES:]
    check = sector[len(fields) : _HEAD_SLOT_BYTES]
    if blake3(fields, derive_key_context=_HEAD_CONTEXT).digest() != check or not is_zero(rest):
        raise LogRotten(
            "this half of the head file is not whole: a crash tore it, or it is rotten",
            file=file,
            offset_bytes=offset_bytes,
        )
    return HeadMark(log_id, *_HEAD.unpack_from(fields, _PREFIX.size))


# Batches


def _chain_hash(number: int, previous: bytes, places: bytes, hashes: Sequence[bytes]) -> bytes:
    content = previous + number.to_bytes(8, "little") + places + b"".join(hashes)
    return blake3(content, derive_key_context=_CHAIN_CONTEXT).digest()


def _pack_places(entries: Sequence[LogEntry]) -> bytes:
    """The distinct worlds in order of appearance, then the columns of each entry's world and sequence."""
    worlds: dict[str, int] = {}
    columns = [worlds.setdefault(entry.world, len(worlds)) for entry in entries]
    columns += [entry.seq for entry in entries]
    parts = [len(worlds).to_bytes(4, "little")]
    for world in worlds:
        name = world.encode()
        parts.append(len(name).to_bytes(2, "little") + name)
    parts.append(struct.pack(f"<{len(entries)}I{len(entries)}Q", *columns))
    return b"".join(parts)


def check_entries(entries: Sequence[LogEntry], ends: Mapping[str, tuple[int, bytes]]) -> None:
    """Whether a batch follows what `ends` says of its worlds. Raises WrongSequence (Invariant 6), LogError."""
    assert entries, "a batch holds records"
    if len(entries) > LOG_BATCH_RECORDS_MAX:
        raise LogError(f"a batch of {len(entries)} records is too large; at most {LOG_BATCH_RECORDS_MAX} fit")
    here: dict[str, LogEntry] = {}
    size_bytes = 0
    for entry in entries:
        before = here.get(entry.world)
        seq = before.seq if before else ends[entry.world][0] if entry.world in ends else -1
        if entry.seq != seq + 1:
            hash_ = content_id(before.header) if before else ends.get(entry.world, (-1, EMPTY_HASH))[1].hex()
            raise WrongSequence(entry.world, expected=seq + 1, got=entry.seq, last_hash=hash_)
        here[entry.world] = entry
        size_bytes += len(entry.header) + len(entry.body or b"")
    if size_bytes > LOG_BATCH_BYTES_MAX:
        raise LogError(
            f"a batch of {size_bytes} bytes is too large; at most {LOG_BATCH_BYTES_MAX} fit: "
            "append fewer records at a time"
        )


def make_batch(number: int, previous: bytes, entries: Sequence[LogEntry]) -> Batch:
    """The batch of this number. Its hash is of its place, what was before it, and its records' places and hashes."""
    places = _pack_places(entries)
    hashes = [record_hash(entry.header) for entry in entries]
    hash_ = _chain_hash(number, previous, places, hashes)
    return Batch(number, previous, hash_, places, list(entries), hashes)


def encode_batch(batch: Batch, *, key: bytes, offset_bytes: int) -> bytes:
    """The batch's sectors for this place in the segment of this key."""
    headers, bodies = _pack(batch)
    return _seal_up(RECORDS, len(batch.entries), batch, headers, bodies, key=key, offset_bytes=offset_bytes)


def encode_seal(number: int, hash_: bytes, *, key: bytes, offset_bytes: int) -> bytes:
    """The sector that ends a segment after this batch. It is no batch of its own: the log's head stays."""
    end = Batch(number, hash_, hash_, b"", [], [])
    return _seal_up(SEAL, 0, end, b"", b"", key=key, offset_bytes=offset_bytes)


def _seal_up(
    kind: int, count: int, batch: Batch, headers: bytes, bodies: bytes, *, key: bytes, offset_bytes: int
) -> bytes:
    stored_headers, stored_bodies = headers, bodies
    if BATCH_HEADER_BYTES + len(headers) + len(bodies) > SECTOR_BYTES:  # else compressing saves no sector
        stored_headers = min(headers, _COMPRESS.compress(headers), key=len)
        stored_bodies = min(bodies, _COMPRESS.compress(bodies), key=len)
    fields = _BATCH.pack(
        BATCH_MAGIC,
        kind,
        count,
        batch.number,
        offset_bytes,
        len(headers),
        len(stored_headers),
        len(bodies),
        len(stored_bodies),
        batch.previous,
        batch.hash,
        blake3(stored_bodies, key=key).digest(),
    )
    content = b"".join(
        (fields, blake3(fields + stored_headers, key=key).digest(), stored_headers, stored_bodies)
    )
    return content.ljust(round_up(len(content)), b"\0")


def batch_size_bytes(start: bytes) -> int:
    """What a batch's header says of its size in the file, before anything is checked; 0 where none begins."""
    if len(start) < _BATCH.size or start[:8] != BATCH_MAGIC:
        return 0
    _, _, _, _, _, _, headers_stored, _, bodies_stored, *_ = _BATCH.unpack_from(start)
    if headers_stored + bodies_stored > 2 * LOG_BATCH_BYTES_MAX:
        return 0
    return round_up(BATCH_HEADER_BYTES + headers_stored + bodies_stored)


def parse_batch(content: bytes, *, key: bytes, offset_bytes: int) -> RawBatch:
    """The batch that these sectors hold, authenticated. Raises BadBatch, saying why it is none."""
    size_bytes = batch_size_bytes(content)
    if not size_bytes:
        raise BadBatch("no batch begins here")
    if len(content) < size_bytes:
        raise BadBatch(f"a batch of {size_bytes} bytes is cut off after {len(content)}")
    fields = content[: _BATCH.size]
    (_, kind, count, number, offset, headers_raw, headers_stored, bodies_raw, bodies_stored, previous, hash_,
     bodies_check) = _BATCH.unpack(fields)  # fmt: skip
    bodies_at = BATCH_HEADER_BYTES + headers_stored
    stored_headers = content[BATCH_HEADER_BYTES:bodies_at]
    stored_bodies = content[bodies_at : bodies_at + bodies_stored]
    if blake3(fields + stored_headers, key=key).digest() != content[_BATCH.size : BATCH_HEADER_BYTES]:
        raise BadBatch("the batch's headers do not match their check")
    if offset != offset_bytes:
        raise BadBatch(f"batch {number} was written for byte {offset}", authentic=True)
    if blake3(stored_bodies, key=key).digest() != bodies_check:
        raise BadBatch(f"the bodies of batch {number} do not match their check")
    if not is_zero(content[bodies_at + bodies_stored : size_bytes]):
        raise BadBatch(f"what follows batch {number} in its last sector has changed")
    return RawBatch(
        kind,
        count,
        number,
        previous,
        hash_,
        _expand(stored_headers, headers_raw),
        _expand(stored_bodies, bodies_raw),
        size_bytes,
    )


def _expand(stored: bytes, raw_bytes: int) -> bytes:
    if len(stored) == raw_bytes:
        return stored
    return _DECOMPRESS.decompress(stored, max_output_size=raw_bytes)


def _pack(batch: Batch) -> tuple[bytes, bytes]:
    """Headers as columns, without those hashes of predecessors that the batch itself tells; bodies joined."""
    header_sizes, holes, body_sizes, headers, bodies = [], [], [], [], []
    last_hash: dict[str, bytes] = {}
    for entry, hash_ in zip(batch.entries, batch.record_hashes, strict=True):
        header, previous = entry.header, last_hash.get(entry.world)
        header_sizes.append(len(header))
        hole = header.find(previous) if previous is not None else -1
        if previous is not None and hole >= 0:
            header = header[:hole] + header[hole + len(previous) :]
        holes.append(hole if hole >= 0 else _ABSENT)
        headers.append(header)
        last_hash[entry.world] = hash_.hex().encode()
        body_sizes.append(_ABSENT if entry.body is None else len(entry.body))
        bodies.append(entry.body or b"")
    count = len(headers)
    sizes = struct.pack(f"<{3 * count}I", *header_sizes, *holes, *body_sizes)
    return b"".join((batch.places, sizes, *headers)), b"".join(bodies)


def unpack_batch(raw: RawBatch) -> Batch:
    """The entries of an authentic batch. Raises BadBatch where its hash is not that of its records."""
    assert raw.kind == RECORDS
    count, headers = raw.records, raw.headers
    worlds, at = _unpack_worlds(headers)
    world_indexes = struct.unpack_from(f"<{count}I", headers, at)
    seqs = struct.unpack_from(f"<{count}Q", headers, at + 4 * count)
    at += 12 * count
    places = headers[:at]
    sizes = struct.unpack_from(f"<{3 * count}I", headers, at)
    at, body_at = at + 12 * count, 0
    entries, hashes = [], []
    last_hash: dict[str, bytes] = {}
    for i in range(count):
        world, size, hole, body_size = (
            worlds[world_indexes[i]],
            sizes[i],
            sizes[count + i],
            sizes[2 * count + i],
        )
        if hole == _ABSENT:
            header = headers[at : at + size]
            at += size
        else:
            previous = last_hash[world]
            stored_end = at + size - len(previous)
            header = headers[at : at + hole] + previous + headers[at + hole : stored_end]
            at = stored_end
        body = None
        if body_size != _ABSENT:
            body = raw.bodies[body_at : body_at + body_size]
            body_at += body_size
        hash_ = record_hash(header)
        last_hash[world] = hash_.hex().encode()
        entries.append(LogEntry(world, seqs[i], header, body))
        hashes.append(hash_)
    if _chain_hash(raw.number, raw.previous, places, hashes) != raw.hash:
        raise BadBatch(f"batch {raw.number} does not hash to what it says", authentic=True)
    return Batch(raw.number, raw.previous, raw.hash, places, entries, hashes)


def _unpack_worlds(headers: bytes) -> tuple[list[str], int]:
    worlds, at = [], 4
    for _ in range(int.from_bytes(headers[:4], "little")):
        size = int.from_bytes(headers[at : at + 2], "little")
        worlds.append(headers[at + 2 : at + 2 + size].decode())
        at += 2 + size
    return worlds, at
