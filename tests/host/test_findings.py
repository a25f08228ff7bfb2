"""What the doctor says of directories, and that neither it nor a refused opening leaves anything behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.host import CannotOpen, doctor, simulated
from engine.io.disk import DirectoryLocked, FileMissing
from engine.io.real_disk import RealDisk
from engine.io.sim_disk import SimDisk


def told(home: Path) -> list[tuple[str, str]]:
    """Level and words of what is said of the directory, its free space apart."""
    about_machine = ("python", "engine", "vm path", "node", "chromium", "disk")
    return [(f.level, f"{f.where}: {f.what}") for f in doctor(str(home)) if f.where not in about_machine]


def names(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*"))


@pytest.fixture
def home(tmp_path) -> Path:
    disk = RealDisk(tmp_path / "home")
    host = simulated(1, disk=disk)
    host.create("w")
    host.shut_down()
    disk.close()
    return tmp_path / "home"


def test_a_missing_directory_is_a_problem_and_is_not_made(tmp_path):
    ((level, what),) = told(tmp_path / "typo")
    assert (level, what) == ("problem", f"{tmp_path / 'typo'}: there is no such directory")
    assert names(tmp_path) == []


def test_an_empty_directory_is_noted_and_stays_empty(tmp_path):
    assert told(tmp_path) == [("note", f"{tmp_path}: the directory is empty")]
    assert names(tmp_path) == []


def test_a_foreign_directory_is_a_problem_and_nothing_is_left_in_it(tmp_path):
    (tmp_path / "thesis.tex").write_text("hello")
    ((level, what),) = told(tmp_path)
    assert level == "problem" and "holds thesis.tex" in what
    with pytest.raises(CannotOpen, match=r"holds thesis\.tex"):
        simulated(1, disk=RealDisk(tmp_path))
    assert names(tmp_path) == ["thesis.tex"]


def test_a_directory_of_another_version_is_a_problem_and_nothing_is_left_in_it(tmp_path):
    (tmp_path / "FORMAT").write_text("flickworld data directory 99\n")
    ((level, what),) = told(tmp_path)
    assert level == "problem" and "this version reads" in what
    with pytest.raises(CannotOpen, match="this version reads"):
        simulated(1, disk=RealDisk(tmp_path))
    assert names(tmp_path) == ["FORMAT"]


def test_the_doctor_makes_no_lock_file(home):
    (home / "LOCK").unlink()
    before = names(home)
    assert [level for level, _ in told(home)] == ["ok"]
    assert names(home) == before


def test_the_doctor_leaves_a_directory_alone_that_a_server_has_open(home):
    disk = RealDisk(home)
    lock = disk.lock("LOCK")
    ((level, what),) = told(home)
    assert level == "note" and "a server has it open" in what
    lock.release()
    assert [level for level, _ in told(home)] == ["ok"]


@pytest.mark.parametrize("make", [lambda path: SimDisk(), RealDisk], ids=["simulated", "real"])
def test_a_lock_that_is_not_to_be_made_is_taken_only_where_its_file_is(make, tmp_path):
    disk = make(tmp_path)
    with pytest.raises(FileMissing):
        disk.lock("LOCK", create=False)
    assert disk.list("") == []
    disk.lock("LOCK").release()
    held = disk.lock("LOCK", create=False)
    with pytest.raises(DirectoryLocked):
        disk.lock("LOCK")
    held.release()


@pytest.mark.parametrize("name", ["log/notes.txt", "blobs/notes.txt"])
def test_a_file_of_somebody_elses_is_noted_and_is_no_problem(home, name):
    (home / name).write_text("hello")
    assert told(home) == [
        ("note", f"{name}: is no file of ours and is not read"),
        ("ok", "directory: the log, all blobs and the projection are sound"),
    ]
