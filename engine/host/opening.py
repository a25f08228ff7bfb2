"""Opening a data directory: lock, format, log, blobs, engine, projection, in that order. Nothing is overwritten.

Layout below the home: FORMAT, LOCK, log/, blobs/, projection/ (can be rebuilt), inflight (unsynced), operator-token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine import limits
from engine.host.engines import Engines
from engine.host.images import Images, Pins
from engine.host.ledger import Ledger
from engine.host.parts import Parts
from engine.io.blobs import BlobError
from engine.io.disk import DirectoryLocked, Disk, DiskError, FileMissing, Lock, read_file, write_file_durably
from engine.io.entropy import Entropy
from engine.io.file_blobs import FileBlobs
from engine.io.file_log import FileLog
from engine.io.log import LogError
from engine.logic import Engine, HeapImage, VmPool
from engine.record.inflight import InFlight
from engine.record.records import RecordRefused

FORMAT = b"flickworld data directory 1\n"
LOCK = "LOCK"


class CannotOpen(Exception):
    """The directory cannot be served as it is: what, where, and what to do. Nothing in it was changed."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The engine as this process has it: compiled, pooled, and booted to the first heap."""

    engine: Engine
    pool: VmPool
    genesis: HeapImage
    prelude_version: int
    load: Callable[[bytes], tuple[Engine, VmPool]]


def open_parts(
    disk: Disk,
    entropy: Entropy,
    machine: Machine,
    *,
    segment_bytes_max: int = limits.LOG_SEGMENT_BYTES_MAX,
) -> Parts:
    """All parts, opened and checked. Raises CannotOpen."""
    try:
        is_marked(disk)  # what is not ours gets no file of ours, the lock included
        lock = disk.lock(LOCK)
    except DirectoryLocked as error:
        raise CannotOpen(
            f"another server runs on this directory ({error}). Stop it, or give this one another --home"
        ) from None
    except DiskError as error:
        raise CannotOpen(f"{error}\nNothing was overwritten") from error
    try:
        return _opened(disk, entropy, machine, lock, segment_bytes_max)
    except (LogError, BlobError, RecordRefused, DiskError) as error:
        lock.release()
        raise CannotOpen(f"{error}\nNothing was overwritten. `pw doctor` says more") from error
    except BaseException:
        lock.release()
        raise


def _opened(disk: Disk, entropy: Entropy, machine: Machine, lock: Lock, segment_bytes_max: int) -> Parts:
    check_format(disk)
    log = FileLog(disk, entropy, segment_bytes_max=segment_bytes_max)
    blobs = FileBlobs(disk)
    pins = Pins()
    engines = Engines(machine.engine, machine.pool, blobs, machine.load, pins)
    images = Images(blobs, pins)
    genesis_heap = images.begin(machine.genesis)
    ledger = Ledger(disk, log)
    return Parts(
        disk=disk,
        entropy=entropy,
        log=log,
        blobs=blobs,
        ledger=ledger,
        inflight=InFlight(disk),
        engines=engines,
        images=images,
        pins=pins,
        genesis_heap=genesis_heap,
        prelude_version=machine.prelude_version,
        lock=lock,
    )


def check_format(disk: Disk) -> None:
    """Refuse a directory that is not ours to open; mark an empty one as ours."""
    if not is_marked(disk):
        write_file_durably(disk, "FORMAT", FORMAT)


def is_marked(disk: Disk) -> bool:
    """Whether the directory is one of this version; False where it is empty. Nothing is changed.

    Raises CannotOpen for another version's, or one that is something else.
    """
    try:
        found = read_file(disk, "FORMAT")
    except FileMissing:
        others = [name for name in disk.list("") if name not in (LOCK, "operator-token", "FORMAT.tmp")]
        if others:
            raise CannotOpen(
                f"FORMAT: missing, but the directory holds {', '.join(others[:5])}. It is not a Flickworld data "
                "directory, or it lost a file: give another --home, or restore a backup"
            ) from None
        return False
    if found != FORMAT:
        raise CannotOpen(
            f"FORMAT: says {found[:60]!r}; this version reads {FORMAT!r}. "
            "Open the directory with the version that wrote it"
        )
    return True
