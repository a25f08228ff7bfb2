"""A digest of a set of rows that can be kept up row by row, in any order: LtHash.

Each row becomes 1,024 lanes of 16 bits (BLAKE3's extendable output); the digest of a set is the lane-wise
sum. Adding and removing a row are one addition each, and equal sets have equal digests whatever happened in
between.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from blake3 import blake3

LANES = 1024
_CONTEXT = b"data row 1\0"


class LtHash:
    """The digest of a changing set of (key, value) rows. A row is in the set at most once: the caller sees to
    it.
    """

    __slots__ = ("_sum",)

    def __init__(self, rows: Iterable[tuple[str, bytes]] = ()) -> None:
        self._sum = np.zeros(LANES, dtype="<u2")
        for key, value in rows:
            self.add(key, value)

    def add(self, key: str, value: bytes) -> None:
        """Put a row in."""
        self._sum += _lanes(key, value)

    def remove(self, key: str, value: bytes) -> None:
        """Take a row out, with the value it was put in with."""
        self._sum -= _lanes(key, value)

    def digest(self) -> str:
        """64 hex digits; of the empty set too."""
        return blake3(self._sum.tobytes()).hexdigest()


def _lanes(key: str, value: bytes) -> np.ndarray:
    key_bytes = key.encode("utf-8", "surrogatepass")
    head = _CONTEXT + len(key_bytes).to_bytes(4, "little")
    return np.frombuffer(blake3(head + key_bytes + value).digest(length=2 * LANES), dtype="<u2")
