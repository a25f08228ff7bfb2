"""Recorded calls, run again on any heap: with their flick, their seed, their data, and what other worlds told them.

Nothing is recorded and no other world is asked. A call that wants to know what was not recorded stops there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engine import limits, logic
from engine.host.page_results import PAGE_FUNCTION, judged
from engine.host.recorded_peers import RecordedPeers
from engine.logic.jobs import FailureKind, Peers, Runs, failure_kind
from engine.record import kinds
from engine.record.golden_kinds import Asked, GoldenPinned, Outcome


@dataclass(frozen=True, slots=True)
class Case:
    """A call and all that it runs with but its heap and its data, which is that of `snapshot`.

    `outcome` is what it is to come to. `golden` and `name` are those it is pinned as.
    """

    call: int
    function: str
    args: bytes
    flick: int
    seed: int
    snapshot: int
    asks: tuple[Asked, ...]
    looks: tuple[kinds.Look, ...]
    outcome: Outcome
    path: tuple[str, ...] = ()
    golden: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a call came to, what it asked of other worlds, in order, and the fuel that it took."""

    outcome: Outcome
    asks: list[logic.Ask]


@dataclass(frozen=True, slots=True)
class Answer:
    ordinal: int
    ok: bool
    value: bytes
    kind: str


class Unrecorded(Exception):
    """The call wants to know something that was not recorded; the text says what."""


Hear = Callable[[dict[int, logic.Ask]], Answer]
"""The answer to be heard next, of those that the asks wait for. Raises Unrecorded."""


def case_of_golden(body: GoldenPinned, outcome: Outcome) -> Case:
    """A pinned call as it is to be run again, to come to `outcome`."""
    return Case(
        call=body.call,
        function=body.function,
        args=body.args,
        flick=body.flick,
        seed=body.seed,
        snapshot=body.snapshot,
        asks=tuple(body.asks),
        looks=tuple(body.looks),
        outcome=outcome,
        golden=body.n,
        name=body.name,
    )


def outcome_of(body: kinds.Call) -> Outcome:
    """What a recorded call came to."""
    return Outcome(value=body.value, failure=body.failure, writes=body.writes, logs=body.logs, fuel=body.fuel)


def run(
    pool: Runs, image: logic.HeapImage, case: Case, data: logic.DataView, sources: logic.SourceLookup
) -> Ran:
    """Run a case on a heap; each ask is given the recorded answer to the same ask."""
    return _run(pool, image, case, data, sources, _Told(case.asks).next)


def asks_of(
    pool: Runs,
    image: logic.HeapImage,
    case: Case,
    answers: Sequence[kinds.PeerAnswer],
    data: logic.DataView,
    sources: logic.SourceLookup,
) -> tuple[Ran, tuple[Asked, ...]]:
    """Run a call on the heap that it ran on, to learn what exactly it asked. Its record says who answered what."""
    waiting = list(answers)

    def hear(asks: dict[int, logic.Ask]) -> Answer:
        if not waiting or waiting[0].ordinal not in asks:
            raise Unrecorded("it goes on in another way than it was recorded")
        answer = waiting.pop(0)
        return Answer(answer.ordinal, answer.ok, answer.value, answer.kind or "threw")

    ran = _run(pool, image, case, data, sources, hear)
    heard = {answer.ordinal: (nth, answer) for nth, answer in enumerate(answers)}
    asked = []
    for ask in ran.asks:
        nth, answer = heard.get(ask.ordinal, (None, None))
        one = Asked(ask.world, ask.function, ask.args)
        asked.append(
            one if answer is None else Asked(*_named(one), nth, answer.ok, answer.value, answer.kind)
        )
    return ran, tuple(asked)


def _named(asked: Asked) -> tuple[str, str, bytes]:
    return asked.world, asked.function, asked.args


def _run(
    pool: Runs,
    image: logic.HeapImage,
    case: Case,
    data: logic.DataView,
    sources: logic.SourceLookup,
    hear: Hear,
) -> Ran:
    asked: list[logic.Ask] = []
    open_asks: dict[int, logic.Ask] = {}
    fuel_used = 0
    peers = RecordedPeers(case.looks, _NotTold())
    shared: dict[str, Any] = {"data": data, "peers": peers, "source_lookup": sources}
    try:
        came = logic.call(
            pool,
            image,
            case.function,
            case.args,
            flick=case.flick,
            seed=case.seed,
            fuel=limits.CALL_FUEL_MAX,
            **shared,
        )
        while isinstance(came, logic.Waiting):
            fuel_used = came.park.fuel_used
            asked.extend(came.asks)
            open_asks.update((ask.ordinal, ask) for ask in came.asks)
            answer = hear(open_asks)
            del open_asks[answer.ordinal]
            kind: FailureKind = failure_kind(answer.kind)
            came = logic.resume(
                pool, image, came.park, answer.ordinal, answer.ok, answer.value, kind=kind, **shared
            )
    except Unrecorded as stopped:
        return Ran(Outcome(stopped=str(stopped), fuel=fuel_used), asked)
    return Ran(_outcome(case, judged(came) if case.function == PAGE_FUNCTION else came), asked)


def _outcome(case: Case, came: logic.CallOutcome) -> Outcome:
    failure = None
    if came.missing:
        failure = kinds.Failure("missing", f"{case.function} is not defined")
    elif came.failure is not None:
        failure = kinds.Failure(came.failure.kind, came.failure.error, came.failure.hint)
    return Outcome(
        value=came.value if failure is None else None,
        failure=failure,
        writes=[kinds.Write(key, value) for key, value in came.writes] if failure is None else [],
        logs=list(came.logs),
        fuel=came.fuel,
    )


class _Told:
    """The recorded answers of one call, each to be given once: to the same ask, in the order in which it heard them."""

    def __init__(self, asks: Sequence[Asked]) -> None:
        self._left = list(asks)
        self._given: dict[int, Asked] = {}  # by the ordinal of the ask that stands for it now

    def next(self, asks: dict[int, logic.Ask]) -> Answer:
        for ordinal, ask in asks.items():
            if ordinal not in self._given:
                self._given[ordinal] = self._match(ask)
        heard = [
            (asked.heard, ordinal) for ordinal in asks if (asked := self._given[ordinal]).heard is not None
        ]
        if not heard:
            ask = next(iter(asks.values()))
            raise Unrecorded(f"it would wait for {_shown(ask)}, whose answer was not recorded")
        _, ordinal = min(heard)
        asked = self._given[ordinal]
        return Answer(ordinal, asked.ok, asked.value, asked.kind or "threw")

    def _match(self, ask: logic.Ask) -> Asked:
        wanted = (ask.world, ask.function, ask.args)
        for at, asked in enumerate(self._left):
            if _named(asked) == wanted:
                return self._left.pop(at)
        raise Unrecorded(f"it would ask {_shown(ask)}, which was not asked then")


def _shown(ask: logic.Ask) -> str:
    args = ask.args.decode("utf-8", "replace")
    args_max = limits.CHECK_SHOWN_CHARS_MAX
    return f"{ask.world}.{ask.function}({args if len(args) <= args_max else args[:args_max] + '…'})"


class _NotTold(Peers):
    """What an operation did not look at then, nobody knows."""

    def may_call(self, world: str) -> tuple[str, str] | None:
        return None  # whether it was asked is told by the ask

    def list(self) -> Sequence[str]:
        raise Unrecorded("it would ask which worlds it may call, which it did not ask then")

    def functions(self, world: str) -> Sequence[tuple[str, str, str, Sequence[str]]]:
        raise Unrecorded(f"it would ask what {world} defines, which it did not ask then")
