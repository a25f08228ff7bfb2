"""Asynchronous calls: admitted by a durable record, ended by another, whatever happens between."""

from __future__ import annotations

import pytest
from hub_bench import NOW_FLICKS, Bench, ask, reads, writes

from engine import limits
from engine.hub.messages import (
    Answer,
    Append,
    Call,
    CancelTimer,
    Describe,
    EditData,
    Interrupt,
    Purge,
    Request,
    RunJob,
)

LATER = Call("f", b"[]", asynchronous=True)
ASKED = Request("r", "h")


def again(seq: int = 5) -> Call:
    """As recovery admits it."""
    return Call("f", b"[]", admitted=seq)


def test_it_is_recorded_as_admitted_before_it_runs():
    bench = Bench()
    op = bench.admit(LATER, ASKED, flick=5, seed=6)
    draft = bench.drafts[0]
    assert bench.effects == [Append((draft,), urgent=True)]
    assert (draft.kind, draft.operation, draft.request, draft.flick, draft.seed, draft.number) == (
        *("admitted", LATER, ASKED, 5, 6),
        None,
    )
    assert op not in bench.answers


def test_its_client_hears_that_it_is_admitted_and_it_runs_on():
    bench = Bench()
    op = bench.admit(LATER, flick=5, seed=6)
    assert bench.durable() == [
        Answer(op, 2, goes_on=True),
        RunJob(op, Call("f", b"[]", asynchronous=True, admitted=2), 0, 2, 5, 6, 0),
    ]


@pytest.mark.parametrize("outcome", [{}, {"writes": writes(k="1")}, {"ok": False}, {"missing": True}])
def test_its_outcome_names_the_record_that_admitted_it_and_is_answered_when_durable(outcome):
    bench = Bench()
    op = bench.admit(LATER, ASKED)
    bench.durable()
    bench.done(op, **outcome)
    draft = bench.drafts[1]
    assert bench.effects == [Append((draft,), urgent=True)]
    assert (draft.kind, draft.operation.admitted, draft.request) == ("call", 2, None)
    assert bench.durable() == [Answer(op, 3)]
    assert bench.world.is_idle


def test_whoever_asks_the_same_gets_the_record_that_admitted_it_then_and_later():
    bench = Bench()
    first, joined = bench.admit(LATER, ASKED), bench.admit(LATER, ASKED)
    bench.durable()
    running = bench.admit(LATER, ASKED)
    bench.done(first)
    bench.durable()
    ended = bench.admit(LATER, ASKED)
    assert [bench.answers[op] for op in (joined, running, ended)] == [
        Answer(joined, 2),
        Answer(running, 2),
        Answer(ended, 2),
    ]
    assert len(bench.drafts) == 2


def test_it_takes_a_slot_from_its_admission():
    bench = Bench()
    for _ in range(limits.CALLS_RUNNING_MAX):
        bench.admit(LATER)
    queued = bench.admit(LATER)
    assert queued in bench.timers
    assert len(bench.drafts) == limits.CALLS_RUNNING_MAX
    bench.fire(queued)
    assert bench.refusal(queued).code == "busy"
    bench.durable()
    assert len(bench.started()) == limits.CALLS_RUNNING_MAX


def test_one_whose_admission_was_not_stored_is_refused_and_leaves_nothing_behind():
    bench = Bench()
    op = bench.admit(LATER, ASKED)
    bench.append_fails()
    assert bench.refusal(op).code == "storage"
    assert bench.started() == [] and bench.world.is_idle
    assert bench.admit(LATER, ASKED) not in bench.answers


def test_one_whose_outcome_was_not_stored_is_refused_and_stays_to_be_run_again():
    bench = Bench()
    op = bench.admit(LATER, ASKED)
    bench.durable()
    bench.done(op, writes=writes(k="1"))
    bench.append_fails()
    assert bench.refusal(op).code == "storage"
    assert bench.answers[bench.admit(LATER, ASKED)].seq == 2


def test_a_conflict_lets_it_run_again():
    bench = Bench()
    op = bench.admit(LATER)
    bench.durable()
    bench.admit(EditData("k", b"1", "why"))
    bench.durable()
    bench.done(op, reads=reads("k"), writes=writes(k="2"))
    assert bench.started() == [op]


def test_a_full_park_does_not_refuse_what_was_promised_an_outcome(monkeypatch):
    monkeypatch.setattr(limits, "CALLS_QUEUED_MAX", 1)
    bench = Bench()
    op, later = bench.call(), bench.admit(LATER)
    bench.durable()
    bench.wait(op, ask(0))
    bench.wait(later, ask(0))
    assert later not in bench.answers
    bench.hear(later, 0)
    assert bench.started() == [later]


# ---- drains and recovery -----------------------------------------------------------------------------------


def test_a_draining_world_leaves_it_parked_for_the_next_process():
    bench = Bench()
    op = bench.admit(LATER)
    bench.durable()
    bench.wait(op, ask(0))
    bench.drain()
    assert bench.says_drained()
    assert [type(effect) for effect in bench.hear(op, 0)] == [CancelTimer]


def test_a_draining_world_lets_it_run_on_as_long_as_it_does_not_wait():
    bench = Bench()
    op = bench.admit(LATER)
    bench.drain()
    bench.durable()
    assert bench.started() == [op]
    assert not bench.says_drained()
    bench.wait(op, ask(0))
    assert bench.says_drained()


def test_while_others_drain_it_goes_on_with_its_answers():
    bench = Bench()
    op, other = bench.admit(LATER), bench.call()
    bench.durable()
    bench.wait(op, ask(0))
    bench.drain()
    bench.hear(op, 0)
    assert bench.started() == [op]
    bench.done(op)
    bench.done(other)
    bench.durable()
    assert bench.says_drained()


def test_recovery_runs_it_again_as_it_was_admitted_without_another_admission():
    bench = Bench(seq=9)
    op = bench.admit(again(), flick=5, seed=6)
    assert bench.effects == [RunJob(op, again(), 0, 9, 5, 6, 0)]
    bench.done(op)
    assert bench.effects == [Append((bench.drafts[0],), urgent=True)]
    assert bench.drafts[0].operation.admitted == 5
    bench.durable()
    assert bench.answers[op] == Answer(op, 10)


def test_it_asks_other_worlds_under_the_ids_of_the_first_process():
    first, second = Bench(), Bench(seq=9)
    op = first.admit(LATER, flick=5, seed=6)
    first.durable()
    first.wait(op, ask(0))
    second.wait(second.admit(again(), flick=5, seed=6), ask(0))
    assert first.asked[0].request_id == second.asked[0].request_id


def test_recovered_calls_wait_for_a_slot_as_long_as_it_takes(monkeypatch):
    monkeypatch.setattr(limits, "CALLS_QUEUED_MAX", 1)
    bench = Bench()
    ops = [bench.admit(again(seq)) for seq in range(limits.CALLS_RUNNING_MAX + 1)]
    assert bench.timers == {} and bench.answers == {}
    bench.done(ops[0])
    assert bench.started() == [ops[-1]]
    assert [type(effect) for effect in bench.effects] == [Append, RunJob]


def test_an_archived_world_ends_what_it_admitted_and_a_purged_one_does_not():
    archived, purged = Bench(archived=True), Bench(purged=True)
    assert archived.admit(again()) in archived.jobs
    assert purged.refusal(purged.admit(again())).code == "purged"


def test_a_purge_waits_for_it():
    bench = Bench()
    op = bench.admit(LATER)
    bench.admit(Purge("over"))
    bench.durable()
    assert bench.started() == [op]
    bench.done(op)
    assert [draft.kind for draft in bench.drafts] == ["admitted", "call", "purge"]


def test_what_died_while_it_ran_is_interrupted_like_any_other():
    bench = Bench(seq=9, requests={"r": ("h", 5, NOW_FLICKS)})
    op = bench.admit(Interrupt("entry"))
    bench.durable()
    assert (bench.drafts[0].kind, bench.answers[op].seq) == ("interrupted", 10)


def test_it_starts_only_if_its_world_still_takes_calls():
    bench = Bench()
    running = [bench.call() for _ in range(limits.CALLS_RUNNING_MAX)]
    queued = bench.admit(LATER)
    bench.admit(Describe(archived=True))
    bench.durable()
    bench.done(running[0])
    assert bench.refusal(queued).code == "archived"
    assert [draft.kind for draft in bench.drafts] == ["describe", "call"]
