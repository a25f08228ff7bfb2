"""Calls that wait for other worlds: they hold no slot, hear each answer once, and ask nothing twice."""

from __future__ import annotations

import pytest
from hub_bench import NOW_FLICKS, Bench, ask, reads, writes

from engine import limits
from engine.hub.messages import (
    Answered,
    Append,
    AskPeer,
    Call,
    CancelTimer,
    Describe,
    EditData,
    Execute,
    Purge,
    Request,
    Resume,
    RunJob,
    SetTimer,
    TryCall,
)

EDIT = EditData("k", b"9", "why")
COUNT_UP = {"reads": reads("k"), "writes": writes(k="1")}


def inner(function: str = "f") -> Call:
    return Call(function, b"[]", path=("a",))


# ---- asking and hearing ------------------------------------------------------------------------------------


def test_a_call_that_waits_asks_the_other_world_once_and_sets_a_timer_of_30_seconds():
    bench = Bench()
    op = bench.call(flick=5, seed=6)
    effects = bench.wait(op, ask(0, "rate", b'["EUR"]'), monotonic_flicks=100)
    asked, timer = effects
    assert asked == AskPeer(op, ask(0, "rate", b'["EUR"]'), asked.request_id, ("w",))
    assert timer == SetTimer(timer.token, 100 + 30 * limits.FLICKS_PER_SECOND)


def test_the_answer_resumes_it_on_its_revision_and_snapshot_with_what_it_waited_with():
    bench = Bench(seq=40, revision=3)
    op = bench.call(flick=5, seed=6)
    bench.wait(op, ask(0), detail="pages")
    bench.admit(EDIT)
    bench.durable()
    token = next(iter(bench.timers))
    assert bench.hear(op, 0, b"7") == [
        CancelTimer(token),
        RunJob(op, Call("f", b"[]"), 3, 40, 5, 6, 0, Resume("pages", 0, True, b"7", "")),
    ]
    assert bench.world.data.get("k", 40) is None


def test_an_error_resumes_it_with_its_kind():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0))
    bench.hear(op, 0, b"b.g: no", ok=False, kind="threw")
    assert bench.jobs[op].resume == Resume(None, 0, False, b"b.g: no", "threw")


def test_the_path_of_what_it_asks_is_its_own_and_this_world():
    bench = Bench()
    called, tried = bench.admit(Call("f", b"[]", path=("x", "y"))), bench.admit(Execute("f()"))
    bench.wait(called, ask(0))
    bench.wait(tried, ask(0))
    assert [asked.path for asked in bench.asked] == [("x", "y", "w"), ("w",)]


def test_answers_resume_it_one_by_one_in_the_order_in_which_they_came():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0), ask(1), ask(2), detail="first")
    bench.hear(op, 2, b"two")
    bench.hear(op, 0, b"zero")
    assert bench.started() == []
    bench.wait(op, detail="second")
    assert bench.jobs[op].resume == Resume("second", 0, True, b"zero", "")
    bench.wait(op, detail="third")
    assert bench.started() == []
    bench.hear(op, 1, b"one")
    assert bench.jobs[op].resume == Resume("third", 1, True, b"one", "")
    bench.done(op)
    assert bench.drafts[0].answers == (
        Answered(2, "b", "g", True, b"two"),
        Answered(0, "b", "g", True, b"zero"),
        Answered(1, "b", "g", True, b"one"),
    )


def test_it_may_ask_further_worlds_once_it_has_heard_one():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0))
    bench.hear(op, 0)
    bench.wait(op, ask(1, world="c"))
    assert [asked.ask.world for asked in bench.asked] == ["b", "c"]
    assert bench.asked[0].request_id != bench.asked[1].request_id


@pytest.mark.parametrize(
    "other",
    [
        {"flick": 9},
        {"seed": 9},
        {"world": "v"},
        {"ask": ask(1)},
        {"ask": ask(0, "h")},
        {"ask": ask(0, "g", b"[1]")},
        {"ask": ask(0, world="c")},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_request_id_is_of_the_operation_and_all_that_it_asks(other):
    def request_id(world: str = "w", flick: int = 5, seed: int = 6, ask=ask(0)) -> str:  # noqa: B008
        bench = Bench(world=world)
        bench.wait(bench.call(flick=flick, seed=seed), ask)
        return bench.asked[0].request_id

    assert request_id().startswith("peer:") and len(request_id()) <= 200
    assert request_id() == request_id()
    assert request_id() != request_id(**other)


def test_a_name_of_lone_surrogates_can_be_asked_for_and_named_in_an_error():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0, "\ud800"))
    bench.fire(next(iter(bench.timers)))
    assert bench.jobs[op].resume.value == "b.\ud800: no answer within 30 s".encode("utf-8", "surrogatepass")


# ---- late answers and time-outs ----------------------------------------------------------------------------


def test_an_ask_without_an_answer_within_30_seconds_is_answered_with_an_error_that_names_it():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0, "f"))
    bench.fire(next(iter(bench.timers)))
    assert bench.jobs[op].resume == Resume(None, 0, False, b"b.f: no answer within 30 s", "timeout")


def test_an_answer_that_comes_after_its_time_changes_nothing():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0))
    bench.fire(next(iter(bench.timers)))
    assert bench.hear(op, 0) == []


def test_a_time_out_in_the_moment_of_the_answer_changes_nothing():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0))
    bench.hear(op, 0)
    assert bench.fire(next(iter(bench.timers))) == []


def test_an_answer_twice_or_of_nobody_or_to_nothing_changes_nothing():
    bench = Bench()
    op, other = bench.call(), bench.call()
    bench.wait(op, ask(0))
    bench.hear(op, 0)
    for answered, ordinal in ((op, 0), (op, 5), (other, 0), (77, 0)):
        assert bench.hear(answered, ordinal) == []


def test_an_operation_that_ends_with_open_asks_cancels_their_timers():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0), ask(1))
    bench.hear(op, 1)
    bench.done(op)
    of_the_first = next(iter(bench.timers))
    assert CancelTimer(of_the_first) in bench.effects
    assert bench.hear(op, 0) == []
    bench.durable()
    assert bench.world.is_idle


# ---- slots, places and order -------------------------------------------------------------------------------


def test_who_waits_holds_no_slot():
    bench = Bench()
    ops = [bench.call() for _ in range(limits.CALLS_RUNNING_MAX + 1)]
    assert ops[-1] not in bench.jobs
    bench.wait(ops[0], ask(0))
    assert bench.started() == [ops[-1]]


def test_what_has_run_in_part_goes_before_what_other_worlds_wait_for_and_that_before_new_calls():
    bench = Bench()
    waiting = bench.call()
    bench.wait(waiting, ask(0))
    running = [bench.call() for _ in range(limits.CALLS_RUNNING_MAX)]
    new, asked_for = bench.call(), bench.admit(inner())
    bench.hear(waiting, 0)
    assert bench.started() == []
    for op, next_op in zip(running, (waiting, asked_for, new), strict=False):
        bench.done(op)
        assert bench.started() == [next_op]


def test_what_another_world_waits_for_may_wait_as_long_as_that_does():
    bench = Bench()
    for _ in range(limits.CALLS_RUNNING_MAX):
        bench.call()
    op = bench.admit(inner(), monotonic_flicks=5)
    assert bench.timers[op] == 5 + limits.PEER_WAIT_FLICKS_MAX
    bench.fire(op)
    assert bench.refusal(op).code == "busy"


def test_a_thousand_may_be_parked_or_queued_and_one_more_is_refused_busy():
    bench = Bench()
    for _ in range(limits.CALLS_QUEUED_MAX - 1):
        bench.wait(bench.call(), ask(0))
    last, one_more = bench.call(), bench.call()
    bench.wait(last, ask(0))
    assert last not in bench.answers
    bench.wait(one_more, ask(0))
    assert bench.refusal(one_more).code == "busy"
    assert bench.asked[-1].op == last
    assert bench.refusal(bench.call()).code == "busy"
    bench.hear(last, 0)
    assert bench.call() not in bench.answers


def test_one_that_is_refused_because_too_many_wait_leaves_nothing_behind(monkeypatch):
    monkeypatch.setattr(limits, "CALLS_QUEUED_MAX", 1)
    bench = Bench()
    asked = Request("r", "h")
    first, second = bench.call(request=asked), bench.call()
    bench.wait(first, ask(0), ask(1))
    bench.hear(first, 0)
    bench.wait(second, ask(0))
    bench.wait(first, ask(2))
    assert bench.refusal(first).code == "busy"
    assert len([effect for effect in bench.effects if isinstance(effect, CancelTimer)]) == 1
    assert bench.drafts == []
    bench.hear(second, 0)
    assert bench.call(request=asked) not in bench.answers


# ---- records -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", [Call("f", b"[]"), Execute("f()"), TryCall("f", b"[]", ("a",), None)])
def test_an_answer_that_used_another_world_waits_for_its_record(operation):
    bench = Bench()
    op = bench.admit(operation)
    bench.wait(op, ask(0))
    bench.hear(op, 0)
    bench.done(op, reads=reads("k"))
    assert bench.effects == [Append((bench.drafts[0],), urgent=True)]
    assert bench.drafts[0].answers == (Answered(0, "b", "g", True, b"1"),)
    bench.durable()
    assert bench.answers[op].seq == 2


def test_a_preview_by_another_world_writes_nothing_and_is_answered_at_once():
    bench = Bench()
    op = bench.admit(TryCall("f", b"[]", ("a",), "session"))
    bench.done(op, **COUNT_UP)
    assert [(draft.kind, draft.writes) for draft in bench.drafts] == [("preview", ())]
    assert bench.answers[op].seq == 2


def test_a_failed_call_keeps_what_it_heard_with_its_incident():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0))
    bench.hear(op, 0, b"b.g: no", ok=False)
    bench.done(op, ok=False)
    assert bench.drafts[0].number == 1
    assert bench.drafts[0].answers == (Answered(0, "b", "g", False, b"b.g: no"),)


# ---- conflicts ---------------------------------------------------------------------------------------------


def park_and_lose(bench: Bench, op: int, *asks) -> None:
    """The call asks, hears every answer, and loses against an edit."""
    for one in asks:
        bench.wait(op, one)
        bench.hear(op, bench.asked[-1].ask.ordinal, b"%d" % one.ordinal)
    bench.admit(EDIT)
    bench.durable()
    bench.done(op, **COUNT_UP)


def test_a_call_that_runs_again_hears_the_same_answers_and_asks_nobody_again():
    bench = Bench()
    op = bench.call()
    park_and_lose(bench, op, ask(0), ask(1))
    assert bench.jobs[op].resume is None and bench.jobs[op].rerun == 1
    bench.wait(op, ask(0), detail="again")
    assert bench.effects == [
        RunJob(op, Call("f", b"[]"), 0, 2, NOW_FLICKS, 7, 1, Resume("again", 0, True, b"0", ""))
    ]
    bench.wait(op, ask(1))
    bench.done(op, **COUNT_UP)
    assert len(bench.asked) == 2
    assert [(answer.ordinal, answer.value) for answer in bench.drafts[-1].answers] == [(0, b"0"), (1, b"1")]


def test_what_it_asks_otherwise_in_another_run_is_asked_under_another_id():
    bench = Bench()
    op = bench.call()
    park_and_lose(bench, op, ask(0))
    bench.wait(op, ask(0, args=b"[2]"))
    first, second = bench.asked
    assert second.ask.args == b"[2]"
    assert first.request_id != second.request_id


def test_a_late_answer_to_what_only_an_earlier_run_asked_is_not_taken_for_another():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0, args=b"[1]"), ask(1))
    bench.hear(op, 1)
    bench.admit(EDIT)
    bench.durable()
    bench.done(op, **COUNT_UP)
    bench.wait(op, ask(0, args=b"[2]"))
    old, _, new = bench.asked
    assert old.ask.ordinal != new.ask.ordinal
    bench.hear(op, old.ask.ordinal, b"old")
    assert bench.started() == []
    bench.hear(op, new.ask.ordinal, b"new")
    assert bench.jobs[op].resume == Resume(None, 0, True, b"new", "")


def test_an_answer_that_comes_between_two_runs_is_kept_for_the_next():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0), ask(1))
    bench.hear(op, 1)
    bench.admit(EDIT)
    bench.done(op, **COUNT_UP)
    bench.hear(op, 0, b"late")
    bench.durable()
    bench.wait(op, ask(0))
    assert bench.jobs[op].resume == Resume(None, 0, True, b"late", "")
    assert len(bench.asked) == 2


def test_an_ask_that_is_still_open_is_waited_for_by_the_next_run():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0), ask(1))
    bench.hear(op, 1)
    bench.admit(EDIT)
    bench.durable()
    bench.done(op, **COUNT_UP)
    bench.wait(op, ask(0))
    assert bench.effects == []
    bench.hear(op, 0, b"late")
    assert bench.jobs[op].resume == Resume(None, 0, True, b"late", "")


def test_versions_of_data_are_kept_for_who_waits():
    bench = Bench(rows=(("k", b"0"),))
    op = bench.call()
    bench.wait(op, ask(0))
    for _ in range(3):
        bench.admit(EDIT)
        bench.durable()
    assert bench.world.data.get("k", 1) == b"0"
    bench.hear(op, 0)
    bench.done(op)
    bench.durable()
    assert bench.world.data.versions_count() == 1


# ---- alone, and waiting ------------------------------------------------------------------------------------


def bench_with_one_alone_that_waits() -> tuple[Bench, int]:
    bench = Bench()
    alone = bench.call()
    for _ in range(2):
        bench.admit(EDIT)
        bench.durable()
        bench.done(alone, **COUNT_UP)
    bench.wait(alone, ask(0))
    return bench, alone


def test_who_runs_alone_keeps_the_others_waiting_while_it_waits_for_another_world():
    bench, alone = bench_with_one_alone_that_waits()
    newcomer = bench.call()
    assert newcomer not in bench.jobs
    bench.hear(alone, 0)
    bench.done(alone, **COUNT_UP)
    assert bench.started() == [newcomer]


def test_what_other_worlds_wait_for_starts_and_commits_while_it_waits_lest_they_wait_in_a_ring():
    bench, alone = bench_with_one_alone_that_waits()
    asked_for = bench.admit(inner())
    assert bench.started() == [asked_for]
    bench.done(asked_for, **COUNT_UP)
    assert bench.drafts[-1].op == asked_for
    bench.hear(alone, 0)
    assert bench.world.alone.id == alone
    bench.done(alone, **COUNT_UP)
    assert bench.effects == []
    bench.durable()
    bench.wait(alone, ask(0))
    bench.done(alone, **COUNT_UP)
    assert (bench.drafts[-1].op, bench.drafts[-1].reruns) == (alone, 3)
    assert len(bench.asked) == 1


def test_while_it_runs_they_wait_too():
    bench, alone = bench_with_one_alone_that_waits()
    bench.hear(alone, 0)
    asked_for = bench.admit(inner())
    assert asked_for not in bench.jobs
    bench.wait(alone, ask(1))
    assert bench.started() == [asked_for]


def test_what_ended_beside_it_and_is_waited_for_commits_once_it_waits():
    bench = Bench()
    alone, local, asked_for = bench.call(), bench.call(), bench.admit(inner())
    for _ in range(2):
        bench.admit(EDIT)
        bench.durable()
        bench.done(alone, **COUNT_UP)
    bench.done(local, writes=writes(x="1"))
    bench.done(asked_for, writes=writes(y="1"))
    assert bench.effects == []
    bench.wait(alone, ask(0))
    assert [draft.op for draft in bench.drafts[2:]] == [asked_for]
    bench.hear(alone, 0)
    bench.done(alone, **COUNT_UP)
    assert [draft.op for draft in bench.drafts[2:]] == [asked_for, alone, local]


def test_it_goes_on_before_others_that_have_an_answer():
    bench = Bench()
    alone, other = bench.call(), bench.call()
    bench.wait(other, ask(0))
    for _ in range(2):
        bench.admit(EDIT)
        bench.durable()
        bench.done(alone, **COUNT_UP)
    bench.wait(alone, ask(0))
    full = [bench.admit(inner()) for _ in range(limits.CALLS_RUNNING_MAX)]
    bench.hear(other, 0)
    bench.hear(alone, 0)
    bench.done(full[0])
    assert bench.started() == [alone]
    bench.done(full[1])
    assert bench.started() == [other]


# ---- storage, drains, purges -------------------------------------------------------------------------------


def test_a_failed_append_leaves_who_waits_alone():
    bench = Bench()
    waiting, writing = bench.call(), bench.call()
    bench.wait(waiting, ask(0))
    bench.done(writing, writes=writes(k="1"))
    bench.append_fails()
    bench.hear(waiting, 0)
    bench.done(waiting)
    bench.durable()
    assert bench.answers[waiting].seq == 2


def test_a_part_that_is_lost_refuses_the_call_and_cancels_its_timers():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0), ask(1))
    bench.hear(op, 0)
    bench.lose(op)
    assert bench.refusal(op).code == "storage"
    assert len([effect for effect in bench.effects if isinstance(effect, CancelTimer)]) == 1
    assert bench.world.is_idle


def test_a_draining_world_waits_for_the_answers_that_its_calls_wait_for():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0))
    bench.drain()
    assert not bench.says_drained()
    bench.hear(op, 0)
    assert bench.started() == [op]
    bench.done(op)
    bench.durable()
    assert bench.says_drained()


def test_a_draining_world_takes_what_other_worlds_wait_for_and_says_so_again_once_it_ended():
    bench = Bench()
    bench.drain()
    assert bench.says_drained()
    op = bench.admit(inner())
    assert bench.started() == [op]
    bench.done(op)
    assert not bench.says_drained()
    bench.durable()
    assert bench.says_drained()
    assert bench.refusal(bench.call()).code == "draining"
    assert bench.says_drained()


def test_what_other_worlds_wait_for_stays_queued_when_the_drain_begins():
    bench = Bench()
    running = [bench.call() for _ in range(limits.CALLS_RUNNING_MAX)]
    local, asked_for = bench.call(), bench.admit(inner())
    bench.drain()
    assert bench.refusal(local).code == "draining"
    bench.done(running[0])
    assert bench.started() == [asked_for]


def test_a_purge_waits_for_who_waits_and_lets_nothing_else_start():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0))
    purge = bench.admit(Purge("over"))
    assert bench.refusal(bench.admit(inner())).code == "purged"
    bench.hear(op, 0)
    assert bench.started() == [op]
    bench.done(op, writes=writes(k="1"))
    assert [draft.kind for draft in bench.drafts] == ["call", "purge"]
    bench.durable()
    assert bench.answers[purge].seq == 3


def test_who_waits_goes_on_in_a_world_that_was_archived_meanwhile():
    bench = Bench()
    op = bench.call()
    bench.wait(op, ask(0))
    bench.admit(Describe(archived=True))
    bench.durable()
    bench.hear(op, 0)
    bench.done(op, writes=writes(k="1"))
    bench.durable()
    assert bench.value("k") == b"1"
