"""Heap snapshots as blobs: a base with the whole memory, or the pages that differ from a parent's.

A small change of a heap touches many pages but few of their bytes, and moves some. So a delta holds zstd of
its pages with the parent's as the dictionary (half the size of their XOR), or zstd of the XOR where they are
too many for one window. A page past the parent's end has zeros for its parent's. A delta names its parent
blob, so a chain of them ends in a base; at most HEAP_DELTAS_PER_BASE_MAX deltas stand on one base. Layout,
little-endian:

    magic 8 | version u16 | method u8 | 0 u8 | depth u16 (0: a base) | meta bytes u16 | size_bytes u64
    parent 32 (zeros: none) | pages u32 | index bytes u32 | index | content

The index is zstd(meta, the step to each page from the one before, u32), the content zstd as said.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import zstandard

from engine.io.blobs import Blobs
from engine.limits import (
    HEAP_DELTAS_PER_BASE_MAX,
    HEAP_PATCH_PAGES_MAX,
    LINEAR_MEMORY_BYTES_MAX,
    PAGE_BYTES,
    WASM_PAGE_BYTES,
)

MAGIC = b"flkheap\n"
VERSION = 1
META_BYTES_MAX = 4096
_HEAD = struct.Struct("<8sHBBHHQ32sII")
_NO_PARENT = bytes(32)
_COMPRESSION_LEVEL = 3
_WHOLE, _XOR, _PATCH = 0, 1, 2


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
    """A blob as far as it can be read without its parent. `pages` are the numbers, ascending; `packed` is
    zstd.
    """

    blob: str
    method: int
    depth: int
    size_bytes: int
    parent: str | None
    meta: bytes
    pages: np.ndarray
    packed: bytes


def encode_base(memory: bytes | bytearray | memoryview, meta: bytes) -> bytes:
    """The blob of a whole heap. `memory` is whole wasm pages, at most LINEAR_MEMORY_BYTES_MAX."""
    packed = _compressor().compress(bytes(memory))
    return _encode(_WHOLE, depth=0, size_bytes=len(memory), parent=None, meta=meta, numbers=[], packed=packed)


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
    after = b"".join(page.after for page in pages)
    before = b"".join(page.before for page in pages)
    if 0 < len(pages) <= HEAP_PATCH_PAGES_MAX:
        method, packed = _PATCH, _compressor(before).compress(after)
    else:
        method, packed = _XOR, _compressor().compress(_xor(after, before))
    return _encode(
        method,
        depth=parent_depth + 1,
        size_bytes=size_bytes,
        parent=parent,
        meta=meta,
        numbers=numbers,
        packed=packed,
    )


def needs_base(parent_depth: int) -> bool:
    """Whether the heap after one of this depth must be stored whole."""
    return parent_depth >= HEAP_DELTAS_PER_BASE_MAX


def load(blobs: Blobs, blob: str, *, known: Mapping[str, bytes | memoryview] | None = None) -> Heap:
    """The heap that a blob and those below it describe. Raises BlobMissing, BlobRotten, HeapRefused.

    `known` are memories at hand by their blobs: a delta that stands on one of them reads no further.
    """
    known = known or {}
    chain = [_decode(blob, blobs.get(blob))]
    while (name := chain[-1].parent) is not None and name not in known:
        below = _decode(name, blobs.get(name))
        if below.depth != chain[-1].depth - 1 or below.size_bytes > chain[-1].size_bytes:
            raise HeapRefused(name, f"it does not fit below {blob}: a later delta expects another parent")
        chain.append(below)
    top, base = chain[0], known[name] if name is not None else _unpack(chain[-1], chain[-1].size_bytes)
    if len(base) > top.size_bytes:
        raise HeapRefused(blob, "it is smaller than what it stands on. Run: pw doctor")
    memory = bytearray(top.size_bytes)
    memory[: len(base)] = base
    view = np.frombuffer(memory, dtype=np.uint8).reshape(-1, PAGE_BYTES)
    for delta in reversed(chain if name is not None else chain[:-1]):
        before = view[delta.pages].tobytes()
        content = _unpack(delta, len(before), before if delta.method == _PATCH else b"")
        after = content if delta.method == _PATCH else _xor(content, before)
        view[delta.pages] = np.frombuffer(after, dtype=np.uint8).reshape(-1, PAGE_BYTES)
    return Heap(memory, top.meta, top.depth)


def depth_of(blob: str, content: bytes) -> int:
    """How many deltas this heap stands on; 0 for a base. Raises HeapRefused."""
    return _decode(blob, content).depth


def references(blob: str, content: bytes) -> list[str]:
    """The blobs that this heap cannot be loaded without. Raises HeapRefused."""
    parent = _decode(blob, content).parent
    return [] if parent is None else [parent]


def _encode(
    method: int,
    *,
    depth: int,
    size_bytes: int,
    parent: str | None,
    meta: bytes,
    numbers: list[int],
    packed: bytes,
) -> bytes:
    assert 0 < size_bytes <= LINEAR_MEMORY_BYTES_MAX and size_bytes % WASM_PAGE_BYTES == 0, "whole wasm pages"
    assert len(meta) <= META_BYTES_MAX, "meta is small"
    assert all(0 <= number < size_bytes // PAGE_BYTES for number in numbers), "pages lie inside the heap"
    steps = np.diff(np.array(numbers, dtype="<u4"), prepend=np.zeros(1, dtype="<u4"))
    index = _compressor().compress(meta + steps.tobytes())
    parent_name = bytes.fromhex(parent) if parent else _NO_PARENT
    head = _HEAD.pack(
        MAGIC, VERSION, method, 0, depth, len(meta), size_bytes, parent_name, len(numbers), len(index)
    )
    return head + index + packed


def _decode(blob: str, content: bytes) -> _Stored:
    if len(content) < _HEAD.size or content[: len(MAGIC)] != MAGIC:
        raise HeapRefused(blob, "it is no heap snapshot (magic missing); the record names a foreign blob")
    _, version, method, zero, depth, meta_bytes, size_bytes, parent, pages, index_bytes = _HEAD.unpack_from(
        content
    )
    if version != VERSION:
        raise HeapRefused(
            blob,
            f"it has heap format {version}; this version reads {VERSION}. "
            "Open the directory with the version that wrote it",
        )
    if not 0 < size_bytes <= LINEAR_MEMORY_BYTES_MAX or size_bytes % WASM_PAGE_BYTES:
        raise HeapRefused(
            blob, f"its size of {size_bytes} bytes is no heap's (at most {LINEAR_MEMORY_BYTES_MAX})"
        )
    is_base = depth == 0
    if (
        zero != 0
        or meta_bytes > META_BYTES_MAX
        or depth > HEAP_DELTAS_PER_BASE_MAX
        or method not in ((_WHOLE,) if is_base else (_XOR, _PATCH))
        or is_base != (parent == _NO_PARENT)
        or pages > (0 if is_base else size_bytes // PAGE_BYTES)
    ):
        raise HeapRefused(blob, "its head contradicts itself. Run: pw doctor")
    index = _decompress(blob, content[_HEAD.size : _HEAD.size + index_bytes], meta_bytes + 4 * pages)
    numbers = np.cumsum(np.frombuffer(index, dtype="<u4", offset=meta_bytes), dtype=np.uint64)
    if pages and (np.any(numbers[1:] <= numbers[:-1]) or numbers[-1] >= size_bytes // PAGE_BYTES):
        raise HeapRefused(blob, "its page numbers are out of order or outside the heap. Run: pw doctor")
    packed = content[_HEAD.size + index_bytes :]
    parent_name = None if is_base else parent.hex()
    return _Stored(blob, method, depth, size_bytes, parent_name, index[:meta_bytes], numbers, packed)


def _unpack(stored: _Stored, length_bytes: int, dictionary: bytes = b"") -> bytes:
    return _decompress(stored.blob, stored.packed, length_bytes, dictionary)


def _compressor(dictionary: bytes = b"") -> zstandard.ZstdCompressor:
    return zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL, dict_data=_dictionary(dictionary))


def _decompress(blob: str, packed: bytes, length_bytes: int, dictionary: bytes = b"") -> bytes:
    """Exactly `length_bytes`, and nothing after the frame. Raises HeapRefused."""
    try:
        if zstandard.frame_content_size(packed) != length_bytes:
            raise HeapRefused(blob, "its length is not what its head says. Run: pw doctor")
        return zstandard.ZstdDecompressor(dict_data=_dictionary(dictionary)).decompress(
            packed, max_output_size=length_bytes, allow_extra_data=False
        )
    except zstandard.ZstdError as error:
        raise HeapRefused(blob, f"it does not decompress ({error}). Run: pw doctor") from None


def _dictionary(content: bytes) -> zstandard.ZstdCompressionDict | None:
    raw = zstandard.DICT_TYPE_RAWCONTENT
    return zstandard.ZstdCompressionDict(content, dict_type=raw) if content else None


def _xor(left: bytes, right: bytes) -> bytes:
    return (np.frombuffer(left, dtype=np.uint8) ^ np.frombuffer(right, dtype=np.uint8)).tobytes()
