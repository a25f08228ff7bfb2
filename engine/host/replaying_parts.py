"""What a replay gives to the jobs in place of a host's parts. It reads what was recorded and writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from engine import limits
from engine.host.engines import Engines
from engine.host.images import Images, Pins
from engine.host.jobs import Jobs
from engine.host.ledger import LedgerReads
from engine.host.opening import Machine
from engine.host.recorded_peers import RecordedPeers
from engine.host.runtime import Runtime
from engine.host.sources import Sources
from engine.hub import messages as hub
from engine.ids import content_id
from engine.io.blobs import Blobs
from engine.io.log import Log
from engine.logic import HeapImage, Interrupt
from engine.logic.jobs import Peers, Runs, WrittenSource
from engine.logic.source import file_of
from engine.logic.vm import Job, JobResult
from engine.record import kinds
from engine.record.moments import Moment

WATCHDOG_STOPPED = "the watchdog stopped it"
"""How the error begins of what the watchdog stopped: see `logic.failures`."""


class NotRecorded(Exception):
    """An operation asked something of the host that it did not ask when it was recorded: what."""


class ReadBlobs:
    """Blobs that can only be read: what is put is named and forgotten."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def put(self, content: bytes) -> str:
        return content_id(content)

    def put_many(self, contents: Iterable[bytes]) -> list[str]:
        return [self.put(content) for content in contents]

    def get(self, blob: str) -> bytes:
        return self._blobs.get(blob)

    def has(self, blob: str) -> bool:
        return self._blobs.has(blob)

    def names(self) -> list[str]:
        return self._blobs.names()

    def size_bytes(self, blob: str) -> int:
        return self._blobs.size_bytes(blob)

    def remove(self, blob: str) -> None:
        raise AssertionError("a replay removes nothing")


class ReplayImages(Images):
    """Heaps by their root: how one is packed into a blob is no part of an outcome, and depends on the packer."""

    recorded: kinds.HeapRef | None = None
    """The heap that the record at hand came to."""

    def put(self, image: HeapImage, *, parent: kinds.HeapRef | None) -> kinds.HeapRef:
        """Keep it in memory; the heap that was recorded has the blob that was recorded."""
        recorded = self.recorded
        same = recorded is not None and recorded.root == image.root
        ref = recorded if same and recorded is not None else kinds.HeapRef(image.root, "")
        self._keep(ref, image, 0)
        return ref


class ReplayLedger(LedgerReads):
    """The world as it was before the record at hand; brought there when it is asked, which is seldom."""

    def __init__(self, log: Log, moment: Moment) -> None:
        super().__init__(log)
        self._moment = moment
        self._moment.may_lack_bodies = True  # what a redacted recording leaves out is not replayed
        self.seq = moment.seq

    def read(self) -> Moment:
        if self._moment.seq < self.seq:
            self._moment.advance_to(self.seq)
        return self._moment

    def close(self) -> None:
        self._moment.close()


class ReplaySources(Sources):
    """The sources that passed by are at hand; for older ones the ledger is asked."""

    def __init__(self, ledger: LedgerReads, world: str) -> None:
        super().__init__(ledger, world)
        self._passed: dict[str, WrittenSource] = {}

    def passed(self, body: kinds.Revision) -> None:
        if body.source:
            self._passed[file_of(body.source)] = WrittenSource(body.source, body.commonjs is not None)

    def __call__(self, file: str) -> WrittenSource | None:
        return self._passed.get(file) or super().__call__(file)


class Unwatched(Interrupt):
    """A handle that nobody uses: no watchdog watches a replay."""

    def attach(self, stop: Callable[[], None] | None) -> None:
        pass


class NobodyAsked:
    """The `Peers` of an operation of which no such question is recorded."""

    def list(self) -> Sequence[str]:
        raise NotRecorded("worlds.list()")

    def functions(self, world: str) -> Sequence[tuple[str, str, str, Sequence[str]]]:
        raise NotRecorded(f"worlds.functions({world})")

    def may_call(self, world: str) -> tuple[str, str] | None:
        raise NotRecorded(f"whether it may call {world}")


@dataclass(frozen=True, slots=True)
class ReplayParts:
    """The `JobParts` of a replay."""

    blobs: ReadBlobs
    ledger: ReplayLedger
    engines: Engines
    images: ReplayImages
    pins: Pins


def replay_parts(log: Log, blobs: Blobs, moment: Moment, machine: Machine) -> ReplayParts:
    """Over what was recorded. The VMs are the machine's own."""
    read, pins = ReadBlobs(blobs), Pins()
    engines = Engines(machine.engine, machine.pool, read, machine.load, pins)
    images = ReplayImages(read, pins)
    images.begin(machine.genesis)
    return ReplayParts(read, ReplayLedger(log, moment), engines, images, pins)


class ReplayJobs(Jobs):
    """The host's jobs, told what was recorded of everything that came from outside."""

    def __init__(self, parts: ReplayParts) -> None:
        super().__init__(parts, quick=False)
        self._images = parts.images
        self._peers_told: Peers = NobodyAsked()
        self._stopped_at_fuel: int | None = None
        self._interrupt = Unwatched()

    def run_as_recorded(self, runtime: Runtime, job: hub.RunJob, body: kinds.Body) -> hub.Event:
        """Raises NotRecorded, and what storage raises."""
        looks = getattr(body, "looks", None)
        self._peers_told = RecordedPeers(looks, NobodyAsked()) if looks else _NOBODY
        self._images.recorded = getattr(body, "heap", None)
        self._stopped_at_fuel = stopped_at_fuel(body)
        return self.run(runtime, job, self._interrupt)

    def _peers(self, runtime: Runtime, operation: hub.Operation) -> Peers:
        return self._peers_told

    def _pool(self, runtime: Runtime) -> Runs:
        pool = super()._pool(runtime)
        return pool if self._stopped_at_fuel is None else _Stopping(pool, self._stopped_at_fuel)


class _Stopping:
    """Runs jobs as the watchdog let them: the fuel at which it stopped them was recorded, its time was not."""

    def __init__(self, pool: Runs, fuel: int) -> None:
        self._pool = pool
        self._fuel = fuel

    def run(self, job: Job) -> JobResult:
        if job.interrupt is None:  # an inspection, which no watchdog sees
            return self._pool.run(job)
        assert limits.CALL_FUEL_MAX == limits.DEVELOP_FUEL_MAX, "a job's budget says what went before it"
        left = self._fuel - (limits.CALL_FUEL_MAX - job.fuel)
        if left <= 0:  # it was stopped before it began
            return JobResult(status="interrupted")
        result = self._pool.run(msgspec.structs.replace(job, fuel=left))
        if result.status != "fuel":
            return result
        return JobResult(status="interrupted", fuel_used=left, grew=result.grew)


def stopped_at_fuel(body: Any) -> int | None:
    """The fuel at which the watchdog stopped what a record tells of; None where it did not."""
    if isinstance(body, kinds.Rejection):
        kind, error = body.kind, body.reason
    elif isinstance(body, kinds.Call | kinds.Preview) and body.failure is not None:
        kind, error = body.failure.kind, body.failure.error
    else:
        return None
    return body.fuel if kind == "budget" and error.startswith(WATCHDOG_STOPPED) else None


_NOBODY = NobodyAsked()
