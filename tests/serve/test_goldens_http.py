"""Goldens over HTTP: what is pinned, held, blessed and rejected, dry runs, and what is refused at the door."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from served import Served

from engine.host import answers
from engine.host import golden_answers as shapes
from engine.serve.client import Client, Invalid, Missing, RefusedError

SHOP = """
function price(n) { return n * 3 }
function sell(n) { const sum = (data.get("sum") ?? 0) + price(n); data.set("sum", sum); return sum }
function greet(name) { return "hello " + name }
"""
DEARER = "function price(n) { return n * 4 }"


@pytest.fixture
def shop(client: Client, world: str) -> str:
    assert isinstance(client.develop(world, SHOP), answers.Accepted)
    return world


def sold(client: Client, world: str, n: int = 2) -> int:
    """Sell; the record of that call."""
    assert client.call(world, "sell", [n], request_id=f"sell-{n}").ok
    return client.world(world).records - 1


def ask(served: Served, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
    response = served.ask(method, path, None if body is None else json.dumps(body).encode())
    return response.status_code, response.json()


def test_a_develop_that_would_change_a_pinned_result_is_202_and_blessed_becomes_a_revision(
    served: Served, client: Client, shop: str
) -> None:
    seq = sold(client, shop)
    status, pinned = ask(served, "POST", f"/api/worlds/{shop}/goldens", {"call": seq, "name": "a sale"})
    assert (status, pinned["status"], pinned["id"]) == (201, "pinned", f"{shop}.1")
    status, held = ask(served, "POST", f"/api/worlds/{shop}/develop", {"source": DEARER, "summary": "dearer"})
    assert (status, held["status"], held["id"]) == (202, "held", f"{shop}.2")
    assert held["goldens"] == [
        {
            "call": {"seq": seq, "function": "sell", "args": [2]},
            "before": {
                "value": 6,
                "writes": [{"key": "sum", "value": 6}],
                "fuel": held["goldens"][0]["before"]["fuel"],
            },
            "after": {
                "value": 8,
                "writes": [{"key": "sum", "value": 8}],
                "fuel": held["goldens"][0]["after"]["fuel"],
            },
            "golden": f"{shop}.1",
            "name": "a sale",
        }
    ]
    status, page = ask(served, "GET", "/api/goldens")
    assert status == 200 and f"{shop}.2" in [row["id"] for row in page["held"]]
    status, blessed = ask(served, "POST", f"/api/goldens/{shop}.2/bless", {"reason": "inflation"})
    assert (status, blessed["status"], blessed["revision"]) == (200, "accepted", 2)
    status, again = ask(served, "POST", f"/api/goldens/{shop}.2/bless")
    assert (status, again["refused"]) == (409, "closed")
    page = client.goldens(shop)
    assert [(row.n, row.state) for row in page.held] == [(2, "blessed")]
    assert bytes(page.goldens[0].outcome.value) == b"8"


def test_a_held_change_is_shown_with_its_source_and_rejected_with_a_reason(client: Client, shop: str) -> None:
    client.pin(shop, sold(client, shop), reason="it matters")
    held = client.develop(shop, DEARER, summary="dearer")
    assert isinstance(held, shapes.Held)
    shown = client.golden(shop, held.held)
    assert isinstance(shown, shapes.HeldRow) and (shown.source, shown.summary) == (DEARER, "dearer")
    assert client.goldens(shop).held[0].source is None
    client.reject(held.id, reason="too dear")
    assert client.golden(shop, held.held).ended.reason == "too dear"
    client.unpin(shop, 1, reason="nobody sells")
    assert client.golden(shop, 1).state == "unpinned"
    assert client.develop(shop, DEARER).revision == 2


def test_pinning_a_pinned_call_by_another_name_is_409_and_says_what_is_pinned(
    served: Served, client: Client, shop: str
) -> None:
    seq = sold(client, shop)
    pinned = client.pin(shop, seq, name="a sale", request_id="first")
    status, refused = ask(served, "POST", f"/api/worlds/{shop}/goldens", {"call": seq, "name": "mine"})
    assert (status, refused["refused"]) == (409, "pinned")
    assert f"pinned already as {shop}.1, by the name 'a sale'" in refused["error"]
    assert client.pin(shop, seq, name="a sale", request_id="first") == pinned


def test_a_forced_rollback_marks_what_its_head_does_not_give(
    served: Served, client: Client, shop: str
) -> None:
    client.develop(shop, DEARER)
    client.pin(shop, sold(client, shop))
    client.rollback(shop, 1, reason="cheaper", force=True)
    assert [row["differs"] for row in ask(served, "GET", f"/api/worlds/{shop}/goldens")[1]["goldens"]] == [
        True
    ]
    assert client.develop(shop, "function other() {}").revision == 4
    assert client.develop(shop, DEARER).revision == 5
    assert "differs" not in ask(served, "GET", f"/api/worlds/{shop}/goldens/1")[1]


def test_the_list_goes_on_below_a_number(client: Client, shop: str) -> None:
    for n in (1, 2, 3):
        client.pin(shop, sold(client, shop, n))
    page = client.goldens(shop, limit=2)
    assert ([row.n for row in page.goldens], page.more) == ([3, 2], True)
    page = client.goldens(shop, limit=2, before=2)
    assert ([row.n for row in page.goldens], page.more) == ([1], False)


def test_a_dry_run_says_what_would_change_and_leaves_nothing(
    served: Served, client: Client, shop: str
) -> None:
    sold(client, shop)
    records = client.world(shop).records
    status, found = ask(served, "POST", f"/api/worlds/{shop}/develop", {"source": DEARER, "dryRun": True})
    assert (status, found["status"], found["changes"]["changed"]) == (200, "accepted", ["price"])
    assert (found["tried"], found["same"], len(found["differs"])) == (1, 0, 1)
    assert (found["differs"][0]["before"]["value"], found["differs"][0]["after"]["value"]) == (6, 8)
    status, found = ask(served, "POST", f"/api/worlds/{shop}/develop", {"source": "throw 1", "dryRun": True})
    assert (status, found["status"], "rejection" in found) == (422, "rejected", False)
    assert isinstance(client.try_develop(shop, "throw 1"), shapes.WouldReject)
    assert client.world(shop).records == records
    assert client.develop(shop, "throw 1").rejection == 1


def test_a_gated_develop_is_held_where_a_recorded_result_would_be_another(client: Client, shop: str) -> None:
    sold(client, shop)
    assert client.try_develop(shop, DEARER, gate=True).status == "held"
    held = client.develop(shop, DEARER, gate=True)
    assert isinstance(held, shapes.Held) and held.goldens == [] and len(held.differs) == 1
    assert client.develop(shop, "function other() {}", gate=True).revision == 2


def test_a_rollback_that_would_change_a_pinned_result_is_held(client: Client, shop: str) -> None:
    client.develop(shop, DEARER)
    client.pin(shop, sold(client, shop))
    assert isinstance(client.rollback(shop, 1, reason="cheaper"), shapes.Held)
    assert client.rollback(shop, 1, reason="cheaper", force=True).revision == 3


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"call": -1}, "call: "),
        ({"call": "2"}, "call: "),
        ({"call": 1.5}, "call: "),
        ({"call": 2**60}, "call: "),
        ({"call": 2, "name": "x" * 101}, "name: "),
        ({"call": 2, "name": "\ud800"}, "name: "),
        ({"call": 2, "reason": 7}, "reason: "),
        ({"call": 2, "reason": " \t"}, "reason: must not be blank"),
        ({"call": 2, "name": "  "}, "name: must not be blank"),
        ({"call": 2, "more": 1}, "more"),
        ({}, "call"),
    ],
)
def test_a_pin_that_is_none_is_400_and_names_the_field(
    served: Served, shop: str, body: dict[str, Any], error: str
) -> None:
    status, answer = ask(served, "POST", f"/api/worlds/{shop}/goldens", body)
    assert status == 400 and error in answer["error"]


def test_a_result_that_does_not_hold_at_the_head_is_422_and_kept(
    served: Served, client: Client, shop: str
) -> None:
    seq = sold(client, shop)
    client.develop(shop, DEARER)
    status, refused = ask(served, "POST", f"/api/worlds/{shop}/goldens", {"call": seq})
    assert (status, refused["status"], refused["kind"], refused["rejection"]) == (
        422,
        "refused",
        "differs",
        1,
    )
    assert isinstance(client.pin(shop, seq), shapes.RefusedPin)


def test_what_is_no_call_of_this_world_is_404(served: Served, client: Client, shop: str) -> None:
    client.execute(shop, "price(1)", request_id="a preview")
    for seq in (0, 1, client.world(shop).records - 1, 999):
        with pytest.raises(RefusedError) as refused:
            client.pin(shop, seq)
        assert (refused.value.status, refused.value.code) == (404, "not-a-call")
    with pytest.raises(Missing):
        client.pin("nobody-000000", 1)


@pytest.mark.parametrize(
    "id", ["x", "x.", ".1", "x.0", "x.-1", "X.1", "x.1.2x", "x.1e3", "x.12345678901234567"]
)
def test_an_id_that_is_none_is_400(served: Served, id: str) -> None:
    for verb in ("bless", "reject"):
        status, answer = ask(served, "POST", f"/api/goldens/{id}/{verb}", {"reason": "why"})
        assert status == 400 and answer["error"].startswith("id: must be a world's id, a dot and a number")


def test_what_is_not_there_is_404(served: Served, client: Client, shop: str) -> None:
    assert ask(served, "POST", "/api/goldens/nobody-000000.1/bless")[0] == 404
    assert ask(served, "POST", f"/api/goldens/{shop}.7/bless")[0] == 404
    assert ask(served, "POST", f"/api/goldens/{shop}.7/reject", {"reason": "no"})[0] == 404
    assert ask(served, "DELETE", f"/api/worlds/{shop}/goldens/7", {"reason": "no"})[0] == 404
    assert ask(served, "GET", f"/api/worlds/{shop}/goldens/7")[0] == 404
    assert ask(served, "GET", "/api/worlds/nobody-000000/goldens")[0] == 404
    assert ask(served, "POST", f"/api/goldens/{shop}.7/reject", {"reason": " "})[0] == 400


def test_a_dry_run_takes_no_request_id(client: Client, served: Served, shop: str) -> None:
    body = {"source": DEARER, "dryRun": True, "requestId": "r"}
    status, answer = ask(served, "POST", f"/api/worlds/{shop}/develop", body)
    assert status == 400 and answer["error"].startswith("requestId: has no use with dryRun")
    with pytest.raises(Invalid):
        client.develop(shop, DEARER, request_id=" ")


def test_a_long_dry_run_leaves_room_for_other_work(served: Served, client: Client, shop: str) -> None:
    """It computes for a second and more, on a lane of its own: the loop answers, and so do other worlds."""
    other = client.create("other").id
    client.develop(other, "function one() { return 1 }")
    client.develop(shop, "function spin(n) { for (let i = 0; i < n; i += 1) {} return price(n) }")
    for n in range(12):
        assert client.call(shop, "spin", [600_000 + n], request_id=f"spin-{n}").ok
    found: list[Any] = []

    def try_it() -> None:
        with served.client() as mine:
            found.append(mine.try_develop(shop, DEARER))

    trying = threading.Thread(target=try_it)
    trying.start()
    answered = 0
    while trying.is_alive():
        assert bytes(client.call(other, "one", []).value) == b"1"
        answered += 1
    trying.join()
    assert (found[0].tried, len(found[0].differs)) == (12, 12)
    assert answered >= 3, "calls of another world were answered meanwhile"
