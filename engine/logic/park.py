"""Waiting operations: what is kept of one while another world works out an answer. No VM is held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import zstandard

from engine import limits
from engine.limits import PAGE_BYTES
from engine.logic.call_host import Journal
from engine.logic.image import HeapImage, pack_numbers, unpack_numbers
from engine.logic.jobs import Ask
from engine.logic.source import Program

_COMPRESSION_LEVEL = 1
_WORD = np.dtype(np.uint64)
_WORDS_A_PAGE = PAGE_BYTES // _WORD.itemsize


class HeapDelta(NamedTuple):
    """A heap as pages to XOR with those of the heap with root `parent`.

    `numbers` are the pages' numbers as an image holds them, `packed` is zstd of the pages.
    """

    parent: str
    size_bytes: int
    numbers: bytes
    packed: bytes

    @classmethod
    def between(cls, parent: HeapImage, image: HeapImage) -> HeapDelta:
        assert image.meta == parent.meta, "an operation runs with the entry of the heap that it began on"
        if image.base is parent.base:
            numbers = sorted({*image.page_numbers, *parent.page_numbers})
        else:
            numbers = sorted({*image.pages_differing(parent), *parent.page_numbers})
        changes = np.empty((len(numbers), _WORDS_A_PAGE), _WORD)  # the one large array: faults cost most here
        for change, after, before in zip(changes, _rows(image, numbers), _rows(parent, numbers), strict=True):
            np.bitwise_xor(after, before, out=change)
        packed = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL).compress(changes.data)
        # A copy, because zstandard's own bytes keep the room of the worst case: twenty times as much.
        return cls(parent.root, image.size_bytes, pack_numbers(numbers), bytes(memoryview(packed)))

    def on(self, parent: HeapImage) -> HeapImage:
        """The heap itself."""
        assert parent.root == self.parent, "an operation goes on from the heap that it began on"
        changes = _as_rows(zstandard.ZstdDecompressor().decompress(self.packed))
        before = _rows(parent, unpack_numbers(self.numbers))
        pages = b"".join((row ^ change).data for row, change in zip(before, changes, strict=True))
        image = HeapImage(parent.base, parent.meta, self.size_bytes, numbers=self.numbers, pages=pages)
        if len(changes) <= limits.HEAP_DELTA_PAGES_MAX:
            return image
        return HeapImage.from_bytes(image.to_bytes(), image.meta)


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
        return len(self.heap.packed) + len(self.heap.numbers)


@dataclass(frozen=True, slots=True)
class Waiting:
    """An operation that cannot go on before another world answers. `asks` are new since it last waited."""

    asks: tuple[Ask, ...]
    park: Park


def _rows(image: HeapImage, numbers: Sequence[int]) -> Iterator[np.ndarray]:
    """Some pages of an image as words; zeros past its end."""
    own = dict(zip(image.page_numbers, _as_rows(image.pages), strict=True))
    base = _as_rows(image.base.content)
    nothing = np.zeros(_WORDS_A_PAGE, _WORD)
    for number in numbers:
        row = own.get(number)
        if row is None:
            row = base[number] if number < len(base) else nothing
        yield row


def _as_rows(pages: bytes | memoryview) -> np.ndarray:
    return np.frombuffer(pages, _WORD).reshape(-1, _WORDS_A_PAGE)
