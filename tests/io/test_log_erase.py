"""Erasing bodies: gone from the disk, the chain as it was, also when it is broken off anywhere."""

from __future__ import annotations

import pytest
from log_lives import Worlds, bare, batches_of, open_log

from engine.io.disk import read_file
from engine.io.log import LogFailed
from engine.io.sim_disk import SimDisk, crash_images
from engine.io.sim_entropy import SimEntropy
from engine.limits import SECTOR_BYTES

SECRET = b"the secret of world b, which is long enough to be found again"


def is_of_b(entry):
    return entry.world == "b"


def log_with_secrets(disk: SimDisk):
    worlds = Worlds()
    log = open_log(disk, segment_sectors=8)
    for n in range(9):
        log.append([worlds.entry("a", b"kept %d" % n), worlds.entry("b", SECRET)])
    log.append([worlds.entry("b", SECRET + bytes(range(256)) * 200)])
    return log


def bytes_of(disk: SimDisk, directory: str = "log") -> bytes:
    content = b""
    for name in disk.list(directory):
        path = f"{directory}/{name}"
        content += bytes_of(disk, path) if disk.is_dir(path) else read_file(disk, path)
    return content


def test_erased_bodies_are_on_no_sector_of_any_file_and_all_else_is_as_it_was():
    disk = SimDisk()
    log = log_with_secrets(disk)
    log.seal()
    before, heads, size = batches_of(log), [head for head, _ in log.scan()], log.size_bytes()
    assert SECRET in bytes_of(disk)
    assert log.erase_bodies(is_of_b) == 10 * len(SECRET) + 51_200
    assert SECRET not in bytes_of(disk)
    assert log.size_bytes() < size
    for again in (log, open_log(disk.after_power_loss("lost"))):
        found = batches_of(again)
        assert bare(found) == bare(before)
        assert [head for head, _ in again.scan()] == heads
        assert [entry.body for batch in found for entry in batch if entry.world == "b"] == [None] * 10
        assert [entry.body for _, entry in again.read("a")] == [b"kept %d" % n for n in range(9)]
        assert again.verify() == []


def test_erasing_leaves_the_segment_that_is_appended_to():
    disk = SimDisk()
    log = log_with_secrets(disk)
    log.erase_bodies(is_of_b)
    bodies = [entry.body for _, entry in log.read("b")]
    assert bodies[0] is None
    assert bodies[-1] is not None
    log.append(Worlds.of(log).batch("b"))
    assert log.verify() == []


def test_segments_that_shrink_in_the_middle_of_the_log_open_again():
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk, segment_sectors=9)
    large = SimEntropy("incompressible").draw(3 * SECTOR_BYTES)
    for _ in range(6):
        log.append([worlds.entry("a"), worlds.entry("b", large)])
    log.append(worlds.batch("a"))
    assert [disk.size(f"log/{number:010d}.seg") for number in (1, 2, 3)] == [9 * SECTOR_BYTES] * 3
    assert log.erase_bodies(is_of_b) == 6 * len(large)
    assert [disk.size(f"log/{number:010d}.seg") for number in (1, 2, 3)] == [3 * SECTOR_BYTES] * 3
    heads = [head for head, _ in log.scan()]
    for name in disk.list("log"):
        if name.endswith(".idx"):
            disk.remove(f"log/{name}")
    again = open_log(disk.after_power_loss("kept"))
    assert [head for head, _ in again.scan()] == heads
    assert [entry.body for _, entry in again.read("b")] == [None] * 6
    assert again.verify() == []


def test_a_log_goes_on_after_erasing_and_erases_again():
    disk = SimDisk()
    log = log_with_secrets(disk)
    for _ in range(3):
        log.append(Worlds.of(log).batch("b", body=SECRET))
        log.seal()
        assert log.erase_bodies(is_of_b) >= len(SECRET)
        assert SECRET not in bytes_of(disk)
        log = open_log(disk.after_power_loss("kept"))
        disk = log._disk
    assert log.last("b") == Worlds.of(log).ends["b"]
    assert log.verify() == []


def test_segments_without_an_erasable_body_are_not_written():
    disk = SimDisk()
    log = log_with_secrets(disk)
    log.seal()
    ops = disk.ops
    assert log.erase_bodies(lambda entry: False) == 0
    assert disk.ops == ops


@pytest.mark.parametrize("kind", ["lost", "kept", "names_only", "data_only", "reordered", "garbled"])
def test_a_crash_at_any_operation_of_erasing_leaves_each_segment_as_it_was_or_erased(kind):
    disk = SimDisk()
    log = log_with_secrets(disk)
    log.seal()
    before, start = batches_of(log), disk.ops
    log.erase_bodies(is_of_b)
    for point, after in crash_images(disk.trace, range(start, disk.ops + 1), kinds=(kind,), seeds=(1, 2)):
        again = open_log(after, seed=str(point), segment_sectors=8)
        found = batches_of(again)
        assert bare(found) == bare(before)
        assert again.verify() == []
        for mine, original in zip(found, before, strict=True):
            assert all(
                entry.body == was.body or (entry.body is None and is_of_b(entry))
                for entry, was in zip(mine, original, strict=True)
            )
        again.erase_bodies(is_of_b)
        assert SECRET not in bytes_of(after)


def test_a_refused_batch_that_a_failed_sync_left_on_the_disk_goes_too():
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk, segment_sectors=8)
    log.append(worlds.batch("a"))
    disk.fail_sync(disk.syncs + 1, pages="kept")
    with pytest.raises(LogFailed):
        log.append([worlds.entry("b", SECRET)])
    assert SECRET in bytes_of(disk)
    assert log.erase_bodies(lambda entry: False) == 0
    assert SECRET not in bytes_of(disk)
    assert log.verify() == []


def test_readers_that_began_before_erasing_read_on():
    disk = SimDisk()
    log = log_with_secrets(disk)
    log.seal()
    reading, scanning = log.read("b"), log.scan()
    next(reading)
    next(scanning)
    log.erase_bodies(is_of_b)
    assert [entry.seq for _, entry in reading] == list(range(1, 10))
    assert [head.batch for head, _ in scanning] == list(range(2, 11))
    assert log.read_at(next(log.read("b"))[0]).body is None


def test_erasing_from_a_segment_keeps_its_sectors_aligned():
    disk = SimDisk()
    log = log_with_secrets(disk)
    log.seal()
    log.erase_bodies(is_of_b)
    for name in disk.list("log"):
        if name.endswith(".seg"):
            assert disk.size(f"log/{name}") % SECTOR_BYTES == 0
