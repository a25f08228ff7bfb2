"""A log and the blobs that its records name: lived once, looked at in every image that a crash may leave of them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import msgspec

from engine.ids import content_id
from engine.io.crash_images import CRASH_KINDS, CrashPoint
from engine.io.file_blobs import FileBlobs
from engine.io.file_log import FileLog
from engine.io.log import LogEntry
from engine.io.sim_disk import SimDisk, crash_images
from engine.io.sim_entropy import SimEntropy
from engine.limits import SECTOR_BYTES

SEGMENT_SECTORS = 6
NO_PREVIOUS = "0" * 64


@dataclass
class Lived:
    """`acknowledged` says how many batches were, after which operation of the disk."""

    disk: SimDisk
    batches: list[list[LogEntry]] = field(default_factory=list)
    acknowledged: list[tuple[int, int]] = field(default_factory=list)

    def acknowledged_at(self, op: int) -> int:
        return max((count for at, count in self.acknowledged if at <= op), default=0)


@functools.cache
def lived() -> Lived:
    """Batches of three worlds over several segments; their records name blobs, of which some come twice."""
    life = Lived(SimDisk(seed="images"))
    log, blobs = open_on(life.disk, "lived")
    ends: dict[str, tuple[int, str]] = {}
    for n in range(12):
        named = [
            (world, blobs.put(b"%s %d " % (world.encode(), n // 2) + bytes(range(256)) * (1 + n % 4 * 6)))
            for world in ("a", "b", "c")[n % 3 :]
        ]
        life.batches.append([_entry(ends, world, blob) for world, blob in named])
        log.append(life.batches[-1])
        life.acknowledged.append((life.disk.ops, len(life.batches)))
        if n == 6:
            log.seal()
    log.close()
    return life


def open_on(disk: SimDisk, seed: str) -> tuple[FileLog, FileBlobs]:
    """Both, opened as a server opens them."""
    entropy = SimEntropy(seed)
    log = FileLog(disk, entropy, segment_bytes_max=SEGMENT_SECTORS * SECTOR_BYTES, reserve_bytes=0)
    return log, FileBlobs(disk)


def images(seed: int | str = 0) -> Iterator[tuple[CrashPoint, SimDisk]]:
    """One of every kind after every operation."""
    for image in crash_images(lived().disk.trace, kinds=CRASH_KINDS, seeds=(seed,)):
        yield image.point, image.disk


def check(point: CrashPoint, disk: SimDisk) -> int:
    """Open what a crash left: how many batches it holds.

    Raises AssertionError where that is no prefix with everything acknowledged (Invariants 1, 6) or a record names a
    blob that is not whole (Invariant 7), and what opening raises.
    """
    life = lived()
    log, blobs = open_on(disk, str(point))
    found = [[entry for _, entry in placed] for _, placed in log.scan()]
    acknowledged = life.acknowledged_at(point.at)
    assert acknowledged <= len(found), (
        f"Invariant 1: {acknowledged} batches were acknowledged, {len(found)} are there"
    )
    assert found == life.batches[: len(found)], "Invariant 6: what is there is no prefix"
    for blob in dict.fromkeys(entry.body for entry in chain(*found)):
        assert blob is not None
        blobs.get(blob.decode())
    log.close()
    return len(found)


def _entry(ends: dict[str, tuple[int, str]], world: str, blob: str) -> LogEntry:
    """A record that follows the world's last one; its body is the name of a blob."""
    seq, previous = ends.get(world, (-1, NO_PREVIOUS))
    body = blob.encode()
    header = msgspec.msgpack.encode((1, world, seq + 1, "call", "operator", 0, content_id(body), previous))
    ends[world] = (seq + 1, content_id(header))
    return LogEntry(world, seq + 1, header, body)
