"""The host in simulated time on simulated ports: the same code as live, one thread, the same bytes for one seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from engine import limits
from engine.clock.clock import SimClock
from engine.host.answers import OperationAnswer
from engine.host.api import Upkeep
from engine.host.host import Host
from engine.host.incident_replay import Replayed
from engine.host.machine import machine
from engine.host.opening import Machine, open_parts
from engine.host.runtime import Runtime
from engine.host.shell import SimShell
from engine.hub import messages as hub
from engine.hub.messages import Operation
from engine.io.disk import Disk
from engine.io.sim_disk import SimDisk
from engine.io.sim_entropy import SimEntropy
from engine.limits import FLICKS_PER_SECOND
from engine.logic.engine_build import Prefer

LATENCY_FLICKS_MAX = FLICKS_PER_SECOND // 200


class Watch(Protocol):
    """Told of each effect before and after it is performed; what it raises ends the process there.

    `actor` is whose operation it is of; empty where the effect is of none.
    """

    def before(self, world: str, effect: hub.Effect, actor: str) -> None: ...

    def after(self, world: str, effect: hub.Effect, actor: str) -> None: ...


class SimulatedHost(Host):
    """Adds what a test needs: ask and wait, let time pass, watch, die."""

    shell: SimShell
    disks: dict[str, Disk]
    """Where backups went, by directory."""
    watch: Watch | None = None

    def create(self, name: str, *, actor: str = "operator", request_id: str | None = None) -> OperationAnswer:
        """Create a world and let things happen until it is answered."""
        return self._await(
            lambda done: self.create_world(name, actor=actor, request_id=request_id, done=done)
        )

    def perform(
        self, world: str, operation: Operation, *, actor: str = "operator", request_id: str | None = None
    ) -> OperationAnswer:
        """Ask one operation and let things happen until it is answered."""
        return self._await(
            lambda done: self.submit(world, operation, actor=actor, request_id=request_id, done=done)
        )

    def settle(self) -> None:
        """Let everything that is due happen, until nothing is."""
        while self.shell.step():
            pass

    def collect(self) -> Upkeep:
        """Collect blobs and expired bodies now."""
        return self._await(lambda done: self.gc(done=done))

    def back_up(self, directory: str) -> Upkeep:
        """Back up into one of `disks`."""
        return self._await(lambda done: self.backup(directory, done=done))

    def replay(
        self, world: str, n: int, *, source: str | None = None, commonjs: str | None = None
    ) -> Replayed:
        """Run an incident again."""
        return self._await(
            lambda done: self.replay_incident(world, n, source=source, commonjs=commonjs, done=done)
        )

    def shut_down(self) -> None:
        """Drain, seal, and let go of the directory."""
        self._await(lambda done: self.drain(lambda: done(True)))
        self.parts.close()

    def kill(self) -> None:
        """The process ends here: what was written stays, what was only in memory is gone."""
        self.shell.close()
        self.parts.lock.release()

    def _perform(self, runtime: Runtime, effect: hub.Effect) -> None:
        if self.watch is None:
            super()._perform(runtime, effect)
            return
        op = self._ops.get(getattr(effect, "op", 0))
        actor = op.actor if op is not None else ""
        self.watch.before(runtime.id, effect, actor)
        super()._perform(runtime, effect)
        self.watch.after(runtime.id, effect, actor)

    def _await(self, ask: Callable[[Callable[[Any], None]], None]) -> Any:
        answers: list[Any] = []
        ask(answers.append)
        self.shell.run_until(lambda: bool(answers))
        return answers[0]


def simulated(
    seed: int | str = 0,
    *,
    disk: Disk | None = None,
    clock: SimClock | None = None,
    prefer: Prefer = "auto",
    with_machine: Machine | None = None,
    segment_bytes_max: int = limits.LOG_SEGMENT_BYTES_MAX,
    shell: SimShell | None = None,
    watch: Watch | None = None,
) -> SimulatedHost:
    """A host that owns its time. `prefer` chooses the VM's path ("c", "python", "auto"); the bytes are the same.

    Give the `disk` of an earlier one to open it again; a `shell` comes with its own clock. Raises CannotOpen.
    """
    entropy = SimEntropy(seed)
    if shell is None:
        latency = entropy.fork("latency")
        shell = SimShell(clock or SimClock(), lambda lane: 1 + latency.below(LATENCY_FLICKS_MAX))
    assert clock is None or shell.clock is clock, "one clock a host"
    disks: dict[str, Disk] = {}
    parts = open_parts(
        disk if disk is not None else SimDisk(seed=seed),
        entropy.fork("host"),
        with_machine or machine(prefer),
        segment_bytes_max=segment_bytes_max,
    )
    host = SimulatedHost(
        parts, shell, open_disk=lambda directory: disks.setdefault(directory, SimDisk(seed=seed))
    )
    host.disks = disks
    host.watch = watch
    host.recover()
    return host
