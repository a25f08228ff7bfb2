"""The Disk port: files and directories below one root, and what of them survives a crash.

Paths are relative to the root, "/"-separated, never empty, absolute or with "..". What a crash may do is part of
the contract: bytes written and not synced may be lost, kept, torn or reordered sector by sector; a created,
renamed or removed name may come back or vanish until its directory was synced.
"""

from __future__ import annotations

from typing import Protocol


class DiskError(Exception):
    """An operation on the disk failed; `path` says where, the text says what and what to do."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class FileMissing(DiskError):
    """The path does not exist."""


class DiskFull(DiskError):
    """No space is left; nothing of this write counts."""


class SyncFailed(DiskError):
    """A sync failed: what was written and not synced may be gone, whatever a later sync says."""


class DirectoryLocked(DiskError):
    """Another process holds the lock."""


class File(Protocol):
    """One open file. Offsets and lengths are bytes."""

    def read_at(self, offset_bytes: int, length_bytes: int) -> bytes:
        """The bytes there; fewer than asked only at the end of the file."""
        ...

    def write_at(self, offset_bytes: int, content: bytes) -> None:
        """Write all of `content`; a gap before it reads as zeros. Raises DiskFull, DiskError."""
        ...

    def truncate(self, size_bytes: int) -> None: ...

    def size(self) -> int: ...

    def sync(self) -> None:
        """Make content and size durable (not the name: `Disk.sync_dir`). Raises SyncFailed."""
        ...

    def close(self) -> None: ...


class Lock(Protocol):
    """A held lock on the whole root; released by `release` or by the end of the process."""

    def release(self) -> None: ...


class Disk(Protocol):
    """Files below one root."""

    def open(self, path: str, *, create: bool = False) -> File:
        """Open for reading and writing. With `create`, make it if it is missing. Raises FileMissing."""
        ...

    def exists(self, path: str) -> bool: ...

    def list(self, path: str) -> list[str]:
        """The names in a directory, sorted by code point; [] where it is missing. "" is the root."""
        ...

    def is_dir(self, path: str) -> bool: ...

    def size(self, path: str) -> int:
        """The file's size. Raises FileMissing."""
        ...

    def make_dir(self, path: str) -> None:
        """Make a directory and its parents; existing ones are fine. Not durable before `sync_dir` of the parents."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Replace `target` by `source`, atomically for readers; durable after `sync_dir` of the directories."""
        ...

    def remove(self, path: str) -> None: ...

    def sync_dir(self, path: str) -> None:
        """Make the names in a directory durable. "" is the root. Raises SyncFailed."""
        ...

    def free_bytes(self) -> int: ...

    def lock(self, path: str, *, create: bool = True) -> Lock:
        """Take the lock file for this process. Raises DirectoryLocked, at once; FileMissing where it is not made.

        The file is never removed: whoever waits to open it must meet who holds it.
        """
        ...


def read_file(disk: Disk, path: str) -> bytes:
    """The whole content of a file. Raises FileMissing."""
    file = disk.open(path)
    try:
        return file.read_at(0, file.size())
    finally:
        file.close()


def parent_of(path: str) -> str:
    """The directory that holds `path`; "" is the root."""
    return path.rpartition("/")[0]


def write_file_durably(disk: Disk, path: str, content: bytes) -> None:
    """Replace `path` by `content`, durably: temporary file, sync, rename, sync of the directory."""
    temporary = path + ".tmp"
    file = disk.open(temporary, create=True)
    try:
        file.truncate(0)
        file.write_at(0, content)
        file.sync()
    finally:
        file.close()
    disk.rename(temporary, path)
    disk.sync_dir(parent_of(path))
