"""`pw export`, `pw import` and `pw verify`: files that are whole or not there, and exit statuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from served import TOKEN, Served

from engine.record.recording import read_recording
from engine.serve.client import Client

Pw = Callable[..., Result]


@pytest.fixture
def lived(client: Client) -> str:
    world = client.create("lived").id
    client.develop(world, "function put(key) { data.set(key, 1); return 'stored ' + key }")
    client.call(world, "put", ["a secret key"])
    return world


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_world_is_exported_verified_and_imported_elsewhere(
    pw: Pw, here: Path, lived: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch
) -> None:
    exported = pw("export", lived, "-o", "world.pwrec")
    size_bytes = (here / "world.pwrec").stat().st_size
    assert exported.stdout == f"world.pwrec: 3 records of {lived}, {size_bytes} bytes\n"
    assert "holds the world's sources" in exported.stderr and "request ids" in exported.stderr
    assert pw("verify", "world.pwrec").stdout == "world.pwrec: 3 records, 0 without a body, 3 blobs: sound\n"
    other = Served(tmp_path_factory.mktemp("other"))
    try:
        monkeypatch.setenv("PW_SERVER", other.url)
        imported = pw("import", "world.pwrec")
        assert imported.stdout == f"{lived}\n" and "3 records of lived, here as lineage" in imported.stderr
        again = pw("import", "world.pwrec")
        assert again.stdout == f"{lived}\n" and "all of it is here already" in again.stderr
        assert json.loads(pw("import", "world.pwrec", "--json").stdout)["records"] == 3
        copy = pw("import", "world.pwrec", "--as", "another").stdout.strip()
        assert copy.startswith("another-")
        assert pw("call", copy, "put", "b").stdout == '"stored b"\n'
        assert pw("verify", lived).stdout == f"{lived}: 4 records, 0 without a body, 3 blobs: sound\n"
        assert [line.split(":")[0] for line in pw("verify").stdout.splitlines()] == [lived, copy]
    finally:
        other.stop()


def test_an_export_takes_the_worlds_name_redacts_and_ends_where_it_is_told(
    pw: Pw, here: Path, lived: str
) -> None:
    redacted = pw("export", lived, "--redact")
    assert "is redacted" in redacted.stderr
    content = (here / f"{lived}.pwrec").read_bytes()
    with (here / f"{lived}.pwrec").open("rb") as file:
        recording = read_recording(file)
    assert recording.manifest.redacted and b"a secret key" not in content
    assert pw("verify", f"{lived}.pwrec").stdout.endswith("3 records, 1 without a body, 3 blobs: sound\n")
    pw("export", lived, "-o", "early.pwrec", "--until", "1")
    assert pw("verify", "early.pwrec").stdout.startswith("early.pwrec: 2 records")
    refused = pw("import", f"{lived}.pwrec", status=1)
    assert "it is redacted" in refused.stderr and "hint:" in refused.stderr


def test_a_file_is_not_overwritten_unless_that_is_said(pw: Pw, here: Path, lived: str) -> None:
    (here / "mine.pwrec").write_text("mine")
    refused = pw("export", lived, "-o", "mine.pwrec", status=1)
    assert "is there already; nothing was written. Use --force" in refused.stderr
    assert (here / "mine.pwrec").read_text() == "mine"
    pw("export", lived, "-o", "mine.pwrec", "--force")
    assert (here / "mine.pwrec").read_bytes().startswith(b"flkrec")
    assert os.listdir(here) == ["mine.pwrec"]


def test_an_export_that_fails_leaves_no_file(pw: Pw, here: Path, lived: str) -> None:
    assert "has records 0 to 2" in pw("export", lived, "--until", "99", status=1).stderr
    assert "no such file" in pw("export", lived, "-o", "missing/world.pwrec", status=1).stderr
    assert "there is no world" in pw("export", "no-such-world", status=1).stderr
    assert os.listdir(here) == []


def test_standard_output_holds_the_recording_and_nothing_else(served: Served, here: Path, lived: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "engine.cli", "export", lived, "-o", "-"],
        env=os.environ
        | {"PW_SERVER": served.url, "PW_TOKEN": TOKEN, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        timeout=60,
        check=True,
    )
    (here / "piped.pwrec").write_bytes(ran.stdout)
    with (here / "piped.pwrec").open("rb") as file:
        assert read_recording(file).manifest.world == lived


def test_verifying_a_damaged_file_says_where_and_ends_with_one(pw: Pw, here: Path, lived: str) -> None:
    pw("export", lived, "-o", "world.pwrec")
    content = bytearray((here / "world.pwrec").read_bytes())
    content[-300] ^= 1
    (here / "world.pwrec").write_bytes(content)
    damaged = pw("verify", "world.pwrec", status=1)
    assert damaged.stdout == "world.pwrec: 0 records, 0 without a body, 0 blobs: 1 problem\n"
    assert "world.pwrec, byte " in damaged.stderr and "the file is damaged" in damaged.stderr
    (problem,) = json.loads(pw("verify", "world.pwrec", "--json", status=1).stdout)["problems"]
    assert problem["place"] == "world.pwrec" and problem["offset_bytes"] > 0
    assert "is damaged" in pw("import", "world.pwrec", status=1).stderr
    (here / "short.pwrec").write_bytes(content[:1000])
    assert "cut off" in pw("verify", "short.pwrec", status=1).stderr
    pw("verify", "missing.pwrec", status=1)
    pw("import", "missing.pwrec", status=2)


def test_names_of_commands_that_python_keeps_for_itself_work(pw: Pw) -> None:
    assert "import" in pw("--help").stdout
    assert "pw import [OPTIONS] FILE" in pw("import", "--help").stdout
    assert (
        "No such command" in pw("import_", status=2).stderr
        or "no such command" in pw("import_", status=2).stderr
    )
