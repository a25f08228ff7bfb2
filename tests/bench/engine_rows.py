"""Rows inside the engine: `engine.logic` alone, against quickjs-wasi under Node with the same programs."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from engine import limits
from engine.logic import HeapImage, Job, VmPool, jobs, load_engine, vm_thread_stack_bytes
from engine.logic.prelude import boot_world
from tests.bench.table import ROOT, Row, median_ms, percentile, sample_ms

WASM = ROOT / "web" / "node_modules" / "quickjs-wasi" / "quickjs.wasm"
WRAPPER = ROOT / "web" / "node_modules" / "quickjs-wasi" / "dist" / "index.js"
PEERS = ROOT / "tests" / "bench" / "peers.mjs"
CALLS = 2000
LIBRARY_KIB = 700

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


class NoData:
    """The data of a world that has none."""

    def get(self, key: str) -> bytes | None:
        return None

    def list(self, prefix: str, after: str | None, limit: int | None) -> list[tuple[str, bytes]]:
        return []


class Bench:
    """One engine and pool, as the host has them."""

    def __init__(self, prefer: str) -> None:
        self.engine = load_engine(WASM.read_bytes())
        self.pool = VmPool(self.engine, prefer=prefer)
        self.empty: HeapImage = boot_world(self.engine)

    def develop(self, image: HeapImage, source: str) -> HeapImage:
        outcome = jobs.develop(
            self.pool, image, source, commonjs=None, fuel=limits.DEVELOP_FUEL_MAX, catalogue=[]
        )
        assert outcome.image is not None, outcome
        return outcome.image

    def call(self, image: HeapImage, name: str, *args: Any) -> Any:
        outcome = jobs.call(
            self.pool,
            image,
            name,
            json.dumps(args).encode(),
            flick=0,
            seed=1,
            fuel=limits.CALL_FUEL_MAX,
            data=NoData(),
        )
        assert outcome.ok and outcome.value is not None, outcome
        return json.loads(outcome.value)


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


def peer() -> dict[str, float]:
    """What quickjs-wasi under Node needs for the same."""
    node = shutil.which("node")
    if node is None:
        raise RuntimeError("the peer needs node: `make bench` brings it")
    order = {"wrapper": str(WRAPPER), "wasm": str(WASM), "runs": 40, "programs": PROGRAMS, "trivial": TRIVIAL}
    done = subprocess.run([node, str(PEERS)], input=json.dumps(order), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"the peer failed: {done.stderr}")
    return json.loads(done.stdout)


def snapshot_row(bench: Bench, node: dict[str, float]) -> Row:
    """A job that is restored, does nothing, and whose heap is taken."""
    job = Job(
        image=bench.empty, request=b"", fuel=limits.CALL_FUEL_MAX, host=lambda op, text: None, keep_heap=True
    )
    bench.pool.run(job)
    here = median_ms(lambda: bench.pool.run(job), 500)
    there = node["snapshot_ms"] + node["restore_ms"]
    return Row(
        "snapshot + restore of an empty world",
        "<= 0.3 ms",
        f"{here:.3f} ms",
        f"quickjs-wasi under Node: {node['snapshot_ms']:.2f} + {node['restore_ms']:.2f} ms",
        f"{here / there:.2f}",
        here <= 0.3,
    )


def call_rows(bench: Bench, node: dict[str, float]) -> list[Row]:
    """Isolation included: each call begins with a restore, and the worlds take turns on the same VMs."""
    small = [bench.develop(bench.empty, f"function f(x) {{ return x + {n} }}") for n in range(200)]
    filler = ", ".join("'" + "x" * 1000 + f"{n}'" for n in range(LIBRARY_KIB))
    large = bench.develop(
        bench.empty, f"const parts = [{filler}]; function f(x) {{ return x + parts.length }}"
    )
    turn = iter(range(10**9))

    def call_some_world() -> None:
        n = next(turn) % len(small)
        assert bench.call(small[n], "f", 1) == 1 + n

    call_some_world()
    times = [ms * 1000 for ms in sample_ms(call_some_world, CALLS)]
    bench.call(large, "f", 1)
    heavy = [ms * 1000 for ms in sample_ms(lambda: bench.call(large, "f", 1), 300)]
    there = node["restore_call_ms"] * 1000
    p50 = percentile(times, 50)
    return [
        Row(
            "one call inside the engine, isolation included, another of 200 worlds each time",
            "p50 <= 80 us",
            f"p50 {p50:.0f} us, p99 {percentile(times, 99):.0f} us",
            f"quickjs-wasi under Node, restore + call: {there:.0f} us",
            f"{p50 / there:.3f}",
            p50 <= 80,
        ),
        Row(
            f"the same in a world with a heap of {large.size_bytes / limits.MIB:.1f} MiB",
            "p50 <= 80 us",
            f"p50 {percentile(heavy, 50):.0f} us, p99 {percentile(heavy, 99):.0f} us",
            met=percentile(heavy, 50) <= 80,
        ),
    ]


def speed_rows(bench: Bench, node: dict[str, float]) -> list[Row]:
    image = bench.empty
    for program in PROGRAMS.values():
        image = bench.develop(image, program["source"])
    image = bench.develop(image, PLAIN_FIB)

    def timed(name: str, argument: int, value: int) -> float:
        assert bench.call(image, name, argument) == value
        return statistics.median(sample_ms(lambda: bench.call(image, name, argument), 5))

    rows = []
    for name, at_least in (("loop", 0.6), ("floats", 0.45)):
        argument = int(PROGRAMS[name]["call"].split("(")[1].rstrip(")"))
        here = timed(name, argument, PROGRAMS[name]["value"])
        speed = node[f"{name}_ms"] / here
        rows.append(
            Row(
                f"guest speed: {name}",
                f">= {at_least} of Node's",
                f"{here:.0f} ms",
                f"quickjs-wasi under Node: {node[f'{name}_ms']:.0f} ms",
                f"{speed:.2f}",
                speed >= at_least,
            )
        )
    stubs, plain = timed("fib", 22, 17711), timed("plain", 22, 17711)
    rows.append(
        Row(
            "guest speed: fib(22) through definitions",
            "<= 4x plain",
            f"{stubs:.1f} ms, plain {plain:.1f} ms",
            f"plain, quickjs-wasi under Node: {node['fib_ms']:.1f} ms",
            f"{stubs / plain:.1f}",
            stubs <= 4 * plain,
        )
    )
    return rows


def rows(prefer: str = "auto") -> tuple[list[Row], int]:
    """The rows, and the bytes of a gzipped whole snapshot of an empty world: the peer of small revisions."""
    node = peer()

    def measure() -> list[Row]:
        bench = Bench(prefer)
        return [snapshot_row(bench, node), *call_rows(bench, node), *speed_rows(bench, node)]

    return on_a_vm_thread(measure), int(node["gzip_bytes"])
