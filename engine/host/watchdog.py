"""The backstop of fuel: a job that has run for very long is stopped, however much fuel it has left."""

from __future__ import annotations

from collections.abc import Callable

from engine import limits
from engine.host.shell import Shell
from engine.logic import Interrupt


class Watchdog:
    """Watches one job from the moment it runs; the time that it waits for a thread does not count."""

    def __init__(self, shell: Shell, interrupt: Interrupt) -> None:
        self._shell = shell
        self._interrupt = interrupt
        self._began_flicks: int | None = None
        self._cancel: Callable[[], None] = self._arm(self._now() + limits.WATCHDOG_FLICKS)

    def begin(self) -> None:
        """The job runs from now on. Called on its thread."""
        self._began_flicks = self._now()

    def end(self) -> None:
        self._cancel()

    def _now(self) -> int:
        return self._shell.clock.monotonic_flicks()

    def _arm(self, at_flicks: int) -> Callable[[], None]:
        return self._shell.at(at_flicks, self._look)

    def _look(self) -> None:
        began_flicks = self._began_flicks if self._began_flicks is not None else self._now()
        due_flicks = began_flicks + limits.WATCHDOG_FLICKS
        if due_flicks <= self._now():
            self._interrupt.fire()
        else:
            self._cancel = self._arm(due_flicks)
