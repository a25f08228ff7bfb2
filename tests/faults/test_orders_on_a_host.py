"""Orders of a whole simulated host, with its real log, projection and VM: many of small lives, some of larger ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.host import simulated
from engine.host.machine import machine
from engine.host.replaying import replay
from engine.host.shell import deep_thread
from engine.hub import messages as hub
from engine.hub.data import VersionedData
from engine.io.sim_disk import SimDisk
from engine.limits import REQUEST_ID_KEPT_FLICKS
from faults.orders.command import draw_orders, main, try_orders
from faults.orders.place_scenarios import HOST_SCENARIOS
from faults.orders.scenarios import judge
from faults.orders.shrink import live

STATES_IN_TEST = 80


@pytest.mark.parametrize("name", HOST_SCENARIOS)
def test_orders_of_a_small_life_keep_every_promise(name: str):
    explored = try_orders(HOST_SCENARIOS[name], states_max=STATES_IN_TEST)
    assert explored.failing is None, explored.failing
    assert explored.ends >= 2
    assert explored.states >= STATES_IN_TEST or explored.complete


@pytest.mark.parametrize("name", HOST_SCENARIOS)
def test_drawn_orders_of_a_larger_life_keep_every_promise(name: str):
    drawn = draw_orders(HOST_SCENARIOS[name], runs=6, seed=0)
    assert drawn.failing is None, f"python -m faults orders {name} --pct 1 --seed {drawn.seed}"


@pytest.mark.soak
@pytest.mark.parametrize("name", HOST_SCENARIOS)
def test_all_orders_of_a_small_life_and_many_of_a_larger_one_keep_every_promise(name: str):
    explored = try_orders(HOST_SCENARIOS[name], states_max=3_000)
    assert explored.failing is None, explored.failing
    drawn = draw_orders(HOST_SCENARIOS[name], runs=1_000, seed=1_000)
    assert drawn.failing is None, f"python -m faults orders {name} --pct 1 --seed {drawn.seed}"


def skip_validation(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(VersionedData, "changed_since", lambda data, reads, seq: None)


def lock_nothing(patch: pytest.MonkeyPatch) -> None:
    whole = SimDisk.lock

    def lock(disk: SimDisk, path: str, *, create: bool = True):
        disk.locked.clear()
        return whole(disk, path, create=create)

    patch.setattr(SimDisk, "lock", lock)


@pytest.mark.parametrize(
    ("plant", "name", "told"),
    [
        (
            skip_validation,
            "host-conflicting-calls",
            "A begins; B begins; A commits a; A is answered; B commits a",
        ),
        (lock_nothing, "host-two-opens", "arrive O"),
    ],
)
def test_a_planted_fault_is_told_in_few_words_with_the_command_that_lives_it_again(
    plant: Callable[[pytest.MonkeyPatch], None],
    name: str,
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    HOST_SCENARIOS[name].small()  # what it begins with is sound
    plant(monkeypatch)
    assert main([name, "--states", "200"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[2].strip() == told
    order = said[3].split(" --order ")[1].strip("'")
    assert main([name, "--order", order]) == 1, "the command finds the same"
    assert capsys.readouterr().out.splitlines() == said[1:]


def test_what_was_interrupted_under_a_request_id_that_had_been_forgotten_is_replayed():
    """Its record says the same id as an older one, which was durable when the id was claimed again."""
    scenario = HOST_SCENARIOS["host-expiry-beside-replay"]
    order = ["arrive W", "arrive A", "kill", "open", "arrive P"]
    outcome = deep_thread().run(
        lambda: live(scenario.large(), order, lambda place: judge(scenario, place), strictly=True)
    )
    assert outcome.error is None


def test_what_needs_no_job_is_replayed_under_a_request_id_that_had_been_forgotten():
    host = simulated("the id comes again")
    world = host.create("one").id
    edits = []
    for value in (b"1", b"2"):
        edits.append(host.perform(world, hub.EditData("k", value, "why"), request_id="again"))
        host.shell.clock.jump(REQUEST_ID_KEPT_FLICKS)
    assert all(edit.ok for edit in edits)
    replayed = replay(host.parts.log, host.parts.blobs, world, machine("auto"))
    host.shut_down()
    assert replayed.divergence is None
    assert replayed.compared == {"genesis": 1, "data-edit": 2}
