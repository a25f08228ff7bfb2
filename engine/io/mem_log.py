"""The Log in memory: the plainest thing that keeps the contract, and what the file log is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from engine.io.log import Cursor, LogEntry, LogError, LogHead
from engine.io.log_format import EMPTY_HASH, Batch, check_entries, make_batch

_SEGMENT = 1


class MemLog:
    """Implements Log. Everything before the last `seal` counts as closed."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self._last: dict[str, tuple[int, bytes]] = {}
        self._places: dict[str, list[Cursor]] = {}  # by sequence
        self._sealed = 0

    def append(self, entries: Sequence[LogEntry]) -> list[Cursor]:
        check_entries(entries, self._last)
        batch = make_batch(len(self._batches) + 1, self._hash(len(self._batches)), entries)
        self._batches.append(batch)
        cursors = [cursor for cursor, _ in _placed(batch)]
        for cursor, entry, hash_ in zip(cursors, batch.entries, batch.record_hashes, strict=True):
            self._last[entry.world] = (entry.seq, hash_)
            self._places.setdefault(entry.world, []).append(cursor)
        return cursors

    def read(self, world: str, from_seq: int = 0) -> Iterator[tuple[Cursor, LogEntry]]:
        for cursor in self._places.get(world, ())[max(0, from_seq) :]:
            yield cursor, self.read_at(cursor)

    def read_at(self, cursor: Cursor) -> LogEntry:
        if not 0 < cursor.batch <= len(self._batches):
            raise LogError(f"there is no batch {cursor.batch}; the last one is {len(self._batches)}")
        return self._batches[cursor.batch - 1].entries[cursor.index]

    def scan(self, after_batch: int = 0) -> Iterator[tuple[LogHead, list[tuple[Cursor, LogEntry]]]]:
        for batch in self._batches[after_batch:]:
            yield LogHead(batch.number, batch.hash.hex()), _placed(batch)

    def head(self) -> LogHead:
        return LogHead(len(self._batches), self._hash(len(self._batches)).hex())

    def batch_hash(self, batch: int) -> str | None:
        return self._hash(batch).hex() if 0 <= batch <= len(self._batches) else None

    def last(self, world: str) -> tuple[int, str] | None:
        last = self._last.get(world)
        return (last[0], last[1].hex()) if last else None

    def worlds(self) -> list[str]:
        return sorted(self._last)

    def erase_bodies(self, erasable: Callable[[LogEntry], bool]) -> int:
        erased_bytes = 0
        for batch in self._batches[: self._sealed]:
            for i, entry in enumerate(batch.entries):
                if entry.body is not None and erasable(entry):
                    erased_bytes += len(entry.body)
                    batch.entries[i] = entry._replace(body=None)
        return erased_bytes

    def size_bytes(self) -> int:
        return sum(
            len(entry.header) + len(entry.body or b"") for batch in self._batches for entry in batch.entries
        )

    def verify(self, *, full: bool = True) -> list[LogError]:
        """Memory does not rot."""
        return []

    def seal(self) -> None:
        self._sealed = len(self._batches)

    def close(self) -> None:
        pass

    def _hash(self, batch: int) -> bytes:
        return self._batches[batch - 1].hash if batch else EMPTY_HASH


def _placed(batch: Batch) -> list[tuple[Cursor, LogEntry]]:
    return [(Cursor(_SEGMENT, batch.number, i), entry) for i, entry in enumerate(batch.entries)]
