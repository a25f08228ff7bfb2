"""What a real disk has of its own: links, errors of the system, locks between processes."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys

import pytest

from engine.io.disk import DirectoryLocked, DiskError, DiskFull, SyncFailed, read_file
from engine.io.real_disk import RealDisk


@pytest.fixture
def disk(tmp_path):
    real = RealDisk(tmp_path / "root")
    yield real
    real.close()


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(b"secret")
    return path


def failing(number: int):
    def fail(*_args, **_kwargs):
        raise OSError(number, os.strerror(number))

    return fail


def test_a_link_to_a_file_is_never_followed(disk, secret, tmp_path):
    os.symlink(secret, tmp_path / "root" / "link")
    for use in (disk.open, disk.size, disk.lock, lambda path: disk.open(path, create=True)):
        with pytest.raises(DiskError):
            use("link")
    disk.open("mine", create=True).write_at(0, b"mine")
    disk.rename("mine", "link")
    assert read_file(disk, "link") == b"mine"
    assert secret.read_bytes() == b"secret"


def test_a_link_to_a_directory_is_never_entered(disk, secret, tmp_path):
    os.symlink(tmp_path, tmp_path / "root" / "up")
    disk.make_dir("d")
    for use in (
        lambda: disk.open("up/secret"),
        lambda: disk.open("up/new", create=True),
        lambda: disk.exists("up/secret"),
        lambda: disk.list("up"),
        lambda: disk.make_dir("up/new"),
        lambda: disk.rename("d", "up/d"),
        lambda: disk.remove("up/secret"),
        lambda: disk.sync_dir("up"),
    ):
        with pytest.raises(DiskError):
            use()
    assert sorted(os.listdir(tmp_path)) == ["root", "secret"]
    disk.remove("up")
    assert secret.exists()


def test_a_link_as_the_root_itself_is_fine(disk, tmp_path):
    os.symlink(tmp_path / "root", tmp_path / "elsewhere")
    disk.open("a", create=True).close()
    assert RealDisk(tmp_path / "elsewhere").list("") == ["a"]


def test_a_pipe_is_refused_and_does_not_block(disk, tmp_path):
    os.mkfifo(tmp_path / "root" / "pipe")
    with pytest.raises(DiskError, match="is not a regular file"):
        disk.open("pipe")


def test_what_it_makes_is_for_the_owner_alone(disk, tmp_path):
    old = os.umask(0)
    try:
        disk.make_dir("d")
        disk.open("d/a", create=True).close()
    finally:
        os.umask(old)
    assert os.stat(tmp_path / "root" / "d").st_mode & 0o777 == 0o700
    assert os.stat(tmp_path / "root" / "d" / "a").st_mode & 0o777 == 0o600


def test_descriptors_are_closed_and_not_inherited(disk):
    disk.make_dir("a/b/c")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    file = disk.open("a/b/c/file", create=True)
    assert fcntl.fcntl(file.fd, fcntl.F_GETFD) & fcntl.FD_CLOEXEC
    file.close()
    for use in (lambda: disk.open("a/x"), lambda: disk.open("a/b"), lambda: disk.list("a/b/c/file")):
        with pytest.raises(DiskError):
            use()
    disk.exists("a/b/c/d/e")
    disk.sync_dir("a/b")
    if before is not None:
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_no_space_is_disk_full(disk, monkeypatch, number):
    file = disk.open("a", create=True)
    monkeypatch.setattr(os, "pwrite", failing(number))
    with pytest.raises(DiskFull) as full:
        file.write_at(5, b"x")
    assert str(full.value) == "a: no space is left for: write at byte 5; free some space"


def test_a_write_that_comes_in_parts_is_completed(disk, monkeypatch):
    real_pwrite, real_pread = os.pwrite, os.pread
    monkeypatch.setattr(os, "pwrite", lambda fd, content, offset: real_pwrite(fd, content[:3], offset))
    monkeypatch.setattr(os, "pread", lambda fd, length, offset: real_pread(fd, min(length, 2), offset))
    file = disk.open("a", create=True)
    file.write_at(1, b"0123456789")
    assert file.read_at(0, 50) == b"\x000123456789"


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EROFS])
def test_every_error_of_a_sync_is_a_failed_sync(disk, monkeypatch, number):
    file = disk.open("a", create=True)
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, failing(number), raising=False)
    for use in (file.sync, lambda: disk.sync_dir("")):
        with pytest.raises(SyncFailed, match="start again"):
            use()


@pytest.mark.parametrize(
    "number, says",
    [
        (errno.EIO, "write at byte 0 failed (EIO"),
        (errno.EROFS, "not permitted: write at byte 0 (EROFS); check owner, mode and mount"),
    ],
)
def test_an_error_of_the_system_keeps_its_name(disk, monkeypatch, number, says):
    file = disk.open("a", create=True)
    monkeypatch.setattr(os, "pwrite", failing(number))
    with pytest.raises(DiskError) as error:
        file.write_at(0, b"x")
    assert says in str(error.value)


def test_a_new_root_is_durable_in_its_parents(tmp_path, monkeypatch):
    synced: list[str] = []
    real_fsync = os.fsync

    def fsync(fd):
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        real_fsync(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    RealDisk(tmp_path / "a" / "b").close()
    assert synced == [str(tmp_path), str(tmp_path / "a")]
    RealDisk(tmp_path / "a" / "b").close()
    assert len(synced) == 2


def test_a_root_that_is_a_file_is_refused(secret):
    with pytest.raises(DiskError):
        RealDisk(secret)
    with pytest.raises(DiskError):
        RealDisk(secret / "below")


HOLD = """
import sys
from engine.io.real_disk import RealDisk
lock = RealDisk(sys.argv[1]).lock("LOCK")
print("held", flush=True)
sys.stdin.read()
"""


def test_the_lock_keeps_other_processes_out_until_the_holder_is_killed(disk):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, disk.root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(DirectoryLocked) as locked:
            disk.lock("LOCK")
        assert str(locked.value) == (
            f"LOCK: another process (number {holder.pid}) uses {disk.root}; "
            "stop it, or give this one another directory"
        )
    finally:
        holder.kill()
        holder.communicate()
    disk.lock("LOCK").release()
