"""HTTP/1.1 itself: framing that could be read in two ways is refused and ends the connection; nobody may be endless."""

from __future__ import annotations

import json
import socket
import time

import pytest
from served import TOKEN, Served

from engine.serve import protocol

HEAD = f"POST /api/worlds HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n".encode()
BODY = b'{"name":"raw"}'
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "request_bytes",
    [
        HEAD + b"Content-Length: 14\r\nContent-Length: 13\r\n\r\n" + BODY,
        HEAD + b"Content-Length: 14\r\nContent-Length: 14\r\n\r\n" + BODY,
        HEAD + b"Content-Length: 14, 13\r\n\r\n" + BODY,
        HEAD + b"Content-Length: -1\r\n\r\n" + BODY,
        HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n" + BODY,
        HEAD + b"Content-Length : 14\r\n\r\n" + BODY,
        HEAD + b"Content-Length: 14\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n" + BODY + b"\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked, gzip\r\n\r\ne\r\n" + BODY + b"\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\ne\r\n" + BODY + b"\r\n0\r\n\r\n",
        CHUNKED + b"e\r\n" + BODY + b"XX0\r\n\r\n",
        CHUNKED + b"c\r\n" + BODY + b"\r\n0\r\n\r\n",
        CHUNKED + b"zz\r\n" + BODY + b"\r\n0\r\n\r\n",
        CHUNKED + b"e\n" + BODY + b"\n0\n\n",
        HEAD.replace(b"HTTP/1.1", b"HTTP/1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD.replace(b"Host: localhost\r\n", b"") + b"Content-Length: 14\r\n\r\n" + BODY,
        HEAD + b"Host: localhost\r\nContent-Length: 14\r\n\r\n" + BODY,
        HEAD + b"X-Folded: a\r\n b\r\nContent-Length: 14\r\n\r\n" + BODY,
        b"GET /api/\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_framing_that_is_not_certain_is_400_and_closes(served: Served, request_bytes: bytes) -> None:
    before = len(served.client().worlds())
    head, _, body = served.talk(request_bytes).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nconnection: close" in head and b"\r\ncache-control: no-store" in head
    assert json.loads(body)["error"]
    assert len(served.client().worlds()) == before


def test_a_chunk_that_ends_wrongly_later_is_400_too_and_nothing_was_done(served: Served) -> None:
    before = len(served.client().worlds())
    answer = served.talk(CHUNKED + b"e\r\n" + BODY, 0.05, b"\r\n5\r\nabcdeXX")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert len(served.client().worlds()) == before


def test_a_chunked_body_is_a_body(served: Served) -> None:
    close = CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    answer = served.talk(close + b"7\r\n" + BODY[:7] + b"\r\n", 0.02, b"7\r\n" + BODY[7:] + b"\r\n0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 201 ")


def test_the_largest_body_is_read_and_one_byte_more_is_413_however_it_is_framed(
    served: Served, world: str
) -> None:
    path = f"/api/worlds/{world}/execute"
    body = b'{"expression":"' + b" " * (8 * 2**20 - 17) + b'"}'
    assert len(body) == 8 * 2**20
    assert served.ask("POST", path, body).status_code != 413
    response = served.ask("POST", path, body + b" ")
    assert (response.status_code, response.json()["error"]) == (413, "body: is larger than 8388608 bytes")
    head = CHUNKED.replace(b"/api/worlds", path.encode())
    last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = served.talk(head, *[b"100000\r\n" + b" " * 2**20 + b"\r\n"] * 9, b"0\r\n\r\n", last)
    assert [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"413", b"200"]


def test_an_announced_body_that_is_too_large_is_413_before_it_is_sent(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as sock:
        sock.sendall(HEAD + b"Content-Length: 8388609\r\nExpect: 100-continue\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    "parts",
    [
        [b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 70_000 + b"\r\n\r\n"],
        [b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 12_000 + b"\r\n"],
        [b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 60_000, 0.02, b"a" * 6_000],
        [b"GET /" + b"a" * 66_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ],
)
def test_a_head_that_is_too_large_is_431_and_closes(served: Served, parts: list[bytes | float]) -> None:
    head, _, body = served.talk(*parts).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 ")
    assert json.loads(body)["error"] == "head: is larger than 65536 bytes"


def test_a_head_below_the_limit_is_read(served: Served) -> None:
    head = (
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: " + b"a" * 65_000 + b"\r\n\r\n"
    )
    assert served.talk(head).startswith(b"HTTP/1.1 200 ")


def test_requests_on_one_connection_are_answered_in_order(served: Served) -> None:
    one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    other = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = served.talk(one + one + other)
    assert [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200", b"404"]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", b""),
        (b"GET /healthz HTTP/1.1\r\nHost: loc", b"HTTP/1.1 408 "),
        (HEAD + b"Content-Length: 14\r\n\r\n{", b"HTTP/1.1 408 "),
    ],
)
def test_a_client_that_stops_in_the_middle_is_let_go(
    served: Served, monkeypatch: pytest.MonkeyPatch, sent: bytes, status: bytes
) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS_MAX", 0.1)
    monkeypatch.setattr(protocol, "BODY_SECONDS_MAX", 0.1)
    answer = served.talk(sent)
    assert answer.startswith(status) and bool(answer) == bool(status)


def test_a_trickle_does_not_buy_time(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS_MAX", 0.3)
    started_s = time.monotonic()
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\n")
        try:
            while time.monotonic() - started_s < 5:
                sock.sendall(b"X: a\r\n")
                time.sleep(0.02)
        except OSError:
            pass
    assert time.monotonic() - started_s < 4


def test_a_client_that_goes_away_does_not_end_its_operation(served: Served, world: str) -> None:
    client = served.client()
    client.develop(
        world,
        "function slow() { let n = 0; for (let i = 0; i < 1e6; i++) n += i; data.set('n', n); return n }",
    )
    with socket.create_connection(("127.0.0.1", served.port)) as sock:
        head = HEAD.replace(b"/api/worlds", f"/api/worlds/{world}/call/slow".encode())
        sock.sendall(head + b'Content-Length: 11\r\n\r\n{"args":[]}')
    deadline_s = time.monotonic() + 30
    while not client.data(world).items and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert [bytes(row.value) for row in client.data(world).items] == [b"499999500000"]
