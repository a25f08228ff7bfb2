"""Draws of entropy recorded and given again."""

from __future__ import annotations

from collections.abc import Sequence

from engine.io.entropy import Entropy


class DrawDiverged(Exception):
    """A replay drew something else than the recorded run did: which draw, recorded, asked."""


class RecordingEntropy:
    """Entropy that keeps what it gave."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self.draws: list[bytes] = []

    def draw(self, count_bytes: int) -> bytes:
        self.draws.append(self._entropy.draw(count_bytes))
        return self.draws[-1]


class ReplayingEntropy:
    """Entropy that gives again what was recorded, draw by draw, and refuses a draw of another size."""

    def __init__(self, draws: Sequence[bytes]) -> None:
        self._draws = draws
        self._next = 0

    def draw(self, count_bytes: int) -> bytes:
        if self._next == len(self._draws):
            raise DrawDiverged(
                f"draw {self._next}: the recording ended, the replay asked for {count_bytes} bytes"
            )
        drawn = self._draws[self._next]
        if len(drawn) != count_bytes:
            raise DrawDiverged(
                f"draw {self._next}: recorded {len(drawn)} bytes, the replay asked for {count_bytes} bytes"
            )
        self._next += 1
        return drawn
