"""A shadow changes nothing of the disk below it, and behaves as a disk where it differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.io.disk import DirectoryLocked, DiskError, FileMissing, read_file, write_file_durably
from engine.io.shadow_disk import ShadowDisk
from engine.io.sim_disk import SimDisk


def below() -> SimDisk:
    disk = SimDisk()
    disk.make_dir("a/b")
    write_file_durably(disk, "a/x", b"0123456789" * 1000)
    write_file_durably(disk, "a/b/y", b"y")
    return disk


STEPS = st.one_of(
    st.tuples(
        st.just("write"), st.sampled_from(["a/x", "a/new"]), st.integers(0, 12_000), st.binary(max_size=5000)
    ),
    st.tuples(st.just("truncate"), st.sampled_from(["a/x", "a/new"]), st.integers(0, 12_000), st.none()),
    st.tuples(
        st.just("rename"), st.sampled_from(["a/x", "a/new", "a/b"]), st.just(0), st.sampled_from(["a/z", "c"])
    ),
    st.tuples(st.just("remove"), st.sampled_from(["a/x", "a/z", "a/b/y", "a/b"]), st.just(0), st.none()),
    st.tuples(st.just("make_dir"), st.sampled_from(["d/e", "a/b"]), st.just(0), st.none()),
)


@given(steps=st.lists(STEPS, max_size=12))
def test_whatever_is_done_it_reads_as_a_disk_and_nothing_below_changes(steps):
    plain, untouched = below(), below()
    shadow, ops = ShadowDisk(untouched), untouched.ops
    for step in steps:
        assert _done(shadow, *step) == _done(plain, *step)
    assert _tree(shadow, "") == _tree(plain, "")
    assert untouched.ops == ops
    assert _tree(untouched, "") == _tree(below(), "")


def _done(disk, action, path, offset, content) -> str:
    try:
        if action in ("write", "truncate"):
            file = disk.open(path, create=True)
            file.write_at(offset, content) if action == "write" else file.truncate(offset)
            file.close()
        elif action == "rename":
            disk.rename(path, content)
        else:
            getattr(disk, action)(path)
    except DiskError as error:
        return type(error).__name__
    return "done"


def _tree(disk, directory) -> dict:
    tree = {}
    for name in disk.list(directory):
        path = f"{directory}/{name}" if directory else name
        tree[name] = _tree(disk, path) if disk.is_dir(path) else read_file(disk, path)
    return tree


def test_a_file_keeps_its_bytes_under_an_open_handle():
    shadow = ShadowDisk(below())
    file = shadow.open("a/x")
    shadow.rename("a/x", "a/z")
    file.write_at(0, b"new")
    assert read_file(shadow, "a/z")[:6] == b"new345"
    with pytest.raises(FileMissing):
        shadow.open("a/x")


def test_its_locks_are_its_own():
    disk = below()
    held = disk.lock("LOCK")
    lock = ShadowDisk(disk).lock("LOCK")
    with pytest.raises(DirectoryLocked):
        disk.lock("LOCK")
    lock.release()
    held.release()
