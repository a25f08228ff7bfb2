"""Rows about recordings: how fast a session replays, what a call takes in its file, what recording a call costs."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from engine.host import live
from engine.hub import messages as hub
from tests.bench.http_rows import SHOUT, fresh_home, grown_world
from tests.bench.server import HOST, TOKEN, Process, pw_server
from tests.bench.table import ROOT, SCRATCH, Row, percentile

SESSION_CALLS = 8000
SESSION_LOADS = 2  # processes that send as fast as they are answered
CONNECTIONS = 8
RUNS = 3
REPLAY_TIMES = 5
RECORD_BYTES_MAX = 100
BLOCKS, BLOCK_CALLS = 40, 100
COST_PERCENT_MAX = 5
ARGUMENT = "hello"
# As in an application: each call writes a key of its own choosing among many, so most do not conflict.
NOTE = "function note(text) { return data.set('note:' + Math.floor(Math.random() * 1e6), text) }"


def live_session(server: Process, world: str) -> float:
    """Half reading, half writing calls, as many at once as there are connections; the calls a second."""
    paths = ",".join(f"/api/worlds/{world}/call/{function}" for function in ("shoutBackwards", "note"))
    each = SESSION_CALLS // SESSION_LOADS
    rate = 1_000_000  # out of reach: all are due at once
    options = [
        HOST,
        server.port,
        paths,
        rate,
        each / rate,
        CONNECTIONS,
        TOKEN,
        json.dumps({"args": [ARGUMENT]}),
    ]
    command = [sys.executable, "-m", "tests.bench.load", *map(str, options)]
    loads = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(SESSION_LOADS)]
    reports = [json.loads(load.communicate()[0]) for load in loads]
    assert all(report["statuses"] == {"200": each} for report in reports), "all are answered well"
    took_s = max(max(report["latencies_ms"]) for report in reports) / 1e3
    return SESSION_CALLS / took_s


def save_recording(server: Process, world: str, path: Path, until: int | None = None) -> int:
    """Its bytes."""
    query = {} if until is None else {"until": str(until)}
    answer = server.http.get(f"/api/worlds/{world}/recording", params=query)
    assert answer.status_code == 200, answer.text[:300]
    path.write_bytes(answer.content)
    return len(answer.content)


def replays_a_second(path: Path) -> float:
    """Records a second by `pw replay`, the median of a few runs."""
    rates = []
    for _ in range(RUNS):
        command = [str(Path(sys.executable).with_name("pw")), "replay", str(path), "--json"]
        told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        assert told["ok"], told["divergence"]
        rates.append(sum(told["compared"].values()) / told["seconds"])
    return statistics.median(rates)


def session_rows() -> list[Row]:
    server = pw_server(fresh_home("session"))
    try:
        world = grown_world(server, "session", SHOUT, NOTE)
        lived = live_session(server, world)
        path = SCRATCH / "session.pwrec"
        whole_bytes = save_recording(server, world, path)
        empty_bytes = save_recording(server, world, SCRATCH / "empty.pwrec", until=2)
    finally:
        server.stop()
    replayed = replays_a_second(path)
    return [
        Row(
            "replay speed of a session of short calls",
            f">= {REPLAY_TIMES}x the speed it was lived at full load",
            f"{replayed:,.0f} records/s",
            f"lived over HTTP: {lived:,.0f} calls/s",
            f"{replayed / lived:.1f}",
            replayed >= REPLAY_TIMES * lived,
        ),
        size_row(whole_bytes - empty_bytes),
    ]


def size_row(calls_bytes: int) -> Row:
    """Arguments and results count in full, though they are compressed with the rest."""
    said_bytes = len(json.dumps([ARGUMENT])) + len(json.dumps(ARGUMENT))
    each = calls_bytes / SESSION_CALLS
    return Row(
        "recording size of a call beyond its arguments and results",
        f"<= {RECORD_BYTES_MAX} bytes, compressed",
        f"{each:.0f} bytes with them ({said_bytes:.0f} raw)",
        met=each <= RECORD_BYTES_MAX,
    )


def cost_row() -> Row:
    """Two worlds on two hosts of one process take turns: in one, records of reading calls are thrown away."""
    kept, dropped = asyncio.run(_latencies_ms())
    p50, without = statistics.median(kept), statistics.median(dropped)
    percent = 100 * (p50 / without - 1)
    return Row(
        "cost of recording on a read call",
        f"<= {COST_PERCENT_MAX}% of p50",
        f"{percent:+.1f}%: p50 {1000 * p50:.0f} us, p99 {1000 * percentile(kept, 99):.0f} us",
        f"records thrown away: p50 {1000 * without:.0f} us, p99 {1000 * percentile(dropped, 99):.0f} us",
        f"{p50 / without:.2f}",
        percent <= COST_PERCENT_MAX,
    )


async def _latencies_ms() -> tuple[list[float], list[float]]:
    hosts = [await _host(name) for name in ("kept", "dropped")]
    hosts[1][0]._writer.put = lambda *_, **__: None  # type: ignore[method-assign]
    samples: tuple[list[float], list[float]] = ([], [])
    for _ in range(BLOCKS):
        for (host, world), into in zip(hosts, samples, strict=True):
            into += await _block(host, world)
    return samples


async def _host(name: str) -> tuple[Any, str]:
    host = live(str(fresh_home(f"cost-{name}")), loop=asyncio.get_running_loop())
    await host.start()
    world = (await host.create("cost", actor="bench", request_id=None)).id
    await host.perform(world, hub.Develop(SHOUT, "bench"), actor="bench", request_id=None)
    return host, world


async def _block(host: Any, world: str) -> list[float]:
    call = hub.Call("shoutBackwards", json.dumps([ARGUMENT]).encode())
    times = []
    for _ in range(BLOCK_CALLS):
        began = time.perf_counter_ns()
        answer = await host.perform(world, call, actor="bench", request_id=None)
        times.append((time.perf_counter_ns() - began) / 1e6)
        assert answer.ok
    return times


def rows() -> list[Row]:
    return [*session_rows(), cost_row()]
