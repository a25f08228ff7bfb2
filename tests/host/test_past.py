"""The past of a world that lived: every read of each moment is what was read then; tries there leave no trace."""

from __future__ import annotations

import msgspec
import pytest

from engine import limits
from engine.host import answers, simulated
from engine.host.api import Gone, NotThere
from engine.host.past_tries import Try
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk

SOURCE = """
function add(n) { data.set('sum', (data.get('sum') ?? 0) + n); return data.get('sum') }
function double(n) { return 2 * n }
function fail() { throw new Error('no') }
"""
PAGE = """
function app(path, query, request) {
  data.set('seen', path)
  if (path === '/raw') return {body: {base64: '/w=='}, headers: {'content-type': 'font/woff'}}
  if (path === '/bad') return 7
  return {status: 201, body: `${path} ${query.q} ${data.get('sum')} ${new Date().getTime()}`, headers: {}}
}
"""


def told(reads, world: str) -> list:
    """All reads of one world that can be asked of a moment, as they go out."""
    every = {"limit": 1000, "before": None}
    heard = [
        reads.world(world),
        reads.functions(world),
        reads.graph(world),
        reads.source(world),
        reads.revisions(world, **every),
        *(reads.revision(world, row.n) for row in reads.revisions(world, **every).revisions),
        reads.rejections(world, **every),
        *(reads.rejection(world, row.n) for row in reads.rejections(world, **every).rejections),
        reads.incidents(world, **every),
        *(reads.incident(world, row.n) for row in reads.incidents(world, **every).incidents),
        reads.data(world, prefix="", after=None, limit=1000),
        reads.checks(world),
        reads.grants(world),
        reads.page(world),
    ]
    return [answers.as_json(answer) for answer in heard]


OPERATIONS = [
    hub.Develop(SOURCE, "first"),
    hub.Call("add", b"[2]"),
    hub.Call("double", b"[2]"),
    hub.Execute("add(100)"),
    hub.Develop("function broken( {", "bad"),
    hub.Call("fail", b"[]"),
    hub.EditData("by hand", b'{"a":1}', "put right"),
    hub.Enrol("doubles", "double(2) === 4", "function double(n) { return n }"),
    hub.Call("fail", b"[]"),
    hub.CloseIncident(1, "dismissed", "known"),
    hub.Develop("function double(n) { return n }", "breaks the check"),
    hub.Develop(PAGE, "a page"),
    hub.SetPage("public", ("add",)),
    hub.Grant(("other-111111",)),
    hub.Checkpoint(),
    hub.Call("add", b"[3]", asynchronous=True),
    hub.Call("fail", b"[]", retries=2),
    hub.RemoveCheck("doubles", "no longer"),
    hub.Rollback(1, "back"),
    hub.EditData("by hand", None, "gone"),
    hub.Describe(name="Renamed"),
    hub.Describe(frozen=True),
    hub.Call("add", b"[4]"),
    hub.Describe(archived=True),
]


@pytest.fixture(scope="module")
def life():
    """A host, its world, and what all reads said after each record."""
    host = simulated("past")
    world = host.create("W").id
    said = {0: told(host, world)}
    for operation in OPERATIONS:
        host.perform(world, operation)
        host.settle()
        said[host.world(world).records - 1] = told(host, world)
    return host, world, said


def test_each_moment_reads_as_the_world_did_then(life):
    host, world, said = life
    assert len(said) >= len(OPERATIONS)
    for at, then in said.items():
        assert told(host.past(world, at), world) == then
    host.pasts.forget(world)
    for at, then in reversed(said.items()):
        assert told(host.past(world, at), world) == then


def test_a_reopened_directory_has_the_same_past():
    disk = SimDisk()
    host = simulated("again", disk=disk)
    world = host.create("W").id
    said = {0: told(host, world)}
    for operation in OPERATIONS[:12]:
        host.perform(world, operation)
        host.settle()
        said[host.world(world).records - 1] = told(host, world)
    host.shut_down()
    host = simulated("again, later", disk=disk)
    for at, then in said.items():
        assert told(host.past(world, at), world) == then


def test_a_moment_that_is_not_there_is_refused_with_the_records_that_are(life):
    host, world, _ = life
    last = host.world(world).records - 1
    for at in (-1, last + 1, 10**30):
        refused = host.past(world, at)
        assert isinstance(refused, NotThere) and not isinstance(refused, Gone)
        assert str(refused) == f"at: world {world} has the records 0 to {last}, so there is no moment {at}"
    assert str(host.past("nowhere-1", 0)) == "there is no world nowhere-1"


def test_a_purged_world_has_no_past_and_nothing_of_it_stays_in_memory():
    host = simulated("purge")
    world = host.create("W").id
    host.perform(world, hub.EditData("k", b"1", "why"))
    assert host.past(world, 1).data(world, prefix="", after=None, limit=9).items
    assert host.pasts.has(world, 1)
    host.perform(world, hub.Purge("asked"))
    assert not host.pasts.has(world, 1)
    for at in (0, 1, 2):
        refused = host.past(world, at)
        assert isinstance(refused, Gone) and "gone for good" in str(refused)


def test_a_moment_is_made_once_for_all_who_ask_for_it_and_kept_for_a_while(life):
    host, world, _ = life
    host.pasts.forget(world)
    heard = []
    for _ in range(3):
        host.look(world, 5, done=heard.append)
    host.settle()
    assert len(heard) == 3 and heard[0] is heard[1] is heard[2]
    host.look(world, 5, done=heard.append)
    assert heard[3] is heard[0], "kept: answered at once"


def test_no_more_rows_are_kept_than_fit_but_the_newest_moment_always_is(life, monkeypatch):
    host, world, _ = life
    host.pasts.forget(world)
    monkeypatch.setattr(limits, "PAST_ROWS_KEPT_MAX", host.past(world, 3).rows + host.past(world, 4).rows)
    for at in (3, 4):
        host.past(world, at)
    assert host.pasts.has(world, 3) and host.pasts.has(world, 4)
    host.past(world, 10)
    assert not host.pasts.has(world, 3) and host.pasts.has(world, 10)
    monkeypatch.setattr(limits, "PAST_ROWS_KEPT_MAX", 1)
    host.past(world, 11)
    assert [host.pasts.has(world, at) for at in (4, 10, 11)] == [False, False, True]


def test_too_many_looks_at_once_are_refused_as_busy(life, monkeypatch):
    host, world, _ = life
    host.pasts.forget(world)
    monkeypatch.setattr(limits, "PAST_LOOKS_MAX", 2)
    heard = []
    for at in (1, 2, 3):
        host.look(world, at, done=heard.append)
    assert [(h.refused, h.retry_after_s) for h in heard] == [("busy", 1)]
    host.settle()
    assert len(heard) == 3 and not isinstance(host.past(world, 3), answers.Refused)


# ---- previews


def test_a_preview_in_the_past_sees_code_and_data_of_then_and_changes_nothing(life):
    host, world, said = life
    before = told(host, world)
    assert host.tried_in_past(world, 2, Try("add(1)")) == answers.PreviewOk(
        ok=True,
        value=msgspec.Raw(b"3"),
        rolled_back=answers.RolledBack(set=["sum"], deleted=[]),
        logs=[],
        at=2,
    )
    failed = host.tried_in_past(world, 0, Try("add(1)"))
    assert (failed.failure, failed.at) == ("threw", 0) and "add is not defined" in failed.error
    host.settle()
    assert told(host, world) == before == said[max(said)]


def test_the_same_look_gives_the_same_answer_and_its_clock_is_that_of_the_record(life):
    host, world, _ = life
    clock = host.tried_in_past(world, 4, Try("new Date().getTime()"))
    flick = host.parts.ledger.read().record(world, 4).flick
    assert int(bytes(clock.value)) == flick * 1000 // limits.FLICKS_PER_SECOND
    dice = [host.tried_in_past(world, at, Try("Math.random()")) for at in (4, 4, 5)]
    assert dice[0] == dice[1]
    assert bytes(dice[0].value) != bytes(dice[2].value)
    assert bytes(dice[0].value) != bytes(host.tried_in_past(world, 4, Try("Math.random( )")).value)


def test_the_past_has_no_other_worlds(life):
    host, world, _ = life
    asked = host.tried_in_past(world, max(life[2]), Try("worlds.call('other-111111', 'f', [])"))
    assert asked.failure == "denied"
    assert "the past has no other worlds. Make a copy of the world from there" in asked.error
    none = host.tried_in_past(world, max(life[2]), Try("worlds.list()"))
    assert bytes(none.value) == b"[]"


def test_what_is_too_large_or_too_long_is_refused_in_the_past_too(life):
    host, world, _ = life
    refused = host.tried_in_past(world, 1, Try("1" * (limits.SOURCE_BYTES_MAX + 1)))
    assert (refused.refused, refused.error[:11]) == ("size", "expression:")
    endless = host.tried_in_past(world, 1, Try("(() => { for (;;) {} })()"))
    assert endless.failure == "budget"


def test_the_page_as_it_was_is_a_preview_of_app(life):
    host, world, said = life
    at = next(
        row.seq for row in host.revisions(world, limit=99, before=None).revisions if row.summary == "a page"
    )
    args = b'["/a",{"q":"1"},{"method":"GET"}]'
    view = host.tried_in_past(world, at, Try(None, args))
    flick = host.parts.ledger.read().record(world, at).flick
    assert (view.status, view.at, view.base64) == (201, at, False)
    assert view.body == f"/a 1 2 {flick * 1000 // limits.FLICKS_PER_SECOND}"
    assert view.rolled_back.set == ["seen"]
    raw = host.tried_in_past(world, at, Try(None, b'["/raw",{},{}]'))
    assert (raw.body, raw.base64, raw.headers) == ("/w==", True, {"content-type": "font/woff"})
    bad = host.tried_in_past(world, at, Try(None, b'["/bad",{},{}]'))
    assert bad.error == "TypeError: app returned a number"
    missing = host.tried_in_past(world, at - 1, Try(None, args))
    assert missing.error == f"world {world} defined no app after record {at - 1}"
    assert told(host, world) == said[max(said)]


def test_a_damaged_heap_of_the_past_is_refused_as_such_and_its_reads_go_on():
    disk = SimDisk()
    host = simulated("rot", disk=disk)
    world = host.create("W").id
    host.perform(world, hub.Develop("function f() { return 1 }", "f"))
    blob = host.parts.ledger.revision(world, 1).body.heap.blob
    host.perform(world, hub.Rollback(0, "back"))
    host.shut_down()
    disk.remove(f"blobs/{blob[:2]}/{blob}")
    host = simulated("rot, later", disk=disk)
    refused = host.tried_in_past(world, 1, Try("f()"))
    assert refused.refused == "storage" and blob in refused.error
    assert [row.name for row in host.past(world, 1).functions(world)] == ["f"]


def test_who_looks_at_the_past_or_brings_data_back_while_the_server_stops_is_answered():
    host = simulated("stops")
    world = host.create("w").id
    host.perform(world, hub.EditData("k", b"1", "first"))
    host.perform(world, hub.EditData("k", b"2", "second"))
    heard: list = []
    host.restore_data(
        world,
        1,
        prefix="",
        reason="back",
        dry_run=False,
        actor="operator",
        request_id=None,
        done=heard.append,
    )
    ended: list[bool] = []
    host.drain(lambda: ended.append(True))
    host.shell.run_until(lambda: bool(ended))
    assert len(heard) == 1 and heard[0].refused == "draining", heard
