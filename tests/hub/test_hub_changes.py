"""Changes that need no revision: checks, grants, the page, and how incidents are closed."""

from __future__ import annotations

import pytest
from hub_bench import Bench, reads, writes

from engine import limits
from engine.hub.messages import (
    Answer,
    Append,
    Call,
    CloseIncident,
    Develop,
    EditData,
    Enrol,
    Grant,
    RemoveCheck,
    Request,
    SetPage,
)

DEVELOP = Develop("define('f', () => 1)", "f")
ENROL = Enrol("adds up", "f() === 1", "define('f', () => 2)")
EDIT = EditData("k", b"9", "why")
WITHOUT_JOB = {
    "check-removed": RemoveCheck("adds up", "why"),
    "granted": Grant(("b",)),
    "page-set": SetPage("public", ("f",)),
    "incident-closed": CloseIncident(1, "answered", "", b"7"),
}


def retry(incident: int = 1) -> Call:
    return Call("f", b"[]", retries=incident)


def dismiss(incident: int = 1, reason: str = "why") -> CloseIncident:
    return CloseIncident(incident, "dismissed", reason)


def kinds(bench: Bench) -> list[str]:
    return [draft.kind for draft in bench.drafts]


# ---- the change lock ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "operation"), WITHOUT_JOB.items(), ids=WITHOUT_JOB)
def test_they_are_drafted_without_a_job_in_their_turn_and_answered_when_durable(kind: str, operation):
    bench = Bench(next_incident=2)
    develop, op = bench.admit(DEVELOP), bench.admit(operation)
    bench.attempt(develop)
    assert kinds(bench) == ["revision"]
    bench.durable()
    assert bench.effects[-1] == Append((bench.drafts[-1],), urgent=True)
    draft = bench.drafts[-1]
    assert (draft.kind, draft.operation, draft.number, draft.revision) == (kind, operation, None, 1)
    bench.durable()
    assert bench.answers[op].seq == 3


@pytest.mark.parametrize("operation", [*WITHOUT_JOB.values(), ENROL], ids=lambda one: type(one).__name__)
def test_a_frozen_world_takes_them_and_an_archived_or_a_draining_one_does_not(operation):
    frozen, archived, draining = Bench(frozen=True, next_incident=2), Bench(archived=True), Bench()
    draining.drain()
    assert frozen.admit(operation) not in frozen.answers
    assert archived.refusal(archived.admit(operation)).code == "archived"
    assert draining.refusal(draining.admit(operation)).code == "draining"


@pytest.mark.parametrize("operation", [RemoveCheck("adds up", " "), dismiss(reason="\t")])
def test_a_blank_reason_is_refused(operation):
    bench = Bench(next_incident=2)
    assert bench.refusal(bench.admit(operation)).code == "bad-reason"


def test_an_answer_by_hand_needs_no_reason():
    bench = Bench(next_incident=2)
    bench.admit(CloseIncident(1, "answered", "", b"7"))
    assert kinds(bench) == ["incident-closed"]


def test_an_enrolment_runs_on_the_head_under_the_change_lock():
    bench = Bench(revision=3)
    op, develop = bench.admit(ENROL), bench.admit(DEVELOP)
    assert (bench.jobs[op].operation, bench.jobs[op].revision) == (ENROL, 3)
    assert develop not in bench.jobs
    bench.attempt(op, "enrolled", "check")
    draft = bench.drafts[0]
    assert (draft.kind, draft.number, draft.detail) == ("check-enrolled", None, "check")
    bench.durable()
    assert bench.answers[op].seq == 2
    assert bench.started() == [develop]


def test_a_refused_check_is_a_numbered_rejection():
    bench = Bench(next_rejection=4)
    bench.attempt(bench.admit(ENROL), "rejected")
    assert [(draft.kind, draft.number) for draft in bench.drafts] == [("rejection", 4)]


def test_the_identical_check_again_is_answered_with_the_record_that_enrolled_it():
    bench = Bench(seq=9)
    asked = Request("r", "h")
    op, develop, doubled = bench.admit(ENROL, asked), bench.admit(DEVELOP), bench.admit(ENROL, asked)
    bench.attempt(op, "existing", seq=5)
    assert bench.effects[:2] == [Answer(op, 5), Answer(doubled, 5)]
    assert bench.drafts == []
    assert bench.started() == [develop]
    assert bench.answers[bench.admit(ENROL, asked)].seq == 5


def test_a_lost_enrolment_lets_the_next_change_go():
    bench = Bench()
    op, develop = bench.admit(ENROL), bench.admit(DEVELOP)
    bench.lose(op)
    assert bench.refusal(op).code == "storage"
    assert bench.started() == [develop]


# ---- closing incidents -------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", [dismiss(3), retry(3), CloseIncident(0, "answered", "", b"1")])
def test_an_incident_that_was_never_numbered_is_refused(operation):
    bench = Bench(next_incident=3)
    refusal = bench.refusal(bench.admit(operation))
    assert refusal.code == "no-incident"
    assert refusal.hint == "the incidents are 1 to 2"


def test_an_incident_whose_record_is_not_durable_is_not_there_yet():
    bench = Bench()
    bench.done(bench.call(), ok=False)
    assert bench.refusal(bench.admit(dismiss())).code == "no-incident"
    assert bench.refusal(bench.admit(dismiss())).hint == "the world has had no incident"
    bench.durable()
    assert bench.admit(dismiss()) not in bench.answers


@pytest.mark.parametrize("operation", [dismiss(1), retry(1), CloseIncident(1, "answered", "", b"1")])
@pytest.mark.parametrize("how", ["loaded", "dismissed", "retried"])
def test_an_incident_is_closed_once(operation, how: str):
    bench = Bench(next_incident=2, closed_incidents=(1,) if how == "loaded" else ())
    if how == "dismissed":
        bench.admit(dismiss())
        bench.durable()
    elif how == "retried":
        bench.done(bench.admit(retry()))
        bench.durable()
    before = len(bench.drafts)
    refusal = bench.refusal(bench.admit(operation))
    assert (refusal.code, refusal.error) == ("closed", "incident 1 is closed")
    assert len(bench.drafts) == before


def test_of_two_dismissals_the_second_is_refused_in_its_turn():
    bench = Bench(next_incident=2)
    develop, first, second = bench.admit(DEVELOP), bench.admit(dismiss()), bench.admit(dismiss())
    bench.attempt(develop)
    bench.durable()
    bench.durable()
    assert bench.answers[first].seq == 3
    assert bench.refusal(second).code == "closed"


# ---- retries -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", [{}, {"k": "1"}], ids=["reading", "writing"])
def test_a_retry_that_succeeds_closes_its_incident_when_it_is_durable(written):
    bench = Bench()
    number = bench.failed()
    op = bench.admit(retry(number))
    bench.done(op, writes=writes(**written))
    assert bench.effects == [Append((bench.drafts[-1],), urgent=True)]
    assert (bench.drafts[-1].kind, bench.drafts[-1].operation.retries) == ("call", 1)
    assert number not in bench.world.closed
    bench.durable()
    assert number in bench.world.closed
    assert bench.answers[op].seq == bench.world.durable_seq


def test_a_retry_that_fails_is_an_incident_of_its_own_and_leaves_the_old_one_open():
    bench = Bench()
    number = bench.failed()
    bench.done(bench.admit(retry(number)), ok=False)
    bench.durable()
    assert bench.drafts[-1].number == 2
    assert not bench.world.closed
    bench.done(bench.admit(retry(number)))
    bench.done(bench.admit(retry(2)))
    bench.durable()
    assert list(bench.world.closed) == [1, 2]


def test_of_two_retries_at_once_one_counts():
    bench = Bench()
    number = bench.failed()
    first, second = bench.admit(retry(number)), bench.admit(retry(number))
    bench.done(second, writes=writes(k="1"))
    bench.done(first, writes=writes(k="2"))
    assert first not in bench.answers
    bench.durable()
    assert bench.answers[second].seq == bench.world.durable_seq
    assert bench.refusal(first).code == "closed"
    assert bench.value("k") == b"1"
    assert bench.world.is_idle


def test_a_retry_beside_a_dismissal_is_refused_once_that_is_durable():
    bench = Bench()
    op = bench.admit(retry(bench.failed()))
    bench.admit(dismiss())
    bench.durable()
    bench.done(op, writes=writes(k="1"))
    assert bench.refusal(op).code == "closed"
    assert bench.value("k") is None
    assert bench.world.is_idle


def test_a_dismissal_that_was_not_stored_leaves_the_incident_to_the_retry():
    bench = Bench()
    op = bench.admit(retry(bench.failed()))
    dismissal = bench.admit(dismiss())
    bench.done(op, writes=writes(k="1"))
    assert op not in bench.answers
    bench.append_fails()
    assert bench.refusal(dismissal).code == "storage"
    assert bench.started() == [op]
    bench.done(op, writes=writes(k="1"))
    bench.durable()
    assert bench.value("k") == b"1"
    assert list(bench.world.closed) == [1]


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_dismissal_beside_a_drafted_retry_waits_for_what_becomes_of_that(is_stored: bool):
    bench = Bench()
    op = bench.admit(retry(bench.failed()))
    bench.done(op)
    dismissal, develop = bench.admit(dismiss()), bench.admit(DEVELOP)
    assert kinds(bench)[1:] == ["call"]
    if is_stored:
        bench.durable()
        assert bench.refusal(dismissal).code == "closed"
        assert bench.started() == [develop]
    else:
        bench.append_fails()
        assert kinds(bench)[1:] == ["call", "incident-closed"]
        bench.durable()
        assert bench.answers[dismissal].seq == bench.world.durable_seq


def test_a_queued_retry_is_refused_when_its_incident_was_closed_meanwhile():
    bench = Bench()
    number = bench.failed()
    running = [bench.call() for _ in range(limits.CALLS_RUNNING_MAX)]
    queued = bench.admit(retry(number))
    bench.admit(dismiss(number))
    bench.durable()
    bench.done(running[0])
    assert bench.refusal(queued).code == "closed"


def test_a_retry_that_lost_its_data_five_times_is_a_conflict_and_closes_nothing():
    bench = Bench()
    op = bench.admit(retry(bench.failed()))
    for _ in range(limits.CALL_RERUNS_MAX + 1):
        bench.admit(EDIT)
        bench.durable()
        bench.done(op, reads=reads("k"), writes=writes(k="1"))
    bench.durable()
    assert (bench.drafts[-1].failure, bench.drafts[-1].number) == ("conflict", 2)
    assert not bench.world.closed


def test_a_retry_that_should_run_alone_and_is_refused_lets_the_others_go():
    bench = Bench()
    op = bench.admit(retry(bench.failed()))
    other = bench.call()
    for _ in range(2):
        bench.admit(EDIT)
        bench.durable()
        bench.done(op, reads=reads("k"), writes=writes(k="1"))
    bench.admit(dismiss())
    bench.done(op, reads=reads("k"), writes=writes(k="1"))
    bench.done(other, writes=writes(x="1"))
    newcomer = bench.call()
    bench.durable()
    assert bench.refusal(op).code == "closed"
    assert bench.drafts[-1].op == other
    assert bench.started() == [newcomer]


def test_a_retry_of_what_is_no_longer_defined_closes_nothing():
    bench = Bench()
    op = bench.admit(retry(bench.failed()))
    bench.done(op, ok=False, missing=True)
    bench.durable()
    assert bench.answers[op].seq == 3
    assert not bench.world.closed


def test_a_retry_is_answered_when_it_has_ended_even_if_its_client_would_not_wait():
    bench = Bench()
    op = bench.admit(Call("f", b"[]", retries=bench.failed(), asynchronous=True))
    assert bench.started() == [op]
    bench.done(op)
    bench.durable()
    assert (bench.answers[op].seq, bench.answers[op].goes_on) == (3, False)
