"""Rows of order exploration: states of a hub a second, crash images a second, lives of a whole host a second.

Processor time of one core, the oracles' included: what is explored is judged.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from faults.orders import images
from faults.orders.command import draw_orders, try_orders
from faults.orders.place_scenarios import HOST_SCENARIOS
from faults.orders.scenarios import HUB_SCENARIOS
from tests.bench.table import Row

ROUNDS = 3
LIVES = 10  # of each scenario


def rows() -> list[Row]:
    return [_states_row(), _images_row(), _lives_row()]


def _states_row() -> Row:
    """Every order of every small scenario."""
    states = transitions = ends = 0

    def explore_all() -> None:
        nonlocal states, transitions, ends
        states = transitions = ends = 0
        for name, scenario in HUB_SCENARIOS.items():
            explored = try_orders(scenario)
            assert explored.failing is None and explored.complete, name
            states += explored.states
            transitions += explored.transitions
            ends += explored.ends

    seconds = _seconds(explore_all)
    return Row(
        f"hub-only interleavings: every order of {len(HUB_SCENARIOS)} scenarios, judged",
        ">= 20,000 states/s a core",
        f"{states / seconds:,.0f} states/s ({states:,} states, {transitions:,} transitions, {ends:,} ends)",
        met=states / seconds >= 20_000,
    )


def _images_row() -> Row:
    """One image of each kind after each disk operation of a life of a log and its blobs."""
    count = 0

    def check_all() -> None:
        nonlocal count
        count = 0
        for point, disk in images.images():
            images.check(point, disk)
            count += 1

    images.lived()
    seconds = _seconds(check_all)
    return Row(
        "crash images of log + blobs, opened and checked",
        ">= 1,000/s a core",
        f"{count / seconds:,.0f}/s ({count:,} images of {len(images.lived().disk.trace)} disk operations)",
        met=count / seconds >= 1_000,
    )


def _lives_row() -> Row:
    """Drawn orders of whole hosts: opened, lived, killed, replayed, verified."""

    def draw_all() -> None:
        for name, scenario in HOST_SCENARIOS.items():
            assert draw_orders(scenario, runs=LIVES, seed=0).failing is None, name

    draw_orders(HOST_SCENARIOS["host-conflicting-calls"], runs=1, seed=0)  # what all begin with is made once
    seconds = _seconds(draw_all)
    count = LIVES * len(HOST_SCENARIOS)
    return Row(
        "drawn orders of a whole host with the real VM, replayed and verified at the end",
        "",
        f"{count / seconds:,.0f} lives/s ({count} lives of {len(HOST_SCENARIOS)} scenarios)",
    )


def _seconds(work: Callable[[], None]) -> float:
    """The median processor time of `work`."""
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return statistics.median(times)
