"""Syncs that fail, disks that fill up, work that is broken off: nothing acknowledged is lost, and the log says why."""

from __future__ import annotations

import pytest
from log_lives import Worlds, bare, batches_of, open_log

from engine.io.crash_images import CRASH_KINDS
from engine.io.disk import DiskError, DiskFull, read_file
from engine.io.file_log import FileLog
from engine.io.log import LogEntry, LogError, LogFailed
from engine.io.sim_disk import SimDisk
from engine.io.sim_entropy import SimEntropy
from engine.limits import SECTOR_BYTES

RESERVE_BYTES = 16 * SECTOR_BYTES


class Run:
    """A stretch of work that goes on through failures, noting what was acknowledged and what was refused."""

    def __init__(self, disk: SimDisk) -> None:
        self.disk = disk
        self.worlds = Worlds()
        self.kept: list[list[LogEntry]] = []
        self.refused: list[list[LogEntry]] = []
        self.log: FileLog | None = None

    def open(self) -> None:
        self.log = open_log(self.disk, seed=f"open {self.disk.ops}")
        found = batches_of(self.log)
        assert bare(found[: len(self.kept)]) == bare(self.kept)
        self.kept = found
        self.worlds = Worlds.of(self.log)

    def append(self, *names: str) -> None:
        batch = self.worlds.batch(*names)
        assert self.log is not None
        try:
            self.log.append(batch)
            self.kept.append(batch)
        except LogFailed as error:
            assert "durable" in str(error) or "read-only" in str(error)
            self.refused.append(batch)
            self.worlds = Worlds.of(self.log)

    def work(self) -> None:
        """Open, fill two segments, seal, erase, close, and open again."""
        for _ in range(2):
            try:
                self.open()
                for _ in range(4):
                    self.append("a", "b")
                self.log.seal()
                self.log.erase_bodies(lambda entry: entry.seq == 1)
                self.append("c")
                self.log.close()
            except (LogFailed, DiskError):
                self.check_live()
                self.worlds = Worlds()

    def check_live(self) -> None:
        if self.log is not None:
            assert bare(batches_of(self.log)) == bare(self.kept)

    def check_after(self, disk: SimDisk) -> None:
        """What a later process finds: all that was acknowledged, and it works."""
        log = open_log(disk, seed="after")
        found = batches_of(log)
        assert bare(found[: len(self.kept)]) == bare(self.kept)
        assert len(found) <= len(self.kept) + 1
        log.append(Worlds.of(log).batch("z"))
        assert log.verify() == []


def syncs_of_the_work() -> int:
    run = Run(SimDisk())
    run.work()
    assert run.refused == []
    return run.disk.syncs


def ops_of_the_work() -> int:
    run = Run(SimDisk())
    run.work()
    return run.disk.ops


@pytest.mark.parametrize("pages", ["dropped", "kept"])
@pytest.mark.parametrize("times", [1, 2, None])
def test_any_failed_sync_loses_nothing_acknowledged_whatever_a_power_loss_then_keeps(pages, times):
    for nth in range(1, syncs_of_the_work() + 1):
        run = Run(SimDisk(seed=nth))
        run.disk.fail_sync(nth, pages=pages, times=times)
        run.work()
        run.check_live()
        run.disk.heal()
        for kind in CRASH_KINDS[nth % 2 :: 2]:
            run.check_after(run.disk.after_power_loss(kind, seed=nth))
        run.disk.kill()
        run.check_after(run.disk)


def test_a_batch_that_was_refused_never_comes_back_once_the_log_has_gone_on():
    """The page cache and the medium may both hold it; the new segment says that it does not count."""
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk, segment_sectors=9)
    first = worlds.batch("a")
    log.append(first)
    for pages in ("dropped", "kept"):
        disk.fail_sync(disk.syncs + 1, pages=pages)
        with pytest.raises(LogFailed, match="batch 2 did not become durable"):
            log.append(worlds.batch("b"))
        assert log.failure == ""
        worlds = Worlds.of(log)
        for kind in CRASH_KINDS:
            after = disk.after_power_loss(kind)
            assert batches_of(open_log(after)) == [first]
    disk.kill()
    assert batches_of(open_log(disk)) == [first]
    assert disk.list("log")[:3] == ["0000000001.idx", "0000000001.seg", "0000000002.seg"]


def test_a_refused_batch_that_an_opening_did_not_see_never_comes_back():
    """Its pages left the cache, so the next process finds nothing of it; the medium may hold it all the same."""
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk)
    log.append(worlds.batch("a"))
    disk.fail_sync(disk.syncs + 1, times=2, pages="dropped")
    with pytest.raises(LogFailed):
        log.append(worlds.batch("a"))
    disk.kill()
    assert open_log(disk).head().batch == 1
    assert disk.after_power_loss("kept").size("log/0000000001.seg") == 3 * SECTOR_BYTES
    assert open_log(disk.after_power_loss("kept")).head().batch == 1


def test_after_a_failed_sync_the_next_append_goes_to_a_new_segment():
    """Invariant 4."""
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk, segment_sectors=9)
    log.append(worlds.batch("a"))
    disk.fail_sync(disk.syncs + 1, pages="kept")
    with pytest.raises(LogFailed) as failed:
        log.append([worlds.entry("b")])
    assert (failed.value.file, failed.value.offset_bytes) == ("log/0000000001.seg", 2 * SECTOR_BYTES)
    before = read_file(disk, "log/0000000001.seg")
    (cursor,) = log.append([worlds.entry("a")])
    assert (cursor.segment, cursor.batch) == (2, 2)
    assert read_file(disk, "log/0000000001.seg") == before


def test_a_disk_on_which_no_sync_works_makes_the_log_read_only_with_the_reason():
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk)
    first = worlds.batch("a")
    log.append(first)
    disk.fail_sync(disk.syncs + 1, times=None)
    with pytest.raises(LogFailed):
        log.append(worlds.batch("a"))
    ops = disk.ops
    for _ in range(3):
        with pytest.raises(LogFailed, match="the log is read-only: batch 2 did not become durable"):
            log.append(worlds.batch("b"))
    assert disk.ops == ops
    assert batches_of(log) == [first]
    assert log.failure.startswith("the log is read-only: ")


def test_a_log_resumes_in_a_new_segment_once_the_disk_works_again():
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk)
    batches = [worlds.batch("a")]
    log.append(batches[0])
    disk.fail_sync(disk.syncs + 1, times=None)
    with pytest.raises(LogFailed):
        log.append([worlds.entry("b")])
    with pytest.raises(LogFailed, match="could not go on"):
        log.resume()
    disk.heal()
    log.resume()
    assert log.failure == ""
    batches.append(worlds.batch("a"))
    log.append(batches[1])
    assert batches_of(open_log(disk.after_power_loss("lost"))) == batches


def test_a_batch_counts_even_where_the_head_file_then_fails_but_none_follows_unmarked():
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk, segment_sectors=9)
    log.append(worlds.batch("a"))
    writes = [disk.ops + 3]  # write, sync, then the head file
    disk.fill_up_at(writes[0], times=1)
    file = log._marks._file
    file.truncate(0)  # so that the head file's write needs space
    disk.heal()
    disk.fill_up_at(disk.ops + 3, times=1)
    batch = worlds.batch("a")
    log.append(batch)
    assert batches_of(log)[1] == batch
    with pytest.raises(LogFailed, match="the head file could not be written"):
        log.append(worlds.batch("a"))
    log.resume()
    log.append(worlds.batch("a")[:0] or Worlds.of(log).batch("a"))
    assert log.head().batch == 3
    assert log.verify() == []


@pytest.mark.parametrize("times", [1, None])
def test_a_disk_that_is_full_at_any_operation_loses_nothing_acknowledged(times):
    for op in range(1, ops_of_the_work() + 1):
        run = Run(SimDisk(seed=op))
        run.disk.fill_up_at(op, times=times)
        run.work()
        run.check_live()
        run.disk.heal()
        for kind in ("lost", "reordered"):
            run.check_after(run.disk.after_power_loss(kind, seed=op))


def full_disk_with_reserve() -> tuple[SimDisk, FileLog, Worlds]:
    """A log that has just met the end of the disk."""
    disk, worlds = SimDisk(capacity_bytes=80 * SECTOR_BYTES), Worlds()
    log = open_log(disk, reserve_bytes=RESERVE_BYTES)
    assert log.reserve_held()
    with pytest.raises(LogFailed, match=r"durable|read-only"):
        for _ in range(60):
            log.append(worlds.batch("a"))
    assert log.failure
    return disk, log, Worlds.of(log)


def test_the_reserve_makes_room_for_last_words_on_a_full_disk():
    disk, log, worlds = full_disk_with_reserve()
    count = log.head().batch
    with pytest.raises(LogFailed):
        log.resume()
    assert log.release_reserve()
    assert not log.reserve_held()
    assert not log.release_reserve()
    log.resume()
    log.append(worlds.batch("a", body=b"the disk is full"))
    log.seal()
    assert open_log(disk.after_power_loss("lost")).head().batch == count + 1


def test_the_reserve_is_taken_back_only_where_there_is_plenty_of_space():
    disk, log, _ = full_disk_with_reserve()
    log.release_reserve()
    assert not log.restore_reserve()
    disk.capacity_bytes = 200 * SECTOR_BYTES
    assert log.restore_reserve()
    assert disk.size("log/RESERVE") == RESERVE_BYTES


def test_a_full_disk_opens_when_the_log_was_closed_and_when_it_was_not():
    disk, log, _ = full_disk_with_reserve()
    batches = batches_of(log)
    disk.capacity_bytes = disk.capacity_bytes - disk.free_bytes()
    closed = disk.after_power_loss("kept")
    closed.capacity_bytes = disk.capacity_bytes
    reopened = open_log(closed, seed="again", reserve_bytes=RESERVE_BYTES)
    assert batches_of(reopened) == batches
    assert reopened.reserve_held()
    head = closed.open("log/HEAD")
    head.write_at(0, read_file(disk, "log/HEAD")[:100])
    torn = closed.after_power_loss("kept")
    torn.open("log/HEAD").write_at(SECTOR_BYTES, b"torn")
    torn.capacity_bytes = disk.capacity_bytes
    reopened = open_log(torn, seed="torn", reserve_bytes=RESERVE_BYTES)
    assert batches_of(reopened) == batches
    assert not reopened.reserve_held()


def test_a_full_disk_without_a_reserve_refuses_to_open_a_log_that_must_be_written_and_changes_nothing():
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk)
    head = read_file(disk, "log/HEAD")
    log.append(worlds.batch("a"))
    file = disk.open("log/HEAD")
    file.write_at(0, head)
    disk.fill_up_at(disk.ops + 1)
    segment = read_file(disk, "log/0000000001.seg")
    with pytest.raises(LogFailed, match=r"nothing of it is lost.*make room"):
        open_log(disk)
    assert read_file(disk, "log/0000000001.seg") == segment
    disk.heal()
    assert open_log(disk).head().batch == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_an_append_that_is_broken_off_ends_its_segment(error, monkeypatch):
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk)
    log.append(worlds.batch("a"))
    active = log._segments._active

    def broken_off():
        raise error

    monkeypatch.setattr(active, "sync", broken_off)
    with pytest.raises(error):
        log.append([worlds.entry("b")])
    (cursor,) = log.append(worlds.batch("a"))
    assert cursor.segment == 2
    assert [entry.world for _, placed in log.scan() for _, entry in placed] == ["a", "a"]
    assert log.verify() == []


def test_erasing_on_a_full_disk_changes_nothing():
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk)
    batches = [worlds.batch("a") for _ in range(4)]
    for batch in batches:
        log.append(batch)
    disk.fill_up_at(disk.ops + 1)
    with pytest.raises(DiskFull):
        log.erase_bodies(lambda entry: True)
    disk.heal()
    assert batches_of(log) == batches
    assert not [name for name in disk.list("log") if name.endswith(".erase")]
    assert log.verify() == []


def test_a_failed_open_says_what_failed_and_where():
    disk = SimDisk()
    disk.fail_sync(1, times=None)
    with pytest.raises(LogError, match="mend the disk"):
        FileLog(disk, SimEntropy(1), reserve_bytes=0)
