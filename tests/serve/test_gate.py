"""The gate: who may come in, from where, and what is noted; and strictness as a client meets it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from served import TOKEN, Served

from engine.serve.client import Client, Unauthorized, Unreachable


@pytest.mark.parametrize("path", ["/api/worlds", "/api/version", "/api/nothing", "/api", "/apifoo"])
@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x"]
)
def test_without_the_token_nothing_under_api_answers(served: Served, path: str, header: str) -> None:
    response = served.ask("GET", path, authorization=header)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["error"].startswith("the operator token is ") and response.json()["hint"]


def test_a_wrong_token_changes_nothing(served: Served, client: Client) -> None:
    before = client.worlds()
    assert served.ask("POST", "/api/worlds", b'{"name":"x"}', authorization="Bearer no").status_code == 401
    with Client(served.url, "no") as stranger, pytest.raises(Unauthorized):
        stranger.create("x")
    assert client.worlds() == before


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_operation_needs_no_token_on_loopback(served: Served, path: str) -> None:
    assert served.ask("GET", path, authorization="").status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.", "[::2]", "192.168.0.1:8787"]
)
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/api/gc"), ("GET", "/api/worlds"), ("GET", "/docs"), ("GET", "/metrics"), ("GET", "/healthz")],
)
def test_nothing_is_asked_under_a_foreign_host_name(
    served: Served, host: str, method: str, path: str
) -> None:
    response = served.ask(method, path, host=host)
    assert response.status_code == 403
    assert response.json() == {
        "error": f"host: {host} is not a name of this server",
        "hint": "use http://127.0.0.1, or start the server with --allow-host NAME",
    }


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:1234", "127.0.0.1", "[::1]:8787", "LOCALHOST", "ok.example:80"]
)
def test_names_of_this_server_are_taken(named: Served, host: str) -> None:
    assert named.ask("POST", "/api/gc", b"{}", host=host).status_code == 200
    assert named.ask("GET", "/api/worlds", host=host).status_code == 200


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that also answers to ok.example."""
    server = Served(tmp_path_factory.mktemp("named"), names=frozenset({"ok.example"}))
    yield server
    server.stop()


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:1", 403),
        ("http://localhost", 200),
        ("https://localhost", 200),
        ("http://evil.example", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_a_change_from_a_page_of_another_origin_is_refused(served: Served, origin: str, status: int) -> None:
    response = served.ask("POST", "/api/gc", b"{}", host="localhost", origin=origin)
    assert response.status_code == status


def test_wrong_methods_name_the_right_ones(served: Served) -> None:
    for path, allow in (
        ("/api/worlds", "GET, HEAD, POST"),
        ("/api/worlds/some-id", "DELETE, GET, HEAD, PATCH"),
        ("/api/worlds/some-id/data/some/key", "DELETE, PUT"),
        ("/healthz", "GET, HEAD"),
    ):
        response = served.ask("OPTIONS", path)
        assert (response.status_code, response.headers["allow"]) == (405, allow)
        assert "error" in response.json()


@pytest.mark.parametrize(
    "path", ["/nothing", "/api/nothing", "/api/worlds/", "/api/worlds/x/y", "/api//worlds"]
)
def test_unknown_routes_are_404_with_an_error(served: Served, path: str) -> None:
    response = served.ask("GET", path)
    assert response.status_code == 404
    assert response.json() == {"error": f"there is no {path} here", "hint": "/docs lists what there is"}


@pytest.mark.parametrize("world", ["A", "a_b", "..%2Fetc", "a" * 65, "%00", "%20", "a%2Fb", "%C3%A9", "a."])
def test_ids_that_are_none_are_refused_by_field(served: Served, world: str) -> None:
    response = served.ask("GET", f"/api/worlds/{world}")
    assert response.status_code == 400
    assert response.json()["error"].startswith("world: ")


@pytest.mark.parametrize("n", ["x", "-1", "1.5", "%31%00", "%C2%B2"])
def test_numbers_that_are_none_are_refused_by_field(served: Served, world: str, n: str) -> None:
    response = served.ask("GET", f"/api/worlds/{world}/revisions/{n}")
    assert (response.status_code, response.json()["error"].partition(":")[0]) == (400, "n")


def test_numbers_that_nothing_has_are_404(served: Served, world: str) -> None:
    response = served.ask("GET", f"/api/worlds/{world}/revisions/99999999999999999999")
    assert response.status_code == 404
    assert response.json()["error"] == (
        "n: there is no 99999999999999999999; numbers end at 9007199254740991"
    )


@pytest.mark.parametrize(
    "begin",
    [b"FOO /api/worlds HTTP/1.1\r\nhost: localhost\r\n\r\n", b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03"],
)
def test_what_begins_with_no_method_of_http_is_501(served: Served, begin: bytes) -> None:
    head, _, body = served.talk(begin).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 501 ")
    assert json.loads(body) == {
        "error": "the request does not begin with a method that this server knows",
        "hint": "the methods are GET, HEAD, POST, PUT, PATCH, DELETE; TLS is for a proxy in front",
    }


def test_a_refused_body_does_nothing(served: Served, client: Client, world: str) -> None:
    records = client.world(world).records
    for method, path, body in (
        ("POST", "develop", b"{}"),
        ("POST", "develop", b'{"source":"function f() {}","extra":1}'),
        ("POST", "develop", b'{"source":"exports.a = 1","commonjs":"not a name"}'),
        ("POST", "call/f", b'{"args":{}}'),
        ("POST", "execute", b"not json"),
        ("POST", "rollback", b'{"revision":"0","reason":"x"}'),
        ("PUT", "data/k", b'{"value":1}'),
        ("PUT", "data/k", b'{"value":1,"reason":"x","requestId":""}'),
        ("DELETE", "data/k", b""),
        ("PATCH", "", b'{"name":""}'),
        ("DELETE", "", b'{"reason":"x"}'),
    ):
        response = served.ask(method, f"/api/worlds/{world}/{path}".rstrip("/"), body)
        assert response.status_code == 400, (path, body, response.text)
        assert ": " in response.json()["error"]
    assert client.world(world).records == records


def test_every_answer_forbids_caching_and_carries_a_request_id(served: Served) -> None:
    for method, path in (
        ("GET", "/api/worlds"),
        ("GET", "/healthz"),
        ("GET", "/x"),
        ("PUT", "/x"),
        ("GET", "/docs"),
    ):
        response = served.ask(method, path)
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["x-request-id"]


def test_the_front_door_leads_to_the_docs(served: Served) -> None:
    response = served.ask("GET", "/")
    assert (response.status_code, response.headers["location"]) == (307, "/docs")


def test_the_log_says_what_was_asked_and_never_a_token_or_a_body(served: Served, world: str) -> None:
    response = served.ask("POST", f"/api/worlds/{world}/execute", b'{"expression":"\'secret\' + 1"}')
    request_id = response.headers["x-request-id"]
    noted = next(one for one in served.logs if one.get("request") == request_id)
    assert (noted["method"], noted["route"]) == ("POST", "/api/worlds/{world}/execute")
    assert (noted["world"], noted["status"]) == (world, 200)
    assert noted["ms"] > 0
    assert TOKEN not in json.dumps(served.logs) and "secret" not in json.dumps(served.logs)


def test_metrics_count_requests_by_route_and_status(served: Served, world: str) -> None:
    served.ask("GET", f"/api/worlds/{world}")
    served.ask("PROPFIND", f"/api/worlds/{world}")
    text = served.ask("GET", "/metrics").text
    assert 'pw_requests_total{method="GET",route="/api/worlds/{world}",status="200"}' in text
    assert 'pw_requests_total{method="OTHER",route="/api/worlds/{world}",status="405"} 1.0' in text
    assert 'pw_request_seconds_bucket{le="0.001",route="/api/worlds/{world}"}' in text
    assert world not in text, "an id is no label: there would be no end of series"
    assert "\npw_worlds_open " in text


def test_a_mistake_of_the_server_is_a_500_that_names_its_log_line(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served.serving.host, "version", lambda: 1 / 0)
    response = served.ask("GET", "/api/version")
    request_id = response.headers["x-request-id"]
    assert response.status_code == 500
    assert response.json() == {
        "error": "the server made a mistake",
        "hint": f"its log says more under request {request_id}",
    }
    assert any(one["level"] == "error" and one["request"] == request_id for one in served.logs)


def test_where_no_server_is_the_client_says_how_to_start_one() -> None:
    with Client("http://127.0.0.1:1", None) as client, pytest.raises(Unreachable) as caught:
        client.worlds()
    assert "pw serve" in (caught.value.hint or "")
