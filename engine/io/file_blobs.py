"""Blobs as files, blobs/ab/abcd...: written aside, synced, renamed, their directory synced (Invariant 7).

A name on a shelf is never seen before its content was synced. Whether the name itself is durable depends on
the shelf's sync, so a shelf is trusted only after this process has synced it, and a name whose sync failed is
taken away again: it might look durable for ever and not be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fastrlock.rlock import FastRLock

from engine.ids import content_id
from engine.io.blobs import BlobError, BlobMissing, BlobRotten
from engine.io.disk import Disk, DiskError, FileMissing, read_file

_BLOB = re.compile(r"[0-9a-f]{64}\Z")
_SHELF = re.compile(r"[0-9a-f]{2}\Z")


class FileBlobs:
    """The Blobs port over a Disk, below the directory `root`. Safe to use from several threads.

    Opening makes the directories durable and removes what unfinished puts left (`leftovers_removed`). Which
    blobs a collection has to spare is the collector's to know (Invariant 8).
    """

    def __init__(self, disk: Disk, root: str = "blobs") -> None:
        self._disk = disk
        self._root = root
        self._aside = f"{root}/new"
        self._rotten = f"{root}/rotten"
        self._aside_count = 0
        self._trusted: set[str] = set()  # shelves synced since this process began; membership only
        self._lock = FastRLock()
        self._make_root()
        self.leftovers_removed = self._remove_leftovers()

    # ---- the port

    def put(self, content: bytes) -> str:
        return self.put_many([content])[0]

    def put_many(self, contents: Iterable[bytes]) -> list[str]:
        """As the port says. When it raises, none of these contents is there that was not there before."""
        contents = list(contents)
        blobs = [content_id(content) for content in contents]
        with self._lock:
            fresh: dict[str, None] = {}
            try:
                for blob, content in zip(blobs, contents, strict=True):
                    if blob not in fresh and not self._holds(blob, content):
                        fresh[blob] = None
                        self._place(blob, content)
                self._sync_shelves(blobs)
            except DiskError:
                for blob in fresh:
                    self._remove_quietly(self._path(blob))
                raise
        return blobs

    def get(self, blob: str) -> bytes:
        try:
            content = read_file(self._disk, self._path(blob))
        except FileMissing:
            raise self._missing(blob) from None
        if content_id(content) != blob:
            raise BlobRotten(
                blob, f"{self._path(blob)} holds other bytes than its name says; bring it back from a backup"
            )
        return content

    def has(self, blob: str) -> bool:
        return self._disk.exists(self._path(blob))

    def names(self) -> list[str]:
        return [name for shelf in self._shelves() for name in self._disk.list(shelf) if _BLOB.match(name)]

    def size_bytes(self, blob: str) -> int:
        try:
            return self._disk.size(self._path(blob))
        except FileMissing:
            raise self._missing(blob) from None

    def remove(self, blob: str) -> None:
        """As the port says. A crash may bring the blob back, which does no harm."""
        with self._lock:
            try:
                self._disk.remove(self._path(blob))
            except FileMissing:
                raise self._missing(blob) from None

    # ---- beyond the port

    def problems(self) -> Iterator[BlobError]:
        """Read every blob; what is rotten, unreadable or no blob at all. Nothing is changed."""
        for shelf in self._shelves():
            for name in self._disk.list(shelf):
                if not _BLOB.match(name) or not shelf.endswith("/" + name[:2]):
                    yield BlobError(name, f"{shelf}/{name} is no blob of this shelf; move it away")
                    continue
                try:
                    self.get(name)
                except BlobError as problem:
                    yield problem
                except DiskError as problem:
                    yield BlobError(name, str(problem))

    def remove_set_aside(self) -> int:
        """Remove the rotten blobs that sound ones took the place of; their bytes. Raises DiskError."""
        if not self._disk.exists(self._rotten):
            return 0
        freed_bytes = 0
        for name in self._disk.list(self._rotten):
            freed_bytes += self._disk.size(f"{self._rotten}/{name}")
            self._disk.remove(f"{self._rotten}/{name}")
        if freed_bytes:
            self._disk.sync_dir(self._rotten)
        return freed_bytes

    # ---- inside

    def _make_root(self) -> None:
        """Make the directories, durably; also those that a process that died had made."""
        parts = self._aside.split("/")
        made = [depth for depth in range(1, len(parts) + 1) if not self._disk.exists("/".join(parts[:depth]))]
        try:
            self._disk.make_dir(self._aside)
            for depth in range(len(parts)):
                self._disk.sync_dir("/".join(parts[:depth]))
        except DiskError:
            for depth in reversed(made):
                self._remove_quietly("/".join(parts[:depth]))
            raise

    def _remove_leftovers(self) -> int:
        leftovers = self._disk.list(self._aside)
        for name in leftovers:
            self._disk.remove(f"{self._aside}/{name}")
        return len(leftovers)

    def _holds(self, blob: str, content: bytes) -> bool:
        """Whether the blob is there and sound. A rotten one is set aside, never erased, and makes way."""
        path = self._path(blob)
        try:
            if read_file(self._disk, path) == content:
                return True
        except FileMissing:
            return False
        self._make_shelf(self._rotten)
        number = len(self._disk.list(self._rotten)) + 1
        self._disk.rename(path, f"{self._rotten}/{blob}.{number}")
        return False

    def _place(self, blob: str, content: bytes) -> None:
        """Write the content aside, sync it and give it its name, which is not durable yet."""
        shelf = f"{self._root}/{blob[:2]}"
        self._trusted.discard(shelf)
        self._make_shelf(shelf)
        self._aside_count += 1
        aside = f"{self._aside}/{self._aside_count}"
        try:
            file = self._disk.open(aside, create=True)
            try:
                file.write_at(0, content)
                file.sync()
            finally:
                file.close()
            self._disk.rename(aside, f"{shelf}/{blob}")
        except DiskError:
            self._remove_quietly(aside)
            raise

    def _make_shelf(self, shelf: str) -> None:
        if self._disk.exists(shelf):
            return
        try:
            self._disk.make_dir(shelf)
            self._disk.sync_dir(self._root)
        except DiskError:
            self._remove_quietly(shelf)
            raise

    def _sync_shelves(self, blobs: list[str]) -> None:
        """Make the names durable, on each shelf that got one or was not synced since this process began."""
        for shelf in sorted({f"{self._root}/{blob[:2]}": None for blob in blobs}):
            if shelf not in self._trusted:
                self._disk.sync_dir(shelf)
                self._trusted.add(shelf)

    def _path(self, blob: str) -> str:
        if not _BLOB.match(blob):
            raise BlobMissing(repr(blob), "is no blob's name; those are 64 hex digits")
        return f"{self._root}/{blob[:2]}/{blob}"

    def _missing(self, blob: str) -> BlobMissing:
        return BlobMissing(blob, f"{self._path(blob)} does not exist; bring it back from a backup")

    def _shelves(self) -> list[str]:
        return [f"{self._root}/{name}" for name in self._disk.list(self._root) if _SHELF.match(name)]

    def _remove_quietly(self, path: str) -> None:
        try:
            self._disk.remove(path)
        except DiskError:
            pass
