"""Many worlds whose calls call each other, on one queue of events: nothing waits for ever, nobody is charged twice."""

from __future__ import annotations

import heapq
import itertools
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from engine import limits
from engine.hub.messages import (
    Answer,
    Append,
    AskPeer,
    Call,
    Effect,
    PeerAnswered,
    Request,
    RunJob,
    SetTimer,
)
from faults.orders.life import Life

NAMES = "abcd"
MS = limits.FLICKS_PER_SECOND // 1000


@dataclass
class Town(Life):
    """A life whose jobs, batches, timers and peers are those of its country."""

    country: Country = field(kw_only=True)
    heard_by: dict[int, Callable[[Answer], None]] = field(default_factory=dict)
    is_syncing: bool = False
    job_ms: tuple[int, int] = (1, 4)
    most_parked: int = 0

    def feed(self, event: Any) -> None:
        self.monotonic_flicks = self.country.now_flicks
        super().feed(event)
        self.trace.clear()
        self.most_parked = max(self.most_parked, len(self.world.parked))

    def perform(self, effect: Effect) -> None:
        super().perform(effect)
        match effect:
            case RunJob():
                from_ms, to_ms = self.job_ms
                self.country.after(from_ms, to_ms, lambda: self.finish(effect.op))
            case Append() if not self.is_syncing:
                self.is_syncing = True
                self.country.after(1, 3, self.sync)
            case AskPeer():
                self.country.ask(self, effect)
            case SetTimer():
                self.country.at(effect.at_monotonic_flicks, lambda: self.fire_if_due(effect.token))
            case Answer(goes_on=False):
                if hear := self.heard_by.pop(effect.op, None):
                    hear(effect)

    def sync(self) -> None:
        self.is_syncing = False
        self.make_durable(len(self.appended))

    def fire_if_due(self, token: int) -> None:
        if token in self.timers:
            self.fire(token)

    def outcome(self, answer: Answer) -> tuple[bool, bytes]:
        """What a caller in another world hears."""
        if answer.refusal is not None:
            return False, answer.refusal.code.encode()
        assert answer.seq is not None
        detail = self.log[answer.seq].detail
        return detail.ok, json.dumps(detail.value).encode()


class Country:
    """The towns and their one queue of events."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now_flicks = 0
        self.numbers = itertools.count()
        self.events: list[tuple[int, int, Callable[[], None]]] = []
        self.towns = {name: Town(name, country=self, between_arrivals_flicks=0) for name in NAMES}
        self.refused: list[bytes] = []
        self.answered = 0

    def at(self, flicks: int, happen: Callable[[], None]) -> None:
        heapq.heappush(self.events, (flicks, next(self.numbers), happen))

    def after(self, from_ms: int, to_ms: int, happen: Callable[[], None]) -> None:
        self.at(self.now_flicks + self.chance.randrange(from_ms * MS, to_ms * MS), happen)

    def ask(self, asker: Town, effect: AskPeer) -> None:
        """Ask under the request id; two deliveries of one ask are one call (Invariant 10)."""
        ask = effect.ask
        call = Call(ask.function, ask.args, effect.path)
        assert ask.world not in effect.path, "plans have no cycles"

        def hear(answer: Answer) -> None:
            ok, value = self.towns[ask.world].outcome(answer)
            if answer.refusal is not None:
                self.refused.append(value)
            assert asker.peers_did.setdefault(effect.request_id, (ok, value)) == (ok, value)
            asker.asks.pop((effect.op, ask.ordinal), None)
            asker.feed(PeerAnswered(effect.op, ask.ordinal, ok, value, "" if ok else "threw"))

        self.after(0, 1, lambda: self.call(ask.world, call, Request(effect.request_id, ask.function), hear))

    def call(self, world: str, call: Call, request: Request | None, hear: Callable[[Answer], None]) -> None:
        town = self.towns[world]
        town.monotonic_flicks = self.now_flicks
        town.heard_by[town.next_op] = hear
        town.admit(call, request)

    def ask_for(self, world: str, call: Call) -> None:
        """As a client does."""

        def hear(answer: Answer) -> None:
            self.answered += 1
            if answer.refusal is not None:
                self.refused.append(answer.refusal.code.encode())

        self.call(world, call, None, hear)

    def run(self) -> None:
        while self.events:
            self.now_flicks, _, happen = heapq.heappop(self.events)
            happen()
        for town in self.towns.values():
            assert town.world.is_idle and not town.waiting, "nothing waits for ever"
            town.check_promises()


def random_plan(chance: random.Random, path: str, is_ordered: bool) -> list[Any]:
    """Which worlds to call, and what they call in turn: never one that is on the path."""
    others = [name for name in NAMES if name not in path and (not is_ordered or name > path[-1])]
    chosen = [name for name in others if chance.random() < 0.6]
    return [[name, random_plan(chance, path + name, is_ordered)] for name in chosen]


def parts_of(world: str, plan: list[Any]) -> list[str]:
    return [world, *(part for name, further in plan for part in parts_of(name, further))]


def counts(country: Country, keys: tuple[str, ...]) -> dict[str, int]:
    return {
        name: sum(int(town.states[max(town.log, default=1)].get(key, b"0")) for key in keys)
        for name, town in country.towns.items()
    }


@pytest.mark.parametrize("is_ordered", [True, False], ids=["in order", "in any order"])
@pytest.mark.parametrize("seed", range(6))
def test_200_calls_at_once_over_four_worlds_are_all_answered_and_each_part_is_done_once(
    seed: int, is_ordered: bool
):
    country = Country(seed)
    keys = ("x", "y", "z")
    expected = dict.fromkeys(NAMES, 0)
    for n in range(200):
        world, is_counting = country.chance.choice(NAMES), n % 2 == 0
        plan = random_plan(country.chance, world, is_ordered)
        args = [country.chance.choice(keys), is_counting, plan]
        for part in parts_of(world, plan):
            expected[part] += is_counting
        country.ask_for(world, Call("tour", json.dumps(args).encode()))
    country.run()
    assert (country.refused, country.answered) == ([], 200)
    failures = [
        draft.failure for town in country.towns.values() for draft in town.log.values() if draft.failure
    ]
    assert failures == []
    assert counts(country, keys) == expected


@pytest.mark.parametrize("seed", range(4))
def test_calls_that_ask_otherwise_in_every_run_lose_no_update_and_do_no_part_twice(seed: int):
    country = Country(seed)
    for _ in range(16):
        world = country.chance.choice(NAMES)
        plan = [[name, []] for name in NAMES if name != world and country.chance.random() < 0.5]
        country.ask_for(world, Call("tour", json.dumps(["x", True, plan, True]).encode()))
    country.run()
    assert (country.refused, country.answered) == ([], 16)
    committed = {
        name: sum(bool(draft.writes) for draft in town.log.values()) for name, town in country.towns.items()
    }
    assert counts(country, ("x",)) == committed


def test_a_thousand_calls_may_wait_for_one_other_world_at_once():
    country = Country(0)
    country.towns["b"].job_ms = (20, 40)
    for _ in range(1000):
        country.ask_for("a", Call("tour", b'["x", false, [["b", []]]]'))
    country.run()
    assert (country.refused, country.answered) == ([], 1000)
    assert country.towns["a"].most_parked > 900
    asked = [draft for draft in country.towns["b"].log.values() if draft.kind == "call"]
    assert len(asked) == 1000


def test_a_world_that_does_not_answer_holds_its_callers_for_30_seconds_and_no_longer():
    country = Country(0)
    country.towns["c"].job_ms = (45_000, 50_000)
    for plan in ('[["b", [["c", []]]]]', '[["c", []], ["d", []]]', '[["d", []]]'):
        country.ask_for("a", Call("tour", f'["x", true, {plan}]'.encode()))
    country.run()
    assert country.answered == 3
    heard = [answer.value for draft in country.towns["a"].log.values() for answer in draft.answers]
    assert heard.count(b"c.tour: no answer within 30 s") == 1
    failed = [draft.number for town in country.towns.values() for draft in town.log.values() if draft.number]
    assert len(failed) == 3
    assert counts(country, ("x",)) == {"a": 1, "b": 0, "c": 2, "d": 2}


@pytest.mark.parametrize("seed", range(4))
def test_worlds_that_drain_together_let_all_that_runs_end(seed: int):
    country = Country(seed)
    for _ in range(200):
        world = country.chance.choice(NAMES)
        plan = random_plan(country.chance, world, False)
        country.ask_for(world, Call("tour", json.dumps(["x", True, plan]).encode()))
    for town in country.towns.values():
        country.at(5 * MS, town.drain)
    country.run()
    assert country.answered == 200
    assert all(town.drained for town in country.towns.values())
    assert 0 < country.refused.count(b"draining") < 200
    assert set(country.refused) == {b"draining"}
