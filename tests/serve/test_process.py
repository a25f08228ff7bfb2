"""`pw serve` as a process: its port, its directory, its end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from served import Served

from engine.serve.client import Client, Unreachable

PW = [sys.executable, "-m", "engine.cli"]
ENVIRONMENT = {name: text for name, text in os.environ.items() if not name.startswith("PW_")}


@contextmanager
def serving(
    home: Path, *options: str, program: Sequence[str] = PW, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The process and the lines that it prints when it takes requests."""
    process = subprocess.Popen(
        [*program, "serve", "--home", str(home), "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT | environment,
    )
    try:
        assert process.stdout is not None
        lines = []
        while not lines or not lines[-1].startswith("Try: "):
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            lines.append(line.strip())
        yield process, lines
    finally:
        process.kill()
        process.communicate()


def client_of(lines: list[str], token: str) -> Client:
    return Client(lines[0].rpartition(" ")[2], token)


def token_of(lines: list[str]) -> str:
    found = re.search(r"http://\S+/#token=(\S+)", lines[1])
    assert found, lines
    return found[1]


def ended(process: subprocess.Popen[str]) -> tuple[int, list[dict[str, object]]]:
    """The exit status and the log, once it has ended."""
    _, errors = process.communicate(timeout=60)
    return process.returncode, [json.loads(line) for line in errors.splitlines()]


def test_a_first_serving_prints_a_link_with_the_token_and_a_second_one_does_not(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, lines):
        token = token_of(lines)
        with client_of(lines, token) as client:
            client.create("kept")
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 0
    with serving(tmp_path) as (process, lines):
        assert token not in " ".join(lines)
        with client_of(lines, token) as client:
            assert [world.name for world in client.worlds()] == ["kept"]
        process.send_signal(signal.SIGINT)
        assert ended(process)[0] == 0


def test_the_command_that_a_serving_says_to_try_works_as_it_is_printed(tmp_path: Path) -> None:
    elsewhere = {"PATH": os.defpath}
    program = str(Path(sys.executable).with_name("pw"))
    with serving(tmp_path, program=[program], **elsewhere) as (_process, lines):
        command = lines[-1].removeprefix("Try: ")
        assert command.startswith(program)
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, env=ENVIRONMENT | elsewhere
        )
    assert re.fullmatch(r"hello-[0-9a-f]{6}\n", done.stdout), done.stderr


def test_sigterm_lets_running_work_end_and_idle_connections_go_and_exits_0(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, lines), client_of(lines, token_of(lines)) as client:
        world = client.create("w").id
        client.develop(world, "function slow() { let n = 0; for (let i = 0; i < 5e6; i++) n += i; return n }")
        address = ("127.0.0.1", int(client.url.rpartition(":")[2]))
        head = (
            f"POST /api/worlds/{world}/call/slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11\r\n"
            f"Authorization: Bearer {token_of(lines)}\r\n\r\n"
        )
        with (
            socket.create_connection(address),
            socket.create_connection(address) as half,
            socket.create_connection(address, timeout=60) as running,
        ):
            half.sendall(b"GET /healthz HTTP/1.1\r\nHost:")
            running.sendall(head.encode() + b'{"args":[]}')
            time.sleep(0.15)
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGTERM)  # a group and its leader are often told both
            answer = b""
            while chunk := running.recv(65536):
                answer += chunk
            status, log = ended(process)
        assert answer.startswith(b"HTTP/1.1 200 ") and b'"value":12499997500000' in answer
        assert status == 0
        assert [line["event"] for line in log if line["event"] != "request"] == [
            "serving",
            "draining",
            "stopped",
        ]
        with pytest.raises(Unreachable):
            client.worlds()


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    with serving(tmp_path, PW_TOKEN="chosen") as (process, lines):
        assert token_of(lines) == "chosen"
        with client_of(lines, "chosen") as client:
            world = client.create("w").id
            client.develop(world, "function put(k) { data.set(k, k); return k }")
            for key in ("a", "b", "c"):
                client.call(world, "put", [key])
        process.kill()
        process.communicate()
    with serving(tmp_path) as (_, lines), client_of(lines, "chosen") as client:
        assert client.world(world).revision == 1
        assert [row.key for row in client.data(world).items] == ["a", "b", "c"]


def test_a_second_server_on_one_directory_is_refused_in_one_line(served: Served) -> None:
    done = subprocess.run(
        [*PW, "serve", "--home", str(served.home), "--port", "0"],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("pw: another server runs on this directory")
    assert "Traceback" not in done.stderr
