"""Over HTTP nobody passes for the operator, for a world, or for another request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.served import TOKEN, Served

COUNT = "function count(by) { const n = (data.get('n') ?? 0) + by; data.set('n', n); return n }"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = Served(tmp_path_factory.mktemp("forged") / "home")
    yield served
    served.stop()


@pytest.fixture
def world(served: Served) -> str:
    made = served.client().create("counted").id
    served.client().develop(made, COUNT)
    return made


def post(served: Served, path: str, body: Any) -> Any:
    return served.ask("POST", path, json.dumps(body).encode(), content_type="application/json")


def count_of(served: Served, world: str) -> Any:
    items = served.ask("GET", f"/api/worlds/{world}/data").json()["items"]
    return {row["key"]: row["value"] for row in items}


FORGED_CALLS: dict[str, dict[str, Any]] = {
    "a call path": {"args": [1], "path": ["other"]},
    "an admission": {"args": [1], "admitted": 1},
    "a retried incident": {"args": [1], "retries": 1},
    "a seed": {"args": [1], "seed": 7},
    "a moment": {"args": [1], "flick": 0},
    "an actor": {"args": [1], "actor": "world:other"},
    "answers": {"args": [1], "answers": [{"ordinal": 0, "value": "1"}]},
    "a snapshot": {"args": [1], "snapshot": 0, "revision": 0},
    "a budget": {"args": [1], "fuel": 10**15},
    "the request id of a peer": {"args": [1], "requestId": "peer:0123"},
    "a request id with a NUL": {"args": [1], "requestId": "a\0b"},
    "a blank request id": {"args": [1], "requestId": "  "},
    "a request id of a lone surrogate": {"args": [1], "requestId": "\ud800"},
    "a request id that is endless": {"args": [1], "requestId": "r" * 201},
    "arguments that are no array": {"args": {"length": 1, "0": 1}},
}


@pytest.mark.parametrize("body", FORGED_CALLS.values(), ids=FORGED_CALLS.keys())
def test_what_only_the_host_decides_is_refused_by_its_field(
    served: Served, world: str, body: dict[str, Any]
) -> None:
    field = next(name for name in body if name != "args" or len(body) == 1)
    reply = post(served, f"/api/worlds/{world}/call/count", body)
    assert reply.status_code == 400
    assert field in reply.json()["error"]
    assert count_of(served, world) == {}


def test_arguments_are_plain_values_whatever_their_keys_are_called(served: Served, world: str) -> None:
    served.client().develop(
        world,
        "function seen(x) { return [Object.keys(x), typeof x.then, x instanceof Array, ({}).polluted ?? null] }",
    )
    text = b'{"args": [{"__proto__": {"polluted": 1}, "then": "x", "constructor": 1, "toJSON": "y"}]}'
    reply = served.ask("POST", f"/api/worlds/{world}/call/seen", text, content_type="application/json")
    assert reply.json()["value"] == [["__proto__", "then", "constructor", "toJSON"], "string", False, None]


@pytest.mark.parametrize("name", ["toString", "constructor", "__proto__", "hasOwnProperty", "define", "data"])
def test_what_every_object_has_is_no_definition(served: Served, world: str, name: str) -> None:
    reply = post(served, f"/api/worlds/{world}/call/{name}", {"args": []})
    assert (reply.status_code, reply.json()["ok"]) == (404, False)


IDS = ["..", "../", "%2e%2e", "..%2f..%2fetc", "a%00b", "A-UPPER", "a" * 65, "a b", "é", "x/../y", "%2F"]


@pytest.mark.parametrize("id", IDS)
def test_an_id_that_is_none_finds_no_file_and_no_world(served: Served, id: str) -> None:
    reply = served.ask("GET", f"/api/worlds/{id}")
    assert reply.status_code in {400, 404}
    assert "error" in reply.json()


BAD_TEXTS = ["throw new Error('\\ud800')", "throw '\\udfff'", "console.log('\\ud800'); throw new Error('x')"]


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_lone_surrogates_of_an_error_are_told_wherever_it_is_read(
    served: Served, world: str, text: str
) -> None:
    served.client().develop(world, f"function bad(x) {{ {text} }}")
    reply = post(served, f"/api/worlds/{world}/call/bad", {"args": ["\ud800"]})
    assert reply.status_code == 422
    number = reply.json()["incident"]
    for path in (f"incidents/{number}", "incidents", "log?after=0&limit=100"):
        read = served.ask("GET", f"/api/worlds/{world}/{path}")
        assert read.status_code == 200, path
        json.loads(read.content)


def test_one_request_id_in_two_worlds_is_two_requests(served: Served, world: str) -> None:
    other = served.client().create("counted").id
    served.client().develop(other, COUNT)
    for each in (world, other, world, other):
        reply = post(served, f"/api/worlds/{each}/call/count", {"args": [5], "requestId": "same"})
        assert reply.json()["value"] == 5
    assert count_of(served, world) == count_of(served, other) == {"n": 5}


def test_the_same_request_id_at_once_is_done_once(served: Served, world: str) -> None:
    with ThreadPoolExecutor(16) as threads:
        replies = list(
            threads.map(
                lambda _: post(served, f"/api/worlds/{world}/call/count", {"args": [3], "requestId": "once"}),
                range(32),
            )
        )
    assert {reply.json()["value"] for reply in replies} == {3}
    assert count_of(served, world) == {"n": 3}


@pytest.mark.parametrize(
    "header", ["", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"]
)
def test_no_other_header_passes_for_the_operators_token(served: Served, world: str, header: str) -> None:
    reply = served.ask("POST", f"/api/worlds/{world}/call/count", b'{"args":[1]}', authorization=header)
    assert reply.status_code == 401
    assert count_of(served, world) == {}


def test_a_world_that_fills_its_record_leaves_the_server_writing(served: Served, world: str) -> None:
    served.client().develop(
        world,
        "function flood(n) { const v = 'x'.repeat(2e5); for (let i = 0; i < n; i++) data.set('k' + i, v); return n }",
    )
    reply = post(served, f"/api/worlds/{world}/call/flood", {"args": [500]})
    assert (reply.status_code, reply.json()["failure"]) == (422, "size")
    assert served.ask("GET", "/readyz").status_code == 200
    assert post(served, f"/api/worlds/{world}/call/count", {"args": [1]}).json()["value"] == 1
