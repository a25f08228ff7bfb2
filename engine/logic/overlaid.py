"""Data as it will be: a snapshot under writes that are not committed yet."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from sortedcontainers import SortedSet

from engine.logic.jobs import DataView

_PAGE_ROWS = 100
"""How many rows of the snapshot are looked at together, at least."""


class Overlaid:
    """A `DataView` of `data` under `writes`, of which None deletes. It shows what `writes` holds when it is asked.

    A key that was written stays in `writes`. So a list costs what it gives, however much was written before.
    """

    def __init__(self, data: DataView, writes: dict[str, bytes | None]) -> None:
        self._data = data
        self._writes = writes
        self._keys: SortedSet | None = None  # of the writes, as far as they were looked at: by lists alone

    def get(self, key: str) -> bytes | None:
        return self._writes[key] if key in self._writes else self._data.get(key)

    def list(self, prefix: str, after: str | None, limit: int | None) -> list[tuple[str, bytes]]:
        own = self._own(prefix, after)
        first = next(own, None)
        if first is None:
            return self._data.list(prefix, after, limit)
        merged = self._merged(first, own, self._kept(prefix, after, limit))
        return list(islice(merged, limit))

    def _own(self, prefix: str, after: str | None) -> Iterator[str]:
        """The written keys from there on, in order."""
        if self._keys is None:
            self._keys = SortedSet()
        keys = self._keys
        for key in reversed(self._writes):  # new ones are the last
            if len(keys) == len(self._writes):
                break
            keys.add(key)
        is_open = after is not None and after >= prefix
        for key in keys.irange(after if is_open else prefix, None, (not is_open, True)):
            if not key.startswith(prefix):
                return
            yield key

    def _kept(self, prefix: str, after: str | None, limit: int | None) -> Iterator[tuple[str, bytes]]:
        """The snapshot's rows from there on, in order, page by page."""
        page_rows = None if limit is None else max(limit, _PAGE_ROWS)
        while True:
            rows = self._data.list(prefix, after, page_rows)
            yield from rows
            if page_rows is None or len(rows) < page_rows:
                return
            after = rows[-1][0]

    def _merged(
        self, own: str | None, owns: Iterator[str], kept: Iterator[tuple[str, bytes]]
    ) -> Iterator[tuple[str, bytes]]:
        """Both in order, the written value where both have a key, nothing where it was deleted."""
        for key, value in kept:
            while own is not None and own < key:
                yield from self._written(own)
                own = next(owns, None)
            if own == key:
                yield from self._written(key)
                own = next(owns, None)
            else:
                yield key, value
        while own is not None:
            yield from self._written(own)
            own = next(owns, None)

    def _written(self, key: str) -> Iterator[tuple[str, bytes]]:
        value = self._writes[key]
        if value is not None:
            yield key, value
