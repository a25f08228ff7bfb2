"""What stands in a world beside its code: checks, incidents and their ends, grants, who calls whom, admitted calls."""

from __future__ import annotations

import json
import time

import pytest
from served import Served

from engine.host import answers
from engine.serve.client import Client, Invalid, Missing, RefusedError, ServerError

STOCK = """
function shelf() { return state("shelf", () => ({ left: 3 })) }
function left() { return shelf().left }
function describe() { return "left: " + left() }
function total(xs) { return xs.reduce((a, b) => a + b, 0) }
function take(n) { if (n > (data.get("stock") ?? 0)) throw new Error("only " + (data.get("stock") ?? 0)); return n }
"""


@pytest.fixture
def stock(client: Client, world: str) -> str:
    assert isinstance(client.develop(world, STOCK), answers.Accepted)
    return world


# ---- checks ---------------------------------------------------------------------------------------------


def test_a_check_is_enrolled_judges_changes_and_is_removed_with_a_reason(
    served: Served, client: Client, stock: str
) -> None:
    body = {"name": "some left", "expression": "left() > 0", "counterexample": "shelf().left = 0"}
    response = served.ask("POST", f"/api/worlds/{stock}/checks", json.dumps(body).encode())
    assert response.status_code == 201
    assert response.json()["status"] == "enrolled" and response.json()["check"]["name"] == "some left"
    again = client.enrol(stock, "some left", "left() > 0", "shelf().left = 0")
    assert isinstance(again, answers.Enrolled)
    rejected = client.develop(stock, "shelf().left = -1")
    assert isinstance(rejected, answers.Rejected) and (rejected.kind, rejected.check) == (
        "check",
        "some left",
    )
    client.remove_check(stock, "some left", reason="sold out is fine")
    found = client.checks(stock)
    assert found.checks == []
    assert [(row.name, row.expression, row.reason) for row in found.removed] == [
        ("some left", "left() > 0", "sold out is fine")
    ]
    assert isinstance(client.develop(stock, "shelf().left = -1"), answers.Accepted)


def test_a_check_that_cannot_fail_is_refused_with_422_and_kept(
    served: Served, client: Client, stock: str
) -> None:
    body = {"name": "vacuous", "expression": "true", "counterexample": "shelf().left = 0"}
    response = served.ask("POST", f"/api/worlds/{stock}/checks", json.dumps(body).encode())
    refused = response.json()
    assert (response.status_code, refused["status"], refused["kind"]) == (422, "refused", "vacuous")
    assert client.rejection(stock, refused["rejection"]).check == "vacuous"
    assert client.checks(stock).checks == []


def test_a_check_with_a_generator_holds_for_what_was_drawn(client: Client, stock: str) -> None:
    answer = client.enrol(
        stock,
        "total is a number",
        "xs => typeof total(xs) === 'number'",
        "function total(xs) { return '' + xs }",
        generator="gen.array(gen.int())",
    )
    assert isinstance(answer, answers.Enrolled), answer
    assert answer.check.inputs == 50


@pytest.mark.parametrize("name", ["", " ", "a\u0000b", "x" * 201])
def test_a_check_has_a_name_that_can_be_said(client: Client, stock: str, name: str) -> None:
    with pytest.raises(Invalid, match="name"):
        client.enrol(stock, name, "true", "1")


def test_an_unknown_check_is_404(client: Client, stock: str) -> None:
    with pytest.raises(Missing, match="there is no check nope"):
        client.remove_check(stock, "nope", reason="it is not there")


# ---- incidents ------------------------------------------------------------------------------------------


@pytest.fixture
def incident(client: Client, stock: str) -> str:
    """A world whose incident 1 is take(2) of nothing."""
    failed = client.call(stock, "take", [2])
    assert isinstance(failed, answers.CallFailed) and failed.incident == 1
    return stock


def test_a_retry_runs_the_same_call_at_the_head_and_closes_the_incident(
    client: Client, incident: str
) -> None:
    failed = client.retry(incident, 1)
    assert isinstance(failed, answers.CallFailed) and failed.incident == 2
    assert client.incident(incident, 1).state == "open"
    client.set_data(incident, "stock", 5, reason="delivered")
    answer = client.retry(incident, 1, request_id="again")
    assert isinstance(answer, answers.CallOk) and bytes(answer.value) == b"2"
    assert client.retry(incident, 1, request_id="again") == answer
    row = client.incident(incident, 1)
    assert row.state == "retried" and row.retried is not None
    with pytest.raises(RefusedError) as refused:
        client.retry(incident, 1)
    assert (refused.value.status, refused.value.code) == (409, "closed")


def test_an_incident_is_answered_by_hand_or_dismissed_once(client: Client, incident: str) -> None:
    client.call(incident, "take", [9])
    client.answer_incident(incident, 1, {"taken": 2}, reason="from the other shelf")
    client.dismiss(incident, 2, reason="a mistake")
    rows = {row.n: row for row in client.incidents(incident).incidents}
    assert (rows[1].state, rows[2].state, rows[2].closed_reason) == ("answered", "dismissed", "a mistake")
    row = client.incident(incident, 1)
    assert row.answer is not None and json.loads(bytes(row.answer)) == {"taken": 2}
    for n in (1, 2):
        with pytest.raises(RefusedError) as refused:
            client.dismiss(incident, n, reason="again")
        assert refused.value.status == 409


def test_what_is_no_incident_is_404_and_a_blank_reason_400(client: Client, incident: str) -> None:
    with pytest.raises(Missing):
        client.retry(incident, 7)
    with pytest.raises(ServerError) as refused:
        client.dismiss(incident, 7, reason="x")
    assert refused.value.status == 404
    with pytest.raises(ServerError) as refused:
        client.dismiss(incident, 1, reason=" ")
    assert refused.value.status == 400
    assert client.incident(incident, 1).state == "open"


# ---- in the background ----------------------------------------------------------------------------------


def test_respond_async_is_202_with_where_to_ask(served: Served, client: Client, stock: str) -> None:
    response = served.ask(
        "POST", f"/api/worlds/{stock}/call/total", b'{"args":[[1,2]]}', prefer="respond-async, wait=9"
    )
    n = response.json()["operation"]
    assert (response.status_code, response.headers["location"]) == (
        202,
        f"/api/worlds/{stock}/operations/{n}",
    )
    assert response.headers["preference-applied"] == "respond-async"
    state = client.operation(stock, n)
    while state.state == "running":
        time.sleep(0.05)
        state = client.operation(stock, n)
    assert state.state == "ended" and state.answer is not None
    assert json.loads(bytes(state.answer)) == {"ok": True, "value": 3, "revision": 1, "logs": []}
    with pytest.raises(Missing):
        client.operation(stock, n + 100)


# ---- grants, who calls whom -----------------------------------------------------------------------------


def test_no_world_may_call_another_before_it_is_granted(client: Client, stock: str) -> None:
    shop = client.create("shop").id
    client.develop(shop, "async function far(world) { return await worlds.call(world, 'total', [1, 2]) }")
    assert client.grants(shop).worlds == []
    denied = client.call(shop, "far", [stock])
    assert isinstance(denied, answers.CallFailed) and denied.failure == "denied"
    assert client.set_grants(shop, [stock, stock]).worlds == [stock]
    answer = client.call(shop, "far", [stock])
    assert isinstance(answer, answers.CallOk) and bytes(answer.value) == b"3"
    assert client.set_grants(shop, []).worlds == []
    assert isinstance(client.call(shop, "far", [stock]), answers.CallFailed)


@pytest.mark.parametrize(
    ("worlds", "error"),
    [
        (["nothing-000000"], "worlds: there is no world nothing-000000"),
        (["../x"], r"worlds\[0\]: must be 1 to 64"),
        (["SELF"], "worlds: a world cannot call itself"),
    ],
)
def test_a_grant_names_other_worlds(client: Client, stock: str, worlds: list[str], error: str) -> None:
    with pytest.raises(Invalid, match=error):
        client.set_grants(stock, [stock if one == "SELF" else one for one in worlds])
    assert client.grants(stock).worlds == []


def test_the_graph_says_who_calls_whom_both_ways(client: Client, stock: str) -> None:
    graph = client.graph(stock)
    assert graph.calls["describe"] == ["left"] and graph.called_by["left"] == ["describe"]
    assert sorted(graph.calls) == ["describe", "left", "shelf", "take", "total"]
