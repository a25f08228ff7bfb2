"""One contract for every source of randomness, then what each has of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.io.real_entropy import RealEntropy
from engine.io.replay_entropy import DrawDiverged, RecordingEntropy, ReplayingEntropy
from engine.io.sim_entropy import SimEntropy

SIZES = (0, 1, 8, 32, 1000, 5000)


def sim_entropy():
    return SimEntropy(7)


def replaying_entropy():
    recording = RecordingEntropy(SimEntropy(7))
    for size in SIZES * 2:
        recording.draw(size)
    return ReplayingEntropy(recording.draws)


@pytest.mark.parametrize("make_entropy", [RealEntropy, sim_entropy, replaying_entropy])
def test_a_draw_has_the_size_asked_for_and_is_never_given_twice(make_entropy):
    entropy = make_entropy()
    draws = [entropy.draw(size) for size in SIZES * 2]
    assert [len(draw) for draw in draws] == list(SIZES * 2)
    long = [draw for draw in draws if len(draw) >= 8]
    assert len({*long}) == len(long)


def test_a_seed_gives_these_bytes_on_every_machine():
    assert SimEntropy(7).draw(8).hex() == "d7540b2d9642e3e3"
    assert SimEntropy("7").draw(8).hex() == "819d39ec182693f6"
    assert SimEntropy(b"7").draw(8).hex() == "699effec8f5618aa"
    assert SimEntropy(7).fork("latency").draw(8).hex() == "2e3fac9877a4eb69"


@given(st.lists(st.integers(0, 1500), max_size=20))
def test_how_a_stream_is_cut_does_not_change_it(sizes):
    cut, whole = SimEntropy(3), SimEntropy(3)
    assert b"".join(cut.draw(size) for size in sizes) == whole.draw(sum(sizes))


def test_a_fork_does_not_depend_on_what_was_drawn():
    fresh, used = SimEntropy(1), SimEntropy(1)
    used.draw(1000)
    assert fresh.fork("a").draw(16) == used.fork("a").draw(16)
    assert fresh.fork("a").draw(16) != fresh.fork("b").draw(16)
    assert fresh.fork("a").fork("b").draw(16) != fresh.fork("b").fork("a").draw(16)


def test_numbers_below_a_bound_come_evenly():
    entropy = SimEntropy("dice")
    counts = [0] * 6
    for _ in range(6000):
        counts[entropy.below(6)] += 1
    assert min(counts) > 880 and max(counts) < 1120
    assert sum(entropy.chance(1, 4) for _ in range(4000)) in range(880, 1120)


def test_a_replay_that_draws_something_else_is_refused_by_name():
    replaying = ReplayingEntropy([b"abc"])
    with pytest.raises(DrawDiverged) as other:
        replaying.draw(4)
    assert str(other.value) == "draw 0: recorded 3 bytes, the replay asked for 4 bytes"
    assert replaying.draw(3) == b"abc"
    with pytest.raises(DrawDiverged) as ended:
        replaying.draw(3)
    assert str(ended.value) == "draw 1: the recording ended, the replay asked for 3 bytes"
