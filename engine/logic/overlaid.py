"""Data as it will be: a snapshot under writes that are not committed yet."""

from __future__ import annotations

from collections.abc import Mapping

from engine.logic.jobs import DataView


class Overlaid:
    """A `DataView` of `data` under `writes`, of which None deletes. It shows what `writes` holds when it is asked."""

    def __init__(self, data: DataView, writes: Mapping[str, bytes | None]) -> None:
        self._data = data
        self._writes = writes

    def get(self, key: str) -> bytes | None:
        return self._writes[key] if key in self._writes else self._data.get(key)

    def list(self, prefix: str, after: str | None, limit: int | None) -> list[tuple[str, bytes]]:
        own = [key for key in self._writes if key.startswith(prefix) and (after is None or key > after)]
        if not own:
            return self._data.list(prefix, after, limit)
        wanted = None if limit is None else limit + len(own)  # so many that deletions cannot leave too few
        kept = self._data.list(prefix, after, wanted)
        end = kept[-1][0] if wanted is not None and len(kept) == wanted else None
        merged: dict[str, bytes | None] = dict(kept)
        merged.update((key, self._writes[key]) for key in own if end is None or key <= end)
        return sorted((key, value) for key, value in merged.items() if value is not None)[:limit]
