"""The simulated disk: what a crash leaves, what each fault does, and that both are decided by the seed alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.ids import content_id
from engine.io.crash_images import CRASH_KINDS, DECIDED_KINDS
from engine.io.disk import DirectoryLocked, Disk, DiskFull, SyncFailed, read_file, write_file_durably
from engine.io.sim_disk import SimDisk, crash_images
from engine.io.sim_faults import PowerLost

ROOT = Path(__file__).parent.parent.parent
S = 512
RANDOM_KINDS = tuple(kind for kind in CRASH_KINDS if kind not in DECIDED_KINDS)
SEEDS = range(200)


def small_disk(**options) -> SimDisk:
    return SimDisk(sector_bytes=S, **options)


def write(disk: Disk, path: str, content: bytes, *, at_bytes: int = 0, sync: bool = False) -> None:
    file = disk.open(path, create=True)
    file.write_at(at_bytes, content)
    if sync:
        file.sync()
    file.close()


def tree(disk: Disk, path: str = "") -> dict[str, bytes]:
    """Every file and its content; a directory ends with "/"."""
    found: dict[str, bytes] = {}
    for name in disk.list(path):
        below = f"{path}/{name}" if path else name
        if disk.is_dir(below):
            found[below + "/"] = b""
            found.update(tree(disk, below))
        else:
            found[below] = read_file(disk, below)
    return found


def trees_after(disk: SimDisk, kinds=RANDOM_KINDS, seeds=SEEDS) -> list[dict[str, bytes]]:
    return [tree(disk.after_power_loss(kind, seed)) for kind in kinds for seed in seeds]


def busy_disk() -> SimDisk:
    """A little life with everything in it: the trace that several tests crash."""
    disk = small_disk(seed=3)
    disk.make_dir("d/e")
    disk.sync_dir("")
    write(disk, "a", b"a" * 1200, sync=True)
    disk.sync_dir("")
    write(disk, "a", b"A" * 700, at_bytes=100)
    write(disk, "d/b", b"b" * 600, sync=True)
    disk.rename("d/b", "d/e/c")
    disk.sync_dir("d/e")
    write(disk, "d/x", b"x" * 2000)
    disk.rename("d/x", "d/e/c")
    disk.remove("a")
    write(disk, "a", b"again")
    file = disk.open("a")
    file.truncate(2)
    return disk


# ---- what a crash leaves


def test_what_was_synced_survives_every_crash():
    disk = small_disk()
    write(disk, "a", b"x" * 1000, sync=True)
    disk.sync_dir("")
    assert {*map(str, trees_after(disk, CRASH_KINDS, range(20)))} == {str({"a": b"x" * 1000})}


def test_a_file_synced_without_its_directory_may_have_no_name():
    disk = small_disk()
    write(disk, "a", b"x", sync=True)
    assert tree(disk.after_power_loss("lost")) == {}
    assert tree(disk.after_power_loss("data_only")) == {}
    assert tree(disk.after_power_loss("names_only")) == {"a": b"x"}


def test_a_name_synced_without_its_content_may_be_empty():
    disk = small_disk()
    write(disk, "a", b"x")
    disk.sync_dir("")
    assert tree(disk.after_power_loss("lost")) == {"a": b""}
    assert tree(disk.after_power_loss("kept")) == {"a": b"x"}


def test_the_four_decided_kinds_of_a_crash_before_any_sync():
    disk = small_disk()
    disk.make_dir("d")
    write(disk, "d/a", b"new")
    assert tree(disk.after_power_loss("lost")) == {}
    assert tree(disk.after_power_loss("kept")) == {"d/": b"", "d/a": b"new"}
    assert tree(disk.after_power_loss("names_only")) == {"d/": b"", "d/a": b""}
    assert tree(disk.after_power_loss("data_only")) == {}


def test_a_directory_whose_own_name_is_lost_takes_its_synced_names_along():
    disk = small_disk()
    disk.make_dir("d")
    write(disk, "d/a", b"x", sync=True)
    disk.sync_dir("d")
    assert tree(disk.after_power_loss("lost")) == {}
    disk.sync_dir("")
    assert tree(disk.after_power_loss("lost")) == {"d/": b"", "d/a": b"x"}


def test_an_unsynced_rename_shows_the_old_or_the_new_and_never_neither():
    disk = small_disk()
    write(disk, "a", b"old", sync=True)
    disk.sync_dir("")
    write(disk, "a.tmp", b"new", sync=True)
    disk.rename("a.tmp", "a")
    seen = [found.get("a") for found in trees_after(disk)]
    assert {*seen} == {b"old", b"new"}


def test_syncing_one_of_two_directories_makes_a_rename_between_them_durable():
    for synced in ("d", "e"):
        disk = small_disk()
        disk.make_dir("d")
        disk.make_dir("e")
        disk.sync_dir("")
        write(disk, "d/a", b"x", sync=True)
        disk.rename("d/a", "e/a")
        disk.sync_dir(synced)
        assert tree(disk.after_power_loss("lost")) == {"d/": b"", "e/": b"", "e/a": b"x"}


def test_unsynced_sectors_are_torn_and_reordered_one_by_one():
    disk = small_disk()
    write(disk, "a", b"0" * S * 3, sync=True)
    disk.sync_dir("")
    write(disk, "a", b"1" * S * 3)
    write(disk, "a", b"2" * S * 3)
    shapes = {kind: {*(_shape(found["a"]) for found in trees_after(disk, (kind,)))} for kind in RANDOM_KINDS}
    assert shapes["reordered"] == {a + b + c for a in "012" for b in "012" for c in "012"}
    assert shapes["torn"] >= {"000", "111", "222", "100", "010", "211", "121"}
    assert not shapes["torn"] & {"200", "210", "020", "012"}, (
        "the first write is whole before the second begins"
    )
    assert shapes["garbled"] > {"000", "111", "222"} and any("?" in shape for shape in shapes["garbled"])


def _shape(content: bytes) -> str:
    """One character a sector: the digit it is full of, or "?"."""
    sectors = [content[start : start + S] for start in range(0, len(content), S)]
    return "".join(chr(sector[0]) if sector == sector[:1] * S else "?" for sector in sectors)


def test_a_crash_touches_no_sector_that_was_not_written_since_the_sync():
    disk = small_disk()
    write(disk, "a", b"0" * S * 4, sync=True)
    disk.sync_dir("")
    write(disk, "a", b"1", at_bytes=S + 7)
    for found in trees_after(disk):
        assert found["a"][:S] == b"0" * S
        assert found["a"][2 * S :] == b"0" * S * 2


def test_a_size_may_be_any_it_had_and_what_is_new_in_it_zeros():
    disk = small_disk()
    write(disk, "a", b"0" * 100, sync=True)
    disk.sync_dir("")
    write(disk, "a", b"1" * 1000, at_bytes=100)
    old, middle, last = b"0" * 100, b"1" * S, b"1" * (1100 - 2 * S)
    whole = [
        first + second + third
        for first in (old + bytes(S - 100), old + b"1" * (S - 100))
        for second in (bytes(S), middle)
        for third in (bytes(len(last)), last)
    ]
    assert {found["a"] for found in trees_after(disk, ("reordered",))} == {old, *whole}


def test_a_file_grown_after_a_crash_shows_nothing_old():
    disk = small_disk()
    write(disk, "a", b"old" * 400, sync=True)
    disk.sync_dir("")
    disk.open("a").truncate(5)
    for kind in CRASH_KINDS:
        for seed in range(20):
            after = disk.after_power_loss(kind, seed)
            file = after.open("a")
            size = file.size()
            assert size in (5, 1200)
            file.write_at(3000, b"x")
            assert file.read_at(size, 3000 - size) == bytes(3000 - size)


def test_operations_on_names_are_kept_as_a_first_few_or_as_any_set():
    disk = small_disk()
    for name in "abc":
        write(disk, name, b"", sync=True)
    seen = {"".join(found) for found in trees_after(disk, ("reordered",))}
    assert seen == {"", "a", "b", "c", "ab", "ac", "bc", "abc"}
    torn = {"".join(found) for found in trees_after(disk, ("torn",))}
    assert torn == {"", "a", "ab", "abc"}


def test_a_file_has_one_name_in_every_crash():
    disk = small_disk()
    write(disk, "a", b"mine", sync=True)
    disk.sync_dir("")
    disk.rename("a", "b")
    disk.rename("b", "c")
    for found in trees_after(disk):
        assert list(found.values()) == [b"mine"]


def test_a_lost_removal_brings_back_a_file_that_goes_on_working():
    disk = small_disk()
    write(disk, "a", b"mine", sync=True)
    disk.sync_dir("")
    disk.remove("a")
    after = disk.after_power_loss("lost")
    after.rename("a", "b")
    after.sync_dir("")
    assert tree(after.after_power_loss("lost")) == {"b": b"mine"}


# ---- the trace


def test_images_of_the_trace_are_those_of_the_disk_itself():
    disk = busy_disk()
    for point, image in crash_images(disk.trace, disk.ops, seeds=range(5)):
        assert tree(image) == tree(disk.after_power_loss(point.kind, point.seed)), str(point)


def test_images_of_any_point_are_those_of_a_run_that_crashed_there():
    whole = busy_disk()
    for at in range(whole.ops):
        stopped = small_disk(seed=3)
        stopped.trace.operations.extend(whole.trace.operations[:at])
        for number, operation in enumerate(whole.trace.operations[:at], 1):
            stopped.media.apply(number, operation)
        images = crash_images(whole.trace, at, seeds=(1, 2))
        assert [tree(image) for _, image in images] == [
            tree(stopped.after_power_loss(point.kind, point.seed))
            for point, _ in crash_images(whole.trace, at, seeds=(1, 2))
        ]


def test_a_decided_kind_comes_once_and_the_others_once_a_seed():
    disk = busy_disk()
    points = [point for point, _ in crash_images(disk.trace, [9, 4], seeds=(1, 2, 3))]
    assert len(points) == 2 * (4 + 3 * 3)
    assert [point.at for point in points] == [4] * 13 + [9] * 13
    assert len(list(crash_images(disk.trace, kinds=("lost",)))) == disk.ops + 1


def test_a_crash_says_how_to_make_it_again():
    disk = busy_disk()
    *_, (point, image) = crash_images(disk.trace, seeds=("x",))
    assert str(point) == f"crash_images(trace, at={disk.ops}, kinds=('garbled',), seeds=('x',))"
    (again,) = eval(str(point), {"crash_images": crash_images, "trace": disk.trace})
    assert tree(again.disk) == tree(image)


def test_images_share_no_fate_with_each_other_or_with_the_disk():
    disk = busy_disk()
    before = tree(disk)
    first, second = (disk.after_power_loss("kept") for _ in range(2))
    write(first, "a", b"changed" * 500, sync=True)
    first.remove("d/e/c")
    first.sync_dir("d/e")
    assert tree(disk) == tree(second) == before
    assert tree(first.after_power_loss("lost"))["a"] == b"changed" * 500


def test_life_goes_on_after_a_crash_and_can_crash_again():
    disk = small_disk()
    for cycle in range(4):
        name = f"file{cycle}"
        write_file_durably(disk, name, name.encode())
        write(disk, "noise", b"n" * 700 * cycle)
        assert disk.trace.operations and disk.ops > 0
        disk = disk.after_power_loss("garbled", cycle)
        assert [read_file(disk, f"file{n}") for n in range(cycle + 1)] == [
            f"file{n}".encode() for n in range(cycle + 1)
        ]
        assert disk.ops == 0


def digest_of_images() -> str:
    images = crash_images(busy_disk().trace, seeds=range(4))
    return content_id(repr([(str(point), tree(disk)) for point, disk in images]).encode())


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_the_same_seed_gives_the_same_images_whatever_the_hash_seed(hash_seed):
    run = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import *; print(digest_of_images())"],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{ROOT}:{Path(__file__).parent}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == digest_of_images()


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
    shapes = {_shape(found["a"][: 2 * S]) for found in trees_after(disk, ("reordered",))}
    assert shapes == {"00", "01", "10", "11"}, "some of it may have reached the medium all the same"


@pytest.mark.parametrize("pages", ["dropped", "kept"])
def test_what_is_written_anew_after_a_failed_sync_is_durable_and_the_rest_stays_in_doubt(pages):
    disk, file = synced_then_failed(pages)
    file.write_at(0, b"2" * S)
    file.sync()
    shapes = {_shape(found["a"][: 2 * S]) for found in trees_after(disk, ("torn", "reordered"))}
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
    assert _shape(read_file(disk, "a")) == "0001"
    write(disk, "a", b"2" * S, at_bytes=S)
    assert _shape(read_file(disk, "a")) == "0201"


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
