"""One contract for every disk."""

from __future__ import annotations

import pytest

from engine.io.disk import (
    DirectoryLocked,
    DiskError,
    FileMissing,
    parent_of,
    read_file,
    write_file_durably,
)
from engine.io.real_disk import RealDisk
from engine.io.sim_disk import SimDisk


@pytest.fixture(params=["real", "sim", "sim_512", "sim_after_power_loss"])
def disk(request, tmp_path):
    if request.param == "real":
        real = RealDisk(tmp_path / "a" / "root")
        yield real
        real.close()
    elif request.param == "sim_after_power_loss":
        yield SimDisk().after_power_loss("kept")
    else:
        yield SimDisk(sector_bytes=512 if request.param == "sim_512" else 4096)


def put(disk, path: str, content: bytes) -> None:
    file = disk.open(path, create=True)
    file.truncate(0)
    file.write_at(0, content)
    file.close()


def test_what_was_written_is_read(disk):
    file = disk.open("a", create=True)
    file.write_at(0, b"hello world")
    assert file.read_at(0, 11) == b"hello world"
    assert file.read_at(6, 100) == b"world"
    assert file.read_at(11, 1) == b""
    assert file.read_at(500, 1) == b""
    assert (file.size(), disk.size("a")) == (11, 11)
    file.close()
    assert read_file(disk, "a") == b"hello world"


@pytest.mark.parametrize("offset_bytes", [0, 1, 511, 512, 513, 4095, 4096, 4097, 10_000])
@pytest.mark.parametrize("length_bytes", [1, 511, 512, 4096, 9000])
def test_a_write_changes_its_bytes_and_no_others(disk, offset_bytes, length_bytes):
    before = bytes(range(256)) * 40
    put(disk, "a", before)
    content = b"\xee" * length_bytes
    file = disk.open("a")
    file.write_at(offset_bytes, content)
    expected = bytearray(before.ljust(max(len(before), offset_bytes + length_bytes), b"\0"))
    expected[offset_bytes : offset_bytes + length_bytes] = content
    assert file.read_at(0, file.size()) == bytes(expected)


def test_a_gap_reads_as_zeros(disk):
    file = disk.open("a", create=True)
    file.write_at(10_000, b"end")
    assert file.read_at(0, 10_003) == bytes(10_000) + b"end"


def test_an_empty_write_changes_nothing(disk):
    file = disk.open("a", create=True)
    file.write_at(100, b"")
    assert file.size() == 0


def test_what_was_cut_off_does_not_come_back_when_the_file_grows(disk):
    put(disk, "a", b"x" * 10_000)
    file = disk.open("a")
    file.truncate(4_100)
    assert file.size() == 4_100
    file.truncate(9_000)
    assert file.read_at(0, 20_000) == b"x" * 4_100 + bytes(4_900)


def test_two_handles_see_one_file(disk):
    one, two = disk.open("a", create=True), disk.open("a")
    one.write_at(0, b"abc")
    assert two.read_at(0, 3) == b"abc"
    one.close()
    two.write_at(1, b"x")
    assert read_file(disk, "a") == b"axc"


def test_closing_twice_is_fine_and_using_a_closed_file_is_our_bug(disk):
    file = disk.open("a", create=True)
    file.close()
    file.close()
    for use in (file.size, file.sync, lambda: file.read_at(0, 1), lambda: file.write_at(0, b"x")):
        with pytest.raises(AssertionError, match="a is open"):
            use()


def test_a_missing_file_is_missing_everywhere(disk):
    for use in (
        disk.open,
        disk.size,
        disk.remove,
        lambda path: disk.rename(path, "b"),
        lambda path: read_file(disk, path),
    ):
        for path in ("a", "no/a"):
            with pytest.raises(FileMissing) as missing:
                use(path)
            assert str(missing.value) == f"{path}: no such file or directory"
    assert not disk.exists("a") and not disk.is_dir("a")
    with pytest.raises(FileMissing):
        disk.open("no/a", create=True)
    with pytest.raises(FileMissing):
        disk.sync_dir("no")


def test_names_are_listed_in_the_order_of_their_code_points(disk):
    names = ["b", "a", "B", "ä", "10", "9", "a.b", "\U0001f600", "\ufb00"]
    disk.make_dir("d")
    for name in names:
        put(disk, f"d/{name}", b"")
    disk.make_dir("d/c")
    assert disk.list("d") == sorted([*names, "c"])
    assert disk.list("") == ["d"]
    assert disk.list("nowhere") == []
    assert disk.list("nowhere/at/all") == []


def test_directories_are_made_with_their_parents_and_again(disk):
    disk.make_dir("a/b/c")
    disk.make_dir("a/b/c")
    disk.make_dir("a/b/d")
    disk.make_dir("")
    assert (disk.list("a"), disk.list("a/b")) == (["b"], ["c", "d"])
    assert disk.is_dir("a/b") and disk.is_dir("") and disk.exists("") and disk.exists("a/b/c")
    disk.sync_dir("")
    disk.sync_dir("a/b")


def test_a_rename_replaces_and_an_open_handle_follows(disk):
    put(disk, "old", b"old")
    put(disk, "new", b"new")
    held_old, held_new = disk.open("old"), disk.open("new")
    disk.make_dir("d")
    disk.rename("new", "old")
    assert disk.list("") == ["d", "old"]
    assert read_file(disk, "old") == b"new"
    assert held_old.read_at(0, 9) == b"old"
    held_old.write_at(0, b"OLD")
    held_old.sync()
    assert held_old.read_at(0, 9) == b"OLD"
    disk.rename("old", "d/there")
    disk.rename("d/there", "d/there")
    held_new.write_at(0, b"NEW")
    assert read_file(disk, "d/there") == b"NEW"


def test_a_directory_is_renamed_with_what_is_in_it(disk):
    disk.make_dir("a/b")
    put(disk, "a/b/file", b"x")
    disk.rename("a", "c")
    assert read_file(disk, "c/b/file") == b"x"
    with pytest.raises(DiskError):
        disk.rename("c", "c/b/inside")
    assert read_file(disk, "c/b/file") == b"x"


def test_a_removed_file_lives_as_long_as_its_handle(disk):
    put(disk, "a", b"abc")
    file = disk.open("a")
    disk.remove("a")
    assert not disk.exists("a")
    disk.sync_dir("")
    file.write_at(3, b"d")
    assert file.read_at(0, 9) == b"abcd"
    file.close()
    put(disk, "a", b"new")
    assert read_file(disk, "a") == b"new"


def test_only_an_empty_directory_is_removed(disk):
    disk.make_dir("a/b")
    with pytest.raises(DiskError):
        disk.remove("a")
    disk.remove("a/b")
    disk.remove("a")
    assert disk.list("") == []


def test_files_and_directories_do_not_stand_in_for_each_other(disk):
    put(disk, "file", b"")
    disk.make_dir("dir")
    refused = [
        lambda: disk.open("dir"),
        lambda: disk.open("dir", create=True),
        lambda: disk.size("dir"),
        lambda: disk.open("file/a"),
        lambda: disk.open("file/a", create=True),
        lambda: disk.exists("file/a"),
        lambda: disk.make_dir("file"),
        lambda: disk.make_dir("file/a"),
        lambda: disk.list("file"),
        lambda: disk.sync_dir("file"),
        lambda: disk.rename("file", "dir"),
        lambda: disk.rename("dir", "file"),
        lambda: disk.rename("file", "file/a"),
    ]
    for use in refused:
        with pytest.raises(DiskError):
            use()
    assert disk.list("") == ["dir", "file"]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/",
        "..",
        "a/../../b",
        "../a",
        "a//b",
        "a/",
        "./a",
        "a/.",
        "a\0b",
        "a\\b",
        "\udc80",
        "n" * 256,
        "é" * 128,
    ],
)
def test_a_path_that_leaves_the_root_or_fits_no_file_system_is_refused(disk, path):
    disk.make_dir("a")
    for use in (
        disk.open,
        lambda path: disk.open(path, create=True),
        disk.exists,
        disk.is_dir,
        disk.list,
        disk.size,
        disk.make_dir,
        disk.remove,
        disk.sync_dir,
        lambda path: disk.rename(path, "b"),
        lambda path: disk.rename("a", path),
        disk.lock,
    ):
        with pytest.raises(DiskError) as refusal:
            use(path)
        assert not isinstance(refusal.value, FileMissing)
    assert disk.list("") == ["a"]


def test_the_root_is_no_file(disk):
    for use in (disk.open, disk.size, disk.remove, lambda path: disk.rename(path, "b"), disk.lock):
        with pytest.raises(DiskError, match="the root is a directory"):
            use("")


def test_a_name_as_long_as_file_systems_allow_is_fine(disk):
    put(disk, "n" * 255, b"x")
    assert disk.list("") == ["n" * 255]


def test_a_file_is_replaced_durably(disk):
    write_file_durably(disk, "a", b"a longer first content")
    write_file_durably(disk, "a", b"second")
    assert (read_file(disk, "a"), disk.list("")) == (b"second", ["a"])
    assert (parent_of("a/b/c"), parent_of("a")) == ("a/b", "")


def test_the_lock_is_for_one_until_it_is_released(disk):
    lock = disk.lock("LOCK")
    with pytest.raises(DirectoryLocked, match="stop it, or give this one another"):
        disk.lock("LOCK")
    lock.release()
    lock.release()
    again = disk.lock("LOCK")
    lock.release()
    with pytest.raises(DirectoryLocked):
        disk.lock("LOCK")
    again.release()


def test_there_is_room(disk):
    assert disk.free_bytes() > 0
