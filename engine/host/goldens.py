"""Pinned calls of a world: how a result gets pinned, and what an attempt that would change one comes to."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from engine import limits, logic
from engine.host.ledger import LedgerReads
from engine.host.parts import JobParts
from engine.host.rerunning import Case
from engine.host.runtime import Runtime
from engine.host.trying import (
    DEPENDS_ON_MORE,
    LOST,
    Ground,
    PinnedFound,
    Trial,
    compare_goldens,
    difference_of,
)
from engine.hub import messages as hub
from engine.record import kinds
from engine.record.canonical import to_bytes
from engine.record.golden_kinds import Blessed, Difference, GoldenPinned, Held, Outcome
from engine.record.goldens import identity_of, is_same_result, kept

Sources = logic.SourceLookup
PAST_LOST = "its past cannot be read"


@dataclass(frozen=True, slots=True)
class Judged:
    """What an attempted heap would change of results. `blessed`: all of it was shown, and is blessed.

    `as_before` are pinned results that neither it nor the head gives. `forced`: it is taken whatever it changes.
    """

    goldens: list[Difference]
    differs: list[Difference]
    tried_until: int | None
    root: str
    blessed: Blessed | None = None
    as_before: list[Difference] = field(default_factory=list)
    forced: bool = False

    @property
    def is_to_be_held(self) -> bool:
        return not self.forced and self.blessed is None and bool(self.goldens or self.differs)

    @property
    def unlike(self) -> list[int]:
        """The numbers of the pinned results that it does not give, once it is the head."""
        blessed = self.blessed.goldens if self.blessed is not None else ()
        return sorted(n for n in _numbers([*self.goldens, *self.as_before]) if n not in blessed)


@dataclass(frozen=True, slots=True)
class RefusedPin:
    """Why a call is not pinned, for its record."""

    kind: str
    reason: str


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
        cases = runtime.goldens.values()
        if isinstance(operation, hub.Rollback) and operation.force:
            return _forced(ground, image, list(cases), job.revision)
        found = compare_goldens(ground, image, cases, sources, head=job.revision)
        goldens, as_before = _with_what_was_shown(found, held)
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
            blessed = Blessed(operation.held, operation.reason, _numbers(goldens))
        return Judged(goldens, differs, until, image.root, blessed, as_before)

    def pin(self, runtime: Runtime, job: hub.RunJob, pin: hub.Pin, image: logic.HeapImage) -> hub.Event:
        """Pin a recorded call if it comes to the same at the head; a pinned one is pinned already."""
        for golden in runtime.goldens.values():
            if golden.call == pin.call:
                assert golden.golden is not None, "what is pinned has a number"
                return hub.AttemptDone(job.op, "existing", None, runtime.golden_seqs[golden.golden])
        ground = Ground(self._parts, runtime)
        why_not = why_no_call(self._parts.ledger, runtime.id, pin.call)
        if why_not is not None:  # it was one when it was asked for
            return _refused(job, pin, "erased", why_not)
        found = ground.call_at(pin.call)
        assert found is not None and isinstance(found[1], kinds.Call), "it is one"
        case = ground.case_of(pin.call, found[1])
        if isinstance(case, str):
            return _refused(job, pin, "differs", case)
        now = ground.run(image, case)
        if not is_same_result(case.outcome, now):
            # What it comes to is not said: rejections stay in recordings that leave results out.
            return _refused(
                job, pin, "differs", "it comes to something else at the head; call it again, pin that"
            )
        body = _pinned(case, pin, now)
        too_much = self._too_much(runtime, body)
        if too_much is not None:
            return _refused(job, pin, "size", too_much)
        return hub.AttemptDone(job.op, "pinned", body)

    def _too_much(self, runtime: Runtime, body: GoldenPinned) -> str | None:
        """Why a pin takes more than it may: its bytes without what the operator says, or the fuel of all of them."""
        size_bytes = len(to_bytes(msgspec.structs.replace(body, name="", reason="")))
        if size_bytes > limits.GOLDEN_BYTES_MAX:
            return f"to run it again takes {size_bytes} bytes; at most {limits.GOLDEN_BYTES_MAX} are kept"
        fuel = body.outcome.fuel + sum(golden.outcome.fuel for golden in runtime.goldens.values())
        if fuel > limits.TRIED_FUEL_MAX:
            return f"with it the pinned calls of this world take {fuel} fuel; at most {limits.TRIED_FUEL_MAX}"
        return None


def why_no_call(ledger: LedgerReads, world: str, seq: int) -> str | None:
    """Why a record is no call that can be pinned, as far as it says itself; None where it is one."""
    with ledger.lock:
        row = ledger.read().record(world, seq)
    if row is None:
        return "is not there"
    if row.kind != "call":
        return f"is no call but a record of kind {row.kind}"
    body = ledger.body_of(row.cursor)
    if body is None:
        return "is a call whose body was erased"
    assert isinstance(body, kinds.Call), "a record of a kind has a body of it"
    if body.failure is not None and body.failure.kind == "missing":
        return "is a call of what was not defined"
    if body.failure is not None and body.failure.kind in DEPENDS_ON_MORE:
        return f"ended as a {body.failure.kind}, which running it alone does not repeat"
    return None


def attempted_by(held: Held) -> hub.Develop | hub.Rollback | hub.Upgrade:
    """The operation that was held."""
    if held.cause == "rollback":
        assert held.target is not None, "a rollback has a target"
        return hub.Rollback(held.target, held.summary)
    if held.cause == "upgrade":
        return hub.Upgrade()
    return hub.Develop(held.source, held.summary, held.commonjs)


def _refused(job: hub.RunJob, pin: hub.Pin, kind: str, reason: str) -> hub.Event:
    return hub.AttemptDone(job.op, "rejected", RefusedPin(kind, f"record {pin.call}: {reason}"))


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


def _forced(ground: Ground, image: logic.HeapImage, cases: list[Case], head: int) -> Judged:
    """Nothing holds it, not even a past that cannot be read: then no pinned result is known to be given."""
    try:
        found = compare_goldens(ground, image, cases, head=head)
    except LOST:
        unknown = Outcome(stopped=PAST_LOST)
        found = PinnedFound([difference_of(case, unknown) for case in cases], [])
    return Judged(found.changed, [], None, image.root, as_before=found.as_before, forced=True)


def _with_what_was_shown(found: PinnedFound, held: Held | None) -> tuple[list[Difference], list[Difference]]:
    """What is changed, and what is as before. What a blessed change had shown is its own, whatever the head gives."""
    shown = {_key(difference) for difference in held.goldens} if held is not None else set()
    own = [difference for difference in found.as_before if _key(difference) in shown]
    as_before = [difference for difference in found.as_before if _key(difference) not in shown]
    return [*found.changed, *own], as_before


def _numbers(differences: list[Difference]) -> list[int]:
    return [one.golden for one in differences if one.golden is not None]


def _are_all_shown(held: Held, differences: list[Difference]) -> bool:
    """Whether each of these was shown when the change was held, with the same results before and after."""
    shown = {_key(difference) for difference in (*held.goldens, *held.differs)}
    return all(_key(difference) in shown for difference in differences)


def _key(difference: Difference) -> tuple[int | None, int, str, str]:
    before, after = identity_of(difference.before), identity_of(difference.after)
    return difference.golden, difference.call, before, after
