"""A world's data as rows with versions: what jobs read at their sequences and commits are checked against.

Each key has its newest version and, while some job may still look at them, the versions before it. Writes
enter when their record is drafted, so that later commits are validated against them, and can be read only
once it is durable (Invariant 1). Keys are ordered by code point, which is the order of Python's str, lone
surrogates included.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from sortedcontainers import SortedDict

from engine import limits
from engine.hub.messages import Read, Write

# A version is (sequence that wrote it, JSON text or None where it was deleted).
Version = tuple[int, bytes | None]
Rows = list[tuple[str, bytes]]


class VersionedData:
    """Rows of one world between `floor_seq` (the oldest readable sequence) and the newest drafted write.

    Not thread-safe: whoever reads from other threads holds the lock under which the hub is stepped.
    """

    __slots__ = ("_changes", "_newest", "_older", "durable_seq", "floor_seq", "newest_seq")

    def __init__(self, rows: Iterable[tuple[str, bytes]], durable_seq: int) -> None:
        """`rows` is the state at `durable_seq`."""
        self._newest: SortedDict = SortedDict((key, (durable_seq, value)) for key, value in rows)
        self._older: dict[str, list[Version]] = {}  # oldest first
        self._changes: deque[tuple[int, str]] = deque()  # every write after the floor, in order
        self.floor_seq = durable_seq
        self.durable_seq = durable_seq
        self.newest_seq = durable_seq  # no write is newer, drafted ones included

    def get(self, key: str, at_seq: int) -> bytes | None:
        """The JSON text under `key` as of `at_seq`, or None where there is none."""
        assert self.floor_seq <= at_seq <= self.durable_seq, "Invariant 1"
        version = self._newest.get(key)
        if version is None:
            return None
        if version[0] <= at_seq:
            return version[1]
        return self._value_before(key, at_seq)

    def surely_lacks(self, key: str) -> bool:
        """Whether there is nothing under `key`, whatever becomes of the drafts (Invariant 1)."""
        version = self._newest.get(key)
        return version is None or (version[1] is None and version[0] <= self.durable_seq)

    def list(self, prefix: str, after: str | None, limit: int | None, at_seq: int) -> Rows:
        """The rows under `prefix` past the key `after` as of `at_seq`, by code point, at most `limit`."""
        assert self.floor_seq <= at_seq <= self.durable_seq, "Invariant 1"
        rows: Rows = []
        if limit is not None and limit <= 0:
            return rows
        newest = self._newest
        if after is not None and after >= prefix:
            keys = newest.irange(minimum=after, inclusive=(False, True))
        else:
            keys = newest.irange(minimum=prefix)
        for key in keys:
            if not key.startswith(prefix):
                break
            seq, value = newest[key]
            if seq > at_seq:
                value = self._value_before(key, at_seq)
            if value is not None:
                rows.append((key, value))
                if len(rows) == limit:
                    break
        return rows

    def writes_to(self, prefix: str, rows: Iterable[tuple[str, bytes]]) -> tuple[Write, ...]:
        """What makes `rows` of all keys with the prefix, as they are with the drafts; by code point."""
        newest: dict[str, bytes | None] = {}
        for key in self._newest.irange(minimum=prefix):
            if not key.startswith(prefix):
                break
            newest[key] = self._newest[key][1]
        return writes_between(newest, dict(rows))

    def apply(self, seq: int, writes: Sequence[Write]) -> None:
        """Enter the writes of the record drafted as `seq`; of two to one key the last counts."""
        assert seq > self.newest_seq, "writes enter in the order of their records"
        newest = self._newest
        for write in writes:
            key = write.key
            version = newest.get(key)
            if version is None or version[0] != seq:
                self._changes.append((seq, key))
                if version is not None:
                    self._older.setdefault(key, []).append(version)
            newest[key] = (seq, write.value)
        if writes:
            self.newest_seq = seq

    def settle(self, seq: int) -> None:
        """Records up to `seq` are durable: their writes can be read."""
        assert seq >= self.durable_seq
        self.durable_seq = seq

    def drop_drafts(self) -> None:
        """Forget every write that is not durable, as if it had never been drafted."""
        changes = self._changes
        while changes and changes[-1][0] > self.durable_seq:
            _, key = changes.pop()
            older = self._older.get(key)
            if older:
                self._newest[key] = older.pop()
                if not older:
                    del self._older[key]
            else:
                del self._newest[key]
        self.newest_seq = changes[-1][0] if changes else self.floor_seq

    def prune(self, floor_seq: int) -> None:
        """No job looks at a sequence before `floor_seq` any more: drop what only such a job could see."""
        assert floor_seq <= self.durable_seq, "what a fallback returns to is kept"
        if floor_seq <= self.floor_seq:
            return
        self.floor_seq = floor_seq
        if self.newest_seq < floor_seq:
            self.newest_seq = floor_seq
        changes = self._changes
        while changes and changes[0][0] <= floor_seq:
            self._prune_key(*changes.popleft())

    def changed_since(self, reads: Sequence[Read], seq: int) -> str | None:
        """The first key that was read and was written after `seq`, drafts included; None if there is none."""
        assert seq >= self.floor_seq, "tombstones since the snapshot are kept"
        if self.newest_seq <= seq:
            return None
        newest = self._newest
        changed: Sequence[str] | None = None
        for read in reads:
            if not read.prefix:
                version = newest.get(read.key)
                if version is not None and version[0] > seq:
                    return read.key
                continue
            if changed is None:
                changed = self._keys_changed_since(seq)
            key = _first_within(changed, read)
            if key is not None:
                return key
        return None

    def versions_count(self) -> int:
        """How many versions are held, tombstones included; equals the number of rows when nothing runs."""
        return len(self._newest) + sum(len(older) for older in self._older.values())

    def _value_before(self, key: str, at_seq: int) -> bytes | None:
        for seq, value in reversed(self._older.get(key, ())):
            if seq <= at_seq:
                return value
        return None

    def _keys_changed_since(self, seq: int) -> Sequence[str]:
        keys: dict[str, None] = {}
        for changed_seq, key in reversed(self._changes):
            if changed_seq <= seq:
                break
            keys[key] = None
        return sorted(keys)

    def _prune_key(self, seq: int, key: str) -> None:
        """Drop what `key` was before `seq`, and the version of `seq` too if it is a tombstone."""
        older = self._older.get(key)
        if older:
            index = bisect_left(older, (seq,))
            if index < len(older) and older[index][1] is None:
                index += 1
            del older[:index]
            if not older:
                del self._older[key]
        if self._newest.get(key) == (seq, None):
            del self._newest[key]


def _first_within(keys: Sequence[str], read: Read) -> str | None:
    """The first of the sorted `keys` that a prefix read covers."""
    if read.after is not None and read.after >= read.key:
        index = bisect_right(keys, read.after)
    else:
        index = bisect_left(keys, read.key)
    if index == len(keys):
        return None
    key = keys[index]
    if not key.startswith(read.key) or (read.until is not None and key > read.until):
        return None
    return key


def writes_between(before: Mapping[str, bytes | None], after: Mapping[str, bytes]) -> tuple[Write, ...]:
    """What makes `after` of `before`, by code point."""
    keys = sorted(before.keys() | after.keys())
    return tuple(Write(key, after.get(key)) for key in keys if after.get(key) != before.get(key))


def write_bytes(write: Write) -> int:
    """What a write takes in a record, about."""
    key_bytes = len(write.key.encode("utf-8", "surrogatepass"))
    return key_bytes + len(write.value or b"") + limits.DATA_WRITE_BYTES_ABOUT
