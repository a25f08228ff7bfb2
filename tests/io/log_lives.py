"""Records to append, small logs, and what a log must hold: shared by the tests of the Log port."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from engine.ids import content_id
from engine.io.file_log import FileLog
from engine.io.log import Log, LogEntry
from engine.io.sim_disk import SimDisk
from engine.io.sim_entropy import SimEntropy
from engine.limits import SECTOR_BYTES

NO_PREVIOUS = "0" * 64


class Worlds:
    """Makes records that follow each other, as the layer above the log does."""

    def __init__(self) -> None:
        self.ends: dict[str, tuple[int, str]] = {}

    @classmethod
    def of(cls, log: Log) -> Worlds:
        worlds = cls()
        worlds.ends = {world: log.last(world) or (-1, NO_PREVIOUS) for world in log.worlds()}
        return worlds

    def entry(self, world: str, body: bytes = b'{"kind":"call"}') -> LogEntry:
        seq, previous = self.ends.get(world, (-1, NO_PREVIOUS))
        header = msgspec.msgpack.encode(
            (1, world, seq + 1, "call", "operator", 0, content_id(body), previous)
        )
        self.ends[world] = (seq + 1, content_id(header))
        return LogEntry(world, seq + 1, header, body)

    def batch(self, *names: str, body: bytes = b'{"kind":"call"}') -> list[LogEntry]:
        return [self.entry(name, body) for name in names]


def open_log(
    disk: SimDisk, *, seed: int | str = 1, segment_sectors: int = 4, reserve_bytes: int = 0
) -> FileLog:
    """A log whose segments hold three single-sector batches unless said otherwise."""
    entropy = SimEntropy(seed).fork(str(disk.ops))
    return FileLog(
        disk, entropy, segment_bytes_max=segment_sectors * SECTOR_BYTES, reserve_bytes=reserve_bytes
    )


def batches_of(log: Log) -> list[list[LogEntry]]:
    return [[entry for _, entry in placed] for _, placed in log.scan()]


def bare(batches: Iterable[list[LogEntry]]) -> list[list[tuple[str, int, bytes]]]:
    """Batches without their bodies."""
    return [[entry[:3] for entry in batch] for batch in batches]
