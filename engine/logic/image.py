"""Heap images: the immutable states of a world's heap, as a shared base and the pages that differ from it.

An image *is* its `size_bytes` of linear memory and its `HeapMeta`; how it is kept is not part of it. Many
heads share one base (the heap after the prelude, or a large ancestor) and hold only their own pages of 4
KiB. Beyond the base's size every byte is zero unless a page says otherwise.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import count

import msgspec
from blake3 import blake3

from engine import limits
from engine.limits import PAGE_BYTES, WASM_PAGE_BYTES

ROOT_FORMAT = b"heap image 1\0"
NUMBER_BYTES = 4
_serials = count(1)
_META_LAYOUT = struct.Struct("<6I")


class HeapMeta(msgspec.Struct, frozen=True, order=True):
    """What a VM must know of a heap besides its bytes: addresses inside the linear memory, found at boot.

    `entry_ptr`, `raise_ptr`, `undefined_ptr` are value handles; `scratch_ptr` is 16 bytes of the VM's own;
    `random_ptr` is the 8-byte state of `Math.random`. `stack_ptr` is `__stack_pointer` between two jobs.
    """

    stack_ptr: int
    entry_ptr: int
    raise_ptr: int
    undefined_ptr: int
    scratch_ptr: int
    random_ptr: int

    def to_bytes(self) -> bytes:
        """24 bytes, little-endian, the fields in their order."""
        return _META_LAYOUT.pack(*msgspec.structs.astuple(self))

    @classmethod
    def from_bytes(cls, packed: bytes) -> HeapMeta:
        """Invert `to_bytes`. Raises ValueError when the length is another."""
        if len(packed) != _META_LAYOUT.size:
            raise ValueError(f"heap meta: {len(packed)} bytes, expected {_META_LAYOUT.size}")
        return cls(*_META_LAYOUT.unpack(packed))


class Base:
    """Immutable memory that images share; the C path keeps its mapping of the same bytes in `native`."""

    __slots__ = ("_content", "native", "serial", "size_bytes")

    def __init__(self, content: bytes | memoryview, native: object | None = None) -> None:
        assert len(content) % WASM_PAGE_BYTES == 0, "a heap is whole wasm pages"
        self._content = content
        self.size_bytes = len(content)
        self.native = native
        self.serial = next(_serials)  # tells bases apart, never the same twice

    def adopt(self, content: memoryview, native: object) -> None:
        """Keep the same bytes in a native mapping instead; `content` lives as long as `native`."""
        assert len(content) == self.size_bytes, "a base does not change"
        self.native = native
        self._content = content

    @property
    def content(self) -> bytes | memoryview:
        """All of it, without a copy: to be read, never written."""
        return self._content

    def to_bytes(self) -> bytes:
        return bytes(self._content)

    def read(self, start: int, size_bytes: int) -> bytes:
        """The bytes there; zeros past the end."""
        return bytes(self._content[start : start + size_bytes]).ljust(size_bytes, b"\0")

    def page(self, number: int) -> bytes:
        return self.read(number * PAGE_BYTES, PAGE_BYTES)


class HeapImage:
    """One immutable heap. Make it with `from_bytes` or `from_parent`; equal content has the equal `root`."""

    __slots__ = ("_root", "base", "meta", "numbers", "pages", "size_bytes")

    def __init__(
        self, base: Base, meta: HeapMeta, size_bytes: int, *, numbers: bytes = b"", pages: bytes = b""
    ) -> None:
        """`numbers` are the pages' numbers, ascending, 4 bytes each; `pages` their content, 4096 bytes each."""
        assert size_bytes % WASM_PAGE_BYTES == 0 and size_bytes >= base.size_bytes, "heaps only grow"
        assert len(numbers) * PAGE_BYTES == len(pages) * NUMBER_BYTES, "a page number for each page"
        self.base = base
        self.meta = meta
        self.size_bytes = size_bytes
        self.numbers = numbers
        self.pages = pages
        self._root: str | None = None

    @classmethod
    def from_bytes(cls, memory: bytes, meta: HeapMeta) -> HeapImage:
        """An image on a base of its own. `memory` is the whole linear memory."""
        return cls(Base(memory), meta, len(memory))

    @classmethod
    def from_parent(
        cls, parent: HeapImage, changed_pages: Mapping[int, bytes], size_bytes: int, meta: HeapMeta
    ) -> HeapImage:
        """`parent` with `changed_pages` (number: 4096 bytes) replaced, grown with zeros to `size_bytes`."""
        base = parent.base
        merged = {**parent.page_map(), **changed_pages}
        assert all(0 <= n < size_bytes // PAGE_BYTES for n in merged), "pages lie inside the heap"
        own = [(n, merged[n]) for n in sorted(merged) if merged[n] != base.page(n)]
        numbers, pages = pack_numbers([n for n, _ in own]), b"".join(page for _, page in own)
        image = cls(base, meta, size_bytes, numbers=numbers, pages=pages)
        return image if len(own) <= limits.HEAP_DELTA_PAGES_MAX else cls.from_bytes(image.to_bytes(), meta)

    @property
    def root(self) -> str:
        """The identity: BLAKE3, 64 hex digits, of meta, size and memory."""
        if self._root is None:
            head = ROOT_FORMAT + self.meta.to_bytes() + struct.pack("<Q", self.size_bytes)
            hasher = blake3(head)
            for piece in self._pieces():
                hasher.update(piece)
            self._root = hasher.hexdigest()
        return self._root

    @property
    def page_numbers(self) -> tuple[int, ...]:
        """Ascending numbers of the image's own pages: those that may differ from the base."""
        return unpack_numbers(self.numbers)

    def to_bytes(self) -> bytes:
        """The whole linear memory, `size_bytes` long."""
        if not self.pages and self.size_bytes == self.base.size_bytes:
            return self.base.to_bytes()
        return b"".join(self._pieces())

    def read_pages(self, numbers: Iterable[int]) -> list[bytes]:
        """The 4096 bytes of each of these pages; zeros past the end of the heap."""
        own, base = self.page_map(), self.base
        return [own.get(number) or base.page(number) for number in numbers]

    def page(self, number: int) -> bytes:
        """The 4096 bytes of one page; zeros past the end of the heap."""
        numbers = self.page_numbers
        index = bisect_left(numbers, number)
        if index < len(numbers) and numbers[index] == number:
            return self._own_page(index)
        return self.base.page(number)

    def page_map(self) -> dict[int, bytes]:
        """The image's own pages, by number."""
        return {number: self._own_page(index) for index, number in enumerate(self.page_numbers)}

    def pages_differing(self, parent: HeapImage) -> list[int]:
        """Ascending numbers of the pages whose bytes are not those of `parent` (absent ones are zero)."""
        if self.base is not parent.base:
            return differing_pages(self.to_bytes(), parent)
        ours, theirs, base = self.page_map(), parent.page_map(), self.base
        return [
            number
            for number in sorted({**ours, **theirs})
            if number * PAGE_BYTES < self.size_bytes
            and (ours.get(number) or base.page(number)) != (theirs.get(number) or base.page(number))
        ]

    def _pieces(self) -> Iterator[memoryview]:
        """The whole linear memory in pieces, without a copy: the base's, between the image's own."""
        base, base_bytes, at = memoryview(self.base.content), self.base.size_bytes, 0
        pages = memoryview(self.pages)
        ends = [number * PAGE_BYTES for number in self.page_numbers]
        for index, end in enumerate([*ends, self.size_bytes]):
            if at < min(end, base_bytes):
                yield base[at : min(end, base_bytes)]
            if (zeros := end - max(at, base_bytes)) > 0:
                yield memoryview(bytes(zeros))
            if index < len(ends):
                yield pages[index * PAGE_BYTES : (index + 1) * PAGE_BYTES]
            at = end + PAGE_BYTES

    def _own_page(self, index: int) -> bytes:
        return self.pages[index * PAGE_BYTES : (index + 1) * PAGE_BYTES]


def pack_numbers(numbers: list[int]) -> bytes:
    """Page numbers as an image holds them."""
    return struct.pack(f"<{len(numbers)}I", *numbers)


def unpack_numbers(packed: bytes) -> tuple[int, ...]:
    """Invert `pack_numbers`."""
    return struct.unpack(f"<{len(packed) // NUMBER_BYTES}I", packed)


def differing_pages(memory: bytes, before: Base | HeapImage) -> list[int]:
    """Ascending numbers of the pages of `memory` that differ from `before`, which is zero past its end."""
    numbers: list[int] = []
    theirs = before.to_bytes()
    for start in range(0, len(memory), WASM_PAGE_BYTES):
        ours_part = memory[start : start + WASM_PAGE_BYTES]
        their_part = theirs[start : start + WASM_PAGE_BYTES] or bytes(WASM_PAGE_BYTES)
        if ours_part == their_part:
            continue
        first = start // PAGE_BYTES
        numbers.extend(
            first + at // PAGE_BYTES
            for at in range(0, WASM_PAGE_BYTES, PAGE_BYTES)
            if ours_part[at : at + PAGE_BYTES] != their_part[at : at + PAGE_BYTES]
        )
    return numbers
