"""A call that waits for another world holds nothing that others need, and sees the moment that it began at."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine import limits
from engine.host import SimulatedHost, answers, simulated
from engine.hub import messages as hub
from engine.limits import FLICKS_PER_SECOND

MS = FLICKS_PER_SECOND // 1000
ASKER = """
function version() { return 1 }
async function slow(id, ms) { const before = version(); await worlds.call(id, "tick", ms); return [before, version()] }
async function both(a, b, ms) {
  return (await Promise.all([worlds.call(a, "tick", ms), worlds.call(b, "tick", ms)])).length;
}
function quick() { return "quick" }
"""


class SlowTown:
    """`asker` may call `a` and `b`, whose calls begin as late as their argument says, in milliseconds."""

    def __init__(self) -> None:
        self.host: SimulatedHost = simulated("slow")
        self.asker, self.a, self.b = (self.host.create(name).id for name in ("asker", "a", "b"))
        for world in (self.a, self.b):
            self.host.perform(world, hub.Develop("function tick(ms) { return ms }", "tick"))
        self.host.perform(self.asker, hub.Develop(ASKER, "ask"))
        self.host.perform(self.asker, hub.Grant((self.a, self.b)))
        self._submit = self.host._submit
        self.host._submit = self._late  # type: ignore[method-assign]

    def _late(self, world: str, operation: hub.Operation, **asked: Any) -> None:
        if world == self.asker or not isinstance(operation, hub.Call):
            self._submit(world, operation, **asked)
            return
        (ms,) = json.loads(operation.args)
        at_flicks = self.now_flicks() + ms * MS
        self.host.shell.at(at_flicks, lambda: self._submit(world, operation, **asked))

    def now_flicks(self) -> int:
        return self.host.shell.clock.monotonic_flicks()

    def start(self, function: str, *args: Any) -> list[Any]:
        """Begin a call; the list gets (answer, milliseconds that it took)."""
        heard: list[Any] = []
        began_flicks = self.now_flicks()
        self.host.submit(
            self.asker,
            hub.Call(function, json.dumps(args).encode()),
            actor="client",
            request_id=None,
            done=lambda answer: heard.append((answer, (self.now_flicks() - began_flicks) // MS)),
        )
        return heard

    def until(self, *heard: list[Any]) -> None:
        self.host.shell.run_until(lambda: all(heard))


@pytest.fixture
def town() -> SlowTown:
    return SlowTown()


def value_of(heard: list[Any]) -> Any:
    answer, _ = heard[0]
    assert isinstance(answer, answers.CallOk), answer
    return json.loads(bytes(answer.value))


def test_a_quick_call_is_answered_while_another_waits(town: SlowTown) -> None:
    slow = town.start("slow", town.a, 300)
    town.host.shell.run_for(50 * MS)
    quick = town.start("quick")
    town.until(quick)
    assert (value_of(quick), quick[0][1] < 150, slow) == ("quick", True, [])
    town.until(slow)
    assert slow[0][1] >= 300


def test_a_develop_meanwhile_is_accepted_and_the_waiting_call_goes_on_with_what_it_began_with(
    town: SlowTown,
) -> None:
    slow = town.start("slow", town.a, 300)
    town.host.shell.run_for(50 * MS)
    began_flicks = town.now_flicks()
    accepted = town.host.perform(town.asker, hub.Develop("function version() { return 2 }", "two"))
    assert accepted.revision == 2
    assert (town.now_flicks() - began_flicks) // MS < 150
    assert slow == []
    town.until(slow)
    assert value_of(slow) == [1, 1]
    following = town.start("slow", town.a, 1)
    town.until(following)
    assert value_of(following) == [2, 2]


def test_as_many_calls_as_may_run_wait_and_others_run_at_once(town: SlowTown) -> None:
    slow = [town.start("slow", town.a, 300) for _ in range(3 * limits.CALLS_RUNNING_MAX)]
    town.host.shell.run_for(100 * MS)
    assert slow == [[]] * len(slow)
    runtime = town.host.runtimes.get(town.asker)
    assert runtime is not None and runtime.hub.slots == 0, "who waits takes no place"
    quick = town.start("quick")
    town.until(quick)
    assert quick[0][1] < 150
    town.until(*slow)
    assert [value_of(each) for each in slow] == [[1, 1]] * len(slow)


def test_two_worlds_are_asked_side_by_side(town: SlowTown) -> None:
    both = town.start("both", town.a, town.b, 200)
    town.until(both)
    assert (value_of(both), 200 <= both[0][1] < 380) == (2, True)
