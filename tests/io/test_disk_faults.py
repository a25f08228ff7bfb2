"""The faults that a simulated disk can be told to have, each at its moment."""

from __future__ import annotations

import pytest
from disk_trees import S, busy_disk, shape_of, small_disk, tree, trees_after, write

from engine.io.disk import DirectoryLocked, DiskFull, SyncFailed, read_file
from engine.io.sim_disk import SimDisk
from engine.io.sim_faults import PowerLost

# ---- power lost, process killed


def test_power_is_lost_at_the_operation_ordered_and_nothing_works_from_there_on():
    whole = busy_disk()
    for op in range(1, whole.ops + 1):
        disk = small_disk()
        disk.crash_at(op)
        with pytest.raises(PowerLost):
            _live_again(disk)
        assert disk.ops == op - 1
        for use in (lambda: disk.list(""), lambda: disk.exists("a"), lambda: disk.sync_dir("")):  # noqa: B023
            with pytest.raises(PowerLost):
                use()


def _live_again(disk: SimDisk) -> None:
    disk.make_dir("d/e")
    disk.sync_dir("")
    while True:
        write(disk, "a", b"x" * 700, sync=True)


def test_no_handler_of_ordinary_errors_catches_a_power_loss():
    assert not issubclass(PowerLost, Exception)


def test_a_killed_process_leaves_what_it_wrote_and_frees_its_locks():
    disk = small_disk()
    disk.lock("LOCK")
    file = disk.open("a", create=True)
    file.write_at(0, b"unsynced")
    with pytest.raises(DirectoryLocked):
        disk.lock("LOCK")
    disk.kill()
    with pytest.raises(PowerLost, match="was killed"):
        file.read_at(0, 1)
    file.close()
    disk.lock("LOCK").release()
    assert read_file(disk, "a") == b"unsynced"
    assert tree(disk.after_power_loss("lost")) == {}, "the next process has to sync what it read"
    disk.open("a").sync()
    disk.sync_dir("")
    assert tree(disk.after_power_loss("lost"))["a"] == b"unsynced"


def test_after_a_kill_the_disk_works_again_without_the_crash_ordered():
    disk = small_disk()
    disk.crash_at(2)
    with pytest.raises(PowerLost):
        write(disk, "a", b"x")
    disk.kill()
    assert tree(disk) == {"a": b""}
    write(disk, "a", b"y", sync=True)
    disk.crash_now()
    with pytest.raises(PowerLost):
        disk.list("")


# ---- syncs that fail and syncs that lie


def synced_then_failed(pages) -> tuple[SimDisk, object]:
    disk = small_disk()
    file = disk.open("a", create=True)
    file.write_at(0, b"0" * S * 2)
    file.sync()
    disk.sync_dir("")
    disk.fail_sync(disk.syncs + 1, pages=pages)
    file.write_at(0, b"1" * S * 3)
    with pytest.raises(SyncFailed, match="sync failed"):
        file.sync()
    return disk, file


def test_a_failed_sync_may_drop_its_pages_so_that_reads_see_the_past():
    _, file = synced_then_failed("dropped")
    assert file.read_at(0, 9999) == b"0" * S * 2 + bytes(S)


def test_a_failed_sync_may_keep_pages_that_no_later_sync_makes_durable():
    disk, file = synced_then_failed("kept")
    assert file.read_at(0, 9999) == b"1" * S * 3
    file.sync()
    assert tree(disk.after_power_loss("lost")) == {"a": b"0" * S * 2}
    shapes = {shape_of(found["a"][: 2 * S]) for found in trees_after(disk, ("reordered",))}
    assert shapes == {"00", "01", "10", "11"}, "some of it may have reached the medium all the same"


@pytest.mark.parametrize("pages", ["dropped", "kept"])
def test_what_is_written_anew_after_a_failed_sync_is_durable_and_the_rest_stays_in_doubt(pages):
    disk, file = synced_then_failed(pages)
    file.write_at(0, b"2" * S)
    file.sync()
    shapes = {shape_of(found["a"][: 2 * S]) for found in trees_after(disk, ("torn", "reordered"))}
    assert shapes == {"20", "21"}


def test_a_failed_sync_of_a_directory_leaves_its_names_in_doubt():
    disk = small_disk()
    write(disk, "a", b"x", sync=True)
    disk.fail_sync(disk.syncs + 1)
    with pytest.raises(SyncFailed, match="the root"):
        disk.sync_dir("")
    disk.sync_dir("")
    assert tree(disk) == {"a": b"x"}
    assert {tuple(found) for found in trees_after(disk)} == {(), ("a",)}
    write(disk, "b", b"y", sync=True)
    disk.sync_dir("")
    assert {tuple(found) for found in trees_after(disk)} == {("b",), ("a", "b")}
    disk.rename("a", "c")
    disk.sync_dir("")
    assert {tuple(found) for found in trees_after(disk)} == {("b", "c")}


def test_a_file_has_one_name_even_where_syncs_of_its_directories_failed():
    disk = small_disk()
    disk.make_dir("d")
    disk.sync_dir("")
    write(disk, "a", b"mine", sync=True)
    for move in (lambda: disk.rename("a", "b"), lambda: disk.rename("b", "d/c")):
        disk.fail_sync(disk.syncs + 1)
        with pytest.raises(SyncFailed):
            disk.sync_dir("")
        move()
    disk.fail_sync(disk.syncs + 1)
    with pytest.raises(SyncFailed):
        disk.sync_dir("")
    write(disk, "b", b"other", sync=True)
    disk.sync_dir("")
    seen = {str(found) for found in trees_after(disk)}
    assert seen == {str({"b": b"other", "d/": b"", "d/c": b"mine"})}


def test_syncs_fail_from_the_one_ordered_for_as_long_as_ordered():
    disk = small_disk()
    file = disk.open("a", create=True)
    disk.fail_sync(2, times=2)
    disk.fail_sync(6, times=None)
    outcomes = []
    for _ in range(9):
        try:
            file.sync()
            outcomes.append("ok")
        except SyncFailed:
            outcomes.append("failed")
    assert outcomes == ["ok", "failed", "failed", "ok", "ok", "failed", "failed", "failed", "failed"]
    disk.heal()
    file.sync()


def test_a_lying_sync_says_yes_and_does_nothing_until_an_honest_one():
    disk = small_disk()
    file = disk.open("a", create=True)
    disk.lie_on_sync(1, times=2)
    file.write_at(0, b"x")
    file.sync()
    disk.sync_dir("")
    assert tree(disk.after_power_loss("lost")) == {}
    file.sync()
    disk.sync_dir("")
    assert tree(disk.after_power_loss("lost")) == {"a": b"x"}


# ---- no space


def test_a_disk_runs_full_at_its_capacity_and_not_a_sector_before():
    disk = small_disk(capacity_bytes=10 * S)
    assert disk.free_bytes() == 9 * S, "the root takes one"
    file = disk.open("a", create=True)
    file.write_at(0, b"x" * S * 8)
    assert disk.free_bytes() == 0
    file.write_at(0, b"y" * S * 8)
    with pytest.raises(DiskFull) as full:
        file.write_at(S * 8, b"z")
    assert str(full.value) == "a: no space is left for: write at byte 4096; free some space"
    for use in (lambda: disk.open("b", create=True), lambda: disk.make_dir("d")):
        with pytest.raises(DiskFull):
            use()
    file.truncate(S * 6)
    assert disk.free_bytes() == 2 * S
    disk.make_dir("d")
    disk.open("b", create=True)
    disk.remove("a")
    assert disk.free_bytes() == 7 * S
    assert tree(disk) == {"b": b"", "d/": b""}


def test_a_write_that_does_not_fit_leaves_what_did():
    disk = small_disk(capacity_bytes=5 * S)
    file = disk.open("a", create=True)
    with pytest.raises(DiskFull):
        file.write_at(100, b"x" * S * 4)
    assert file.read_at(0, 9999) == bytes(100) + b"x" * (S * 3 - 100)
    after = disk.after_power_loss("kept")
    assert (after.capacity_bytes, after.free_bytes()) == (5 * S, 0)


def test_holes_take_no_space():
    disk = small_disk(capacity_bytes=5 * S)
    file = disk.open("a", create=True)
    file.truncate(1000 * S)
    file.write_at(900 * S, b"x")
    assert disk.free_bytes() == 2 * S


def test_a_disk_is_full_at_the_operations_ordered_and_each_refusal_is_one():
    disk = small_disk()
    file = disk.open("a", create=True)
    disk.fill_up_at(3, times=2)
    file.write_at(0, b"0" * S)
    assert disk.free_bytes() == 0
    for _ in range(2):
        with pytest.raises(DiskFull):
            file.write_at(S, b"1" * S)
    file.write_at(S, b"2" * S)
    assert disk.ops == 5
    assert file.read_at(0, 9999) == b"0" * S + b"2" * S
    disk.fill_up_at(6)
    file.write_at(0, b"3" * S)
    for _ in range(5):
        with pytest.raises(DiskFull):
            file.write_at(2 * S, b"4")


# ---- rot and misdirection


def test_a_flipped_bit_reads_wrong_until_it_is_written_again():
    disk = small_disk()
    write(disk, "a", bytes(S * 2), sync=True)
    disk.sync_dir("")
    disk.flip_bit("a", (S + 1) * 8 + 3)
    rotten = bytes(S + 1) + b"\x08" + bytes(S - 2)
    assert read_file(disk, "a") == rotten
    assert tree(disk.after_power_loss("lost")) == {"a": rotten}
    disk.rename("a", "b")
    assert read_file(disk, "b") == rotten
    file = disk.open("b")
    file.write_at(0, b"x")
    assert file.read_at(S, S) == rotten[S:]
    file.write_at(S, bytes(S))
    assert file.read_at(S, S) == bytes(S)


def test_a_bit_flipped_twice_is_right_and_healing_finds_the_truth():
    disk = small_disk()
    write(disk, "a", b"truth")
    disk.flip_bit("a", 0)
    disk.flip_bit("a", 8)
    disk.flip_bit("a", 0)
    assert read_file(disk, "a") == b"tsuth"
    disk.heal()
    assert read_file(disk, "a") == b"truth"


def test_a_write_into_a_rotten_sector_keeps_the_rot_around_it():
    disk = small_disk()
    write(disk, "a", bytes(S))
    disk.flip_bit("a", 0)
    write(disk, "a", b"x", at_bytes=9)
    disk.heal()
    assert read_file(disk, "a")[:10] == b"\x01" + bytes(8) + b"x"


def test_a_misdirected_write_lands_elsewhere_and_reports_success():
    disk = small_disk()
    write(disk, "a", b"0" * S * 4, sync=True)
    disk.misdirect_write(disk.ops + 1, shift_sectors=2)
    write(disk, "a", b"1" * S, at_bytes=S, sync=True)
    assert shape_of(read_file(disk, "a")) == "0001"
    write(disk, "a", b"2" * S, at_bytes=S)
    assert shape_of(read_file(disk, "a")) == "0201"


def test_every_operation_has_a_number():
    disk = small_disk()
    numbers = []
    file = disk.open("a", create=True)
    numbers.append(disk.ops)
    for use in (
        lambda: file.write_at(0, b"x"),
        lambda: file.truncate(0),
        file.sync,
        lambda: disk.sync_dir(""),
        lambda: disk.make_dir("d/e"),
        lambda: disk.rename("a", "d/a"),
        lambda: disk.remove("d/a"),
        lambda: disk.list(""),
        lambda: disk.open("d/a", create=True),
        lambda: disk.open("d/a"),
        lambda: file.read_at(0, 1),
    ):
        use()
        numbers.append(disk.ops)
    assert numbers == [1, 2, 3, 4, 5, 7, 8, 9, 9, 10, 10, 10]
    assert disk.syncs == 2
