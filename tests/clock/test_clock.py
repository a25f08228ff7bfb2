"""One contract for every clock, then what each has of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.clock import ReadingDiverged, RecordingClock, ReplayingClock, SimClock
from engine.clock.clock import SIM_MONOTONIC_START_FLICKS, SIM_WALL_START_FLICKS
from engine.clock.flicks import flicks_from_iso, iso_from_flicks
from engine.clock.real import RealClock
from engine.limits import FLICKS_PER_SECOND

SECOND = FLICKS_PER_SECOND


def sim_clock():
    return SimClock(drift_ppm=50)


def replaying_clock():
    recording = RecordingClock(SimClock())
    for _ in range(100):
        recording.now_flicks()
        recording.monotonic_flicks()
    return ReplayingClock(recording.readings)


@pytest.mark.parametrize("make_clock", [RealClock, sim_clock, replaying_clock])
def test_a_clock_gives_ints_and_its_monotonic_time_never_steps_back(make_clock):
    clock = make_clock()
    before = -1
    for _ in range(100):
        wall, monotonic = clock.now_flicks(), clock.monotonic_flicks()
        assert type(wall) is int and type(monotonic) is int
        assert monotonic >= before
        before = monotonic


@pytest.mark.parametrize("make_clock", [RealClock, sim_clock, replaying_clock])
def test_wall_time_counts_from_the_epoch(make_clock):
    now = make_clock().now_flicks()
    assert flicks_from_iso("1999-01-01T00:00:00Z") < now < flicks_from_iso("2200-01-01T00:00:00Z")


def test_simulated_time_stands_until_it_is_moved():
    clock = SimClock()
    assert [clock.now_flicks(), clock.monotonic_flicks()] * 2 == [
        SIM_WALL_START_FLICKS,
        SIM_MONOTONIC_START_FLICKS,
    ] * 2
    assert iso_from_flicks(clock.now_flicks()) == "2000-01-01T00:00:00.000Z"
    clock.advance_to(SIM_MONOTONIC_START_FLICKS + 3 * SECOND)
    assert clock.monotonic_flicks() - SIM_MONOTONIC_START_FLICKS == 3 * SECOND
    assert clock.now_flicks() - SIM_WALL_START_FLICKS == 3 * SECOND


def test_simulated_time_does_not_go_back():
    clock = SimClock()
    with pytest.raises(AssertionError, match="monotonic time does not go back"):
        clock.advance_to(clock.monotonic_flicks() - 1)


def test_wall_time_drifts_by_parts_in_a_million():
    clock = SimClock(wall_flicks=0, monotonic_flicks=0, drift_ppm=100)
    clock.advance_by(1_000_000)
    assert clock.now_flicks() == 1_000_100
    clock.drift(-200)
    clock.advance_by(1_000_000)
    assert clock.now_flicks() == 1_000_100 + 999_800
    assert clock.monotonic_flicks() == 2_000_000


def test_wall_time_jumps_back_and_monotonic_time_does_not_notice():
    clock = SimClock(wall_flicks=10 * SECOND, monotonic_flicks=0)
    clock.jump(-3 * SECOND)
    assert (clock.now_flicks(), clock.monotonic_flicks()) == (7 * SECOND, 0)


def test_a_jump_to_come_is_made_on_the_way_even_when_time_leaps_over_it():
    clock = SimClock(wall_flicks=0, monotonic_flicks=0, drift_ppm=500_000)
    clock.jump_at(20, -5)
    clock.jump_at(10, 100)
    clock.advance_to(9)
    assert clock.now_flicks() == 13
    clock.advance_to(30)
    assert clock.now_flicks() == 15 + 100 + 15 - 5 + 15


@given(st.lists(st.integers(0, 10**12), max_size=20), st.integers(-999_999, 999_999))
def test_many_small_steps_end_where_one_large_step_does(steps, drift_ppm):
    small, large = SimClock(drift_ppm=drift_ppm), SimClock(drift_ppm=drift_ppm)
    for step in steps:
        small.advance_by(step)
    large.advance_by(sum(steps))
    assert small.now_flicks() == large.now_flicks()


def test_a_replayed_clock_says_what_was_recorded():
    recording = RecordingClock(SimClock(wall_flicks=5, monotonic_flicks=9))
    assert [recording.now_flicks(), recording.monotonic_flicks()] == [5, 9]
    replaying = ReplayingClock(recording.readings)
    assert [replaying.now_flicks(), replaying.monotonic_flicks()] == [5, 9]


def test_a_replay_that_asks_for_something_else_is_refused_by_name():
    recording = RecordingClock(SimClock())
    recording.now_flicks()
    replaying = ReplayingClock(recording.readings)
    with pytest.raises(ReadingDiverged) as other:
        replaying.monotonic_flicks()
    assert str(other.value) == "clock reading 0: recorded wall time, the replay asked for monotonic time"
    replaying.now_flicks()
    with pytest.raises(ReadingDiverged) as ended:
        replaying.now_flicks()
    assert str(ended.value) == "clock reading 1: the recording ended, the replay asked for wall time"
