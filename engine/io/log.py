"""The Log port: batches of records of many worlds, appended in order and durable on return.

The log knows of a record only its world, its world-local sequence, its header bytes and its body bytes. A record's
hash is the BLAKE3 of its header; the header holds the hash of the body and of the world's previous record, so a body
can be erased and the chain still verifies (Invariant 20). Batches belong to the log alone (Invariant 19).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol


class LogEntry(NamedTuple):
    """One record as the log sees it. `body` is None where it was erased."""

    world: str
    seq: int
    header: bytes
    body: bytes | None


class Cursor(NamedTuple):
    """Where a record is in this log; opaque above the port, ordered by position."""

    segment: int
    batch: int
    index: int  # type: ignore[assignment]


class LogHead(NamedTuple):
    """The last durable batch: its number (0 for an empty log) and its hash, 64 hex digits."""

    batch: int
    hash: str


class LogError(Exception):
    """The log cannot go on or cannot be read: what, in which file, at which offset, and what to do."""

    def __init__(self, reason: str, *, file: str = "", offset_bytes: int = -1) -> None:
        where = f"{file} at byte {offset_bytes}: " if file else ""
        super().__init__(where + reason)
        self.reason = reason
        self.file = file
        self.offset_bytes = offset_bytes


class LogRotten(LogError):
    """Bytes that had been durable are gone or changed. Nothing was overwritten."""


class LogForeign(LogError):
    """A file of another kind, version or world; both sides are named."""


class LogFailed(LogError):
    """An append did not become durable: none of its records counts."""


class WrongSequence(LogError):
    """A record does not follow its world's last one; `last_hash` lets the writer see whether it was its own."""

    def __init__(self, world: str, *, expected: int, got: int, last_hash: str) -> None:
        super().__init__(f"world {world}: the next record is number {expected}, not {got}")
        self.world = world
        self.expected = expected
        self.last_hash = last_hash


class Log(Protocol):
    def append(self, entries: Sequence[LogEntry]) -> list[Cursor]:
        """Append one batch; durable on return (Invariant 3: the caller has one append in flight at most).

        Raises WrongSequence (nothing written), LogFailed (nothing counts; the log goes on in a new segment if it
        can, else every later append fails with the same reason).
        """
        ...

    def read(self, world: str, from_seq: int = 0) -> Iterator[tuple[Cursor, LogEntry]]:
        """A world's records from a sequence on, in order."""
        ...

    def read_at(self, cursor: Cursor) -> LogEntry: ...

    def scan(self, after_batch: int = 0) -> Iterator[tuple[LogHead, list[tuple[Cursor, LogEntry]]]]:
        """All batches after one, in order: what the projection catches up with."""
        ...

    def head(self) -> LogHead: ...

    def batch_hash(self, batch: int) -> str | None:
        """The hash of a batch that is in the log; None where there is none of that number. 0 gives the empty hash."""
        ...

    def last(self, world: str) -> tuple[int, str] | None:
        """The sequence and hash of a world's last record."""
        ...

    def worlds(self) -> list[str]:
        """The worlds that have records, sorted."""
        ...

    def erase_bodies(self, erasable: Callable[[LogEntry], bool]) -> int:
        """Erase bodies for which `erasable` says so, in closed segments; the bytes freed. Headers and hashes stay."""
        ...

    def size_bytes(self) -> int: ...

    def seal(self) -> None:
        """Close the idle log: a seal batch makes its end certain. The next append opens a new segment."""
        ...

    def close(self) -> None: ...
