"""A recording's bytes: a magic and a version, then chunks, each checked with all that came before it.

    magic 8 | version u16 | chunk ...
    chunk: tag u8 | method u8 | packed bytes u32 | plain bytes u32 | check 32 | packed

A check is the BLAKE3 of the check before it (the first one: of magic and version), the chunk's own first ten bytes
and what is packed. So a chunk that was changed, left out, doubled or moved is found where it is, and the check of the
last chunk, which is an end mark, is over the whole file: what was cut off is told from what is whole.

The tags and their order: one manifest (JSON, not packed: any pager shows it), then the blobs by name, each in pieces
of which the last says so, then the records in their order, then the end mark. A chunk's sizes are bounded, so reading
needs bounded memory whatever a file says of itself.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, Protocol

import zstandard
from blake3 import blake3

from engine.limits import RECORDING_BLOB_PIECE_BYTES, RECORDING_CHUNK_BYTES_MAX, RECORDING_MANIFEST_BYTES_MAX

MAGIC = b"flkrec\r\n"
VERSION = 1
MANIFEST, PIECE, BLOB, RECORDS, END = 1, 2, 3, 4, 5
PLAIN, ZSTD = 0, 1
_TAGS = {MANIFEST: "manifest", PIECE: "blob piece", BLOB: "blob", RECORDS: "records", END: "end mark"}
_PLAIN_BYTES_MAX = {
    MANIFEST: RECORDING_MANIFEST_BYTES_MAX,
    PIECE: RECORDING_BLOB_PIECE_BYTES,
    BLOB: RECORDING_BLOB_PIECE_BYTES,
    RECORDS: RECORDING_CHUNK_BYTES_MAX,
    END: RECORDING_MANIFEST_BYTES_MAX,
}
_START = struct.Struct("<8sH")
_HEAD = struct.Struct("<BBII")
_CHECK_BYTES = 32
_READ_BYTES = 1 << 20
_COMPRESSION_LEVEL = 3


class RecordingRefused(Exception):
    """What cannot be read as a recording, or not be made one: what, at which byte, what to do. Nothing was done.

    `reason` ends with the `advice`, if there is one of its own; `what` is without it.
    """

    def __init__(self, what: str, *, offset_bytes: int | None = None, advice: str | None = None) -> None:
        self.what = what
        self.advice = advice
        self.reason = what if advice is None else f"{what}. {advice}"
        self.offset_bytes = offset_bytes
        super().__init__(self.reason if offset_bytes is None else f"at byte {offset_bytes}: {self.reason}")


class Source(Protocol):
    """What a recording is read from; a file opened for bytes is one."""

    def read(self, count: int, /) -> bytes:
        """At most `count` bytes; none at the end."""
        ...


class Chunk(NamedTuple):
    """One chunk as it was read; `offset_bytes` is where it begins."""

    tag: int
    method: int
    content: bytes
    offset_bytes: int


class ChunkWriter:
    """Makes the bytes of a recording, one chunk after the other."""

    def __init__(self) -> None:
        self.start = _START.pack(MAGIC, VERSION)
        self._check = blake3(self.start).digest()

    def chunk(self, tag: int, content: bytes, *, method: int = ZSTD) -> bytes:
        assert len(content) <= _PLAIN_BYTES_MAX[tag], "chunks are bounded"
        packed = content
        if method == ZSTD:
            packed = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL).compress(content)
        head = _HEAD.pack(tag, method, len(packed), len(content))
        self._check = blake3(self._check + head + packed).digest()
        return head + self._check + packed


class ChunkReader:
    """Reads chunks, and refuses everything that a ChunkWriter does not make."""

    def __init__(self, source: Source) -> None:
        """Raises RecordingRefused for another kind of file or another version; both are named."""
        self._source = source
        self.offset_bytes = 0
        start = self._read(_START.size)
        if start[: len(MAGIC)] != MAGIC[: len(start)] or not start:
            begins = f"it begins with {_shown(start[: len(MAGIC)])}" if start else "it is empty"
            raise RecordingRefused(
                f"it is no recording: {begins}; a recording begins with {_shown(MAGIC)}",
                offset_bytes=0,
                advice="`pw export` makes one",
            )
        if len(start) < _START.size:
            raise self._cut()
        version = _START.unpack(start)[1]
        if version != VERSION:
            raise RecordingRefused(
                f"it has recording format {version}; this version reads format {VERSION}",
                offset_bytes=len(MAGIC),
                advice="Read it with the version that wrote it",
            )
        self._check = blake3(start).digest()

    def chunk(self) -> Chunk:
        """The next chunk. Raises RecordingRefused."""
        at = self.offset_bytes
        head = self._exactly(_HEAD.size)
        tag, method, packed_bytes, plain_bytes = _HEAD.unpack(head)
        if tag not in _TAGS or method not in (PLAIN, ZSTD):
            raise RecordingRefused(
                f"a chunk of kind {tag}, packed by method {method}, is none", offset_bytes=at
            )
        bytes_max = _PLAIN_BYTES_MAX[tag]
        if plain_bytes > bytes_max or packed_bytes > _packed_bytes_max(bytes_max):
            raise RecordingRefused(
                f"a chunk of kind {_TAGS[tag]} says that it has {plain_bytes} bytes, packed {packed_bytes}; "
                f"at most {bytes_max} are allowed",
                offset_bytes=at,
            )
        check = self._exactly(_CHECK_BYTES)
        packed = self._exactly(packed_bytes)
        self._check = blake3(self._check + head + packed).digest()
        if self._check != check:
            raise RecordingRefused(
                f"the {_TAGS[tag]} is not as it was written, or not where it was: the file is damaged",
                offset_bytes=at,
            )
        content = packed if method == PLAIN else _unpacked(packed, plain_bytes, at)
        if len(content) != plain_bytes:
            raise RecordingRefused(f"the {_TAGS[tag]} is not as long as it says", offset_bytes=at)
        return Chunk(tag, method, content, at)

    def finish(self) -> None:
        """Nothing may follow the end mark. Raises RecordingRefused."""
        at = self.offset_bytes
        if self._read(1):
            raise RecordingRefused("bytes follow the end mark", offset_bytes=at)

    def _exactly(self, count: int) -> bytes:
        content = self._read(count)
        if len(content) < count:
            raise self._cut()
        return content

    def _read(self, count: int) -> bytes:
        parts = []
        while count and (part := self._source.read(min(count, _READ_BYTES))):
            parts.append(part)
            count -= len(part)
            self.offset_bytes += len(part)
        return b"".join(parts)

    def _cut(self) -> RecordingRefused:
        return RecordingRefused("it ends before its end mark: it was cut off", offset_bytes=self.offset_bytes)


def name_of(tag: int) -> str:
    """What a chunk's tag stands for."""
    return _TAGS[tag]


def _packed_bytes_max(plain_bytes_max: int) -> int:
    """What compressing makes of bytes that do not compress."""
    return plain_bytes_max + plain_bytes_max // 128 + 1024


def _unpacked(packed: bytes, plain_bytes: int, at: int) -> bytes:
    """Never more than `plain_bytes`, whatever the packed bytes say of themselves."""
    try:
        if zstandard.frame_content_size(packed) != plain_bytes:
            raise RecordingRefused("a chunk's two lengths contradict each other", offset_bytes=at)
        return zstandard.ZstdDecompressor().decompress(
            packed, max_output_size=plain_bytes, allow_extra_data=False
        )
    except zstandard.ZstdError as error:
        raise RecordingRefused(f"a chunk does not decompress ({error})", offset_bytes=at) from None


def _shown(start: bytes) -> str:
    """Bytes for people: as text if they are one, else in hexadecimal."""
    text = start.rstrip(b"\r\n").decode("ascii", "replace")
    return f'"{text}"' if text.isascii() and text.isprintable() else f"the bytes {start.hex(' ')}"
