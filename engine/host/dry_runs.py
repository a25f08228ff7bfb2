"""Dry runs: what a develop would come to, and which recorded results would be others. Nothing of one is recorded.

It runs on the VM lane in slices, so that its world takes turns with the others as for any work, and holds no lock:
the head that it began on cannot change, whatever becomes of it meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from engine import limits, logic
from engine.host import answers
from engine.host import golden_answers as shapes
from engine.host.admission import Door
from engine.host.jobs import Jobs
from engine.host.parts import Parts
from engine.host.runtime import Runtime, Runtimes
from engine.host.shell import Failed, Shell
from engine.host.trying import LOST, Ground, Trial, WithSource, compare_goldens
from engine.host.watchdog import Watchdog
from engine.hub import messages as hub
from engine.hub import refusals
from engine.hub.door import refuse_by_state
from engine.logic import Interrupt
from engine.record import kinds
from engine.record.golden_kinds import Difference

DryRan = shapes.DryRun | shapes.WouldReject | answers.OperationAnswer


class DryRuns:
    """The part of a host that tries changes."""

    parts: Parts
    runtimes: Runtimes
    door: Door
    shell: Shell
    _jobs: Jobs

    def dry_run(self, world: str, develop: hub.Develop, *, done: Callable[[DryRan], None]) -> None:
        """Try a develop on the head of now; with its `gate` a result that would be another holds it, too."""
        runtime = self.runtimes.get(world)
        if runtime is None:
            done(answers.Missing(ok=False, error=f"there is no world {world}", hint="`pw worlds` lists them"))
            return
        refusal = self._refusal(runtime, develop)
        if refusal is not None:
            done(refusal)
            return
        runtime.dry_runs += 1
        run = _DryRun(self.parts, self._jobs, runtime, develop)

        def ended(answer: DryRan) -> None:
            runtime.dry_runs -= 1
            done(answer)

        self._slice(run, ended)

    def _slice(self, run: _DryRun, ended: Callable[[DryRan], None]) -> None:
        watchdog = Watchdog(self.shell, run.interrupt)

        def work() -> DryRan | None:
            watchdog.begin()
            return run.slice()

        def done(result: DryRan | Failed | None) -> None:
            watchdog.end()
            if isinstance(result, Failed) and (refusal := self.door.closed()):
                ended(refusal)  # what it reads may be closed already
            elif isinstance(result, Failed):
                if not isinstance(result.error, LOST):
                    self.shell.report(result.error)
                ended(self.door.refused(refusals.lost(str(result.error))))
            elif result is not None:
                ended(result)
            elif refusal := self.door.closed():
                ended(refusal)
            else:
                self._slice(run, ended)

        self.shell.work("vm", work, done, run.world)

    def _refusal(self, runtime: Runtime, develop: hub.Develop) -> DryRan | None:
        if refusal := self.door.closed():
            return refusal
        refused = refuse_by_state(runtime.hub, develop)
        if refused is None and runtime.dry_runs >= limits.DRY_RUNS_MAX:
            refused = refusals.busy(f"{limits.DRY_RUNS_MAX} dry runs are under way")
        return self.door.refused(refused) if refused is not None else None


@dataclass(slots=True)
class _Attempt:
    """An attempt that no check refuses."""

    outcome: logic.AttemptOutcome
    goldens: list[Difference]
    trial: Trial | None


class _DryRun:
    """One dry run. `slice` goes on for a while, on a VM thread; it gives the answer once there is one."""

    def __init__(self, parts: Parts, jobs: Jobs, runtime: Runtime, develop: hub.Develop) -> None:
        self.world = runtime.id
        self.interrupt = Interrupt()
        self._jobs = jobs
        self._runtime = runtime
        self._develop = develop
        self._ground = Ground(parts, runtime)
        self._revision = runtime.hub.revision
        self._until = runtime.hub.durable_seq
        self._goldens = list(runtime.goldens.values())
        self._attempt: _Attempt | None = None

    def slice(self) -> DryRan | None:
        if self._attempt is None:
            begun = self._begin()
            if isinstance(begun, shapes.WouldReject):
                return begun
            self._attempt = begun
            return None if begun.trial is not None else self._answer(begun)
        trial = self._attempt.trial
        assert trial is not None, "without one there was nothing more to do"
        spent_fuel = trial.fuel_used
        while trial.step():
            if trial.fuel_used - spent_fuel > limits.TRIED_SLICE_FUEL:
                return None
        return self._answer(self._attempt)

    def _begin(self) -> _Attempt | shapes.WouldReject:
        runtime, develop = self._runtime, self._develop
        catalogue = self._jobs.catalogue_at(runtime, self._revision)
        outcome = self._jobs.attempt(runtime, self._revision, develop, catalogue, self.interrupt)
        logs = list(outcome.logs)
        if outcome.verdict == "rejected":
            return shapes.WouldReject(kind=str(outcome.kind), reason=outcome.reason, logs=logs)
        if outcome.image is None:
            return _Attempt(outcome, [], None)
        broken = self._jobs.judge(runtime, outcome.image, outcome.catalogue)
        if broken is not None:
            input_ = msgspec.Raw(broken.input) if broken.input is not None else None
            return shapes.WouldReject(broken.kind, broken.reason, logs, broken.check, input_)
        sources = WithSource(runtime.sources, develop.source, is_library=develop.commonjs is not None)
        head = self._revision
        goldens = compare_goldens(self._ground, outcome.image, self._goldens, sources, head=head).changed
        trial = Trial(self._ground, outcome.image, head=head, until=self._until, sources=sources)
        return _Attempt(outcome, goldens, trial)

    def _answer(self, attempt: _Attempt) -> shapes.DryRun:
        outcome = attempt.outcome
        found = attempt.trial.found if attempt.trial is not None else None
        differs = found.differs if found is not None else []
        held = attempt.goldens or (self._develop.gate and differs)
        changes = outcome.changes
        return shapes.DryRun(
            status="held" if held else str(outcome.verdict),
            base=self._revision,
            changes=kinds.Changes(
                list(changes.added), list(changes.changed), list(changes.removed), list(changes.globals)
            ),
            goldens=shapes.difference_rows(self.world, attempt.goldens),
            differs=shapes.difference_rows(self.world, differs),
            tried=found.tried if found is not None else 0,
            same=found.same if found is not None else 0,
            skipped=[shapes.SkippedRow(one.call, one.reason) for one in (found.skipped if found else [])],
            logs=list(outcome.logs),
        )
