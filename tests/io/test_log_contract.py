"""One contract, every Log: in memory, on a simulated disk and on a real one."""

from __future__ import annotations

import pytest
from log_lives import Worlds, batches_of, open_log

from engine.ids import content_id
from engine.io.file_log import FileLog
from engine.io.log import Cursor, LogError, LogHead, WrongSequence
from engine.io.mem_log import MemLog
from engine.io.real_disk import RealDisk
from engine.io.real_entropy import RealEntropy
from engine.io.sim_disk import SimDisk
from engine.limits import LOG_BATCH_BYTES_MAX, LOG_BATCH_RECORDS_MAX

EMPTY = "0" * 64


@pytest.fixture(params=["memory", "simulated", "real"])
def log(request, tmp_path):
    if request.param == "memory":
        return MemLog()
    if request.param == "simulated":
        return open_log(SimDisk())
    return FileLog(RealDisk(tmp_path), RealEntropy(), segment_bytes_max=16384, reserve_bytes=0)


@pytest.fixture
def worlds():
    return Worlds()


def test_an_empty_log_has_an_empty_head(log):
    assert log.head() == LogHead(0, EMPTY)
    assert log.batch_hash(0) == EMPTY
    assert log.batch_hash(1) is None
    assert log.worlds() == []
    assert log.last("a") is None
    assert list(log.read("a")) == []
    assert list(log.scan()) == []
    assert log.verify() == []


def test_what_is_appended_is_read_by_world_by_cursor_and_by_batch(log, worlds):
    first, second = worlds.batch("a", "b", "a"), worlds.batch("b", body=b"two")
    cursors = log.append(first) + log.append(second)
    assert [entry for _, entry in log.read("a")] == [first[0], first[2]]
    assert [entry for _, entry in log.read("b")] == [first[1], second[0]]
    assert [entry for _, entry in log.read("b", 1)] == [second[0]]
    assert list(log.read("b", 2)) == []
    assert [log.read_at(cursor) for cursor in cursors] == first + second
    assert batches_of(log) == [first, second]
    assert log.worlds() == ["a", "b"]
    assert log.last("b") == (1, content_id(second[0].header))


def test_cursors_rise_and_are_the_same_however_they_are_got(log, worlds):
    given = [cursor for _ in range(7) for cursor in log.append(worlds.batch("a", "b"))]
    scanned = [cursor for _, placed in log.scan() for cursor, _ in placed]
    read = sorted(cursor for world in "ab" for cursor, _ in log.read(world))
    assert given == sorted(given) == scanned == read


def test_a_scan_goes_on_after_any_batch(log, worlds):
    for _ in range(9):
        log.append(worlds.batch("a"))
    heads = [head for head, _ in log.scan()]
    assert [head.batch for head in heads] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert heads[-1] == log.head()
    for after in range(10):
        assert [head for head, _ in log.scan(after)] == heads[after:]
    assert [log.batch_hash(head.batch) for head in heads] == [head.hash for head in heads]
    assert log.batch_hash(10) is None


def test_a_record_out_of_turn_is_refused_and_nothing_of_its_batch_is_written(log, worlds):
    log.append(worlds.batch("a"))
    last = log.last("a")
    good = worlds.batch("b", "a")
    for batch in ([good[0], good[1]._replace(seq=0)], [good[0], good[1]._replace(seq=2)], [good[1], good[1]]):
        with pytest.raises(WrongSequence) as refused:
            log.append(batch)
        assert refused.value.world == "a"
    assert refused.value.expected == 2
    assert refused.value.last_hash == content_id(good[1].header)
    assert (log.head().batch, log.last("a"), log.last("b")) == (1, last, None)
    log.append(good)
    assert batches_of(log)[1] == good


def test_the_writer_can_tell_its_own_record_from_anothers(log, worlds):
    (mine,) = worlds.batch("a")
    log.append([mine])
    with pytest.raises(WrongSequence) as refused:
        log.append([mine])
    assert (refused.value.expected, refused.value.last_hash) == (1, content_id(mine.header))


def test_records_start_at_zero(log, worlds):
    worlds.ends["a"] = (0, EMPTY)
    with pytest.raises(WrongSequence) as refused:
        log.append(worlds.batch("a"))
    assert (refused.value.expected, refused.value.last_hash) == (0, EMPTY)


def test_the_hash_of_a_batch_is_the_same_in_every_log(log, worlds):
    batches = [worlds.batch("a", "b", "a"), worlds.batch("c")]
    other = MemLog()
    for batch in batches:
        log.append(batch)
        other.append(batch)
    assert log.head() == other.head()
    assert log.head().hash != EMPTY


def test_records_of_any_size_and_content_come_back(log, worlds):
    bodies = [b"", b"\0" * 70_000, bytes(range(256)) * 300, b"x", b"\xff" * 4096]
    batches = [worlds.batch("a", body=body) for body in bodies]
    batches.append([worlds.entry(f"w{n}", body) for n, body in enumerate(bodies)])
    for batch in batches:
        log.append(batch)
    assert batches_of(log) == batches
    assert log.verify() == []


def test_a_batch_at_the_limit_fits_and_one_past_it_is_refused(log, worlds):
    entry = worlds.entry("a")
    largest = entry._replace(body=b"\1" * (LOG_BATCH_BYTES_MAX - len(entry.header)))
    with pytest.raises(LogError, match="append fewer records at a time"):
        log.append([largest._replace(body=largest.body + b"\1")])
    assert log.head().batch == 0
    (cursor,) = log.append([largest])
    assert log.read_at(cursor) == largest


def test_a_batch_of_as_many_records_as_allowed_fits_and_one_more_is_refused(log, worlds):
    entries = worlds.batch(*["a"] * (LOG_BATCH_RECORDS_MAX + 1))
    with pytest.raises(LogError, match="a batch of 513 records is too large; at most 512 fit"):
        log.append(entries)
    assert len(log.append(entries[:-1])) == LOG_BATCH_RECORDS_MAX
    assert batches_of(log) == [entries[:-1]]


def test_a_batch_that_is_not_there_is_refused_by_number(log, worlds):
    log.append(worlds.batch("a"))
    for batch in (0, 2):
        with pytest.raises(LogError, match=f"there is no batch {batch}; the last one is 1"):
            log.read_at(Cursor(1, batch, 0))


def test_a_sealed_log_goes_on(log, worlds):
    batches = [worlds.batch("a"), worlds.batch("a", "b"), worlds.batch("b")]
    log.append(batches[0])
    log.append(batches[1])
    head = log.head()
    log.seal()
    log.seal()
    assert log.head() == head
    assert batches_of(log) == batches[:2]
    log.append(batches[2])
    assert batches_of(log) == batches
    assert log.verify() == []


def test_erasing_takes_bodies_and_leaves_headers_and_hashes(log, worlds):
    batches = [worlds.batch("a", "b", body=b"secret %d" % n) for n in range(8)]
    for batch in batches:
        log.append(batch)
    heads = [head for head, _ in log.scan()]
    log.seal()
    assert log.erase_bodies(lambda entry: entry.world == "a" and entry.seq < 5) == 5 * len(b"secret 0")
    assert log.erase_bodies(lambda entry: entry.world == "a" and entry.seq < 5) == 0
    left = [entry for _, entry in log.read("a")]
    assert [entry.body for entry in left] == [None] * 5 + [b"secret 5", b"secret 6", b"secret 7"]
    assert [entry.header for entry in left] == [batch[0].header for batch in batches]
    assert [entry for _, entry in log.read("b")] == [batch[1] for batch in batches]
    assert [head for head, _ in log.scan()] == heads
    assert log.verify() == []


def test_a_record_whose_body_was_erased_elsewhere_is_taken_in_without_it(log, worlds):
    erased, whole = worlds.entry("a")._replace(body=None), worlds.entry("a", b"")
    log.append([erased, whole])
    assert batches_of(log) == [[erased, whole]]
    assert log.last("a") == worlds.ends["a"]
    assert log.verify() == []


def test_reading_goes_on_beside_appending(log, worlds):
    for _ in range(5):
        log.append(worlds.batch("a"))
    reading, scanning = log.read("a"), log.scan()
    seen = [next(reading)[1].seq]
    next(scanning)
    for _ in range(5):
        log.append(worlds.batch("a"))
    seen += [entry.seq for _, entry in reading]
    assert seen[:5] == [0, 1, 2, 3, 4]
    assert seen == list(range(len(seen)))
    assert [head.batch for head, _ in scanning][:4] == [2, 3, 4, 5]


def test_a_log_on_a_real_disk_is_there_for_the_next_process(tmp_path, worlds):
    disk = RealDisk(tmp_path)
    disk.make_dir("log")  # as an opening that failed leaves it
    batches = [worlds.batch("a", "b") for _ in range(7)]
    for number, batch in enumerate(batches):
        log = FileLog(disk, RealEntropy(), segment_bytes_max=16384, reserve_bytes=8192)
        log.append(batch)
        if number % 2:
            log.seal()
        log.close()
    log = FileLog(RealDisk(tmp_path), RealEntropy(), reserve_bytes=8192)
    assert batches_of(log) == batches
    assert log.reserve_held()
    assert (tmp_path / "log" / "RESERVE").stat().st_size == 8192
    log.seal()
    assert log.erase_bodies(lambda entry: entry.seq == 2) == 2 * len(batches[2][0].body)
    assert log.verify() == []
