"""Incidents run again, to be looked at: step by step, and with an edited definition in place of what failed.

The call runs on its revision and its data, at its flick and with its seed, and hears what other worlds told it then.
Nothing is recorded and nothing changes (Invariant 18). It runs on the VM lane, under the budget of any call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from engine import limits, logic
from engine.host import answers
from engine.host import incident_answers as shapes
from engine.host.admission import Door
from engine.host.api import NotThere
from engine.host.engines import EngineForeign
from engine.host.page_results import PAGE_FUNCTION, judged
from engine.host.parts import Parts
from engine.host.peers import PeerView
from engine.host.recorded_peers import RecordedPeers, Told, next_answer, told_of
from engine.host.runtime import Runtime, Runtimes
from engine.host.shell import Failed, Shell
from engine.host.watchdog import Watchdog
from engine.hub import messages as hub
from engine.hub import refusals
from engine.io.blobs import BlobError
from engine.io.disk import DiskError
from engine.io.log import LogError
from engine.logic import Ask, CallOutcome, HeapImage, Interrupt, VmPool
from engine.logic.jobs import Failure
from engine.logic.source import file_of
from engine.logic.watching import Step, Watcher
from engine.record import kinds
from engine.record.moments import NoMoment, data_at
from engine.record.records import RecordForeign, RecordRotten

Replayed = shapes.IncidentReplayed | shapes.TryRejected | answers.Refused
_WATCHDOG = "the watchdog stopped it"
_STORED = (BlobError, DiskError, LogError, RecordForeign, RecordRotten, EngineForeign)
"""What keeps a stored past from being run again; anything else is a fault of ours."""


class IncidentReplays:
    """The part of a host that runs incidents again."""

    parts: Parts
    runtimes: Runtimes
    door: Door
    shell: Shell

    def replay_incident(
        self,
        world: str,
        n: int,
        *,
        source: str | None = None,
        commonjs: str | None = None,
        done: Callable[[Replayed], None],
    ) -> None:
        """Run an incident again; with `source`, once more on what it develops. Raises NotThere."""
        runtime = self.runtimes.get(world)
        if runtime is None:
            raise NotThere(f"there is no world {world}")
        if runtime.hub.purged:
            done(_refusal(refusals.purged()))
            return
        ledger = self.parts.ledger
        with ledger.lock:
            row = ledger.read().incident(world, n)
        if row is None:
            raise NotThere(f"no incident {n} in world {world}")
        if refused := self._refused(n, row.body):
            done(refused)
            return
        assert row.body is not None, "an erased one was refused"
        replay = Replay(self.parts, runtime, n, row.body, source, commonjs, Interrupt())
        watchdog = Watchdog(self.shell, replay.interrupt)

        def run() -> Replayed:
            watchdog.begin()
            return replay.run()

        def ended(result: Replayed | Failed) -> None:
            watchdog.end()
            done(self._lost(result.error) if isinstance(result, Failed) else result)

        self.shell.work("vm", run, ended, world)

    def _refused(self, n: int, body: kinds.Call | kinds.Interrupted | None) -> answers.Refused | None:
        if self.door.draining:
            return self.door.closed()
        if body is None:
            return answers.Refused(
                ok=False,
                refused="erased",
                error=f"what incident {n} was is erased, so it cannot be run again",
                hint="a recording without what people asked and were answered has no more of it",
            )
        if not isinstance(body, kinds.Interrupted):
            return None
        if body.quarantined:
            return answers.Refused(
                ok=False,
                refused="quarantined",
                error=f"the server ended {body.deaths} times while exactly this ran, so it is not run again here",
                hint="run it again elsewhere: pw export, then pw replay FILE on another machine",
            )
        if body.operation not in ("call", "execute"):
            return answers.Refused(
                ok=False,
                refused="no-call",
                error=f"incident {n} interrupted no call but a {body.operation}, which is not run again",
                hint="what it would have changed did not happen; ask for it again, or dismiss the incident",
            )
        return None

    def _lost(self, error: BaseException) -> answers.Refused:
        if not isinstance(error, _STORED):
            self.shell.report(error)
        return _refusal(refusals.lost(str(error)))


@dataclass(frozen=True, slots=True)
class _Ran:
    """What a run came to: its outcome, or where it stopped because it asked what nobody had answered."""

    watcher: Watcher
    outcome: CallOutcome | None
    asks: tuple[Ask, ...] = ()
    asked: tuple[Ask, ...] = ()
    logs: tuple[str, ...] = ()
    fuel: int = 0
    shown_now: frozenset[tuple[str, str]] = frozenset()  # membership only


@dataclass(frozen=True, slots=True)
class Replay:
    """One incident on its way through the VM lane."""

    parts: Parts
    runtime: Runtime
    n: int
    body: kinds.Call | kinds.Interrupted
    source: str | None
    commonjs: str | None
    interrupt: Interrupt

    def run(self) -> Replayed:
        """Raises what storage raises."""
        try:
            data, image = self._data(), self._image()
        except NoMoment as error:
            return answers.Refused(
                ok=False, refused="erased", error=f"incident {self.n} cannot be run again: {error.reason}"
            )
        told = told_of(self.body)
        fuel = _fuel_of(self.body)
        original = self._run(image, data, told, fuel, self.runtime.sources)
        recorded = _recorded(self.body)
        now = _came_to(original)
        if _was_stopped(self.body) and now.failure == "budget":
            now = msgspec.structs.replace(now, error=recorded.error)
        differs = _differs(self.body, recorded, now)
        shape = shapes.IncidentReplayed(
            incident=self.n,
            same=not differs,
            differs=differs,
            recorded=recorded,
            now=now,
            steps=_shown(original),
            cut=original.watcher.is_cut,
        )
        if self.source is None:
            return shape
        tried = self._tried(image, data, original, told)
        return msgspec.structs.replace(shape, tried=tried) if isinstance(tried, shapes.TriedReplay) else tried

    def _tried(
        self, image: HeapImage, data: logic.DataView, original: _Ran, told: Sequence[Told]
    ) -> shapes.TriedReplay | shapes.TryRejected:
        """The same call on what the edited source makes of the incident's heap."""
        assert self.source is not None
        attempt = logic.develop(
            self._pool,
            image,
            self.source,
            commonjs=self.commonjs,
            catalogue=logic.catalogue_of(self._pool, image),
            source_lookup=self.runtime.sources,
            interrupt=self.interrupt,
        )
        if attempt.verdict == "rejected":
            return shapes.TryRejected(kind=str(attempt.kind), reason=attempt.reason, logs=list(attempt.logs))
        edited = attempt.image or image
        written = logic.WrittenSource(self.source, self.commonjs is not None)
        lookup = _With(file_of(self.source), written, self.runtime.sources)
        asked = {ask.ordinal: ask for ask in original.asked}
        known = [replace(answer, ask=asked[answer.ordinal]) for answer in told if answer.ordinal in asked]
        ran = self._run(edited, data, known, limits.CALL_FUEL_MAX, lookup)
        departs = ran.watcher.departs_from(original.watcher)
        broken = logic.judge(
            self._pool,
            edited,
            [enrolled.check for enrolled in self.runtime.checks.values()],
            catalogue=attempt.catalogue,
            source_lookup=lookup,
        )
        return shapes.TriedReplay(
            changes=kinds.Changes(*map(list, _names(attempt.changes))),
            logs=list(attempt.logs),
            now=_came_to(ran),
            steps=_shown(ran),
            cut=ran.watcher.is_cut,
            departs=departs + 1 if departs is not None else None,
            broken=_broken(broken) if broken is not None else None,
        )

    def _run(
        self,
        image: HeapImage,
        data: logic.DataView,
        told: Sequence[Told],
        fuel: int,
        lookup: logic.SourceLookup,
    ) -> _Ran:
        """Run it, answering its asks with what is known; where nothing is known it stops."""
        watcher = Watcher()
        body = self.body
        path = tuple(body.path) if isinstance(body, kinds.Call) else ()
        present = PeerView(self.parts.ledger, self.runtime.id, self.runtime.grants, path)
        peers = RecordedPeers(body.looks if isinstance(body, kinds.Call) else [], present)
        shared: dict[str, Any] = {
            "data": data,
            "peers": peers,
            "source_lookup": lookup,
            "interrupt": self.interrupt,
            "watcher": watcher,
        }
        outcome = self._begin(image, fuel, shared)
        asked: list[Ask] = []
        left = list(told)
        while isinstance(outcome, logic.Waiting):
            asked += outcome.asks
            unanswered = outcome.park.journal.unanswered
            waiting = [ask for ask in asked if ask.ordinal in unanswered]
            found = next_answer(left, waiting)
            if found is None:
                console = outcome.park.journal.console.lines
                fuel_used = outcome.park.fuel_used
                return _Ran(
                    watcher, None, tuple(waiting), tuple(asked), console, fuel_used, peers.shown_now()
                )
            answer, ask = found
            left.remove(answer)
            outcome = logic.resume(
                self._pool,
                image,
                outcome.park,
                ask.ordinal,
                answer.ok,
                answer.value,
                kind=answer.kind,
                **shared,
            )
        if _function_of(body) == PAGE_FUNCTION:
            outcome = judged(outcome)
        watcher.ended(outcome)
        return _Ran(watcher, outcome, (), tuple(asked), outcome.logs, outcome.fuel, peers.shown_now())

    def _begin(self, image: HeapImage, fuel: int, shared: dict[str, Any]) -> CallOutcome | logic.Waiting:
        body = self.body
        if isinstance(body, kinds.Call):
            flick = body.flick
        else:
            flick = body.admitted_flick
            if body.operation == "execute":
                return logic.execute(
                    self._pool, image, body.subject, flick=flick, seed=body.seed, fuel=fuel, **shared
                )
        function = _function_of(body)
        assert function is not None, "what is no expression is a call"
        return logic.call(
            self._pool, image, function, body.args, flick=flick, seed=body.seed, fuel=fuel, **shared
        )

    @property
    def _pool(self) -> VmPool:
        engine = self.runtime.engine
        return self.parts.engines.pool_for(engine.identity, engine.blob)

    def _image(self) -> HeapImage:
        row = self.parts.ledger.revision(self.runtime.id, self.body.revision)
        if row is None or row.body is None:
            reason = f"the body of revision {self.body.revision} is erased"
            raise NoMoment(self.runtime.id, self.body.snapshot, reason, erased=True)
        return self.parts.images.get(row.body.heap)

    def _data(self) -> logic.DataView:
        parts, world, seq = self.parts, self.runtime.id, self.body.snapshot
        with parts.ledger.lock:
            checkpoint = parts.ledger.read().checkpoint(world, seq)
        return data_at(parts.log, parts.blobs, world, seq, checkpoint)


@dataclass(frozen=True, slots=True)
class _With:
    """A `SourceLookup` that knows one source more: the one that is being tried."""

    file: str
    written: logic.WrittenSource
    others: logic.SourceLookup

    def __call__(self, file: str) -> logic.WrittenSource | None:
        return self.written if file == self.file else self.others(file)


def _refusal(refusal: hub.Refusal) -> answers.Refused:
    return answers.Refused(ok=False, refused=refusal.code, error=refusal.error, hint=refusal.hint)


def _function_of(body: kinds.Call | kinds.Interrupted) -> str | None:
    if isinstance(body, kinds.Call):
        return body.function
    return body.subject if body.operation == "call" else None


def _was_stopped(body: kinds.Call | kinds.Interrupted) -> bool:
    """Whether the watchdog ended it: that is no matter of its fuel, so the fuel that it had used is its budget now."""
    failure = body.failure if isinstance(body, kinds.Call) else None
    return failure is not None and failure.kind == "budget" and failure.error.startswith(_WATCHDOG)


def _fuel_of(body: kinds.Call | kinds.Interrupted) -> int:
    if isinstance(body, kinds.Call) and _was_stopped(body):
        return max(1, body.fuel)
    return limits.CALL_FUEL_MAX


def _recorded(body: kinds.Call | kinds.Interrupted) -> shapes.CameTo:
    if isinstance(body, kinds.Interrupted):
        return shapes.CameTo(outcome="interrupted", logs=[])
    failure = body.failure
    assert failure is not None, "an incident is a call that failed"
    return shapes.CameTo(
        outcome="failed",
        failure=failure.kind,
        error=failure.error,
        hint=failure.hint,
        logs=body.logs,
        fuel=body.fuel,
    )


def _came_to(ran: _Ran) -> shapes.CameTo:
    outcome = ran.outcome
    if outcome is None:
        asks = [shapes.AskRow(ask.world, ask.function, msgspec.Raw(ask.args)) for ask in ran.asks]
        return shapes.CameTo(outcome="asks", logs=list(ran.logs), fuel=ran.fuel, asks=asks)
    shared: dict[str, Any] = {
        "logs": list(outcome.logs),
        "fuel": outcome.fuel,
        "abandoned": list(outcome.abandoned),
    }
    failure = outcome.failure
    if outcome.missing:
        failure = Failure(kind="threw", error="not defined")
        return shapes.CameTo(outcome="failed", failure="missing", error=failure.error, **shared)
    if failure is not None:
        return shapes.CameTo(
            outcome="failed", failure=failure.kind, error=failure.error, hint=failure.hint, **shared
        )
    assert outcome.value is not None, "what succeeded has a value"
    return shapes.CameTo(
        outcome="value",
        value=msgspec.Raw(outcome.value),
        rolled_back=answers.RolledBack(
            set=[key for key, value in outcome.writes if value is not None],
            deleted=[key for key, value in outcome.writes if value is None],
        ),
        **shared,
    )


def _differs(body: kinds.Call | kinds.Interrupted, recorded: shapes.CameTo, now: shapes.CameTo) -> list[str]:
    """The fields in which the run is not as recorded.

    What was interrupted had no outcome to compare with; a conflict says nothing of the run, but its console and its
    fuel are recorded.
    """
    if isinstance(body, kinds.Interrupted):
        return ["outcome"]
    is_conflict = body.failure is not None and body.failure.kind == "conflict"
    fields = ("logs", "fuel") if is_conflict else ("outcome", "failure", "error", "hint", "logs", "fuel")
    return [field for field in fields if getattr(recorded, field) != getattr(now, field)]


def _names(changes: logic.Changes) -> tuple[Sequence[str], ...]:
    return changes.added, changes.changed, changes.removed, changes.globals


def _broken(broken: logic.Broken) -> shapes.BrokenCheck:
    shown = msgspec.Raw(broken.input) if broken.input is not None else None
    return shapes.BrokenCheck(check=broken.check, kind=broken.kind, reason=broken.reason, input=shown)


def _shown(ran: _Ran) -> list[shapes.StepRow]:
    return [_row(n, step, ran.shown_now) for n, step in enumerate(ran.watcher.steps, 1)]


def _row(n: int, step: Step, shown_now: frozenset[tuple[str, str]]) -> shapes.StepRow:
    is_data = step.kind in ("read", "write", "delete")
    return shapes.StepRow(
        n=n,
        kind=step.kind,
        key=step.name if is_data else None,
        prefix=step.name if step.kind == "list" else None,
        look=step.name if step.kind == "look" else None,
        failure=step.name if step.kind == "end" else None,
        value=msgspec.Raw(step.value) if step.value is not None else None,
        text=step.text if step.kind == "console" else None,
        error=step.text if step.failed else None,
        world=step.world,
        function=step.function,
        ordinal=step.ordinal,
        after=step.after,
        limit=step.limit,
        absent=step.kind == "read" and step.value is None and not step.failed and not step.left_out_bytes,
        own=step.is_own,
        as_of_now=step.kind == "look" and (step.name or "", step.world or "") in shown_now,
        left_out_bytes=step.left_out_bytes,
    )
