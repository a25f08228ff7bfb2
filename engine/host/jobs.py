"""Jobs on the VM lane: from what the hub wants run to the event that says what came of it.

Called on any thread. A job reads only what cannot change under it: images, one revision's catalogue, and the data of
its snapshot, under the world's lock.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from typing import Any, cast

from engine import limits, logic
from engine.host.drafting import Attempted
from engine.host.goldens import Goldens, attempted_by
from engine.host.page_results import PAGE_FUNCTION, judged
from engine.host.parts import JobParts
from engine.host.peers import PeerView
from engine.host.recorded_catalogue import changes_of_rollback
from engine.host.runtime import Runtime
from engine.host.trying import WithSource
from engine.hub import messages as hub
from engine.logic import HeapImage, Interrupt
from engine.logic.jobs import FailureKind, Peers, Runs
from engine.record import kinds
from engine.record.checkpoints import encode_data


class Snapshot:
    """A world's data as it was at one sequence: the `DataView` of a job."""

    def __init__(self, runtime: Runtime, seq: int) -> None:
        self._runtime = runtime
        self._seq = seq

    def get(self, key: str) -> bytes | None:
        with self._runtime.lock:
            return self._runtime.hub.data.get(key, self._seq)

    def list(self, prefix: str, after: str | None, limit: int | None) -> list[tuple[str, bytes]]:
        with self._runtime.lock:
            return self._runtime.hub.data.list(prefix, after, limit, self._seq)


class Jobs:
    def __init__(self, parts: JobParts, *, quick: bool) -> None:
        """`quick`: the host's own thread may run jobs too, if they are short."""
        self._parts = parts
        self._quick = quick and parts.engines.path == "c"
        self._goldens = Goldens(parts)
        self._too_long: OrderedDict[tuple[str, str], None] = OrderedDict()

    def run_quickly(self, runtime: Runtime, job: hub.RunJob) -> hub.Event | None:
        """On the host's thread: a call or its continuation, if little fuel is enough; else None, and nothing happened.

        The outcome is the one that all the fuel would give: a job that comes near the bound does not count, and is
        run anew on the VM lane. Changing threads costs more than most calls.
        """
        operation = job.operation
        if not self._quick or not isinstance(operation, hub.Call | hub.TryCall):
            return None
        name = runtime.id, operation.function
        if name in self._too_long or not self._parts.images.has(runtime.heaps[job.revision]):
            return None
        try:
            event = self._operate(runtime, job, Interrupt(), fuel=limits.QUICK_FUEL_MAX)
        except logic.VmFailure:  # no stack for it after all
            self._quick = False
            return None
        if event is None:
            self._too_long[name] = None
            if len(self._too_long) > limits.QUICK_MISSES_KEPT_MAX:
                self._too_long.popitem(last=False)
        return event

    def run(self, runtime: Runtime, job: hub.RunJob, interrupt: Interrupt) -> hub.Event:
        """Raises what storage raises; whatever the guest does is an outcome."""
        match job.operation:
            case hub.Call() | hub.Execute() | hub.TryCall():
                event = self._operate(runtime, job, interrupt, fuel=limits.CALL_FUEL_MAX)
                assert event is not None, "all the fuel there is gives an outcome"
                return event
            case hub.Enrol():
                return self._enrol(runtime, job, job.operation)
            case hub.Develop():
                return self._develop(runtime, job, job.operation, interrupt)
            case hub.Rollback():
                return self._rollback(runtime, job, job.operation)
            case hub.Pin():
                return self._goldens.pin(runtime, job, job.operation, self._image(runtime, job.revision))
            case hub.Bless():
                return self._bless(runtime, job, job.operation, interrupt)
            case hub.Upgrade():
                return self._upgrade(runtime, job)
            case hub.Checkpoint():
                return self._checkpoint(runtime, job)
            case other:
                raise AssertionError(f"{type(other).__name__} needs no job")

    def release(self, body: kinds.Body) -> None:
        """A record is durable, or will never be: collection decides about its blobs from now on."""
        match body:
            case kinds.Revision() if body.cause != "rollback":
                self._parts.pins.landed(body.heap.blob)
            case kinds.Checkpoint():
                self._parts.pins.landed(body.data_blob)

    def _operate(
        self, runtime: Runtime, job: hub.RunJob, interrupt: Interrupt, *, fuel: int
    ) -> hub.Event | None:
        """A call or a preview, from its beginning or from where it waited; None if `fuel` was not clearly enough."""
        operation, resume = job.operation, job.resume
        spent = resume.detail.fuel_used if resume is not None else 0
        fuel_max = min(spent + fuel, limits.CALL_FUEL_MAX)
        shared: dict[str, Any] = {
            "data": self._data(runtime, job),
            "peers": self._peers(runtime, operation),
            "source_lookup": runtime.sources,
            "interrupt": interrupt,
        }
        pool, image = self._pool(runtime), self._image(runtime, job.revision)
        outcome: logic.CallOutcome | logic.Waiting
        if resume is not None:
            park = dataclasses.replace(resume.detail, fuel_max=fuel_max)
            kind = cast(FailureKind, resume.kind or "threw")
            outcome = logic.resume(
                pool, image, park, resume.ordinal, resume.ok, resume.value, kind=kind, **shared
            )
        else:
            run: dict[str, Any] = {"flick": job.flick, "seed": job.seed, "fuel": fuel_max, **shared}
            if isinstance(operation, hub.Execute):
                outcome = logic.execute(pool, image, operation.expression, **run)
            else:
                assert isinstance(operation, hub.Call | hub.TryCall)
                outcome = logic.call(pool, image, operation.function, operation.args, **run)
        used = outcome.park.fuel_used if isinstance(outcome, logic.Waiting) else outcome.fuel
        if fuel_max < limits.CALL_FUEL_MAX and used - spent > fuel * 3 // 4:
            return None
        if isinstance(outcome, logic.Waiting):
            park = dataclasses.replace(outcome.park, fuel_max=limits.CALL_FUEL_MAX)
            outcome = dataclasses.replace(outcome, park=park)
        return _operated(job, outcome)

    def _data(self, runtime: Runtime, job: hub.RunJob) -> logic.DataView:
        snapshot = Snapshot(runtime, job.snapshot)
        if isinstance(job.operation, hub.TryCall):
            return logic.Overlaid(snapshot, dict(job.operation.overlay))
        return snapshot

    def _peers(self, runtime: Runtime, operation: hub.Operation) -> Peers:
        path = operation.path if isinstance(operation, hub.Call | hub.TryCall) else ()
        return PeerView(self._parts.ledger, runtime.id, runtime.grants, path)

    def _develop(
        self, runtime: Runtime, job: hub.RunJob, develop: hub.Develop, interrupt: Interrupt
    ) -> hub.Event:
        catalogue = self._catalogue(runtime, job.revision)
        outcome = self.attempt(runtime, job.revision, develop, catalogue, interrupt)
        return self._attempt_done(runtime, job, outcome, source=develop.source, commonjs=develop.commonjs)

    def attempt(
        self,
        runtime: Runtime,
        revision: int,
        develop: hub.Develop,
        catalogue: logic.Catalogue,
        interrupt: Interrupt,
    ) -> logic.AttemptOutcome:
        """What a develop on a revision of this catalogue comes to, before any check. Nothing is stored."""
        return logic.develop(
            self._pool(runtime),
            self._image(runtime, revision),
            develop.source,
            fuel=limits.DEVELOP_FUEL_MAX,
            commonjs=develop.commonjs,
            catalogue=catalogue,
            source_lookup=runtime.sources,
            interrupt=interrupt,
        )

    def _bless(self, runtime: Runtime, job: hub.RunJob, bless: hub.Bless, interrupt: Interrupt) -> hub.Event:
        """What was held, attempted once more on the head of now."""
        match attempted_by(self._goldens.held(runtime, bless.held)):
            case hub.Develop() as develop:
                return self._develop(runtime, job, develop, interrupt)
            case hub.Rollback() as rollback:
                return self._rollback(runtime, job, rollback)
            case hub.Upgrade():
                return self._upgrade(runtime, job)

    def _upgrade(self, runtime: Runtime, job: hub.RunJob) -> hub.Event:
        outcome = logic.upgrade(self._pool(runtime), self._image(runtime, job.revision))
        return self._attempt_done(runtime, job, outcome, source="", commonjs=None)

    def _attempt_done(
        self,
        runtime: Runtime,
        job: hub.RunJob,
        outcome: logic.AttemptOutcome,
        *,
        source: str,
        commonjs: str | None,
    ) -> hub.Event:
        heap, judged = None, None
        verdict, kind, reason, broken = str(outcome.verdict), str(outcome.kind or ""), outcome.reason, None
        if outcome.verdict == "accepted":
            assert outcome.image is not None, "an accepted attempt has a heap"
            broken = self.judge(runtime, outcome.image, outcome.catalogue)
            if broken is None:
                sources = WithSource(runtime.sources, source, is_library=commonjs is not None)
                judged = self._goldens.judge(runtime, job, outcome.image, sources)
            if broken is not None:
                verdict, kind, reason = "rejected", broken.kind, broken.reason
            elif judged is not None and judged.is_to_be_held:
                verdict = "held"
            else:
                heap = self._parts.images.put(outcome.image, parent=runtime.heaps[job.revision])
        attempted = _attempted(
            outcome.changes,
            outcome.catalogue,
            source=source,
            commonjs=commonjs,
            rewritten=outcome.rewritten,
            logs=list(outcome.logs),
            fuel=outcome.fuel,
            heap=heap,
            kind=kind,
            reason=reason,
            check=broken.check if broken else None,
            input=broken.input if broken else None,
            judged=judged,
            held=self._goldens.blessed_by(runtime, job),
        )
        return hub.AttemptDone(job.op, verdict, attempted)

    def judge(self, runtime: Runtime, image: HeapImage, catalogue: logic.Catalogue) -> logic.Broken | None:
        """The first check that an attempted heap breaks, or that has become vacuous."""
        return logic.judge(
            self._pool(runtime),
            image,
            [enrolled.check for enrolled in runtime.checks.values()],
            catalogue=catalogue,
            source_lookup=runtime.sources,
        )

    def _enrol(self, runtime: Runtime, job: hub.RunJob, enrol: hub.Enrol) -> hub.Event:
        """A check is tried on the head; the identical one again is the one that is there."""
        proposed = logic.Check(
            name=enrol.name,
            expression=enrol.expression,
            counterexample=enrol.counterexample,
            generator=enrol.generator,
            seed=job.seed,
        )
        earlier = runtime.checks.get(enrol.name)
        if earlier is not None and earlier.check.says_the_same(proposed):
            return hub.AttemptDone(job.op, "existing", None, earlier.seq)
        catalogue = self._catalogue(runtime, job.revision)
        if earlier is not None:
            refused = logic.Broken(
                check=enrol.name,
                kind="check",
                reason=f"there is a check {enrol.name} already, which says something else; remove it first",
            )
        else:
            verdict = logic.enrol(
                self._pool(runtime),
                self._image(runtime, job.revision),
                proposed,
                catalogue=catalogue,
                source_lookup=runtime.sources,
            )
            if isinstance(verdict, logic.Check):
                return hub.AttemptDone(job.op, "enrolled", verdict)
            refused = verdict
        return hub.AttemptDone(job.op, "rejected", _refused(refused, enrol, catalogue))

    def _rollback(self, runtime: Runtime, job: hub.RunJob, rollback: hub.Rollback) -> hub.Event:
        """The target's heap becomes the head again, if the checks hold on it or the operator forces it."""
        ledger = self._parts.ledger
        row = ledger.revision(runtime.id, rollback.revision)
        assert row is not None and row.body is not None, "the hub knows which revisions there are"
        image = self._parts.images.get(row.body.heap)
        target = logic.catalogue_of(self._pool(runtime), image)
        broken = None if rollback.force else self.judge(runtime, image, target)
        judged = None if broken else self._goldens.judge(runtime, job, image)
        attempted = _attempted(
            changes_of_rollback(lambda: self._catalogue(runtime, job.revision), ledger, runtime.id, target),
            target,
            source="",
            commonjs=None,
            rewritten="",
            logs=[],
            fuel=0,
            heap=row.body.heap,
            kind=broken.kind if broken else "",
            reason=broken.reason if broken else "",
            check=broken.check if broken else None,
            input=broken.input if broken else None,
            judged=judged,
            held=self._goldens.blessed_by(runtime, job),
        )
        verdict = "held" if judged is not None and judged.is_to_be_held else "accepted"
        return hub.AttemptDone(job.op, "rejected" if broken else verdict, attempted)

    def _checkpoint(self, runtime: Runtime, job: hub.RunJob) -> hub.Event:
        content, digest, rows = encode_data(Snapshot(runtime, job.snapshot).list("", None, None))
        checkpoint = kinds.Checkpoint(
            revision=job.revision,
            heap=runtime.heaps[job.revision],
            data_blob=self._parts.pins.put(self._parts.blobs, content),
            data_digest=digest,
            rows=rows,
            snapshot=job.snapshot,
        )
        return hub.AttemptDone(job.op, "accepted", checkpoint)

    def _catalogue(self, runtime: Runtime, revision: int) -> logic.Catalogue:
        """The catalogue of the head, read from its heap once. Only who holds the change lock asks."""
        if runtime.catalogue is None:
            runtime.catalogue = self.catalogue_at(runtime, revision)
        return runtime.catalogue

    def catalogue_at(self, runtime: Runtime, revision: int) -> logic.Catalogue:
        return logic.catalogue_of(self._pool(runtime), self._image(runtime, revision))

    def _pool(self, runtime: Runtime) -> Runs:
        return self._parts.engines.pool_for(runtime.engine.identity, runtime.engine.blob)

    def _image(self, runtime: Runtime, revision: int) -> HeapImage:
        return self._parts.images.get(runtime.heaps[revision])


def _operated(job: hub.RunJob, outcome: logic.CallOutcome | logic.Waiting) -> hub.Event:
    if isinstance(outcome, logic.Waiting):
        asks = tuple(hub.Ask(ask.ordinal, ask.world, ask.function, ask.args) for ask in outcome.asks)
        return hub.CallWaiting(job.op, asks, outcome.park, 0)  # the host's thread says what time it is
    if isinstance(job.operation, hub.Call) and job.operation.function == PAGE_FUNCTION:
        outcome = judged(outcome)
    return hub.CallDone(
        job.op,
        outcome.ok,
        outcome.missing,
        tuple(_read(read) for read in outcome.reads),
        tuple(hub.Write(key, value) for key, value in outcome.writes),
        outcome,
    )


def _refused(broken: logic.Broken, enrol: hub.Enrol, catalogue: logic.Catalogue) -> Attempted:
    """A refused check as the rejection that it is recorded as."""
    return Attempted(
        source=enrol.expression,
        commonjs=None,
        rewritten="",
        changes=kinds.Changes(),
        definitions=[],
        logs=[],
        fuel=0,
        catalogue=catalogue,
        prelude_version=catalogue.prelude_version,
        kind=broken.kind,
        reason=broken.reason,
        check=enrol.name,
        counterexample=enrol.counterexample,
        generator=enrol.generator,
        input=broken.input,
    )


def _read(read: logic.Read) -> hub.Read:
    if isinstance(read, logic.KeyRead):
        return hub.Read(read.key)
    return hub.Read(read.prefix, True, read.after, read.until)


def _attempted(changes: logic.Changes, catalogue: logic.Catalogue, **fields: Any) -> Attempted:
    """`definitions` are those that the changes name."""
    named = sorted([*changes.added, *changes.changed])
    by_name = {definition.name: definition for definition in catalogue.definitions}
    return Attempted(
        changes=kinds.Changes(
            list(changes.added), list(changes.changed), list(changes.removed), list(changes.globals)
        ),
        definitions=[_recorded(by_name[name]) for name in named],
        catalogue=catalogue,
        prelude_version=catalogue.prelude_version,
        **fields,
    )


def _recorded(definition: logic.Definition) -> kinds.Definition:
    return kinds.Definition(
        name=definition.name,
        kind=definition.kind,
        version=definition.version,
        params=list(definition.params),
        doc=definition.doc,
        source=definition.source,
    )
