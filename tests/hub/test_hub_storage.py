"""When the log cannot keep what was drafted, the world falls back to what it did keep."""

from __future__ import annotations

import pytest
from hub_bench import Bench, reads, writes

from engine.hub.messages import Describe, Develop, EditData, Request

DEVELOP = Develop("define('f', () => 1)", "f")
COUNT_UP = {"reads": reads("k"), "writes": writes(k="1")}


def test_whoever_waits_for_a_dropped_record_is_told_the_reason():
    bench = Bench()
    op = bench.call()
    bench.done(op, **COUNT_UP)
    bench.append_fails(reason="fsync: I/O error")
    refusal = bench.refusal(op)
    assert refusal.code == "storage"
    assert "fsync: I/O error" in refusal.error
    assert refusal.hint is not None
    assert bench.value("k") is None
    assert bench.world.is_idle


def test_numbers_and_sequences_that_nobody_was_told_are_given_again():
    bench = Bench()
    bench.attempt(bench.admit(DEVELOP), "rejected")
    bench.done(bench.call(), ok=False)
    bench.append_fails()
    bench.attempt(bench.admit(DEVELOP), "rejected")
    bench.done(bench.call(), ok=False)
    first, second = bench.drafts[:2], bench.drafts[2:]
    assert [(d.seq, d.kind, d.number) for d in first] == [(d.seq, d.kind, d.number) for d in second]
    bench.durable()
    assert [bench.answers[d.op].seq for d in second] == [2, 3]


def test_what_became_durable_before_the_failure_stands_and_is_answered():
    bench = Bench()
    first, second = bench.call(), bench.call()
    bench.done(first, ok=False)
    bench.done(second, ok=False)
    bench.append_fails(durable_seq=2)
    assert bench.answers[first].seq == 2
    assert bench.refusal(second).code == "storage"
    third = bench.call()
    bench.done(third, ok=False)
    assert [draft.number for draft in bench.drafts] == [1, 2, 2]


def test_a_dropped_change_gives_back_the_lock_and_the_head_stays():
    bench = Bench()
    first, second = bench.admit(DEVELOP), bench.admit(DEVELOP)
    bench.attempt(first)
    bench.append_fails()
    assert bench.refusal(first).code == "storage"
    assert bench.started() == [second]
    assert bench.jobs[second].revision == 0
    bench.attempt(second)
    assert bench.drafts[-1].number == 1


def test_a_dropped_description_changes_nothing():
    bench = Bench()
    bench.admit(Describe(archived=True))
    bench.append_fails()
    assert not bench.world.archived


def test_jobs_that_run_go_on_and_commit_against_what_is_durable():
    bench = Bench()
    slow = bench.call()
    bench.admit(EditData("k", b"9", "why"))
    bench.append_fails()
    bench.done(slow, **COUNT_UP)
    assert bench.started() == []
    bench.durable()
    assert bench.answers[slow].seq == 2
    assert bench.value("k") == b"1"


def test_a_call_that_waited_for_a_dropped_write_runs_again_at_once():
    bench = Bench()
    op = bench.call()
    bench.admit(EditData("k", b"9", "why"))
    bench.done(op, **COUNT_UP)
    bench.append_fails()
    assert bench.started() == [op]
    assert (bench.jobs[op].snapshot, bench.jobs[op].rerun) == (1, 1)


def test_a_dropped_operation_frees_its_request_id_and_tells_those_that_joined():
    bench = Bench()
    asked = Request("r", "hash-a")
    first, joined = bench.call(request=asked), bench.call(request=asked)
    bench.done(first, **COUNT_UP)
    bench.append_fails()
    assert bench.refusal(first) == bench.refusal(joined)
    again = bench.call(request=Request("r", "hash-b"))
    assert bench.started() == [again]


def test_a_reader_that_was_answered_may_lose_its_record_and_nothing_else():
    bench = Bench()
    reader = bench.call()
    bench.done(reader)
    bench.append_fails()
    assert bench.answers[reader].seq == 2
    assert bench.world.is_idle


def test_late_events_of_a_dropped_operation_are_ignored():
    bench = Bench()
    op = bench.call()
    bench.done(op, **COUNT_UP)
    bench.append_fails()
    assert bench.done(op, **COUNT_UP) == []
    assert bench.lose(op) == []


def test_the_same_news_twice_changes_nothing():
    bench = Bench()
    op = bench.call()
    bench.done(op, **COUNT_UP)
    bench.durable(2)
    assert bench.durable(2) == []
    assert bench.durable(1) == []
    assert bench.answers[op].seq == 2


def test_only_what_was_drafted_can_become_durable():
    bench = Bench()
    with pytest.raises(AssertionError, match="drafted"):
        bench.durable(2)
    with pytest.raises(AssertionError, match="durable"):
        bench.append_fails(durable_seq=0)


def test_refusals_use_the_codes_of_the_one_list():
    from engine.hub import refusals

    made = [
        refusals.busy("x"),
        refusals.draining(),
        refusals.purged(),
        refusals.purging(),
        refusals.archived(),
        refusals.frozen(),
        refusals.bad_reason(),
        refusals.already_head(1),
        refusals.no_revision(9, head=1),
        refusals.no_incident(9, newest=1),
        refusals.no_key("k"),
        refusals.restores_too_much(9),
        refusals.no_golden(1, newest=0),
        refusals.not_a_call(1, "is none"),
        refusals.pinned_already(1, "w.1", "n", "r"),
        refusals.too_many_goldens(),
        refusals.too_many_held(),
        refusals.incident_closed(1),
        refusals.golden_pinned(1),
        refusals.golden_held(1),
        refusals.golden_closed(1),
        refusals.request_conflict("r"),
        refusals.storage("x"),
        refusals.lost("x"),
    ]
    assert list(dict.fromkeys(refusal.code for refusal in made)) == list(refusals.CODES)
    assert all(refusal.hint for refusal in made)
