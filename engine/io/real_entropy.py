"""Entropy from the operating system."""

from __future__ import annotations

import os


class RealEntropy:
    """The Entropy port on `os.urandom`."""

    def draw(self, count_bytes: int) -> bytes:
        """`count_bytes` unpredictable bytes."""
        assert count_bytes >= 0, "a draw has a size"
        return os.urandom(count_bytes)
