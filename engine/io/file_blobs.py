"""Blobs as files: blobs/ab/abcd..., each written aside, synced, renamed, and its directory synced (Invariant
7)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fastrlock.rlock import FastRLock

from engine.ids import content_id
from engine.io.blobs import BlobError, BlobMissing, BlobRotten
from engine.io.disk import Disk, DiskError, FileMissing, read_file

_NAME = re.compile(r"[0-9a-f]{64}\Z")
_SHELF = re.compile(r"[0-9a-f]{2}\Z")
_TEMPORARY = "new"


class FileBlobs:
    """The Blobs port over a Disk, below the directory `root`. Safe to use from several threads.

    Opening makes the directories durable and removes what unfinished puts left; `leftovers_removed` counts
    it. A name that `put` gave out is *in flight* until `landed`: a record that names it may be on its way, so
    a collection must leave it alone (Invariant 8).
    """

    def __init__(self, disk: Disk, root: str = "blobs") -> None:
        self._disk = disk
        self._root = root
        self._temporary = f"{root}/{_TEMPORARY}"
        self._temporaries = 0
        self._durable_shelves: set[str] = set()  # synced since this process began; membership only
        self._in_flight: dict[str, int] = {}
        self._lock = FastRLock()
        self.leftovers_removed = self._open()

    def put(self, content: bytes) -> str:
        return self.put_many([content])[0]

    def put_many(self, contents: Iterable[bytes]) -> list[str]:
        """As the port says. When it raises, files that were not certainly durable are gone again."""
        pairs = [(content_id(content), content) for content in contents]
        with self._lock:
            fresh: dict[str, None] = {}
            try:
                for blob, content in pairs:
                    if blob not in fresh and not self._disk.exists(self._path(blob)):
                        self._place(blob, content)
                        fresh[blob] = None
                self._sync_shelves([blob for blob, _ in pairs], fresh)
            except DiskError:
                self._take_back(fresh)
                raise
            for blob, _ in pairs:
                self._in_flight[blob] = self._in_flight.get(blob, 0) + 1
        return [blob for blob, _ in pairs]

    def get(self, blob: str) -> bytes:
        try:
            content = read_file(self._disk, self._path(blob))
        except FileMissing:
            raise self._missing(blob) from None
        if content_id(content) != blob:
            raise BlobRotten(
                blob,
                f"{self._path(blob)} holds other bytes than its name says; bring the file back from a backup",
            )
        return content

    def has(self, blob: str) -> bool:
        return self._disk.exists(self._path(blob))

    def names(self) -> list[str]:
        return [name for shelf in self._shelves() for name in self._disk.list(shelf) if _NAME.match(name)]

    def size_bytes(self, blob: str) -> int:
        try:
            return self._disk.size(self._path(blob))
        except FileMissing:
            raise self._missing(blob) from None

    def remove(self, blob: str) -> None:
        """As the port says; not durable before the next put on its shelf, which is no harm."""
        with self._lock:
            assert blob not in self._in_flight, f"Invariant 8: blob {blob} is in flight"
            try:
                self._disk.remove(self._path(blob))
            except FileMissing:
                raise self._missing(blob) from None

    def landed(self, blobs: Iterable[str]) -> None:
        """The records that name these blobs are durable, or never will be: one put of each is in flight no
        more."""
        with self._lock:
            for blob in blobs:
                left = self._in_flight[blob] - 1
                if left:
                    self._in_flight[blob] = left
                else:
                    del self._in_flight[blob]

    def in_flight(self) -> list[str]:
        """The blobs given out and not landed, sorted."""
        with self._lock:
            return sorted(self._in_flight)

    def problems(self) -> Iterator[BlobError]:
        """Read every blob; what is rotten, unreadable or no blob at all. Nothing is changed."""
        for shelf in self._shelves():
            for name in self._disk.list(shelf):
                if not _NAME.match(name) or not shelf.endswith("/" + name[:2]):
                    yield BlobError(name, f"{shelf}/{name} is no blob of this shelf; move it away")
                    continue
                try:
                    self.get(name)
                except BlobError as problem:
                    yield problem
                except DiskError as problem:
                    yield BlobError(name, str(problem))

    # ---- inside

    def _open(self) -> int:
        disk = self._disk
        disk.make_dir(self._temporary)
        parts = self._temporary.split("/")
        for depth in range(len(parts)):
            disk.sync_dir("/".join(parts[:depth]))
        leftovers = disk.list(self._temporary)
        for name in leftovers:
            disk.remove(f"{self._temporary}/{name}")
        return len(leftovers)

    def _path(self, blob: str) -> str:
        if not _NAME.match(blob):
            raise BlobMissing(repr(blob), "is no blob's name; those are 64 hex digits")
        return f"{self._root}/{blob[:2]}/{blob}"

    def _missing(self, blob: str) -> BlobMissing:
        return BlobMissing(blob, f"{self._path(blob)} does not exist; bring the file back from a backup")

    def _shelves(self) -> list[str]:
        return [f"{self._root}/{name}" for name in self._disk.list(self._root) if _SHELF.match(name)]

    def _place(self, blob: str, content: bytes) -> None:
        """Write the content aside, sync it and give it its name, which is not durable yet."""
        self._temporaries += 1
        aside = f"{self._temporary}/{self._temporaries}"
        file = self._disk.open(aside, create=True)
        try:
            file.write_at(0, content)
            file.sync()
        except DiskError:
            file.close()
            self._remove_quietly(aside)
            raise
        file.close()
        shelf = f"{self._root}/{blob[:2]}"
        if not self._disk.is_dir(shelf):
            self._disk.make_dir(shelf)
            self._disk.sync_dir(self._root)
        self._disk.rename(aside, self._path(blob))

    def _sync_shelves(self, blobs: list[str], fresh: dict[str, None]) -> None:
        """Make the names durable: of shelves with fresh blobs, and of those not synced since this process
        began.

                A blob that was there already may have come from a process that died before it synced the directory.
        """
        shelves = {blob[:2]: None for blob in blobs if blob in fresh or blob[:2] not in self._durable_shelves}
        for shelf in sorted(shelves):
            self._durable_shelves.discard(shelf)
            self._disk.sync_dir(f"{self._root}/{shelf}")
            self._durable_shelves.add(shelf)

    def _take_back(self, fresh: dict[str, None]) -> None:
        """After a failure: a name whose sync failed may look durable for ever and not be, so nothing may
        find it."""
        for blob in fresh:
            self._remove_quietly(self._path(blob))

    def _remove_quietly(self, path: str) -> None:
        try:
            self._disk.remove(path)
        except DiskError:
            pass
