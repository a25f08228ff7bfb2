"""Request ids: one effect, one answer (Invariant 10)."""

from __future__ import annotations

import pytest
from hub_bench import NOW_FLICKS, Bench, reads, writes

from engine import limits
from engine.hub.messages import (
    Call,
    Checkpoint,
    Describe,
    Develop,
    EditData,
    Execute,
    Interrupt,
    Purge,
    Request,
    Rollback,
    Upgrade,
)

ASKED = Request("r-1", "hash-a")
OTHER = Request("r-1", "hash-b")


def test_the_same_request_joins_the_one_that_runs_and_both_get_its_answer():
    bench = Bench()
    first = bench.call(request=ASKED)
    second = bench.call(request=ASKED)
    third = bench.call(request=ASKED)
    assert bench.started() == []
    bench.done(first, writes=writes(k="1"))
    assert bench.answers == {}
    bench.durable()
    assert [bench.answers[op].seq for op in (first, second, third)] == [2, 2, 2]
    assert len(bench.drafts) == 1


def test_the_same_request_after_the_outcome_gets_the_recorded_one_and_evaluates_nothing():
    bench = Bench()
    first = bench.call(request=ASKED)
    bench.done(first, ok=False)
    bench.durable()
    again = bench.call(request=ASKED)
    assert bench.started() == []
    assert bench.answers[again].seq == bench.answers[first].seq == 2


def test_another_body_under_the_id_is_refused_while_it_runs_and_after():
    bench = Bench()
    first = bench.call(request=ASKED)
    while_running = bench.call(request=OTHER)
    bench.done(first)
    bench.durable()
    afterwards = bench.call(request=OTHER)
    for op in (while_running, afterwards):
        assert bench.refusal(op).code == "request-conflict"
        assert bench.refusal(op).error.startswith("requestId: 'r-1' was used")
    assert bench.answers[first].seq == 2


def test_a_read_only_call_with_a_request_id_is_answered_when_it_is_durable():
    bench = Bench()
    op = bench.call(request=ASKED)
    bench.done(op)
    assert op not in bench.answers
    bench.durable()
    assert bench.answers[op].seq == 2


def test_ids_are_remembered_from_the_loaded_state():
    bench = Bench(seq=9, requests={"r-1": ("hash-a", 4, NOW_FLICKS - 1)})
    assert bench.answers[bench.call(request=ASKED)].seq == 4
    assert bench.refusal(bench.call(request=OTHER)).code == "request-conflict"


def test_an_id_is_kept_for_a_day_from_its_admission_and_then_forgotten():
    bench = Bench(seq=9, requests={"r-1": ("hash-a", 4, NOW_FLICKS)})
    day = limits.REQUEST_ID_KEPT_FLICKS
    assert bench.answers[bench.call(request=ASKED, flick=NOW_FLICKS + day - 1)].seq == 4
    op = bench.call(request=OTHER, flick=NOW_FLICKS + day)
    assert bench.started() == [op]
    assert len(bench.world.requests) == 1


def test_a_forgotten_id_that_is_claimed_again_outlives_its_first_claim():
    day = limits.REQUEST_ID_KEPT_FLICKS
    bench = Bench(seq=9, requests={"r-1": ("hash-a", 4, NOW_FLICKS), "r-2": ("hash-c", 5, NOW_FLICKS)})
    op = bench.call(request=OTHER, flick=NOW_FLICKS + day)
    bench.done(op)
    bench.durable()
    assert len(bench.world.requests) == 1
    assert bench.answers[bench.call(request=OTHER, flick=NOW_FLICKS + 2 * day - 1)].seq == 10
    bench.call(request=Request("r-3", "x"), flick=NOW_FLICKS + 2 * day)
    assert len(bench.world.requests) == 1


def test_freeing_an_old_claim_leaves_the_newer_one_on_its_id():
    day = limits.REQUEST_ID_KEPT_FLICKS
    bench = Bench()
    for id, flick in (("ahead", NOW_FLICKS + day), ("r-1", NOW_FLICKS), ("r-1", NOW_FLICKS + day + 10)):
        bench.done(bench.call(request=Request(id, "hash-a"), flick=flick))
        bench.durable()
    bench.call(request=Request("r-3", "x"), flick=NOW_FLICKS + 2 * day)
    assert bench.answers[bench.call(request=ASKED, flick=NOW_FLICKS + 2 * day + 9)].seq == 4


def test_an_id_that_runs_is_not_forgotten_however_long_it_takes():
    bench = Bench()
    first = bench.call(request=ASKED)
    later = NOW_FLICKS + 3 * limits.REQUEST_ID_KEPT_FLICKS
    joined = bench.call(request=ASKED, flick=later)
    assert bench.started() == []
    bench.done(first)
    bench.durable()
    assert bench.answers[joined].seq == 2


def test_a_clock_that_stepped_back_forgets_nothing():
    bench = Bench(seq=9, requests={"r-1": ("hash-a", 4, NOW_FLICKS)})
    op = bench.call(request=ASKED, flick=NOW_FLICKS - 5 * limits.REQUEST_ID_KEPT_FLICKS)
    assert bench.answers[op].seq == 4


def test_a_refused_operation_frees_its_id_and_those_that_joined_are_refused_with_it():
    bench = Bench()
    for _ in range(limits.CALLS_RUNNING_MAX):
        bench.call()
    queued = bench.call(request=ASKED)
    joined = bench.call(request=ASKED)
    bench.fire(queued)
    assert bench.refusal(queued) == bench.refusal(joined)
    assert bench.refusal(queued).code == "busy"
    assert len(bench.world.requests) == 0
    again = bench.call(request=OTHER)
    assert again in bench.timers


def test_an_id_that_never_passed_the_door_is_free():
    bench = Bench(archived=True)
    bench.call(request=ASKED)
    assert len(bench.world.requests) == 0


@pytest.mark.parametrize(
    "operation",
    [
        Develop("define('f', () => 1)", "f"),
        Call("f", b"[]"),
        Execute("1"),
        Rollback(0, "why"),
        Upgrade(),
        EditData("k", b"1", "why"),
        Describe(name="n"),
        Purge("why"),
        Checkpoint(),
    ],
    ids=lambda operation: type(operation).__name__,
)
def test_every_kind_of_operation_may_carry_a_request_id(operation):
    bench = Bench(revision=1)
    op = bench.admit(operation, ASKED)
    joined = bench.admit(operation, ASKED)
    if isinstance(operation, Call | Execute):
        bench.done(op, reads=reads("k"))
    elif op in bench.jobs:
        bench.attempt(op)
    bench.durable()
    again = bench.admit(operation, ASKED)
    assert [bench.answers[o].seq for o in (op, joined, again)] == [2, 2, 2]
    assert [draft.request for draft in bench.drafts] == [ASKED]
    assert bench.refusal(bench.admit(operation, OTHER)).code == "request-conflict"


def test_a_repeated_request_is_answered_whatever_has_become_of_the_world():
    bench = Bench(seq=9, archived=True, frozen=True, requests={"r-1": ("hash-a", 4, NOW_FLICKS)})
    bench.drain()
    assert bench.answers[bench.call(request=ASKED)].seq == 4


def test_of_a_purged_world_only_the_purge_itself_is_repeated():
    bench = Bench(seq=9, requests={"r-2": ("hash-c", 4, NOW_FLICKS)})
    purge = bench.admit(Purge("over"), ASKED)
    bench.durable()
    assert bench.answers[bench.admit(Purge("over"), ASKED)].seq == bench.answers[purge].seq == 10
    assert bench.refusal(bench.call(request=Request("r-2", "hash-c"))).code == "purged"


def test_a_failed_call_of_another_world_lets_its_request_id_go_and_runs_when_it_is_asked_again():
    bench = Bench()
    asked = Request("peer:" + "0" * 64, "hash")
    failed = bench.call(request=asked)
    bench.done(failed, ok=False)
    (draft,) = bench.drafts
    assert (draft.number, draft.request) == (1, None)
    bench.durable()
    again = bench.call(request=asked)
    assert bench.started() == [again]
    bench.done(again)
    bench.durable()
    assert bench.drafts[1].request == asked
    repeated = bench.call(request=asked)
    assert (bench.started(), bench.answers[repeated].seq) == ([], bench.answers[again].seq)


def test_a_failed_call_of_a_client_keeps_its_request_id():
    bench = Bench()
    failed = bench.call(request=ASKED)
    bench.done(failed, ok=False)
    assert bench.drafts[0].request == ASKED


def test_an_interrupted_operation_takes_its_request_id_along():
    bench = Bench()
    op = bench.admit(Interrupt("entry", ASKED))
    bench.durable()
    assert bench.drafts[0].request == ASKED
    again = bench.call(request=ASKED)
    assert bench.started() == []
    assert bench.answers[again].seq == bench.answers[op].seq == 2


def test_an_interrupted_operation_whose_outcome_was_recorded_after_all_is_not_recorded_again():
    bench = Bench(seq=9, requests={"r-1": ("hash-a", 4, NOW_FLICKS)})
    op = bench.admit(Interrupt("entry", ASKED))
    assert bench.answers[op].seq == 4
    assert bench.drafts == []


def test_an_interrupted_operation_whose_id_belongs_to_another_is_recorded_without_it():
    bench = Bench(seq=9, requests={"r-1": ("hash-b", 4, NOW_FLICKS)})
    bench.admit(Interrupt("entry", ASKED))
    bench.durable()
    assert (bench.drafts[0].kind, bench.drafts[0].number, bench.drafts[0].request) == ("interrupted", 1, None)
    assert bench.answers[bench.call(request=OTHER)].seq == 4
