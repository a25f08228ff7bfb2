"""A disk over another one that changes nothing of it: what is written stays in memory and is gone with it.

So a data directory can be opened with the code that serves it, only to see whether it would be (`verify`).
"""

from __future__ import annotations

from engine.io.disk import DirectoryLocked, Disk, DiskError, File, FileMissing, parent_of
from engine.io.paths import split_file_path, split_path
from engine.limits import SECTOR_BYTES


class ShadowDisk:
    """The Disk port over `below`, which is only read. One thread at a time; syncs make nothing durable.

    The names below are taken once, when it is made; contents are read when they are asked for. Its locks keep nobody
    else away: who needs that locks the disk below.
    """

    def __init__(self, below: Disk) -> None:
        self._below = below
        self._nodes: dict[str, _Node | None] = {"": None}  # None: a directory
        self._locked: dict[str, None] = {}
        self._take_names("")

    def _take_names(self, directory: str) -> None:
        for name in self._below.list(directory):
            path = f"{directory}/{name}" if directory else name
            if self._below.is_dir(path):
                self._nodes[path] = None
                self._take_names(path)
            else:
                self._nodes[path] = _Node(self._below, path)

    def open(self, path: str, *, create: bool = False) -> File:
        split_file_path(path)
        self._check_parent(path)
        if path not in self._nodes:
            if not create:
                raise FileMissing(path, "no such file or directory")
            self._nodes[path] = _Node(None, path)
        return _ShadowFile(self._file(path), path)

    def exists(self, path: str) -> bool:
        split_path(path)
        self._check_above(path)
        return path in self._nodes

    def is_dir(self, path: str) -> bool:
        return self.exists(path) and self._nodes[path] is None

    def list(self, path: str) -> list[str]:
        if not self.exists(path):
            return []
        self._check_is_dir(path)
        skip = len(path) + 1 if path else 0
        return sorted(held[skip:] for held in self._nodes if held and parent_of(held) == path)

    def size(self, path: str) -> int:
        split_file_path(path)
        self._check_there(path)
        return self._file(path).size_bytes

    def make_dir(self, path: str) -> None:
        names = split_path(path)
        for depth in range(1, len(names) + 1):
            part = "/".join(names[:depth])
            if self._nodes.setdefault(part, None) is not None:
                raise DiskError(path, f"{names[depth - 1]!r} is a file, not a directory")

    def rename(self, source: str, target: str) -> None:
        split_file_path(source)
        split_file_path(target)
        self._check_there(source)
        self._check_parent(target)
        if source == target:
            return
        if target.startswith(source + "/"):
            raise DiskError(source, f"rename to {target} failed: a directory cannot move into itself")
        if target in self._nodes:
            if self.is_dir(source) != self.is_dir(target) or (self.is_dir(target) and self.list(target)):
                raise DiskError(source, f"rename to {target} failed: something else is there")
            del self._nodes[target]
        moved = [path for path in self._nodes if path == source or path.startswith(source + "/")]
        for path in moved:
            self._nodes[target + path[len(source) :]] = self._nodes.pop(path)

    def remove(self, path: str) -> None:
        split_file_path(path)
        self._check_there(path)
        if self.is_dir(path) and self.list(path):
            raise DiskError(path, "remove failed: the directory is not empty")
        del self._nodes[path]

    def sync_dir(self, path: str) -> None:
        split_path(path)
        self._check_there(path)
        self._check_is_dir(path)

    def free_bytes(self) -> int:
        return self._below.free_bytes()

    def lock(self, path: str, *, create: bool = True) -> _ShadowLock:
        self.open(path, create=create).close()
        if path in self._locked:
            raise DirectoryLocked(path, "another process uses this disk; stop it, or give this one another")
        self._locked[path] = None
        return _ShadowLock(self._locked, path)

    def _file(self, path: str) -> _Node:
        node = self._nodes[path]
        if node is None:
            raise DiskError(path, "is not a regular file; move it away")
        return node

    def _check_there(self, path: str) -> None:
        if not self.exists(path):
            raise FileMissing(path, "no such file or directory")

    def _check_is_dir(self, path: str) -> None:
        if self._nodes[path] is not None:
            raise DiskError(path, "a part of it is a file or a link, not a directory")

    def _check_above(self, path: str) -> None:
        above = parent_of(path)
        while above:
            if self._nodes.get(above) is not None:
                raise DiskError(path, "a part of it is a file or a link, not a directory")
            above = parent_of(above)

    def _check_parent(self, path: str) -> None:
        self._check_above(path)
        if parent_of(path) not in self._nodes:
            raise FileMissing(path, "no such file or directory")


class _Node:
    """A file: what lies below, up to `below_bytes`, and the sectors that were written over it."""

    def __init__(self, below: Disk | None, path: str) -> None:
        self._below = below
        self._path = path
        self._file: File | None = None
        self.below_bytes = self.size_bytes = below.size(path) if below else 0
        self.sectors: dict[int, bytearray] = {}

    def read(self, first: int, last: int) -> bytes:
        """Whole sectors, `last` included; zeros past the end."""
        if not self.sectors:
            return self._read_below(first, last)
        parts = [self.sectors.get(n) or self._read_below(n, n) for n in range(first, last + 1)]
        return b"".join(parts)

    def sector(self, number: int) -> bytearray:
        """One sector as it is, to be changed."""
        held = self.sectors.get(number)
        if held is None:
            held = self.sectors[number] = bytearray(self._read_below(number, number))
        return held

    def _read_below(self, first: int, last: int) -> bytes:
        start, end = first * SECTOR_BYTES, (last + 1) * SECTOR_BYTES
        length = max(0, min(end, self.below_bytes) - start)
        if length and self._below is not None:
            self._file = self._file or self._below.open(self._path)
            return self._file.read_at(start, length).ljust(end - start, b"\0")
        return bytes(end - start)


class _ShadowFile:
    def __init__(self, node: _Node, path: str) -> None:
        self._held: _Node | None = node
        self._path = path

    @property
    def _node(self) -> _Node:
        assert self._held is not None, f"{self._path} is open"
        return self._held

    def read_at(self, offset_bytes: int, length_bytes: int) -> bytes:
        node = self._node
        end = min(offset_bytes + length_bytes, node.size_bytes)
        if end <= offset_bytes:
            return b""
        first, inside = divmod(offset_bytes, SECTOR_BYTES)
        content = node.read(first, (end - 1) // SECTOR_BYTES)
        return content[inside : inside + end - offset_bytes]

    def write_at(self, offset_bytes: int, content: bytes) -> None:
        node = self._node
        at = 0
        while at < len(content):
            number, inside = divmod(offset_bytes + at, SECTOR_BYTES)
            piece = content[at : at + SECTOR_BYTES - inside]
            node.sector(number)[inside : inside + len(piece)] = piece
            at += len(piece)
        if content:
            node.size_bytes = max(node.size_bytes, offset_bytes + len(content))

    def truncate(self, size_bytes: int) -> None:
        node = self._node
        if size_bytes < node.size_bytes:
            node.below_bytes = min(node.below_bytes, size_bytes)
            keep, inside = divmod(size_bytes, SECTOR_BYTES)
            node.sectors = {n: held for n, held in node.sectors.items() if n <= keep}
            if keep in node.sectors:
                node.sectors[keep][inside:] = bytes(SECTOR_BYTES - inside)
        node.size_bytes = size_bytes

    def size(self) -> int:
        return self._node.size_bytes

    def sync(self) -> None:
        """Nothing is durable here."""
        assert self._node is not None

    def close(self) -> None:
        self._held = None


class _ShadowLock:
    def __init__(self, locked: dict[str, None], path: str) -> None:
        self._locked: dict[str, None] | None = locked
        self._path = path

    def release(self) -> None:
        if self._locked is not None:
            del self._locked[self._path]
            self._locked = None
