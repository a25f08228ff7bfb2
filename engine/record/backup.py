"""Backups: the durable records up to a head and the blobs that they need, as a directory of their own.

The copy is a new log with the same records: chains and erased bodies are as they were, batches and segments
are not (they belong to a log alone, Invariant 19). The source goes on meanwhile; only collection and erasing
must wait. What can be derived (the projection) or belongs to a process (what is in flight) is not copied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import msgspec

from engine.io.blobs import Blobs
from engine.io.disk import Disk, FileMissing, read_file, write_file_durably
from engine.io.entropy import Entropy
from engine.io.file_blobs import FileBlobs
from engine.io.file_log import FileLog
from engine.io.log import Log, LogEntry, LogHead
from engine.io.shadow_disk import ShadowDisk
from engine.limits import LOG_BATCH_BYTES_MAX, LOG_BATCH_RECORDS_MAX
from engine.record.collection import Marker
from engine.record.verify import RootOf, verify

FORMAT_FILE = "FORMAT"
MANIFEST_FILE = "BACKUP"
MANIFEST_FORMAT = 1
_BLOBS_AT_ONCE = 64


class BackupRefused(Exception):
    """The target is not empty, or what should be copied is not sound: what, where, what to do."""


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a backup holds. It is written last: a directory without it is no finished backup."""

    format: int
    records: int
    worlds: int
    blobs: int
    head_batch: int
    head_hash: str


class BackedUp(msgspec.Struct, frozen=True):
    """A finished copy. `source_batch` is the source's batch up to which it goes."""

    manifest: Manifest
    source_batch: int
    copied_bytes: int

    def report(self) -> dict[str, Any]:
        counts = {name: getattr(self.manifest, name) for name in ("records", "worlds", "blobs")}
        return {**counts, "source_batch": self.source_batch, "copied_bytes": self.copied_bytes}


def back_up(
    log: Log,
    blobs: Blobs,
    target: Disk,
    entropy: Entropy,
    *,
    format_file: bytes,
    root_of: RootOf | None = None,
    until: LogHead | None = None,
    without: Collection[str] = (),
) -> BackedUp:
    """Copy all that is durable (up to `until`, or now) into the empty directory `target`, and verify the copy.

    `format_file` is what the source's FORMAT says, `without` are worlds that are not whole: they are left out.
    Raises BackupRefused, DiskError, and what reading the source raises: then the target has no manifest.
    """
    source = _Source(log, blobs, until or log.head(), without)
    done = _copy(source, target, entropy, format_file, root_of)
    content = msgspec.json.format(msgspec.json.encode(done.manifest)) + b"\n"
    write_file_durably(target, MANIFEST_FILE, content)
    return done


def restore(backup: Disk, target: Disk, entropy: Entropy, *, root_of: RootOf | None = None) -> Manifest:
    """Verify a backup and copy it into the empty directory `target`; nothing of the backup changes.

    Raises BackupRefused, DiskError: then `target` is not to be used.
    """
    _refuse_unless_empty(target)
    manifest = _manifest_of(backup)
    problems = verify(backup, entropy, root_of=root_of)
    if problems:
        raise BackupRefused(f"the backup is not sound, so nothing was copied: {problems[0]}")
    shadow = ShadowDisk(backup)
    log = FileLog(shadow, entropy)
    if log.head() != LogHead(manifest.head_batch, manifest.head_hash):
        raise BackupRefused(
            f"{MANIFEST_FILE} says that the log ends with batch {manifest.head_batch} ({manifest.head_hash}), "
            f"it ends with batch {log.head().batch} ({log.head().hash}): it is not the log of this backup"
        )
    format_file = read_file(backup, FORMAT_FILE)
    source = _Source(log, FileBlobs(shadow), log.head())
    copied = _copy(source, target, entropy, format_file, root_of).manifest
    assert (copied.records, copied.worlds, copied.blobs) == (
        manifest.records,
        manifest.worlds,
        manifest.blobs,
    )
    return manifest


class _Source(NamedTuple):
    """What is copied: the records up to a head, but for those of some worlds, and the blobs that they need."""

    log: Log
    blobs: Blobs
    until: LogHead
    without: Collection[str] = ()


def _copy(
    source: _Source, target: Disk, entropy: Entropy, format_file: bytes, root_of: RootOf | None
) -> BackedUp:
    """Blobs before the records that name them (Invariant 7), FORMAT after both, then verify."""
    _refuse_unless_empty(target)
    names, copied_bytes = _copy_blobs(source, target)
    copy = FileLog(target, entropy)
    records = 0
    for batch in _regrouped(source):
        copy.append(batch)
        records += len(batch)
        copied_bytes += sum(map(_bytes_of, batch))
    copy.seal()
    head, worlds = copy.head(), len(copy.worlds())
    copy.close()
    write_file_durably(target, FORMAT_FILE, format_file)
    problems = verify(target, entropy, root_of=root_of)
    if problems:
        raise BackupRefused(f"the copy is not sound: {problems[0]}. Run pw doctor on the source")
    manifest = Manifest(MANIFEST_FORMAT, records, worlds, len(names), head.batch, head.hash)
    return BackedUp(manifest, source.until.batch, copied_bytes)


def _copy_blobs(source: _Source, target: Disk) -> tuple[list[str], int]:
    blobs = source.blobs
    marker = Marker(blobs, source.without)
    marker.catch_up(source.log, source.until)
    names, copied_bytes = marker.reached(), 0
    copy = FileBlobs(target)
    for start in range(0, len(names), _BLOBS_AT_ONCE):
        contents = [blobs.get(name) for name in names[start : start + _BLOBS_AT_ONCE]]
        copy.put_many(contents)
        copied_bytes += sum(map(len, contents))
    return names, copied_bytes


def _regrouped(source: _Source) -> Iterator[list[LogEntry]]:
    """The records in their order, in batches as large as they may be."""
    batch: list[LogEntry] = []
    size_bytes = 0
    for head, entries in source.log.scan():
        if head.batch > source.until.batch:
            break
        for _, entry in entries:
            if entry.world in source.without:
                continue
            if batch and (
                len(batch) == LOG_BATCH_RECORDS_MAX or size_bytes + _bytes_of(entry) > LOG_BATCH_BYTES_MAX
            ):
                yield batch
                batch, size_bytes = [], 0
            batch.append(entry)
            size_bytes += _bytes_of(entry)
    if batch:
        yield batch


def _bytes_of(entry: LogEntry) -> int:
    return len(entry.header) + len(entry.body or b"")


def _refuse_unless_empty(target: Disk) -> None:
    names = target.list("")
    if names:
        raise BackupRefused(
            f"the target directory is not empty (it holds {', '.join(names[:5])}); name an empty or a new one"
        )


def _manifest_of(backup: Disk) -> Manifest:
    try:
        manifest = msgspec.json.decode(read_file(backup, MANIFEST_FILE), type=Manifest)
    except FileMissing:
        raise BackupRefused(
            f"{MANIFEST_FILE} is missing: this is no backup, or one that was not finished"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BackupRefused(f"{MANIFEST_FILE} does not read as one ({error}); use another backup") from None
    if manifest.format != MANIFEST_FORMAT:
        raise BackupRefused(
            f"{MANIFEST_FILE} has format {manifest.format}; this version reads {MANIFEST_FORMAT}. "
            "Restore it with the version that wrote it"
        )
    return manifest
