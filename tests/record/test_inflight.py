"""The in-flight file: the next process finds what the last one left, and only that (Invariant 16)."""

from __future__ import annotations

import msgspec
import pytest
from record_lives import Book, call, edit, genesis, interrupted, preview, revision

from engine.io.mem_log import MemLog
from engine.io.real_disk import RealDisk
from engine.io.sim_disk import SimDisk, crash_images
from engine.limits import INFLIGHT_DEATHS_MAX, INFLIGHT_SLOT_BYTES, INFLIGHT_SLOTS
from engine.record.inflight import SLOTS_FILE, InFlight, Leftover, Work
from engine.record.kinds import Interrupted, Request

WORK = Work(
    world="w",
    operation="call",
    subject="addExpense",
    args=b'["hotel", 120]',
    revision=3,
    snapshot=1,
    flick=500,
    seed=2**64 - 1,
    work="f" * 64,
    request=Request("r", "e" * 64),
)


@pytest.fixture
def disk():
    return SimDisk()


@pytest.fixture
def log():
    """World w, with records 0 and 1, at the snapshot of WORK."""
    log = MemLog()
    Book(log).write("w", genesis(), revision(1, "addExpense"))
    return log


def reopened(disk) -> InFlight:
    disk.kill()
    return InFlight(disk)


def other(**change) -> Work:
    return msgspec.structs.replace(WORK, **change)


def test_what_runs_when_the_process_ends_is_found_and_stays_until_removed(disk, log):
    slot = InFlight(disk).add(WORK)
    for _ in range(3):
        inflight = reopened(disk)
        assert inflight.unsettled(log) == [Leftover(slot, WORK, None)]
    inflight.remove(slot)
    assert reopened(disk).unsettled(log) == []


def test_what_ended_is_not_found(disk, log):
    inflight = InFlight(disk)
    slots = [inflight.add(other(seed=n)) for n in range(5)]
    for slot in (slots[0], slots[3]):
        inflight.remove(slot)
    left = reopened(disk).unsettled(log)
    assert [each.work.seed for each in left] == [1, 2, 4]


def test_slots_are_used_again_and_grow_past_their_number(disk, log):
    inflight = InFlight(disk)
    slots = [inflight.add(other(seed=n)) for n in range(INFLIGHT_SLOTS + 2)]
    assert sorted(slots) == list(range(INFLIGHT_SLOTS + 2))
    again = reopened(disk)
    assert len(again.unsettled(log)) == INFLIGHT_SLOTS + 2
    for slot in slots:
        again.remove(slot)
    assert again.add(WORK) in slots


@pytest.mark.parametrize("length", [0, 600, INFLIGHT_SLOT_BYTES - 300, INFLIGHT_SLOT_BYTES, 1_000_000])
def test_arguments_of_any_length_are_kept_whole(disk, log, length):
    work = other(args=b"x" * length, subject="f\ud800")
    slot = InFlight(disk).add(work)
    inflight = reopened(disk)
    assert inflight.unsettled(log) == [Leftover(slot, work, None)]
    inflight.remove(slot)
    assert disk.list("inflight") == ["slots"]


def test_nothing_of_a_removed_operation_stays_in_the_file(disk):
    inflight = InFlight(disk)
    inflight.remove(inflight.add(WORK))
    file = disk.open(SLOTS_FILE)
    assert file.read_at(0, file.size()).count(0) == INFLIGHT_SLOTS * INFLIGHT_SLOT_BYTES


def test_a_clean_end_leaves_an_empty_file(disk):
    inflight = InFlight(disk)
    inflight.remove(inflight.add(WORK))
    inflight.close()
    assert disk.size(SLOTS_FILE) == 0


# ---- outcomes in the log


def recorded(log, *bodies, flick: int = 500) -> Book:
    book = Book(log)
    book.flick = flick
    book.write("w", *bodies)
    return book


def outcome(seed: int = WORK.seed):
    return call("addExpense", flick=500, seed=seed)


def test_an_operation_whose_record_is_durable_was_not_interrupted(disk, log):
    """The process ended between the append and the removal, or a loss of power brought the slot back."""
    InFlight(disk).add(WORK)
    recorded(log, outcome())
    inflight = reopened(disk)
    assert inflight.unsettled(log) == []
    assert reopened(disk).unsettled(MemLog()) == []


def test_a_call_that_ran_with_an_older_clock_is_known_by_that_clock_not_by_its_records_time(disk, log):
    InFlight(disk).add(WORK)
    recorded(log, outcome(), flick=9_000)
    assert reopened(disk).unsettled(log) == []


@pytest.mark.parametrize(
    "body", [outcome(seed=7), preview(), edit("a", b"1"), interrupted(1, admitted_flick=499)]
)
def test_the_record_of_another_operation_settles_nothing(disk, log, body):
    InFlight(disk).add(WORK)
    recorded(log, body)
    assert len(reopened(disk).unsettled(log)) == 1


def test_a_record_of_another_flick_settles_no_develop(disk, log):
    InFlight(disk).add(other(operation="develop", subject="source"))
    recorded(log, revision(2, "f"), flick=501)
    assert len(reopened(disk).unsettled(log)) == 1
    recorded(log, revision(3, "f"), flick=500)
    assert reopened(disk).unsettled(log) == []


def test_the_record_of_its_interruption_settles_it(disk, log):
    InFlight(disk).add(WORK)
    (left,) = reopened(disk).unsettled(log)
    recorded(log, msgspec.structs.replace(left.body(deaths_before=0), incident=1), flick=900)
    assert reopened(disk).unsettled(log) == []


def test_records_before_the_snapshot_settle_nothing(disk, log):
    recorded(log, outcome())
    InFlight(disk).add(other(snapshot=2))
    assert len(reopened(disk).unsettled(log)) == 1


def test_one_record_settles_one_of_two_equal_operations(disk, log):
    inflight = InFlight(disk)
    develop = other(operation="develop", subject="source")
    first, second = inflight.add(develop), inflight.add(develop)
    inflight.drafted(second, 2)
    recorded(log, revision(2, "f"))
    assert [left.slot for left in reopened(disk).unsettled(log)] == [first]


def test_a_draft_that_never_became_durable_is_interrupted(disk, log):
    inflight = InFlight(disk)
    slot = inflight.add(WORK)
    inflight.drafted(slot, 2)
    assert reopened(disk).unsettled(log) == [Leftover(slot, WORK, 2)]
    recorded(log, outcome(seed=1))
    assert len(reopened(disk).unsettled(log)) == 1


def test_an_operation_of_a_world_that_never_began_is_forgotten(disk):
    InFlight(disk).add(WORK)
    assert reopened(disk).unsettled(MemLog()) == []
    assert reopened(disk).unsettled(MemLog()) == []


# ---- interruptions


def test_an_interruption_keeps_all_that_it_takes_to_run_again():
    assert Leftover(0, WORK, None).body(deaths_before=0) == Interrupted(
        incident=0,
        operation="call",
        subject="addExpense",
        args=b'["hotel", 120]',
        revision=3,
        admitted_flick=500,
        work="f" * 64,
        deaths=1,
        quarantined=False,
        request=Request("r", "e" * 64),
        snapshot=1,
        seed=2**64 - 1,
    )


def test_work_that_killed_as_often_as_the_limit_says_is_quarantined():
    bodies = [Leftover(0, WORK, None).body(deaths_before=n) for n in range(INFLIGHT_DEATHS_MAX + 1)]
    assert [body.deaths for body in bodies] == [1, 2, 3]
    assert [body.quarantined for body in bodies] == [False, True, True]


def test_work_that_had_ended_before_the_process_did_killed_nothing():
    body = Leftover(0, WORK, 5).body(deaths_before=1)
    assert (body.deaths, body.quarantined) == (1, False)


# ---- damage


def test_every_changed_byte_of_a_slot_costs_that_slot_alone(disk, log):
    inflight = InFlight(disk)
    for n in range(3):
        inflight.add(other(seed=n))
    file = disk.open(SLOTS_FILE)
    whole = file.read_at(0, 3 * INFLIGHT_SLOT_BYTES)
    used = len(whole[INFLIGHT_SLOT_BYTES : 2 * INFLIGHT_SLOT_BYTES].rstrip(b"\0"))
    harmless = 0
    for at in range(used):
        changed = bytearray(whole)
        changed[INFLIGHT_SLOT_BYTES + at] ^= 0x21
        file.write_at(0, bytes(changed))
        again = InFlight(disk)
        seeds = [left.work.seed for left in again.unsettled(log)]
        if seeds == [0, 1, 2]:
            harmless += 1
            assert 8 <= at < 16 or 5 <= at < 8, f"byte {at} is covered by no tag"
        else:
            assert (seeds, again.torn) == ([0, 2], 1)
        file.write_at(0, whole)
    assert harmless == 11  # the mark of a draft and its padding, which the log is asked about


def test_a_slot_in_another_slots_place_is_skipped(disk, log):
    inflight = InFlight(disk)
    inflight.add(WORK)
    file = disk.open(SLOTS_FILE)
    file.write_at(5 * INFLIGHT_SLOT_BYTES, file.read_at(0, INFLIGHT_SLOT_BYTES))
    again = InFlight(disk)
    assert ([left.slot for left in again.unsettled(log)], again.torn) == ([0], 1)


def test_a_foreign_file_is_skipped_and_used(disk, log):
    disk.make_dir("inflight")
    disk.open(SLOTS_FILE, create=True).write_at(0, b"something else" * 1000)
    inflight = InFlight(disk)
    assert (inflight.unsettled(log), inflight.torn) == ([], -(-14000 // INFLIGHT_SLOT_BYTES))
    inflight.add(WORK)
    assert len(reopened(disk).unsettled(log)) == 1


def test_a_loss_of_power_may_bring_back_old_slots_but_none_with_an_outcome(disk, log):
    inflight = InFlight(disk)
    book = Book(log)
    book.flick = 500
    for n in range(6):
        slot = inflight.add(other(seed=n, args=b"x" * 3000 * (n % 2)))
        inflight.drafted(slot, 2 + n)
        book.write("w", outcome(seed=n))
        inflight.remove(slot)
    images = 0
    for image in crash_images(disk.trace, seeds=range(3)):
        assert InFlight(image.disk).unsettled(log) == [], str(image.point)
        images += 1
    assert images > 100


def test_it_works_on_a_real_disk(tmp_path, log):
    disk = RealDisk(tmp_path)
    slot = InFlight(disk).add(WORK)
    assert InFlight(disk).unsettled(log) == [Leftover(slot, WORK, None)]
    disk.close()
