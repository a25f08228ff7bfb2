"""An open-loop load generator, a process of its own: POSTs at a fixed rate over kept connections.

Each request is timed from the moment it was due, so a server that stalls is charged for all that had to wait.
One thread, `select` with microsecond time-outs: event loops round theirs up to a millisecond.

    python -m tests.bench.load HOST PORT PATH[,PATH...] RATE SECONDS CONNECTIONS TOKEN BODY   (prints JSON)

Several paths take turns. A rate that is out of reach sends all at once, as far as there are connections.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence

SILENCE_SECONDS_MAX = 60


class Connection:
    """One kept connection with at most one request under way."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.due_s = 0.0
        self._received = b""

    def send(self, request: bytes, due_s: float) -> None:
        self.due_s = due_s
        self.socket.sendall(request)

    def receive(self) -> int | None:
        """The status once the whole answer is there."""
        part = self.socket.recv(65536)
        if not part:
            raise ConnectionError("the server closed a kept connection")
        self._received += part
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator:
            return None
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        if len(body) < length:
            return None
        assert len(body) == length, "an answer nobody asked for"
        self._received = b""
        return int(head.split(b" ", 2)[1])


def run(
    host: str, port: int, requests: Sequence[bytes], *, rate: float, seconds: float, connections: int
) -> dict:
    """{latencies_ms: [...], statuses: {status: count}, sent}. Waiting for a free connection counts."""
    free = deque(Connection(host, port) for _ in range(connections))
    busy: dict[int, Connection] = {}
    latencies_ms: list[float] = []
    statuses: Counter[int] = Counter()
    total = round(rate * seconds)
    sent = 0
    began_s = time.perf_counter()
    while len(latencies_ms) < total:
        now_s = time.perf_counter()
        while sent < total and free and began_s + sent / rate <= now_s:
            connection = free.popleft()
            connection.send(requests[sent % len(requests)], began_s + sent / rate)
            busy[connection.socket.fileno()] = connection
            sent += 1
        is_due_next = sent < total and free
        wait_s = max(0.0, began_s + sent / rate - time.perf_counter()) if is_due_next else SILENCE_SECONDS_MAX
        readable, _, _ = select.select(list(busy), [], [], wait_s)
        for number in readable:
            status = busy[number].receive()
            if status is not None:
                connection = busy.pop(number)
                latencies_ms.append((time.perf_counter() - connection.due_s) * 1e3)
                statuses[status] += 1
                free.append(connection)
        if not readable and not is_due_next:
            raise TimeoutError(f"{len(busy)} requests unanswered for {SILENCE_SECONDS_MAX} s")
    return {"latencies_ms": latencies_ms, "statuses": dict(statuses), "sent": sent}


def post(host: str, path: str, token: str, body: bytes) -> bytes:
    """One request as it goes over the wire."""
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def main() -> None:
    host, port, paths, rate, seconds, connections, token, body = sys.argv[1:]
    requests = [post(f"{host}:{port}", path, token, body.encode()) for path in paths.split(",")]
    report = run(
        host, int(port), requests, rate=float(rate), seconds=float(seconds), connections=int(connections)
    )
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
