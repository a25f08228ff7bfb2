"""The routes over a real host: each operation and read, through the typed client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from served import Served

from engine.host import answers
from engine.record.kinds import Changes
from engine.serve.client import Client, Invalid, Missing, RefusedError, ServerError

COUNTER = """
/** Adds n to what is counted under name. */
function count(name, n) { const now = (data.get(name) ?? 0) + n; data.set(name, now); return now }
function boom(...args) { console.log("about to"); throw new Error("bad " + args.length) }
function echo(...args) { return args }
"""


@pytest.fixture
def counter(client: Client, world: str) -> str:
    """A world at revision 1 with count, boom and echo."""
    answer = client.develop(world, COUNTER, summary="Count")
    assert answer == answers.Accepted(1, Changes(added=["boom", "count", "echo"]), [])
    return world


def test_a_world_is_created_listed_shown_renamed_frozen_archived(client: Client) -> None:
    created = client.create("Über Größe")
    assert created.name == "Über Größe" and created.revision == 0
    assert created.id.startswith("uber-gro") and len(created.id.rpartition("-")[2]) == 6
    assert created.id in [world.id for world in client.worlds()]
    changed = client.change(created.id, name="Other", frozen=True)
    assert (changed.name, changed.frozen, changed.archived) == ("Other", True, False)
    assert client.archive(created.id).archived
    assert created.id not in [world.id for world in client.worlds()]
    assert created.id in [world.id for world in client.worlds(archived=True)]
    assert not client.change(created.id, archived=False).archived


def test_creating_answers_201(served: Served) -> None:
    response = served.ask("POST", "/api/worlds", b'{"name":"one"}')
    assert response.status_code == 201
    assert sorted(response.json()) == ["id", "name", "revision"]


def test_a_call_answers_with_its_value_revision_and_logs(client: Client, counter: str) -> None:
    answer = client.call(counter, "echo", [1, "x", None, {"a": [1]}])
    assert isinstance(answer, answers.CallOk)
    assert (json.loads(bytes(answer.value)), answer.revision, answer.logs) == (
        [1, "x", None, {"a": [1]}],
        1,
        [],
    )


def test_lone_surrogates_survive_the_way_in_and_out(client: Client, counter: str) -> None:
    answer = client.call(counter, "echo", ["\ud800", "😀"])
    assert isinstance(answer, answers.CallOk)
    assert bytes(answer.value) == '["\\ud800","😀"]'.encode()


def test_a_failed_call_is_an_incident_with_its_logs(client: Client, counter: str) -> None:
    answer = client.call(counter, "boom", [1, 2])
    assert isinstance(answer, answers.CallFailed)
    assert (answer.failure, answer.error.splitlines()[0]) == ("threw", "Error: bad 2")
    assert (answer.incident, answer.logs) == (1, ["about to"])
    incident = client.incident(counter, 1)
    assert (incident.function, incident.kind, bytes(incident.args)) == ("boom", "threw", b"[1,2]")
    assert [row.n for row in client.incidents(counter).incidents] == [1]


@pytest.mark.parametrize("name", ["nope", "toString", "a-b", "é", "constructor"])
def test_a_call_of_no_definition_is_404_and_no_incident(
    served: Served, client: Client, counter: str, name: str
) -> None:
    response = served.ask("POST", f"/api/worlds/{counter}/call/{name}", b'{"args":[]}')
    assert response.status_code == 404
    assert response.json()["ok"] is False and response.json()["error"] == f"{name} is not defined"
    assert client.incidents(counter).incidents == []


def test_a_preview_lists_what_it_rolled_back(client: Client, counter: str) -> None:
    client.call(counter, "count", ["b", 1])
    answer = client.execute(counter, '(data.set("a", 1), data.delete("b"), count("c", 2))')
    assert isinstance(answer, answers.PreviewOk)
    assert bytes(answer.value) == b"2"
    assert answer.rolled_back == answers.RolledBack(set=["a", "c"], deleted=["b"])
    assert [row.key for row in client.data(counter).items] == ["b"]


def test_a_rejected_develop_is_422_numbered_and_kept(served: Served, client: Client, world: str) -> None:
    response = served.ask("POST", f"/api/worlds/{world}/develop", b'{"source":"throw new Error(1)"}')
    assert response.status_code == 422
    rejected = response.json()
    assert (rejected["status"], rejected["rejection"], rejected["kind"]) == ("rejected", 1, "threw")
    row = client.rejection(world, 1)
    assert (row.source, row.kind, row.base) == ("throw new Error(1)", "threw", 0)
    assert [row.n for row in client.rejections(world).rejections] == [1]


def test_an_unchanged_develop_makes_no_revision(client: Client, counter: str) -> None:
    assert client.develop(counter, "// nothing") == answers.Unchanged(1)


def test_a_commonjs_library_is_developed_by_name(client: Client, world: str) -> None:
    answer = client.develop(world, "exports.twice = x => 2 * x", commonjs="lib")
    assert isinstance(answer, answers.Accepted) and answer.changes.added == ["lib"]
    assert bytes(client.execute(world, "lib.twice(4)").value) == b"8"  # type: ignore[union-attr]


def test_the_catalogue_says_who_calls_whom(client: Client, counter: str) -> None:
    client.develop(counter, "function twice(name) { count(name, 1); return count(name, 1) }")
    row = client.function(counter, "count")
    assert (row.kind, row.params, row.doc) == (
        "function",
        ["name", "n"],
        "Adds n to what is counted under name.",
    )
    assert (row.revision, row.called_by) == (1, ["twice"])
    assert [one.name for one in client.functions(counter)] == ["boom", "count", "echo", "twice"]


def test_the_source_is_files_that_develop_takes_again(client: Client, counter: str) -> None:
    other = client.create("copy").id
    for text in client.source(counter).values():
        client.develop(other, text)
    assert client.source(other) == client.source(counter)


def test_history_pages_from_the_newest(client: Client, counter: str) -> None:
    client.develop(counter, "function f() { return 1 }")
    client.develop(counter, "function f() { return 2 }")
    page = client.revisions(counter, limit=2)
    assert ([row.n for row in page.revisions], page.more) == ([3, 2], True)
    page = client.revisions(counter, limit=2, before=2)
    assert ([row.n for row in page.revisions], page.more) == ([1, 0], False)
    assert client.revision(counter, 2).source == "function f() { return 1 }"


def test_a_rollback_is_a_new_revision(client: Client, counter: str) -> None:
    client.develop(counter, "function f() { return 1 }")
    answer = client.rollback(counter, 1, reason="not needed")
    assert isinstance(answer, answers.Accepted)
    assert (answer.revision, answer.changes.removed) == (3, ["f"])


def test_a_rollback_is_refused_for_its_reason_its_target_or_the_head(client: Client, counter: str) -> None:
    for revision, reason, status, error in (
        (0, "  ", 400, "reason"),
        (99, "x", 404, "no revision 99"),
        (1, "x", 409, "head"),
    ):
        with pytest.raises(ServerError, match=error) as caught:
            client.rollback(counter, revision, reason=reason)
        assert caught.value.status == status


HOSTILE_KEYS = [
    "plain",
    "",
    "a/b",
    "/",
    "//",
    ".",
    "..",
    "a/../b",
    "a b+c",
    "%",
    "%2F",
    "é",
    "😀",
    "?x=1&y#z",
    "\n\x00",
    "\ud800",
]


@pytest.mark.parametrize("key", HOSTILE_KEYS)
def test_any_text_can_be_a_key(client: Client, world: str, key: str) -> None:
    client.set_data(world, key, {"key": key}, reason="test")
    page = client.data(world, prefix=key)
    assert [(row.key, json.loads(bytes(row.value))) for row in page.items] == [(key, {"key": key})]
    client.delete_data(world, key, reason="test")
    assert client.data(world).items == []


def test_a_key_and_a_value_may_be_as_large_as_the_limit_and_no_larger(client: Client, world: str) -> None:
    client.set_data(world, "k" * 1024, "v" * (256 * 1024 - 2), reason="test")
    with pytest.raises(Invalid, match="key: is 1025 bytes long; at most 1024 are allowed"):
        client.set_data(world, "k" * 1025, 1, reason="test")
    with pytest.raises(Invalid, match="value: is 262145 bytes of JSON; at most 262144 are allowed"):
        client.set_data(world, "k", "v" * (256 * 1024 - 1), reason="test")


def test_data_pages_by_key(client: Client, world: str) -> None:
    for key in ("b", "a2", "a1", "a3"):
        client.set_data(world, key, key, reason="test")
    page = client.data(world, prefix="a", limit=2)
    assert ([row.key for row in page.items], page.more) == (["a1", "a2"], True)
    page = client.data(world, prefix="a", after="a2", limit=2)
    assert ([row.key for row in page.items], page.more) == (["a3"], False)


def test_a_data_edit_wants_a_reason(client: Client, world: str) -> None:
    with pytest.raises(RefusedError, match="reason") as caught:
        client.set_data(world, "k", 1, reason=" ")
    assert caught.value.status == 400
    assert client.data(world).items == []


def test_the_log_lists_every_record_in_order(client: Client, counter: str) -> None:
    client.call(counter, "count", ["a", 1])
    page = client.log(counter)
    assert [(row.seq, row.kind) for row in page.records] == [(0, "genesis"), (1, "revision"), (2, "call")]
    page = client.log(counter, after=0, limit=1)
    assert ([row.seq for row in page.records], page.more) == ([1], True)


def test_the_same_request_id_is_answered_again_and_not_done_again(client: Client, counter: str) -> None:
    first = client.call(counter, "count", ["a", 1], request_id="r-1")
    assert client.call(counter, "count", ["a", 1], request_id="r-1") == first
    assert client.call(counter, "count", ["a", 1], request_id="r-2") != first
    with pytest.raises(RefusedError, match="requestId") as caught:
        client.call(counter, "count", ["a", 5], request_id="r-1")
    assert (caught.value.status, caught.value.code) == (409, "request-conflict")


def test_creating_under_one_request_id_makes_one_world(client: Client) -> None:
    first = client.create("once", request_id="create-once")
    assert client.create("once", request_id="create-once") == first
    assert [world.name for world in client.worlds()].count("once") == 1


def test_an_archived_world_is_read_and_not_used(client: Client, counter: str) -> None:
    client.archive(counter)
    with pytest.raises(RefusedError) as caught:
        client.call(counter, "count", ["a", 1])
    assert (caught.value.status, caught.value.code) == (409, "archived")
    assert client.world(counter).revision == 1


def test_purging_wants_the_whole_id_and_leaves_a_tombstone(client: Client, counter: str) -> None:
    with pytest.raises(Invalid, match=f"confirm: must repeat the world's id, {counter}"):
        client.purge(counter, confirm="yes")
    client.purge(counter, confirm=counter, reason="wish of its owner")
    assert client.world(counter).purged
    with pytest.raises(RefusedError) as caught:
        client.call(counter, "count", ["a", 1])
    assert (caught.value.status, caught.value.code) == (410, "purged")


def test_what_is_not_there_is_404(client: Client, world: str) -> None:
    for ask in (
        lambda: client.world("no-such-world"),
        lambda: client.call("no-such-world", "f", []),
        lambda: client.change("no-such-world", archived=True),
        lambda: client.purge("no-such-world", confirm="no-such-world"),
        lambda: client.function(world, "nope"),
        lambda: client.revision(world, 9),
        lambda: client.rejection(world, 1),
        lambda: client.incident(world, 1),
    ):
        with pytest.raises(Missing):
            ask()


def test_gc_and_backup_report(client: Client, counter: str, tmp_path: Path) -> None:
    assert client.gc()["blobs_kept"] > 0
    assert client.backup(str(tmp_path / "copy"))["worlds"] >= 1
    with pytest.raises(ServerError, match="not empty"):
        client.backup(str(tmp_path / "copy"))
    with pytest.raises(Invalid, match="directory: must be an absolute path"):
        client.backup("relative")


def test_health_and_version_say_what_runs(client: Client) -> None:
    assert client.health() == answers.Health("ready", "", [])
    assert "wasmtime" in client.version().engine
