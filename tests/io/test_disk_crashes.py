"""What a power loss leaves of a simulated disk, and how it follows from the trace and the seed alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from disk_trees import RANDOM_KINDS, S, busy_disk, shape_of, small_disk, tree, trees_after, write

from engine.ids import content_id
from engine.io.crash_images import CRASH_KINDS
from engine.io.disk import read_file, write_file_durably
from engine.io.sim_disk import crash_images

ROOT = Path(__file__).parent.parent.parent


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
    shapes = {
        kind: {*(shape_of(found["a"]) for found in trees_after(disk, (kind,)))} for kind in RANDOM_KINDS
    }
    assert shapes["reordered"] == {a + b + c for a in "012" for b in "012" for c in "012"}
    assert shapes["torn"] >= {"000", "111", "222", "100", "010", "211", "121"}
    assert not shapes["torn"] & {"200", "210", "020", "012"}, (
        "the first write is whole before the second begins"
    )
    assert shapes["garbled"] > {"000", "111", "222"} and any("?" in shape for shape in shapes["garbled"])


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


def test_a_new_file_under_a_freed_name_never_puts_out_the_file_that_left_it():
    disk = small_disk()
    write(disk, "a", b"mine", sync=True)
    disk.sync_dir("")
    disk.rename("a", "b")
    write(disk, "a", b"other", sync=True)
    seen = {str(found) for found in trees_after(disk)}
    assert seen == {
        str({"a": b"mine"}),
        str({"b": b"mine"}),
        str({"a": b"other", "b": b"mine"}),
    }


def test_a_file_moved_durably_lives_until_its_removal_is_durable():
    disk = small_disk()
    disk.make_dir("d")
    write(disk, "a", b"mine", sync=True)
    disk.sync_dir("")
    disk.rename("a", "d/a")
    disk.remove("d/a")
    disk.sync_dir("")
    assert tree(disk.after_power_loss("lost")) == {"d/": b"", "d/a": b"mine"}
    disk.sync_dir("d")
    assert tree(disk.after_power_loss("lost")) == {"d/": b""}


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
