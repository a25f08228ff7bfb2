"""Worlds take turns on the VM lane, and none can hold all of it."""

from __future__ import annotations

from engine.host.turns import Turns


def started(turns: Turns[str]) -> list[str]:
    jobs = []
    while (turn := turns.start()) is not None:
        jobs.append(turn[1])
    return jobs


def test_a_world_holds_half_of_the_threads_and_leaves_the_rest() -> None:
    turns: Turns[str] = Turns(4)
    for n in range(8):
        turns.add("greedy", f"g{n}")
    assert started(turns) == ["g0", "g1"]
    turns.add("modest", "m0")
    assert started(turns) == ["m0"]


def test_worlds_that_wait_take_turns() -> None:
    turns: Turns[str] = Turns(2)
    for n in range(3):
        turns.add("a", f"a{n}")
        turns.add("b", f"b{n}")
    assert started(turns) == ["a0", "b0"]
    turns.ended("a")
    assert started(turns) == ["a1"]
    turns.ended("b")
    turns.ended("a")
    assert started(turns) == ["b1", "a2"]


def test_a_thread_that_is_given_back_goes_to_whoever_may_have_it() -> None:
    turns: Turns[str] = Turns(1)
    turns.add("a", "a0")
    turns.add("a", "a1")
    assert started(turns) == ["a0"]
    turns.ended("a")
    assert started(turns) == ["a1"]
