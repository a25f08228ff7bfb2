"""Heap snapshots as blobs: a base with the whole memory, or the pages that differ from a parent's.

A delta holds zstd of the XOR of its pages with the parent's, because a small change of a heap touches many
pages but few of their bytes. A page past the parent's end is XORed with zeros. A delta names its parent blob,
so a chain of them ends in a base; at most HEAP_DELTAS_PER_BASE_MAX deltas stand on one base. Layout,
little-endian:

    magic 8 | version u16 | depth u16 (0: a base) | meta bytes u32 | size_bytes u64 | parent 32 (zeros: none)
    pages u32 | zstd(meta, page numbers u32 each, content)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import zstandard

from engine.io.blobs import Blobs
from engine.limits import HEAP_BYTES_MAX, HEAP_DELTAS_PER_BASE_MAX, PAGE_BYTES, WASM_PAGE_BYTES

MAGIC = b"flkheap\n"
VERSION = 1
META_BYTES_MAX = 4096
_HEAD = struct.Struct("<8sHHIQ32sI")
_NO_PARENT = bytes(32)
_COMPRESSION_LEVEL = 3


class HeapRefused(Exception):
    """A blob that is no heap of this version, or a chain that does not fit: which, why, what to do."""

    def __init__(self, blob: str, reason: str) -> None:
        super().__init__(f"heap blob {blob}: {reason}")
        self.blob = blob
        self.reason = reason


class Page(NamedTuple):
    """One page of a delta: PAGE_BYTES each; `before` is the parent's, zeros where it has none."""

    number: int
    after: bytes
    before: bytes


class Heap(NamedTuple):
    """A loaded heap: the whole linear memory, the VM's own meta, and how many deltas its blob stands on."""

    memory: bytearray
    meta: bytes
    depth: int


class _Stored(NamedTuple):
    depth: int
    size_bytes: int
    parent: str | None
    meta: bytes
    page_numbers: np.ndarray
    content: memoryview


def encode_base(memory: bytes | bytearray | memoryview, meta: bytes) -> bytes:
    """The blob of a whole heap. `memory` is whole wasm pages, at most HEAP_BYTES_MAX."""
    return _encode(depth=0, size_bytes=len(memory), parent=None, meta=meta, numbers=[], content=bytes(memory))


def encode_delta(
    parent: str, *, parent_depth: int, size_bytes: int, meta: bytes, pages: Sequence[Page]
) -> bytes:
    """The blob of a heap of `size_bytes` that differs from blob `parent` in `pages`, numbers ascending.

    The caller asks `needs_base` first.
    """
    assert not needs_base(parent_depth), "a chain of deltas ends in a base before it is too long"
    numbers = [page.number for page in pages]
    assert numbers == sorted(set(numbers)), "each page once, ascending"
    assert all(len(page.after) == len(page.before) == PAGE_BYTES for page in pages), "whole pages"
    after = np.frombuffer(b"".join(page.after for page in pages), dtype=np.uint8)
    before = np.frombuffer(b"".join(page.before for page in pages), dtype=np.uint8)
    return _encode(
        depth=parent_depth + 1,
        size_bytes=size_bytes,
        parent=parent,
        meta=meta,
        numbers=numbers,
        content=(after ^ before).tobytes(),
    )


def needs_base(parent_depth: int) -> bool:
    """Whether the heap after one of this depth must be stored whole."""
    return parent_depth >= HEAP_DELTAS_PER_BASE_MAX


def load(blobs: Blobs, blob: str) -> Heap:
    """The heap that a blob and those below it describe. Raises BlobMissing, BlobRotten, HeapRefused."""
    chain = [_decode(blob, blobs.get(blob))]
    while chain[-1].parent is not None:
        below, name = _decode(chain[-1].parent, blobs.get(chain[-1].parent)), chain[-1].parent
        if below.depth != chain[-1].depth - 1 or below.size_bytes > chain[-1].size_bytes:
            raise HeapRefused(name, f"it does not fit below {blob}: a later delta expects another parent")
        chain.append(below)
    top = chain[0]
    memory = bytearray(top.size_bytes)
    memory[: chain[-1].size_bytes] = chain[-1].content
    pages = np.frombuffer(memory, dtype=np.uint8).reshape(-1, PAGE_BYTES)
    for delta in reversed(chain[:-1]):
        pages[delta.page_numbers] ^= np.frombuffer(delta.content, dtype=np.uint8).reshape(-1, PAGE_BYTES)
    return Heap(memory, top.meta, top.depth)


def depth_of(blob: str, content: bytes) -> int:
    """How many deltas this heap stands on; 0 for a base. Raises HeapRefused."""
    return _head(blob, content)[0]


def references(blob: str, content: bytes) -> list[str]:
    """The blobs that this heap cannot be loaded without. Raises HeapRefused."""
    parent = _head(blob, content)[3]
    return [] if parent is None else [parent]


def _encode(
    *, depth: int, size_bytes: int, parent: str | None, meta: bytes, numbers: list[int], content: bytes
) -> bytes:
    assert 0 < size_bytes <= HEAP_BYTES_MAX and size_bytes % WASM_PAGE_BYTES == 0, "whole wasm pages"
    assert len(meta) <= META_BYTES_MAX, "meta is small"
    assert all(0 <= number < size_bytes // PAGE_BYTES for number in numbers), "pages lie inside the heap"
    head = _HEAD.pack(
        MAGIC,
        VERSION,
        depth,
        len(meta),
        size_bytes,
        bytes.fromhex(parent) if parent else _NO_PARENT,
        len(numbers),
    )
    plain = b"".join((meta, np.array(numbers, dtype="<u4").tobytes(), content))
    return head + zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL, write_content_size=True).compress(plain)


def _head(blob: str, content: bytes) -> tuple[int, int, int, str | None, int]:
    """Depth, meta bytes, size bytes, parent, pages: checked as far as they go alone."""
    if len(content) < _HEAD.size or content[: len(MAGIC)] != MAGIC:
        raise HeapRefused(blob, "it is no heap snapshot (magic missing); the record names a foreign blob")
    _, version, depth, meta_bytes, size_bytes, parent, pages = _HEAD.unpack_from(content)
    if version != VERSION:
        raise HeapRefused(
            blob,
            f"it has heap format {version}; this version reads {VERSION}. "
            "Open the directory with the version that wrote it",
        )
    if not 0 < size_bytes <= HEAP_BYTES_MAX or size_bytes % WASM_PAGE_BYTES:
        raise HeapRefused(blob, f"its size of {size_bytes} bytes is no heap's (at most {HEAP_BYTES_MAX})")
    if (
        meta_bytes > META_BYTES_MAX
        or depth > HEAP_DELTAS_PER_BASE_MAX
        or (depth == 0) != (parent == _NO_PARENT)
        or pages > size_bytes // PAGE_BYTES
        or (depth == 0 and pages)
    ):
        raise HeapRefused(blob, "its head contradicts itself. Run: pw doctor")
    return depth, meta_bytes, size_bytes, parent.hex() if depth else None, pages


def _decode(blob: str, content: bytes) -> _Stored:
    depth, meta_bytes, size_bytes, parent, pages = _head(blob, content)
    numbers_end = meta_bytes + 4 * pages
    length = numbers_end + (pages * PAGE_BYTES if depth else size_bytes)
    packed = content[_HEAD.size :]
    try:
        if zstandard.frame_content_size(packed) != length:
            raise HeapRefused(blob, "its length is not what its head says. Run: pw doctor")
        plain = zstandard.ZstdDecompressor().decompress(
            packed, max_output_size=length, allow_extra_data=False
        )
    except zstandard.ZstdError as error:
        raise HeapRefused(blob, f"it does not decompress ({error}). Run: pw doctor") from None
    numbers = np.frombuffer(plain, dtype="<u4", count=pages, offset=meta_bytes)
    if pages and (np.any(numbers[1:] <= numbers[:-1]) or numbers[-1] >= size_bytes // PAGE_BYTES):
        raise HeapRefused(blob, "its page numbers are out of order or outside the heap. Run: pw doctor")
    return _Stored(depth, size_bytes, parent, plain[:meta_bytes], numbers, memoryview(plain)[numbers_end:])
