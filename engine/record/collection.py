"""Collecting blobs: mark what durable records name and what those need, sweep the rest (Invariant 8).

It reads the log itself, not the projection. It runs beside the server: a blob that was put but that no durable record
names yet is pinned; one whose record became durable since the mark is found in the log's tail. Both are looked at
again, under the lock that puts hold, before anything is removed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import msgspec

from engine.io.blobs import Blobs
from engine.io.log import Log, LogEntry, LogHead
from engine.record import heaps
from engine.record.kinds import Body, Checkpoint, Genesis, Purge, Revision
from engine.record.records import decode, decode_header

_SWEPT_AT_ONCE = 32
KINDS_THAT_NAME = ("genesis", "revision", "checkpoint", "purge")


class Pins(Protocol):
    """Blobs that were put and are not named by a durable record yet. `lock` is held while one is put."""

    @property
    def lock(self) -> AbstractContextManager[Any]: ...

    def names(self) -> list[str]: ...


class Collected(msgspec.Struct, frozen=True):
    """What a collection did. Counts of blobs; bytes on disk."""

    kept: int
    removed: int
    freed_bytes: int

    def report(self) -> dict[str, Any]:
        return {"blobs_kept": self.kept, "blobs_removed": self.removed, "blobs_freed_bytes": self.freed_bytes}


def collect(blobs: Blobs, log: Log, pins: Pins) -> Collected:
    """Remove what nothing reaches.

    Raises BlobMissing, BlobRotten, HeapRefused, RecordRefused when something that is needed to decide cannot be
    read: then nothing more is removed.
    """
    marker = Marker(blobs)
    candidates = blobs.names()
    marker.catch_up(log)
    doomed = [blob for blob in candidates if not marker.reaches(blob)]
    removed, freed_bytes = 0, 0
    for start in range(0, len(doomed), _SWEPT_AT_ONCE):
        with pins.lock:
            marker.catch_up(log)
            pinned = marker.closure(pins.names())
            for blob in doomed[start : start + _SWEPT_AT_ONCE]:
                if blob not in pinned and not marker.reaches(blob):
                    freed_bytes += blobs.size_bytes(blob)
                    blobs.remove(blob)
                    removed += 1
    return Collected(len(candidates) - removed, removed, freed_bytes)


class Marker:
    """The blobs that the durable records of worlds that were not purged reach, kept up with the log.

    Records of the worlds in `without` are passed over.
    """

    def __init__(self, blobs: Blobs, without: Collection[str] = ()) -> None:
        self._blobs = blobs
        self._without = without
        self._batch = 0
        self._named: dict[str, dict[str, None]] = {}
        self._needs: dict[str, list[str]] = {}
        self._reached: set[str] = set()  # membership only

    def catch_up(self, log: Log, until: LogHead | None = None) -> None:
        """Take in the batches since the last time, to the log's head or to `until`."""
        until = until or log.head()
        if until.batch == self._batch:
            return
        for head, entries in log.scan(self._batch):
            if head.batch > until.batch:
                break
            for _, entry in entries:
                self._take(entry)
            self._batch = head.batch
        self._reached = self.closure(blob for named in self._named.values() for blob in named)

    def reaches(self, blob: str) -> bool:
        return blob in self._reached

    def reached(self) -> list[str]:
        """All blobs that are reached, sorted."""
        return sorted(self._reached)

    def closure(self, roots: Iterable[str]) -> set[str]:
        """`roots` and all that they cannot be loaded without."""
        found: set[str] = set()
        for root in roots:
            blob: str | None = root
            while blob is not None and blob not in found:
                found.add(blob)
                blob = next(iter(self._needs_of(blob)), None)
        return found

    def _take(self, entry: LogEntry) -> None:
        if entry.world in self._without or decode_header(entry).kind not in KINDS_THAT_NAME:
            return
        _, body = decode(entry)
        if isinstance(body, Purge):
            self._named.pop(entry.world, None)
        elif body is not None:
            self._named.setdefault(entry.world, {}).update(dict.fromkeys(blobs_named(body)))

    def _needs_of(self, blob: str) -> list[str]:
        """A blob that is no heap (an engine, data) needs nothing else."""
        needs = self._needs.get(blob)
        if needs is None:
            content = self._blobs.get(blob)
            is_heap = content.startswith(heaps.MAGIC)
            needs = self._needs[blob] = heaps.references(blob, content) if is_heap else []
        return needs


def blobs_named(body: Body) -> Iterator[str]:
    """The blobs that a record names."""
    match body:
        case Genesis():
            yield body.engine_blob
            yield body.heap.blob
        case Revision():
            yield body.heap.blob
        case Checkpoint():
            yield body.heap.blob
            yield body.data_blob
