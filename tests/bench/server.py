"""A real server in a process of its own, for the rows that go over HTTP."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

from tests.bench.table import ROOT

TOKEN = "bench-token-for-this-run-only-0123456789abcdef"
HOST = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


class Process:
    """A server process; `started_s` is how long it took until it answered."""

    def __init__(self, command: list[str], port: int, ready: str) -> None:
        self.port = port
        self.log = open(ROOT / "build" / "bench" / f"server-{port}.log", "wb")  # noqa: SIM115
        began = time.perf_counter()
        environment = os.environ | {"PW_TOKEN": TOKEN}
        self._process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=self.log, stderr=self.log)
        self.pid = self._process.pid
        self._wait_until_ready(ready)
        self.started_s = time.perf_counter() - began
        self.http = httpx.Client(
            base_url=f"http://{HOST}:{port}", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60
        )

    def _wait_until_ready(self, path: str) -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise RuntimeError(f"the server ended at once; see {self.log.name}")
            try:
                if httpx.get(f"http://{HOST}:{self.port}{path}", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.01)
        raise TimeoutError(f"the server was not ready within 120 s; see {self.log.name}")

    def wait_until_printed(self, text: str) -> None:
        deadline = time.monotonic() + 120
        while text.encode() not in Path(self.log.name).read_bytes():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the server did not print {text!r} within 120 s; see {self.log.name}")
            time.sleep(0.05)

    def post(self, path: str, body: dict, expect: int = 200) -> dict:
        answer = self.http.post(path, json=body)
        assert answer.status_code == expect, f"{path}: {answer.status_code} {answer.text[:300]}"
        return answer.json()

    def stop(self, sign: signal.Signals = signal.SIGTERM) -> None:
        self.http.close()
        self._process.send_signal(sign)
        self._process.wait(timeout=60)
        self.log.close()

    def memory_bytes(self) -> tuple[int, int]:
        """(resident memory that is not shared memory, all shared memory it holds, mapped or not)."""
        rollup = dict(
            line.split(":", 1)
            for line in Path(f"/proc/{self.pid}/status").read_text().splitlines()
            if ":" in line
        )
        kib = {name: int(rollup[name].split()[0]) for name in ("RssAnon", "RssFile")}
        resident = sum(kib.values()) * 1024
        shared = 0
        for entry in Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                if os.readlink(entry).startswith("/memfd:"):
                    shared += entry.stat().st_blocks * 512
            except FileNotFoundError:
                continue
        return resident, shared

    def threads(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/task").iterdir()))


def pw_server(home: Path, *options: str) -> Process:
    """`pw serve` on a directory."""
    port = free_port()
    command = [str(Path(sys.executable).with_name("pw")), "serve", "--home", str(home), "--port", str(port)]
    return Process([*command, "--pages-port", "0", *options], port, "/readyz")


def bare_server() -> Process:
    """A bare uvicorn route."""
    port = free_port()
    options = ["--host", HOST, "--port", str(port), "--log-level", "warning", "--no-access-log"]
    return Process([sys.executable, "-m", "uvicorn", *options, "tests.bench.bare_app:app"], port, "/")
