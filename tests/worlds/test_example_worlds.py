"""The example worlds: planted as `pw serve --examples` does it, they do what their own examples say."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from planting import Planter

from engine.host import answers
from engine.hub.messages import Develop
from engine.io.sim_disk import SimDisk
from engine.serve.examples import Example, read_examples

WORLDS = Path(__file__).parents[2] / "worlds"
EXAMPLES = [example for _, example in read_examples(str(WORLDS))]
NAMES = [example.name for example in EXAMPLES]
PAGES = [example.name for example in EXAMPLES if example.page is not None]
CHECKS = [(example.name, check) for example in EXAMPLES for check in example.check]


@pytest.fixture(scope="module")
def planted_disk() -> SimDisk:
    """A directory with all worlds in it; to be copied, not to be used."""
    disk = SimDisk(seed=1)
    planter = Planter(disk)
    assert planter.plant(WORLDS) == ["call", "shout", "shoutBackwards", "hello"]
    planter.simulated.shut_down()
    return disk


@pytest.fixture
def planted(planted_disk: SimDisk) -> Planter:
    return Planter(copy.deepcopy(planted_disk))


def value_of(answer: Any) -> Any:
    assert isinstance(answer, answers.CallOk), answer
    return json.loads(bytes(answer.value))


def test_there_are_these_worlds():
    assert NAMES == [
        "beads-board",
        "currency",
        "dashboard",
        "kit",
        "reading-list",
        "shout",
        "todos",
        "trip-budget",
    ]


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_an_example_world_does_what_its_examples_say(planted: Planter, example: Example):
    for call in example.example:
        answer = planted.call(call.world or example.name, call.call, *call.args)
        if call.error is not None:
            assert isinstance(answer, answers.CallFailed), (call, answer)
            assert answer.error.splitlines()[0] == planted.with_ids(call.error)
        else:
            assert value_of(answer) == call.value, call


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_every_definition_of_an_example_world_is_documented_and_the_examples_are_of_its_own(
    planted: Planter, example: Example
):
    rows = planted.simulated.functions(planted.id_of(example.name))
    assert [row.name for row in rows if not row.doc] == []
    assert {call.call for call in example.example if call.world is None} <= {row.name for row in rows}


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_a_planted_world_has_what_its_file_says(planted: Planter, example: Example):
    host, world = planted.simulated, planted.id_of(example.name)
    assert host.world(world).revision == len(example.file)
    enrolled = [(check.name, check.inputs > 0) for check in host.checks(world).checks]
    assert enrolled == [(check.name, check.generator is not None) for check in example.check]
    assert host.grants(world).worlds == sorted(planted.id_of(name) for name in example.grants)
    page = host.page(world)
    if example.page is not None:
        assert (page.access, page.functions) == (example.page.access, sorted(example.page.functions))
        assert set(page.functions) <= {row.name for row in host.functions(world)}
    else:
        assert (page.access, page.functions) == ("private", [])


def test_a_change_that_breaks_a_property_is_rejected_with_the_smallest_input(planted: Planter):
    check = next(check for name, check in CHECKS if name == "kit" and "table" in check.name)
    answer = planted.simulated.perform(planted.id_of("kit"), Develop(check.counterexample, "simpler"))
    assert isinstance(answer, answers.Rejected) and answer.check == check.name
    assert json.loads(bytes(answer.input)) == [[""]]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_an_empty_world_and_says_not_found_elsewhere(planted: Planter, name: str):
    request = {"method": "GET", "base": "/w/x", "headers": {}, "form": {}, "body": ""}
    page = value_of(planted.call(name, "app", "/", {}, request))
    assert page.startswith("<!doctype html>") and 'name="viewport"' in page
    elsewhere = value_of(planted.call(name, "app", "/nowhere", {}, request))
    assert elsewhere["status"] == 404


def test_planting_again_does_nothing(planted: Planter):
    before = {world.id: world.records for world in planted.worlds()}
    planted.plant(WORLDS)
    assert {world.id: world.records for world in planted.worlds()} == before


def test_checks_with_generators_are_found_in_at_least_two_worlds():
    assert len({name for name, check in CHECKS if check.generator is not None}) >= 2
    assert all(example.check for example in EXAMPLES)


def test_a_dashboard_without_grants_says_which_one_is_missing_and_how_to_give_it(planted: Planter):
    planted.grant("dashboard", "todos", "trip-budget")
    answer = planted.call("dashboard", "overview", "USD")
    assert answer.error.splitlines()[0] == (
        "Error: This needs the world currency; allow it: pw grants dashboard --allow currency"
    )
