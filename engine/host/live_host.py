"""The live host: threads, fsync and the machine's clock, on an asyncio loop."""

from __future__ import annotations

import asyncio

from engine.clock.real import RealClock
from engine.host.answers import OperationAnswer
from engine.host.api import Upkeep
from engine.host.host import Host
from engine.host.incident_replay import Replayed
from engine.host.machine import machine
from engine.host.opening import open_parts
from engine.host.shell import LiveShell
from engine.hub.messages import Operation
from engine.io.real_disk import RealDisk
from engine.io.real_entropy import RealEntropy
from engine.logic.engine_build import Prefer

VM_THREADS = 16
"""More than cores: a call that computes for long shares a core, and does not keep the others waiting."""


class LiveHost(Host):
    """An `Application` whose callbacks come on the loop that it was made on; adds what asyncio code likes."""

    shell: LiveShell
    home: str

    async def create(self, name: str, *, actor: str, request_id: str | None = None) -> OperationAnswer:
        answer = asyncio.get_running_loop().create_future()
        self.create_world(name, actor=actor, request_id=request_id, done=answer.set_result)
        return await asyncio.shield(answer)

    async def perform(
        self, world: str, operation: Operation, *, actor: str, request_id: str | None = None
    ) -> OperationAnswer:
        answer = asyncio.get_running_loop().create_future()
        self.submit(world, operation, actor=actor, request_id=request_id, done=answer.set_result)
        return await asyncio.shield(answer)

    async def collect(self) -> Upkeep:
        report = asyncio.get_running_loop().create_future()
        self.gc(done=report.set_result)
        return await asyncio.shield(report)

    async def back_up(self, directory: str) -> Upkeep:
        report = asyncio.get_running_loop().create_future()
        self.backup(directory, done=report.set_result)
        return await asyncio.shield(report)

    async def replay(
        self, world: str, n: int, *, source: str | None = None, commonjs: str | None = None
    ) -> Replayed:
        """Run an incident again, to be looked at. Raises NotThere."""
        replayed = asyncio.get_running_loop().create_future()
        self.replay_incident(world, n, source=source, commonjs=commonjs, done=replayed.set_result)
        return await asyncio.shield(replayed)

    async def start(self) -> None:
        """Finish what the last process left, and begin the background upkeep."""
        self.recover()
        self.keep_up()

    async def drained(self) -> None:
        """Take no new work, let what runs end, seal the log. Reads go on."""
        drained = asyncio.get_running_loop().create_future()
        self.drain(lambda: drained.set_result(None))
        await asyncio.shield(drained)

    async def close(self) -> None:
        """End the threads and let go of the directory; once drained."""
        await asyncio.to_thread(self.shell.close)
        self.parts.close()

    async def stop(self) -> None:
        """Drain and close."""
        await self.drained()
        await self.close()


def live(home: str, *, loop: asyncio.AbstractEventLoop | None = None, prefer: Prefer = "auto") -> LiveHost:
    """Open a data directory (made if it is missing) to be served on `loop`. Raises CannotOpen, DiskError."""
    parts = open_parts(RealDisk(home), RealEntropy(), machine(prefer))
    shell = LiveShell(
        RealClock(),
        loop or asyncio.get_event_loop(),
        vm_threads=VM_THREADS,
    )
    host = LiveHost(parts, shell, open_disk=RealDisk)
    host.home = home
    return host
