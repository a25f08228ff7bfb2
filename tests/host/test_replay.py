"""Records lived again by the same hub and VM: every kind of operation, from every record on, on every path."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from life import SEGMENT_BYTES, SHOUT, live_once
from replays import assert_equal, assert_equal_from_everywhere, entries_of, replayed
from test_peers import RATES, SHOP, Town
from test_serial import all_at_once

from engine import limits
from engine.host import SimulatedHost, simulated
from engine.host.engines import EngineForeign
from engine.host.jobs import Snapshot
from engine.host.machine import machine, machine_of
from engine.host.replaying import CannotReplay, replay
from engine.host.replaying_kinds import HOW
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk
from engine.limits import FLICKS_PER_SECOND
from engine.logic import PRELUDE_VERSION, Interrupt
from engine.record import kinds
from engine.record.recording import read_recording, write_recording
from engine.record.records import KINDS, decode

HERE = Path(__file__).parent
UNEVEN = "function up(text) { return text + '!' }"


def bodies_of(host: SimulatedHost, world: str, kind: type[Any]) -> list[Any]:
    bodies = [decode(entry)[1] for entry in entries_of(host.parts.log, world)]
    return [body for body in bodies if isinstance(body, kind)]


@pytest.fixture
def world() -> tuple[SimulatedHost, str]:
    host = simulated("replay")
    made = host.create("one").id
    host.perform(made, hub.Develop(SHOUT, "the beginning"))
    return host, made


@pytest.fixture
def town() -> Town:
    town = Town()
    town.world("rates", RATES)
    town.host.perform(town.ids["rates"], hub.EditData("JPY", b"150", "today's"))
    town.world("shop", SHOP, grants=("rates",))
    return town


def test_every_kind_of_record_can_be_lived_again() -> None:
    assert set(HOW) == set(KINDS) - {"genesis"}


def test_a_life_replays_from_every_record_on_and_each_record_alone() -> None:
    host = simulated("replay", segment_bytes_max=SEGMENT_BYTES)
    one, two, purged = live_once(host)
    for world in (one, two):
        assert_equal_from_everywhere(host, world)
    with pytest.raises(CannotReplay, match="was purged by record 2"):
        replayed(host, purged)


@pytest.mark.parametrize("seed", [3])
def test_200_calls_at_once_over_four_worlds_replay_in_each_of_them(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts: list[SimulatedHost] = []
    monkeypatch.setattr("test_serial.simulated", lambda seed: hosts.append(simulated(seed)) or hosts[-1])
    all_at_once(seed)
    (host,) = hosts
    waited = 0
    for world in host.parts.log.worlds():
        outcome = assert_equal(host, world)
        waited += sum(bool(call.answers) for call in bodies_of(host, world, kinds.Call))
        middle = outcome.until_seq // 2
        assert replayed(host, world, from_seq=middle).count == outcome.until_seq - middle + 1
    assert waited > 50, "calls waited for other worlds"


def test_what_other_worlds_said_is_heard_again_in_its_order(town: Town) -> None:
    rates = town.ids["rates"]
    town.value("shop", "twice")
    town.value("shop", "both")
    town.value("shop", "careful", "GBP")
    town.call("shop", "price", 1, "GBP")
    town.call("shop", "forget")
    town.host.perform(
        town.ids["shop"], hub.Execute(f"worlds.functions('{rates}').then(rows => rows.map(row => row.name))")
    )
    town.world("stranger", SHOP.replace("ids => ids[0]", f"() => '{rates}'"))
    town.call("stranger", "price", 1, "JPY")
    for name in ("shop", "rates", "stranger"):
        assert_equal_from_everywhere(town.host, town.ids[name])


def test_a_preview_in_another_world_replays_with_what_the_first_would_have_written_before(town: Town) -> None:
    town.host.perform(town.ids["shop"], hub.Execute("twice()"))
    town.host.perform(town.ids["shop"], hub.Execute("both()"))
    previews = bodies_of(town.host, town.ids["rates"], kinds.Preview)
    assert [[write.key for write in preview.overlay] for preview in previews[:2]] == [[], ["n"]]
    for name in ("shop", "rates"):
        assert_equal(town.host, town.ids[name])


def test_a_preview_sees_one_overlay_however_long_it_waits() -> None:
    """`slow` waits while `quick`, asked beside it by the same preview, would write what `slow` reads last."""
    town = Town("overlay")
    town.world("far", "function nothing() { return null }")
    town.world(
        "near",
        """
        function quick() { data.set("k", "quick"); return data.get("k") }
        async function slow(far) {
          const before = data.get("k") ?? null;
          for (let n = 0; n < 5; n += 1) await worlds.call(far, "nothing");
          return [before, data.get("k") ?? null];
        }
        """,
        grants=("far",),
    )
    town.world("asker", grants=("near",))
    near, far = town.ids["near"], town.ids["far"]
    preview = town.host.perform(
        town.ids["asker"],
        hub.Execute(f"Promise.all([worlds.call('{near}', 'slow', '{far}'), worlds.call('{near}', 'quick')])"),
    )
    assert json.loads(bytes(preview.value)) == [[None, None], "quick"]
    assert_equal(town.host, near)


def test_a_time_out_replays_as_one(town: Town) -> None:
    shop, rates = town.ids["shop"], town.ids["rates"]
    heard: list[Any] = []
    submit = town.host._submit
    town.host._submit = lambda world, *args, **kwargs: (  # type: ignore[method-assign]
        submit(world, *args, **kwargs) if world != rates else None
    )
    for function, args in (("price", b'[1,"JPY"]'), ("careful", b'["JPY"]')):
        town.host.submit(shop, hub.Call(function, args), actor="operator", request_id=None, done=heard.append)
    town.host.shell.run_for(31 * FLICKS_PER_SECOND)
    assert heard[0].failure == "timeout"
    answers_ = [answer for call in bodies_of(town.host, shop, kinds.Call) for answer in call.answers]
    assert [answer.kind for answer in answers_] == ["timeout", "timeout"]
    assert_equal(town.host, shop)


def test_an_admitted_call_replays_and_so_does_one_that_another_process_ended(town: Town) -> None:
    shop = town.ids["shop"]
    town.host.perform(shop, hub.Call("twice", b"[]", asynchronous=True), request_id="first")
    town.host.settle()
    assert_equal_from_everywhere(town.host, shop)
    town.host.perform(shop, hub.Call("twice", b"[]", asynchronous=True), request_id="later")
    town.host.shell.run_until(lambda: town.data("rates").get("n") == 3)
    ops = town.host.runtimes.get(shop).hub.ops
    town.host.shell.run_until(lambda: [op.phase for op in ops.values()] == ["parked"])
    town.host.kill()
    again = Town("again", town.disk)
    again.host.settle()
    again.call("shop", "price", 2, "JPY")
    for world in again.ids.values():
        assert_equal_from_everywhere(again.host, world)


def test_what_spent_its_budget_replays_to_the_last_unit_of_fuel(
    world: tuple[SimulatedHost, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    host, one = world
    monkeypatch.setattr(limits, "CALL_FUEL_MAX", 20_000_000)
    monkeypatch.setattr(limits, "DEVELOP_FUEL_MAX", 20_000_000)
    host.perform(one, hub.Develop("while (true) {}", "for ever"))
    host.perform(one, hub.Execute("(() => { for (;;) console.log('on') })()"))
    host.perform(one, hub.Develop("function loop() { data.set('k', 1); for (;;); }", "a loop"))
    assert host.perform(one, hub.Call("loop", b"[]")).failure == "budget"
    assert_equal_from_everywhere(host, one)


def test_what_was_interrupted_its_retry_and_a_dismissal_replay(world: tuple[SimulatedHost, str]) -> None:
    host, one = world
    disk = host.parts.disk
    host.submit(one, hub.Call("bump", b'["k"]'), actor="operator", request_id="lost", done=lambda _: None)
    host.kill()
    assert isinstance(disk, SimDisk)
    again = simulated("again", disk=disk)
    again.settle()
    failed = again.perform(one, hub.Call("fail", b'["x"]'))
    again.perform(one, hub.Develop("function fail(text) { data.set('mended', text); return 1 }", "mended"))
    assert again.perform(one, hub.Call("bump", b'["k"]', retries=1)).ok
    assert again.perform(one, hub.Call("fail", b'["x"]', retries=failed.incident)).ok
    again.perform(one, hub.Call("nobody", b"[]"))
    third = again.perform(one, hub.Call("bump", b'[{"toString": 1}]'))
    again.perform(one, hub.CloseIncident(third.incident, "dismissed", "not worth it"))
    assert len(bodies_of(again, one, kinds.Interrupted)) == 1
    assert_equal_from_everywhere(again, one)


def test_a_call_that_lost_too_often_replays_as_the_conflict_that_it_was(
    world: tuple[SimulatedHost, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    host, one = world
    monkeypatch.setattr(limits, "CALL_RERUNS_MAX", 1)
    heard: list[Any] = []
    for _ in range(8):
        host.submit(one, hub.Call("bump", b'["hot"]'), actor="a", request_id=None, done=heard.append)
    host.shell.run_until(lambda: len(heard) == 8)
    assert [answer.failure for answer in heard if not answer.ok].count("conflict") > 0
    assert_equal_from_everywhere(host, one)


def test_checks_generators_libraries_rollbacks_and_settings_replay(world: tuple[SimulatedHost, str]) -> None:
    host, one = world
    for operation in (
        hub.Enrol("loud", "up('a') === 'A'", "function up(text) { return text }"),
        hub.Enrol("even", "(s) => up(s) === up(up(s))", UNEVEN, "gen.text()"),
        hub.Enrol("even", "(s) => up(s) === up(up(s))", UNEVEN, "gen.text()"),
        hub.Enrol("even", "() => false", UNEVEN),
        hub.Enrol("small", "(n) => n < 10", UNEVEN, "gen.int()"),
        hub.Develop("function up(text) { return text }", "quiet"),
        hub.Develop("exports.twice = (x) => 2 * x", "a library", commonjs="lib"),
        hub.Develop("const s = state('s', () => ({ n: [1] })); s.n.push(Math.random())", "a state"),
        hub.Develop("class Point { constructor(x) { this.x = x } }", "a class"),
        hub.Develop("7", "nothing"),
        hub.Rollback(1, "back"),
        hub.Rollback(0, "to nothing, which the check forbids"),
        hub.Rollback(0, "to nothing all the same", force=True),
        hub.Rollback(1, "and back"),
        hub.RemoveCheck("loud", "enough"),
        hub.Grant((one,)),
        hub.SetPage("public", ("up",)),
        hub.Call("app", b"[]"),
        hub.Develop("function app() { return { status: 'x' } }", "a bad page"),
        hub.Call("app", b"[]"),
        hub.EditData("k", b"1", "by hand"),
        hub.EditData("k", None, "away"),
        hub.Describe(frozen=True),
        hub.Describe(frozen=False),
        hub.Checkpoint(),
        hub.Describe(archived=True),
        hub.Describe(archived=False),
        hub.Call("noise", b"[]"),
    ):
        host.perform(one, operation)
    rejections = bodies_of(host, one, kinds.Rejection)
    assert {rejection.cause for rejection in rejections} == {"check", "develop", "rollback"}
    middle = assert_equal(host, one).until_seq // 2
    assert replayed(host, one, from_seq=middle).is_equal


def test_an_interrupted_call_of_another_world_is_asked_anew_also_after_a_second_restart(town: Town) -> None:
    """What it was asked under belongs to the caller's next try; the record of the interruption must not claim it."""
    shop, rates = town.ids["shop"], town.ids["rates"]
    town.host.perform(shop, hub.Call("twice", b"[]", asynchronous=True), request_id="later")
    ops = town.host.runtimes.get(rates).hub.ops
    town.host.shell.run_until(lambda: [op.phase for op in ops.values()] == ["running"])
    town.host.kill()
    second = Town("second", town.disk)
    pending = second.host.runtimes.get(rates).hub.pending
    second.host.shell.run_until(lambda: [draft.kind for draft in pending] == ["call"])
    assert len(bodies_of(second.host, rates, kinds.Interrupted)) == 1
    second.host.kill()
    third = Town("third", town.disk)
    third.host.settle()
    assert third.data("rates") == {"JPY": 150, "n": 2}
    for world in third.ids.values():
        assert_equal(third.host, world)


@pytest.mark.parametrize("function", ["before", "midway"])
def test_what_the_watchdog_stopped_replays_to_the_fuel_at_which_it_did(
    world: tuple[SimulatedHost, str], function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dog bites in the midst of a read of `bite`, or before the job has begun."""
    host, one = world
    source = """
    function midway() {
      console.log("on");
      data.get("bite");
      for (let n = 0; ; n += 1) if (n % 1e5 === 0) data.get("n" + n);
    }
    function before() { return 1 }
    """
    host.perform(one, hub.Develop(source, "loops"))
    handles: list[Interrupt] = []
    made, get = Interrupt.__init__, Snapshot.get

    def make(self: Interrupt) -> None:
        made(self)
        handles.append(self)
        if function == "before":
            self.fire()

    def bite(self: Snapshot, key: str) -> bytes | None:
        if key == "bite":
            handles[-1].fire()
        return get(self, key)

    with monkeypatch.context() as patched:
        patched.setattr(Interrupt, "__init__", make)
        patched.setattr(Snapshot, "get", bite)
        answer = host.perform(one, hub.Call(function, b"[]"))
    assert answer.failure == "budget" and "the watchdog stopped it" in answer.error
    (call,) = bodies_of(host, one, kinds.Call)
    assert (call.fuel > 0) == (function == "midway")
    assert_equal(host, one)


def test_erased_bodies_are_counted_and_what_follows_them_is_compared(
    world: tuple[SimulatedHost, str],
) -> None:
    host, one = world
    for _ in range(5):
        host.perform(one, hub.Call("up", b'["x"]'))
        host.perform(one, hub.Call("bump", b'["n"]'))
    host.shell.run_for(8 * 24 * 3600 * FLICKS_PER_SECOND)
    host.perform(one, hub.Call("read", b'["n"]'))
    host.settle()
    assert host.collect().ok
    host.perform(one, hub.Call("bump", b'["n"]'))
    outcome = assert_equal(host, one)
    assert (outcome.erased, outcome.count) == (5, outcome.until_seq + 1 - 5)
    alone = replayed(host, one, from_seq=2, until_seq=2)
    assert (alone.erased, alone.count, alone.is_equal) == (1, 0, False), "nothing compared is never green"


def test_records_that_are_not_there_are_refused(world: tuple[SimulatedHost, str]) -> None:
    host, one = world
    for section in ({"from_seq": 2}, {"from_seq": -1}, {"from_seq": 1, "until_seq": 0}, {"until_seq": 9}):
        with pytest.raises(CannotReplay, match=f"world {one} has records 0 to 1"):
            replayed(host, one, **section)
    with pytest.raises(CannotReplay, match="no world nobody"):
        replayed(host, "nobody")


def test_an_engine_that_cannot_be_run_here_is_refused_with_both_identities_named(
    world: tuple[SimulatedHost, str],
) -> None:
    host, one = world
    here = machine("auto")
    engine = machine_of(here.engine.wasm, "python").engine
    engine.identity = engine.identity.replace("wasmtime ", "wasmtime 9.")
    other = dataclasses.replace(here, engine=engine, load=lambda _: (engine, here.pool))
    with pytest.raises(EngineForeign) as refused:
        replay(host.parts.log, host.parts.blobs, one, other)
    assert engine.identity in str(refused.value) and here.engine.identity in str(refused.value)


def test_an_upgrade_of_the_prelude_replays_where_its_prelude_is_this_builds() -> None:
    """The first heap is an older prelude's, which this build does not boot: it is taken over, and said."""
    disk = SimDisk(seed="upgraded")
    old = simulated("old", disk=disk, with_machine=machine("auto", PRELUDE_VERSION - 1))
    one = old.create("one").id
    old.perform(one, hub.Develop(SHOUT, "the beginning"))
    old.perform(one, hub.Call("bump", b'["n"]'))
    old.kill()
    host = simulated("new", disk=disk)
    host.perform(one, hub.Call("bump", b'["n"]'))
    host.perform(one, hub.Rollback(1, "back to the old one"))
    host.perform(one, hub.Call("noise", b"[]"))
    assert [body.cause for body in bodies_of(host, one, kinds.Revision)][:3] == [
        "develop",
        "upgrade",
        "rollback",
    ]
    outcome = replayed(host, one)
    assert outcome.is_equal, outcome.divergence
    (why,) = outcome.taken_over
    assert (
        why
        == f"a first heap of prelude {PRELUDE_VERSION - 1}, where this build has prelude {PRELUDE_VERSION}"
    )
    assert outcome.count == outcome.until_seq


def test_replaying_writes_nothing_and_changes_no_state(world: tuple[SimulatedHost, str]) -> None:
    host, one = world
    host.perform(one, hub.Call("bump", b'["n"]'))
    host.perform(one, hub.Checkpoint())
    host.settle()
    head, blobs = host.parts.log.head(), host.parts.blobs.names()
    assert_equal(host, one)
    assert (host.parts.log.head(), host.parts.blobs.names()) == (head, blobs)


def test_a_recording_replays_like_the_directory_that_it_is_from(world: tuple[SimulatedHost, str]) -> None:
    host, one = world
    for _ in range(3):
        host.perform(one, hub.Call("bump", b'["n"]'))
    host.settle()
    here = assert_equal(host, one)
    recording = read_recording(_Stream(b"".join(write_recording(host.parts.log, host.parts.blobs, one))))
    assert replay(recording.log, recording.blobs, one, machine("auto")) == here


class _Stream:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self, size: int = -1) -> bytes:
        taken = self._content[: size if size >= 0 else None]
        self._content = self._content[len(taken) :]
        return taken


@pytest.fixture(scope="module")
def recording_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of one life's first world, made by another process."""
    path = tmp_path_factory.mktemp("recordings") / "one.pwrec"
    host = simulated("file", segment_bytes_max=SEGMENT_BYTES)
    one = live_once(host)[0]
    path.write_bytes(b"".join(write_recording(host.parts.log, host.parts.blobs, one)))
    return path


@pytest.mark.parametrize("hash_seed", ["0", "1", "random"])
@pytest.mark.parametrize("vm", ["auto", "python"])
def test_a_fresh_process_replays_a_recording_under_any_hash_seed_on_both_paths(
    recording_file: Path, hash_seed: str, vm: str
) -> None:
    report = replay_in_a_process(recording_file, "--vm", vm, hash_seed=hash_seed)
    assert (report["ok"], sum(report["compared"].values())) == (True, report["untilSeq"] + 1)


def test_a_small_recording_replays_on_the_portable_interpreter(recording_file: Path) -> None:
    report = replay_in_a_process(recording_file, "--target", "pulley64", "--until", "5")
    assert report["ok"] and report["compared"]["genesis"] == report["compared"]["revision"] == 1


def replay_in_a_process(path: Path, *options: str, hash_seed: str = "0") -> dict[str, Any]:
    command = [sys.executable, "-m", "engine.cli", "replay", str(path), "--json", *options]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        cwd=HERE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)
