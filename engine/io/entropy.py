"""The Entropy port: the only source of randomness. Seeds, identifiers and segment keys are drawn from it."""

from __future__ import annotations

from typing import Protocol


class Entropy(Protocol):
    def draw(self, count_bytes: int) -> bytes:
        """`count_bytes` unpredictable bytes (live) or the next ones of a seeded stream (simulated)."""
        ...
