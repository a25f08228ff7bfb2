"""The two small files beside the segments: the head file, and the reserve of space."""

from __future__ import annotations

from contextlib import suppress

from blake3 import blake3

from engine.io.disk import Disk, DiskError, File, parent_of, write_file_durably
from engine.io.log_format import HEAD_SLOTS, HeadMark, encode_head_slot
from engine.limits import LOG_HEAD_SYNC_BATCHES, SECTOR_BYTES


class MarkFile:
    """The head file: two halves, one of them written after each batch's own sync (Invariant 2).

    It is synced now and then, and only then the halves change places: a crash can tear one half, never both. A mark
    that is old claims less, and makes the next opening write more.
    """

    def __init__(self, disk: Disk, path: str, log_id: bytes) -> None:
        self.log_id = log_id
        self._disk = disk
        self._path = path
        self._file: File | None = None
        self._half = 0
        self._unsynced = 0

    def replace(self, batch: int, hash_: bytes) -> None:
        """Write the file anew, durably, with this mark in both halves. Raises DiskError."""
        self.close()
        half = encode_head_slot(HeadMark(self.log_id, batch, hash_)).ljust(SECTOR_BYTES, b"\0")
        write_file_durably(self._disk, self._path, half + half)
        self._file = self._disk.open(self._path)
        self._unsynced = 0

    def reopen(self, batch: int, hash_: bytes) -> None:
        """Open the file, which takes no space, and make this mark durable in both halves. Raises DiskError."""
        self.close()
        self._file = self._disk.open(self._path)
        self.settle(batch, hash_)

    def write(self, batch: int, hash_: bytes) -> None:
        """Mark a batch that is durable. Raises DiskError."""
        assert self._file is not None, "the head file is open while the log is"
        mark = encode_head_slot(HeadMark(self.log_id, batch, hash_))
        self._file.write_at(self._half * SECTOR_BYTES, mark)
        self._unsynced += 1
        if self._unsynced >= LOG_HEAD_SYNC_BATCHES:
            self._sync()

    def settle(self, batch: int, hash_: bytes) -> None:
        """Make the last mark durable in both halves. Raises DiskError."""
        for _ in range(HEAD_SLOTS):
            self.write(batch, hash_)
            self._sync()

    def _sync(self) -> None:
        assert self._file is not None
        self._file.sync()
        self._half = (self._half + 1) % HEAD_SLOTS
        self._unsynced = 0

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class Reserve:
    """A file that can be given up when the disk is full. Its bytes do not compress, so that it takes its space."""

    def __init__(self, disk: Disk, path: str, size_bytes: int) -> None:
        self._disk = disk
        self._path = path
        self._size_bytes = size_bytes

    def held(self) -> bool:
        return self._disk.exists(self._path) and self._disk.size(self._path) >= self._size_bytes

    def release(self) -> bool:
        """Give the space up; whether there was any. Raises DiskError."""
        if not self._disk.exists(self._path):
            return False
        self._disk.remove(self._path)
        self._disk.sync_dir(parent_of(self._path))
        return True

    def restore(self) -> bool:
        """Take the space again if there is plenty; whether it is held."""
        if not self._size_bytes or self.held():
            return self.held()
        if self._disk.free_bytes() < 2 * self._size_bytes:
            return False
        try:
            self._fill()
        except DiskError:
            with suppress(DiskError):
                self.release()
            return False
        return True

    def _fill(self) -> None:
        file = self._disk.open(self._path, create=True)
        try:
            file.write_at(0, blake3(b"reserve").digest(length=self._size_bytes))
            file.sync()
        finally:
            file.close()
        self._disk.sync_dir(parent_of(self._path))
