"""The past over HTTP: `at` on reads and previews, the page as it was, data brought back; hostile numbers."""

from __future__ import annotations

import json
import threading

import pytest
from served import Served

from engine.host import answers
from engine.serve.client import Client, Invalid, Missing, RefusedError, ServerError

SHOP = """
function add(n) { data.set("sum", (data.get("sum") ?? 0) + n); return data.get("sum") }
function app(path, query, request) {
  if (path === "/bad") throw new Error("no such shelf")
  return {status: 203, body: [path, query.q, data.get("sum"), request.method, request.base].join(" ")}
}
"""
READS = (
    "",
    "/functions",
    "/functions/add",
    "/graph",
    "/source",
    "/revisions",
    "/revisions/1",
    "/rejections",
    "/incidents",
    "/data",
    "/checks",
    "/grants",
    "/page",
)


@pytest.fixture
def shop(client: Client, world: str) -> str:
    """Records: 0 genesis, 1 the code, 2 and 3 calls that write, 4 another revision, 5 an edit."""
    client.develop(world, SHOP)
    client.call(world, "add", [1], request_id="one")
    client.call(world, "add", [2], request_id="two")
    client.develop(world, "function add(n) { return 'closed' }")
    client.set_data(world, "é/\ud83d\ude00", [1], reason="more")
    return world


def head(client: Client, world: str) -> int:
    return client.world(world).records - 1


def test_reads_at_a_record_are_those_of_then_in_the_same_shapes(client: Client, shop: str) -> None:
    assert [(row.n, row.seq) for row in client.revisions(shop).revisions] == [(2, 4), (1, 1), (0, 0)]
    assert client.world(shop, at=2).revision == 1 and client.world(shop, at=0).definitions == 0
    assert "closed" in client.function(shop, "add").source
    assert "closed" not in client.function(shop, "add", at=3).source
    assert client.source(shop, at=0) == {}
    sums = [[bytes(row.value) for row in client.data(shop, at=at).items] for at in range(6)]
    assert sums == [[], [], [b"1"], [b"3"], [b"3"], [b"3", b"[1]"]]
    assert client.revision(shop, 1, at=1).source == SHOP
    assert client.graph(shop, at=1).calls == {"add": [], "app": []}
    assert client.grants(shop, at=1).worlds == [] and client.page_at(shop, 1).access == "private"
    with pytest.raises(Missing, match="no revision 2"):
        client.revision(shop, 2, at=3)


def test_the_log_ends_where_it_is_told_to(client: Client, shop: str) -> None:
    page = client.log(shop, until=2)
    assert ([row.seq for row in page.records], page.more) == ([0, 1, 2], False)
    page = client.log(shop, until=4, limit=3)
    assert ([row.seq for row in page.records], page.more) == ([0, 1, 2], True)
    page = client.log(shop, after=2, until=4, limit=2)
    assert ([row.seq for row in page.records], page.more) == ([3, 4], False)


@pytest.mark.parametrize("path", READS)
@pytest.mark.parametrize(
    ("at", "status", "said"),
    [
        ("x", 400, "at: must be a whole number"),
        ("", 400, "at: "),
        ("-1", 400, "at: must be a whole number of at least 0"),
        ("1.5", 400, "at: must be a whole number"),
        ("1e99", 400, "at: "),
        ("9" * 400, 400, "at: "),
        (str(2**53), 400, "at: must be a whole number of at most 9007199254740991"),
        ("6", 404, "has the records 0 to 5, so there is no moment 6"),
        (str(2**53 - 1), 404, "has the records 0 to 5"),
        ("1&at=2", 400, "at: is given twice"),
    ],
)
def test_a_moment_that_is_none_is_refused_and_told_what_there_is(
    served: Served, shop: str, path: str, at: str, status: int, said: str
) -> None:
    response = served.ask("GET", f"/api/worlds/{shop}{path}?at={at}")
    assert response.status_code == status
    assert said in response.json()["error"]


def test_an_archived_world_has_its_past_and_a_purged_one_has_not(
    served: Served, client: Client, shop: str
) -> None:
    client.archive(shop)
    assert len(client.functions(shop, at=1)) == 2
    client.purge(shop, confirm=shop)
    for path in READS:
        response = served.ask("GET", f"/api/worlds/{shop}{path}?at=1")
        assert (response.status_code, "gone for good" in response.json()["error"]) == (410, True)
    body = json.dumps({"at": 1, "reason": "back"}).encode()
    assert served.ask("POST", f"/api/worlds/{shop}/restore", body).status_code == 410
    assert served.ask("GET", "/api/worlds/nowhere-123456/functions?at=0").status_code == 404


# ---- previews


def test_a_preview_in_the_past_has_its_moment_and_leaves_no_record(client: Client, shop: str) -> None:
    before = head(client, shop)
    then = client.execute(shop, "add(1)", at=2)
    assert (bytes(then.value), then.rolled_back.set, then.at) == (b"2", ["sum"], 2)
    assert client.execute(shop, "add(1)", at=2) == then
    failed = client.execute(shop, "add(1)", at=0)
    assert (failed.failure, failed.at) == ("threw", 0)
    assert head(client, shop) == before
    now = client.execute(shop, "add(1)", request_id="now")
    assert (bytes(now.value), now.at, head(client, shop)) == (b'"closed"', None, before + 1)
    with pytest.raises(Invalid, match="requestId: has no use with at"):
        client.execute(shop, "1", at=0, request_id="r")
    for at in (99, 2**53 - 1):
        with pytest.raises(Missing, match="has the records 0 to"):
            client.execute(shop, "1", at=at)


def test_the_page_is_viewed_as_it_was_and_as_it_is(client: Client, shop: str) -> None:
    before = head(client, shop)
    view = client.page_view(shop, "/é b", query="q=1&q=2", at=2)
    assert (view.status, view.at, view.base64) == (203, 2, False)
    assert view.body == f"/é b 2 1 GET /w/{shop}"
    assert view.headers == {"content-type": "text/html; charset=utf-8"}
    now = client.page_view(shop)
    assert (now.body, now.at) == (f"/  3 GET /w/{shop}", before)
    with pytest.raises(ServerError, match="no such shelf") as failed:
        client.page_view(shop, "/bad", at=3)
    assert failed.value.status == 422
    with pytest.raises(Missing, match="defined no app after record 0"):
        client.page_view(shop, at=0)
    with pytest.raises(Invalid, match='path: must begin with "/"'):
        client.page_view(shop, "no")
    assert head(client, shop) == before


def test_a_page_as_it_was_is_for_the_operator_alone(served: Served, shop: str) -> None:
    response = served.ask("GET", f"/api/worlds/{shop}/page/view", authorization="")
    assert response.status_code == 401


# ---- data brought back


def test_data_come_back_with_a_reason_and_a_dry_run_says_how(client: Client, shop: str) -> None:
    before = head(client, shop)
    told = client.restore(shop, 2, dry_run=True)
    assert told.restored == answers.RolledBack(set=["sum"], deleted=["é/😀"])
    assert told.seq is None and head(client, shop) == before
    done = client.restore(shop, 2, prefix="é", reason="not that one", request_id="r")
    assert (done.seq, done.at, done.restored.deleted) == (before + 1, 2, ["é/😀"])
    assert client.restore(shop, 2, prefix="é", reason="not that one", request_id="r") == done
    assert [row.key for row in client.data(shop).items] == ["sum"]
    record = json.loads(bytes(client.log(shop, after=before).records[0].body))
    assert (record["at"], record["prefix"], record["reason"]) == (2, "é", "not that one")
    assert record["writes"] == [["é/😀", None]]
    with pytest.raises(RefusedError) as refused:
        client.restore(shop, 3, reason="x", request_id="r")
    assert refused.value.code == "request-conflict"


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"at": 2}, 400, "reason: must not be blank"),
        ({"at": 2, "reason": " \n"}, 400, "reason: must not be blank"),
        ({"reason": "x"}, 400, "at: is missing"),
        ({"at": "2", "reason": "x"}, 400, "at: must be a whole number"),
        ({"at": -1, "reason": "x"}, 400, "at: must be a whole number of at least 0"),
        ({"at": 1.5, "reason": "x"}, 400, "at: must be a whole number"),
        ({"at": 99, "reason": "x"}, 404, "has the records 0 to 5"),
        ({"at": 2, "reason": "x", "prefix": "k" * 1025}, 400, "prefix: is 1025 bytes long"),
        ({"at": 2, "reason": "x", "prefix": 1}, 400, "prefix: must be text"),
        ({"at": 2, "reason": "x" * 2001}, 400, "reason: must be text of at most 2000"),
        ({"at": 2, "reason": "x", "keys": []}, 400, "keys: is not a field of this request"),
    ],
)
def test_a_restore_that_says_nonsense_is_refused_and_nothing_happens(
    served: Served, client: Client, shop: str, body: dict, status: int, said: str
) -> None:
    response = served.ask("POST", f"/api/worlds/{shop}/restore", json.dumps(body).encode())
    assert (response.status_code, said in response.json()["error"]) == (status, True), response.text
    assert head(client, shop) == 5


def test_a_lone_surrogate_is_a_prefix_like_any_text(client: Client, shop: str) -> None:
    client.set_data(shop, "\ud800x", 1, reason="odd")
    done = client.restore(shop, 5, prefix="\ud800", reason="back")
    assert done.restored.deleted == ["\ud800x"]
    assert [row.key for row in client.data(shop, prefix="\ud800", at=6).items] == ["\ud800x"]


def test_many_at_once_look_at_the_past_while_the_world_goes_on(served: Served, shop: str) -> None:
    wrong: list[object] = []

    def look(n: int) -> None:
        with served.client() as client:
            for i in range(10):
                at = (n + i) % 6
                try:
                    client.set_data(shop, f"k{n}", i, reason="on")
                    if client.world(shop, at=at).records != at + 1:
                        wrong.append(at)
                    if (
                        bytes(client.execute(shop, "data.get('sum') ?? 0", at=at).value)
                        != b"001333"[at : at + 1]
                    ):
                        wrong.append((at, "sum"))
                    if n == 0:
                        client.restore(shop, at, prefix="k", reason="none of these")
                except Exception as error:  # told below, on the test's own thread
                    wrong.append(error)

    threads = [threading.Thread(target=look, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
