"""The in-flight file: what runs now, so that the next process can say what this one's end interrupted.

It is never synced: it is there for the end of a process, and what a loss of power leaves of it is checked against the
log. One slot an operation, written when it starts and wiped when its outcome is durable; what does not fit in a slot
goes to a file beside it. Slot, little-endian: magic 4 | state u8 | 3 zeros | seq i64 | length u32 | tag 16 | payload.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

import msgspec
from blake3 import blake3

from engine import limits
from engine.io.disk import Disk, DiskError, read_file
from engine.io.log import Log
from engine.record.canonical import NotCanonical, from_bytes, to_bytes
from engine.record.kinds import Call, Interrupted, Preview, Request
from engine.record.records import decode

DIRECTORY = "inflight"
SLOTS_FILE = f"{DIRECTORY}/slots"
_MAGIC = b"IF1\n"
_HEAD = struct.Struct("<4sB3xqI16s")
_MARK = struct.Struct("<B3xq")
_MARK_AT_BYTES = 4
_FREE, _RUNNING, _DRAFTED = 0, 1, 2
_SLOT_BYTES = limits.INFLIGHT_SLOT_BYTES
_INLINE_BYTES_MAX = _SLOT_BYTES - _HEAD.size

_ATTEMPTED = ("revision", "unchanged", "rejection", "held")
_OUTCOMES: dict[str, tuple[str, ...]] = {
    "call": ("call",),
    "execute": ("preview",),
    "develop": _ATTEMPTED,
    "rollback": _ATTEMPTED,
    "upgrade": _ATTEMPTED,
    "bless": _ATTEMPTED,
    "pin": ("golden-pinned", "rejection"),
    "unpin": ("golden-unpinned",),
    "rejectheld": ("held-rejected",),
    "editdata": ("data-edit",),
    "restoredata": ("data-restored",),
    "describe": ("describe",),
    "purge": ("purge",),
    "trycall": ("preview",),
    "enrol": ("check-enrolled", "rejection"),
    "removecheck": ("check-removed",),
    "closeincident": ("incident-closed",),
    "grant": ("granted",),
    "setpage": ("page-set",),
    "checkpoint": ("checkpoint",),
}


class Work(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One operation in flight. `operation` is a key of `_OUTCOMES`; `subject` its function, source or expression.

    `snapshot` is the world's sequence at its start; `work` identifies the same work when it is asked for again.
    """

    world: str
    operation: str
    subject: str
    args: bytes
    revision: int
    snapshot: int
    flick: int
    seed: int
    work: str
    request: Request | None
    asks_as: str | None = None


class Leftover(msgspec.Struct, frozen=True):
    """An operation of a process that ended. `drafted_seq` is the record that it was about to become, or None."""

    slot: int
    work: Work
    drafted_seq: int | None

    def body(self, *, deaths_before: int, asks_as: str | None = None) -> Interrupted:
        """The record of its interruption, but for the incident's number.

        `asks_as` is the name under which it asked other worlds, where its request does not say it. `deaths_before`
        counts earlier ends of a process under the same work. Work that had ended before the process did killed nothing.
        """
        work = self.work
        deaths = deaths_before + (self.drafted_seq is None)
        return Interrupted(
            incident=0,
            operation=work.operation,
            subject=work.subject,
            args=work.args,
            revision=work.revision,
            admitted_flick=work.flick,
            work=work.work,
            deaths=deaths,
            quarantined=deaths >= limits.INFLIGHT_DEATHS_MAX,
            request=work.request,
            snapshot=work.snapshot,
            seed=work.seed,
            asks_as=asks_as,
        )


class InFlight:
    """The file of this process. `torn` counts slots that were unreadable when it was opened."""

    def __init__(self, disk: Disk) -> None:
        """Raises DiskError."""
        self._disk = disk
        disk.make_dir(DIRECTORY)
        self._file = disk.open(SLOTS_FILE, create=True)
        self._content_bytes: dict[int, int] = {}
        self._leftovers: list[Leftover] = []
        self.torn = 0
        self._survey()
        taken = set(self._content_bytes)  # membership only
        self._slots = max(limits.INFLIGHT_SLOTS, *(slot + 1 for slot in self._content_bytes), 0)
        self._free = [slot for slot in reversed(range(self._slots)) if slot not in taken]
        self._reserve()

    def add(self, work: Work) -> int:
        """Remember an operation that starts; its slot. Raises DiskError: then it must not start."""
        assert work.operation in _OUTCOMES, f"{work.operation} is an operation that records an outcome"
        payload = to_bytes(work)
        slot = self._take()
        head = _HEAD.pack(_MAGIC, _RUNNING, -1, len(payload), _tag(slot, payload))
        try:
            if len(payload) > _INLINE_BYTES_MAX:
                self._write_beside(slot, payload)
                self._file.write_at(slot * _SLOT_BYTES, head)
                self._content_bytes[slot] = -1
            else:
                self._file.write_at(slot * _SLOT_BYTES, head + payload)
                self._content_bytes[slot] = _HEAD.size + len(payload)
        except DiskError:
            self._free.append(slot)
            raise
        return slot

    def drafted(self, slot: int, seq: int) -> None:
        """Its work is done; its outcome is on the way to be record `seq`. Raises DiskError."""
        mark = _MARK.pack(_DRAFTED, seq)
        self._file.write_at(slot * _SLOT_BYTES + _MARK_AT_BYTES, mark)

    def remove(self, slot: int) -> None:
        """Its outcome is durable, or it never was admitted. Raises DiskError."""
        content_bytes = self._content_bytes.pop(slot)
        if content_bytes < 0:
            self._disk.remove(_beside(slot))
            content_bytes = _HEAD.size
        self._file.write_at(slot * _SLOT_BYTES, bytes(content_bytes))
        self._free.append(slot)

    def unsettled(self, log: Log) -> list[Leftover]:
        """What the last process left without an outcome in the log (Invariant 16), in the order of its slots.

        Each stays in the file until it is removed; those with an outcome are removed here. Raises DiskError.
        """
        unsettled = _without_outcome(self._leftovers, log)
        kept = [left.slot for left in unsettled]
        for left in self._leftovers:
            if left.slot not in kept:
                self.remove(left.slot)
        self._leftovers = unsettled
        return list(unsettled)

    def close(self) -> None:
        """At a clean end, when nothing is in flight."""
        if not self._content_bytes:
            try:
                self._file.truncate(0)
            except DiskError:
                pass
        self._file.close()

    def _take(self) -> int:
        if not self._free:
            self._free.append(self._slots)
            self._slots += 1
        return self._free.pop()

    def _survey(self) -> None:
        content = self._file.read_at(0, self._file.size())
        content += bytes(-len(content) % _SLOT_BYTES)
        for slot in range(len(content) // _SLOT_BYTES):
            start = slot * _SLOT_BYTES
            if content[start : start + _HEAD.size].count(0) == _HEAD.size:
                continue
            self._survey_slot(slot, content[start : start + _SLOT_BYTES])

    def _survey_slot(self, slot: int, content: bytes) -> None:
        magic, state, seq, length_bytes, tag = _HEAD.unpack_from(content)
        inline = length_bytes <= _INLINE_BYTES_MAX
        try:
            payload = (
                content[_HEAD.size : _HEAD.size + length_bytes]
                if inline
                else read_file(self._disk, _beside(slot))
            )
            if magic != _MAGIC or state not in (_RUNNING, _DRAFTED) or tag != _tag(slot, payload):
                raise NotCanonical("not as written")
            work = from_bytes(Work, payload)
            if work.operation not in _OUTCOMES:
                raise NotCanonical("another version's operation")
        except (NotCanonical, DiskError):
            self.torn += 1
            return
        self._content_bytes[slot] = _HEAD.size + length_bytes if inline else -1
        self._leftovers.append(Leftover(slot, work, seq if state == _DRAFTED else None))

    def _reserve(self) -> None:
        """Wipe all slots but the leftovers', which also takes their space before the disk is full."""
        kept = [left.slot for left in self._leftovers]
        for name in self._disk.list(DIRECTORY):
            if name.isdecimal() and int(name) not in kept:
                self._disk.remove(_beside(int(name)))
        begin = 0
        for slot in [*kept, self._slots]:
            if slot > begin:
                self._file.write_at(begin * _SLOT_BYTES, bytes((slot - begin) * _SLOT_BYTES))
            begin = slot + 1

    def _write_beside(self, slot: int, payload: bytes) -> None:
        file = self._disk.open(_beside(slot), create=True)
        try:
            file.truncate(0)
            file.write_at(0, payload)
        finally:
            file.close()


def _without_outcome(leftovers: Iterable[Leftover], log: Log) -> list[Leftover]:
    """Each record settles one leftover at most; those that said which record they would be choose first.

    A world that is not in the log never began, nor did its operations.
    """
    without: list[Leftover] = []
    used: set[tuple[str, int]] = set()  # membership only
    for left in sorted(leftovers, key=lambda left: (left.drafted_seq is None, left.slot)):
        seq = _outcome_of(left, log, used)
        if seq is not None:
            used.add((left.work.world, seq))
        elif log.last(left.work.world) is not None:
            without.append(left)
    return sorted(without, key=lambda left: left.slot)


def _outcome_of(left: Leftover, log: Log, used: set[tuple[str, int]]) -> int | None:
    """The sequence of the record that ended this operation."""
    work = left.work
    for _, entry in log.read(work.world, work.snapshot + 1):
        if (work.world, entry.seq) in used:
            continue
        header, body = decode(entry)
        if header.kind == "interrupted" and isinstance(body, Interrupted):
            # Whichever record it was to become: this one says that it did not, and that note may be back.
            if (body.admitted_flick, body.seed, body.work) == (work.flick, work.seed, work.work):
                return entry.seq
        elif left.drafted_seq in (None, entry.seq) and header.kind in _OUTCOMES[work.operation]:
            drawn = (body.flick, body.seed) if isinstance(body, Call | Preview) else (header.flick, work.seed)
            if drawn == (work.flick, work.seed):
                return entry.seq
    return None


def _tag(slot: int, payload: bytes) -> bytes:
    """Over the payload and its place: what a torn or misdirected write leaves has no valid tag."""
    return blake3(payload + slot.to_bytes(4, "little")).digest(length=16)


def _beside(slot: int) -> str:
    return f"{DIRECTORY}/{slot}"
