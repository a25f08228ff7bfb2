"""Waiting operations: what is kept of one while another world works out an answer. No VM is held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import zstandard

from engine.limits import PAGE_BYTES
from engine.logic.call_host import Journal
from engine.logic.image import NUMBER_BYTES, HeapImage, pack_numbers, unpack_numbers
from engine.logic.jobs import Ask
from engine.logic.source import Program

_COMPRESSION_LEVEL = 1


class HeapDelta(NamedTuple):
    """A heap as its pages that differ from those of the heap with root `parent`.

    `packed` is zstd of the ascending page numbers, u32 little-endian each, and the XOR of the pages with the parent's.
    """

    parent: str
    size_bytes: int
    packed: bytes

    @classmethod
    def between(cls, parent: HeapImage, image: HeapImage) -> HeapDelta:
        assert image.meta == parent.meta, "an operation runs with the entry of the heap that it began on"
        numbers = image.pages_differing(parent)
        content = pack_numbers(numbers) + _xor(
            b"".join(image.page(n) for n in numbers), b"".join(parent.page(n) for n in numbers)
        )
        packed = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL).compress(content)
        return cls(parent.root, image.size_bytes, packed)

    def on(self, parent: HeapImage) -> HeapImage:
        """The heap itself."""
        assert parent.root == self.parent, "an operation goes on from the heap that it began on"
        content = zstandard.ZstdDecompressor().decompress(self.packed)
        count = len(content) // (NUMBER_BYTES + PAGE_BYTES)
        numbers = unpack_numbers(content[: count * NUMBER_BYTES])
        pages = _xor(content[count * NUMBER_BYTES :], b"".join(parent.page(n) for n in numbers))
        changed = {n: pages[at * PAGE_BYTES : (at + 1) * PAGE_BYTES] for at, n in enumerate(numbers)}
        return HeapImage.from_parent(parent, changed, self.size_bytes, parent.meta)


@dataclass(frozen=True, kw_only=True, slots=True)
class Park:
    """A waiting operation: enough to go on from here, as often as one likes, on any VM of its size."""

    heap: HeapDelta
    journal: Journal
    flick: int
    fuel_used: int
    fuel_max: int
    program: Program | None

    @property
    def size_bytes(self) -> int:
        """What its heap takes here."""
        return len(self.heap.packed)


@dataclass(frozen=True, slots=True)
class Waiting:
    """An operation that cannot go on before another world answers. `asks` are new since it last waited."""

    asks: tuple[Ask, ...]
    park: Park


def _xor(some: bytes, others: bytes) -> bytes:
    return (np.frombuffer(some, dtype=np.uint64) ^ np.frombuffer(others, dtype=np.uint64)).tobytes()
