"""Rows over HTTP: a real server on a real disk, against a bare uvicorn route and a bare fsync."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from tests.bench.server import HOST, TOKEN, Process, bare_server, pw_server
from tests.bench.table import ROOT, SCRATCH, Row, median_ms, percentile

SECONDS = 8
RUNS = 3
CONNECTIONS = 16
READ_RATE = 1000
WRITE_RATE = 500
DEVELOPS = 60
SHOUT = "function shoutBackwards(text) { return [...text].reverse().join('').toUpperCase() }"
COUNT = "function count(key) { return data.set(key, (data.get(key) ?? 0) + 1) }"


def fresh_home(name: str) -> Path:
    home = SCRATCH / name
    shutil.rmtree(home, ignore_errors=True)
    return home


def grown_world(server: Process, name: str, *sources: str) -> str:
    """A new world with these developed into it; its id."""
    world = server.post("/api/worlds", {"name": name}, expect=201)["id"]
    for source in sources:
        server.post(f"/api/worlds/{world}/develop", {"source": source, "summary": "bench"})
    return world


def under_load(port: int, path: str, body: dict, rate: int) -> tuple[float, float]:
    """(p50, p99) in milliseconds, medians of several runs of the generator in a process of its own."""
    p50s, p99s = [], []
    for _ in range(RUNS):
        options = [HOST, port, path, rate, SECONDS, CONNECTIONS, TOKEN, json.dumps(body)]
        command = [sys.executable, "-m", "tests.bench.load", *map(str, options)]
        report = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
        assert report["statuses"] == {"200": report["sent"]}, report["statuses"]
        p50s.append(percentile(report["latencies_ms"], 50))
        p99s.append(percentile(report["latencies_ms"], 99))
    return statistics.median(p50s), statistics.median(p99s)


def fsync_ms() -> float:
    """One 4 KiB append and its fsync, on the file system of the data directory."""
    path = SCRATCH / "fsync"
    with path.open("wb", buffering=0) as file:

        def append() -> None:
            file.write(bytes(4096))
            os.fsync(file.fileno())

        took_ms = median_ms(append, 200)
    path.unlink()
    return took_ms


def read_call_row(server: Process) -> Row:
    world = grown_world(server, "read", SHOUT)
    path, body = f"/api/worlds/{world}/call/shoutBackwards", {"args": ["hello"]}
    bare = bare_server()
    try:
        peer50, peer99 = under_load(bare.port, path, body, READ_RATE)
    finally:
        bare.stop()
    p50, p99 = under_load(server.port, path, body, READ_RATE)
    return Row(
        f"read call over HTTP at a fixed {READ_RATE:,}/s",
        "p50 <= 1 ms, p99 <= 10 ms",
        f"p50 {p50:.2f} ms, p99 {p99:.2f} ms",
        f"bare uvicorn route: p50 {peer50:.2f} ms, p99 {peer99:.2f} ms",
        f"{p50 / peer50:.1f}",
        p50 <= 1 and p99 <= 10,
    )


def write_call_row(server: Process) -> Row:
    """Each call writes a key of its own choosing among many, so most do not conflict, as in an application."""
    spread = "function note(text) { return data.set('note:' + Math.floor(Math.random() * 1e6), text) }"
    world = grown_world(server, "write", spread)
    peer = fsync_ms()
    p50, p99 = under_load(server.port, f"/api/worlds/{world}/call/note", {"args": ["hello"]}, WRITE_RATE)
    return Row(
        f"writing call, durable, at {WRITE_RATE}/s",
        "p50 <= 5 ms",
        f"p50 {p50:.2f} ms, p99 {p99:.2f} ms",
        f"one fsync: {peer:.2f} ms",
        f"{p50 / peer:.1f}",
        p50 <= 5,
    )


def median_develop_ms(server: Process, world: str, count: int) -> float:
    """The median time of so many develops, each of one new function."""
    numbers = iter(range(count))

    def develop() -> None:
        n = next(numbers)
        body = {"source": f"function f{n}(x) {{ return x + {n} }}", "summary": "one function"}
        server.post(f"/api/worlds/{world}/develop", body)

    return median_ms(develop, count)


def develop_row(server: Process) -> Row:
    p50 = median_develop_ms(server, grown_world(server, "develop"), DEVELOPS)
    return Row("develop of one function, durable", "p50 <= 15 ms", f"p50 {p50:.1f} ms", met=p50 <= 15)


def rows() -> list[Row]:
    server = pw_server(fresh_home("http"))
    try:
        return [read_call_row(server), write_call_row(server), develop_row(server)]
    finally:
        server.stop()
