"""Every order in which a small scenario can happen: calls on one key, changes, other worlds' answers and time-outs.

Depth-first over all states with a visited set; a state that was seen, by whatever path, is not entered again.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from engine.hub.messages import Call, CloseIncident, Develop, Event, Operation, Request, RestoreData, Rollback
from faults.orders.life import Life
from faults.orders.promises import closes

ADD = Call("add", b'["a"]')
ASK_AND_ADD = Call("gather", b'["a", 1]')
RACE = Call("race", b'["a"]')


@dataclass
class Scenario(Life):
    """A life whose arrivals and failures are numbered, so that equal states are equal bytes."""

    to_come: list[tuple[int, Operation, Request | None]] = field(default_factory=list)
    failures_left: int = 0
    crashes_left: int = 0
    timeouts_left: int = 0

    def feed(self, event: Event) -> None:
        super().feed(event)
        self.trace.clear()

    def choices(self) -> Iterator[tuple[str, Any]]:
        asked = [entry[1:] for entry in self.to_come]
        yield from (("arrive", n) for n in range(len(asked)) if asked[n] not in asked[:n])
        yield from (("finish", op) for op in self.jobs)
        yield from (("answer", ask) for ask in self.asks)
        if self.timeouts_left:
            yield from (("fire", token) for token in self.timers)
        if self.appended:
            yield "durable", 1
            if self.failures_left:
                yield "fail", 0
        if self.crashes_left and self.started:
            yield from (("crash", kept) for kept in range(len(self.appended) + 1))

    def happen(self, choice: tuple[str, Any]) -> None:
        match choice:
            case "arrive", n:
                op, operation, request = self.to_come.pop(n)
                self.next_op, after = op, self.next_op
                self.admit(operation, request)
                self.next_op = after
            case "finish", op:
                self.finish(op)
            case "answer", (op, ordinal):
                self.answer(op, ordinal)
            case "fire", token:
                self.timeouts_left -= 1
                self.fire(token)
            case "durable", count:
                self.make_durable(count)
            case "fail", kept:
                self.failures_left -= 1
                self.fail_append(kept)
            case "crash", kept:
                self.crashes_left -= 1
                self.crash(kept)
        self.monotonic_flicks = 0


def fingerprint(life: Scenario) -> bytes:
    """Equal for equal states, whichever of their parts happen to be one object."""
    content = io.BytesIO()
    pickler = pickle.Pickler(content)
    pickler.fast = True
    pickler.dump(life)
    return content.getvalue()


def explore(start: Scenario) -> tuple[int, list[Scenario]]:
    """How many states there are, and those in which nothing can happen any more."""
    stack = [pickle.dumps(start)]
    seen = {fingerprint(start)}
    ends = []
    while stack:
        state = stack.pop()
        choices = list(pickle.loads(state).choices())
        if not choices:
            ends.append(pickle.loads(state))
        for choice in choices:
            life = pickle.loads(state)
            life.happen(choice)
            after = fingerprint(life)
            if after not in seen:
                seen.add(after)
                stack.append(pickle.dumps(life))
    return len(seen), ends


def scenario(
    *operations: Operation | tuple[Operation, Request],
    failures: int = 0,
    crashes: int = 0,
    timeouts: int = 0,
) -> Scenario:
    to_come = []
    for op, entry in enumerate(operations, start=1):
        operation, request = entry if isinstance(entry, tuple) else (entry, None)
        to_come.append((op, operation, request))
    return Scenario(
        next_op=100,
        to_come=to_come,
        failures_left=failures,
        crashes_left=crashes,
        timeouts_left=timeouts,
    )


def final_count(life: Life) -> int:
    return int(life.states[max(life.log, default=1)].get("a", b"0"))


def calls_that_count(life: Life) -> int:
    return sum(draft.kind == "call" and draft.failure is None for draft in life.log.values())


def test_in_every_order_both_calls_count_and_the_changes_follow_one_another():
    states, ends = explore(scenario(ADD, ADD, Develop("x", "s"), Rollback(0, "why")))
    for life in ends:
        life.come_to_rest()
        life.check_promises()
        assert final_count(life) == 2
        causes = [type(draft.operation) for draft in life.log.values() if draft.kind == "revision"]
        refused = [answer.refusal.code for answer in life.answered.values() if answer.refusal]
        assert (causes, refused) in (
            ([Develop, Rollback], []),
            ([Develop], ["already-head"]),
        )
    assert states > 2_000
    assert len(ends) > 200


@pytest.mark.parametrize("trouble", ["failures", "crashes"])
def test_in_every_order_with_trouble_at_any_moment_the_state_is_what_was_recorded(trouble: str):
    states, ends = explore(scenario(ADD, ADD, Develop("x", "s"), **{trouble: 1}))
    for life in ends:
        life.come_to_rest()
        life.check_promises()
        assert final_count(life) == calls_that_count(life)
        acknowledged = [
            op for op, answer in life.answered.items() if answer.seq and life.log[answer.seq].kind == "call"
        ]
        if trouble == "failures":
            assert len(acknowledged) == calls_that_count(life)
        else:
            assert len(acknowledged) <= calls_that_count(life)
    assert states > 500


def test_in_every_order_a_doubled_request_counts_at_most_once():
    asked = Request("r", "h")
    states, ends = explore(scenario((ADD, asked), (ADD, asked), ADD, failures=1))
    for life in ends:
        life.come_to_rest()
        life.check_promises()
        recorded = [draft for draft in life.log.values() if draft.request == asked]
        assert len(recorded) <= 1
        assert final_count(life) == calls_that_count(life)
        first, second = life.answered[1], life.answered[2]
        if first.seq is not None and second.seq is not None:
            assert first.seq == second.seq
    assert states > 200


def test_in_every_order_calls_on_one_key_that_ask_another_world_ask_it_once_each_and_none_is_lost():
    states, ends = explore(scenario(ASK_AND_ADD, ASK_AND_ADD, ADD))
    for life in ends:
        life.come_to_rest()
        life.check_promises()
        calls = [draft for draft in life.log.values() if draft.kind == "call"]
        assert [draft.failure for draft in calls] == [None] * 3
        assert len(life.peers_did) == 2
        assert final_count(life) == 1 + sum(int(answer.value) for draft in calls for answer in draft.answers)
    assert states > 500


def test_in_every_order_an_answer_beside_its_time_out_is_heard_once():
    states, ends = explore(scenario(RACE, ADD, timeouts=2))
    heard = set()
    for life in ends:
        life.come_to_rest()
        life.check_promises()
        race = next(draft for draft in life.log.values() if draft.operation == RACE)
        first = race.answers[0]
        heard.add((first.ordinal, first.ok))
        assert len(race.answers) == 1
        assert race.detail.ok == first.ok
        assert final_count(life) == 1 + (int(first.value) if first.ok else 0)
    assert heard == {(0, True), (1, True), (0, False), (1, False)}
    assert states > 200


@pytest.mark.parametrize("trouble", ["failures", "crashes"])
def test_in_every_order_with_trouble_what_was_admitted_asks_again_under_the_same_ids(trouble: str):
    later = Call("gather", b'["a", 1]', asynchronous=True)
    states, ends = explore(scenario(later, ADD, **{trouble: 1}))
    for life in ends:
        life.come_to_rest()
        life.check_promises()
        assert len(life.peers_did) <= 1
    assert states > 100


def test_in_every_order_two_retries_and_a_dismissal_close_an_incident_once():
    again = Call("add", b'["a"]', retries=1)
    start = scenario(again, again, CloseIncident(1, "dismissed", "why"), failures=1)
    start.admit(Call("fail", b'["a"]'))
    start.finish(100)
    start.make_durable(1)
    states, ends = explore(start)
    for life in ends:
        life.come_to_rest()
        life.check_promises()
        closed = [incident for draft in life.log.values() for incident in closes(draft)]
        stored = [answer for answer in life.answered.values() if answer.refusal is None]
        assert closed == [1] or (closed == [] and len(stored) == 1)
        assert final_count(life) == sum(draft.operation == again for draft in life.log.values()) <= 1
    assert states > 200


@pytest.mark.parametrize("trouble", ["failures", "crashes"])
def test_in_every_order_data_brought_back_is_exact_and_no_call_beside_it_is_lost(trouble: str):
    back = RestoreData(1, "", (), "why")
    states, ends = explore(scenario(ADD, ADD, back, **{trouble: 1}))
    counts = set()
    for life in ends:
        life.come_to_rest()
        life.check_promises()
        count = 0
        for draft in life.log.values():
            if draft.kind == "data-restored":
                count = 0
            elif draft.kind == "call" and draft.failure is None:
                count += 1
        assert final_count(life) == count
        counts.add(count)
    assert counts == {0, 1, 2}
    assert states > 200
