"""The host: it pumps events through the hubs of its worlds and performs the effects that they decide.

Everything here runs on one thread. Jobs and appends run on the shell's lanes and come back as events, so the same
host lives on threads and fsync, or in simulated time on simulated ports.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from engine.host import answers
from engine.host.admission import Door
from engine.host.api import Done, Upkeep
from engine.host.bodies import body_of
from engine.host.creation import Creations
from engine.host.dry_runs import DryRuns
from engine.host.golden_reads import GoldenReads
from engine.host.incident_replay import IncidentReplays
from engine.host.jobs import Jobs
from engine.host.landing import Arrivals
from engine.host.parts import Parts
from engine.host.past import PastLooks
from engine.host.peers import Session, answered
from engine.host.reads import Reads
from engine.host.recordings import Recordings
from engine.host.recovery import HOST, Again, recover
from engine.host.replies import answer_of
from engine.host.runtime import Runtime, Runtimes
from engine.host.shell import Failed, Shell
from engine.host.upkeep import Keeper
from engine.host.watchdog import Watchdog
from engine.host.writer import Writer, Written
from engine.hub import messages as hub
from engine.hub import step
from engine.io.blobs import BlobError
from engine.io.disk import Disk, DiskError
from engine.io.log import LogHead
from engine.logic import Interrupt
from engine.record import kinds


@dataclass(slots=True)
class _Op:
    """One operation on its way: who waits for it, and its slot in the in-flight file."""

    operation: hub.Operation
    actor: str
    request: hub.Request | None
    done: Done
    slot: int | None = None
    told: bool = False  # its client has an answer
    asks_as: str | None = None
    session: Session | None = None
    """Of a preview: what it would have written in the worlds that it reached."""


class Host(Reads, PastLooks, IncidentReplays, GoldenReads, DryRuns, Recordings):
    """Implements `api.Application`. `live()` and `simulated()` build it."""

    def __init__(self, parts: Parts, shell: Shell, *, open_disk: Callable[[str], Disk]) -> None:
        self.parts = parts
        self.shell = shell
        self.runtimes = Runtimes(parts)
        self.door = Door(parts, shell)
        self._writer = Writer(parts.log, shell, on_durable=self._durable, on_failed=self._append_failed)
        self._arrivals = Arrivals(parts, shell, self._writer, self.door, self._drain_further)
        self._creations = Creations(parts, self.runtimes, self._writer, self._arrivals)
        self._jobs = Jobs(parts, quick=shell.is_deep)
        self._keeper = Keeper(parts, shell, open_disk)
        self._ops: dict[int, _Op] = {}
        self._timers: dict[tuple[str, int], Callable[[], None]] = {}
        self._events: deque[tuple[Runtime, hub.Event]] = deque()
        self._pumping = False
        self._next_op = 1
        self._draining: dict[str, None] = {}
        self._on_drained: Callable[[], None] | None = None

    # ---- operations -------------------------------------------------------------------------------------------------

    def create_world(self, name: str, *, actor: str, request_id: str | None, done: Done) -> None:
        """Record a genesis; answered Created once it is durable."""
        if refusal := self.door.closed():
            done(refusal)
            return
        flick = self.shell.clock.now_flicks()
        self._creations.start(name, actor=actor, request_id=request_id, flick=flick, done=done)

    def submit(
        self, world: str, operation: hub.Operation, *, actor: str, request_id: str | None, done: Done
    ) -> None:
        """Hand an operation to its world's hub; `done` gets exactly one answer."""
        self._submit(world, operation, actor=actor, request_id=request_id, done=done)

    def _submit(
        self, world: str, operation: hub.Operation, *, actor: str, request_id: str | None, done: Done
    ) -> None:
        runtime = self._open(world)
        if runtime is None:
            self.absent(world, operation, actor=actor, done=done)
            return
        request = self.door.request(operation, request_id)
        refusal = self.door.refuse(runtime, operation, request)
        if refusal is not None:
            done(refusal)
            return
        again = self._as_before(runtime, operation)
        self.admit(runtime, operation, actor=actor, request=request, done=done, again=again)

    def _as_before(self, runtime: Runtime, operation: hub.Operation) -> Again | None:
        """What the call had that a retry makes again."""
        if not isinstance(operation, hub.Call) or operation.retries is None:
            return None
        body = self.parts.ledger.incident(runtime.id, operation.retries)
        return Again.of_incident(body) if body is not None else None

    def admit(
        self,
        runtime: Runtime,
        operation: hub.Operation,
        *,
        actor: str,
        request: hub.Request | None,
        done: Done,
        again: Again | None = None,
    ) -> None:
        """The part of `submit` behind the door; the host's own operations enter here, and what is made `again`."""
        op = self._next_op
        self._next_op += 1
        session = Session() if isinstance(operation, hub.Execute) else None
        if isinstance(operation, hub.TryCall):
            session = operation.session
        if self.door.draining:  # a late call of another world: it must end before the log is sealed
            self._draining[runtime.id] = None
        clock = self.shell.clock
        now_flicks = clock.now_flicks()
        flick, seed, asks_as = again or Again(
            now_flicks, int.from_bytes(self.parts.entropy.draw(8), "little")
        )
        self._ops[op] = _Op(operation, actor, request, done, session=session, asks_as=asks_as)
        times = flick, clock.monotonic_flicks(), seed, now_flicks
        self._feed(runtime, hub.Admit(op, operation, actor, request, *times, asks_as=asks_as))
        if self.door.draining and not runtime.hub.draining:  # opened since the drain began, by this late call
            self._feed(runtime, hub.Drain())

    def _open(self, world: str) -> Runtime | None:
        """The world's runtime; one that was made on an older prelude is upgraded first."""
        runtime = self.runtimes.get(world)
        if runtime is not None and runtime.needs_upgrade(self.parts.prelude_version):
            runtime.upgrading = True
            self.admit(runtime, hub.Upgrade(), actor=HOST, request=None, done=lambda _: None)
        return runtime

    def recover(self) -> None:
        """Settle what the last process left (see `recovery`)."""
        recover(self.parts, self.runtimes, self.admit)
        self.end_cut_off_copies(actor=HOST)

    # ---- upkeep -----------------------------------------------------------------------------------------------------

    def keep_up(self) -> None:
        """Begin the upkeep that runs by itself."""
        self._keeper.start()

    def gc(self, *, done: Callable[[Upkeep], None]) -> None:
        self._keeper.gc(done=done)

    def backup(self, directory: str, *, done: Callable[[Upkeep], None]) -> None:
        self._writer.flush()
        self._keeper.backup(directory, done=done)

    def drain(self, done: Callable[[], None]) -> None:
        """Take no new work, let what runs end, seal the log; then `done`."""
        assert self._on_drained is None, "a host drains once"
        self._on_drained = done
        self.door.draining = True
        self._keeper.stop()
        self.shell.lanes.on_rest = self._drain_further
        self._draining = dict.fromkeys(runtime.id for runtime in self.runtimes.opened())
        for runtime in self.runtimes.opened():
            self._feed(runtime, hub.Drain())
        self._drain_further()

    def _drain_further(self) -> None:
        if self._on_drained is None or self._draining or not self._creations.idle():
            return
        self._writer.flush()
        if not self._writer.idle() or self.shell.lanes.working:  # also for who waits for what no hub knows of
            return
        done, self._on_drained = self._on_drained, None
        self.shell.work("log", self.parts.seal, lambda _: done())

    # ---- the pump ---------------------------------------------------------------------------------------------------

    def _feed(self, runtime: Runtime, event: hub.Event) -> None:
        self._events.append((runtime, event))
        if self._pumping:
            return
        self._pumping = True
        try:
            while self._events:
                runtime, event = self._events.popleft()
                with runtime.lock:
                    effects = step(runtime.hub, event)
                for effect in effects:
                    self._perform(runtime, effect)
        finally:
            self._pumping = False

    def _perform(self, runtime: Runtime, effect: hub.Effect) -> None:
        match effect:
            case hub.RunJob():
                self._run(runtime, effect)
            case hub.AskPeer():
                self._ask_peer(runtime, effect)
            case hub.Append():
                self._append(runtime, effect)
            case hub.Answer():
                self._answer(runtime, effect)
            case hub.SetTimer():
                token = effect.token
                self._timers[runtime.id, token] = self.shell.at(
                    effect.at_monotonic_flicks, lambda: self._timer_fired(runtime, token)
                )
            case hub.CancelTimer():
                self._timers.pop((runtime.id, effect.token))()
            case hub.Drained():
                self._draining.pop(runtime.id, None)
                self._drain_further()

    def _run(self, runtime: Runtime, job: hub.RunJob) -> None:
        op = self._ops[job.op]
        if op.slot is None and op.actor != HOST:
            try:
                op.slot = self.parts.inflight.add(runtime.work_of(job, op.request, op.asks_as))
            except DiskError as error:  # what leaves no trace must not start
                self.door.storage_failed(error)
                self._feed(runtime, hub.JobLost(job.op, str(error)))
                return
        if (event := self._jobs.run_quickly(runtime, job)) is not None:
            self._job_done(runtime, job, event)
            return
        interrupt = Interrupt()
        watchdog = Watchdog(self.shell, interrupt)

        def run() -> hub.Event:
            watchdog.begin()
            return self._jobs.run(runtime, job, interrupt)

        def done(result: hub.Event | Failed) -> None:
            watchdog.end()
            self._job_done(runtime, job, result)

        self.shell.work("vm", run, done, runtime.id)

    def _job_done(self, runtime: Runtime, job: hub.RunJob, result: hub.Event | Failed) -> None:
        if isinstance(result, Failed):
            if isinstance(result.error, DiskError | BlobError):
                self.door.storage_failed(result.error)
            else:
                self.shell.report(result.error)
            result = hub.JobLost(job.op, str(result.error))
        op = self._ops.get(job.op)
        if isinstance(result, hub.CallDone) and isinstance(job.operation, hub.TryCall) and result.ok:
            job.operation.session.wrote(runtime.id, result.writes)
        elif isinstance(result, hub.CallWaiting):
            result = dataclasses.replace(result, monotonic_flicks=self.shell.clock.monotonic_flicks())
            if op is not None and _is_durably_admitted(job.operation):
                self._clear_slot(op)  # it does not end with this process: the next one runs it again
        self._feed(runtime, result)

    def _clear_slot(self, op: _Op) -> None:
        if op.slot is not None:
            with contextlib.suppress(DiskError):  # its outcome is in the log, which recovery asks first
                self.parts.inflight.remove(op.slot)
            op.slot = None

    def _ask_peer(self, runtime: Runtime, effect: hub.AskPeer) -> None:
        """Ask another world: a call with its own request id, or a preview where a preview asks."""
        ask, session = effect.ask, self._ops[effect.op].session

        def heard(answer: answers.OperationAnswer) -> None:
            self._feed(runtime, answered(effect.op, ask, answer))

        operation: hub.Operation
        if session is not None:
            overlay = tuple(session.of(ask.world).items())
            operation = hub.TryCall(ask.function, ask.args, effect.path, session, overlay)
        else:
            operation = hub.Call(ask.function, ask.args, effect.path)
        self._submit(
            ask.world,
            operation,
            actor=f"world:{runtime.id}",
            request_id=None if session is not None else effect.request_id,
            done=heard,
        )

    def _append(self, runtime: Runtime, effect: hub.Append) -> None:
        for draft in effect.drafts:
            body = body_of(draft)
            runtime.undurable[draft.seq] = body
            if isinstance(body, kinds.Revision):
                runtime.catalogue = draft.detail.catalogue  # the change lock is held until it is durable
            op = self._ops.get(draft.op)
            is_outcome = (
                draft.kind != "admitted"
            )  # whose operation goes on: its slot must not name this record
            if op is not None and effect.urgent and draft.actor != HOST and is_outcome:
                self._mark_drafted(runtime, op, draft)
            self._writer.put(
                body,
                world=runtime.id,
                seq=draft.seq,
                actor=draft.actor,
                flick=draft.arrived_flick,
                urgent=effect.urgent,
            )

    def _mark_drafted(self, runtime: Runtime, op: _Op, draft: hub.Draft) -> None:
        """Note which record an operation is about to become. Where that fails recovery compares flick and seed."""
        with contextlib.suppress(DiskError):
            if op.slot is None:
                op.slot = self.parts.inflight.add(runtime.work_of(draft, op.request, op.asks_as))
            self.parts.inflight.drafted(op.slot, draft.seq)

    def _answer(self, runtime: Runtime, effect: hub.Answer) -> None:
        op = self._ops[effect.op]
        told, op.told = op.told, True
        if not effect.goes_on:
            del self._ops[effect.op]
            self._clear_slot(op)
        if told:  # its client heard that it was admitted, and asks for the outcome when it likes
            return
        if effect.refusal is not None:
            op.done(self.door.refused(effect.refusal))
            return
        assert effect.seq is not None, "an answer is an outcome or a refusal"
        body = runtime.undurable.get(effect.seq) or runtime.recent.get(effect.seq)
        if body is None:
            body = self.parts.ledger.body_at(runtime.id, effect.seq)
            assert body is not None, "the answer to a request id is kept as long as the id"
        op.done(answer_of(body, world=runtime.id, seq=effect.seq))

    def _timer_fired(self, runtime: Runtime, token: int) -> None:
        del self._timers[runtime.id, token]
        self._feed(runtime, hub.TimerFired(token, self.shell.clock.monotonic_flicks()))

    # ---- what the writer says ---------------------------------------------------------------------------------------

    def _durable(self, head: LogHead, written: list[Written]) -> None:
        self.door.storage_works()
        self.parts.ledger.durable(head, written)
        last: dict[str, int] = {}
        for record in written:
            last[record.entry.world] = record.entry.seq
        for world, seq in last.items():
            if self._creations.pending(world):
                self._creations.durable(world)
                continue
            runtime = self.runtimes.get(world)
            assert runtime is not None, "who writes records is open"
            bodies = runtime.made_durable(seq)
            for body in bodies:
                self._jobs.release(body)
            self._feed(runtime, hub.Durable(seq))
            self._after_durable(runtime, bodies)
        self._drain_further()

    def _after_durable(self, runtime: Runtime, bodies: list[kinds.Body]) -> None:
        """A purge forgets the world's bodies as soon as it is durable; a long tail is checkpointed."""
        if any(isinstance(body, kinds.Purge) for body in bodies):
            self._keeper.erase(runtime.id)
            self.pasts.forget(runtime.id)
        elif runtime.wants_checkpoint() and not self.door.draining:
            runtime.checkpointing()
            self.admit(runtime, hub.Checkpoint(), actor=HOST, request=None, done=lambda _: None)

    def _append_failed(self, durable: dict[str, int], error: BaseException) -> None:
        self.door.storage_failed(error)
        refusal = self.door.storage_refusal()
        for world, seq in durable.items():
            if self._creations.pending(world):
                self._creations.failed(world, refusal)
                continue
            runtime = self.runtimes.get(world)
            assert runtime is not None, "who writes records is open"
            for body in runtime.undurable.values():
                self._jobs.release(body)
            runtime.undurable.clear()
            runtime.catalogue = None
            self._feed(runtime, hub.AppendFailed(seq, str(error)))
        self._drain_further()


def _is_durably_admitted(operation: hub.Operation) -> bool:
    return isinstance(operation, hub.Call) and operation.admitted is not None
