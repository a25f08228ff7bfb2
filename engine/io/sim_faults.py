"""What is to go wrong on a simulated disk, and when."""

from __future__ import annotations

from typing import Literal

PagesAfterFailure = Literal["dropped", "kept"]


class PowerLost(BaseException):
    """The machine is off. Nothing in the program may catch it; the test does."""


class Moments:
    """Runs of consecutive numbers, some without an end."""

    def __init__(self) -> None:
        self._runs: list[tuple[int, int | None]] = []

    def add(self, first: int, count: int | None) -> None:
        """`count` numbers from `first` on; None: all of them."""
        assert first >= 1, "operations and syncs are numbered from 1"
        self._runs.append((first, None if count is None else first + count))

    def __contains__(self, number: int) -> bool:
        return any(first <= number and (end is None or number < end) for first, end in self._runs)

    def __bool__(self) -> bool:
        """Whether any was ordered."""
        return bool(self._runs)


class Faults:
    """What is ordered. Rot is an overlay: the medium keeps the truth, readers get the mask on it."""

    def __init__(self) -> None:
        self.crash_op: int | None = None
        self.crashed = False
        self.failing_syncs = Moments()
        self.pages: PagesAfterFailure = "dropped"
        self.lying_syncs = Moments()
        self.full_ops = Moments()
        self.misdirected: dict[int, int] = {}  # write's operation number -> sectors it lands away
        self.rot: dict[tuple[int, int], int] = {}  # (file, sector) -> the bits that read wrong
