"""Heaps between the VM and the blobs: images by root, sharing the genesis heap as their base."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Sequence

from fastrlock.rlock import FastRLock

from engine import limits
from engine.io.blobs import BlobError, Blobs
from engine.limits import PAGE_BYTES
from engine.logic.image import HeapImage, HeapMeta
from engine.record import heaps
from engine.record.kinds import HeapRef


class HeapUnreadable(BlobError):
    """A stored heap, or one that it stands on, is missing, damaged or another than its record says.

    It concerns the worlds of that heap alone: the storage works.
    """

    def __init__(self, blob: str, reason: str) -> None:
        super().__init__(blob, reason)
        self.reason = reason

    def __str__(self) -> str:
        named = self.reason if self.blob in self.reason else f"blob {self.blob} {self.reason}"
        return f"the world's heap cannot be read: {named}"


class Images:
    """Called from any thread. Keeps the images used last, at most IMAGES_KEPT_BYTES_MAX of their own pages."""

    def __init__(self, blobs: Blobs, pins: Pins) -> None:
        self._blobs = blobs
        self._pins = pins
        self._lock = FastRLock()
        self._kept: OrderedDict[str, HeapImage] = OrderedDict()
        self._kept_bytes = 0
        self._depths: dict[str, int] = {}
        self._genesis: HeapImage | None = None
        self._genesis_ref: HeapRef | None = None
        self._genesis_memory: dict[str, bytes] = {}  # by its blob
        self._unreadable: dict[str, str] = {}  # by the blob asked for: what was said

    def begin(self, genesis: HeapImage) -> HeapRef:
        """Store the heap that new worlds begin with, and most share as their base. It stays pinned for good."""
        content = _whole(genesis)
        ref = HeapRef(genesis.root, self._pins.put(self._blobs, content))
        self._genesis, self._genesis_ref = genesis, ref
        self._genesis_memory[ref.blob] = genesis.to_bytes()
        self._keep(ref, genesis, 0)
        return ref

    def get(self, ref: HeapRef) -> HeapImage:
        """The image of a stored heap. Raises HeapUnreadable."""
        with self._lock:
            image = self._kept.get(ref.root)
            if image is not None:
                self._kept.move_to_end(ref.root)
                return image
        try:
            image, depth = self._load(ref)
        except HeapUnreadable as error:
            with self._lock:
                self._unreadable[ref.blob] = str(error)
            raise
        self._keep(ref, image, depth)
        with self._lock:
            self._unreadable.pop(ref.blob, None)  # somebody brought it back
        return image

    def warnings(self) -> list[str]:
        """One line for each blob that kept a heap from being read, and still does as far as is known."""
        with self._lock:
            return list(dict.fromkeys(self._unreadable.values()))

    def has(self, ref: HeapRef) -> bool:
        """Whether `get` would answer from memory."""
        return ref.root in self._kept

    def put(self, image: HeapImage, *, parent: HeapRef | None) -> HeapRef:
        """Store an image durably (Invariant 7), as a delta where there is a parent.

        The blob is pinned until the caller says that its record has landed (Invariant 8).
        """
        content, depth = self._encoded(image, parent)
        ref = HeapRef(image.root, self._pins.put(self._blobs, content))
        self._keep(ref, image, depth)
        return ref

    def _encoded(self, image: HeapImage, parent: HeapRef | None) -> tuple[bytes, int]:
        """The blob and its depth: against the parent, or the genesis heap where the parent's chain is long, or whole.

        A chain goes on from the genesis heap at the price of a few revisions; a whole heap costs ten times that.
        """
        near = [parent] if parent is not None and not heaps.needs_base(self._depth(parent)) else []
        for against in [*near, self._genesis_ref]:
            if against is None or parent is None:
                continue
            before = self.get(against)
            numbers = image.pages_differing(before)
            if image.size_bytes < before.size_bytes or 2 * len(numbers) * PAGE_BYTES > image.size_bytes:
                continue
            depth = self._depth(against)
            content = heaps.encode_delta(
                against.blob,
                parent_depth=depth,
                size_bytes=image.size_bytes,
                meta=image.meta.to_bytes(),
                pages=list(map(heaps.Page, numbers, image.read_pages(numbers), before.read_pages(numbers))),
            )
            return content, depth + 1
        return _whole(image), 0

    def _load(self, ref: HeapRef) -> tuple[HeapImage, int]:
        try:
            heap = heaps.load(self._blobs, ref.blob, known=self._genesis_memory)
        except heaps.HeapRefused as error:
            raise HeapUnreadable(error.blob, error.reason) from error
        except BlobError as error:
            raise HeapUnreadable(error.blob, str(error).removeprefix(f"blob {error.blob}: ")) from error
        meta = HeapMeta.from_bytes(heap.meta)
        image = HeapImage.from_bytes(bytes(heap.memory), meta)
        if image.root != ref.root:
            raise HeapUnreadable(
                ref.blob,
                f"holds the heap {image.root}, its record expects {ref.root}; bring it back from a backup",
            )
        genesis = self._genesis
        if genesis is not None and image.size_bytes >= genesis.size_bytes:
            changed = image.pages_differing(genesis)
            if len(changed) <= limits.HEAP_DELTA_PAGES_MAX:
                pages = dict(zip(changed, image.read_pages(changed), strict=True))
                image = HeapImage.from_parent(genesis, pages, image.size_bytes, meta)
        return image, heap.depth

    def _depth(self, ref: HeapRef) -> int:
        depth = self._depths.get(ref.blob)
        return depth if depth is not None else heaps.depth_of(ref.blob, self._blobs.get(ref.blob))

    def _keep(self, ref: HeapRef, image: HeapImage, depth: int) -> None:
        with self._lock:
            self._depths[ref.blob] = depth
            if ref.root not in self._kept:
                self._kept[ref.root] = image
                self._kept_bytes += _own_bytes(image)
            while self._kept_bytes > limits.IMAGES_KEPT_BYTES_MAX and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._kept_bytes -= _own_bytes(oldest)


class Pins:
    """Blobs that were put and are not yet named by a durable record. Collection spares them (Invariant 8)."""

    def __init__(self) -> None:
        self.lock = FastRLock()
        """Held while a blob is put, and by a collection while it decides about one."""
        self._counts: dict[str, int] = {}

    def put(self, blobs: Blobs, content: bytes) -> str:
        """Store and pin."""
        with self.lock:
            blob = blobs.put(content)
            self._counts[blob] = self._counts.get(blob, 0) + 1
            return blob

    def put_many(self, blobs: Blobs, contents: Sequence[bytes]) -> list[str]:
        """Store and pin each, with few syncs."""
        with self.lock:
            names = blobs.put_many(contents)
            for blob in names:
                self._counts[blob] = self._counts.get(blob, 0) + 1
            return names

    def landed(self, blob: str) -> None:
        """The record that names it is durable, or never will be."""
        with self.lock:
            count = self._counts[blob] - 1
            if count:
                self._counts[blob] = count
            else:
                del self._counts[blob]

    def names(self) -> list[str]:
        with self.lock:
            return sorted(self._counts)


@functools.lru_cache(maxsize=2)
def _whole(image: HeapImage) -> bytes:
    """The blob of a whole heap; that of the genesis heap is asked for at every opening."""
    return heaps.encode_base(image.to_bytes(), image.meta.to_bytes())


def _own_bytes(image: HeapImage) -> int:
    own = len(image.page_numbers) * PAGE_BYTES
    return own if own else image.size_bytes


def root_of(memory: bytes, meta: bytes) -> str:
    """The root of a heap as it is stored: what verifying compares with the record's. Raises ValueError."""
    if len(memory) % limits.WASM_PAGE_BYTES or not 0 < len(memory) <= limits.LINEAR_MEMORY_BYTES_MAX:
        raise ValueError(f"{len(memory)} bytes are no linear memory")
    return HeapImage.from_bytes(bytes(memory), HeapMeta.from_bytes(meta)).root
