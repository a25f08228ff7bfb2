"""Whole lives under faults, a part of the seeds: each is lived twice and breaks no promise."""

import pytest
from lived import live, seeds_of


@pytest.mark.parametrize("seed", seeds_of(1))
def test_a_life_breaks_no_promise_and_is_the_same_when_it_is_lived_twice(seed: int) -> None:
    live(seed)
