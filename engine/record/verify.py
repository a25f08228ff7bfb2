"""Verifying a whole data directory: what `pw doctor` says, and what makes a copy a backup. Nothing is changed.

The directory is opened by the code that serves it, on a disk that keeps all writes to itself. Then each world's chain
is followed, each blob that a record names is loaded and hashed, each checkpoint is compared with what the records
before it wrote, and the projection with one that is built anew (Invariants 7, 9 and 20).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from engine.io.blobs import BlobError, Blobs
from engine.io.disk import Disk, DiskError
from engine.io.entropy import Entropy
from engine.io.file_blobs import FileBlobs
from engine.io.file_log import FileLog
from engine.io.log import Log, LogEntry, LogError
from engine.io.log_survey import verify_log
from engine.io.shadow_disk import ShadowDisk
from engine.record import heaps
from engine.record.chain import Chain
from engine.record.checkpoints import DataBlobRefused, decode_data
from engine.record.collection import blobs_named
from engine.record.kinds import Body, Checkpoint, Genesis, HeapRef, Purge, Revision, writes_of
from engine.record.lthash import LtHash
from engine.record.problems import Problem
from engine.record.projection import Projection
from engine.record.projection.projection import FILE as PROJECTION_FILE
from engine.record.records import RecordRefused

LOG_DIRECTORY = "log"
_FROM_BACKUP = "Bring it back from a backup"
_NEEDED_TOLD_MAX = 3
_HEAPS_KNOWN_MAX = 8
_SEGMENT_COLUMN = 5  # of the projection's table of records
_RECORDS_A_STEP = 256
_NEVER_MIND = "Nothing is lost: it is derived, and the next start builds it again"

RootOf = Callable[[bytes, bytes], str]
"""The root of a heap, 64 hex digits, from its memory and its meta (the heap's own code knows how).

Raises ValueError for what is none.
"""


def verify(disk: Disk, entropy: Entropy, *, root_of: RootOf | None = None) -> list[Problem]:
    """All problems of a data directory that no server has open. With `root_of` heaps are hashed too.

    `entropy` is used for what opening would write, which is thrown away.
    """
    shadow = ShadowDisk(disk)
    problems = [_of_log(error) for error in verify_log(shadow, LOG_DIRECTORY)]
    try:
        log = FileLog(shadow, entropy, directory=LOG_DIRECTORY)
        blobs = FileBlobs(shadow)
    except LogError as error:
        return problems or [_of_log(error)]
    except DiskError as error:
        return [*problems, Problem(error.path, error.reason, "Mend the disk, then run pw doctor again")]
    problems += [_of_torn_end(path) for path in log.opening.set_aside]
    damaged = _Damaged()
    for bad in blobs.problems():
        damaged.add(bad.blob, str(bad))
    records = _Records(blobs, root_of, damaged)
    is_readable = True
    try:
        problems.extend(records.verify(log))
    except LogError as error:  # in what an index vouched for: found when it is read
        is_readable = False
        problems += [] if problems else [_of_log(error)]
    problems += damaged.problems()
    if is_readable and not records.unreadable:
        problems += _verify_projection(shadow, log)
    return problems


class Verifying(msgspec.Struct, frozen=True):
    """How far the verifying of one world is: records, those without a body, blobs that they name, what was found."""

    records: int = 0
    erased: int = 0
    blobs: int = 0
    problems: list[Problem] = []


def verify_world(log: Log, blobs: Blobs, world: str, *, root_of: RootOf | None = None) -> Iterator[Verifying]:
    """Verify one world's chain, and every blob that its records name; nothing is executed. The last step says all.

    A step takes little time, so that other work comes in between. Raises LogError.
    """
    return verify_records((entry for _, entry in log.read(world)), blobs, world, root_of=root_of)


def verify_records(
    entries: Iterable[LogEntry], blobs: Blobs, world: str, *, root_of: RootOf | None = None
) -> Iterator[Verifying]:
    """The same of records that are at hand, all of one world from its first on. Raises what going through them does."""
    damaged = _Damaged()
    records = _Records(blobs, root_of, damaged)
    problems: list[Problem] = []
    count = erased = 0
    for entry in entries:
        count += 1
        erased += entry.body is None
        problems += records.take(entry)
        if count % _RECORDS_A_STEP == 0:
            yield Verifying(count, erased, records.blobs_of(world), problems)
    blobs_count = records.blobs_of(world)
    for found in records.verify_blobs():
        problems += found
        yield Verifying(count, erased, blobs_count, problems)
    yield Verifying(count, erased, blobs_count, [*problems, *damaged.problems()])


class _Records:
    """One pass over records: chains, data, and the blobs that records name."""

    def __init__(self, blobs: Blobs, root_of: RootOf | None, damaged: _Damaged) -> None:
        self.unreadable = False
        self._damaged = damaged
        self._blobs = blobs
        self._root_of = root_of
        self._chains: dict[str, Chain] = {}
        self._data: dict[str, _Data] = {}
        # What is wrong with checkpoints: told once it is known that no purge follows, whose erasing may be half done.
        self._of_checkpoints: dict[str, list[Problem]] = {}
        self._heaps: dict[str, dict[HeapRef, int]] = {}  # of each world: where each was first named
        self._others: dict[str, dict[str, int]] = {}
        self._known: dict[str, bytes] = {}  # the heaps that were read last: the next ones stand on them

    def blobs_of(self, world: str) -> int:
        """How many blobs its records name."""
        return len(self._others.get(world, {}))

    def verify(self, log: Log) -> Iterator[Problem]:
        for _, entries in log.scan():
            for _, entry in entries:
                yield from self.take(entry)
        for found in self.verify_blobs():
            yield from found

    def take(self, entry: LogEntry) -> Iterator[Problem]:
        """The next record of its world."""
        chain = self._chains.setdefault(entry.world, Chain(entry.world))
        body, problems = chain.check(entry)
        yield from problems
        self.unreadable = self.unreadable or bool(problems)
        if body is not None:
            self._take(entry.world, entry.seq, body)

    def _take(self, world: str, seq: int, body: Body) -> None:
        data = self._data.setdefault(world, _Data())
        for write in writes_of(body):
            data.write(seq, write.key, write.value)
        match body:
            case Purge():
                for kept in (self._data, self._heaps, self._others, self._of_checkpoints):
                    kept.pop(world, None)
            case Genesis() | Revision():
                self._heaps.setdefault(world, {}).setdefault(body.heap, seq)
            case Checkpoint():
                self._heaps.setdefault(world, {}).setdefault(body.heap, seq)
                found = self._verify_checkpoint(world, seq, body, data)
                self._of_checkpoints.setdefault(world, []).extend(found)
        if not isinstance(body, Purge):
            others = self._others.setdefault(world, {})
            for blob in blobs_named(body):
                others.setdefault(blob, seq)

    def _verify_checkpoint(self, world: str, seq: int, body: Checkpoint, data: _Data) -> Iterator[Problem]:
        expected = data.digest_at(body.snapshot)
        if body.data_digest != expected:
            what = f"its checkpoint: expected the data {expected}, got {body.data_digest}"
            yield Problem(f"world {world}", what, _FROM_BACKUP, seq)
        try:
            rows = decode_data(body.data_blob, self._blobs.get(body.data_blob))
        except DataBlobRefused as refused:
            yield Problem(f"blob {refused.blob}", refused.reason, _FROM_BACKUP, seq)
        except BlobError:
            return  # missing or rotten: told where blobs are verified
        else:
            held = LtHash(rows).digest()
            if held != body.data_digest:
                what = f"expected the data {body.data_digest}, got {held}"
                yield Problem(f"blob {body.data_blob}", what, _FROM_BACKUP, seq)

    def verify_blobs(self) -> Iterator[list[Problem]]:
        """What is wrong with checkpoints, and with each blob that a record names; of some `damaged` hears instead."""
        yield from self._of_checkpoints.values()
        told: set[str | HeapRef] = set()  # membership only
        heap_blobs = {ref.blob for refs in self._heaps.values() for ref in refs}
        for world, named in self._others.items():
            for blob, seq in named.items():
                if self._damaged.has(blob) or not self._blobs.has(blob):
                    self._damaged.add(blob, "missing")
                    self._damaged.needed(blob, world, seq)
                    told.add(blob)
                elif blob not in heap_blobs:
                    self._verify_other(world, seq, blob)
                yield []
        for world, refs in self._heaps.items():
            for ref, seq in refs.items():
                if ref not in told and ref.blob not in told:
                    told.add(ref)
                    yield list(self._verify_heap(world, seq, ref))

    def _verify_other(self, world: str, seq: int, blob: str) -> None:
        try:
            self._blobs.get(blob)
        except BlobError as error:
            self._damaged.add(blob, str(error))
            self._damaged.needed(blob, world, seq)

    def _verify_heap(self, world: str, seq: int, ref: HeapRef) -> Iterator[Problem]:
        try:
            heap = heaps.load(self._blobs, ref.blob, known=self._known)
        except (BlobError, heaps.HeapRefused) as error:
            self._damaged.add(error.blob, str(error))
            self._damaged.needed(error.blob, world, seq)
            return
        self._known[ref.blob] = memory = bytes(heap.memory)
        if len(self._known) > _HEAPS_KNOWN_MAX:
            self._known.pop(next(iter(self._known)))
        try:
            root = self._root_of(memory, heap.meta) if self._root_of else ref.root
        except ValueError as error:
            self._damaged.add(ref.blob, f"it is no heap of an engine ({error})")
            self._damaged.needed(ref.blob, world, seq)
            return
        if root != ref.root:
            what = f"record {seq} of world {world} expects the heap {ref.root}, it holds {root}"
            yield Problem(f"blob {ref.blob}", what, _FROM_BACKUP, seq)


class _Damaged:
    """The blobs that are missing or damaged, each with what stands on it: one problem a blob."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}
        self._needed: dict[str, dict[tuple[str, int], None]] = {}  # (world, record), in the order of the log

    def has(self, blob: str) -> bool:
        return blob in self._reasons

    def add(self, blob: str, reason: str) -> None:
        """The first reason counts."""
        self._reasons.setdefault(blob, reason.removeprefix("heap ").removeprefix(f"blob {blob}: "))

    def needed(self, blob: str, world: str, seq: int) -> None:
        self._needed.setdefault(blob, {})[world, seq] = None

    def problems(self) -> Iterator[Problem]:
        for blob, reason in self._reasons.items():
            needed = [f"record {seq} of world {world}" for world, seq in self._needed.get(blob, {})]
            by = ", ".join(needed[:_NEEDED_TOLD_MAX])
            if len(needed) > _NEEDED_TOLD_MAX:
                by += f" and {len(needed) - _NEEDED_TOLD_MAX} more"
            what = f"{reason}; needed by {by}" if needed else reason
            yield Problem(f"blob {blob}", what, _FROM_BACKUP)


class _Data:
    """A world's data as its records wrote it."""

    def __init__(self) -> None:
        self._rows: dict[str, bytes] = {}
        self._before: list[
            tuple[int, str, bytes | None]
        ] = []  # (record, key, what it held) since a checkpoint

    def write(self, seq: int, key: str, value: bytes | None) -> None:
        self._before.append((seq, key, self._rows.get(key)))
        _put(self._rows, key, value)

    def digest_at(self, snapshot: int) -> str:
        """The digest as it was at a sequence since the last checkpoint; what is older is forgotten."""
        rows = dict(self._rows)
        for seq, key, value in reversed(self._before):
            if seq > snapshot:
                _put(rows, key, value)
        self._before = [entry for entry in self._before if entry[0] > snapshot]
        return LtHash(rows.items()).digest()


def _put(rows: dict[str, bytes], key: str, value: bytes | None) -> None:
    if value is None:
        rows.pop(key, None)
    else:
        rows[key] = value


def _verify_projection(shadow: ShadowDisk, log: Log) -> Iterator[Problem]:
    try:
        there = Projection(shadow, log)
        anew = Projection(None, log)
    except RecordRefused as refused:
        yield Problem(f"world {refused.world}", refused.reason, _FROM_BACKUP, refused.seq)
        return
    damage = [there.rebuilt] if there.rebuilt is not None else there.damage()
    yield from (Problem(PROJECTION_FILE, what, _NEVER_MIND) for what in damage)
    rebuilt = anew.dump()
    for table, rows in there.dump().items():
        rows, again = _placeless(table, rows), _placeless(table, rebuilt[table])
        if rows != again:
            at = next(i for i, pair in enumerate(_padded(rows, again)) if pair[0] != pair[1])
            what = f"Invariant 9: table {table} differs from the log's at row {at}"
            yield Problem(PROJECTION_FILE, what, "Remove the file; the next start builds it again")


def _placeless(table: str, rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Without the segment of a record's cursor: a batch is found by its number, also where an opening has written it
    again in another segment since.
    """
    if table != "records":
        return rows
    return [(*row[:_SEGMENT_COLUMN], *row[_SEGMENT_COLUMN + 1 :]) for row in rows]


def _padded(
    left: list[tuple[object, ...]], right: list[tuple[object, ...]]
) -> Iterator[tuple[object, object]]:
    for at in range(max(len(left), len(right))):
        yield (left[at] if at < len(left) else None, right[at] if at < len(right) else None)


def _of_torn_end(aside: str) -> Problem:
    what = f"unreadable bytes follow the last batch; the next start sets them aside as {aside}"
    return Problem(
        LOG_DIRECTORY, what, "Nothing that was acknowledged is in them: a write or a seal was cut off"
    )


def _of_log(error: LogError) -> Problem:
    offset_bytes = error.offset_bytes if error.offset_bytes >= 0 else None
    return Problem(error.file or LOG_DIRECTORY, error.reason, _FROM_BACKUP, offset_bytes=offset_bytes)
