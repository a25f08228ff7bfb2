"""What becomes of a job's outcome: its record, its number, or another run."""

from __future__ import annotations

import pytest
from hub_bench import Bench, reads, writes

from engine import limits
from engine.hub.messages import (
    Answer,
    Append,
    Call,
    Checkpoint,
    Develop,
    EditData,
    Execute,
    Interrupt,
    Read,
    Rollback,
    RunJob,
    Upgrade,
    Write,
)

DEVELOP = Develop("define('f', () => 1)", "f")
COUNT_UP = {"reads": reads("k"), "writes": writes(k="1")}


def edit(key: str, value: bytes | None = b"9") -> EditData:
    return EditData(key, value, "why")


def kinds_and_numbers(bench: Bench) -> list[tuple[str, int | None]]:
    return [(draft.kind, draft.number) for draft in bench.drafts]


# ---- records and answers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", [Call("f", b"[]"), Execute("f()")])
def test_a_reader_is_answered_at_once_and_its_record_may_ride_with_the_next_batch(operation):
    bench = Bench()
    op = bench.admit(operation)
    bench.done(op, reads=reads("k"), detail="outcome")
    assert bench.effects == [Append((bench.drafts[0],), urgent=False), Answer(op, 2)]
    draft = bench.drafts[0]
    assert (draft.seq, draft.snapshot, draft.number, draft.detail) == (2, 1, None, "outcome")


def test_a_writing_call_is_answered_and_seen_only_when_it_is_durable():
    bench = Bench()
    op = bench.call()
    bench.done(op, writes=writes(k="1"))
    assert bench.effects == [Append((bench.drafts[0],), urgent=True)]
    assert bench.value("k") is None
    bench.durable()
    assert bench.effects == [Answer(op, 2)]
    assert bench.value("k") == b"1"


def test_a_failed_call_writes_nothing_and_is_a_numbered_incident_answered_when_durable():
    bench = Bench(next_incident=5)
    op = bench.call()
    bench.done(op, ok=False, **COUNT_UP)
    assert bench.effects == [Append((bench.drafts[0],), urgent=True)]
    assert kinds_and_numbers(bench) == [("call", 5)]
    assert bench.drafts[0].writes == ()
    bench.durable()
    assert bench.answers[op].seq == 2
    assert bench.value("k") is None


def test_a_call_of_what_is_not_defined_is_recorded_without_an_incident_and_answered_at_once():
    bench = Bench()
    op = bench.call("nope")
    bench.done(op, ok=False, missing=True)
    assert kinds_and_numbers(bench) == [("call", None)]
    assert bench.effects == [Append((bench.drafts[0],), urgent=False), Answer(op, 2)]


@pytest.mark.parametrize("ok", [True, False])
def test_a_preview_writes_nothing_conflicts_with_nothing_and_has_no_number(ok: bool):
    bench = Bench()
    op = bench.admit(Execute("count()"))
    bench.admit(edit("k"))
    bench.done(op, ok=ok, **COUNT_UP)
    bench.durable()
    assert bench.answers[op].seq == 3
    assert kinds_and_numbers(bench) == [("data-edit", None), ("preview", None)]
    assert bench.drafts[1].writes == ()
    assert bench.value("k") == b"9"


def test_a_data_edit_is_a_blind_write_that_can_delete():
    bench = Bench(rows=(("k", b"1"),))
    op = bench.admit(edit("k", None))
    assert bench.drafts[0].writes == (Write("k", None),)
    assert bench.value("k") == b"1"
    bench.durable()
    assert bench.value("k") is None
    assert bench.answers[op].seq == 2


def test_a_record_names_what_its_job_ran_on():
    bench = Bench(seq=40, revision=6)
    op = bench.call(seed=11, flick=22)
    bench.develop(DEVELOP)
    bench.done(op, writes=writes(k="1"))
    draft = bench.drafts[-1]
    assert (draft.revision, draft.snapshot, draft.seed, draft.flick, draft.actor) == (6, 40, 11, 22, "tester")
    assert (draft.seq, draft.op, draft.reruns, draft.failure) == (42, op, 0, None)


# ---- numbers -----------------------------------------------------------------------------------------------


def test_accepted_attempts_of_every_cause_are_the_next_revision():
    bench = Bench(revision=3)
    for operation in (DEVELOP, Rollback(0, "why"), Upgrade()):
        bench.develop(operation)
    assert kinds_and_numbers(bench) == [("revision", 4), ("revision", 5), ("revision", 6)]
    assert [draft.revision for draft in bench.drafts] == [3, 4, 5]
    assert bench.world.revision == 6


def test_rejections_and_incidents_are_counted_each_on_its_own():
    bench = Bench()
    for verdict in ("rejected", "accepted", "unchanged", "rejected"):
        bench.attempt(bench.admit(DEVELOP), verdict)
        bench.durable()
    bench.done(bench.call(), ok=False)
    bench.admit(Interrupt("entry"))
    assert kinds_and_numbers(bench) == [
        ("rejection", 1),
        ("revision", 1),
        ("unchanged", None),
        ("rejection", 2),
        ("call", 1),
        ("interrupted", 2),
    ]
    assert bench.drafts[-1].detail == "entry"


def test_the_head_moves_when_the_revision_is_durable():
    bench = Bench()
    op = bench.admit(DEVELOP)
    bench.attempt(op)
    assert bench.world.revision == 0
    bench.durable()
    assert bench.world.revision == 1
    assert bench.answers[op].seq == 2


def test_a_checkpoint_reads_durable_data_and_makes_no_revision():
    bench = Bench(revision=2)
    op = bench.admit(Checkpoint())
    bench.done(bench.call(), writes=writes(k="1"))
    bench.attempt(op, detail="state")
    bench.durable()
    assert kinds_and_numbers(bench) == [("call", None), ("checkpoint", None)]
    assert (bench.drafts[1].snapshot, bench.drafts[1].revision, bench.drafts[1].detail) == (1, 2, "state")
    assert bench.world.revision == 2


# ---- conflicts ---------------------------------------------------------------------------------------------


def test_a_call_whose_reads_have_changed_runs_again_with_its_seed_and_flick_on_what_is_durable():
    bench = Bench()
    first, second = bench.call(seed=1, flick=10), bench.call(seed=2, flick=20)
    bench.done(first, **COUNT_UP)
    bench.durable()
    bench.done(second, **COUNT_UP)
    assert bench.effects == [RunJob(second, Call("f", b"[]"), 0, 2, 20, 2, 1)]
    bench.done(second, reads=reads("k"), writes=writes(k="2"))
    bench.durable()
    assert bench.value("k") == b"2"
    assert [draft.reruns for draft in bench.drafts] == [0, 1]


def test_a_conflict_with_a_draft_waits_until_that_is_durable():
    bench = Bench()
    first, second = bench.call(), bench.call()
    bench.done(first, **COUNT_UP)
    bench.done(second, **COUNT_UP)
    assert bench.effects == []
    bench.durable()
    assert bench.jobs[second].snapshot == 2
    assert bench.started() == [second]


def test_a_re_run_waits_for_every_write_that_was_drafted_when_its_conflict_was_found():
    bench = Bench()
    first, second, third = bench.call(), bench.call(), bench.call()
    bench.done(first, **COUNT_UP)
    bench.done(second, writes=writes(l="1"))
    bench.done(third, **COUNT_UP)
    bench.durable(2)
    assert bench.started() == []
    bench.durable(3)
    assert bench.started() == [third]


def test_a_re_run_sees_the_head_of_its_new_snapshot():
    bench = Bench()
    op = bench.call()
    bench.admit(edit("k"))
    bench.develop(DEVELOP)
    bench.done(op, **COUNT_UP)
    assert (bench.jobs[op].revision, bench.jobs[op].snapshot, bench.jobs[op].rerun) == (1, 3, 1)


def test_calls_that_touch_different_keys_commit_side_by_side():
    bench = Bench()
    first, second = bench.call(), bench.call()
    bench.done(first, reads=reads("a"), writes=writes(a="1"))
    bench.done(second, reads=reads("b"), writes=writes(b="1"))
    bench.durable()
    assert [bench.answers[op].seq for op in (first, second)] == [2, 3]


def test_blind_writes_commit_in_the_order_in_which_they_end():
    bench = Bench()
    first, second = bench.call(), bench.call()
    bench.done(second, writes=writes(k="second"))
    bench.done(first, writes=writes(k="first"))
    bench.durable()
    assert [bench.answers[op].seq for op in (second, first)] == [2, 3]
    assert bench.value("k") == b"first"


@pytest.mark.parametrize(
    ("read", "again"),
    [
        (Read("t:", prefix=True), True),
        (Read("t:", prefix=True, until="t:4"), False),
        (Read("t:", prefix=True, after="t:5"), False),
        (Read("u:", prefix=True), False),
        (Read("t:4"), False),
    ],
)
@pytest.mark.parametrize("value", [b"1", None])
def test_a_listing_conflicts_with_a_row_that_appears_or_goes_in_its_range(read: Read, again, value):
    bench = Bench(rows=(("t:5", b"0"),) if value is None else ())
    op = bench.call()
    bench.admit(edit("t:5", value))
    bench.durable()
    bench.done(op, reads=(read,), writes=writes(sum="1"))
    assert bench.started() == ([op] if again else [])


def test_readers_and_failed_calls_stand_at_their_snapshot_whatever_has_changed():
    bench = Bench()
    reader, failed = bench.call(), bench.call()
    bench.admit(edit("k"))
    bench.durable()
    bench.done(reader, reads=reads("k"))
    bench.done(failed, ok=False, **COUNT_UP)
    assert [draft.snapshot for draft in bench.drafts[1:]] == [1, 1]
    assert bench.started() == []


def test_a_reader_finds_the_versions_of_its_snapshot_as_long_as_it_runs():
    bench = Bench(rows=(("k", b"0"),))
    slow = bench.call()
    for n in range(3):
        bench.admit(edit("k", str(n).encode()))
        bench.durable()
    assert bench.world.data.get("k", bench.jobs[slow].snapshot) == b"0"
    assert bench.world.data.versions_count() == 4
    bench.done(slow)
    bench.durable()
    assert bench.world.data.versions_count() == 1


def lose_twice(bench: Bench, op: int) -> None:
    """Let two edits overtake a call, so that its second re-run is due once they are durable."""
    for _ in range(2):
        bench.admit(edit("k"))
        bench.durable()
        bench.done(op, **COUNT_UP)


def test_from_its_second_re_run_on_a_call_runs_alone_so_none_starts_beside_it():
    bench = Bench()
    loser = bench.call()
    lose_twice(bench, loser)
    assert bench.jobs[loser].rerun == 2
    newcomer = bench.call()
    assert newcomer in bench.timers
    bench.done(loser, **COUNT_UP)
    assert bench.started() == [newcomer]
    bench.durable()
    assert bench.answers[loser].seq == 4


def test_writers_that_end_beside_a_call_that_runs_alone_commit_after_it():
    bench = Bench()
    loser, rival, other = bench.call(), bench.call(), bench.call()
    lose_twice(bench, loser)
    bench.done(rival, **COUNT_UP)
    bench.done(other, writes=writes(x="1"))
    assert bench.effects == []
    bench.done(loser, **COUNT_UP)
    assert [draft.op for draft in bench.drafts[2:]] == [loser, other]
    bench.durable()
    assert bench.started() == [rival]
    assert bench.jobs[rival].rerun == 1


def test_readers_and_failures_that_end_beside_it_are_recorded_at_once():
    bench = Bench()
    loser, reader, failed = bench.call(), bench.call(), bench.call()
    lose_twice(bench, loser)
    bench.done(reader, reads=reads("k"))
    bench.done(failed, ok=False)
    assert [draft.op for draft in bench.drafts[2:]] == [reader, failed]


def test_a_call_that_shall_run_alone_waits_for_all_writes_drafted_before():
    bench = Bench()
    loser, blind = bench.call(), bench.call()
    bench.admit(edit("k"))
    bench.durable()
    bench.done(loser, **COUNT_UP)
    bench.admit(edit("k"))
    bench.done(loser, **COUNT_UP)
    bench.done(blind, writes=writes(x="1"))
    bench.durable(3)
    assert bench.started() == [loser]
    assert bench.world.held[0].id == blind


def test_two_that_lost_often_run_alone_one_after_the_other():
    bench = Bench()
    first, second = bench.call(), bench.call()
    for _ in range(2):
        bench.admit(edit("k"))
        bench.durable()
        for op in (first, second):
            if bench.jobs[op].snapshot < bench.world.durable_seq:
                bench.done(op, **COUNT_UP)
    assert (bench.jobs[first].rerun, bench.jobs[second].rerun) == (2, 1)
    bench.done(first, **COUNT_UP)
    assert bench.started() == []
    bench.durable()
    assert bench.started() == [second]
    bench.done(second, **COUNT_UP)
    bench.durable()
    assert [bench.answers[op].seq for op in (first, second)] == [4, 5]


def test_those_that_shall_run_alone_take_turns_and_each_sees_what_the_one_before_wrote():
    bench = Bench()
    first, second, third = bench.call(), bench.call(), bench.call()
    bench.admit(edit("k"))
    bench.durable()
    for op in (first, second, third):
        bench.done(op, **COUNT_UP)
    bench.admit(edit("k"))
    bench.durable()
    for op in (first, second, third):
        bench.done(op, **COUNT_UP)
    bench.done(first, **COUNT_UP)
    bench.durable()
    assert bench.started() == [second]
    bench.done(second, **COUNT_UP)
    assert bench.started() == []
    bench.durable()
    assert bench.started() == [third]
    bench.done(third, **COUNT_UP)
    assert [(draft.op, draft.reruns) for draft in bench.drafts[2:]] == [(first, 2), (second, 2), (third, 2)]


def test_after_five_re_runs_a_call_is_a_conflict_incident_that_wrote_nothing():
    bench = Bench()
    op = bench.call()
    for rerun in range(limits.CALL_RERUNS_MAX + 1):
        assert bench.jobs[op].rerun == rerun
        bench.admit(edit("k"))
        bench.durable()
        bench.done(op, detail=f"run {rerun}", **COUNT_UP)
    draft = bench.drafts[-1]
    assert (draft.op, draft.failure, draft.number, draft.reruns) == (op, "conflict", 1, 5)
    assert (draft.writes, draft.detail) == ((), "run 5")
    bench.durable()
    assert bench.answers[op].seq == draft.seq
    assert bench.value("k") == b"9"
    assert bench.world.is_idle


def test_the_fifth_re_run_can_still_commit():
    bench = Bench()
    op = bench.call()
    for _ in range(limits.CALL_RERUNS_MAX):
        bench.admit(edit("k"))
        bench.durable()
        bench.done(op, **COUNT_UP)
    bench.done(op, **COUNT_UP)
    draft = bench.drafts[-1]
    assert (draft.op, draft.failure, draft.reruns, draft.writes) == (op, None, 5, writes(k="1"))


def test_eight_calls_on_one_hot_key_all_commit_and_none_is_lost():
    bench = Bench(rows=(("k", b"0"),))
    ops = [bench.call() for _ in range(8)]
    for _ in range(100):
        for op in [op for op, run in bench.world.jobs.items() if run.phase == "running"]:
            count = int(bench.world.data.get("k", bench.jobs[op].snapshot) or b"0")
            bench.done(op, reads=reads("k"), writes=(Write("k", str(count + 1).encode()),))
        if bench.world.is_idle:
            break
        bench.durable()
    assert bench.value("k") == b"8"
    assert sorted(bench.answers) == ops
    assert [draft.failure for draft in bench.drafts] == [None] * 8


# ---- jobs without an outcome -------------------------------------------------------------------------------


def test_a_lost_call_is_refused_and_its_slot_is_free():
    bench = Bench()
    ops = [bench.call() for _ in range(limits.CALLS_RUNNING_MAX + 1)]
    bench.lose(ops[0], "blob gone")
    assert bench.refusal(ops[0]).code == "storage"
    assert "blob gone" in bench.refusal(ops[0]).error
    assert bench.started() == [ops[-1]]
    assert bench.drafts == []


def test_a_lost_develop_lets_the_next_change_go():
    bench = Bench()
    first, second = bench.admit(DEVELOP), bench.admit(DEVELOP)
    bench.lose(first)
    assert bench.refusal(first).code == "storage"
    assert bench.started() == [second]


def test_a_lost_call_that_ran_alone_lets_the_others_go():
    bench = Bench()
    loser = bench.call()
    lose_twice(bench, loser)
    newcomer = bench.call()
    bench.lose(loser)
    assert bench.started() == [newcomer]


def test_an_event_for_an_operation_that_is_gone_changes_nothing():
    bench = Bench()
    op = bench.call()
    bench.lose(op)
    assert bench.done(op, **COUNT_UP) == []
    assert bench.lose(op) == []
    assert bench.attempt(op) == []
    assert bench.drafts == []
