"""The Blobs port: immutable content by its BLAKE3, durable before a record names it (Invariant 7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class BlobError(Exception):
    """A blob is missing or its content is not what its name says: which, where, what to do."""

    def __init__(self, blob: str, reason: str) -> None:
        super().__init__(f"blob {blob}: {reason}")
        self.blob = blob


class BlobMissing(BlobError):
    """No content of that name."""


class BlobRotten(BlobError):
    """The content does not hash to its name."""


class Blobs(Protocol):
    def put(self, content: bytes) -> str:
        """Store `content` durably and return its name (64 hex digits). Putting it again is cheap.

        Raises DiskFull, SyncFailed: then nothing may name it.
        """
        ...

    def put_many(self, contents: Iterable[bytes]) -> list[str]:
        """As `put` for each, with one sync of each directory touched."""
        ...

    def get(self, blob: str) -> bytes:
        """The content, verified. Raises BlobMissing, BlobRotten."""
        ...

    def has(self, blob: str) -> bool: ...

    def names(self) -> list[str]:
        """All blobs, sorted."""
        ...

    def size_bytes(self, blob: str) -> int:
        """Bytes on disk. Raises BlobMissing."""
        ...

    def remove(self, blob: str) -> None:
        """Collection only: the caller has shown that nothing reaches it (Invariant 8)."""
        ...
