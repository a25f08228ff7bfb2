"""Rows inside the engine: `engine.logic` alone, against quickjs-wasi under Node with the same programs.

Several rounds; in each the peer runs right before us, so that what else the machine does hits both alike.
"""

from __future__ import annotations

import itertools
import json
import shutil
import statistics
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from engine import limits
from engine.logic import (
    HeapImage,
    Job,
    VmPool,
    boot,
    call,
    catalogue_of,
    develop,
    load_engine,
    prelude_source,
    vm_thread_stack_bytes,
)
from tests.bench.table import ROOT, Row, median_ms, percentile, sample_ms

PACKAGE = ROOT / "web" / "node_modules" / "quickjs-wasi"
PEERS = ROOT / "tests" / "bench" / "peers.mjs"
ROUNDS = 3
WORLDS = 200
CALLS = 1000

TRIVIAL = {"source": "function up(s) { return s.toUpperCase() + '?' }", "call": "up('ab')", "value": "AB?"}
PROGRAMS: dict[str, dict[str, Any]] = {
    "loop": {
        "source": "function loop(n) { let s = 0; for (let i = 0; i < n; i++) s = (s + i * 3) % 1000003; return s }",
        "call": "loop(3000000)",
        "value": 135,
    },
    "fib": {
        "source": "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }",
        "call": "fib(22)",
        "value": 17711,
    },
    "floats": {
        "source": "function floats(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sin(i); return s | 0 }",
        "call": "floats(1000000)",
        "value": 0,
    },
}
PLAIN_FIB = "function plain(n) { const fib = (n) => n < 2 ? n : fib(n - 1) + fib(n - 2); return fib(n) }"
LARGE = "const parts = Array.from({length: 8000}, (_, n) => 'x'.repeat(1000) + n);"


class NoData:
    """The data of a world that has none."""

    def get(self, key: str) -> bytes | None:
        return None

    def list(self, prefix: str, after: str | None, limit: int | None) -> list[tuple[str, bytes]]:
        return []


def unknown(file: str) -> None:
    """No source is looked up: nothing here throws."""


def no_host(op: str, text: bytes) -> None:
    """No host function: the job asks for none."""


class Bench:
    """One engine and pool, as the host has them, and the worlds to measure."""

    def __init__(self) -> None:
        self.engine = load_engine((PACKAGE / "quickjs.wasm").read_bytes())
        self.pool = VmPool(self.engine)
        self.empty: HeapImage = boot(self.engine, prelude_source())
        self.small = [self.grown(self.empty, f"function f(x) {{ return x + {n} }}") for n in range(WORLDS)]
        self.large = self.grown(self.empty, f"{LARGE} function f(x) {{ return x + parts.length }}")
        self.fast = self.grown(self.empty, PLAIN_FIB)
        for program in PROGRAMS.values():
            self.fast = self.grown(self.fast, program["source"])

    def grown(self, image: HeapImage, source: str) -> HeapImage:
        catalogue = catalogue_of(self.pool, image)
        outcome = develop(self.pool, image, source, catalogue=catalogue, source_lookup=unknown)
        assert outcome.image is not None, outcome
        return outcome.image

    def call(self, image: HeapImage, name: str, *args: Any) -> Any:
        outcome = call(
            self.pool,
            image,
            name,
            json.dumps(args).encode(),
            flick=0,
            seed=1,
            fuel=limits.CALL_FUEL_MAX,
            data=NoData(),
            source_lookup=unknown,
        )
        assert outcome.ok and outcome.value is not None, outcome
        return json.loads(outcome.value)

    def round(self) -> dict[str, float]:
        """One round of all numbers, milliseconds and microseconds by name."""
        return self.snapshot_times() | self.call_times() | self.speed_times()

    def snapshot_times(self) -> dict[str, float]:
        """A job that is restored, does next to nothing, and whose heap is taken."""
        job = Job(image=self.empty, request=b"=", fuel=limits.CALL_FUEL_MAX, host=no_host, keep_heap=True)
        assert self.pool.run(job).image is not None
        return {"snapshot_ms": median_ms(lambda: self.pool.run(job), 300)}

    def call_times(self) -> dict[str, float]:
        """Isolation included: each call begins with a restore, and the worlds take turns."""
        turn = itertools.count()

        def call_the_next_world() -> None:
            n = next(turn) % WORLDS
            assert self.call(self.small[n], "f", 1) == 1 + n

        times = {
            "turns": sample_ms(call_the_next_world, CALLS),
            "same": sample_ms(lambda: self.call(self.small[7], "f", 1), CALLS),
            "large": sample_ms(lambda: self.call(self.large, "f", 1), 300),
        }
        shown = {f"{name}_{p}_us": percentile(ms, p) * 1000 for name, ms in times.items() for p in (50, 99)}
        return shown

    def speed_times(self) -> dict[str, float]:
        times = {}
        for name, program in PROGRAMS.items():
            argument = int(program["call"].split("(")[1].rstrip(")"))
            assert self.call(self.fast, name, argument) == program["value"]
            times[f"{name}_ms"] = median_ms(lambda n=name, a=argument: self.call(self.fast, n, a), 5)
        times["plain_ms"] = median_ms(lambda: self.call(self.fast, "plain", 22), 5)
        return times


def peer() -> dict[str, float]:
    """What quickjs-wasi under Node needs for the same."""
    node = shutil.which("node")
    if node is None:
        raise RuntimeError("the peer needs node: `make bench` brings it")
    order = {
        "wrapper": str(PACKAGE / "dist" / "index.js"),
        "wasm": str(PACKAGE / "quickjs.wasm"),
        "runs": 40,
        "programs": PROGRAMS,
        "trivial": TRIVIAL,
    }
    done = subprocess.run([node, str(PEERS)], input=json.dumps(order), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"the peer failed: {done.stderr}")
    return json.loads(done.stdout)


def on_a_vm_thread(work: Callable[[], Any]) -> Any:
    """Run where the server runs jobs: on a thread with the stack that deep recursion needs."""
    answers: list[Any] = []
    before = threading.stack_size(vm_thread_stack_bytes)
    try:
        thread = threading.Thread(target=lambda: answers.append(work()))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if not answers:
        raise RuntimeError("the measurement failed; its error is above")
    return answers[0]


def measure() -> tuple[dict[str, float], dict[str, float], Bench]:
    bench = Bench()
    rounds = [(peer(), bench.round()) for _ in range(ROUNDS)]
    node = {name: statistics.median(r[0][name] for r in rounds) for name in rounds[0][0]}
    here = {name: statistics.median(r[1][name] for r in rounds) for name in rounds[0][1]}
    return node, here, bench


def rows() -> tuple[list[Row], int]:
    """The rows, and the bytes of a gzipped whole snapshot of an empty world: the peer of small revisions."""
    node, here, bench = on_a_vm_thread(measure)
    there_ms = node["snapshot_ms"] + node["restore_ms"]
    there_us = node["restore_call_ms"] * 1000
    shown = [
        Row(
            f"snapshot + restore of an empty world ({bench.engine.path} path)",
            "<= 0.3 ms",
            f"{here['snapshot_ms']:.3f} ms",
            f"quickjs-wasi under Node: {node['snapshot_ms']:.2f} + {node['restore_ms']:.2f} ms",
            f"{here['snapshot_ms'] / there_ms:.3f}",
            here["snapshot_ms"] <= 0.3,
        )
    ]
    for name, what in (
        ("same", "one call inside the engine, isolation included"),
        ("turns", f"the same, another of {WORLDS} worlds each time"),
        ("large", f"the same, a heap of {bench.large.size_bytes / limits.MIB:.0f} MiB"),
    ):
        p50, p99 = here[f"{name}_50_us"], here[f"{name}_99_us"]
        peer_text = f"quickjs-wasi under Node, restore + call: {there_us:.0f} us"
        times = f"p50 {p50:.0f} us, p99 {p99:.0f} us"
        shown.append(Row(what, "p50 <= 80 us", times, peer_text, f"{p50 / there_us:.3f}", p50 <= 80))
    for name, at_least in (("loop", 0.6), ("floats", 0.45)):
        speed = node[f"{name}_ms"] / here[f"{name}_ms"]
        peer_text = f"quickjs-wasi under Node: {node[f'{name}_ms']:.0f} ms"
        target = f">= {at_least} of Node's"
        ours = f"{here[f'{name}_ms']:.0f} ms"
        shown.append(Row(f"guest speed: {name}", target, ours, peer_text, f"{speed:.2f}", speed >= at_least))
    stubs, plain = here["fib_ms"], here["plain_ms"]
    shown.append(
        Row(
            "guest speed: fib(22) through definitions",
            "<= 4x plain",
            f"{stubs:.1f} ms, plain {plain:.1f} ms",
            f"plain, quickjs-wasi under Node: {node['fib_ms']:.1f} ms",
            f"{stubs / plain:.1f}",
            stubs <= 4 * plain,
        )
    )
    return shown, int(node["gzip_bytes"])
