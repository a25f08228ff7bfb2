"""The data of a world as one blob, which a checkpoint names beside its digest.

Layout, little-endian: magic 8 | version u16 | rows u32 | plain bytes u64 | zstd(rows: key bytes u32, value
bytes u32, key, value). Rows ascend by code point, so equal data give equal bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import pairwise

import zstandard

from engine.record.lthash import LtHash

MAGIC = b"flkdata\n"
VERSION = 1
_HEAD = struct.Struct("<8sHIQ")
_ROW = struct.Struct("<II")
_COMPRESSION_LEVEL = 3


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


def decode_data(
    blob: str, content: bytes, *, plain_bytes_max: int | None = None
) -> list[tuple[str, bytes]]:
    """The rows, ascending by code point. Raises DataBlobRefused, also for what unpacks to more than allowed."""
    if len(content) < _HEAD.size or content[: len(MAGIC)] != MAGIC:
        raise DataBlobRefused(blob, "it is no data (magic missing); the record names a foreign blob")
    _, version, count, plain_bytes = _HEAD.unpack_from(content)
    if version != VERSION:
        raise DataBlobRefused(
            blob,
            f"it has data format {version}; this version reads {VERSION}. "
            "Open the directory with the version that wrote it",
        )
    if plain_bytes_max is not None and plain_bytes > plain_bytes_max:
        raise DataBlobRefused(blob, f"it unpacks to {plain_bytes} bytes; at most {plain_bytes_max} are allowed")
    packed = content[_HEAD.size :]
    try:
        if zstandard.frame_content_size(packed) != plain_bytes:
            raise DataBlobRefused(blob, "its length is not what its head says. Run: pw doctor")
        plain = zstandard.ZstdDecompressor().decompress(packed, allow_extra_data=False)
        rows = _split(plain)
    except (zstandard.ZstdError, struct.error, UnicodeDecodeError) as error:
        raise DataBlobRefused(blob, f"it does not decode ({error}). Run: pw doctor") from None
    if len(rows) != count or any(low >= high for (low, _), (high, _) in pairwise(rows)):
        raise DataBlobRefused(blob, "its rows are not those that its head counts, in order. Run: pw doctor")
    return rows


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
