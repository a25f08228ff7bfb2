"""Rows about how much: bytes of a revision, large worlds, a thousand worlds, reopening them."""

from __future__ import annotations

import itertools
import signal
import statistics
from pathlib import Path

from tests.bench.http_rows import fresh_home, grown_world
from tests.bench.server import Process, pw_server
from tests.bench.table import Row, median_ms

WORLDS = 1000
REVISIONS = 40
MIB = 1024 * 1024
ORIGINAL_MB = {0: "1.38 MB", 200: "1.64 MB", 2000: "4.39 MB"}


def stored_bytes(home: Path) -> int:
    """Bytes of the log's segments and of the blobs, as files; not of the reserve and the caches."""
    files = [*home.glob("log/*.seg"), *(path for path in home.glob("blobs/**/*") if path.is_file())]
    return sum(path.stat().st_size for path in files)


def revision_bytes_row(gzip_bytes: int) -> Row:
    home = fresh_home("bytes")
    server = pw_server(home)
    try:
        world = grown_world(server, "bytes", "function first() { return 0 }")
        sizes = [stored_bytes(home)]
        for n in range(REVISIONS):
            body = {"source": f"function f{n}(x) {{ return x + {n} }}", "summary": "one function"}
            server.post(f"/api/worlds/{world}/develop", body)
            sizes.append(stored_bytes(home))
    finally:
        server.stop()
    typical = statistics.median(after - before for before, after in itertools.pairwise(sizes))
    mean = (sizes[-1] - sizes[0]) / REVISIONS
    return Row(
        "bytes a small revision adds to log and blobs",
        "<= 8 KB",
        f"{typical / 1000:.1f} KB; mean of {REVISIONS}, full bases included: {mean / 1000:.1f} KB",
        f"a gzipped whole snapshot: {gzip_bytes / 1000:.0f} KB",
        f"{mean / gzip_bytes:.3f}",
        mean <= 8000,
    )


def large_world_row(server: Process, home: Path, definitions: int) -> Row:
    """Develops and calls go over HTTP, one at a time."""
    world = grown_world(server, f"large {definitions}")
    before = stored_bytes(home)
    if definitions:
        add = "/** Adds {n}. */\nfunction add{n}(x) {{ return x + {n} }}"
        source = "\n".join(add.format(n=n) for n in range(definitions))
        server.post(f"/api/worlds/{world}/develop", {"source": source, "summary": "many"})
    grown = stored_bytes(home) - before
    count = iter(range(1000))

    def develop() -> None:
        body = {"source": f"function last() {{ return {next(count)} }}", "summary": "one more"}
        server.post(f"/api/worlds/{world}/develop", body)

    develop_ms = median_ms(develop, 15)
    call_ms = median_ms(lambda: server.post(f"/api/worlds/{world}/call/last", {"args": []}), 200)
    return Row(
        f"a world with {definitions:,} definitions",
        "",
        f"stored {grown / 1000:.0f} KB, develop {develop_ms:.1f} ms, call {call_ms:.2f} ms",
        f"{ORIGINAL_MB[definitions]} raw in the original",
    )


def large_world_rows() -> list[Row]:
    home = fresh_home("large")
    server = pw_server(home)
    try:
        return [large_world_row(server, home, definitions) for definitions in ORIGINAL_MB]
    finally:
        server.stop()


def many_worlds_rows() -> list[Row]:
    home = fresh_home("many")
    server = pw_server(home)
    threads_before = server.threads()
    ids = [grown_world(server, f"world {n}", f"function f() {{ return {n} }}") for n in range(WORLDS)]
    for n, world in enumerate(ids):
        assert server.post(f"/api/worlds/{world}/call/f", {"args": []})["value"] == n
    resident, shared = server.memory_bytes()
    threads = server.threads()
    server.stop(signal.SIGKILL)
    again = pw_server(home)
    reopened_s = again.started_s
    assert len(again.http.get("/api/worlds").json()) == WORLDS
    assert again.post(f"/api/worlds/{ids[7]}/call/f", {"args": []})["value"] == 7
    again.stop()
    return [
        Row(
            f"{WORLDS:,} worlds created, one revision each, all called once",
            "RSS + shared memory <= 600 MB, no thread a world",
            f"{(resident + shared) / 1e6:.0f} MB ({resident / 1e6:.0f} + {shared / 1e6:.0f} shared), "
            f"{threads} threads ({threads_before} before)",
            met=resident + shared <= 600e6 and threads <= threads_before + 8,
        ),
        Row(
            f"reopening {WORLDS:,} worlds after kill -9, process start included",
            "<= 3 s",
            f"{reopened_s:.2f} s",
            met=reopened_s <= 3,
        ),
    ]
