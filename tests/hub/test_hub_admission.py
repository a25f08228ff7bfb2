"""Who enters, who waits, who starts, who is refused."""

from __future__ import annotations

import pytest
from hub_bench import NOW_FLICKS, Bench, reads, writes

from engine import limits
from engine.hub.messages import (
    Call,
    CancelTimer,
    Checkpoint,
    Describe,
    Develop,
    EditData,
    Execute,
    Interrupt,
    Purge,
    Rollback,
    RunJob,
    SetTimer,
    Upgrade,
    Write,
)

DEVELOP = Develop("define('f', () => 1)", "f")
EDIT = EditData("k", b"1", "why")
EVERY_OPERATION = [
    DEVELOP,
    Call("f", b"[]"),
    Execute("1"),
    Rollback(0, "why"),
    Upgrade(),
    EDIT,
    Describe(name="n"),
    Purge("why"),
    Checkpoint(),
    Interrupt("entry"),
]


def name_of(operation) -> str:
    return type(operation).__name__


def bench_with_full_slots() -> tuple[Bench, list[int]]:
    bench = Bench()
    return bench, [bench.call() for _ in range(limits.CALLS_RUNNING_MAX)]


# ---- calls -------------------------------------------------------------------------------------------------


def test_a_call_starts_at_once_on_the_durable_head_with_the_flick_and_seed_of_its_arrival():
    bench = Bench(seq=41, revision=3)
    op = bench.call("shout", flick=123, seed=456)
    assert bench.effects == [RunJob(op, Call("shout", b"[]"), 3, 41, 123, 456, 0)]


def test_what_is_drafted_and_not_durable_is_not_seen_by_a_call_that_starts():
    bench = Bench()
    bench.attempt(bench.admit(DEVELOP))
    bench.done(bench.call(), writes=writes(k="1"))
    op = bench.call()
    assert (bench.jobs[op].revision, bench.jobs[op].snapshot) == (0, 1)
    bench.durable()
    op = bench.call()
    assert (bench.jobs[op].revision, bench.jobs[op].snapshot) == (1, 3)


def test_eight_calls_and_previews_run_and_the_ninth_waits_at_most_a_second():
    bench = Bench()
    running = [bench.call() for _ in range(4)] + [bench.admit(Execute("1")) for _ in range(4)]
    assert [bench.jobs[op].op for op in running] == running
    ninth = bench.call(monotonic_flicks=5)
    assert bench.effects == [SetTimer(ninth, 5 + limits.FLICKS_PER_SECOND)]


def test_those_that_wait_start_in_order_of_arrival_as_slots_get_free():
    bench, running = bench_with_full_slots()
    ninth, tenth = bench.call(), bench.call()
    bench.done(running[3])
    assert bench.started() == [ninth]
    assert CancelTimer(ninth) in bench.effects
    bench.done(running[0], ok=False)
    assert bench.started() == [tenth]


def test_a_slot_is_free_as_soon_as_the_outcome_is_drafted():
    bench, running = bench_with_full_slots()
    ninth = bench.call()
    bench.done(running[0], writes=writes(k="1"))
    assert bench.started() == [ninth]
    assert running[0] not in bench.answers


def test_a_call_that_cannot_start_in_a_second_is_refused_busy_and_nothing_is_recorded():
    bench, running = bench_with_full_slots()
    ninth = bench.call()
    bench.fire(ninth)
    refusal = bench.refusal(ninth)
    assert (refusal.code, refusal.retry_after_s) == ("busy", 1)
    assert bench.drafts == []
    bench.done(running[0])
    assert bench.started() == []


def test_a_timer_that_fires_after_the_start_changes_nothing():
    bench, running = bench_with_full_slots()
    ninth = bench.call()
    bench.done(running[0])
    assert bench.fire(ninth) == []
    bench.done(ninth)
    assert bench.answers[ninth].seq == 3


def test_a_thousand_calls_may_wait_and_one_more_is_refused_at_once():
    bench, _ = bench_with_full_slots()
    waiting = [bench.call() for _ in range(limits.CALLS_QUEUED_MAX)]
    assert bench.answers == {}
    one_more = bench.call()
    assert bench.refusal(one_more).code == "busy"
    assert one_more not in bench.timers
    bench.fire(waiting[0])
    assert bench.call() in bench.timers


# ---- the change lock ---------------------------------------------------------------------------------------


def test_a_develop_holds_the_lock_until_its_record_is_durable():
    bench = Bench()
    first, second = bench.admit(DEVELOP), bench.admit(DEVELOP)
    assert second not in bench.jobs
    bench.attempt(first)
    assert bench.started() == []
    bench.durable()
    assert bench.started() == [second]
    assert bench.jobs[second].revision == 1


def test_calls_go_on_while_a_change_is_made():
    bench = Bench()
    bench.admit(DEVELOP)
    op = bench.call()
    assert bench.started() == [op]
    bench.done(op)
    assert bench.answers[op].seq == 2


@pytest.mark.parametrize("verdict", ["unchanged", "rejected"])
def test_an_attempt_that_made_no_revision_lets_the_next_one_go(verdict: str):
    bench = Bench()
    first, second = bench.admit(DEVELOP), bench.admit(DEVELOP)
    bench.attempt(first, verdict)
    bench.durable()
    assert bench.started() == [second]
    assert bench.jobs[second].revision == 0


def test_a_hundred_changes_may_wait_and_one_more_is_refused_busy():
    bench = Bench()
    bench.admit(DEVELOP)
    for _ in range(limits.DEVELOPS_QUEUED_MAX):
        bench.admit(DEVELOP)
    assert bench.answers == {}
    refusal = bench.refusal(bench.admit(Describe(name="n")))
    assert (refusal.code, refusal.retry_after_s) == ("busy", 1)


def test_data_edits_and_interrupted_operations_wait_for_no_lock():
    bench = Bench()
    bench.admit(DEVELOP)
    edit, interrupted = bench.admit(EDIT), bench.admit(Interrupt("entry"))
    bench.durable()
    assert [bench.answers[op].seq for op in (edit, interrupted)] == [2, 3]
    assert bench.value("k") == b"1"


def test_a_description_waits_for_its_turn_and_holds_once_it_is_durable():
    bench = Bench()
    develop, archive = bench.admit(DEVELOP), bench.admit(Describe(archived=True))
    bench.attempt(develop)
    assert [draft.kind for draft in bench.drafts] == ["revision"]
    bench.durable()
    assert [draft.kind for draft in bench.drafts] == ["revision", "describe"]
    assert not bench.world.archived
    bench.durable()
    assert bench.world.archived
    assert bench.answers[archive].seq == 3


def test_a_description_leaves_as_it_was_what_it_does_not_name():
    bench = Bench(archived=True, frozen=True)
    bench.admit(Describe(archived=False))
    bench.durable()
    assert (bench.world.archived, bench.world.frozen) == (False, True)
    bench.admit(Describe(name="n"))
    bench.durable()
    assert (bench.world.archived, bench.world.frozen) == (False, True)


# ---- what a world refuses ----------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", EVERY_OPERATION, ids=name_of)
def test_an_archived_world_refuses_all_but_its_return_its_purge_and_what_was_interrupted(operation):
    bench = Bench(archived=True, revision=1)
    op = bench.admit(operation)
    if isinstance(operation, Purge | Interrupt):
        assert op not in bench.answers
    else:
        assert bench.refusal(op).code == "archived"
    assert bench.admit(Describe(archived=False)) not in bench.answers or isinstance(operation, Purge)


@pytest.mark.parametrize("operation", EVERY_OPERATION, ids=name_of)
def test_a_frozen_world_refuses_new_revisions_and_goes_on_with_the_rest(operation):
    bench = Bench(frozen=True, revision=1)
    op = bench.admit(operation)
    if isinstance(operation, Develop | Rollback | Upgrade):
        assert bench.refusal(op).code == "frozen"
    else:
        assert op not in bench.answers


@pytest.mark.parametrize("operation", EVERY_OPERATION, ids=name_of)
def test_a_purged_world_refuses_everything(operation):
    bench = Bench(purged=True, archived=True)
    assert bench.refusal(bench.admit(operation)).code == "purged"
    assert bench.drafts == []


@pytest.mark.parametrize("operation", EVERY_OPERATION, ids=name_of)
def test_a_draining_world_takes_nothing_but_what_was_interrupted(operation):
    bench = Bench()
    running = bench.call()
    bench.drain()
    op = bench.admit(operation)
    if isinstance(operation, Interrupt):
        assert op not in bench.answers
    else:
        assert bench.refusal(op).code == "draining"
        assert bench.refusal(op).retry_after_s == limits.DRAINING_RETRY_AFTER_S
    assert running not in bench.answers


@pytest.mark.parametrize("reason", ["", " ", "\t\n", "\u3000"])
@pytest.mark.parametrize(
    "make",
    [
        lambda reason: Rollback(0, reason),
        lambda reason: EditData("k", None, reason),
        lambda reason: Purge(reason),
    ],
)
def test_a_blank_reason_is_refused_by_name(make, reason: str):
    bench = Bench(revision=1)
    op = bench.admit(make(reason))
    assert bench.refusal(op).code == "bad-reason"
    assert bench.refusal(op).error == "reason: must not be blank"
    assert bench.drafts == []


def test_a_rollback_to_the_head_is_refused():
    bench = Bench(revision=2)
    refusal = bench.refusal(bench.admit(Rollback(2, "why")))
    assert (refusal.code, refusal.error) == ("already-head", "revision: 2 is the head already")


@pytest.mark.parametrize("revision", [99, 3, -1])
def test_a_rollback_to_a_revision_that_is_not_there_says_so(revision: int):
    bench = Bench(revision=2)
    refusal = bench.refusal(bench.admit(Rollback(revision, "why")))
    assert refusal.code == "no-revision"
    assert f"no revision {revision}" in refusal.error
    assert refusal.hint == "the revisions are 0 to 2"


def test_whether_a_rollback_names_the_head_is_asked_when_its_turn_comes():
    bench = Bench(revision=2)
    develop = bench.admit(DEVELOP)
    to_the_head_of_now, to_the_next = bench.admit(Rollback(2, "why")), bench.admit(Rollback(3, "why"))
    bench.attempt(develop)
    bench.durable()
    assert bench.started() == [to_the_head_of_now]
    bench.lose(to_the_head_of_now)
    assert bench.refusal(to_the_next).code == "already-head"


def test_what_waited_is_refused_when_the_world_was_archived_meanwhile():
    bench, running = bench_with_full_slots()
    queued = bench.call()
    archive, develop = bench.admit(Describe(archived=True)), bench.admit(DEVELOP)
    bench.durable()
    assert bench.answers[archive].seq == 2
    assert bench.refusal(develop).code == "archived"
    bench.done(running[0])
    assert bench.refusal(queued).code == "archived"
    assert CancelTimer(queued) in bench.effects
    assert bench.answers[running[0]].seq == 3


# ---- purge -------------------------------------------------------------------------------------------------


def test_nothing_follows_a_purge_so_it_waits_for_the_calls_that_run_and_lets_no_other_start():
    bench, running = bench_with_full_slots()
    queued = bench.call()
    purge, develop = bench.admit(Purge("over")), bench.admit(DEVELOP)
    late = bench.call()
    assert bench.refusal(queued).code == bench.refusal(late).code == bench.refusal(develop).code == "purged"
    for op in running:
        assert "purge" not in [draft.kind for draft in bench.drafts]
        bench.done(op, writes=writes(k="1"))
    assert [draft.kind for draft in bench.drafts] == ["call"] * 8 + ["purge"]
    assert bench.refusal(bench.admit(EDIT)).code == "purged"
    bench.durable()
    assert bench.world.purged
    assert bench.answers[purge].seq == bench.world.durable_seq == 10


def test_a_purge_waits_for_a_call_that_must_run_again():
    bench = Bench()
    slow = bench.call()
    bench.admit(EDIT)
    bench.admit(Purge("over"))
    bench.done(slow, reads=reads("k"), writes=writes(k="2"))
    bench.durable()
    assert bench.started() == [slow]
    bench.done(slow, reads=reads("k"), writes=writes(k="2"))
    assert [draft.kind for draft in bench.drafts] == ["data-edit", "call", "purge"]


def test_a_purge_that_could_not_be_stored_leaves_the_world_as_it_was():
    bench = Bench()
    purge = bench.admit(Purge("over"))
    bench.append_fails()
    assert bench.refusal(purge).code == "storage"
    assert not bench.world.purged
    assert bench.started() == []
    op = bench.call()
    assert bench.started() == [op]


# ---- draining ----------------------------------------------------------------------------------------------


def test_draining_refuses_what_is_queued_lets_what_runs_end_and_then_says_so():
    bench, running = bench_with_full_slots()
    develop, queued, queued_change = bench.admit(DEVELOP), bench.call(), bench.admit(DEVELOP)
    bench.drain()
    assert bench.refusal(queued).code == bench.refusal(queued_change).code == "draining"
    assert CancelTimer(queued) in bench.effects
    for op in running:
        bench.done(op)
    bench.attempt(develop)
    assert not bench.says_drained()
    bench.durable()
    assert bench.says_drained()
    assert bench.answers[develop].seq == 10


def test_a_read_only_record_that_is_not_durable_keeps_a_draining_world_waiting():
    bench = Bench()
    op = bench.call()
    bench.done(op)
    bench.drain()
    assert not bench.says_drained()
    bench.durable()
    assert bench.says_drained()


def test_an_idle_world_is_drained_at_once_and_says_so_once():
    bench = Bench()
    bench.drain()
    assert bench.says_drained()
    bench.drain()
    assert not bench.says_drained()


def test_a_call_that_must_run_again_does_so_while_draining():
    bench = Bench()
    op = bench.call()
    bench.admit(EDIT)
    bench.drain()
    bench.done(op, reads=reads("k"), writes=(Write("k", b"2"),))
    bench.durable()
    assert bench.started() == [op]
    bench.done(op, reads=reads("k"), writes=(Write("k", b"2"),))
    bench.durable()
    assert bench.says_drained()
    assert bench.value("k") == b"2"


def test_a_failed_append_ends_a_drain_too():
    bench = Bench()
    op = bench.call()
    bench.drain()
    bench.done(op, writes=writes(k="1"))
    bench.append_fails()
    assert bench.says_drained()
    assert bench.refusal(op).code == "storage"


def test_flicks_of_arrival_may_step_back_and_are_kept_as_they_were():
    bench = Bench()
    first, second = bench.call(flick=NOW_FLICKS), bench.call(flick=NOW_FLICKS - 5)
    bench.done(first)
    bench.done(second)
    assert [draft.flick for draft in bench.drafts] == [NOW_FLICKS, NOW_FLICKS - 5]
