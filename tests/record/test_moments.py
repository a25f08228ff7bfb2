"""A moment answers as the projection did when the world's records ended there; rolled data are its data."""

from __future__ import annotations

import random

import pytest
from record_lives import (
    EVERY_KIND,
    Book,
    call,
    checkpoint,
    edit,
    failed_call,
    genesis,
    interrupted,
    preview,
    rejection,
    revision,
    unchanged,
)

from engine.io.mem_blobs import MemBlobs
from engine.io.mem_log import MemLog
from engine.limits import MOMENT_RECORDS_STEP
from engine.record import RecordRotten, decode
from engine.record.kinds import (
    Admitted,
    CheckEnrolled,
    CheckRemoved,
    DataRestored,
    Describe,
    Granted,
    HeapRef,
    IncidentClosed,
    PageSet,
    Purge,
    Request,
    Write,
)
from engine.record.moments import Moment, NoMoment, RollingData, data_at, projection_at
from engine.record.projection import Projection
from engine.record.retention import only_answered

KEYS = ["a", "a/1", "a/2", "b", "b\ud800", "é", "z"]
ALL_ROWS = 10**6


def answers_of(queries, world: str) -> list:
    """Everything that can be asked about one world."""
    return [
        queries.world(world),
        queries.functions(world),
        queries.revisions(world, ALL_ROWS),
        [queries.definitions_at(world, n) for n in range(3)],
        queries.rejections(world, ALL_ROWS),
        queries.incidents(world, ALL_ROWS),
        queries.data(world, "", None, ALL_ROWS),
        queries.requests(world),
        queries.records(world, -1, ALL_ROWS),
        queries.checkpoint(world),
        queries.checks(world),
        queries.removed_checks(world),
        queries.grants(world),
        queries.page(world),
        queries.closed_incidents(world),
        queries.unsettled(world),
        queries.goldens(world, ALL_ROWS),
        queries.next_golden(world),
    ]


REQUESTS, RECORDS, DATA = 7, 8, 6
SPARSE = [i for i in range(18) if i not in (REQUESTS, RECORDS, DATA)]


class Life:
    """Two worlds that live beside each other; what the live projection said of `w` after each of its records."""

    def __init__(self, seed: str) -> None:
        self.draw = random.Random(seed)
        self.log, self.blobs = MemLog(), MemBlobs()
        self.book = Book(self.log)
        self.live = Projection(None, self.log)
        self.said: list[list] = []
        self.rows: dict[str, bytes] = {}
        self.before: list[dict[str, bytes]] = []
        self.n = self.rejections = self.incidents = 0
        self.checks: list[str] = []
        self.admitted: list[int] = []

    def live_on(self, records: int) -> None:
        self._write("w", genesis(heap=HeapRef("1" * 64, "2" * 64)))
        self._write("v", genesis("Another"))
        for i in range(records):
            self.book.flick += self.draw.choice([0, 1, 1000])
            if self.draw.random() < 0.3:
                self._write("v", edit("a", b"%d" % i))
            self._write("w", self._next(i))

    def _write(self, world: str, body) -> None:
        self.book.write(world, body)
        self.live.catch_up()
        if world == "w":
            self.said.append(answers_of(self.live, world))
            self.before.append(dict(self.rows))

    def _next(self, i: int):
        draw = self.draw
        request = Request(f"r{i}", "a" * 64) if draw.random() < 0.3 else None
        makers = [
            lambda: self._wrote({draw.choice(KEYS): draw.choice([None, b"%d" % i])}, request),
            lambda: self._restored(i, request),
            lambda: self._revised(request),
            lambda: self._rejected(request),
            lambda: self._failed(i),
            lambda: self._interrupted(i),
            lambda: self._standing(i),
            lambda: self._checkpointed(i),
            preview,
            call,
            lambda: unchanged(self.n),
        ]
        return draw.choice(makers)()

    def _wrote(self, writes: dict, request):
        for key, value in writes.items():
            self._put(key, value)
        if self.draw.random() < 0.5:
            ((key, value),) = writes.items()
            return edit(key, value)
        return call(writes=writes, request=request)

    def _restored(self, i: int, request):
        writes = [Write(key, self.draw.choice([None, b"9"])) for key in self.draw.sample(KEYS, 3)]
        for write in writes:
            self._put(write.key, write.value)
        return DataRestored(i // 2, "", "back", writes, request)

    def _put(self, key: str, value: bytes | None) -> None:
        if value is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = value

    def _revised(self, request):
        self.n += 1
        names = self.draw.sample(["f", "g", "h"], 2)
        removed = tuple(name for name in ("f", "g", "h") if name not in names and self.draw.random() < 0.3)
        heap = HeapRef(f"{self.n:064x}", f"{self.n + 1:064x}")
        return revision(self.n, *names, removed=removed, heap=heap, request=request)

    def _rejected(self, request):
        self.rejections += 1
        return rejection(self.rejections, self.n, request=request)

    def _failed(self, i: int):
        self.incidents += 1
        return failed_call(self.incidents, error=f"Error: {i % 2}")

    def _interrupted(self, i: int):
        self.incidents += 1
        return interrupted(self.incidents, work=f"{i % 3:064x}", deaths=i % 3)

    def _standing(self, i: int):
        draw = self.draw
        if self.checks and draw.random() < 0.3:
            return CheckRemoved(self.checks.pop(), "no longer")
        if self.incidents and draw.random() < 0.2:
            return IncidentClosed(draw.randint(1, self.incidents), "answered", "by hand", b"1")
        if draw.random() < 0.2:
            self.checks.append(f"check {i}")
            return CheckEnrolled(self.checks[-1], "() => true", "undefine('f')", None, [], i, self.n)
        others = [
            Granted([f"v{i}"]),
            PageSet("public", ["f"], None),
            Describe(name=f"name {i}"),
            Admitted("f", b"[]", i, i, ["w"]),
        ]
        return draw.choice(others)

    def _checkpointed(self, i: int):
        at = self.draw.randint(max(0, len(self.before) - 3), len(self.before) - 1)
        return checkpoint(self.blobs, self.before[at], self.n, snapshot=at)


@pytest.mark.parametrize("seed", ["one", "two", "three", "four"])
def test_every_moment_of_a_life_answers_as_the_projection_did_then(seed):
    life = Life(seed)
    life.live_on(70)
    assert len(life.said) == 71
    for seq, said in enumerate(life.said):
        assert answers_of(projection_at(life.log, "w", seq), "w") == said


@pytest.mark.parametrize("seed", ["one", "two", "three", "four"])
def test_a_moment_made_of_the_records_that_count_and_of_rolled_data_is_the_same(seed):
    life = Life(seed)
    life.live_on(70)
    left_out = 0
    for seq, said in enumerate(life.said):
        rows = life.live.records_but_data("w", seq)
        left_out += seq + 1 - len(rows)
        data = data_at(life.log, life.blobs, "w", seq, life.live.checkpoint("w", seq))
        now = answers_of(Moment.of(life.log, "w", seq, rows, data), "w")
        assert [now[i] for i in SPARSE] == [said[i] for i in SPARSE]
        assert [(row.key, row.value) for row in now[DATA].rows] == sorted(life.before[seq].items())
    assert left_out > 500


@pytest.mark.parametrize("seed", ["five", "six"])
def test_a_moment_that_goes_forward_is_at_each_record_what_a_new_one_is(seed):
    life = Life(seed)
    life.live_on(40)
    moment = projection_at(life.log, "w", 0)
    for seq in (0, 1, 5, 6, 30, 40):
        moment.advance_to(seq)
        assert answers_of(moment, "w") == life.said[seq]


@pytest.mark.parametrize("seed", ["one", "two", "three", "four"])
def test_data_at_each_record_is_the_same_from_any_checkpoint_and_from_none(seed):
    life = Life(seed)
    life.live_on(70)
    checkpoints = 0
    for seq, rows in enumerate(life.before):
        assert dict(data_at(life.log, life.blobs, "w", seq).rows) == rows
        row = life.live.checkpoint("w", seq)
        if row is not None:
            checkpoints += 1
            assert dict(data_at(life.log, life.blobs, "w", seq, row).rows) == rows
    assert checkpoints > 10


def test_rolling_data_goes_through_a_life_record_by_record():
    life = Life("rolls")
    life.live_on(50)
    data = RollingData(life.log, life.blobs, "w")
    for seq, rows in enumerate(life.before):
        data.advance_to(seq)
        assert dict(data.rows) == rows
        assert data.list("", None, None) == sorted(rows.items())


def test_rolled_data_are_listed_by_prefix_and_after_a_key():
    log = MemLog()
    Book(log).write("w", genesis(), *(edit(key, b"1") for key in KEYS))
    data = data_at(log, MemBlobs(), "w", len(KEYS))
    assert [key for key, _ in data.list("a", None, None)] == ["a", "a/1", "a/2"]
    assert [key for key, _ in data.list("a/", "a/1", None)] == ["a/2"]
    assert [key for key, _ in data.list("a", "b", None)] == []
    assert [key for key, _ in data.list("b", "a", 1)] == ["b"]
    assert data.list("", None, 0) == []
    assert [key for key, _ in data.list("", "b", None)] == ["b\ud800", "z", "é"]
    assert (data.get("é"), data.get("nope")) == (b"1", None)


def test_a_checkpoint_whose_blob_is_gone_is_passed_over():
    log, blobs = MemLog(), MemBlobs()
    rows = {"a": b"1"}
    Book(log).write("w", genesis(), edit("a", b"1"), checkpoint(blobs, rows, snapshot=1), edit("b", b"2"))
    row = Projection(None, log).checkpoint("w")
    blobs.remove(row.body.data_blob)
    assert dict(data_at(log, blobs, "w", 3, row).rows) == {"a": b"1", "b": b"2"}


def test_a_moment_that_is_not_there_is_refused_with_the_range():
    log = MemLog()
    Book(log).write("w", genesis(), edit("a", b"1"))
    for seq in (-1, 2, 2**70):
        with pytest.raises(
            NoMoment, match=f"world w has records 0 to 1, so there is no moment {seq}"
        ) as refused:
            projection_at(log, "w", seq)
        assert not refused.value.erased
    with pytest.raises(NoMoment, match="there is no world v"):
        data_at(log, MemBlobs(), "v", 0)


def test_a_purge_takes_the_moments_before_it_also_while_the_bodies_are_still_there():
    log = MemLog()
    last = Book(log).write("w", *EVERY_KIND)
    assert EVERY_KIND[-1] == Purge("asked")
    for erased in (False, True):
        if erased:
            log.seal()
            log.erase_bodies(lambda entry: entry.seq < last)
        with pytest.raises(NoMoment, match=f"purged by record {last}.*record 3 is gone for good") as refused:
            projection_at(log, "w", 3)
        assert refused.value.erased
        now = Projection(None, log)
        said = answers_of(now, "w")
        assert answers_of(projection_at(log, "w", last), "w") == said
        data = data_at(log, MemBlobs(), "w", last)
        sparse = answers_of(Moment.of(log, "w", last, now.records_but_data("w", last), data), "w")
        assert [sparse[i] for i in SPARSE] == [said[i] for i in SPARSE]
        assert dict(data_at(log, MemBlobs(), "w", last).rows) == {}


def test_bodies_of_old_reading_calls_may_be_gone_and_others_may_not():
    life = Life("old")
    life.live_on(60)
    life.log.seal()
    moments = [answers_of(projection_at(life.log, "w", seq), "w") for seq in range(61)]
    assert life.log.erase_bodies(lambda entry: only_answered(decode(entry)[1])) > 0
    for seq in range(61):
        now = answers_of(projection_at(life.log, "w", seq), "w")
        assert now[:REQUESTS] + now[RECORDS:] == moments[seq][:REQUESTS] + moments[seq][RECORDS:]
    life.log.erase_bodies(lambda entry: entry.world == "w" and entry.seq == 0)
    with pytest.raises(NoMoment, match="the body of record 0, a genesis, is erased"):
        projection_at(life.log, "w", 20)


def test_a_record_that_does_not_follow_is_refused():
    log = MemLog()
    book = Book(log)
    book.write("w", genesis())
    book.ends["w"] = (0, "f" * 64)
    book.write("w", edit("a", b"1"), edit("b", b"1"))
    with pytest.raises(RecordRotten, match="it does not follow record 0"):
        projection_at(log, "w", 2)


def test_more_records_than_one_step_are_applied():
    log = MemLog()
    many = 2 * MOMENT_RECORDS_STEP + 3
    book = Book(log)
    book.write("w", genesis())
    for start in range(0, many, 100):
        book.write("w", *(edit(f"k{i % 7}", b"%d" % i) for i in range(start, min(start + 100, many))))
    moment = projection_at(log, "w", many)
    assert moment.seq == moment.world("w").seq == many
    assert [row.value for row in moment.data("w", "", None, 9).rows] == [
        b"%d" % max(i for i in range(many) if i % 7 == key) for key in range(7)
    ]
