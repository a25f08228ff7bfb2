"""A life that goes on by choices: all that may happen next is listed, each with a label, and one of it happens.

Operations are named A, B, C in the order of the scenario. A life can be forked, and two lives in equal states have
equal keys, by whichever choices they came there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from engine.hub.messages import Answer, Develop, Effect, Event, Interrupt, Operation, Request, RunJob
from faults.orders.fingerprints import Numbering, resume_key, timer_key, world_key
from faults.orders.forks import fork_world
from faults.orders.hubs import Hubs
from faults.orders.life import Life
from faults.orders.promises import check_clients, check_log

RECOVERED_FROM_OP = 100  # the numbers of what recovery runs again


class Arrival(NamedTuple):
    """An operation that will arrive. Of equal ones, which are `like` the first of them, the first comes first."""

    op: int
    operation: Operation
    request: Request | None
    like: int


def arrivals(*asked: Operation | tuple[Operation, Request]) -> tuple[Arrival, ...]:
    """A, B, C and so on."""
    pairs = [entry if isinstance(entry, tuple) else (entry, None) for entry in asked]
    return tuple(Arrival(op, *pair, like=pairs.index(pair)) for op, pair in enumerate(pairs, 1))


class Choice(NamedTuple):
    """One thing that may happen: `kind` to an operation or to the log, with a number where it needs one."""

    kind: str
    op: int = 0
    more: int = 0


_choice = functools.cache(Choice)  # the same few come again and again


@dataclass
class Branching(Life):
    to_come: tuple[Arrival, ...] = ()
    arrived: tuple[Arrival, ...] = ()
    failures_left: int = 0
    crashes_left: int = 0
    timeouts_left: int = 0
    days_left: int = 0
    rejections_left: int = 0
    batch_max: int = 1  # how many records become durable at once, at most
    keeps_trace: bool = False
    next_op: int = RECOVERED_FROM_OP
    numbering: Numbering = field(default_factory=Numbering)
    good_logs: set[tuple[int, ...]] = field(default_factory=set)  # of all forks
    hubs: Hubs | None = None  # while set, the world is one of its states and is not changed in place
    world_id: int = 0
    heard: frozenset[tuple[int, int | None, str]] = frozenset()  # by clients: what `answered` comes to
    log_numbers: tuple[int, ...] = ()
    cause: Hashable = None
    listen: Callable[[Branching, Event, list[Effect]], None] | None = None
    said: list[str] = field(default_factory=list)  # by who listens

    # -- choices --

    def choices(self) -> list[Choice]:
        """All that may happen, always in the same order."""
        found = []
        come: list[int] = []
        for arrival in self.to_come:
            if arrival.like not in come:
                come.append(arrival.like)
                found.append(_choice("arrive", arrival.op))
        for op in sorted(self.jobs):
            found.append(_choice("end", op))
            if self.rejections_left and isinstance(self.jobs[op].operation, Develop):
                found.append(Choice("reject", op))
        if self.asks:
            found += [_choice("answer", *ask) for ask in sorted(self.asks)]
        if self.timeouts_left:
            found += [Choice("late", *self._of_timer(token)) for token in sorted(self.timers)]
        appended = len(self.appended)
        found += [_choice("durable", 0, count) for count in range(1, min(appended, self.batch_max) + 1)]
        if self.failures_left and appended:
            found.append(Choice("fail"))
        if self.crashes_left and self.started:
            found += [Choice("crash", 0, kept) for kept in range(appended + 1)]
        if self.days_left:
            found.append(Choice("tomorrow"))
        return found

    def happen(self, choice: Choice) -> None:
        kind, op, more = choice
        self.cause = (choice, self.days)
        match kind:
            case "arrive":
                self._arrive(op)
            case "end":
                self.finish(op)
            case "reject":
                self.rejections_left -= 1
                self.finish(op, "rejected")
            case "answer":
                self.answer(op, more)
            case "late":
                self.timeouts_left -= 1
                self.fire(self._timer_of(op, more))
            case "durable":
                self.make_durable(more)
            case "fail":
                self.failures_left -= 1
                self.fail_append(0)
            case "crash":
                self.crashes_left -= 1
                self._crash(more)
            case "tomorrow":
                self.days_left -= 1
                self.days += 1
        self.monotonic_flicks = 0  # how late it is makes no difference

    def label(self, choice: Choice) -> str:
        """The choice in words that find it again."""
        kind, op, more = choice
        match kind:
            case "answer" | "late":
                return f"{kind} {self.name_of(op)}" + (f".{more}" if more else "")
            case "durable":
                return kind if more == 1 else f"{kind} {more}"
            case "crash":
                return f"{kind} {more}"
            case "fail" | "tomorrow":
                return kind
        return f"{kind} {self.name_of(op)}"

    def rest(self) -> Choice | None:
        """What happens next when nothing is chosen any more, so that all ends: jobs, answers, batches."""
        if self.jobs:
            return Choice("end", min(self.jobs))
        if self.asks:
            return Choice("answer", *min(self.asks))
        return Choice("durable", 0, 1) if self.appended else None

    def name_of(self, op: int) -> str:
        """The letter of an operation; what recovery runs again has the letter of its first run."""
        if op < RECOVERED_FROM_OP:
            return chr(ord("A") + op - 1)
        admit = self.waiting.get(op) or self.started.get(op)
        if admit is not None and isinstance(admit.operation, Interrupt):
            return f"the end of {self.name_of(admit.operation.detail)}"
        return f"{self.name_of(self.owner_of(op))} again" if op in self.started else f"#{op}"

    def _arrive(self, op: int) -> None:
        arrival = next(arrival for arrival in self.to_come if arrival.op == op)
        self.to_come = tuple([other for other in self.to_come if other is not arrival])
        self.arrived += (arrival,)
        self.next_op, after = op, self.next_op
        self.admit(arrival.operation, arrival.request)
        self.next_op = after

    def _of_timer(self, token: int) -> tuple[int, int]:
        """The operation, and the ordinal of its ask; a timer of a call that waits to start has no ask."""
        if token > 0:
            return token, 0
        op, ordinal = self.world.ask_timers[token]
        return op.id, ordinal

    def _timer_of(self, op: int, ordinal: int) -> int:
        return min((t for t in self.timers if self._of_timer(t) == (op, ordinal)), key=abs)

    def _crash(self, kept: int) -> None:
        """The next process makes its own hub of what the disk holds."""
        hubs, self.hubs = self.hubs, None
        self.crash(kept)
        if hubs is not None:
            self.hubs = hubs
            self.world_id, self.world = hubs.known(self.world)

    # -- the machinery --

    def step(self, event: Event) -> list[Effect]:
        if self.hubs is None:
            effects = super().step(event)
        else:
            assert self.cause is not None, "one choice is one event for the hub, but for a crash"
            hub = self.world_id, self.world
            self.world_id, self.world, effects = self.hubs.step(*hub, self.cause, event)
            self.cause = None
        if self.listen is not None:
            self.listen(self, event, effects)
        return effects

    def run(self, job: RunJob) -> Event:
        """A job's outcome depends on its hub's data alone."""
        if self.hubs is None:
            return super().run(job)
        return self.hubs.outcome(self.world_id, job, lambda: super(Branching, self).run(job))

    def keep(self, count: int) -> None:
        self.log_numbers += tuple([self.numbering.of(draft) for draft in self.appended[:count]])
        super().keep(count)

    def take_answer(self, answer: Answer) -> None:
        code = answer.refusal.code if answer.refusal is not None else ""
        self.heard |= {(answer.op, answer.seq, code)}
        super().take_answer(answer)

    # -- what explorers do with it --

    def check_promises(self) -> None:
        """A log that was found good is not read again."""
        if self.log_numbers not in self.good_logs:
            check_log(self)
            self.good_logs.add(self.log_numbers)
        check_clients(self)

    def share_hubs(self) -> None:
        """From now on, in all forks, each state of the hub is one object, and each of its steps is done once."""
        self.hubs = Hubs()
        self.world_id, self.world = self.hubs.known(self.world)

    def alone(self) -> Branching:
        """The same state with a hub of its own."""
        twin = self.fork()
        if twin.hubs is not None:
            twin.hubs, twin.world = None, fork_world(self.world)
        return twin

    def fork(self) -> Branching:
        """The same state, to go on with in another way."""
        twin = object.__new__(type(self))
        state = twin.__dict__
        state.update(self.__dict__)
        for name in _CONTAINERS:
            if state[name]:
                state[name] = state[name].copy()
            else:
                state[name] = type(state[name])()
        if self.hubs is None:
            state["world"] = fork_world(self.world)
        return twin

    def key(self) -> tuple:
        """Equal for equal states."""
        of = self.numbering.of
        return (
            self.world_id if self.hubs is not None else world_key(self.world),
            self.log_numbers,
            tuple([of(draft) for draft in self.appended]),
            frozenset([(job.op, job.rerun, resume_key(job.resume)) for job in self.jobs.values()]),
            tuple([arrival.op for arrival in self.to_come]),
            bool(self.asks) and frozenset(self.asks),
            bool(self.peers_did) and frozenset(self.peers_did.items()),
            bool(self.timers) and frozenset([timer_key(token) for token in self.timers]),
            frozenset(self.marked),
            frozenset(self.waiting),
            frozenset(self.started),
            self.heard,
            bool(self.going_on) and frozenset(self.going_on),
            bool(self.readers_answered) and frozenset(self.readers_answered),
            tuple(self.unrecorded),
            bool(self.acknowledged) and frozenset(self.acknowledged.items()),
            (self.draining, self.drained, self.next_op, self.days),
            (self.failures_left, self.crashes_left, self.timeouts_left, self.days_left, self.rejections_left),
        )


def _containers() -> tuple[str, ...]:
    """The fields of a life that change in place."""
    empty: dict[str, Any] = {each.name: each.default_factory for each in fields(Life)}
    return tuple(name for name, made in empty.items() if made in (dict, list, set) or name == "states")


_CONTAINERS = _containers()
