"""What `pw doctor` finds of a machine and a data directory, and `pw backup --restore`. Neither needs a server."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterator
from typing import Any

import msgspec

from engine import limits
from engine.host.images import root_of
from engine.host.landing import DIRECTORY as LANDING_DIRECTORY
from engine.host.machine import engine_wasm
from engine.host.opening import LOCK, CannotOpen, is_marked
from engine.io.disk import DirectoryLocked, DiskError
from engine.io.real_disk import RealDisk
from engine.io.real_entropy import RealEntropy
from engine.logic import EngineRefused, load_engine
from engine.record import backup
from engine.record.verify import verify

_OURS = {
    "log": re.compile(r"\d{10}\.(seg|idx)(\.erase|\.tmp)?\Z|HEAD(\.tmp)?\Z|RESERVE\Z|aside\Z"),
    "blobs": re.compile(r"[0-9a-f]{2}\Z|new\Z|rotten\Z"),
}
"""What the names in a directory of ours look like."""


class Finding(msgspec.Struct, frozen=True):
    """One line of the doctor's: `level` is ok, note or problem; `advice` is empty where nothing need be done."""

    level: str
    where: str
    what: str
    advice: str = ""


def doctor(home: str) -> list[Finding]:
    """All that can be said of this machine and of the directory, which is not changed."""
    return [*_machine(), *_directory(home)]


def restore(source: str, home: str) -> dict[str, Any]:
    """Verify a backup and copy it into the empty directory `home`. Raises CannotOpen."""
    if not os.path.isdir(source):
        raise CannotOpen(f"{source}: there is no such directory; give the one that `pw backup` wrote")
    try:
        manifest = backup.restore(RealDisk(source), RealDisk(home), RealEntropy(), root_of=root_of)
    except (backup.BackupRefused, DiskError) as error:
        raise CannotOpen(str(error)) from None
    return {"worlds": manifest.worlds, "records": manifest.records, "blobs": manifest.blobs, "home": home}


def _machine() -> Iterator[Finding]:
    yield Finding("ok", "python", platform.python_version())
    try:
        engine = load_engine(engine_wasm())
    except (CannotOpen, EngineRefused) as error:
        yield Finding("problem", "engine", str(error), "Run: make setup")
        return
    yield Finding("ok", "engine", engine.identity)
    if engine.path == "c":
        yield Finding("ok", "vm path", "c")
    else:
        yield Finding(
            "note",
            "vm path",
            f"python: {engine.native_reason}. Results are the same, calls take longer",
            "Install a C compiler and Python's headers, then: make setup",
        )
    for tool, purpose in (
        ("node", "comparing libraries with Node in the tests and benchmarks"),
        ("chromium", "tests of pages in a browser"),
    ):
        found = shutil.which(tool)
        yield Finding(
            "ok" if found else "note", tool, "found" if found else f"missing; only used for {purpose}"
        )


def _directory(home: str) -> Iterator[Finding]:
    if not os.path.isdir(home):
        yield Finding(
            "problem", home, "there is no such directory", "Give the right --home; pw serve makes a new one"
        )
        return
    disk = RealDisk(home)
    yield from _space(disk)
    try:
        marked = is_marked(disk)
    except (CannotOpen, DiskError) as error:
        yield Finding("problem", home, str(error))
        return
    if marked:
        yield from _content(disk)
    else:
        yield Finding("note", home, "the directory is empty", "pw serve makes it a data directory")


def _space(disk: RealDisk) -> Iterator[Finding]:
    free_bytes = disk.free_bytes()
    if free_bytes < limits.DISK_WARN_BYTES_FREE:
        yield Finding("problem", "disk", f"only {free_bytes // limits.MIB} MiB are free", "Make room")
    else:
        yield Finding("ok", "disk", f"{free_bytes // limits.MIB} MiB are free")


def _content(disk: RealDisk) -> Iterator[Finding]:
    """What the log, the blobs and the projection hold; only where no server has them open.

    Without a lock file none has: it is not made, for nothing in the directory is changed.
    """
    try:
        lock = disk.lock(LOCK, create=False) if disk.exists(LOCK) else None
    except DirectoryLocked:
        yield Finding(
            "note",
            "directory",
            "a server has it open, so its content was not verified",
            "Stop the server first, or verify a backup: pw backup DIR, then pw doctor --home DIR",
        )
        return
    try:
        problems = verify(disk, RealEntropy(), root_of=root_of)
    finally:
        if lock is not None:
            lock.release()
    yield from _foreign(disk)
    for name in disk.list(LANDING_DIRECTORY):
        yield Finding(
            "note",
            f"{LANDING_DIRECTORY}/{name}",
            "the import of this world was cut off: it is not there for anybody",
            f"Import the same recording again to go on, or end it: pw purge {name} --confirm {name}",
        )
    for problem in problems:
        at = "" if problem.seq is None else f", record {problem.seq}"
        at += "" if problem.offset_bytes is None else f", byte {problem.offset_bytes}"
        yield Finding("problem", f"{problem.place}{at}", problem.what, problem.advice)
    if not problems:
        yield Finding("ok", "directory", "the log, all blobs and the projection are sound")


def _foreign(disk: RealDisk) -> Iterator[Finding]:
    """Files that somebody else put between ours: they do no harm."""
    for directory, ours in _OURS.items():
        for name in disk.list(directory):
            if not ours.match(name):
                yield Finding(
                    "note", f"{directory}/{name}", "is no file of ours and is not read", "Move it away"
                )
