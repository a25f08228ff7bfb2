"""Checks: expressions that judge every change, and counterexamples that prove that they still can fail.

A check holds if it evaluates, or settles, to exactly `true`: once, or for each of the inputs that were drawn for it
when it was enrolled. Every run has its own scratch copy of the heap and its own empty data store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from engine import limits
from engine.logic.attempt import CLOCK_MS, develop, seed_of
from engine.logic.call import OUTCOME, program_request
from engine.logic.call_host import CallHost, Journal
from engine.logic.failures import PENDING, ended_early, programs_of, readable_error
from engine.logic.generators import Generator, GeneratorError
from engine.logic.image import HeapImage
from engine.logic.jobs import Alone, Catalogue, RejectionKind, Runs, SourceLookup
from engine.logic.source import SourceError, expression_program
from engine.logic.vm import GuestError, Interrupt, Job, JobResult, text_of, wtf8

STILL_HOLDS = "it still holds with the counterexample"
BrokenKind = RejectionKind | Literal["check", "vacuous"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """A check of a world.

    `expression` is the check itself; with a `generator` it is a function of the generated value. `counterexample` is
    a develop source that makes it fail. `inputs` are the JSON texts that were drawn with `seed` (64 bits).
    """

    name: str
    expression: str
    counterexample: str
    seed: int
    generator: str | None = None
    inputs: tuple[bytes, ...] = ()

    def says_the_same(self, other: Check) -> bool:
        """Whether the other is the same proposal, whatever was drawn for it."""
        return (self.name, self.expression, self.counterexample, self.generator) == (
            other.name,
            other.expression,
            other.counterexample,
            other.generator,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Broken:
    """Why a heap is refused, or a check: `kind` "check" if it does not hold, "vacuous" if it cannot fail.

    `input` is the smallest input (JSON text) for which it does not hold. Other kinds are those of rejections: a
    proposal that is no check at all.
    """

    check: str
    kind: BrokenKind
    reason: str
    input: bytes | None = None


def enrol(
    pool: Runs,
    image: HeapImage,
    check: Check,
    *,
    catalogue: Catalogue,
    source_lookup: SourceLookup,
    interrupt: Interrupt | None = None,
) -> Check | Broken:
    """The proposed check with its inputs drawn, if it holds on the head and fails with its counterexample."""
    court = _Court(pool, image, catalogue, source_lookup, interrupt)
    try:
        _refuse_large(check)
        if check.generator is not None:
            check = replace(check, inputs=court.generator(check).draw(limits.CHECK_INPUTS))
        trial = court.trial(check)
        failure = trial.first_failure()
        if failure is not None and failure.kind == "syntax":
            raise _Unfit("syntax", failure.reason)
        if failure is not None:
            return _broken(check, trial.smallest(failure), "it does not hold now: ")
        survived = court.survived_counterexample(check)
        if survived is not None:
            raise _Unfit("vacuous", f"{survived}: a check must be able to fail")
    except _NoCounterexample as no:
        return Broken(check=check.name, kind=no.kind, reason=f"the counterexample: {no.reason}")
    except (_Unfit, GeneratorError) as unfit:
        return Broken(check=check.name, kind=unfit.kind, reason=unfit.reason)
    return check


def judge(
    pool: Runs,
    image: HeapImage,
    checks: Sequence[Check],
    *,
    catalogue: Catalogue,
    source_lookup: SourceLookup,
    interrupt: Interrupt | None = None,
) -> Broken | None:
    """The first check that does not hold on an attempted heap; else the first that its counterexample cannot break.

    `catalogue` is that of the attempted heap.
    """
    court = _Court(pool, image, catalogue, source_lookup, interrupt)
    for check in checks:
        trial = court.trial(check)
        failure = trial.first_failure()
        if failure is not None:
            return _broken(check, trial.smallest(failure))
    for check in checks:
        try:
            survived = court.survived_counterexample(check)
        except _NoCounterexample as no:
            survived = f"its counterexample no longer applies: {no.reason}"
        if survived is not None:
            return Broken(check=check.name, kind="vacuous", reason=survived)
    return None


class _Unfit(Exception):
    """A proposal that is no check at all."""

    def __init__(self, kind: BrokenKind, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


class _NoCounterexample(_Unfit):
    """A counterexample that is no change of this heap: it proves nothing."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """One run that did not come to true; "spent" if fuel or memory ended, or the engine stopped."""

    kind: Literal["check", "syntax", "spent"]
    reason: str
    input: bytes | None


class _Host(CallHost):
    """The host functions of one run: a scratch data store of its own, and no other worlds."""

    def __call__(self, op: str, text: bytes) -> bytes | None:
        if op.startswith("worlds."):
            raise GuestError(f"{op} works in calls only, not in a check", "TypeError")
        return super().__call__(op, text)


class _NoRows:
    """The data that a run finds: none."""

    def get(self, key: str) -> bytes | None:
        return None

    def list(self, prefix: str, after: str | None, limit: int | None) -> list[tuple[str, bytes]]:
        return []


class _Court:
    """One heap before which checks are tried."""

    def __init__(
        self,
        pool: Runs,
        image: HeapImage,
        catalogue: Catalogue,
        lookup: SourceLookup,
        interrupt: Interrupt | None,
    ) -> None:
        self.pool = pool
        self.lookup = lookup
        self.interrupt = interrupt
        self._image = image
        self._catalogue = catalogue

    def trial(self, check: Check) -> _Trial:
        return _Trial(self, check, self._image, seed_of(self._image, check.expression))

    def generator(self, check: Check) -> Generator:
        """The check's generator on this heap. Raises GeneratorError."""
        assert check.generator is not None, "asked for a check that has one"
        return Generator(
            self.pool,
            self._image,
            check.generator,
            seed=check.seed,
            source_lookup=self.lookup,
            interrupt=self.interrupt,
        )

    def survived_counterexample(self, check: Check) -> str | None:
        """How the check survived on a copy of the heap that its counterexample was applied to; None if it failed.

        Running out of fuel is no proof that it can fail: any check does so that comes close to its budget.
        Raises _NoCounterexample when that cannot be applied: an error in it would make any check look strict.
        """
        outcome = develop(
            self.pool,
            self._image,
            check.counterexample,
            catalogue=self._catalogue,
            source_lookup=self.lookup,
            interrupt=self.interrupt,
        )
        if outcome.verdict == "rejected":
            assert outcome.kind is not None, "a rejection has a kind"
            raise _NoCounterexample(outcome.kind, outcome.reason)
        if outcome.image is None:
            return STILL_HOLDS
        # of the head's root: that of the changed heap takes long to make and nobody needs it
        seed = seed_of(self._image, f"{check.counterexample}\0{check.expression}")
        failure = _Trial(self, check, outcome.image, seed).first_failure()
        if failure is None:
            return STILL_HOLDS
        if failure.kind == "spent":
            return f"with the counterexample it comes to no result: {failure.reason}"
        return None


class _Trial:
    """One check on one heap, within one budget."""

    def __init__(self, court: _Court, check: Check, image: HeapImage, seed: int) -> None:
        self._court = court
        self._check = check
        self._image = image
        self._seed = seed
        self._fuel_left = limits.CHECK_FUEL_MAX
        self._runs_left = limits.CHECK_SHRINK_RUNS_MAX
        self._failures: dict[bytes, _Failure | None] = {}  # a run always comes to the same
        self._error: SourceError | None = None
        try:
            program = expression_program(check.expression)
        except SourceError as error:
            self._error = error
            return
        self._program = program
        self._programs = programs_of(court.lookup, program)

    def first_failure(self) -> _Failure | None:
        if self._error is not None:
            return _Failure("syntax", str(self._error), None)
        if self._check.generator is None:
            return self._judged(self._job(program_request(b"tv", self._program)), None)
        compiled = self._job(program_request(b"tc", self._program), keep_heap=True)
        failure = self._judged(compiled, None)
        if failure is not None:
            return failure
        assert compiled.image is not None, "a job that is ok keeps its heap"
        self._image = compiled.image
        failures = (self._failure(each) for each in self._check.inputs)
        return next((failure for failure in failures if failure is not None), None)

    def smallest(self, failure: _Failure) -> _Failure:
        """The failure of the smallest input that shrinking leads to, within a budget of its own."""
        if self._check.generator is None or failure.kind == "spent" or failure.input is None:
            return failure
        self._fuel_left = limits.CHECK_FUEL_MAX
        try:
            found = self._court.generator(self._check).smallest(self._fails)
        except GeneratorError:  # the change broke it too; the input as it was drawn must do
            return failure
        return failure if found is None else self._failures[found] or failure

    def _fails(self, input_: bytes) -> bool:
        if input_ not in self._failures:
            if self._runs_left <= 0 or self._fuel_left <= 0:
                self._failures[input_] = None
            self._runs_left -= 1
        failure = self._failure(input_)
        return failure is not None and failure.kind != "spent"

    def _failure(self, input_: bytes) -> _Failure | None:
        """Run the compiled check once; None if it holds."""
        if input_ not in self._failures:
            self._failures[input_] = self._judged(self._job(b"tr" + input_), input_)
        return self._failures[input_]

    def _job(self, request: bytes, *, keep_heap: bool = False) -> JobResult:
        result = self._court.pool.run(
            Job(
                image=self._image,
                request=request,
                collect_request=OUTCOME,
                clock_ms=CLOCK_MS,
                seed=self._seed,
                fuel=max(self._fuel_left, 1),
                host=_Host(_NoRows(), Alone(), Journal()),
                keep_heap=keep_heap,
                interrupt=self._court.interrupt,
            )
        )
        self._fuel_left -= result.fuel_used
        return result

    def _judged(self, result: JobResult, input_: bytes | None) -> _Failure | None:
        ended = ended_early(result)
        if ended is not None:
            return _Failure("check" if ended[0] == "threw" else "spent", ended[1], input_)
        text = result.text or b""
        mark, rest = text[:1], text_of(text[1:])
        match mark:
            case b"+":
                return None
            case b"~":
                return _Failure("check", f"returned {_clipped(rest)}", input_)
            case b"?":
                return _Failure("check", PENDING, input_)
            case b"!":
                return _Failure("syntax", readable_error(rest, self._programs), input_)
            case _:
                return _Failure("check", f"threw {readable_error(rest, self._programs)}", input_)


def _broken(check: Check, failure: _Failure, before: str = "") -> Broken:
    first, line_end, stack = failure.reason.partition("\n")
    shown = f"; the smallest input is {_clipped(text_of(failure.input))}" if failure.input is not None else ""
    return Broken(
        check=check.name,
        kind="check",
        reason=f"{before}{first}{shown}{line_end}{stack}",
        input=failure.input,
    )


def _clipped(text: str) -> str:
    chars_max = limits.CHECK_SHOWN_CHARS_MAX
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"


def _refuse_large(check: Check) -> None:
    texts = {
        "the expression": check.expression,
        "the counterexample": check.counterexample,
        "the generator": check.generator or "",
    }
    for what, text in texts.items():
        size = len(wtf8(text))
        if size > limits.SOURCE_BYTES_MAX:
            raise _Unfit("size", f"{what} is {size} bytes; at most {limits.SOURCE_BYTES_MAX} are allowed")
