"""What may meet what: small scenarios, to be tried in every order, and larger ones of the same kind, to be drawn from.

Each says beyond the promises of every life what must hold at its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.hub.messages import Call, CloseIncident, Develop, Draft, Request, RestoreData, Rollback
from faults.orders.branching import Branching, arrivals
from faults.orders.promises import closes

ADD = Call("add", b'["a"]')
ADD_B = Call("add", b'["b"]')
ADD_LATER = Call("add", b'["a"]', asynchronous=True)
PUT = Call("put", b'["n:1"]')
SUM = Call("sumInto", b'["n:", "a"]')
POP = Call("popFirst", b'["n:", ""]')
ASK_AND_ADD = Call("gather", b'["a", 1]')
ASK_AND_ADD_LATER = Call("gather", b'["a", 1]', asynchronous=True)
RACE = Call("race", b'["a"]')
RETRY = Call("add", b'["a"]', retries=1)
DEVELOP = Develop("x", "s")
BACK = Rollback(0, "why")
RESTORE = RestoreData(1, "", (), "why")
ASKED = Request("r", "h")


@dataclass(frozen=True)
class Scenario:
    """`small` is tried in every order, of `large` some are drawn; `holds` judges what either came to."""

    about: str
    small: Callable[[], Any]
    large: Callable[[], Any]
    holds: Callable[[Any], None]
    on_a_host: bool = False
    """It is a life of a whole simulated host: to be lived on the deep thread, where each state is reached anew."""


def judge(scenario: Scenario, life: Any) -> None:
    """Let everything end, and see whether all that was promised holds. Raises AssertionError."""
    life.come_to_rest()
    life.check_promises()
    scenario.holds(life)


def calls_of(life: Branching, function: str = "") -> list[Draft]:
    """The records of calls that took effect, of one function or of all."""
    calls = [draft for draft in life.log.values() if draft.kind == "call" and draft.failure is None]
    return [draft for draft in calls if function in ("", draft.operation.function)]


def final_count(life: Branching) -> int:
    return int(life.states[life.last_seq].get("a", b"0"))


def _every_call_counts(life: Branching) -> None:
    """No update is lost, and none is made twice."""
    added = [draft for draft in calls_of(life, "add") if draft.operation.args == ADD.args]
    if not calls_of(life, "sumInto"):  # which writes another count
        assert final_count(life) == len(added), "an update was lost or made twice"


def _changes_follow_one_another(life: Branching) -> None:
    _every_call_counts(life)
    made = [draft for draft in life.log.values() if draft.kind == "revision"]
    for draft in made:
        if isinstance(draft.operation, Rollback):
            assert draft.operation.revision < draft.revision, "a rollback goes back"
    for arrival in life.arrived:
        refusal = life.answered[arrival.op].refusal if arrival.op in life.answered else None
        if refusal is not None and isinstance(arrival.operation, Rollback):
            assert refusal.code in ("already-head", "no-revision", "storage")


def _asks_once_each(life: Branching) -> None:
    asking = calls_of(life, "gather")
    heard = sum(int(answer.value) for draft in asking for answer in draft.answers if answer.ok)
    assert final_count(life) == heard + len(calls_of(life, "add"))
    asked = [arrival for arrival in life.arrived if arrival.operation in (ASK_AND_ADD, ASK_AND_ADD_LATER)]
    assert len(life.peers_did) <= len(asked), "Invariant 11: a re-run asks nobody twice"


def _once_under_an_id(life: Branching) -> None:
    _every_call_counts(life)
    recorded = [draft for draft in life.log.values() if draft.request == ASKED]
    assert len(recorded) <= 1 + life.days
    for arrival in life.arrived:
        answer = life.answered.get(arrival.op)
        if arrival.request == ASKED and answer is not None and answer.seq is not None:
            assert answer.seq in [draft.seq for draft in recorded], "one answer under an id"


def _runs_once(life: Branching) -> None:
    """What was admitted has one outcome, whatever was killed, and however often its client asked."""
    admitted = [draft for draft in life.log.values() if draft.kind == "admitted"]
    for draft in admitted:
        outcomes = [d for d in life.log.values() if d.kind == "call" and d.operation.admitted == draft.seq]
        told = [d for d in life.log.values() if d.kind == "interrupted" and d.operation.detail == draft.op]
        assert len(outcomes) + len(told) == 1, "Invariant 16: the body runs once"
    assert len([draft for draft in admitted if draft.request == ASKED]) <= 1, "Invariant 10"
    assert final_count(life) == len(calls_of(life, "add")), "an update was lost or made twice"


def _restored_exactly(life: Branching) -> None:
    """Data is what it was then, and every call after that counts."""
    count = 0
    for draft in life.log.values():
        if draft.kind == "data-restored":
            count = 0
        elif draft.kind == "call" and draft.failure is None:
            count += 1
    assert final_count(life) == count, "data brought back is not exact, or a call beside it is lost"


def _closed_once(life: Branching) -> None:
    closed = [incident for draft in life.log.values() for incident in closes(draft)]
    assert closed.count(1) <= 1, "an incident is closed once"
    retried = [draft for draft in calls_of(life, "add") if draft.operation == RETRY]
    assert final_count(life) == len(retried) <= 1


def _heard_once(life: Branching) -> None:
    raced = calls_of(life, "race")
    for draft in raced:
        assert len(draft.answers) == 1, "the first answer alone is heard"
        assert draft.detail.ok == draft.answers[0].ok
    heard = sum(int(draft.answers[0].value) for draft in raced if draft.detail.ok)
    assert final_count(life) == len(calls_of(life, "add")) + heard


def _with_an_incident(life: Branching) -> Branching:
    life.admit(Call("fail", b'["a"]'))
    life.finish(life.next_op - 1)
    life.make_durable(1)
    return life


def _at_revision_1(life: Branching) -> Branching:
    life.admit(DEVELOP)
    life.finish(life.next_op - 1)
    life.make_durable(1)
    return life


HUB_SCENARIOS: dict[str, Scenario] = {
    "conflicting-calls": Scenario(
        "calls that read what others write: one key, and keys that appear under a prefix",
        lambda: Branching(to_come=arrivals(ADD, ADD, PUT, SUM)),
        lambda: Branching(
            to_come=arrivals(*[ADD] * 4, *[PUT] * 2, *[SUM] * 3, *[POP] * 2, ADD_B), batch_max=3
        ),
        _every_call_counts,
    ),
    "develop-during-calls": Scenario(
        "a change of the code and a rollback while calls run; the change may be rejected",
        lambda: Branching(to_come=arrivals(ADD, ADD, ADD, DEVELOP, BACK), rejections_left=1),
        lambda: Branching(
            to_come=arrivals(*[ADD] * 6, *[DEVELOP] * 3, BACK, Rollback(1, "why")),
            rejections_left=2,
            batch_max=3,
        ),
        _changes_follow_one_another,
    ),
    "develop-while-storage-fails": Scenario(
        "the same while an append fails",
        lambda: Branching(to_come=arrivals(ADD, ADD, DEVELOP, BACK), failures_left=2, batch_max=2),
        lambda: Branching(to_come=arrivals(*[ADD] * 5, *[DEVELOP] * 3, BACK), failures_left=3, batch_max=3),
        _changes_follow_one_another,
    ),
    "rollback-during-a-waiting-call": Scenario(
        "a rollback while a call waits for another world",
        lambda: _at_revision_1(Branching(to_come=arrivals(ASK_AND_ADD, ASK_AND_ADD, BACK, ADD))),
        lambda: _at_revision_1(
            Branching(
                to_come=arrivals(*[ASK_AND_ADD] * 3, BACK, Rollback(1, "why"), *[ADD] * 3, DEVELOP),
                batch_max=2,
            )
        ),
        _asks_once_each,
    ),
    "calls-that-ask": Scenario(
        "calls on one key that ask another world, and one that does not",
        lambda: Branching(to_come=arrivals(ASK_AND_ADD, ASK_AND_ADD, ADD, ADD)),
        lambda: Branching(to_come=arrivals(*[ASK_AND_ADD] * 5, *[ADD] * 4), batch_max=3),
        _asks_once_each,
    ),
    "answer-beside-time-out": Scenario(
        "other worlds' answers, and the time in which they have to come",
        lambda: Branching(to_come=arrivals(RACE, ADD, ADD), timeouts_left=2),
        lambda: Branching(to_come=arrivals(*[RACE] * 4, *[ADD] * 3), timeouts_left=4, batch_max=2),
        _heard_once,
    ),
    "retry-beside-answer": Scenario(
        "two retries of one incident, its answer and its dismissal",
        lambda: _with_an_incident(
            Branching(
                to_come=arrivals(
                    RETRY, RETRY, CloseIncident(1, "answered", "", b"1"), CloseIncident(1, "dismissed", "why")
                ),
                failures_left=1,
            )
        ),
        lambda: _with_an_incident(
            Branching(
                to_come=arrivals(*[RETRY] * 6, *[CloseIncident(1, "answered", "", b"1")] * 2, ADD_B),
                failures_left=2,
                batch_max=2,
            )
        ),
        _closed_once,
    ),
    "a-request-asked-again": Scenario(
        "one request id twice, and another body under it",
        lambda: Branching(
            to_come=arrivals((ADD, ASKED), (ADD, ASKED), (PUT, Request("r", "other")), ADD), failures_left=1
        ),
        lambda: Branching(
            to_come=arrivals(*[(ADD, ASKED)] * 5, (PUT, Request("r", "other")), *[ADD] * 4),
            failures_left=2,
            batch_max=2,
        ),
        _once_under_an_id,
    ),
    "expiry-beside-a-repeat": Scenario(
        "one request id three times, while the time for which it is kept ends and the process may die",
        lambda: Branching(
            to_come=arrivals((ADD, ASKED), (ADD, ASKED), (ADD, ASKED), ADD), days_left=2, crashes_left=1
        ),
        lambda: Branching(
            to_come=arrivals(*[(ADD, ASKED)] * 6, *[ADD] * 2),
            days_left=3,
            crashes_left=2,
            failures_left=1,
            batch_max=2,
        ),
        _once_under_an_id,
    ),
    "start-beside-recovery": Scenario(
        "a call that was durably admitted, its client's repeat and another call, while the process is killed",
        lambda: Branching(to_come=arrivals((ADD_LATER, ASKED), (ADD_LATER, ASKED), ADD, ADD), crashes_left=2),
        lambda: Branching(
            to_come=arrivals(*[(ADD_LATER, ASKED)] * 3, *[ADD_LATER] * 2, *[ADD] * 3),
            crashes_left=3,
            batch_max=2,
        ),
        _runs_once,
    ),
    "restore-during-calls": Scenario(
        "data brought back beside calls that write it, while an append fails and the process is killed",
        lambda: Branching(to_come=arrivals(ADD, ADD, RESTORE), failures_left=1, crashes_left=1),
        lambda: Branching(
            to_come=arrivals(*[ADD] * 6, RESTORE, RESTORE), failures_left=2, crashes_left=2, batch_max=2
        ),
        _restored_exactly,
    ),
    "recovery-asks-again": Scenario(
        "a durably admitted call that asks another world, while the process is killed and an append fails",
        lambda: Branching(to_come=arrivals(ASK_AND_ADD_LATER, ADD, ADD), crashes_left=1, failures_left=1),
        lambda: Branching(
            to_come=arrivals(*[ASK_AND_ADD_LATER] * 3, *[ADD] * 3), crashes_left=2, failures_left=1
        ),
        _asks_once_each,
    ),
}
