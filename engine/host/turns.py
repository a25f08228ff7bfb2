"""Whose job is next on the VM lane: worlds take turns, and none holds more than its share of the threads."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar

Job = TypeVar("Job")


class Turns(Generic[Job]):
    """Used on the host's thread. A job starts when a thread is free and its world holds less than its share.

    So a world whose calls compute for seconds leaves room for the others, however many calls it has.
    """

    def __init__(self, threads: int) -> None:
        self._free = threads
        self._share = max(1, threads // 2)
        self._running: dict[str, int] = {}
        self._waiting: OrderedDict[str, deque[Job]] = OrderedDict()

    def add(self, world: str, job: Job) -> None:
        self._waiting.setdefault(world, deque()).append(job)

    def ended(self, world: str) -> None:
        """A job of this world gave its thread back."""
        self._free += 1
        left = self._running[world] - 1
        if left:
            self._running[world] = left
        else:
            del self._running[world]

    def start(self) -> tuple[str, Job] | None:
        """The next job that may have a thread, which is its from now on; None where none may."""
        if self._free == 0:
            return None
        for world, jobs in self._waiting.items():
            if self._running.get(world, 0) < self._share:
                job = jobs.popleft()
                if jobs:
                    self._waiting.move_to_end(world)
                else:
                    del self._waiting[world]
                self._free -= 1
                self._running[world] = self._running.get(world, 0) + 1
                return world, job
        return None
