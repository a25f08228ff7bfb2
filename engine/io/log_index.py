"""Where things are in one segment: the place and hash of each batch, which batches hold a world's records.

Kept in memory; for segments that ended it is also kept in a file beside the segment, a cache that is checked, and
built anew from the segment when it is missing or does not match.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right

import msgspec
from blake3 import blake3

from engine.io.log_format import HASH_BYTES, LAYOUT, Batch, SegmentHeader
from engine.limits import SECTOR_BYTES

_SIDECAR = (
    f"flickworld log index 1 {sys.byteorder} {array('Q').itemsize}{array('I').itemsize} ".encode() + LAYOUT
)


class WorldPart:
    """A world's records in one segment: the batches that hold them, each with its first sequence there."""

    __slots__ = ("first_seqs", "last_hash", "last_seq", "positions")

    def __init__(self) -> None:
        self.first_seqs = array("Q")
        self.positions = array("I")
        self.last_seq = -1
        self.last_hash = b""


class SegmentIndex:
    """Positions count the batches of the segment from 0."""

    __slots__ = ("batch_before", "end_bytes", "hashes", "offsets", "worlds")

    def __init__(self, batch_before: int) -> None:
        self.batch_before = batch_before
        self.end_bytes = SECTOR_BYTES
        self.offsets = array("Q")
        self.hashes = bytearray()
        self.worlds: dict[str, WorldPart] = {}

    @property
    def count(self) -> int:
        return len(self.offsets)

    @property
    def last_batch(self) -> int:
        return self.batch_before + len(self.offsets)

    def add(self, batch: Batch, size_bytes: int) -> None:
        """Take in the batch at the end. Its offset goes in last: readers beside this see whole batches."""
        assert batch.number == self.last_batch + 1, "batches are numbered without gaps"
        position, worlds = len(self.offsets), self.worlds
        for entry, hash_ in zip(batch.entries, batch.record_hashes, strict=True):
            part = worlds.get(entry.world)
            if part is None:
                part = worlds[entry.world] = WorldPart()
            if not part.positions or part.positions[-1] != position:
                part.first_seqs.append(entry.seq)
                part.positions.append(position)
            part.last_seq, part.last_hash = entry.seq, hash_
        self.hashes += batch.hash
        self.end_bytes += size_bytes
        self.offsets.append(self.end_bytes - size_bytes)

    def hash_at(self, position: int) -> bytes:
        return bytes(self.hashes[position * HASH_BYTES : (position + 1) * HASH_BYTES])

    def span(self, position: int) -> tuple[int, int]:
        """The offset and size of a batch, bytes."""
        offset = self.offsets[position]
        end = self.offsets[position + 1] if position + 1 < len(self.offsets) else self.end_bytes
        return offset, end - offset

    def positions_from(self, world: str, from_seq: int) -> array[int]:
        """The batches that hold the world's records from a sequence on, in order."""
        part = self.worlds.get(world)
        if part is None or part.last_seq < from_seq:
            return array("I")
        return part.positions[max(0, bisect_right(part.first_seqs, from_seq) - 1) :]


class _Sidecar(msgspec.Struct, array_like=True):
    key: bytes
    batch_before: int
    end_bytes: int
    offsets: bytes
    hashes: bytes
    worlds: list[tuple[str, int, bytes, bytes, bytes]]


def encode_index(index: SegmentIndex, header: SegmentHeader) -> bytes:
    """The content of the file beside a segment that ended."""
    worlds = [
        (name, part.last_seq, part.last_hash, part.first_seqs.tobytes(), part.positions.tobytes())
        for name, part in index.worlds.items()
    ]
    sidecar = _Sidecar(
        header.key, index.batch_before, index.end_bytes, index.offsets.tobytes(), bytes(index.hashes), worlds
    )
    content = _SIDECAR + msgspec.msgpack.encode(sidecar)
    return content + blake3(content).digest()


def decode_index(content: bytes, header: SegmentHeader) -> SegmentIndex | None:
    """The index; None where it belongs to another state of the segment. Raises ValueError where damaged."""
    body, check = content[:-HASH_BYTES], content[-HASH_BYTES:]
    if blake3(body).digest() != check:
        raise ValueError("the index does not match its check")
    if not body.startswith(_SIDECAR):
        return None
    sidecar = msgspec.msgpack.decode(body[len(_SIDECAR) :], type=_Sidecar)
    if (sidecar.key, sidecar.batch_before) != (header.key, header.batch_before):
        return None
    index = SegmentIndex(sidecar.batch_before)
    index.end_bytes = sidecar.end_bytes
    index.offsets.frombytes(sidecar.offsets)
    index.hashes += sidecar.hashes
    for name, last_seq, last_hash, first_seqs, positions in sidecar.worlds:
        part = index.worlds[name] = WorldPart()
        part.last_seq, part.last_hash = last_seq, last_hash
        part.first_seqs.frombytes(first_seqs)
        part.positions.frombytes(positions)
    return index
