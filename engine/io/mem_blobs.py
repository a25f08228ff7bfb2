"""Blobs in memory: the port's reference, for tests and for what needs no disk."""

from __future__ import annotations

from collections.abc import Iterable

from engine.ids import content_id
from engine.io.blobs import BlobMissing


class MemBlobs:
    """The Blobs port over a dictionary; durable as long as the process."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    def put(self, content: bytes) -> str:
        blob = content_id(content)
        self._contents[blob] = bytes(content)
        return blob

    def put_many(self, contents: Iterable[bytes]) -> list[str]:
        return [self.put(content) for content in contents]

    def get(self, blob: str) -> bytes:
        if blob not in self._contents:
            raise BlobMissing(blob, "was never put, or was collected")
        return self._contents[blob]

    def has(self, blob: str) -> bool:
        return blob in self._contents

    def names(self) -> list[str]:
        return sorted(self._contents)

    def size_bytes(self, blob: str) -> int:
        return len(self.get(blob))

    def remove(self, blob: str) -> None:
        self.get(blob)
        del self._contents[blob]
