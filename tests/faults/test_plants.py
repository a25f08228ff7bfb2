"""Mistakes in what decides and in what runs a world's code: do lives, orders and replays find them?"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.faults.plants import PLANTS, main, search
from tests.faults.plants_hub import PLANTS as OF_HUB
from tests.faults.plants_planting import Plant
from tests.faults.plants_world import PLANTS as OF_WORLD

INVARIANTS = range(1, 21)


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(plant, id=plant.name, marks=[] if plant.quick else [pytest.mark.soak])
        for plant in (*OF_HUB, *OF_WORLD)
    ],
)
def test_a_planted_fault_is_found_within_its_budget(plant: Plant):
    searched = search(plant)
    assert searched.found is not None, f"python -m tests.faults.plants '{plant.name}'"
    assert searched.found.tries <= searched.look.budget


def test_every_invariant_has_a_plant_that_every_run_of_the_tests_sees_found():
    planted = {invariant for plant in PLANTS if plant.quick for invariant in plant.invariants}
    assert planted == set(INVARIANTS)


def test_there_are_many_plants_and_each_has_a_name_and_a_budget_of_its_own():
    assert len(PLANTS) >= 30
    assert [name for name, count in Counter(plant.name for plant in PLANTS).items() if count > 1] == []
    assert all(look.budget >= 1 for plant in PLANTS for look in plant.looks)
    assert all(plant.looks for plant in PLANTS)


def test_the_report_says_what_found_a_plant_and_in_how_many_tries(capsys: pytest.CaptureFixture[str]):
    assert main(["the first read of a call"]) == 0
    header, row, summary = capsys.readouterr().out.splitlines()
    assert header.split() == ["plant", "breaks", "found", "by", "tries", "s"]
    assert "orders of conflicting-calls" in row and " of 500 states" in row
    assert summary == "1 of 1 plants found"


def test_a_plant_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stopped:
        main(["two moons"])
    assert stopped.value.code == 2
    assert "no plant's name has two moons in it" in capsys.readouterr().err
