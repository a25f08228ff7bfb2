"""Bytes that changed after they were durable are noticed, wherever they are, and nothing is overwritten."""

from __future__ import annotations

from functools import cache

import pytest
from log_lives import Worlds, batches_of, open_log

from engine.io.disk import read_file
from engine.io.log import LogError, LogForeign, LogRotten
from engine.io.log_survey import verify_log
from engine.io.sim_disk import SimDisk
from engine.io.sim_faults import PowerLost
from engine.limits import SECTOR_BYTES

FIRST, SECOND, THIRD = (f"log/{number:010d}.seg" for number in (1, 2, 3))


@cache
def small_log() -> tuple[SimDisk, list]:
    """Three segments, six batches, closed."""
    disk, worlds = SimDisk(seed=5), Worlds()
    log = open_log(disk, segment_sectors=3)
    batches = [worlds.batch("a", body=b"body %d" % n) for n in range(6)]
    for batch in batches:
        log.append(batch)
    log.seal()
    log.close()
    return disk, batches


def copy_of(disk: SimDisk) -> SimDisk:
    return disk.after_power_loss("kept")


def files_of(disk: SimDisk) -> dict[str, bytes]:
    paths = [f"log/{name}" for name in disk.list("log")]
    return {path: read_file(disk, path) for path in paths if not disk.is_dir(path)}


def overwrite(disk: SimDisk, path: str, content: bytes, *, at: int = 0) -> None:
    file = disk.open(path)
    file.write_at(at, content)
    file.sync()


def refused(disk: SimDisk, kind: type[LogError], *, path: str) -> LogError:
    """Opening fails, verifying says so too, and neither changes a thing; the error."""
    before, ops = files_of(disk), disk.ops
    problems = verify_log(disk, "log")
    assert any(type(problem) is kind and problem.file == path for problem in problems)
    with pytest.raises(kind) as error:
        open_log(disk)
    assert error.value.file == path
    assert error.value.offset_bytes >= 0
    assert (files_of(disk), disk.ops) == (before, ops)
    return error.value


def notice_flips(*, every: int) -> int:
    """Flip a bit of each byte (of each so many-th in long runs of zeros); all are noticed. How many they were."""
    disk, flips = copy_of(small_log()[0]), 0
    for path, content in files_of(disk).items():
        for byte in range(len(content)):
            if byte % every and not any(content[max(0, byte - 16) : byte + 16]):
                continue
            bit = byte * 8 + byte % 8
            disk.flip_bit(path, bit)
            if not verify_log(disk, "log"):
                again = copy_of(disk)
                again.faults = disk.faults
                assert open_log(again).opening.set_aside, f"bit {bit} of {path}"
                assert path == THIRD and byte >= 3 * SECTOR_BYTES, "only a seal may look like a torn write"
            disk.flip_bit(path, bit)
            flips += 1
    assert disk.ops == 0, "verifying changes nothing"
    assert verify_log(disk, "log") == []
    return flips


def test_every_flipped_byte_is_noticed():
    assert notice_flips(every=509) > 2500


@pytest.mark.soak
def test_every_flipped_byte_is_noticed_in_padding_too():
    assert notice_flips(every=1) > 12 * SECTOR_BYTES


@pytest.mark.parametrize("path", [FIRST, SECOND, THIRD, "log/HEAD", "log/0000000001.idx"])
def test_with_a_flipped_bit_a_log_refuses_or_gives_back_what_was_written(path):
    original, batches = small_log()
    size = original.size(path)
    refusals = 0
    for byte in [*range(min(size, 300)), *range(300, size, 97)]:
        disk = copy_of(original)
        disk.flip_bit(path, byte * 8 + byte % 8)
        before, ops = files_of(disk), disk.ops
        try:
            assert batches_of(open_log(disk)) == batches
        except LogError as error:
            assert error.file == path
            refusals += 1
            after = files_of(disk)
            assert [after[name] for name in after if ".seg" in name] == [
                before[name] for name in before if ".seg" in name
            ]
            if type(error) is LogForeign or path == THIRD:
                assert disk.ops == ops
    assert refusals > 0 or path in ("log/HEAD", "log/0000000001.idx")


@pytest.mark.parametrize("half", [0, 1])
def test_each_half_of_the_head_file_of_a_sealed_log_guards_its_last_batch(half):
    disk = copy_of(small_log()[0])
    overwrite(disk, "log/HEAD", b"\xee", at=half * SECTOR_BYTES + 60)
    overwrite(disk, THIRD, b"\xee" * 2 * SECTOR_BYTES, at=2 * SECTOR_BYTES)
    assert "batch 6 was durable" in str(refused(disk, LogRotten, path=THIRD))


def test_a_torn_half_of_the_head_file_is_set_aside_and_made_anew():
    disk = copy_of(small_log()[0])
    disk.flip_bit("log/HEAD", 100)
    damaged = read_file(disk, "log/HEAD")
    log = open_log(disk)
    assert [error.file for error in log.opening.found] == ["log/HEAD"]
    (path,) = log.opening.set_aside
    assert read_file(disk, path) == damaged
    disk.heal()
    assert log.verify() == []


def test_a_rotten_index_is_made_anew():
    disk = copy_of(small_log()[0])
    sound = read_file(disk, "log/0000000001.idx")
    overwrite(disk, "log/0000000001.idx", b"rot", at=40)
    log = open_log(disk)
    assert [error.file for error in log.opening.found] == ["log/0000000001.idx"]
    assert batches_of(log) == small_log()[1]
    assert read_file(disk, "log/0000000001.idx") == sound


def test_a_missing_index_is_made_anew():
    disk = copy_of(small_log()[0])
    sound = read_file(disk, "log/0000000002.idx")
    disk.remove("log/0000000002.idx")
    assert open_log(disk).opening.found == ()
    assert read_file(disk, "log/0000000002.idx") == sound


def test_a_flip_in_the_last_batch_is_rot_and_not_torn():
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk)
    log.append(worlds.batch("a"))
    log.append(worlds.batch("a"))
    disk.flip_bit(FIRST, 2 * SECTOR_BYTES * 8 + 999)
    error = refused(disk, LogRotten, path=FIRST)
    assert error.offset_bytes == 2 * SECTOR_BYTES
    assert "batch 2 was durable" in str(error)


def test_a_valid_batch_after_an_invalid_one_is_rot_even_where_the_head_file_knows_of_none():
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk)
    head = read_file(disk, "log/HEAD")
    for _ in range(3):
        log.append(worlds.batch("a"))
    overwrite(disk, "log/HEAD", head)
    overwrite(disk, FIRST, b"\xff", at=2 * SECTOR_BYTES + 77)
    error = refused(disk, LogRotten, path=FIRST)
    assert error.offset_bytes == 2 * SECTOR_BYTES
    assert f"a batch of this log follows at byte {3 * SECTOR_BYTES}" in str(error)


@pytest.mark.parametrize("what", [b"\0" * SECTOR_BYTES, b"\xa5" * SECTOR_BYTES])
@pytest.mark.parametrize("sector", [1, 2, 3])
def test_a_lost_or_overwritten_sector_is_rot(what, sector):
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk)
    for _ in range(3):
        log.append(worlds.batch("a"))
    overwrite(disk, FIRST, what, at=sector * SECTOR_BYTES)
    assert refused(disk, LogRotten, path=FIRST).offset_bytes == sector * SECTOR_BYTES


@pytest.mark.parametrize("shift", [-2, -1, 1, 2, 3])
def test_a_misdirected_batch_is_noticed(shift):
    """Three batches, the third lands elsewhere in its segment; later ones may or may not follow."""
    for following in range(3):
        disk, worlds = SimDisk(), Worlds()
        log = open_log(disk, segment_sectors=20)
        log.append(worlds.batch("a"))
        log.append(worlds.batch("a"))
        disk.misdirect_write(disk.ops + 1, shift_sectors=shift)
        for _ in range(following + 1):
            log.append(worlds.batch("a"))
        disk = copy_of(disk)
        assert refused(disk, LogRotten, path=FIRST).offset_bytes >= SECTOR_BYTES


def test_a_sync_that_lied_is_noticed_after_a_power_loss():
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk)
    log.append(worlds.batch("a"))
    log.append(worlds.batch("a"))
    disk.lie_on_sync(disk.syncs + 1, times=1)
    log.append(worlds.batch("a"))
    log.close()
    head = read_file(disk, "log/HEAD")
    disk = disk.after_power_loss("lost")
    overwrite(disk, "log/HEAD", head)  # the head file's pages had reached the medium
    assert "batch 3 was durable" in str(refused(disk, LogRotten, path=FIRST))


def test_bytes_of_a_batch_inside_a_body_pass_for_no_batch():
    """A torn write that carries the bytes of valid batches, from this log and another, is torn and no more."""
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk, segment_sectors=40)
    log.append(worlds.batch("a"))
    inside = read_file(disk, FIRST)
    log.append(worlds.batch("a", body=inside))
    other = SimDisk()
    open_log(other, seed="other").append(Worlds().batch("a"))
    body = b"".join(bytes(shift) + inside + read_file(other, FIRST) for shift in range(0, SECTOR_BYTES, 509))
    before = log.head()
    batch = worlds.batch("a", body=body)
    content_at = log.size_bytes()
    disk.crash_at(disk.ops + 2)
    with pytest.raises(PowerLost):
        log.append(batch)
    for seed in range(40):
        again = disk.after_power_loss("torn", seed=seed)
        reopened = open_log(again)
        assert reopened.head().batch in (2, 3)
        assert reopened.batch_hash(2) == before.hash
        if reopened.opening.set_aside:
            (path,) = reopened.opening.set_aside
            assert read_file(again, path) == read_file(again, FIRST)[content_at:]


def test_uncompressed_bodies_that_lie_on_sector_boundaries_pass_for_no_batch():
    """The same, with a copy of a whole batch placed exactly where the next one could begin."""
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk, segment_sectors=40)
    log.append(worlds.batch("a"))
    copy = read_file(disk, FIRST)[SECTOR_BYTES : 2 * SECTOR_BYTES]
    end = disk.size(FIRST)
    overwrite(disk, FIRST, b"\x07" * SECTOR_BYTES, at=end)
    sound = copy_of(disk)
    assert open_log(sound).opening.set_aside != ()
    other, others = SimDisk(), Worlds()
    foreign = open_log(other, seed="other", segment_sectors=40)
    for _ in range(3):
        foreign.append(others.batch("a"))
    in_place = read_file(other, FIRST)[end + SECTOR_BYTES : end + 2 * SECTOR_BYTES]
    overwrite(disk, FIRST, in_place, at=end + SECTOR_BYTES)
    assert open_log(copy_of(disk)).head().batch == 1
    overwrite(disk, FIRST, copy, at=end + SECTOR_BYTES)
    assert "a batch of this log follows" in str(refused(disk, LogRotten, path=FIRST))


def test_a_torn_tail_is_set_aside_whole_and_work_goes_on_after_it():
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk)
    log.append(worlds.batch("a"))
    garbage = bytes(range(255, -1, -1)) * 20
    overwrite(disk, FIRST, garbage, at=2 * SECTOR_BYTES)
    log = open_log(disk)
    (path,) = log.opening.set_aside
    assert path.startswith("log/aside/0000000001-0000008192-")
    assert read_file(disk, path) == garbage
    assert read_file(disk, FIRST)[2 * SECTOR_BYTES :] == garbage
    assert open_log(disk).opening.set_aside == ()
    log = open_log(disk)
    log.append(worlds.batch("a"))
    assert open_log(disk).opening.set_aside == ()
    assert batches_of(open_log(disk)) == batches_of(log)


def test_a_tail_of_zeros_is_clean():
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk)
    log.append(worlds.batch("a"))
    overwrite(disk, FIRST, bytes(3 * SECTOR_BYTES + 5), at=2 * SECTOR_BYTES)
    log = open_log(disk)
    assert log.opening == (0, (), ())
    log.append(worlds.batch("a"))
    assert log.verify() == []


@pytest.mark.parametrize("path", [FIRST, SECOND, THIRD])
def test_a_missing_segment_is_refused(path):
    disk = copy_of(small_log()[0])
    disk.remove(path)
    if path == THIRD:
        assert "batch 6 was durable" in str(refused(disk, LogRotten, path=SECOND))
    else:
        assert "the segment is missing, though later ones are there" in str(
            refused(disk, LogRotten, path=path)
        )


def test_all_segments_missing_is_refused():
    disk = copy_of(small_log()[0])
    for path in (FIRST, SECOND, THIRD):
        disk.remove(path)
    assert "there is no segment" in str(refused(disk, LogRotten, path="log/HEAD"))


@pytest.mark.parametrize("content", [None, b"", bytes(SECTOR_BYTES)])
def test_a_missing_or_empty_head_file_is_refused(content):
    disk = copy_of(small_log()[0])
    disk.remove("log/HEAD")
    if content is not None:
        disk.open("log/HEAD", create=True).write_at(0, content)
    assert "missing or empty" in str(refused(disk, LogRotten, path="log/HEAD"))


def test_a_head_file_that_remembers_another_history_is_refused():
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk)
    early = copy_of(disk)
    log.append(worlds.batch("a", body=b"one history"))
    log.close()
    open_log(early, seed="same log, other keys").append(Worlds().batch("a", body=b"another"))
    overwrite(early, "log/HEAD", read_file(disk, "log/HEAD"))
    assert "batch 1 has hash" in str(refused(early, LogRotten, path="log/HEAD"))


def two_histories(*, batches: int) -> tuple[SimDisk, SimDisk]:
    """One log that was copied once its first segment was begun, and went on in two ways."""
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk)
    log.append(worlds.batch("a"))
    log.seal()
    ends, copies = dict(worlds.ends), []
    for body in (b"one history", b"other story"):
        copy, worlds.ends = copy_of(disk), dict(ends)
        log = open_log(copy, seed="the same keys")
        for _ in range(batches):
            log.append(worlds.batch("a", body=body))
        copies.append(copy)
    return copies[0], copies[1]


def test_a_segment_of_another_history_of_the_same_log_is_refused():
    disk, other = two_histories(batches=5)
    assert disk.size(SECOND) == other.size(SECOND) == 4 * SECTOR_BYTES
    overwrite(disk, SECOND, read_file(other, SECOND))
    disk.remove("log/0000000002.idx")
    assert "goes on after batch 4 with hash" in str(refused(disk, LogRotten, path=THIRD))


def test_a_batch_of_another_history_of_the_same_segment_is_refused():
    disk, other = two_histories(batches=2)
    overwrite(disk, SECOND, read_file(other, SECOND)[2 * SECTOR_BYTES :], at=2 * SECTOR_BYTES)
    error = refused(disk, LogRotten, path=SECOND)
    assert error.offset_bytes == 2 * SECTOR_BYTES
    assert "batch 3 does not follow batch 2" in str(error)


def test_what_a_crash_left_of_a_segment_without_a_name_is_not_built_upon():
    disk = copy_of(small_log()[0])
    disk.open("log/0000000004.seg.tmp", create=True).write_at(0, b"\xaa" * 9 * SECTOR_BYTES)
    log = open_log(disk)
    log.append(Worlds.of(log).batch("a"))
    assert disk.size("log/0000000004.seg") == 2 * SECTOR_BYTES
    assert not disk.exists("log/0000000004.seg.tmp")


def every_length(path: str, *, step: int):
    return range(0, small_log()[0].size(path), step)


@pytest.mark.parametrize("path", [FIRST, SECOND, THIRD])
def test_a_truncated_segment_is_refused(path):
    for length in every_length(path, step=1111):
        disk = copy_of(small_log()[0])
        disk.open(path).truncate(length)
        kind = LogForeign if length < 44 else LogRotten
        if path == THIRD and length > 3 * SECTOR_BYTES:
            open_log(disk)  # only the seal is cut
            continue
        refused(disk, kind, path=path)


def test_a_foreign_file_in_place_of_a_segment_is_refused_naming_both():
    disk = copy_of(small_log()[0])
    overwrite(disk, SECOND, b"SQLite format 3\0")
    error = refused(disk, LogForeign, path=SECOND)
    assert "b'SQLite f'" in str(error) and "b'FLICKSEG'" in str(error)


def test_a_segment_or_head_file_of_another_version_or_layout_is_refused_naming_both():
    disk = copy_of(small_log()[0])
    overwrite(disk, SECOND, (2).to_bytes(4, "little"), at=8)
    error = refused(disk, LogForeign, path=SECOND)
    assert "is of format 2" in str(error) and "reads format 1" in str(error)
    disk = copy_of(small_log()[0])
    overwrite(disk, "log/HEAD", b"\x01" * 16, at=12)
    overwrite(disk, "log/HEAD", b"\x01" * 16, at=12 + SECTOR_BYTES)
    assert f"layout {'01' * 16}" in str(refused(disk, LogForeign, path="log/HEAD"))


def test_a_segment_of_another_log_is_refused():
    disk, other = copy_of(small_log()[0]), SimDisk()
    open_log(other, seed="other").append(Worlds().batch("a"))
    overwrite(disk, FIRST, read_file(other, FIRST))
    assert "belongs to log" in str(refused(disk, LogForeign, path=FIRST))


def test_segments_that_changed_places_are_refused():
    disk = copy_of(small_log()[0])
    first, second = read_file(disk, FIRST), read_file(disk, SECOND)
    overwrite(disk, FIRST, second)
    overwrite(disk, SECOND, first)
    assert "holds segment 2" in str(refused(disk, LogRotten, path=FIRST))


def test_rot_in_a_segment_that_ended_is_found_by_reading_and_verifying_with_its_place():
    disk, batches = copy_of(small_log()[0]), small_log()[1]
    overwrite(disk, FIRST, b"\xee", at=2 * SECTOR_BYTES + 100)
    log = open_log(disk)
    assert log.head().batch == 6
    (problem,) = log.verify()
    assert (problem.file, problem.offset_bytes) == (FIRST, 2 * SECTOR_BYTES)
    assert log.verify(full=False) == []
    with pytest.raises(LogRotten, match=r"0000000001\.seg at byte 8192") as rotten:
        list(log.scan())
    assert "restore the directory from a backup" in rotten.value.reason
    assert [entry for _, entry in log.read("a", 4)] == [batch[0] for batch in batches[4:]]


def test_verifying_reports_all_that_is_wrong_and_not_only_the_first():
    disk = copy_of(small_log()[0])
    overwrite(disk, FIRST, b"\xee", at=SECTOR_BYTES + 100)
    overwrite(disk, SECOND, b"\xee", at=SECTOR_BYTES + 100)
    overwrite(disk, "log/HEAD", b"\xee", at=50)
    assert [problem.file for problem in verify_log(disk, "log")] == [FIRST, SECOND, "log/HEAD"]


@pytest.mark.parametrize("path", [FIRST, SECOND, THIRD])
def test_verifying_blames_a_rotten_header_on_its_own_segment_alone(path):
    disk = copy_of(small_log()[0])
    overwrite(disk, path, b"\xee", at=SECTOR_BYTES // 2)
    assert [(problem.file, problem.offset_bytes) for problem in verify_log(disk, "log")] == [(path, 0)]


def test_verifying_blames_a_rotten_head_file_on_nothing_else():
    disk = copy_of(small_log()[0])
    for half in range(2):
        overwrite(disk, "log/HEAD", b"\xee", at=half * SECTOR_BYTES + 60)
    assert [(problem.file, problem.offset_bytes) for problem in verify_log(disk, "log")] == [("log/HEAD", 0)]
    refused(disk, LogRotten, path="log/HEAD")
