"""`pw replay`: a world of a server and a recording file, run again here; what it prints, and how it ends."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest
from click.testing import Result

from engine.host import simulated
from engine.hub import messages as hub
from engine.io.log import LogEntry
from engine.io.mem_log import MemLog
from engine.record.recording import read_recording, write_recording
from engine.record.records import decode, encode, genesis_previous
from engine.serve.client import Client

Pw = Callable[..., Result]
SOURCE = "function bump(key) { const n = (data.get(key) ?? 0) + 1; data.set(key, n); return { n } }"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of six records: genesis, develop, three calls, an edit."""
    host = simulated("recorded")
    world = host.create("one").id
    host.perform(world, hub.Develop(SOURCE, "first"))
    for _ in range(3):
        host.perform(world, hub.Call("bump", b'["n"]'))
    host.perform(world, hub.EditData("k", b"1", "by hand"))
    path = tmp_path_factory.mktemp("recordings") / "one.pwrec"
    path.write_bytes(b"".join(write_recording(host.parts.log, host.parts.blobs, world)))
    return path


@pytest.fixture(scope="module")
def wrong(recorded: Path) -> Path:
    """The same, but for the second call's value."""
    with recorded.open("rb") as file:
        recording = read_recording(file)
    world, previous = recording.manifest.world, genesis_previous()
    entries: list[LogEntry] = []
    for _, entry in recording.log.read(world):
        header, body = decode(entry)
        assert body is not None
        if entry.seq == 3:
            body = msgspec.structs.replace(body, value=b'{"n":7}')
        again = partial(encode, body, world=world, seq=entry.seq, actor=header.actor, flick=header.flick)
        entry, previous = again(previous=previous)
        entries.append(entry)
    log = MemLog()
    log.append(entries)
    path = recorded.with_name("wrong.pwrec")
    path.write_bytes(b"".join(write_recording(log, recording.blobs, world)))
    return path


def test_a_file_replays_without_a_server(pw: Pw, recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW_SERVER", "http://127.0.0.1:1")
    said = pw("replay", str(recorded)).stdout
    assert re.fullmatch(
        r"replayed 6 records in [\d.]+ s \([\d,]+/s\): "
        r"1 genesis, 1 revision, 3 calls, 1 data-edit; all equal\n",
        said,
    )


def test_some_of_it_replays_alone_and_as_json(pw: Pw, recorded: Path) -> None:
    told = json.loads(pw("replay", str(recorded), "--from", "3", "--until", "4", "--json").stdout)
    assert told.pop("seconds") >= 0 and told.pop("world").startswith("one-")
    assert told == {
        "ok": True,
        "fromSeq": 3,
        "untilSeq": 4,
        "compared": {"call": 2},
        "takenOver": {},
        "erased": 0,
        "divergence": None,
    }


def test_a_divergence_ends_with_status_1_the_difference_and_the_command_that_shows_it(
    pw: Pw, wrong: Path
) -> None:
    result = pw("replay", str(wrong), status=1)
    world = result.stderr.split()[1].rstrip(",")
    assert result.stderr == (f"world {world}, record 3, a call: expected -> actual\n  value.n: 7 -> 2\n")
    command = f"pw replay {wrong} --from 3 --until 3"
    assert result.stdout.splitlines()[-1] == f"again: {command}"
    assert pw(*command.split()[1:], status=1).stderr == result.stderr
    told = json.loads(pw("replay", str(wrong), "--json", status=1).stdout)
    assert told["ok"] is False
    assert told["divergence"]["differences"] == [{"path": "value.n", "expected": "7", "actual": "2"}]


def test_bisecting_says_what_it_takes_for_granted(pw: Pw, wrong: Path, recorded: Path) -> None:
    assert "record 3, a call" in pw("replay", str(wrong), "--bisect", status=1).stderr
    assert "1 of 1 section was run, taking for granted" in pw("replay", str(recorded), "--bisect").stderr


def abreast(path: Path, *options: str) -> tuple[int, dict]:
    """`pw replay` in a process that may be forked, on sections as short as these recordings."""
    script = (
        "from engine.host import replaying_abreast; replaying_abreast.SECTION_RECORDS_MIN = 3; "
        "from engine.cli import main; main()"
    )
    command = [sys.executable, "-c", script, "replay", str(path), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, json.loads(done.stdout)


def test_several_processes_come_to_what_one_comes_to(recorded: Path, wrong: Path) -> None:
    for path in (recorded, wrong):
        (status, shared), (alone_status, alone) = abreast(path), abreast(path, "--jobs", "1")
        assert status == alone_status == (0 if path == recorded else 1)
        assert shared.pop("seconds") > 0 and alone.pop("seconds") > 0
        assert shared == alone
    status, before_it = abreast(wrong, "--from", "0", "--until", "2")
    assert (status, before_it["compared"]) == (0, {"genesis": 1, "revision": 1, "call": 1})


def test_two_recordings_are_compared_by_their_hashes(
    pw: Pw, recorded: Path, wrong: Path, client: Client, tmp_path: Path
) -> None:
    assert pw("replay", str(recorded), "--against", str(recorded)).stdout == "6 records equal\n"
    parted = pw("replay", str(recorded), "--against", str(wrong), status=1)
    assert "record 3, a call" in parted.stderr and "value.n: 2 -> 7" in parted.stderr


def test_what_is_no_recording_and_what_is_not_there_is_refused_in_words(pw: Pw, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pwrec"
    bad.write_bytes(b"nothing of the kind")
    assert pw("replay", str(bad), status=1).stderr.startswith(f"pw: {bad}: ")
    missing = tmp_path / "none.pwrec"
    assert pw("replay", str(missing), status=1).stderr == f"pw: {missing}: no such file or directory\n"
    assert "there is no world nobody" in pw("replay", "nobody", status=1).stderr


def test_a_code_generator_that_is_none_is_misuse_and_pulley64_is_named(pw: Pw, recorded: Path) -> None:
    for target in ("nosuch", "aarch64-unknown-linux-gnu"):
        assert pw("replay", str(recorded), "--target", target, status=2).stderr.startswith(
            f"pw: --target: {target} is no code generator of this wasmtime; pulley64 is one\n"
        )


def test_a_path_that_is_no_recording_is_told_as_what_it_is(
    pw: Pw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for asked in ("replay", "verify"):
        assert pw(asked, str(tmp_path), status=1).stderr == f"pw: {tmp_path}: is a directory\n"
        assert "it is no recording: it is empty" in pw(asked, "/dev/null", status=1).stderr
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert pw("verify", "folder", status=1).stderr.startswith(
        "pw: there is no world folder; folder is a directory here, and no recording\n"
    )
    (tmp_path / "notes").write_text("Notes of today")
    told = pw("verify", "notes", status=1).stderr
    assert 'it begins with "Notes of"; a recording begins with "flkrec". `pw export` makes one' in told
    assert "again" not in told


def test_records_that_it_does_not_have_are_refused(pw: Pw, recorded: Path) -> None:
    assert (
        "has records 0 to 5; there are none from 6 until 5"
        in pw("replay", str(recorded), "--from", "6", status=1).stderr
    )


def test_a_world_is_downloaded_and_replayed_here(pw: Pw, client: Client, world: str) -> None:
    client.develop(world, SOURCE, summary="first")
    for _ in range(2):
        client.call(world, "bump", ["n"])
    assert "replayed 4 records" in pw("replay", world).stdout
    assert "replayed 1 record " in pw("replay", world, "--from", "2", "--until", "2", "--vm", "python").stdout
