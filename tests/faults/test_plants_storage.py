"""Mistakes in what keeps bytes, and whether lives find them."""

from __future__ import annotations

import pytest

from tests.faults.plants import search
from tests.faults.plants_planting import Plant
from tests.faults.plants_storage import PLANTS


@pytest.mark.parametrize(
    "plant",
    [pytest.param(plant, id=plant.name, marks=[] if plant.quick else [pytest.mark.soak]) for plant in PLANTS],
)
def test_a_planted_fault_of_storage_is_found_within_its_budget(plant: Plant):
    searched = search(plant)
    assert searched.found is not None, f"python -m tests.faults.plants '{plant.name}'"
    assert searched.found.tries <= searched.look.budget
