"""Timers fall due by time, then by creation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.clock import Timers


def test_equal_times_keep_the_order_of_creation():
    timers: Timers[str] = Timers()
    for at_flicks, name in [(20, "c"), (10, "a"), (20, "d"), (10, "b")]:
        timers.add(at_flicks, name)
    assert timers.next_at() == 10
    assert [timer.payload for timer in timers.pop_due(20)] == ["a", "b", "c", "d"]
    assert timers.next_at() is None and len(timers) == 0


def test_a_timer_is_due_at_its_flick_and_not_before():
    timers: Timers[str] = Timers()
    timers.add(10, "a")
    assert timers.pop_due(9) == []
    assert [timer.payload for timer in timers.pop_due(10)] == ["a"]


def test_a_cancelled_timer_does_not_fire_and_cancels_once():
    timers: Timers[str] = Timers()
    timer = timers.add(10, "a")
    timers.add(10, "b")
    assert timers.cancel(timer) is True
    assert timers.cancel(timer) is False
    (fired,) = timers.pop_due(10)
    assert fired.payload == "b"
    assert timers.cancel(fired) is False


def test_payloads_are_never_compared():
    timers: Timers[object] = Timers()
    first, second = object(), object()
    timers.add(1, first)
    timers.add(1, second)
    assert [timer.payload for timer in timers.pop_due(1)] == [first, second]


@given(st.lists(st.tuples(st.sampled_from(["add", "cancel", "pop"]), st.integers(0, 20))))
def test_timers_behave_as_a_sorted_list_does(moves):
    timers: Timers[int] = Timers()
    model: list[tuple[int, int]] = []
    made = []
    for move, number in moves:
        if move == "add":
            made.append(timers.add(number, len(made)))
            model.append((number, made[-1].seq))
        elif move == "cancel" and made:
            timer = made[number % len(made)]
            there = (timer.at_flicks, timer.seq) in model
            assert timers.cancel(timer) is there
            if there:
                model.remove((timer.at_flicks, timer.seq))
        elif move == "pop":
            due = sorted(entry for entry in model if entry[0] <= number)
            assert [(timer.at_flicks, timer.seq) for timer in timers.pop_due(number)] == due
            model = [entry for entry in model if entry[0] > number]
        assert timers.next_at() == (min(model)[0] if model else None)
        assert len(timers) == len(model)
