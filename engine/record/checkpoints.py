"""The data of a world as one blob, which a checkpoint names beside its digest.

Layout, little-endian: magic 8 | version u16 | rows u32 | plain bytes u64 | zstd(rows: key bytes u32, value
bytes u32, key, value). Rows ascend by code point, so equal data give equal bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import pairwise

import zstandard

from engine.limits import DATA_KEY_BYTES_MAX, DATA_VALUE_BYTES_MAX
from engine.record.lthash import LtHash

MAGIC = b"flkdata\n"
VERSION = 1
_HEAD = struct.Struct("<8sHIQ")
_ROW = struct.Struct("<II")
_COMPRESSION_LEVEL = 3
_UNPACKED_AT_ONCE_BYTES = 256  # what is packed best is some 32 kilobytes a byte
_OTHER_ROWS = "its rows are not those that its head counts, in order. Run: pw doctor"


class DataBlobRefused(Exception):
    """A blob that is no data of this version: which, why, what to do."""

    def __init__(self, blob: str, reason: str) -> None:
        super().__init__(f"data blob {blob}: {reason}")
        self.blob = blob
        self.reason = reason


def encode_data(rows: Iterable[tuple[str, bytes]]) -> tuple[bytes, str, int]:
    """The blob, the digest (64 hex digits) and the number of `rows`: (key, JSON text) in any order."""
    packed = sorted((key.encode("utf-8", "surrogatepass"), value) for key, value in rows)
    digest = LtHash((key.decode("utf-8", "surrogatepass"), value) for key, value in packed).digest()
    plain = b"".join(_ROW.pack(len(key), len(value)) + key + value for key, value in packed)
    compressed = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL).compress(plain)
    return _HEAD.pack(MAGIC, VERSION, len(packed), len(plain)) + compressed, digest, len(packed)


def decode_data(blob: str, content: bytes) -> list[tuple[str, bytes]]:
    """The rows, ascending by code point. Raises DataBlobRefused."""
    count, plain_bytes, packed = _opened(blob, content)
    try:
        plain = zstandard.ZstdDecompressor().decompress(
            packed, max_output_size=plain_bytes, allow_extra_data=False
        )
        rows = _split(plain)
    except (zstandard.ZstdError, struct.error, UnicodeDecodeError) as error:
        raise DataBlobRefused(blob, f"it does not decode ({error}). Run: pw doctor") from None
    if len(rows) != count or any(low >= high for (low, _), (high, _) in pairwise(rows)):
        raise DataBlobRefused(blob, _OTHER_ROWS)
    return rows


def check_data(blob: str, content: bytes) -> None:
    """Whether `decode_data` would give the rows of a world's data, holding one at a time: for what somebody else made.

    Raises DataBlobRefused.
    """
    count, plain_bytes, packed = _opened(blob, content)
    seen, before, left_bytes = 0, b"", plain_bytes
    unpacking = _Unpacking(packed)
    try:
        while left_bytes:
            key_bytes, value_bytes = _ROW.unpack(unpacking.exactly(_ROW.size))
            left_bytes -= _ROW.size + key_bytes + value_bytes
            if key_bytes > DATA_KEY_BYTES_MAX or value_bytes > DATA_VALUE_BYTES_MAX or left_bytes < 0:
                raise DataBlobRefused(blob, _OTHER_ROWS)
            key = unpacking.exactly(key_bytes)
            key.decode("utf-8", "surrogatepass")
            unpacking.exactly(value_bytes)
            if seen and key <= before:
                raise DataBlobRefused(blob, _OTHER_ROWS)
            seen, before = seen + 1, key
        if seen != count or not unpacking.is_at_end():
            raise DataBlobRefused(blob, _OTHER_ROWS)
    except (zstandard.ZstdError, struct.error, UnicodeDecodeError) as error:
        raise DataBlobRefused(blob, f"it does not decode ({error}). Run: pw doctor") from None


class _Unpacking:
    """One zstd frame, unpacked a little at a time, however much it unpacks to."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed
        self._at = 0
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._plain = bytearray()

    def exactly(self, count: int) -> bytes:
        while len(self._plain) < count and self._unpack_more():
            pass
        if len(self._plain) < count:
            raise struct.error("a row ends past the blob")
        content = bytes(self._plain[:count])
        del self._plain[:count]
        return content

    def is_at_end(self) -> bool:
        """Nothing is left, and nothing follows the frame."""
        while not self._plain and self._unpack_more():
            pass
        return self._frame.eof and not (
            self._plain or self._frame.unused_data or self._at < len(self._packed)
        )

    def _unpack_more(self) -> bool:
        if self._frame.eof or self._at == len(self._packed):
            return False
        self._plain += self._frame.decompress(self._packed[self._at : self._at + _UNPACKED_AT_ONCE_BYTES])
        self._at = min(len(self._packed), self._at + _UNPACKED_AT_ONCE_BYTES)
        return True


def _opened(blob: str, content: bytes) -> tuple[int, int, bytes]:
    """Rows, plain bytes and what is packed, as the head says. Raises DataBlobRefused."""
    if len(content) < _HEAD.size or content[: len(MAGIC)] != MAGIC:
        raise DataBlobRefused(blob, "it is no data (magic missing); the record names a foreign blob")
    _, version, count, plain_bytes = _HEAD.unpack_from(content)
    if version != VERSION:
        raise DataBlobRefused(
            blob,
            f"it has data format {version}; this version reads {VERSION}. "
            "Open the directory with the version that wrote it",
        )
    packed = content[_HEAD.size :]
    try:
        if zstandard.frame_content_size(packed) != plain_bytes:
            raise DataBlobRefused(blob, "its length is not what its head says. Run: pw doctor")
    except zstandard.ZstdError as error:
        raise DataBlobRefused(blob, f"it does not decode ({error}). Run: pw doctor") from None
    return count, plain_bytes, packed


def _split(plain: bytes) -> list[tuple[str, bytes]]:
    rows: list[tuple[str, bytes]] = []
    at = 0
    while at < len(plain):
        key_bytes, value_bytes = _ROW.unpack_from(plain, at)
        value_at = at + _ROW.size + key_bytes
        at_next = value_at + value_bytes
        if at_next > len(plain):
            raise struct.error("a row ends past the blob")
        key = plain[at + _ROW.size : value_at].decode("utf-8", "surrogatepass")
        rows.append((key, plain[value_at:at_next]))
        at = at_next
    return rows
