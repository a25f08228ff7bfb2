"""Every order of the small scenarios, some of the large ones, and that what is wrong is found and told in few words."""

from __future__ import annotations

import io
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.hub import commit
from engine.hub import requests as hub_requests
from engine.hub.data import VersionedData
from engine.hub.messages import Purge
from engine.hub.world import World
from faults.orders.branching import Branching, Choice, arrivals
from faults.orders.command import main
from faults.orders.explore import explore
from faults.orders.forks import fork_world
from faults.orders.pct import draw
from faults.orders.scenarios import ADD, ASK_AND_ADD_LATER, ASKED, HUB_SCENARIOS, judge

ROOT = Path(__file__).parents[2]
STATES_AT_LEAST = {
    "conflicting-calls": 4_000,
    "develop-during-calls": 25_000,
    "develop-while-storage-fails": 1_500,
    "rollback-during-a-waiting-call": 11_000,
    "calls-that-ask": 12_000,
    "answer-beside-time-out": 5_000,
    "retry-beside-answer": 500,
    "a-request-asked-again": 450,
    "expiry-beside-a-repeat": 9_000,
    "start-beside-recovery": 11_000,
    "restore-during-calls": 700,
    "recovery-asks-again": 6_500,
}


@pytest.mark.parametrize("name", HUB_SCENARIOS)
def test_every_order_of_a_small_scenario_keeps_every_promise(name: str):
    scenario = HUB_SCENARIOS[name]
    explored = explore(scenario.small(), lambda life: judge(scenario, life))
    assert explored.failing is None, explored.failing
    assert explored.states >= STATES_AT_LEAST[name], "scenarios that meet less prove less"
    assert explored.transitions > explored.states


@pytest.mark.parametrize("name", HUB_SCENARIOS)
def test_drawn_orders_of_a_large_scenario_keep_every_promise(name: str):
    draw_some(name, runs=60, seed=0)


@pytest.mark.soak
@pytest.mark.parametrize("name", HUB_SCENARIOS)
def test_many_drawn_orders_of_a_large_scenario_keep_every_promise(name: str):
    draw_some(name, runs=20_000, seed=1_000)


def draw_some(name: str, *, runs: int, seed: int) -> None:
    scenario = HUB_SCENARIOS[name]
    drawn = draw(scenario.large, lambda life: judge(scenario, life), runs=runs, seed=seed)
    assert drawn.failing is None, f"python -m faults orders {name} --pct 1 --seed {drawn.seed}"
    assert drawn.states > runs, "no two lives are the same"


# ---- what is wrong is found --------------------------------------------------------------------------------


def skip_validation(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(VersionedData, "changed_since", lambda data, reads, seq: None)


def skip_prefixes(patch: pytest.MonkeyPatch) -> None:
    whole = VersionedData.changed_since
    patch.setattr(
        VersionedData,
        "changed_since",
        lambda data, reads, seq: whole(data, [read for read in reads if not read.prefix], seq),
    )


def ask_again(patch: pytest.MonkeyPatch) -> None:
    """A re-run forgets what the run before it heard."""
    whole = commit._run_again

    def run_again(world: World, op: Any) -> None:
        op.seed += 1
        whole(world, op)

    patch.setattr(commit, "_run_again", run_again)


def forget_running_ids(patch: pytest.MonkeyPatch) -> None:
    kept_flicks = hub_requests.limits.REQUEST_ID_KEPT_FLICKS
    patch.setattr(hub_requests, "_is_forgotten", lambda claim, flick: flick - claim.flick >= kept_flicks)


@pytest.mark.parametrize(
    ("plant", "name", "told"),
    [
        (skip_validation, "conflicting-calls", "A reads a; B reads a; A commits a; B commits a"),
        (skip_validation, "develop-during-calls", "A reads a; B reads a; A commits a; B commits a"),
        (skip_prefixes, "conflicting-calls", "D reads n:*; C begins; C commits n:1; D commits a"),
        (
            forget_running_ids,
            "expiry-beside-a-repeat",
            "A reads a; a day passes; B reads a; A commits a; B has to run again; "
            "A is durable, B reads a again; B commits a; durable",
        ),
    ],
)
def test_a_planted_fault_is_told_in_few_words_with_the_command_that_lives_it_again(
    plant: Callable[[pytest.MonkeyPatch], None],
    name: str,
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    plant(monkeypatch)
    assert main([name]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[2].strip() == told
    command = said[3].strip().removeprefix("run: python -m faults orders ")
    scenario, order = command.split(" --order ")
    assert main([scenario, "--order", order.strip("'")]) == 1, "the command finds the same"
    again = capsys.readouterr().out.splitlines()
    assert again == said[1:]
    monkeypatch.undo()
    if plant is not forget_running_ids:  # where the fault is gone, what it made possible cannot happen
        assert main([scenario, "--order", order.strip("'").removesuffix("; durable")]) == 0


@pytest.mark.parametrize("plant", [skip_validation, ask_again])
def test_a_planted_fault_is_found_among_drawn_orders(
    plant: Callable[[pytest.MonkeyPatch], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    plant(monkeypatch)
    assert main(["calls-that-ask", "--pct", "50", "--seed", "3"]) == 1
    said = capsys.readouterr().out
    assert "--large --order 'arrive" in said


# ---- the explorer itself -----------------------------------------------------------------------------------


def test_states_are_merged_only_where_they_are_the_same():
    """With every detail of a state compared, far more states lead to the same ends."""
    starts = [
        HUB_SCENARIOS["retry-beside-answer"].small,
        HUB_SCENARIOS["a-request-asked-again"].small,
        lambda: Branching(to_come=arrivals(ASK_AND_ADD_LATER, ADD), crashes_left=1),
        lambda: Branching(to_come=arrivals((ADD, ASKED), (ADD, ASKED)), days_left=1, crashes_left=1),
    ]
    for start in starts:
        ends: set[Any] = set()
        explored = explore(start(), lambda life, ends=ends: ends.add(end_of(life)))
        exact_states, exact_ends = explore_exactly(start())
        assert explored.failing is None
        assert ends == exact_ends
        assert explored.states < exact_states


def end_of(life: Branching) -> Any:
    life.come_to_rest()
    answers = [
        (answer.op, answer.seq, answer.refusal and answer.refusal.code) for answer in life.answered.values()
    ]
    return tuple(life.log.values()), frozenset(answers), frozenset(life.acknowledged.items())


def explore_exactly(start: Branching) -> tuple[int, set[Any]]:
    stack = [start.alone()]
    seen = {everything_of(stack[0])}
    ends = set()
    while stack:
        life = stack.pop()
        choices = life.choices()
        for choice in choices:
            after = life.fork()
            after.happen(choice)
            key = everything_of(after)
            if key not in seen:
                seen.add(key)
                stack.append(after)
        if not choices:
            ends.add(end_of(life))
    return len(seen), ends


def everything_of(life: Branching) -> bytes:
    """Equal only for states that are equal in every field and in every order of insertion."""
    helpers = ("numbering", "good_logs", "hubs", "cause", "world")
    fields = {name: value for name, value in life.__dict__.items() if name not in helpers}
    world = {name: getattr(life.world, name) for name in World.__slots__}
    content = io.BytesIO()
    pickler = pickle.Pickler(content)
    pickler.fast = True  # whichever parts happen to be one object
    pickler.dump((fields, world))
    return content.getvalue()


@pytest.mark.parametrize("name", HUB_SCENARIOS)
def test_a_fork_is_the_same_state_and_goes_its_own_way(name: str):
    chance = random.Random(name)
    life = HUB_SCENARIOS[name].large()
    for _ in range(60):
        choices = life.choices()
        if not choices:
            break
        before = everything_of(life.fork())
        twin = life.fork()
        assert everything_of(twin) == before
        twin.happen(chance.choice(choices))
        assert everything_of(life.fork()) == before
        life = twin


def test_every_slot_of_a_hub_is_forked():
    life = HUB_SCENARIOS["calls-that-ask"].small()
    life.happen(Choice("arrive", 1))
    life.happen(Choice("end", 1))
    life.admit(Purge("over"))
    twin = fork_world(life.world)
    for forked, original in (
        (twin, life.world),
        (twin.ops[1], life.world.ops[1]),
        (twin.ops[1].talk, life.world.ops[1].talk),
        (twin.data, life.world.data),
        (twin.requests, life.world.requests),
    ):
        slots = {slot for kind in type(original).__mro__ for slot in getattr(kind, "__slots__", ())}
        missing = [slot for slot in sorted(slots) if not hasattr(forked, slot)]
        assert missing == [], f"faults/orders/forks.py forks a {type(original).__name__} without them"


def test_an_order_that_cannot_happen_is_refused_with_what_can(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stopped:
        main(["conflicting-calls", "--order", "arrive A; end B"])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "'end B' cannot happen after arrive A; what can: arrive B, arrive C, arrive D, end A" in said
    with pytest.raises(SystemExit):
        main(["two-moons"])
    assert "there is no 'two-moons'; there are conflicting-calls," in capsys.readouterr().err


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_what_is_explored_is_the_same_under_any_hash_seed(hash_seed: str, capsys: pytest.CaptureFixture[str]):
    name = "develop-while-storage-fails"
    there = subprocess.run(
        [sys.executable, "-m", "faults.orders", name],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert main([name]) == 0
    assert there.stdout.split(" ends")[0] == capsys.readouterr().out.split(" ends")[0]
