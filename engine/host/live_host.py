"""The live host: threads, fsync and the machine's clock, on an asyncio loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, BinaryIO, TypeVar

from engine.clock.real import RealClock
from engine.host.answers import OperationAnswer, Refused
from engine.host.api import NotThere, Upkeep
from engine.host.dry_runs import DryRan
from engine.host.host import Host
from engine.host.incident_replay import Replayed
from engine.host.machine import machine
from engine.host.opening import open_parts
from engine.host.past import Past
from engine.host.past_tries import Tried, Try
from engine.host.recording_answers import ImportAnswer, Verified
from engine.host.shell import Failed, LiveShell
from engine.hub.messages import Develop, Operation
from engine.io.real_disk import RealDisk
from engine.io.real_entropy import RealEntropy
from engine.logic.engine_build import Prefer

T = TypeVar("T")
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

    async def try_develop(self, world: str, develop: Develop) -> DryRan:
        """What a develop would come to; nothing is recorded."""
        return await self._heard(lambda done: self.dry_run(world, develop, done=done))

    async def past(self, world: str, at: int) -> Past | Refused:
        """The world as it was after its record `at`. Raises NotThere, Gone."""
        return await self._heard(lambda done: self.look(world, at, done=done))

    async def tried_in_past(self, world: str, at: int, what: Try) -> Tried | Refused:
        """Preview in the past. Raises NotThere, Gone."""
        return await self._heard(lambda done: self.try_in_past(world, at, what, done=done))

    async def bring_back(
        self,
        world: str,
        at: int,
        *,
        prefix: str,
        reason: str,
        dry_run: bool,
        actor: str,
        request_id: str | None = None,
    ) -> OperationAnswer:
        """Bring data back. Raises NotThere, Gone."""
        return await self._heard(
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

    async def exported(
        self, world: str, *, until: int | None = None, redact: bool = False
    ) -> AsyncGenerator[bytes, None] | Refused:
        """The world's recording, piece by piece. Raises NotThere, Gone; what is damaged later ends it."""
        pieces = self._stepped(self.recording(world, until=until, redact=redact))
        try:
            first = await anext(pieces)
        except Exception as error:
            return self.import_refused(error)
        return _put_back(first, pieces)

    async def imported(
        self, file: BinaryIO, *, name: str | None = None, actor: str, request_id: str | None = None
    ) -> ImportAnswer:
        """Import the recording in an open file; it may be closed, and whoever asked may go away."""
        own = os.fdopen(os.dup(file.fileno()), "rb")

        def source() -> BinaryIO:
            own.seek(0)
            return own

        def ask(done: Callable[[ImportAnswer], None]) -> None:
            def answered(answer: ImportAnswer) -> None:
                own.close()
                done(answer)

            self.import_recording(source, name=name, actor=actor, request_id=request_id, done=answered)

        return await self._heard(ask)

    async def copied(
        self, world: str, *, at: int | None = None, name: str, actor: str, request_id: str | None = None
    ) -> OperationAnswer:
        """Copy a world. Raises NotThere, Gone."""
        return await self._heard(
            lambda done: self.copy_world(
                world, at=at, name=name, actor=actor, request_id=request_id, done=done
            )
        )

    async def verified(self, world: str) -> Verified | Refused:
        """Verify a world's records and blobs. Raises NotThere."""
        self.world(world)
        found = None
        try:
            async for step in self._stepped(self.verification(world)):
                found = step
        except Exception as error:
            return self.import_refused(error)
        assert found is not None, "the last step says all"
        return found

    async def _stepped(self, steps: Generator[T, None, None]) -> AsyncGenerator[T, None]:
        """Go through what is made step by step on the upkeep lane, where other work comes in between."""
        try:
            while (step := await self._heard(lambda done: self._step(steps, done))) is not None:
                if isinstance(step, Failed):
                    raise step.error
                yield step
        finally:
            self.shell.work("upkeep", steps.close, lambda _: None)

    def _step(self, steps: Generator[T, None, None], done: Callable[[Any], None]) -> None:
        self.shell.work("upkeep", lambda: next(steps, None), done)

    async def _heard(self, ask: Callable[[Callable[[Any], None]], None]) -> Any:
        """What `done` is called with; NotThere is raised."""
        heard = asyncio.get_running_loop().create_future()
        ask(heard.set_result)
        answer = await asyncio.shield(heard)
        if isinstance(answer, NotThere):
            raise answer
        return answer

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


async def _put_back(first: T, rest: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    try:
        yield first
        async for one in rest:
            yield one
    finally:
        await rest.aclose()


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
