"""The Disk port in memory: deterministic, every operation numbered and recorded, with faults to order.

    disk = SimDisk(seed=7)
    ... work ...
    for crash in crash_images(disk.trace, kinds=("lost", "torn"), seeds=range(3)):
        check(crash.disk)

What survives a crash is in `sim_media`, the kinds of crash in `crash_images`. Operations that change
something (create, write, truncate, make_dir, rename, remove, sync, sync_dir) are numbered from 1; `disk.ops`
is the last number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from engine import limits
from engine.io.crash_images import CRASH_KINDS, CrashKind, CrashPoint, Trace, crash_media, media_after_crash
from engine.io.disk import DirectoryLocked, DiskError, DiskFull, FileMissing, SyncFailed
from engine.io.paths import split_file_path, split_path
from engine.io.sim_faults import Faults, PagesAfterFailure, PowerLost
from engine.io.sim_media import (
    ROOT,
    Change,
    DirNode,
    Entry,
    FileNode,
    Media,
    Naming,
    Operation,
    Sync,
    SyncDir,
    SyncOutcome,
)

UNLIMITED_BYTES = 1 << 40


class SimDisk:
    """A disk of `capacity_bytes` (None: no end) in sectors of `sector_bytes`. One thread at a time.

    The seed decides what a misdirected or garbled sector holds where a caller names no seed of its own.
    """

    def __init__(
        self,
        *,
        seed: int | str = 0,
        sector_bytes: int = limits.SECTOR_BYTES,
        capacity_bytes: int | None = None,
        media: Media | None = None,
    ) -> None:
        assert sector_bytes > 0 and sector_bytes % 512 == 0, "a sector is whole blocks of 512 bytes"
        self.seed = seed
        self.capacity_bytes = capacity_bytes
        self.media = media if media is not None else Media(sector_bytes)
        self.sector_bytes = self.media.sector_bytes
        self.trace = Trace(self.media.copy())
        self.faults = Faults()
        self.syncs = 0  # syncs of files and directories so far, failed ones too
        self._life = 0  # handles and locks of an earlier life are dead
        self._locked: dict[int, int] = {}

    @property
    def ops(self) -> int:
        """The number of the last operation."""
        return len(self.trace.operations)

    # ---- the port

    def open(self, path: str, *, create: bool = False) -> SimFile:
        self._alive()
        parent, name = self._parent(path)
        number = self.media.directory(parent).names.get(name, 0)
        if not number:
            if not create:
                raise FileMissing(path, "no such file or directory")
            self._room_for(1, path)
            number = self.media.node_last + 1
            self._do(Naming((Entry(parent, name, number),), number, "file"))
        if isinstance(self.media.nodes[number], DirNode):
            raise DiskError(path, "is not a regular file; move it away")
        self.media.pinned[number] = self.media.pinned.get(number, 0) + 1
        return SimFile(self, number, path)

    def exists(self, path: str) -> bool:
        self._alive()
        return self._find(path) != 0

    def is_dir(self, path: str) -> bool:
        self._alive()
        number = self._find(path)
        return number != 0 and isinstance(self.media.nodes[number], DirNode)

    def list(self, path: str) -> list[str]:
        self._alive()
        number = self._find(path)
        if not number:
            return []
        node = self.media.nodes[number]
        if isinstance(node, FileNode):
            raise DiskError(path, "a part of it is a file or a link, not a directory")
        return sorted(node.names)

    def size(self, path: str) -> int:
        self._alive()
        split_file_path(path)
        node = self._node(path)
        if isinstance(node, DirNode):
            raise DiskError(path, "is not a regular file")
        return node.size_bytes

    def make_dir(self, path: str) -> None:
        self._alive()
        number = ROOT
        for name in split_file_path(path):
            below = self.media.directory(number).names.get(name, 0)
            if not below:
                self._room_for(1, path)
                below = self.media.node_last + 1
                self._do(Naming((Entry(number, name, below),), below, "directory"))
            elif isinstance(self.media.nodes[below], FileNode):
                raise DiskError(path, f"{name!r} is a file, not a directory")
            number = below

    def rename(self, source: str, target: str) -> None:
        self._alive()
        from_parent, from_name = self._parent(source)
        to_parent, to_name = self._parent(target)
        number = self.media.directory(from_parent).names.get(from_name, 0)
        if not number:
            raise FileMissing(source, "no such file or directory")
        if source == target:
            return
        if target.startswith(source + "/"):
            raise DiskError(source, f"rename to {target} failed: a directory cannot move into itself")
        replaced = self.media.directory(to_parent).names.get(to_name, 0)
        if replaced:
            self._check_replaceable(number, replaced, source, target)
        self._do(Naming((Entry(from_parent, from_name, 0), Entry(to_parent, to_name, number)), number))

    def remove(self, path: str) -> None:
        self._alive()
        parent, name = self._parent(path)
        number = self.media.directory(parent).names.get(name, 0)
        if not number:
            raise FileMissing(path, "no such file or directory")
        node = self.media.nodes[number]
        if isinstance(node, DirNode) and node.names:
            raise DiskError(path, "remove failed: the directory is not empty")
        self._do(Naming((Entry(parent, name, 0),), number))

    def sync_dir(self, path: str) -> None:
        self._alive()
        number = self._find(path)
        if not number:
            raise FileMissing(path, "no such file or directory")
        if isinstance(self.media.nodes[number], FileNode):
            raise DiskError(path, "a part of it is a file or a link, not a directory")
        self._sync(path or "the root", lambda outcome: SyncDir(number, outcome))

    def free_bytes(self) -> int:
        self._alive()
        if self.capacity_bytes is None:
            return UNLIMITED_BYTES
        return max(0, self.capacity_bytes - self.media.used_sectors() * self.sector_bytes)

    def lock(self, path: str) -> SimLock:
        file = self.open(path, create=True)
        if file.number in self._locked:
            file.close()
            raise DirectoryLocked(path, "another process uses this disk; stop it, or give this one another")
        self._locked[file.number] = self._life
        return SimLock(self, file)

    # ---- crashes

    def crash_at(self, op: int) -> None:
        """Lose power instead of doing the operation of that number: PowerLost from there on."""
        self.faults.crash_op = op

    def crash_now(self) -> None:
        """Lose power: PowerLost from here on."""
        self.faults.crash_op = self.ops + 1
        self.faults.crashed = True

    def after_power_loss(self, kind: CrashKind = "lost", seed: int | str | None = None) -> SimDisk:
        """A new disk: what this one may hold when power comes back."""
        media = media_after_crash(self.media, kind, self.seed if seed is None else seed)
        disk = SimDisk(seed=self.seed, capacity_bytes=self.capacity_bytes, media=media)
        disk.faults.rot = dict(self.faults.rot)
        return disk

    def kill(self) -> None:
        """End the process that used it: handles and locks are gone, what was written stays, synced or not.

        The disk goes on, without the crash that was ordered.
        """
        self._life += 1
        self._locked = {}
        self.media.pinned = {}
        self.faults.crash_op = None
        self.faults.crashed = False

    # ---- faults to order

    def fail_sync(self, nth: int, *, pages: PagesAfterFailure = "dropped", times: int | None = 1) -> None:
        """Let the nth sync fail, files and directories counted from 1, and `times - 1` after it (None: all).

        What was not synced then leaves the cache (`dropped`), or stays readable without ever becoming
        durable (`kept`).
        """
        self.faults.failing_syncs.add(nth, times)
        self.faults.pages = pages

    def lie_on_sync(self, nth: int = 1, *, times: int | None = None) -> None:
        """Let syncs from the nth on say yes and do nothing; an honest one later makes up for them."""
        self.faults.lying_syncs.add(nth, times)

    def fill_up_at(self, op: int, *, times: int | None = None) -> None:
        """Refuse, as full, what needs space from the operation of that number on; `free_bytes` is 0 there."""
        self.faults.full_ops.add(op, times)

    def misdirect_write(self, op: int, *, shift_sectors: int = 1) -> None:
        """Let the write of that number land so many sectors away; it reports success."""
        assert shift_sectors != 0, "a misdirected write lands elsewhere"
        self.faults.misdirected[op] = shift_sectors

    def flip_bit(self, path: str, bit: int) -> None:
        """Let one bit of a file read wrong, also after crashes, until it is written again or healed."""
        node = self._node(path)
        assert isinstance(node, FileNode) and 0 <= bit < node.size_bytes * 8, "the bit is in the file"
        number = self._find(path)
        index, bit_in_sector = divmod(bit, self.sector_bytes * 8)
        mask = self.faults.rot.get((number, index), 0) ^ (1 << bit_in_sector)
        self.faults.rot[number, index] = mask

    def heal(self) -> None:
        """No more faults: those ordered are forgotten, rotten bits read right again."""
        self.faults = Faults()

    # ---- inside

    def _alive(self) -> None:
        if self.faults.crashed:
            raise PowerLost(f"power was lost at operation {self.faults.crash_op}")

    def _do(self, operation: Operation) -> None:
        """Number, record and perform one operation."""
        op = self.ops + 1
        if self.faults.crash_op is not None and op >= self.faults.crash_op:
            self.faults.crashed = True
        self._alive()
        self.trace.operations.append(operation)
        self.media.apply(op, operation)

    def _sync(self, path: str, operation_of: Callable[[SyncOutcome], Operation]) -> None:
        """One sync of a file or directory, with the outcome that was ordered."""
        outcome: SyncOutcome = "synced"
        nth = self.syncs + 1
        if nth in self.faults.failing_syncs:
            outcome = "failed_dropped" if self.faults.pages == "dropped" else "failed_kept"
        elif nth in self.faults.lying_syncs:
            outcome = "lied"
        self._do(operation_of(outcome))
        self.syncs = nth
        if outcome in ("failed_dropped", "failed_kept"):
            raise SyncFailed(
                path, "sync failed (EIO); what was written may be gone: check the drive, start again"
            )

    def _room_for(self, sectors: int, path: str) -> None:
        """Raise DiskFull unless so many sectors are free."""
        if self._free_sectors() < sectors:
            raise DiskFull(path, f"no space is left for {sectors} sectors; free some space")

    def _free_sectors(self) -> int:
        if self.ops + 1 in self.faults.full_ops:
            return 0
        return self.free_bytes() // self.sector_bytes

    def _find(self, path: str) -> int:
        """The number of what is at a path; 0 where nothing is."""
        number = ROOT
        for name in split_path(path):
            node = self.media.nodes[number]
            if isinstance(node, FileNode):
                raise DiskError(path, "a part of it is a file or a link, not a directory")
            number = node.names.get(name, 0)
            if not number:
                return 0
        return number

    def _node(self, path: str) -> FileNode | DirNode:
        number = self._find(path)
        if not number:
            raise FileMissing(path, "no such file or directory")
        return self.media.nodes[number]

    def _parent(self, path: str) -> tuple[int, str]:
        """The directory that holds a path, and the last name."""
        names = split_file_path(path)
        number = self._find("/".join(names[:-1]))
        if not number:
            raise FileMissing(path, "no such file or directory")
        if isinstance(self.media.nodes[number], FileNode):
            raise DiskError(path, "a part of it is a file or a link, not a directory")
        return number, names[-1]

    def _check_replaceable(self, number: int, replaced: int, source: str, target: str) -> None:
        moved, there = self.media.nodes[number], self.media.nodes[replaced]
        if isinstance(moved, FileNode) != isinstance(there, FileNode):
            raise DiskError(source, f"rename to {target} failed: one is a file, the other a directory")
        if isinstance(there, DirNode) and there.names:
            raise DiskError(source, f"rename to {target} failed: the directory there is not empty")

    def _unpin(self, number: int) -> None:
        left = self.media.pinned.get(number, 0) - 1
        if left > 0:
            self.media.pinned[number] = left
        else:
            self.media.pinned.pop(number, None)


class SimFile:
    """The File port on one file of a SimDisk."""

    def __init__(self, disk: SimDisk, number: int, path: str) -> None:
        self.number = number
        self.path = path
        self._disk = disk
        self._life = disk._life
        self._open = True

    def read_at(self, offset_bytes: int, length_bytes: int) -> bytes:
        node = self._node()
        assert offset_bytes >= 0 and length_bytes >= 0, "offsets and lengths are counts"
        length_bytes = min(length_bytes, node.size_bytes - offset_bytes)
        if length_bytes <= 0:
            return b""
        sector_bytes = self._disk.sector_bytes
        first, skip_bytes = divmod(offset_bytes, sector_bytes)
        last = (offset_bytes + length_bytes - 1) // sector_bytes
        content = b"".join([self._sector(node, index) for index in range(first, last + 1)])
        return content[skip_bytes : skip_bytes + length_bytes]

    def write_at(self, offset_bytes: int, content: bytes) -> None:
        """As the port says; on a full disk the sectors that fit are written before DiskFull comes."""
        node = self._node()
        assert offset_bytes >= 0, "an offset is a count"
        if not content:
            return
        disk = self._disk
        sectors = self._sectors_of(node, offset_bytes, bytes(content))
        new = sum(part is not None and node.sector(index) is None for index, part in sectors)
        if new > (free := disk._free_sectors()):
            sectors = self._fitting(node, sectors, free)
            end_bytes = (sectors[-1][0] + 1) * disk.sector_bytes if sectors else 0
            if end_bytes > offset_bytes:
                disk._do(Change(self.number, sectors, max(node.size_bytes, end_bytes)))
            raise DiskFull(self.path, f"no space is left for: write at byte {offset_bytes}; free some space")
        shift = disk.faults.misdirected.pop(disk.ops + 1, 0)
        size_bytes = max(node.size_bytes, offset_bytes + len(content))
        if shift:
            sectors = tuple((index + shift, part) for index, part in sectors if index + shift >= 0)
        disk._do(Change(self.number, sectors, size_bytes))
        for index, _ in sectors:
            disk.faults.rot.pop((self.number, index), None)

    def truncate(self, size_bytes: int) -> None:
        node = self._node()
        assert size_bytes >= 0, "a size is a count"
        sector_bytes = self._disk.sector_bytes
        sectors: list[tuple[int, bytes | None]] = []
        if size_bytes < node.size_bytes:
            whole, rest_bytes = divmod(size_bytes, sector_bytes)
            for index in node.visible_sectors():
                if index == whole and rest_bytes:
                    kept = self._sector(node, index)[:rest_bytes]
                    sectors.append((index, kept + bytes(sector_bytes - rest_bytes)))
                elif index >= whole:
                    sectors.append((index, None))
        self._disk._do(Change(self.number, tuple(sectors), size_bytes))

    def size(self) -> int:
        return self._node().size_bytes

    def sync(self) -> None:
        self._node()
        self._disk._sync(self.path, lambda outcome: Sync(self.number, outcome))

    def close(self) -> None:
        if self._open and self._life == self._disk._life:
            self._disk._unpin(self.number)
        self._open = False

    def _node(self) -> FileNode:
        assert self._open, f"{self.path} is open"
        self._disk._alive()
        if self._life != self._disk._life:
            raise PowerLost(f"{self.path}: the process that opened it was killed")
        return self._disk.media.file(self.number)

    def _sector(self, node: FileNode, index: int) -> bytes:
        """What a reader gets of a sector, rot included."""
        content = node.sector(index)
        if content is None:
            content = self._disk.media.zero_sector
        mask = self._disk.faults.rot.get((self.number, index), 0)
        if mask:
            value = int.from_bytes(content, "little") ^ mask
            content = value.to_bytes(len(content), "little")
        return content

    def _sectors_of(
        self, node: FileNode, offset_bytes: int, content: bytes
    ) -> tuple[tuple[int, bytes | None], ...]:
        """The whole sectors that a write leaves, those it fills in part completed by what is there."""
        sector_bytes = self._disk.sector_bytes
        first, head_bytes = divmod(offset_bytes, sector_bytes)
        end_bytes = offset_bytes + len(content)
        last = (end_bytes - 1) // sector_bytes
        tail_bytes = (last + 1) * sector_bytes - end_bytes
        if head_bytes:
            content = self._sector(node, first)[:head_bytes] + content
        if tail_bytes:
            content += self._sector(node, last)[sector_bytes - tail_bytes :]
        return tuple(
            (index, content[(index - first) * sector_bytes : (index - first + 1) * sector_bytes])
            for index in range(first, last + 1)
        )

    @staticmethod
    def _fitting(
        node: FileNode, sectors: tuple[tuple[int, bytes | None], ...], free: int
    ) -> tuple[tuple[int, bytes | None], ...]:
        """The first sectors of a write, as many as there is room for."""
        fitting: list[tuple[int, bytes | None]] = []
        for index, part in sectors:
            if node.sector(index) is None:
                if free == 0:
                    break
                free -= 1
            fitting.append((index, part))
        return tuple(fitting)


class SimLock:
    """A lock that the end of the (simulated) process releases too."""

    def __init__(self, disk: SimDisk, file: SimFile) -> None:
        self._disk = disk
        self._file = file

    def release(self) -> None:
        if self._disk._locked.get(self._file.number) == self._file._life:
            del self._disk._locked[self._file.number]
        self._file.close()


class CrashImage(NamedTuple):
    """A disk after a crash, and which crash; the point's text makes it again."""

    point: CrashPoint
    disk: SimDisk


def crash_images(
    trace: Trace,
    at: int | Iterable[int] | None = None,
    *,
    kinds: Iterable[CrashKind] = CRASH_KINDS,
    seeds: Iterable[int | str] = (0,),
) -> Iterator[CrashImage]:
    """The disks that crashes at these points of a trace may leave; asked for as in `crash_media`."""
    for point, media in crash_media(trace, at, kinds=kinds, seeds=seeds):
        yield CrashImage(point, SimDisk(seed=point.seed, media=media))
