"""Copies: a new world from what another was at a record, with nothing of what was promised to somebody."""

from __future__ import annotations

import io

import pytest

from engine.host import NotThere, SimulatedHost, answers, simulated
from engine.host.api import Gone
from engine.host.images import root_of
from engine.host.machine import machine
from engine.host.replaying import replay
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk, crash_images
from engine.io.sim_entropy import SimEntropy
from engine.record import kinds
from engine.record.recording import read_recording
from engine.record.records import decode
from engine.record.verify import verify

SOURCE = """
/** Adds. */
function add(n) { const sum = (data.get("sum") ?? 0) + n; data.set("sum", sum); return sum }
const seen = state("seen", () => ({ times: 3 }));
function times() { return seen.times }
function draw() { return Math.random() }
function fail() { throw new Error("on purpose") }
"""


@pytest.fixture
def host() -> SimulatedHost:
    return simulated("copies")


@pytest.fixture
def world(host: SimulatedHost) -> str:
    """Records: 0 genesis, 1 revision, 2 check, 3-6 calls, 7 revision, 8 incident, 9 edit."""
    world = host.create("origin", request_id="made").id
    host.perform(world, hub.Develop(SOURCE, "first"))
    host.perform(world, hub.Enrol("three", "times() === 3", "function times() { return 4 }"))
    for n in range(4):
        host.perform(world, hub.Call("add", b"[%d]" % 10**n), request_id=f"add-{n}")
    host.perform(world, hub.Develop("function late() { return 1 }", "second"))
    host.perform(world, hub.Call("fail", b"[]"))
    host.perform(world, hub.EditData("by hand\ud800", b'"kept"', "a key that is no Unicode"))
    return world


def called(host: SimulatedHost, world: str, function: str, args: bytes = b"[]") -> bytes:
    return bytes(host.perform(world, hub.Call(function, args)).value)


def kinds_of(host: SimulatedHost, world: str) -> list[str]:
    return [decode(entry)[0].kind for _, entry in host.parts.log.read(world)]


def rows(host: SimulatedHost, world: str) -> list[tuple[str, bytes]]:
    return [(row.key, bytes(row.value)) for row in host.data(world, prefix="", after=None, limit=1000).items]


@pytest.mark.parametrize(
    ("at", "functions", "sum_", "checks"),
    [
        (0, [], None, []),
        (1, ["add", "draw", "fail", "times"], None, []),
        (4, ["add", "draw", "fail", "times"], b"11", ["three"]),
        (7, ["add", "draw", "fail", "late", "times"], b"1111", ["three"]),
        (None, ["add", "draw", "fail", "late", "times"], b"1111", ["three"]),
    ],
)
def test_a_copy_is_what_its_origin_was_after_that_record(host, world, at, functions, sum_, checks):
    copy = host.copied(world, "copy", at=at)
    assert isinstance(copy, answers.Created) and copy.revision == 0
    assert [row.name for row in host.functions(copy.id)] == functions
    assert [row.name for row in host.checks(copy.id).checks] == checks
    expected = [("sum", sum_)] if sum_ else []
    assert rows(host, copy.id) == ([("by hand\ud800", b'"kept"')] if at is None else []) + expected
    if functions:
        assert called(host, copy.id, "times") == b"3"
        assert host.function(copy.id, "add").doc == "Adds."


def test_a_copy_says_where_it_comes_from_and_has_nothing_that_was_promised(host, world):
    host.perform(world, hub.Grant((host.create("other").id,)))
    host.perform(world, hub.SetPage("public", ("add",)))
    copy = host.copied(world, "copy")
    (_, genesis), *_ = host.parts.log.read(copy.id)
    last = host.parts.log.last(world)
    assert last is not None and decode(genesis)[1].origin == kinds.Origin(world, *last)
    assert kinds_of(host, copy.id) == ["genesis", "check-enrolled", "data-copied"]
    assert host.grants(copy.id).worlds == [] and host.page(copy.id).access == "private"
    summary = host.world(copy.id)
    assert (summary.revision, summary.incidents, summary.name) == (0, 0, "copy")
    once_more = host.perform(copy.id, hub.Call("add", b"[5]"), request_id="add-3")
    assert bytes(once_more.value) == b"1116", "its origin's request ids are not its own"


def test_a_copy_and_its_origin_go_their_own_ways_and_draw_their_own_randomness(host, world):
    copy = host.copied(world, "copy").id
    assert called(host, copy, "add", b"[1]") == b"1112" and called(host, world, "add", b"[2]") == b"1113"
    host.perform(copy, hub.Develop("function late() { return 2 }", "copy"))
    assert (called(host, copy, "late"), called(host, world, "late")) == (b"2", b"1")
    assert called(host, copy, "draw") != called(host, world, "draw")
    host.perform(world, hub.Purge("the origin goes"))
    host.settle()
    assert host.collect().ok
    assert called(host, copy, "times") == b"3"


def test_errors_in_a_copy_point_into_the_text_as_it_was_written_in_the_origin(host, world):
    first = host.perform(world, hub.Call("fail", b"[]"))
    copy = host.copied(world, "copy").id
    copy_of_copy = host.copied(copy, "copy of copy").id
    host.perform(world, hub.Purge("the origin goes"))
    for one in (copy, copy_of_copy):
        assert host.perform(one, hub.Call("fail", b"[]")).error == first.error
    assert "(pw:" in first.error and ":7:" in first.error


def test_the_check_of_a_copy_judges_its_changes(host, world):
    copy = host.copied(world, "copy").id
    rejected = host.perform(copy, hub.Develop("function times() { return 4 }", "no"))
    assert isinstance(rejected, answers.Rejected) and rejected.check == "three"


@pytest.mark.parametrize("redact", [False, True])
def test_what_a_copy_did_replays_from_its_recording_alone(host, world, redact):
    copy = host.copied(world, "copy").id
    host.perform(copy, hub.Call("fail", b"[]"))
    host.perform(copy, hub.EditData("by hand", b"1", "an edit"))
    host.perform(copy, hub.Develop("function late() { return 2 }", "changed"))
    host.perform(copy, hub.Rollback(0, "as it began"))
    called(host, copy, "draw")
    host.settle()
    recording = read_recording(io.BytesIO(host.exported(copy, redact=redact)))
    replayed = replay(recording.log, recording.blobs, copy, machine())
    assert replayed.divergence is None and replayed.compared["revision"] == 2
    assert replayed.erased == (4 if redact else 0)


def test_copies_of_copies_and_restarts_three_times(host, world):
    for n in range(3):
        copy = host.copied(world, f"copy {n}").id
        assert called(host, copy, "add", b"[1]") == b"%d" % (1112 + n)
        host.perform(copy, hub.Develop(f"function depth() {{ return {n} }}", "depth"))
        host.shut_down()
        assert verify(host.parts.disk, SimEntropy(1), root_of=root_of) == []
        host = simulated(f"restarted {n}", disk=host.parts.disk)
        assert called(host, copy, "depth") == b"%d" % n
        world = copy
    host.perform(world, hub.Rollback(0, "what it began with"))
    assert [row.name for row in host.functions(world) if row.name == "depth"] == ["depth"]


def test_a_copy_under_a_request_id_is_made_once(host, world):
    first = host.copied(world, "copy", request_id="one")
    assert host.copied(world, "copy", request_id="one") == first
    for refused in (
        host.copied(world, "another", request_id="one"),
        host.copied(world, "copy", at=3, request_id="one"),
        host.create("copy", request_id="one"),
        host.copied(world, "origin", request_id="made"),
    ):
        assert isinstance(refused, answers.Refused) and refused.refused == "request-conflict"
    host.shut_down()
    again = simulated("again", disk=host.parts.disk)
    assert again.copied(world, "copy", request_id="one") == first
    assert len(again.worlds()) == 2


def test_what_is_not_there_is_not_copied(host, world):
    with pytest.raises(NotThere, match="no world"):
        host.copied("no-such-world", "copy")
    with pytest.raises(NotThere, match="records 0 to 9"):
        host.copied(world, "copy", at=10)
    host.perform(world, hub.Purge("gone"))
    with pytest.raises(Gone, match="purged"):
        host.copied(world, "copy", at=3)
    assert [summary.id for summary in host.worlds()] == []


def test_much_data_comes_in_several_records(host, world, monkeypatch):
    fill = "function fill(n) { for (let i = 0; i < n; i++) data.set('k' + i, 'v'.repeat(50)) }"
    host.perform(world, hub.Develop(fill, "fill"))
    host.perform(world, hub.Call("fill", b"[100]"))
    monkeypatch.setattr("engine.host.copies.DATA_WRITES_BYTES_MAX", 1000)
    copy = host.copied(world, "copy").id
    assert kinds_of(host, copy).count("data-copied") == 8
    assert rows(host, copy) == rows(host, world) and len(rows(host, copy)) == 102


def test_a_crash_at_any_disk_operation_of_a_large_copy_leaves_it_whole_or_not_there(monkeypatch):
    """One that is cut off is ended by the next start: nobody was told of it."""
    monkeypatch.setattr("engine.record.recording.LOG_BATCH_RECORDS_MAX", 3)
    monkeypatch.setattr("engine.host.copies.DATA_WRITES_BYTES_MAX", 60)
    disk = SimDisk(seed="copy")
    host = simulated("copy", disk=disk)
    world = host.create("origin").id
    host.perform(world, hub.Develop(SOURCE, "first"))
    for n in range(20):
        host.perform(world, hub.EditData(f"k{n:02}", b'"%s"' % (b"v" * 20), "fill"))
    before = disk.ops
    copy = host.copied(world, "copy").id
    kinds_of_copy = kinds_of(host, copy)
    assert len(kinds_of_copy) > 9
    seen = set()
    for at in range(before, disk.ops + 1):
        (crash,) = crash_images(disk.trace, at, kinds=(("lost", "torn", "kept")[at % 3],), seeds=(at,))
        again = simulated(f"again {at}", disk=crash.disk)
        again.settle()
        there = [summary.id for summary in again.worlds(archived=True) if not summary.purged]
        if again.parts.log.last(copy) is None:
            seen.add("absent")
        elif copy in there:
            seen.add("whole")
            assert rows(again, copy) == rows(again, world)
        else:
            seen.add("ended")
            assert again.world(copy).purged and kinds_of(again, copy)[-1] == "purge"
        assert world in there and crash.disk.list("importing") == []
        if copy not in there:
            assert rows(again, again.copied(world, "copy").id) == rows(again, world)
        again.shut_down()
        assert verify(crash.disk, SimEntropy(1), root_of=root_of) == [], str(crash.point)
    assert seen == {"absent", "ended", "whole"}
