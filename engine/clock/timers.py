"""Timers in the order in which they fall due: by time, then by creation."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from sortedcontainers import SortedDict

Payload = TypeVar("Payload")


class Timer(NamedTuple, Generic[Payload]):
    """One timer. `seq` is the order of creation, which makes equal times deterministic."""

    at_flicks: int
    seq: int
    payload: Payload


class Timers(Generic[Payload]):
    """Timers to come, on one clock. Time itself is the caller's: nothing here reads a clock."""

    def __init__(self) -> None:
        self._by_time: SortedDict = SortedDict()  # (at_flicks, seq) -> Timer
        self._seq_next = 0

    def __len__(self) -> int:
        return len(self._by_time)

    def add(self, at_flicks: int, payload: Payload) -> Timer[Payload]:
        """A new timer, due at `at_flicks`, behind those of the same time."""
        timer = Timer(at_flicks, self._seq_next, payload)
        self._seq_next += 1
        self._by_time[at_flicks, timer.seq] = timer
        return timer

    def cancel(self, timer: Timer[Payload]) -> bool:
        """Take a timer back; False where it was popped or cancelled before."""
        return self._by_time.pop((timer.at_flicks, timer.seq), None) is not None

    def next_at(self) -> int | None:
        """The time of the first timer to come; None without one."""
        return self._by_time.peekitem(0)[0][0] if self._by_time else None

    def pop_due(self, now_flicks: int) -> list[Timer[Payload]]:
        """Take out all timers due by now, in order. What they add, even for now, comes with the next pop."""
        due: list[Timer[Payload]] = []
        while self._by_time and self._by_time.peekitem(0)[0][0] <= now_flicks:
            due.append(self._by_time.popitem(0)[1])
        return due
