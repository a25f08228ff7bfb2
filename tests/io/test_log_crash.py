"""Crashes at every operation: what opens is a prefix that holds everything acknowledged, and it works on."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import NamedTuple

import pytest
from log_lives import Worlds, bare, batches_of, open_log

from engine.io.crash_images import CRASH_KINDS
from engine.io.file_log import FileLog
from engine.io.log import LogEntry
from engine.io.log_survey import read_mark, survey, verify_log
from engine.io.sim_disk import SimDisk, crash_images
from engine.io.sim_faults import PowerLost
from engine.io.sim_media import Change, Naming
from engine.limits import SECTOR_BYTES


class Life(NamedTuple):
    """A recorded life: its batches, how many were acknowledged after each operation, and begun before it."""

    disk: SimDisk
    batches: list[list[LogEntry]]
    acknowledged: list[tuple[int, int]]  # (operation, batches)
    erased: frozenset[tuple[str, int]]

    def acknowledged_at(self, op: int) -> int:
        return max((count for at, count in self.acknowledged if at <= op), default=0)


@cache
def life() -> Life:
    """Batches of one and several sectors, rolls, a seal, a stop without one, a kill, erasing."""
    disk, worlds = SimDisk(seed=3), Worlds()
    batches: list[list[LogEntry]] = []
    acknowledged = []

    def work(log: FileLog, *batch: LogEntry) -> None:
        batches.append(list(batch))
        log.append(batch)
        acknowledged.append((disk.ops, len(batches)))

    log = open_log(disk)
    for n in range(4):
        work(log, *worlds.batch("a", "b", body=b"body %d" % n))
    work(log, *worlds.batch("c", body=disk.media.zero_sector + bytes(range(256)) * 40))
    log.seal()
    work(log, worlds.entry("a"))
    log.close()
    log = open_log(disk)
    work(log, *worlds.batch("b", "b"))
    disk.kill()
    log = open_log(disk)
    for _ in range(3):
        work(log, worlds.entry("c"))
    log.seal()
    erased = frozenset({("a", 1), ("b", 2), ("c", 0)})
    log.erase_bodies(lambda entry: entry[:2] in erased)
    work(log, worlds.entry("a"))
    log.close()
    return Life(disk, batches, acknowledged, erased)


def check(log: FileLog, history: list[list[LogEntry]], acknowledged: int, erased=frozenset()) -> None:
    """The log holds a prefix of the history that includes what was acknowledged, and says so throughout."""
    found = batches_of(log)
    assert acknowledged <= len(found) <= len(history)
    assert bare(found) == bare(history[: len(found)])
    for entry, original in zip(chain(*found), chain(*history), strict=False):
        assert entry.body == original.body or (entry.body is None and entry[:2] in erased)
    assert log.head().batch == len(found)
    assert log.verify() == []


@pytest.mark.parametrize("kind", CRASH_KINDS)
def test_a_crash_at_any_operation_leaves_a_prefix_with_everything_acknowledged(kind):
    whole = life()
    images = 0
    for point, disk in crash_images(whole.disk.trace, kinds=(kind,), seeds=(1,)):
        before = verify_log(disk, "log")
        log = open_log(disk, seed=str(point))
        check(log, whole.batches, whole.acknowledged_at(point.at), whole.erased)
        assert [problem for problem in before if problem.file != "log/HEAD"] == [], "a crash is no rot"
        images += 1
    assert images == len(whole.disk.trace) + 1


@pytest.mark.parametrize("seed", range(3))
def test_three_cycles_of_crash_open_and_work_lose_nothing(seed):
    """Each cycle's power fails anywhere in opening or working, and each leaves another kind of image."""
    whole = life()
    for start in range(seed, len(whole.disk.trace) + 1, 4):
        (image,) = crash_images(whole.disk.trace, start, kinds=("reordered",), seeds=(seed,))
        disk, history = image.disk, whole.batches
        acknowledged = whole.acknowledged_at(start)
        for cycle in range(3):
            disk.crash_at(disk.ops + 1 + (start * 7 + seed * 5 + cycle * 3) % 13)
            try:
                log = open_log(disk, seed=f"{start} {seed} {cycle}")
                history = batches_of(log)
                check(
                    log, whole.batches[: len(history)] if cycle == 0 else history, acknowledged, whole.erased
                )
                acknowledged = len(history)
                while True:
                    history = [*history, Worlds.of(log).batch("a", "d")]
                    log.append(history[-1])
                    acknowledged = len(history)
            except PowerLost:
                kind = CRASH_KINDS[(start + cycle) % len(CRASH_KINDS)]
                disk = disk.after_power_loss(kind, seed=start * 31 + cycle)
        check(open_log(disk, seed=f"{start} {seed} end"), history, acknowledged, whole.erased)


def crash_while_opening(*, step: int) -> int:
    """Let recovery's own operations crash too, one by one; the number of images that opened."""
    whole = life()
    images = 0
    for start in range(0, len(whole.disk.trace) + 1, step):
        for image in crash_images(whole.disk.trace, start, kinds=("kept", "torn"), seeds=(4,)):
            found = len(batches_of(open_log(image.disk, seed="first")))
            for point, again in crash_images(image.disk.trace, kinds=("lost", "reordered"), seeds=(5,)):
                log = open_log(again, seed=f"second {point}")
                assert len(batches_of(log)) == found
                check(log, whole.batches, whole.acknowledged_at(start), whole.erased)
                images += 1
    return images


def test_a_crash_while_opening_after_a_crash_loses_nothing():
    assert crash_while_opening(step=11) > 150


@pytest.mark.soak
def test_a_crash_while_opening_after_any_crash_loses_nothing():
    assert crash_while_opening(step=1) > 2000


def test_batches_read_after_a_kill_survive_a_power_loss():
    """A killed process leaves batches in the page cache alone; who opens next must make them durable first."""
    whole = life()
    for point, disk in crash_images(whole.disk.trace, kinds=("kept",)):
        del disk
        for kind in ("lost", "garbled"):
            killed = replay(whole.disk, point.at)
            seen = batches_of(open_log(killed, seed="reopened"))
            check(
                open_log(killed.after_power_loss(kind, seed=point.at), seed="later"),
                seen,
                len(seen),
                whole.erased,
            )


def replay(disk: SimDisk, ops: int) -> SimDisk:
    """The same disk after its first operations, what was not synced still unsynced."""
    media = disk.trace.base.copy()
    for number, operation in enumerate(disk.trace.operations[:ops], 1):
        media.apply(number, operation)
    return SimDisk(seed=disk.seed, media=media)


def test_no_synced_sector_of_a_segment_is_written_again_and_one_batch_at_most_is_unsynced():
    """Invariants 3 and 5, seen from below: on every write of a recorded life."""
    disk, names, writes = life().disk, {}, 0
    media = disk.trace.base.copy()
    for number, operation in enumerate(disk.trace.operations, 1):
        if isinstance(operation, Naming):
            names.update({entry.node: entry.name for entry in operation.entries if entry.node})
        if isinstance(operation, Change) and names[operation.file].endswith(".seg"):
            node = media.file(operation.file)
            assert not [index for index, _ in operation.sectors if index in node.media]
            unsynced = [names[file] for file in media.unclean if media.file(file).pending]
            assert not [name for name in unsynced if name.endswith(".seg")]
            writes += 1
        media.apply(number, operation)
    assert writes == len(life().batches) + 2  # the seals


def test_the_head_file_never_claims_more_than_is_durable():
    """Invariant 2: after any operation its newest mark is a batch that no crash can take away."""
    disk, marks = life().disk, 0
    for op in range(len(disk.trace) + 1):
        now = replay(disk, op)
        if not now.exists("log/HEAD"):
            continue
        mark, _ = read_mark(now, "log")
        if mark is not None:
            durable = survey(now.after_power_loss("lost"), "log").segments
            assert mark.batch <= (durable[-1].index.last_batch if durable else 0)
            marks = max(marks, mark.batch)
    assert marks == len(life().batches)


def test_opening_a_log_that_was_sealed_writes_no_segment():
    disk = life().disk.after_power_loss("kept")
    log = open_log(disk)
    log.append(Worlds.of(log).batch("a"))
    log.seal()
    log.close()
    names = disk.list("log")
    for _ in range(3):
        open_log(disk).close()
    assert disk.list("log") == names


def test_a_cursor_finds_its_record_after_an_opening_has_written_it_again():
    disk, worlds = SimDisk(), Worlds()
    log = open_log(disk, segment_sectors=9)
    mark = disk.open("log/HEAD").read_at(0, 2 * SECTOR_BYTES)
    batches = [worlds.batch("a", "b") for _ in range(3)]
    cursors = [cursor for batch in batches for cursor in log.append(batch)]
    disk.open("log/HEAD").write_at(0, mark)  # as after a power loss that took the unsynced marks
    again = open_log(disk, segment_sectors=9)
    assert again.opening.carried_batches == 3
    assert [again.read_at(cursor) for cursor in cursors] == [entry for batch in batches for entry in batch]
    assert again.head() == log.head()
    assert open_log(disk).opening.carried_batches == 0


def test_openings_without_work_in_between_leave_one_empty_segment():
    disk = life().disk.after_power_loss("kept")
    segments = []
    for _ in range(3):
        open_log(disk).close()
        segments.append([name for name in disk.list("log") if name.endswith(".seg")])
    assert segments[0] == segments[1] == segments[2]
