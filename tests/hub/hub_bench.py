"""A hub on the test bench: events by hand, and what came of them by name."""

from __future__ import annotations

from typing import Any

from engine import limits
from engine.hub import World, open_world, step
from engine.hub.messages import (
    Admit,
    Answer,
    Append,
    AppendFailed,
    Ask,
    AskPeer,
    AttemptDone,
    Call,
    CallDone,
    CallWaiting,
    Draft,
    Drain,
    Drained,
    Durable,
    Effect,
    Event,
    JobLost,
    Loaded,
    Operation,
    PeerAnswered,
    Read,
    Refusal,
    Request,
    RunJob,
    SetTimer,
    TimerFired,
    Write,
)

NOW_FLICKS = 1_000 * limits.FLICKS_PER_SECOND


def loaded(**fields: Any) -> Loaded:
    """A world whose genesis is durable as its first record."""
    state: dict[str, Any] = {
        "world": "w",
        "seq": 1,
        "revision": 0,
        "next_rejection": 1,
        "next_incident": 1,
        "archived": False,
        "frozen": False,
        "purged": False,
    }
    state.update(fields)
    state.setdefault("next_revision", state["revision"] + 1)
    return Loaded(**state)


def ask(ordinal: int = 0, function: str = "g", args: bytes = b"[]", world: str = "b") -> Ask:
    return Ask(ordinal, world, function, args)


def reads(*keys: str) -> tuple[Read, ...]:
    return tuple(Read(key) for key in keys)


def writes(**values: str | None) -> tuple[Write, ...]:
    return tuple(Write(key, None if value is None else value.encode()) for key, value in values.items())


class Bench:
    def __init__(self, **fields: Any) -> None:
        self.world: World = open_world(loaded(**fields))
        self.effects: list[Effect] = []  # of the last event
        self.answers: dict[int, Answer] = {}
        self.goes_on: dict[int, int] = {}  # operation -> the record that admitted it
        self.asked: list[AskPeer] = []
        self.drafts: list[Draft] = []
        self.jobs: dict[int, RunJob] = {}  # the newest of each operation
        self.timers: dict[int, int] = {}  # token -> due
        self._next_op = 1

    def feed(self, event: Event) -> list[Effect]:
        self.effects = step(self.world, event)
        for effect in self.effects:
            match effect:
                case Answer(goes_on=True):
                    assert effect.op not in self.goes_on and effect.seq is not None
                    self.goes_on[effect.op] = effect.seq
                case AskPeer():
                    self.asked.append(effect)
                case Answer():
                    assert effect.op not in self.answers, "one answer each"
                    self.answers[effect.op] = effect
                case Append():
                    self.drafts.extend(effect.drafts)
                case RunJob():
                    self.jobs[effect.op] = effect
                case SetTimer():
                    self.timers[effect.token] = effect.at_monotonic_flicks
        return self.effects

    def admit(
        self,
        operation: Operation,
        request: Request | None = None,
        *,
        flick: int = NOW_FLICKS,
        monotonic_flicks: int = 0,
        seed: int = 7,
    ) -> int:
        op = self._next_op
        self._next_op += 1
        self.feed(Admit(op, operation, "tester", request, flick, monotonic_flicks, seed))
        return op

    def call(self, function: str = "f", request: Request | None = None, **when: int) -> int:
        return self.admit(Call(function, b"[]"), request, **when)

    def done(
        self,
        op: int,
        *,
        ok: bool = True,
        missing: bool = False,
        reads: tuple[Read, ...] = (),
        writes: tuple[Write, ...] = (),
        detail: Any = None,
    ) -> list[Effect]:
        return self.feed(CallDone(op, ok, missing, reads, writes, detail))

    def wait(
        self, op: int, *asks: Ask, detail: Any = None, monotonic_flicks: int = NOW_FLICKS
    ) -> list[Effect]:
        return self.feed(CallWaiting(op, asks, detail, monotonic_flicks))

    def hear(
        self, op: int, ordinal: int = 0, value: bytes = b"1", *, ok: bool = True, kind: str = ""
    ) -> list[Effect]:
        return self.feed(PeerAnswered(op, ordinal, ok, value, kind))

    def attempt(
        self, op: int, verdict: str = "accepted", detail: Any = None, seq: int | None = None
    ) -> list[Effect]:
        return self.feed(AttemptDone(op, verdict, detail, seq))

    def lose(self, op: int, reason: str = "disk gone") -> list[Effect]:
        return self.feed(JobLost(op, reason))

    def durable(self, seq: int | None = None) -> list[Effect]:
        return self.feed(Durable(self.world.next_seq - 1 if seq is None else seq))

    def append_fails(self, durable_seq: int | None = None, reason: str = "fsync failed") -> list[Effect]:
        if durable_seq is None:
            durable_seq = self.world.durable_seq
        return self.feed(AppendFailed(durable_seq, reason))

    def fire(self, token: int) -> list[Effect]:
        return self.feed(TimerFired(token, self.timers[token]))

    def drain(self) -> list[Effect]:
        return self.feed(Drain())

    def failed(self) -> int:
        """A call that failed, durably: the number of its incident."""
        self.done(self.call(), ok=False)
        self.durable()
        number = self.drafts[-1].number
        assert number is not None
        return number

    def develop(self, operation: Operation) -> int:
        """Run a change from its arrival to its durable record."""
        op = self.admit(operation)
        self.attempt(op)
        self.durable()
        return op

    def refusal(self, op: int) -> Refusal:
        refusal = self.answers[op].refusal
        assert refusal is not None
        return refusal

    def value(self, key: str) -> bytes | None:
        return self.world.data.get(key, self.world.durable_seq)

    def started(self) -> list[int]:
        """The operations that the last event started, in order."""
        return [effect.op for effect in self.effects if isinstance(effect, RunJob)]

    def says_drained(self) -> bool:
        return any(isinstance(effect, Drained) for effect in self.effects)
