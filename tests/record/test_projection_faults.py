"""Whatever becomes of the projection's file, its answers are the log's."""

from __future__ import annotations

import gc
import weakref

import pytest
from record_lives import Book, call, edit, failed_call, genesis, revision

from engine.io.disk import DiskError, read_file, write_file_durably
from engine.io.mem_log import MemLog
from engine.io.real_disk import RealDisk
from engine.io.sim_disk import SimDisk, crash_images
from engine.io.sim_faults import PowerLost
from engine.limits import PROJECTION_COMMIT_RECORDS, PROJECTION_WAL_PAGES_MAX
from engine.record.kinds import Purge
from engine.record.projection import Projection
from engine.record.projection.projection import ASIDE, FILE


def life(worlds: int = 3, calls: int = 4) -> MemLog:
    """Batches of many sizes, some that span worlds."""
    log = MemLog()
    book = Book(log)
    for w in range(worlds):
        world = f"w{w}"
        book.write(world, genesis(world), revision(1, "f"))
        for n in range(calls):
            book.write(world, call(writes={f"k{n}": b"x" * 50 * n}), failed_call(n + 1))
        log.append([book.entry(f"w{v}", edit("all", b"%d" % w)) for v in range(w + 1)])
    return log


def expected(log) -> dict:
    return Projection(None, log).dump()


def put_new(log, projection) -> None:
    for head, entries in log.scan(projection.applied.batch):
        projection.apply(head, entries)


# ---- crashes


def test_a_crash_at_any_operation_leaves_a_file_that_opens_to_what_the_log_says():
    log, disk = life(), SimDisk()
    projection = Projection(disk, log)
    book = Book(log)
    for n in range(6):
        book.write("w1", edit(f"more{n}", b"y" * 3000), revision(n + 2, "f"))
        put_new(log, projection)
        projection.commit()
    projection.close()
    at, images = expected(log), 0
    points = range(0, len(disk.trace) + 1, 5)
    for image in crash_images(disk.trace, points, seeds=(1,)):
        again = Projection(image.disk, log)
        assert again.dump() == at, str(image.point)
        assert again.trouble is None, str(image.point)
        images += 1
        if images % 20 == 0:  # and once more, after the first recovery
            again.close()
            assert Projection(image.disk.after_power_loss("reordered", seed=images), log).dump() == at
    assert images >= 150


def test_three_cycles_of_losing_power_and_going_on():
    log, disk = life(), SimDisk()
    for cycle, kind in enumerate(("lost", "torn", "garbled")):
        projection = Projection(disk, log)
        Book(log).write("w0", edit(f"cycle{cycle}", b"1"))
        put_new(log, projection)
        projection.commit()
        assert projection.dump() == expected(log)
        disk = disk.after_power_loss(kind, seed=cycle)
    assert Projection(disk, log).dump() == expected(log)


def test_the_wal_of_a_process_before_does_not_come_back_over_a_newer_database():
    """A process makes a new WAL and dies before any sync; the next one finds the name there, and must make it sure."""
    log, disk = life(), SimDisk()
    book = Book(log)
    Projection(disk, log).close()
    book.write("w0", edit("first", b"1"))
    Projection(disk, log).close()  # its WAL is removed, which no sync makes sure
    died = Projection(disk, log)
    disk.kill()
    disk.sync_dir("")
    book.write("w0", edit("third", b"3"), failed_call(6), revision(2, "g"))
    Projection(disk, log).close()
    after = disk.after_power_loss("lost")
    assert Projection(after, log).dump() == expected(log)
    del died


def test_a_loss_of_power_inside_sqlite_comes_out_as_it_is():
    log, whole = life(), SimDisk()
    Projection(whole, log).close()
    for op in range(1, whole.ops + 1, 4):
        disk = SimDisk()
        disk.crash_at(op)
        with pytest.raises(PowerLost):
            Projection(disk, log).close()
        assert Projection(disk.after_power_loss("kept"), log).dump() == expected(log)


def test_a_log_that_lost_its_end_is_not_outrun():
    """Invariant 2: a projection of batches that the log does not have is built again."""
    longer, disk = life(), SimDisk()
    Projection(disk, longer).close()
    shorter = life(worlds=2)
    projection = Projection(disk, shorter)
    assert "which the log does not" in projection.rebuilt
    assert projection.dump() == expected(shorter)


# ---- files that are not what they were


def test_a_clean_file_is_used_as_it_is():
    log, disk = life(), SimDisk()
    Projection(disk, log).close()
    projection = Projection(disk, log)
    assert (projection.rebuilt, projection.trouble) == (None, None)
    assert disk.list("projection") == ["projection.db", "projection.db-wal"]


@pytest.mark.parametrize("content", [b"", b"something else entirely" * 500, bytes(8192)])
def test_a_foreign_file_is_replaced(content):
    log, disk = life(), SimDisk()
    disk.make_dir("projection")
    write_file_durably(disk, FILE, content)
    projection = Projection(disk, log)
    assert projection.rebuilt is not None and projection.trouble is None
    assert projection.dump() == expected(log)


def test_a_file_of_another_schema_is_replaced_with_both_versions_named():
    log, disk = life(), SimDisk()
    first = Projection(disk, log)
    first.commit()
    first._db.execute("PRAGMA user_version = 99")
    first.close()
    projection = Projection(disk, log)
    assert (
        projection.rebuilt
        == "it has projection schema 99 of application 0x666c6b70; this version makes schema 5"
    )
    assert projection.dump() == expected(log)


def test_any_rotten_page_is_noticed_set_aside_and_replaced():
    """A flipped bit in each page: without the tags SQLite lets most of them pass."""
    log, whole = life(), SimDisk()
    Projection(whole, log).close()
    content, right = read_file(whole, FILE), expected(log)
    for page in range(len(content) // 4096):
        disk = SimDisk()
        disk.make_dir("projection")
        rotten = bytearray(content)
        rotten[page * 4096 + 2000] ^= 0x10
        write_file_durably(disk, FILE, bytes(rotten))
        projection = Projection(disk, log)
        assert projection.dump() == right
        told = [projection.rebuilt] if projection.rebuilt else projection.damage()
        assert f"byte {page * 4096}: the page is not as written" in told[0], page
        assert projection.trouble is None
        if projection.rebuilt:
            assert read_file(disk, ASIDE) == bytes(rotten)
            assert projection.damage() == []


def test_a_misdirected_page_is_noticed():
    log, disk = life(), SimDisk()
    Projection(disk, log).close()
    content = bytearray(read_file(disk, FILE))
    content[3 * 4096 : 4 * 4096] = content[4 * 4096 : 5 * 4096]
    write_file_durably(disk, FILE, bytes(content))
    projection = Projection(disk, log)
    assert projection.dump() == expected(log)
    assert "byte 12288: the page is not as written" in str([projection.rebuilt, *projection.damage()])


def test_rot_that_comes_while_it_is_open_is_noticed_by_the_query_that_meets_it(tmp_path):
    log, disk = life(worlds=2, calls=60), RealDisk(tmp_path)
    Projection(disk, log).close()
    projection = Projection(disk, log)
    path = tmp_path / "projection" / "projection.db"
    rotten = bytearray(path.read_bytes())
    for page in range(1, len(rotten) // 4096):
        rotten[page * 4096 + 100] ^= 1
    path.write_bytes(bytes(rotten))
    assert len(projection.all_data("w0")) == 61
    assert projection.rebuilt is not None
    assert projection.dump() == expected(log)
    projection.close()
    disk.close()


# ---- disks that refuse


@pytest.mark.parametrize("sync", range(1, 9))
@pytest.mark.parametrize("pages", ["dropped", "kept"])
def test_a_failed_sync_is_never_built_upon(sync, pages):
    log, disk = life(), SimDisk()
    disk.fail_sync(sync, pages=pages)
    projection = Projection(disk, log)
    Book(log).write("w0", edit("late", b"1"))
    put_new(log, projection)
    assert projection.dump() == expected(log)
    projection.close()
    for kind in ("lost", "kept"):
        again = Projection(disk.after_power_loss(kind, seed=sync), log)
        assert (again.dump(), again.trouble) == (expected(log), None)


def test_on_a_full_disk_it_goes_on_in_memory_and_says_why():
    log = life()
    for capacity_bytes in (0, 8192, 65536, 200_000):
        disk = SimDisk(capacity_bytes=capacity_bytes)
        projection = Projection(disk, log)
        assert projection.dump() == expected(log)
        Book(log).write("w0", edit("late", b"1"), edit("later", b"2" * 100_000))
        put_new(log, projection)
        projection.commit()
        assert projection.all_data("w0")[-1] == ("later", b"2" * 100_000)
        assert "space" in projection.trouble
        projection.close()


def test_a_disk_that_fills_up_at_any_operation_costs_no_answer():
    log = life()
    whole = SimDisk()
    Projection(whole, log).close()
    for op in range(1, whole.ops, 3):
        disk = SimDisk()
        disk.fill_up_at(op)
        projection = Projection(disk, log)
        assert projection.dump() == expected(log), op
        projection.close()
        disk.heal()
        again = Projection(disk, log)
        assert (again.dump(), again.trouble) == (expected(log), None), op


def test_a_disk_that_answers_nothing_is_no_reason_not_to_answer():
    class Dead(SimDisk):
        def open(self, path, *, create=False):
            raise DiskError(path, "the drive is gone")

    log = life()
    projection = Projection(Dead(), log)
    assert projection.dump() == expected(log)
    assert "the drive is gone" in projection.trouble


# ---- size and time


def test_many_records_are_committed_on_the_way_and_the_wal_is_folded():
    log, disk = MemLog(), SimDisk()
    book = Book(log)
    book.write("w", genesis())
    projection = Projection(disk, log)
    for n in range(PROJECTION_COMMIT_RECORDS // 64 * 2):
        book.write("w", *(call(writes={f"{n}/{i}": b"v" * 20_000}) for i in range(64)))
    put_new(log, projection)
    assert disk.size(FILE) > 20_000 * 64
    assert disk.size(FILE + "-wal") < (PROJECTION_WAL_PAGES_MAX + 4096) * 4120
    again = Projection(disk.after_power_loss("lost"), log)
    assert (again.dump(), again.rebuilt) == (expected(log), None)


def test_equal_lives_write_equal_files():
    def run() -> list[bytes]:
        log, disk = life(), SimDisk()
        projection = Projection(disk, log)
        Book(log).write("w0", Purge("asked"))
        put_new(log, projection)
        projection.commit()
        return [read_file(disk, FILE), read_file(disk, FILE + "-wal")]

    assert run() == run()


def test_a_projection_that_is_dropped_leaves_nothing_behind():
    log, disk = life(), SimDisk()
    projection = Projection(disk, log)
    vfs = weakref.ref(projection._vfs)
    del projection
    gc.collect()
    assert vfs() is None


@pytest.mark.parametrize("abandoned", [True, False])
def test_a_projection_whose_process_is_dead_writes_nothing_when_it_is_freed(abandoned: bool):
    disk, log = SimDisk(), life()
    projection = Projection(disk, log)
    projection.commit()
    before = disk.ops
    if abandoned:
        projection.abandon()
    del projection
    gc.collect()
    assert (disk.ops == before) == abandoned, "one that lives folds its WAL"
