"""Worlds that come as recordings: whole, cut off or not there, whatever crashes; the same records, a new lineage."""

from __future__ import annotations

import functools
import io
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from oracle import hashes_of

from engine.clock.clock import SimClock
from engine.host import NotThere, SimulatedHost, answers, simulated
from engine.host.images import root_of
from engine.host.recording_answers import AlreadyHere, Imported
from engine.hub import messages as hub
from engine.io.crash_images import CRASH_KINDS
from engine.io.sim_disk import CrashImage, SimDisk, crash_images
from engine.io.sim_entropy import SimEntropy
from engine.limits import FLICKS_PER_SECOND
from engine.record import kinds
from engine.record.records import decode
from engine.record.verify import verify

SOURCE = """
function add(n) { const sum = (data.get("sum") ?? 0) + n; data.set("sum", sum); return sum }
function draw() { return Math.random() }
function fail() { throw new Error("on purpose") }
"""
DAY = 24 * 3600 * FLICKS_PER_SECOND
SMALL_BATCH = 8


def later(days: int = 1) -> SimClock:
    """A clock of another machine, on which everything that was recorded is past."""
    clock = SimClock()
    clock.advance_by(days * DAY)
    return clock


@dataclass(frozen=True)
class Origin:
    """A world that was lived elsewhere: its recording and the hashes of its records."""

    world: str
    recording: bytes
    hashes: list[str]
    sum: int


@functools.cache
def origin() -> Origin:
    """Some 40 records with several heaps, an incident, a check and a checkpoint."""
    host = simulated("origin")
    world = host.create("origin", request_id="made").id
    host.perform(world, hub.Develop(SOURCE, "first"), request_id="first")
    host.perform(world, hub.Enrol("draws", "draw() < 1", "function draw() { return 2 }"))
    for n in range(12):
        host.perform(world, hub.Call("add", b"[%d]" % n), request_id=f"add-{n}")
        host.perform(world, hub.Call("draw", b"[]"))
        if n % 4 == 0:
            host.perform(world, hub.Develop(f"const s{n} = state('s{n}', () => [{n}])", f"state {n}"))
            host.perform(world, hub.Call("fail", b"[]"))
    host.perform(world, hub.Checkpoint())
    host.settle()
    return Origin(world, host.exported(world), hashes_of(host)[world], sum(range(12)))


def importing_host(disk: SimDisk, seed: str = "importing") -> SimulatedHost:
    return simulated(seed, disk=disk, clock=later())


def total(host: SimulatedHost, world: str) -> int:
    """What the world says that it has summed up."""
    return int(bytes(host.perform(world, hub.Call("add", b"[0]")).value))


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of few records, so that a short recording comes in several."""
    monkeypatch.setattr("engine.record.recording.LOG_BATCH_RECORDS_MAX", SMALL_BATCH)


# ---- what an import is


def test_an_imported_world_has_the_same_records_and_a_lineage_of_its_own():
    host = importing_host(SimDisk())
    imported = host.imported(origin().recording)
    assert isinstance(imported, Imported)
    assert (imported.id, imported.name) == (origin().world, "origin")
    assert hashes_of(host)[origin().world][:-1] == origin().hashes
    (*_, (_, last)) = host.parts.log.read(origin().world)
    assert decode(last)[1] == kinds.Imported(imported.lineage, len(origin().hashes), origin().hashes[-1])
    assert total(host, origin().world) == origin().sum
    assert host.exported(origin().world, until=len(origin().hashes) - 1) == origin().recording
    assert host.parts.disk.list("importing") == []


def test_two_imports_of_one_recording_are_two_lineages_that_draw_differently():
    hosts = [importing_host(SimDisk(), f"importing {n}") for n in range(2)]
    lineages = [host.imported(origin().recording).lineage for host in hosts]
    draws = [bytes(host.perform(origin().world, hub.Call("draw", b"[]")).value) for host in hosts]
    assert len(set(lineages)) == len(set(draws)) == 2


def test_importing_and_exporting_three_times_goes_on_as_one_chain():
    recording, hashes = origin().recording, origin().hashes
    for n in range(1, 4):
        host = simulated(f"station {n}", clock=later(n))
        assert isinstance(host.imported(recording), Imported)
        assert bytes(host.perform(origin().world, hub.Call("add", b"[100]")).value) == b"%d" % (
            origin().sum + 100 * n
        )
        host.perform(origin().world, hub.Develop(f"function station() {{ return {n} }}", f"station {n}"))
        assert hashes_of(host)[origin().world][: len(hashes)] == hashes
        recording, hashes = host.exported(origin().world), hashes_of(host)[origin().world]
        host.shut_down()
        assert verify(host.parts.disk, SimEntropy(1), root_of=root_of) == []


def test_what_the_world_answered_under_a_request_id_it_answers_here_too():
    host = simulated("importing", clock=later(0))
    host.shell.run_for(60 * FLICKS_PER_SECOND)
    host.imported(origin().recording)
    again = host.perform(origin().world, hub.Call("add", b"[11]"), request_id="add-11")
    assert (int(bytes(again.value)), total(host, origin().world)) == (origin().sum, origin().sum)


def test_the_request_id_that_made_the_world_there_makes_another_one_here():
    host = simulated("importing", clock=later(0))
    host.shell.run_for(60 * FLICKS_PER_SECOND)
    host.imported(origin().recording)
    created = host.create("mine", request_id="made")
    assert isinstance(created, answers.Created) and created.id != origin().world
    reopened = _reopened(host)
    assert reopened.create("mine", request_id="made").id == created.id


def _reopened(host: SimulatedHost) -> SimulatedHost:
    host.shut_down()
    clock = SimClock()
    clock.advance_to(host.shell.clock.monotonic_flicks())
    return simulated("reopened", disk=host.parts.disk, clock=clock)


def test_importing_what_is_here_already_does_nothing_also_where_it_went_on():
    host = importing_host(SimDisk())
    host.imported(origin().recording)
    host.perform(origin().world, hub.Call("add", b"[1]"))
    records = len(hashes_of(host)[origin().world])
    answer = host.imported(origin().recording)
    assert answer == AlreadyHere(origin().world, "origin", len(origin().hashes), origin().hashes[-1])
    assert len(hashes_of(host)[origin().world]) == records


def test_two_imports_at_once_make_one_world(small_batches):
    host = importing_host(SimDisk())
    heard: list = []
    for _ in range(3):
        host.import_recording(_source, actor="operator", done=heard.append)
    host.shell.run_until(lambda: len(heard) == 3)
    assert sorted(type(answer).__name__ for answer in heard) == ["Imported", "Refused", "Refused"]
    assert {answer.refused for answer in heard if isinstance(answer, answers.Refused)} == {"importing"}
    assert isinstance(host.imported(origin().recording), AlreadyHere)


def _source() -> io.BytesIO:
    return io.BytesIO(origin().recording)


def test_a_world_that_went_another_way_is_left_alone():
    there = simulated("there", clock=later())
    there.imported(origin().recording)
    there.perform(origin().world, hub.Call("add", b"[1]"))
    there.settle()
    here = simulated("here", clock=later(2))
    here.imported(origin().recording)
    before = hashes_of(here)
    refused = here.imported(there.exported(origin().world))
    assert isinstance(refused, answers.Refused) and refused.refused == "exists"
    assert hashes_of(here) == before


def test_calls_that_were_admitted_there_are_not_run_here():
    """Whoever admitted them runs them; here they would be run twice."""
    there = simulated("there")
    world = there.create("w").id
    there.perform(world, hub.Develop(SOURCE, "first"))
    started = there.perform(world, hub.Call("add", b"[5]", asynchronous=True))
    assert isinstance(started, answers.Started)
    early = there.exported(world, until=started.operation)
    there.settle()
    assert there.operation(world, started.operation).state == "ended"
    host = importing_host(SimDisk())
    host.imported(early)
    for _ in range(2):
        host.settle()
        assert host.operation(world, started.operation).state == "not-run"
        assert total(host, world) == 0
        host = _reopened(host)


def test_grants_and_the_page_begin_anew():
    there = simulated("there")
    world, other = there.create("w").id, there.create("other").id
    there.perform(world, hub.Grant((other,)))
    there.perform(world, hub.SetPage("public", ("add",)))
    host = importing_host(SimDisk())
    host.imported(there.exported(world))
    assert host.grants(world).worlds == [] and host.page(world).access == "private"
    host.perform(world, hub.SetPage("public", ()))
    assert _reopened(host).page(world).access == "public"


def test_several_batches_from_the_future_wait_for_the_clock(small_batches, monkeypatch):
    monkeypatch.setattr("engine.host.recordings.limits.LOG_BATCH_RECORDS_MAX", SMALL_BATCH)
    there = simulated("there", clock=later(9))
    there.imported(origin().recording)
    here = simulated("here", clock=later(2))
    refused = here.imported(there.exported(origin().world))
    assert isinstance(refused, answers.Refused) and refused.refused == "clock"
    assert here.worlds() == []
    here.shell.run_for(8 * DAY)
    assert isinstance(here.imported(there.exported(origin().world)), Imported)


# ---- while it comes


def test_nobody_sees_a_world_before_all_its_batches_are_there_and_the_others_go_on(small_batches):
    host = importing_host(SimDisk())
    beside = host.create("beside").id
    host.perform(beside, hub.Develop(SOURCE, "first"))
    heard: list = []
    seen: list[int] = []
    host.import_recording(_source, actor="operator", done=heard.append)
    while not heard:
        seen.append(total(host, beside))
        assert [world.id for world in host.worlds()] == [beside] or heard
        if not heard:
            with pytest.raises(NotThere):
                host.world(origin().world)
            refused = host.perform(origin().world, hub.Call("add", b"[1]"))
            assert isinstance(refused, answers.Refused | answers.Missing) or heard
    assert isinstance(heard[0], Imported) and len(seen) > len(origin().hashes) // SMALL_BATCH
    assert host.parts.disk.list("importing") == []
    assert total(host, origin().world) == origin().sum


def test_what_fits_in_one_batch_needs_no_file():
    disk = SimDisk()
    host = importing_host(disk)
    host.imported(origin().recording)
    assert not disk.exists("importing")


def test_a_server_that_drains_ends_an_import_between_two_batches(small_batches):
    disk = SimDisk()
    host = importing_host(disk)
    heard: list = []
    host.import_recording(_source, actor="operator", done=heard.append)
    host.shell.run_until(lambda: host.parts.log.last(origin().world) is not None)
    host.shut_down()
    (refused,) = heard
    assert isinstance(refused, answers.Refused) and refused.refused == "draining"
    again = importing_host(disk, "again")
    assert again.is_cut_off(origin().world)
    _assert_cut_off_and_resumable(again)


def test_a_backup_leaves_out_what_is_not_whole_yet(small_batches):
    host = importing_host(SimDisk())
    beside = host.create("beside").id
    host.perform(beside, hub.Develop(SOURCE, "first"))
    heard: list = []
    host.import_recording(_source, actor="operator", done=heard.append)
    host.shell.run_until(lambda: host.parts.log.last(origin().world) is not None)
    reports: list = []
    host.backup("backup", done=reports.append)
    host.shell.run_until(lambda: bool(reports and heard))
    assert reports[0].ok and reports[0].report["worlds"] == 1 and isinstance(heard[0], Imported)
    restored = simulated("restored", disk=host.disks["backup"], clock=later())
    assert [world.id for world in restored.worlds()] == [beside]
    assert isinstance(restored.imported(origin().recording), Imported)
    assert host.back_up("whole").report["worlds"] == 2


# ---- crashes


def _live_with_an_import(disk: SimDisk) -> tuple[str, int, int]:
    """A world beside it, and the disk's operations before and after the import."""
    host = importing_host(disk)
    beside = host.create("beside").id
    host.perform(beside, hub.Develop(SOURCE, "first"))
    host.perform(beside, hub.Call("add", b"[7]"))
    before = disk.ops
    assert isinstance(host.imported(origin().recording), Imported)
    return beside, before, disk.ops


def _images(disk: SimDisk, start: int, end: int, *, step: int) -> Iterator[CrashImage]:
    """Points of the import with one kind of crash each, in turn, and its end with all."""
    in_turn = itertools.cycle(CRASH_KINDS)
    for at in range(start, end, step):
        yield from crash_images(disk.trace, at, kinds=(next(in_turn),), seeds=(at,))
    yield from crash_images(disk.trace, end, seeds=(end,))


def _assert_cut_off_and_resumable(host: SimulatedHost) -> None:
    world = origin().world
    assert world not in [summary.id for summary in host.worlds(archived=True)]
    with pytest.raises(NotThere):
        host.world(world)
    refused = host.perform(world, hub.Call("add", b"[1]"))
    assert isinstance(refused, answers.Refused) and refused.refused == "importing"
    assert "cut off after" in refused.error and refused.hint is not None and "purge" in refused.hint
    assert any(world in warning for warning in host.health().warnings)
    here = hashes_of(host)[world]
    assert here == origin().hashes[: len(here)]
    assert host.collect().ok, "what is missing is not missed"
    assert isinstance(host.imported(origin().recording), Imported)
    assert not any(world in warning for warning in host.health().warnings)


def _assert_absent_cut_off_or_whole(point, disk: SimDisk, beside: str, *, acknowledged: bool) -> str:
    host = importing_host(disk, f"reopened {point.at}")
    world = origin().world
    assert total(host, beside) == 7
    if host.parts.log.last(world) is None:
        state = "absent"
        assert not host.is_cut_off(world) and isinstance(host.imported(origin().recording), Imported)
    elif host.is_cut_off(world):
        state = "cut off"
        _assert_cut_off_and_resumable(host)
    else:
        state = "whole"
        assert isinstance(host.imported(origin().recording), AlreadyHere)
    assert state == "whole" or not acknowledged
    assert hashes_of(host)[world][: len(origin().hashes)] == origin().hashes
    assert total(host, world) == origin().sum
    host.shut_down()
    assert disk.list("importing") == []
    assert verify(disk, SimEntropy(1), root_of=root_of) == []
    return state


@pytest.mark.parametrize("in_batches_of", [SMALL_BATCH, 512])
def test_a_crash_at_any_disk_operation_of_an_import_leaves_it_whole_cut_off_or_not_there(
    in_batches_of, monkeypatch
):
    monkeypatch.setattr("engine.record.recording.LOG_BATCH_RECORDS_MAX", in_batches_of)
    disk = SimDisk(seed="import")
    beside, start, end = _live_with_an_import(disk)
    states: dict[str, int] = {}
    for point, image in _images(disk, start, end, step=1 if in_batches_of == SMALL_BATCH else 2):
        try:
            state = _assert_absent_cut_off_or_whole(point, image, beside, acknowledged=point.at == end)
        except BaseException as error:
            error.add_note(str(point))
            raise
        states[state] = states.get(state, 0) + 1
    expected = {"absent", "cut off", "whole"} if in_batches_of == SMALL_BATCH else {"absent", "whole"}
    assert set(states) == expected


def _one_batch_further(host: SimulatedHost) -> None:
    """Import until one more batch is in the log."""
    before = host.parts.log.last(origin().world)
    host.import_recording(_source, actor="operator", done=lambda _: None)
    host.shell.run_until(lambda: host.parts.log.last(origin().world) != before)


def test_an_import_that_is_cut_off_after_each_batch_comes_to_its_end(small_batches):
    disk = SimDisk(seed="again")
    batches = -(-(len(origin().hashes) + 1) // SMALL_BATCH)
    for n in range(batches):
        host = importing_host(disk, f"try {n}")
        assert host.is_cut_off(origin().world) is (n > 0)
        _one_batch_further(host)
        host.kill()
        disk = disk.after_power_loss("lost", seed=n)
    host = importing_host(disk, "whole")
    assert not host.is_cut_off(origin().world) and total(host, origin().world) == origin().sum
    assert len(hashes_of(host)[origin().world]) == len(origin().hashes) + 2


# ---- what was cut off, and is not gone on with


def _cut_off(disk: SimDisk) -> SimulatedHost:
    host = importing_host(disk)
    host.import_recording(_source, actor="operator", done=lambda _: None)
    host.shell.run_until(lambda: host.parts.log.last(origin().world) is not None)
    host.kill()
    return importing_host(disk.after_power_loss("lost", seed=1), "after")


def test_what_was_cut_off_can_be_purged(small_batches):
    host = _cut_off(SimDisk())
    assert host.is_cut_off(origin().world)
    assert isinstance(host.perform(origin().world, hub.Purge("never mind")), answers.Done)
    host.settle()
    assert host.world(origin().world).purged and not host.is_cut_off(origin().world)
    assert host.parts.disk.list("importing") == []
    again = _reopened(host)
    assert again.world(origin().world).purged
    refused = again.imported(origin().recording)
    assert isinstance(refused, answers.Refused) and refused.refused == "purged"
    assert again.collect().ok
    again.shut_down()
    assert verify(again.parts.disk, SimEntropy(1), root_of=root_of) == []


def test_another_recording_of_the_world_does_not_go_on_with_it(small_batches):
    there = simulated("there", clock=later())
    there.imported(origin().recording)
    host = _cut_off(SimDisk())
    refused = host.imported(there.exported(origin().world))
    assert isinstance(refused, answers.Refused) and refused.refused == "importing"
    assert host.is_cut_off(origin().world)
    _assert_cut_off_and_resumable(host)


def test_a_file_that_says_nothing_leaves_its_world_out_of_sight(small_batches):
    host = _cut_off(SimDisk())
    disk = host.parts.disk
    host.shut_down()
    file = disk.open(f"importing/{origin().world}")
    file.truncate(0)
    file.sync()
    disk.open("importing/NOT-OURS", create=True).close()
    again = importing_host(disk, "again")
    assert again.is_cut_off(origin().world)
    assert again.imported(origin().recording).refused == "importing"
    assert isinstance(again.perform(origin().world, hub.Purge("unreadable")), answers.Done)
    again.settle()
    assert disk.list("importing") == ["NOT-OURS"]


# ---- storage that fails


def _syncs_of_an_import() -> int:
    disk = SimDisk(seed="syncs")
    host = importing_host(disk)
    before = disk.syncs
    host.imported(origin().recording)
    return disk.syncs - before


def test_each_sync_that_fails_in_an_import_leaves_it_to_be_gone_on_with(small_batches):
    for n in range(1, _syncs_of_an_import() + 1):
        disk = SimDisk(seed="syncs")
        host = importing_host(disk)
        disk.faults.failing_syncs.add(disk.syncs + n, 1)
        answer = host.imported(origin().recording)
        if not isinstance(answer, Imported):
            assert isinstance(answer, answers.Refused) and answer.refused == "read-only", n
            host.shell.run_for(2 * FLICKS_PER_SECOND)
            again = host.imported(origin().recording)
            if isinstance(again, answers.Refused):  # what a directory's sync said is not asked again
                host.kill()
                host = importing_host(disk.after_power_loss("lost", seed=n), "started again")
                again = host.imported(origin().recording)
            assert isinstance(again, Imported), n
        host.shell.run_for(2 * FLICKS_PER_SECOND)
        assert total(host, origin().world) == origin().sum
        assert hashes_of(host)[origin().world][: len(origin().hashes)] == origin().hashes
        host.shut_down()
        assert verify(host.parts.disk, SimEntropy(1), root_of=root_of) == []


def test_blobs_of_an_import_that_came_to_nothing_are_collected():
    disk = SimDisk(seed="full")
    host = importing_host(disk)
    names = host.parts.blobs.names()
    disk.faults.failing_syncs.add(disk.syncs + 12, 1)
    assert isinstance(host.imported(origin().recording), answers.Refused)
    host.shell.run_for(2 * FLICKS_PER_SECOND)
    assert host.collect().ok
    assert host.parts.blobs.names() == names and host.worlds() == []


# ---- engines and preludes


def test_a_recording_of_another_engine_is_refused_with_both_named(monkeypatch):
    host = importing_host(SimDisk())
    mine = host.parts.engines.identity
    monkeypatch.setattr(host.parts.engines, "_pools", {"another engine": host.parts.engines.pool})
    monkeypatch.setattr(host.parts.engines, "_load", lambda wasm: (_Other(), host.parts.engines.pool))
    refused = host.imported(origin().recording)
    assert isinstance(refused, answers.Refused) and refused.refused == "foreign"
    assert f"'{mine}'" in refused.error and "'another engine'" in refused.error
    assert host.worlds() == []


class _Other:
    identity = "another engine"


def test_a_recording_of_a_newer_prelude_is_refused_with_both_named(monkeypatch):
    host = importing_host(SimDisk())
    version = host.parts.prelude_version
    monkeypatch.setattr(host.parts, "prelude_version", version - 1)
    refused = host.imported(origin().recording)
    assert isinstance(refused, answers.Refused) and refused.refused == "recording"
    assert f"prelude {version}" in refused.error and f"prelude {version - 1}" in refused.error
