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
from engine.host.incident_runs import (
    Ran,
    broken_of,
    came_to,
    changes_of,
    differing,
    fuel_of,
    function_of,
    recorded_of,
    shown,
    was_stopped,
)
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
from engine.logic.source import file_of
from engine.logic.watching import Watcher
from engine.record import kinds
from engine.record.moments import NoMoment, data_at
from engine.record.records import RecordForeign, RecordRotten

Replayed = shapes.IncidentReplayed | shapes.TryRejected | answers.Refused
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
            what = "preview of another world's" if body.operation == "trycall" else body.operation
            return answers.Refused(
                ok=False,
                refused="no-call",
                error=f"incident {n} interrupted a {what}, which is not run again",
                hint="what it would have changed did not happen; ask for it again, or dismiss the incident",
            )
        return None

    def _lost(self, error: BaseException) -> answers.Refused:
        if not isinstance(error, _STORED):
            self.shell.report(error)
        return _refusal(refusals.lost(str(error)))


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
        fuel = fuel_of(self.body)
        original = self._run(image, data, told, fuel, self.runtime.sources)
        recorded = recorded_of(self.body)
        now = came_to(original)
        if was_stopped(self.body) and now.failure == "budget":
            now = msgspec.structs.replace(now, error=recorded.error)
        differs = differing(self.body, recorded, now)
        shape = shapes.IncidentReplayed(
            incident=self.n,
            same=not differs,
            differs=differs,
            recorded=recorded,
            now=now,
            steps=shown(original),
            cut=original.watcher.is_cut,
        )
        if self.source is None:
            return shape
        tried = self._tried(image, data, original, told)
        return msgspec.structs.replace(shape, tried=tried) if isinstance(tried, shapes.TriedReplay) else tried

    def _tried(
        self, image: HeapImage, data: logic.DataView, original: Ran, told: Sequence[Told]
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
            changes=changes_of(attempt.changes),
            logs=list(attempt.logs),
            now=came_to(ran),
            steps=shown(ran),
            cut=ran.watcher.is_cut,
            departs=departs + 1 if departs is not None else None,
            broken=broken_of(broken) if broken is not None else None,
        )

    def _run(
        self,
        image: HeapImage,
        data: logic.DataView,
        told: Sequence[Told],
        fuel: int,
        lookup: logic.SourceLookup,
    ) -> Ran:
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
                return Ran(watcher, None, tuple(waiting), tuple(asked), console, fuel_used, peers.shown_now())
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
        if function_of(body) == PAGE_FUNCTION:
            outcome = judged(outcome)
        watcher.ended(outcome)
        return Ran(watcher, outcome, (), tuple(asked), outcome.logs, outcome.fuel, peers.shown_now())

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
        function = function_of(body)
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
