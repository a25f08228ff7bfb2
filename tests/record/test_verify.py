"""Verifying a directory: a sound one has no problem, each fault is told with its place, and nothing is changed."""

from __future__ import annotations

import pytest
from directories import Directory
from record_lives import NO_HEAP, Book, call, checkpoint, edit, revision, root_of

from engine.io.disk import read_file, write_file_durably
from engine.io.file_log import FileLog
from engine.io.mem_blobs import MemBlobs
from engine.io.real_disk import RealDisk
from engine.io.sim_disk import SimDisk
from engine.io.sim_entropy import SimEntropy
from engine.limits import SECTOR_BYTES
from engine.record.kinds import Checkpoint, HeapRef
from engine.record.projection.projection import FILE
from engine.record.verify import verify


@pytest.fixture
def home():
    return Directory()


def found(home) -> list[str]:
    """The problems of the directory as it is; verifying does nothing to it."""
    ops = home.disk.ops
    problems = verify(home.disk, SimEntropy("verify"), root_of=root_of)
    assert home.disk.ops == ops
    return [str(problem) for problem in problems]


def closed(home):
    home.close()
    return home


def rot(home, path: str, at: int, mask: int = 1) -> None:
    content = bytearray(read_file(home.disk, path))
    content[at] ^= mask
    write_file_durably(home.disk, path, bytes(content))


def blob_path(blob: str) -> str:
    return f"blobs/{blob[:2]}/{blob}"


def test_a_sound_directory_has_no_problem_open_closed_or_killed(home):
    assert found(home) == []
    home.project()
    assert found(home) == []
    assert found(closed(home)) == []


def test_an_empty_directory_has_no_problem():
    assert verify(SimDisk(), SimEntropy(1)) == []


def test_erased_and_purged_worlds_are_sound(home):
    home.log.seal()
    home.log.erase_bodies(lambda entry: entry.world == "gone" and entry.seq < 2)
    home.blobs.remove(home.gone_blob)
    assert found(closed(home)) == []


def test_a_rotten_blob_is_told_with_the_record_that_needs_it(home):
    rot(closed(home), blob_path(home.first_heap.blob), 300)
    (problem,) = found(home)
    assert problem.startswith(f"blob {home.first_heap.blob}: ")
    assert "needed by record 0 of world trip" in problem


def test_one_line_is_told_for_a_damaged_blob_however_many_records_stand_on_it(home):
    rot(closed(home), blob_path(home.first_heap.blob), 300)
    (problem,) = found(home)
    assert problem.count(home.first_heap.blob) == 2  # the blob, and its file
    assert problem.endswith(" of world trip and 2 more. Bring it back from a backup")


@pytest.mark.parametrize("which", ["engine_blob", "data_blob", "gone_blob"])
def test_a_missing_blob_is_told_unless_its_world_was_purged(home, which):
    blob = getattr(home, which)
    home.blobs.remove(blob)
    problems = found(closed(home))
    if which == "gone_blob":
        assert problems == []
    else:
        assert len(problems) == 1
        assert problems[0].startswith(f"blob {blob}: missing; needed by record ")


def test_a_missing_base_is_told_for_the_heap_that_stands_on_it(home):
    home.blobs.remove(home.first_heap.blob)
    (problem,) = found(closed(home))
    assert problem.startswith(f"blob {home.first_heap.blob}: missing; needed by record 0 of world trip")


def test_a_heap_that_is_another_than_its_record_says_is_told_with_both_roots(home):
    home.book.write("trip", revision(4, "f", heap=HeapRef("0" * 64, home.heaps.ref.blob)))
    problems = found(closed(home))
    assert problems == [
        f"blob {home.heaps.ref.blob}, record 14: record 14 of world trip expects the heap {'0' * 64}, "
        f"it holds {home.heaps.ref.root}. Bring it back from a backup"
    ]


def test_a_checkpoint_that_is_not_what_the_records_wrote_is_told_with_both_digests(home):
    wrong = checkpoint(home.blobs, {"k1": b"1"}, 3, home.heaps.ref)
    home.book.write("trip", wrong)
    (problem,) = found(closed(home))
    assert problem.startswith("world trip, record 14: its checkpoint: expected the data ")
    assert wrong.data_digest in problem


def test_a_data_blob_of_other_data_is_told(home):
    right = checkpoint(MemBlobs(), {"k1": b"1", "k2": b"2", "k3": b"3"}, 3, home.heaps.ref)
    other = checkpoint(home.blobs, {"k1": b"9"}).data_blob
    home.book.write("trip", Checkpoint(3, right.heap, other, right.data_digest, 3, 10**6))
    (problem,) = found(closed(home))
    assert problem.startswith(f"blob {other}, record 14: expected the data {right.data_digest}, got ")


def test_a_record_that_does_not_follow_is_told(home):
    stranger = Book(home.log)
    stranger.ends["trip"] = (13, "f" * 64)
    home.log.append([stranger.entry("trip", call())])
    (problem,) = found(home)
    expected = home.book.ends["trip"][1]
    assert problem.startswith(f"world trip, record 14: its previous record's hash: expected {expected}")


def test_a_flipped_bit_in_the_log_is_told_with_file_and_offset(home):
    segment = f"log/{next(name for name in closed(home).disk.list('log') if name.endswith('.seg'))}"
    rot(home, segment, 3 * 4096 + 60)
    problems = found(home)
    assert any(problem.startswith(f"{segment}, byte ") for problem in problems)


def test_a_write_that_was_cut_off_is_told_and_is_no_loss(home):
    segment = [f"log/{name}" for name in home.disk.list("log") if name.endswith(".seg")][-1]
    home.disk.open(segment).write_at(home.disk.size(segment), b"half a batch" * 200)
    (problem,) = found(home)
    assert problem.startswith(
        "log: unreadable bytes follow the last batch; the next start sets them aside as log/aside/"
    )
    assert "Nothing that was acknowledged is in them" in problem


def test_a_truncated_log_is_told(home):
    segment = [f"log/{name}" for name in closed(home).disk.list("log") if name.endswith(".seg")][-1]
    content = read_file(home.disk, segment)
    write_file_durably(home.disk, segment, content[: 2 * 4096])
    assert any(segment in problem for problem in found(home))


def test_a_damaged_projection_is_told_and_is_no_loss(home):
    rot(closed(home), FILE, 4096 + 50)
    (problem,) = found(home)
    assert problem.startswith(f"{FILE}: {FILE} at byte 4096: the page is not as written")
    assert "Nothing is lost" in problem


def test_a_projection_that_says_otherwise_than_the_log_is_told(home):
    """Invariant 9, by a file whose every page is sound."""
    projection = home.project()
    projection._db.execute("UPDATE data SET value = x'37' WHERE key = x'6B31'")
    projection.close()
    home.log.close()
    (problem,) = found(home)
    assert problem.startswith(f"{FILE}: Invariant 9: table data differs from the log's at row 0. Remove")


def test_a_file_that_is_no_blob_is_told(home):
    write_file_durably(closed(home).disk, f"{blob_path(home.engine_blob)[:8]}/notes.txt", b"hello")
    assert any("notes.txt" in problem for problem in found(home))


def test_without_a_way_to_hash_heaps_they_are_still_loaded(home):
    home.book.write("trip", revision(4, "f", heap=NO_HEAP))
    problems = verify(closed(home).disk, SimEntropy(1))
    assert [problem.place for problem in problems] == [f"blob {NO_HEAP.blob}"]


def test_it_works_on_a_real_directory_and_changes_no_byte_of_it(tmp_path):
    home = Directory(RealDisk(tmp_path))
    home.close()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert verify(home.disk, SimEntropy(1), root_of=root_of) == []
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    home.disk.close()


def test_every_flipped_byte_of_a_log_is_told(home):
    home.close()
    segment = f"log/{next(name for name in home.disk.list('log') if name.endswith('.seg'))}"
    content = read_file(home.disk, segment)
    used = [at for at in range(0, len(content), 97) if content[at]]
    assert len(used) > 50
    for at in used:
        rot(home, segment, at, 0x40)
        assert found(home) != [], f"byte {at}"
        rot(home, segment, at, 0x40)
    assert found(home) == []


def test_a_checkpoint_is_of_its_snapshot_and_not_of_what_was_written_since(home):
    early = checkpoint(home.blobs, {"k1": b"1", "k2": b"2", "k3": b"3"}, 3, home.heaps.ref, snapshot=13)
    home.book.write("trip", edit("k1", b"9"))
    home.book.write("trip", early)
    assert found(closed(home)) == []


def test_what_was_deleted_is_no_data_after_it_and_was_data_before_it(home):
    early = {"k1": b"1", "k2": b"2", "k3": b"3"}
    late = {"k3": b"3", "k4": b"4"}
    home.book.write("trip", edit("k1", None), edit("k4", b"4"), edit("k2", None))
    home.book.write("trip", checkpoint(home.blobs, early, 3, home.heaps.ref, snapshot=13))
    home.book.write("trip", checkpoint(home.blobs, late, 3, home.heaps.ref, snapshot=17))
    assert found(closed(home)) == []


def test_a_rotten_engine_is_told_with_the_records_that_need_it(home):
    closed(home)
    rot(home, blob_path(home.engine_blob), 1)
    (problem,) = found(home)
    assert problem.startswith(f"blob {home.engine_blob}: ")
    assert "needed by record 0 of world trip" in problem


def test_rot_behind_a_batch_that_an_index_vouches_for_is_told_and_not_raised(home):
    home.log.close()
    FileLog(home.disk, SimEntropy("again"))  # begins another segment, and keeps the first one's index
    path = "log/0000000001.seg"
    rot(home, path, at=2 * SECTOR_BYTES - 1)
    assert any(path in told and "in its last sector has changed" in told for told in found(home))
