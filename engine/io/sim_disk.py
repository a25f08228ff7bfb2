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
from typing import NamedTuple, NoReturn

from engine import limits
from engine.io.crash_images import CRASH_KINDS, CrashKind, CrashPoint, Trace, crash_media, media_after_crash
from engine.io.disk import DirectoryLocked, DiskError, DiskFull, FileMissing, SyncFailed
from engine.io.paths import split_file_path, split_path
from engine.io.sim_faults import Faults, PagesAfterFailure, PowerLost
from engine.io.sim_file import SimFile
from engine.io.sim_media import (
    ROOT,
    DirNode,
    Entry,
    FileNode,
    Media,
    Naming,
    Operation,
    Refusal,
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
        self.life = 0  # handles and locks of an earlier life are dead
        self.locked: dict[int, SimLock] = {}

    @property
    def ops(self) -> int:
        """The number of the last operation."""
        return len(self.trace.operations)

    # ---- the port

    def open(self, path: str, *, create: bool = False) -> SimFile:
        self.check_alive()
        parent, name = self._parent(path)
        number = self.media.directory(parent).names.get(name, 0)
        if not number:
            if not create:
                raise FileMissing(path, "no such file or directory")
            if not self.free_sectors():
                self.refuse_full(path, "create")
            number = self.media.node_last + 1
            self.perform(Naming((Entry(parent, name, number),), number, "file"))
        if isinstance(self.media.nodes[number], DirNode):
            raise DiskError(path, "is not a regular file; move it away")
        self.media.pinned[number] = self.media.pinned.get(number, 0) + 1
        return SimFile(self, number, path)

    def exists(self, path: str) -> bool:
        self.check_alive()
        return self._find(path) != 0

    def is_dir(self, path: str) -> bool:
        self.check_alive()
        number = self._find(path)
        return number != 0 and isinstance(self.media.nodes[number], DirNode)

    def list(self, path: str) -> list[str]:
        self.check_alive()
        number = self._find(path)
        if not number:
            return []
        node = self.media.nodes[number]
        if isinstance(node, FileNode):
            raise DiskError(path, "a part of it is a file or a link, not a directory")
        return sorted(node.names)

    def size(self, path: str) -> int:
        self.check_alive()
        split_file_path(path)
        node = self._node(path)
        if isinstance(node, DirNode):
            raise DiskError(path, "is not a regular file")
        return node.size_bytes

    def make_dir(self, path: str) -> None:
        self.check_alive()
        number = ROOT
        for name in split_path(path):
            below = self.media.directory(number).names.get(name, 0)
            if not below:
                if not self.free_sectors():
                    self.refuse_full(path, "make directory")
                below = self.media.node_last + 1
                self.perform(Naming((Entry(number, name, below),), below, "directory"))
            elif isinstance(self.media.nodes[below], FileNode):
                raise DiskError(path, f"{name!r} is a file, not a directory")
            number = below

    def rename(self, source: str, target: str) -> None:
        self.check_alive()
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
        self.perform(Naming((Entry(from_parent, from_name, 0), Entry(to_parent, to_name, number)), number))

    def remove(self, path: str) -> None:
        self.check_alive()
        parent, name = self._parent(path)
        number = self.media.directory(parent).names.get(name, 0)
        if not number:
            raise FileMissing(path, "no such file or directory")
        node = self.media.nodes[number]
        if isinstance(node, DirNode) and node.names:
            raise DiskError(path, "remove failed: the directory is not empty")
        self.perform(Naming((Entry(parent, name, 0),), number))

    def sync_dir(self, path: str) -> None:
        self.check_alive()
        number = self._find(path)
        if not number:
            raise FileMissing(path, "no such file or directory")
        if isinstance(self.media.nodes[number], FileNode):
            raise DiskError(path, "a part of it is a file or a link, not a directory")
        self.perform_sync(path or "the root", lambda outcome: SyncDir(number, outcome))

    def free_bytes(self) -> int:
        self.check_alive()
        if self.ops + 1 in self.faults.full_ops:
            return 0
        if self.capacity_bytes is None:
            return UNLIMITED_BYTES
        return max(0, self.capacity_bytes - self.media.used_sectors() * self.sector_bytes)

    def lock(self, path: str, *, create: bool = True) -> SimLock:
        file = self.open(path, create=create)
        if file.number in self.locked:
            file.close()
            raise DirectoryLocked(path, "another process uses this disk; stop it, or give this one another")
        lock = self.locked[file.number] = SimLock(self, file)
        return lock

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
        self.life += 1
        self.locked = {}
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

    def check_alive(self) -> None:
        if self.faults.crashed:
            raise PowerLost(f"power was lost at operation {self.faults.crash_op}")

    def perform(self, operation: Operation) -> None:
        """Number, record and perform one operation."""
        op = self.ops + 1
        if self.faults.crash_op is not None and op >= self.faults.crash_op:
            self.faults.crashed = True
        self.check_alive()
        self.trace.operations.append(operation)
        self.media.apply(op, operation)

    def perform_sync(self, path: str, operation_of: Callable[[SyncOutcome], Operation]) -> None:
        """One sync of a file or directory, with the outcome that was ordered."""
        outcome: SyncOutcome = "synced"
        nth = self.syncs + 1
        if nth in self.faults.failing_syncs:
            outcome = "failed_dropped" if self.faults.pages == "dropped" else "failed_kept"
        elif nth in self.faults.lying_syncs:
            outcome = "lied"
        self.perform(operation_of(outcome))
        self.syncs = nth
        if outcome in ("failed_dropped", "failed_kept"):
            raise SyncFailed(
                path, "sync failed (EIO); what was written may be gone: check the drive, start again"
            )

    def free_sectors(self) -> int:
        """How many sectors the next operation may take."""
        return self.free_bytes() // self.sector_bytes

    def refuse_full(self, path: str, action: str) -> NoReturn:
        """End an operation that finds no room. It has a number of its own, so that a later one may find some."""
        self.perform(Refusal(path))
        raise DiskFull(path, f"no space is left for: {action}; free some space")

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

    def unpin(self, number: int) -> None:
        left = self.media.pinned.get(number, 0) - 1
        if left > 0:
            self.media.pinned[number] = left
        else:
            self.media.pinned.pop(number, None)


class SimLock:
    """A lock that the end of the (simulated) process releases too."""

    def __init__(self, disk: SimDisk, file: SimFile) -> None:
        self._disk = disk
        self._file = file

    def release(self) -> None:
        if self._disk.locked.get(self._file.number) is self:
            del self._disk.locked[self._file.number]
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
