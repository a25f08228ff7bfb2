"""Entropy from the operating system."""

from __future__ import annotations

import os

from fastrlock.rlock import FastRLock

_BLOCK_BYTES = 4096


class RealEntropy:
    """The Entropy port on `os.urandom`, asked for a block at a time: a system call a draw would let others run first.

    From any thread; not across a fork.
    """

    def __init__(self) -> None:
        self._lock = FastRLock()
        self._block = b""
        self._used_bytes = 0

    def draw(self, count_bytes: int) -> bytes:
        """`count_bytes` unpredictable bytes, never given before."""
        assert count_bytes >= 0, "a draw has a size"
        if count_bytes > _BLOCK_BYTES:
            return os.urandom(count_bytes)
        with self._lock:
            if self._used_bytes + count_bytes > len(self._block):
                self._block, self._used_bytes = os.urandom(_BLOCK_BYTES), 0
            start = self._used_bytes
            self._used_bytes = start + count_bytes
            return self._block[start : self._used_bytes]
