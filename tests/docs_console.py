"""Runs the ```console blocks of a page in one shell, against a real server, and compares or renews their output.

    python tests/docs_console.py README.md      writes the page again with what the commands print now

A line that begins with `$ ` is a command, one with `> ` goes on with it, all others are its output. The blocks of a
page share one shell in an empty directory, with the tree's `pw` on its path and `worlds/` in reach. The default ports
become free ones and back again.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
PORTS = ("8787", "8788")  # of the API and of the pages
SECONDS_MAX = 240
MARK = "=== status "

# What differs from run to run, and what it is compared as.
STEADY = (
    (r"\b([a-z0-9-]+)-[0-9a-f]{6}\b", r"\1-xxxxxx"),  # world ids
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"\b[0-9a-f]{64}\b", "HASH"),
    (r"token=[\w-]+", "token=TOKEN"),
    (r"~[\w-]{32}(\.[0-9a-f]+)?", "~KEY"),  # in the addresses of pages
    (r"\b\d+(\.\d+)? (ms|s|KiB|MiB|GiB|bytes)\b", "AMOUNT"),
    (r"\b[\d,]+/s\b", "RATE"),
    (r"\b\d{4,}\b", "NUMBER"),  # sizes, which follow the engine
    (r" +", " "),  # columns are as wide as what varies in them
)


@dataclass
class Step:
    """One command of a page, the lines it takes there, and what they say it prints."""

    command: str
    written: list[str]
    expected: list[str] = field(default_factory=list)
    actual: list[str] = field(default_factory=list)
    status: int = -1


def steps_of(page: str) -> list[Step]:
    """The commands of all console blocks, in order."""
    steps: list[Step] = []
    for block in re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append(Step(line[2:], [line]))
            elif line.startswith("> "):
                assert steps and not steps[-1].expected, f"a line that goes on with nothing: {line}"
                steps[-1].command += "\n" + line[2:]
                steps[-1].written.append(line)
            else:
                assert steps, f"output before any command: {line}"
                steps[-1].expected.append(line)
    return steps


def run(steps: list[Step]) -> None:
    """Fill in what each command prints (both streams) and its status. Ends the server it started."""
    ports = _free_ports(len(PORTS))
    with tempfile.TemporaryDirectory(prefix="pw-docs-") as directory:
        (Path(directory) / "worlds").symlink_to(ROOT / "worlds")
        mark = f"printf '\\n{MARK}%s\\n' $?"
        serve = "pw serve --port {} --pages-port {}".format(*PORTS)
        commands = [step.command.replace("pw serve", serve) for step in steps]
        script = "".join(f"{_replaced(command, PORTS, ports)}\n{mark}\n" for command in commands)
        script += "kill $(jobs -p) 2>/dev/null; wait\n"
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": directory,
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
            "PW_SERVER": f"http://127.0.0.1:{ports[0]}",
            "LANG": "C.UTF-8",
        }
        printed = _printed_by(script, directory, environment)
        outputs = _replaced(printed, ports, PORTS).replace(directory, "~").split(f"\n{MARK}")
    assert len(outputs) == len(steps) + 1, f"the shell ended early:\n{printed}"
    for step, output, following in zip(steps, outputs, outputs[1:], strict=False):
        body = output if step is steps[0] else output.split("\n", 1)[1]
        step.actual = body.rstrip("\n").splitlines() if body.strip() else []
        step.status = int(following.split("\n", 1)[0])


def _free_ports(count: int) -> list[str]:
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [str(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def _replaced(text: str, old: Sequence[str], new: Sequence[str]) -> str:
    for before, after in zip(old, new, strict=True):
        text = text.replace(before, after)
    return text


def _printed_by(script: str, directory: str, environment: dict[str, str]) -> str:
    """What a shell prints, both streams; it and all it started are ended if it takes too long."""
    shell = subprocess.Popen(
        ["bash", "-c", script],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        return shell.communicate(timeout=SECONDS_MAX)[0]
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGKILL)
        logs = [f"{log.name}:\n{log.read_text()}" for log in sorted(Path(directory).glob("*.log"))]
        printed = "\n".join([shell.communicate()[0], *logs])
        raise AssertionError(f"the shell took too long; it had printed:\n{printed}") from None


def steady(lines: list[str]) -> list[str]:
    """The lines with what differs from run to run replaced by a word for it."""
    text = "\n".join(lines)
    for pattern, word in STEADY:
        text = re.sub(pattern, word, text)
    return [line.rstrip() for line in text.splitlines()]


def renewed(page: str, steps: list[Step]) -> str:
    """The page with the actual output in its console blocks."""
    todo = iter(steps)

    def block(match: re.Match[str]) -> str:
        lines: list[str] = []
        for _ in steps_of(match.group(0)):
            step = next(todo)
            lines += [*step.written, *step.actual]
        return "```console\n" + "\n".join(lines) + "\n```"

    return re.sub(r"^```console\n.*?^```", block, page, flags=re.MULTILINE | re.DOTALL)


def main() -> None:
    path = Path(sys.argv[1])
    page = path.read_text()
    steps = steps_of(page)
    run(steps)
    path.write_text(renewed(page, steps))


if __name__ == "__main__":
    main()
