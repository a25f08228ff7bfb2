"""Pinned calls of a world: how a result gets pinned, and what an attempt that would change one comes to."""

from __future__ import annotations

from dataclasses import dataclass

from engine import limits, logic
from engine.host.parts import JobParts
from engine.host.rerunning import Case
from engine.host.runtime import Runtime
from engine.host.trying import Ground, Trial, compare_goldens
from engine.hub import messages as hub
from engine.hub import refusals
from engine.record import kinds
from engine.record.canonical import to_bytes
from engine.record.golden_kinds import Blessed, Difference, GoldenPinned, Held, Outcome
from engine.record.goldens import identity_of, is_same_result, kept

Sources = logic.SourceLookup


@dataclass(frozen=True, slots=True)
class Judged:
    """What an attempted heap would change of results. `blessed`: all of it was shown, and is blessed."""

    goldens: list[Difference]
    differs: list[Difference]
    tried_until: int | None
    root: str
    blessed: Blessed | None = None

    @property
    def is_to_be_held(self) -> bool:
        return self.blessed is None and bool(self.goldens or self.differs)


class Goldens:
    """The part of a world's jobs that has to do with goldens. Called on a VM thread, under the change lock."""

    def __init__(self, parts: JobParts) -> None:
        self._parts = parts

    def held(self, runtime: Runtime, n: int) -> Held:
        """The held change of that number, which the hub knows to be open."""
        held = self._parts.ledger.held(runtime.id, n)
        assert held is not None, "the hub knows what is held"
        return held

    def blessed_by(self, runtime: Runtime, job: hub.RunJob) -> Held | None:
        """The held change that a job attempts once more, if it does."""
        return self.held(runtime, job.operation.held) if isinstance(job.operation, hub.Bless) else None

    def judge(
        self, runtime: Runtime, job: hub.RunJob, image: logic.HeapImage, sources: Sources | None = None
    ) -> Judged:
        """Try an attempted heap against the pinned calls, and where that is wanted the last recorded ones."""
        operation = job.operation
        held = self.blessed_by(runtime, job)
        until = held.tried_until if held is not None else None
        if isinstance(operation, hub.Develop) and operation.gate:
            until = job.snapshot
        ground = Ground(self._parts, runtime)
        _, goldens = compare_goldens(ground, image, runtime.goldens.values(), sources)
        differs = []
        if until is not None:
            trial = Trial(ground, image, head=job.revision, until=until, sources=sources)
            while trial.step():
                pass
            differs = trial.found.differs
        blessed = None
        if (
            isinstance(operation, hub.Bless)
            and held is not None
            and _are_all_shown(held, [*goldens, *differs])
        ):
            numbers = [one.golden for one in goldens if one.golden is not None]
            blessed = Blessed(operation.held, operation.reason, numbers)
        return Judged(goldens, differs, until, image.root, blessed)

    def pin(self, runtime: Runtime, job: hub.RunJob, pin: hub.Pin, image: logic.HeapImage) -> hub.Event:
        """Pin a recorded call if it comes to the same at the head; a pinned one is pinned already."""
        for golden in runtime.goldens.values():
            if golden.call == pin.call:
                assert golden.golden is not None, "what is pinned has a number"
                return hub.AttemptDone(job.op, "existing", None, runtime.golden_seqs[golden.golden])
        case = self._case(runtime, pin.call)
        if isinstance(case, hub.Refusal):
            return hub.AttemptDone(job.op, "refused", case)
        now = Ground(self._parts, runtime).run(image, case)
        if not is_same_result(case.outcome, now):
            return hub.AttemptDone(job.op, "refused", refusals.differs(pin.call, said(now)))
        body = _pinned(case, pin, now)
        size_bytes = len(to_bytes(body))
        if size_bytes > limits.GOLDEN_BYTES_MAX:
            what = "what it takes to run it again, in bytes,"
            refusal = refusals.golden_too_large(what, size_bytes, limits.GOLDEN_BYTES_MAX)
            return hub.AttemptDone(job.op, "refused", refusal)
        fuel = now.fuel + sum(golden.outcome.fuel for golden in runtime.goldens.values())
        if fuel > limits.TRIED_FUEL_MAX:
            what = "with it the fuel of this world's pinned calls"
            refusal = refusals.golden_too_large(what, fuel, limits.TRIED_FUEL_MAX)
            return hub.AttemptDone(job.op, "refused", refusal)
        return hub.AttemptDone(job.op, "pinned", body)

    def _case(self, runtime: Runtime, seq: int) -> Case | hub.Refusal:
        ground = Ground(self._parts, runtime)
        found = ground.call_at(seq)
        if found is None:
            return refusals.not_a_call(
                seq, f"is not there: world {runtime.id} has 0 to {runtime.hub.durable_seq}"
            )
        kind, body = found
        if kind != "call":
            return refusals.not_a_call(seq, f"is no call but a record of kind {kind}")
        if body is None:
            return refusals.not_a_call(seq, "is a call whose body was erased")
        assert isinstance(body, kinds.Call), "a record of a kind has a body of it"
        if body.failure is not None and body.failure.kind == "missing":
            return refusals.not_a_call(seq, "is a call of what was not defined")
        case = ground.case_of(seq, body)
        return refusals.not_a_call(seq, f"cannot be pinned: {case}") if isinstance(case, str) else case


def attempted_by(held: Held) -> hub.Develop | hub.Rollback | hub.Upgrade:
    """The operation that was held."""
    if held.cause == "rollback":
        assert held.target is not None, "a rollback has a target"
        return hub.Rollback(held.target, held.summary)
    if held.cause == "upgrade":
        return hub.Upgrade()
    return hub.Develop(held.source, held.summary, held.commonjs)


def said(outcome: Outcome) -> str:
    """An outcome in a few words."""
    if outcome.stopped is not None:
        return outcome.stopped
    if outcome.failure is not None:
        return outcome.failure.error.split("\n", 1)[0]
    text = (outcome.value or b"a large result").decode("utf-8", "replace")
    shown = text if len(text) <= limits.CHECK_SHOWN_CHARS_MAX else text[: limits.CHECK_SHOWN_CHARS_MAX] + "…"
    return f"{shown}, {len(outcome.writes)} writes" if outcome.writes else shown


def _pinned(case: Case, pin: hub.Pin, now: Outcome) -> GoldenPinned:
    """`n` and the request are the draft's."""
    return GoldenPinned(
        n=0,
        name=pin.name or case.function,
        call=case.call,
        function=case.function,
        args=case.args,
        flick=case.flick,
        seed=case.seed,
        snapshot=case.snapshot,
        path=list(case.path),
        asks=list(case.asks),
        looks=list(case.looks),
        outcome=kept(now),
        reason=pin.reason,
    )


def _are_all_shown(held: Held, differences: list[Difference]) -> bool:
    """Whether each of these was shown when the change was held, with the same results before and after."""
    shown = {_key(difference) for difference in (*held.goldens, *held.differs)}
    return all(_key(difference) in shown for difference in differences)


def _key(difference: Difference) -> tuple[int | None, int, str, str]:
    before, after = identity_of(difference.before), identity_of(difference.after)
    return difference.golden, difference.call, before, after
