"""The rows of the benchmark, the machine they were measured on, and the page they become."""

from __future__ import annotations

import math
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRATCH = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "BENCHMARKS.md"


@dataclass(frozen=True)
class Row:
    """One line of the table. `met` is None where there is no target."""

    what: str
    target: str
    here: str
    peer: str = ""
    ratio: str = ""
    met: bool | None = None


def median_ms(work: Callable[[], object], runs: int) -> float:
    """The median time of `work` in milliseconds."""
    return statistics.median(sample_ms(work, runs))


def sample_ms(work: Callable[[], object], runs: int) -> list[float]:
    times = []
    for _ in range(runs):
        began = time.perf_counter_ns()
        work()
        times.append((time.perf_counter_ns() - began) / 1e6)
    return times


def percentile(samples: list[float], percent: float) -> float:
    """The smallest sample that at least `percent` of all do not exceed."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def machine() -> list[tuple[str, str]]:
    """What a reader must know to compare: hardware, system, versions."""
    return [
        ("processor", f"{_processor()}, {os.cpu_count()} cores"),
        ("memory", f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"),
        ("load before, by others", f"{os.getloadavg()[0]:.1f} processes on {os.cpu_count()} cores"),
        (
            "system",
            f"{platform.system()} {platform.release()}, {_file_system(ROOT)} under the data directory",
        ),
        ("python", sys.version.split()[0]),
        ("wasmtime", metadata.version("wasmtime")),
        ("uvicorn", metadata.version("uvicorn")),
        ("node", _output("node", "--version")),
        ("commit", _output("git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD")),
        ("date", time.strftime("%Y-%m-%d", time.gmtime())),
    ]


def render(rows: list[Row], facts: list[tuple[str, str]], seconds: float) -> str:
    """The page, in Markdown."""
    mark = {True: "yes", False: "**no**", None: ""}
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`; do not edit. Medians of several runs; the peer ran in the same run, on the",
        "same machine. Latencies over HTTP are open-loop: requests leave at a fixed rate whatever the server",
        "does, and each is timed from the moment it was due. Client and server share the machine's cores.",
        "",
        "| what | target | here | peer in the same run | ratio | met |",
        "|---|---|---|---|---|---|",
        *(f"| {r.what} | {r.target} | {r.here} | {r.peer} | {r.ratio} | {mark[r.met]} |" for r in rows),
        "",
        "| machine | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in facts),
        f"| the whole run | {seconds:.0f} s |",
        "",
    ]
    return "\n".join(lines)


def _processor() -> str:
    try:
        match = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        match = None
    return match.group(1) if match else platform.processor() or platform.machine()


def _file_system(path: Path) -> str:
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "an unknown file system"
    under = [m for m in mounts if str(path.resolve()).startswith(m[1].rstrip("/") + "/")]
    return max(under, key=lambda m: len(m[1]))[2] if under else "an unknown file system"


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"
