"""The instruments: a percentile is a sample, the load does not yield to a slow server, the page says what was met."""

from __future__ import annotations

import socket
import threading
import time

from tests.bench import load
from tests.bench.table import Row, percentile, render

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


def serve_once(listener: socket.socket, pauses_s: list[float]) -> None:
    """Answer requests on one connection, each after its pause."""
    connection, _ = listener.accept()
    with connection:
        for pause_s in pauses_s:
            received = b""
            while not received.endswith(b"\r\n\r\n{}"):
                received += connection.recv(65536)
            time.sleep(pause_s)
            connection.sendall(ANSWER[:20])
            connection.sendall(ANSWER[20:])


def latencies_of(pauses_s: list[float], *, rate: float) -> list[float]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        server = threading.Thread(target=serve_once, args=(listener, pauses_s), daemon=True)
        server.start()
        request = load.post("test", "/x", "token", b"{}")
        seconds = len(pauses_s) / rate
        report = load.run("127.0.0.1", port, [request], rate=rate, seconds=seconds, connections=1)
        server.join(timeout=5)
    assert report["statuses"] == {200: len(pauses_s)}
    return report["latencies_ms"]


def test_a_percentile_is_the_smallest_sample_that_covers_it():
    samples = [float(n) for n in range(100, 0, -1)]
    assert [percentile(samples, p) for p in (1, 50, 99, 100)] == [1.0, 50.0, 99.0, 100.0]
    assert percentile([7.0], 50) == 7.0


def test_requests_that_wait_for_a_slow_answer_are_charged_for_it():
    """One stall of 0.2 s at 100/s: those due in the meantime are late by what was left of it."""
    latencies_ms = latencies_of([0.2] + [0.0] * 9, rate=100)
    assert latencies_ms[0] >= 200
    assert latencies_ms[1] >= 185 and latencies_ms[5] >= 145


def test_the_rate_is_kept():
    began = time.perf_counter()
    latencies_of([0.0] * 50, rate=100)
    assert time.perf_counter() - began >= 0.49


def test_the_page_tells_what_was_missed():
    rows = [
        Row("fast", "<= 1 ms", "0.5 ms", "peer 2 ms", "0.3", True),
        Row("slow", "<= 1 ms", "3 ms", met=False),
        Row("told", "", "7"),
    ]
    page = render(rows, [("system", "here")], 12.3)
    assert "| fast | <= 1 ms | 0.5 ms | peer 2 ms | 0.3 | yes |" in page
    assert "| slow | <= 1 ms | 3 ms |  |  | **no** |" in page
    assert "| told |  | 7 |  |  |  |" in page
    assert "| the whole run | 12 s |" in page
