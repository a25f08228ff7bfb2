"""The host in simulated time on simulated ports: the same code as live, one thread, the same bytes for one seed."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any, Protocol

from engine import limits
from engine.clock.clock import SimClock
from engine.host.answers import OperationAnswer, Refused
from engine.host.api import NotThere, Upkeep
from engine.host.dry_runs import DryRan
from engine.host.host import Host
from engine.host.incident_replay import Replayed
from engine.host.machine import machine
from engine.host.opening import Machine, open_parts
from engine.host.past import Past
from engine.host.past_tries import Tried, Try
from engine.host.recording_answers import ImportAnswer
from engine.host.runtime import Runtime
from engine.host.shell import Failed, SimShell
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

    def is_idle(self) -> bool:
        """Nobody waits for an answer, and every record is written."""
        return not self._ops and self._writer.idle() and self._creations.idle()

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

    def try_develop(self, world: str, develop: hub.Develop) -> DryRan:
        """What a develop would come to; nothing is recorded."""
        return self._await(lambda done: self.dry_run(world, develop, done=done))

    def past(self, world: str, at: int) -> Past | Refused | NotThere:
        """The world as it was after its record `at`."""
        return self._await(lambda done: self.look(world, at, done=done))

    def tried_in_past(self, world: str, at: int, what: Try) -> Tried | Refused | NotThere:
        """Preview in the past."""
        return self._await(lambda done: self.try_in_past(world, at, what, done=done))

    def bring_back(
        self,
        world: str,
        at: int,
        *,
        prefix: str = "",
        reason: str = "as it was",
        dry_run: bool = False,
        actor: str = "operator",
        request_id: str | None = None,
    ) -> OperationAnswer | NotThere:
        """Bring data back."""
        return self._await(
            lambda done: self.restore_data(
                world,
                at,
                prefix=prefix,
                reason=reason,
                dry_run=dry_run,
                actor=actor,
                request_id=request_id,
                done=done,
            )
        )

    def exported(self, world: str, *, until: int | None = None, redact: bool = False) -> bytes:
        """The world's recording. Raises NotThere, RecordingRefused."""
        pieces = self.recording(world, until=until, redact=redact)
        gone_through = self._await(lambda done: self.shell.work("upkeep", lambda: b"".join(pieces), done))
        if isinstance(gone_through, Failed):
            raise gone_through.error
        return gone_through

    def imported(
        self,
        recording: bytes,
        *,
        name: str | None = None,
        actor: str = "operator",
        request_id: str | None = None,
    ) -> ImportAnswer:
        """Import a recording; with `name`, as a copy."""
        return self._await(
            lambda done: self.import_recording(
                lambda: BytesIO(recording), name=name, actor=actor, request_id=request_id, done=done
            )
        )

    def copied(
        self,
        world: str,
        name: str,
        *,
        at: int | None = None,
        actor: str = "operator",
        request_id: str | None = None,
    ) -> OperationAnswer:
        """Copy a world. Raises NotThere."""
        return self._await(
            lambda done: self.copy_world(
                world, at=at, name=name, actor=actor, request_id=request_id, done=done
            )
        )

    def shut_down(self) -> None:
        """Drain, seal, and let go of the directory."""
        self._await(lambda done: self.drain(lambda: done(True)))
        self.parts.close()

    def kill(self) -> None:
        """The process ends here: what was written stays, what was only in memory is gone."""
        self.shell.close()
        self.parts.ledger.abandon()
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
