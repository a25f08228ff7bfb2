"""`pw` against a real server: what it prints, where, and how it ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import click
import pytest
from click.testing import Result
from served import TOKEN, Served

from engine.cli import COMMANDS, main
from engine.serve.client import Client

Pw = Callable[..., Result]


@pytest.fixture
def shout(client: Client) -> str:
    """A world with functions to call."""
    world = client.create("shout").id
    client.develop(
        world,
        """
        /** Louder. */
        function up(text) { console.log("up", text); return text.toUpperCase() }
        function echo(...args) { return args }
        function boom() { throw new Error("no \\u001b[31mred") }
        function put(key, value) { data.set(key, value); return up(key) }
        """,
        summary="Shout",
    )
    return world


def test_the_first_session_of_a_person(pw: Pw, tmp_path: Path) -> None:
    world = pw("new", "first session").stdout.strip()
    assert world.startswith("first-session-")
    source = tmp_path / "double.js"
    source.write_text("/** Twice. */\nfunction double(x) { return 2 * x }\n")
    assert pw("develop", world, str(source)).stdout == "accepted as revision 1  +double\n"
    assert pw("call", world, "double", "21").stdout == "42\n"
    assert (
        pw("develop", world, "-e", "function double(x) { return 3 * x }").stdout
        == "accepted as revision 2  ~double\n"
    )
    assert (
        pw("rollback", world, "1", "--reason", "three is too much").stdout
        == "accepted as revision 3  ~double\n"
    )
    assert pw("call", world, "double", "21").stdout == "42\n"
    assert pw("develop", world, "-e", "// nothing").stdout == "unchanged: still revision 3\n"
    lines = pw("revisions", world).stdout.splitlines()
    assert lines[0].split() == ["revision", "parent", "kind", "actor", "at", "bytes", "changes", "summary"]
    assert [line.split()[0] for line in lines[1:]] == ["3", "2", "1", "0"]
    assert lines[3].endswith("  +double  double.js")


def test_arguments_are_json_or_text_or_files(pw: Pw, shout: str, tmp_path: Path) -> None:
    (tmp_path / "value.json").write_text('{"a": [1]}')
    (tmp_path / "text.txt").write_text("just text")
    files = f"@{tmp_path}/value.json", f"@{tmp_path}/text.txt"
    printed = pw(
        "call", shout, "echo", "1", "-2.5", "text", '"3"', "null", "[1,", "NaN", *files, "--", "--json"
    )
    assert json.loads(printed.stdout) == [
        1,
        -2.5,
        "text",
        "3",
        None,
        "[1,",
        "NaN",
        {"a": [1]},
        "just text",
        "--json",
    ]
    assert "@nowhere: no such file" in pw("call", shout, "echo", "@nowhere", status=2).stderr


def test_the_result_alone_is_on_standard_output(pw: Pw, shout: str) -> None:
    result = pw("call", shout, "up", "abc")
    assert (result.stdout, result.stderr) == ('"ABC"\n', "log: up abc\n")


def test_a_failed_call_ends_with_1_and_its_control_characters_spelt_out(pw: Pw, shout: str) -> None:
    result = pw("call", shout, "boom", status=1)
    assert result.stdout == ""
    assert result.stderr.startswith("failed (threw, kept as incident 1): Error: no \\x1b[31mred\n")


def test_a_rejection_ends_with_1(pw: Pw, shout: str) -> None:
    result = pw("develop", shout, "-e", "throw new Error('zip')", status=1)
    assert result.stderr.startswith("rejected (threw), kept as rejection 1: Error: zip")
    assert "Error: zip" in pw("rejections", shout).stdout
    shown = pw("rejections", shout, "1").stdout
    assert shown.startswith("rejection 1 on revision 1: threw, by operator at ")
    assert shown.endswith("    throw new Error('zip')\n")


def test_what_is_unknown_or_refused_ends_with_1_and_a_hint(pw: Pw, shout: str) -> None:
    assert pw("call", shout, "nope", status=1).stderr.startswith("pw: nope is not defined\n  hint: ")
    assert pw("show", "no such world", status=1).stderr == (
        "pw: there is no world no such world\n  hint: `pw worlds` lists them, `pw new NAME` creates one\n"
    )
    pw("freeze", shout)
    assert "frozen" in pw("develop", shout, "-e", "function f() {}", status=1).stderr
    pw("freeze", shout, "--undo")
    pw("develop", shout, "-e", "function f() {}")


@pytest.mark.parametrize(
    "args",
    [
        ["nonsense"],
        ["new"],
        ["develop", "w"],
        ["develop", "w", "file.js", "-e", "text"],
        ["rollback", "w", "x", "--reason", "r"],
        ["rollback", "w", "1"],
        ["revisions", "w", "--limit", "0"],
        ["data", "set", "w", "k", "1"],
        ["worlds", "--nonsense"],
        ["purge", "w"],
    ],
)
def test_misuse_ends_with_2(pw: Pw, args: list[str]) -> None:
    message, hint = pw(*args, status=2).stderr.splitlines()
    assert message.startswith("pw: ") and hint.startswith("  hint: pw ") and "--help" in hint


def test_misuse_is_said_in_words_of_the_field(pw: Pw, shout: str) -> None:
    for args, status, message in (
        (["rollback", shout, "x", "--reason", "r"], 2, "revision: must be a whole number from 0 to"),
        (["revisions", shout, "--limit", "0"], 2, "--limit: must be a whole number from 1 to 1000, not '0'"),
        (["develop", shout, "/nonexist"], 2, "/nonexist: no such file or directory\n"),
        (["new"], 2, "name: is missing\n"),
        (["new", ""], 1, "name: must not be empty\n"),
        (["nonsense"], 2, "no such command 'nonsense'\n"),
        (["worlds", "--nonsense"], 2, "there is no option --nonsense\n"),
        (["show", shout, "nope", "--graph"], 1, "nope is not defined\n"),
    ):
        assert pw(*args, status=status).stderr.startswith(f"pw: {message}"), args


def test_an_empty_world_is_misuse_and_no_beginning_of_all(pw: Pw, client: Client, shout: str) -> None:
    before = client.worlds(archived=True)
    for blank in ("", " "):
        assert pw("archive", blank, status=2).stderr.startswith("pw: world: is empty")
        pw("purge", blank, "--confirm", shout, status=2)
    assert client.worlds(archived=True) == before


def test_a_purged_world_is_named_by_its_id_alone(pw: Pw, client: Client) -> None:
    gone, here = client.create("ghost one").id, client.create("ghost two").id
    client.purge(gone, confirm=gone)
    assert json.loads(pw("show", "ghost", "--json").stdout)["id"] == here
    assert "there is no world ghost one" in pw("show", "ghost one", status=1).stderr
    assert json.loads(pw("show", gone, "--json").stdout)["purged"] is True


def test_the_version_is_told(pw: Pw) -> None:
    assert pw("--version").stdout == f"pw {metadata.version('flickworld')}\n"


def test_a_reader_that_goes_away_ends_it_silently(served: Served, client: Client) -> None:
    world = client.create("piped").id
    command = [sys.executable, "-m", "engine.cli", "log", world, "--server", served.url]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, env=os.environ | {"PW_TOKEN": TOKEN}, timeout=60
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_world_is_named_by_id_name_or_unique_beginning(pw: Pw, client: Client) -> None:
    one, two = client.create("naming alpha").id, client.create("naming beta").id
    for named in (one, "naming alpha", "naming-a", "naming a"):
        assert json.loads(pw("show", named, "--json").stdout)["id"] == one
    result = pw("show", "naming", status=1)
    assert one in result.stderr and two in result.stderr
    client.archive(two)
    assert json.loads(pw("show", "naming", "--json").stdout)["id"] == one
    assert json.loads(pw("show", two, "--json").stdout)["archived"] is True


def test_json_prints_the_answer_as_it_came(pw: Pw, shout: str) -> None:
    for args in (
        ["--json", "call", shout, "up", "a"],
        ["call", "--json", shout, "up", "a"],
        ["call", shout, "up", "a", "--json"],
    ):
        result = pw(*args)
        assert json.loads(result.stdout) == {"ok": True, "value": "A", "revision": 1, "logs": ["up a"]}
        assert result.stderr == ""
    failed = json.loads(pw("call", shout, "boom", "--json", status=1).stdout)
    assert (failed["ok"], failed["failure"]) == (False, "threw")
    assert json.loads(pw("call", shout, "nope", "--json", status=1).stdout)["error"] == "nope is not defined"
    assert (
        json.loads(pw("develop", shout, "-e", "throw 1", "--json", status=1).stdout)["status"] == "rejected"
    )


def test_a_preview_prints_its_value_and_what_was_rolled_back(pw: Pw, shout: str) -> None:
    result = pw("execute", shout, 'put("k", 1)')
    assert result.stdout == '"K"\n'
    assert result.stderr == "rolled back, set: k\nlog: up k\n"


def test_data_is_set_read_listed_and_deleted(pw: Pw, shout: str) -> None:
    pw("data", "set", shout, "a/b", '{"n": [1, 2]}', "--reason", "test")
    pw("data", "set", shout, "a", "-5", "--reason", "test")
    assert json.loads(pw("data", "get", shout, "a/b").stdout) == {"n": [1, 2]}
    assert pw("data", "get", shout, "a").stdout == "-5\n"
    assert pw("data", "list", shout, "a").stdout.split() == ["key", "value", "a", "-5", "a/b", '{"n":[1,2]}']
    pw("data", "delete", shout, "a", "--reason", "test")
    assert "there is no key a" in pw("data", "get", shout, "a", status=1).stderr


def test_the_help_of_simulate_names_all_that_the_simulator_takes_and_its_misuse_is_misuse(pw: Pw) -> None:
    told = pw("simulate", "--help").stdout
    simulator = subprocess.run(
        [sys.executable, "-m", "faults", "--help"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    options = set(re.findall(r"--[a-z-]+", simulator.partition("options:")[2]))
    assert len(options) > 8 and options <= set(re.findall(r"--[a-z-]+", told))
    pw("simulate", "--seeds", "3..1", status=2)


def test_show_lists_definitions_and_shows_one(pw: Pw, shout: str) -> None:
    shown = pw("show", shout).stdout
    assert f"id        {shout}\n" in shown and "revision  1\n" in shown
    assert "up    function  text" in shown and "Louder." in shown
    shown = pw("show", shout, "up").stdout
    assert shown.startswith("up(text)  function, version 1, of revision 1\ncalled by: put\nLouder.\n")


def test_incidents_and_the_log_are_listed_and_shown(pw: Pw, shout: str) -> None:
    pw("call", shout, "boom", '{"a":1}', status=1)
    assert [line.split()[:3] for line in pw("incidents", shout).stdout.splitlines()[1:]] == [
        ["1", "threw", "boom"]
    ]
    shown = pw("incidents", shout, "1").stdout
    assert shown.startswith("incident 1: threw in boom, open, by operator at ")
    assert json.loads(shown.partition("arguments:\n")[2]) == [{"a": 1}]
    lines = pw("log", shout).stdout.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["0", "genesis"], ["1", "revision"], ["2", "call"]]
    result = pw("log", shout, "--after", "0", "--limit", "1")
    assert "there are more: --after 1" in result.stderr
    result = pw("log", shout, "--limit", "2")
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == ["1", "2"]
    assert result.stderr == "there are older ones: --after -1 for the first\n"
    result = pw("log", shout, "--limit", "1")
    assert result.stderr == "there are older ones: --after 0, or --after -1 for the first\n"
    result = pw("log", shout, "--after", "-1", "--limit", "1")
    assert result.stdout.splitlines()[1].split()[:2] == ["0", "genesis"]


def test_worlds_and_show_count_the_open_incidents(pw: Pw, client: Client, shout: str) -> None:
    for _ in range(2):
        client.call(shout, "boom", [])
    assert client.world(shout).incidents == 2
    pw("dismiss", shout, "1", "--reason", "known")
    assert "incidents 1 open\n" in pw("show", shout).stdout
    assert [one.incidents for one in client.worlds() if one.id == shout] == [1]


def test_the_log_shows_arguments_and_values_as_their_json_text(pw: Pw, client: Client, shout: str) -> None:
    client.call(shout, "put", ["k", {"a": [1.5, "é\ud800"]}])
    (row,) = json.loads(pw("--json", "log", shout, "--limit", "1").stdout)["records"]
    assert row["body"]["args"] == '["k",{"a":[1.5,"é\\ud800"]}]'
    assert row["body"]["value"] == '"K"'
    assert row["body"]["writes"] == [["k", '{"a":[1.5,"é\\ud800"]}']]


def test_pull_writes_files_and_overwrites_none_that_differ(pw: Pw, shout: str, tmp_path: Path) -> None:
    target = tmp_path / "sources"
    pw("pull", shout, str(target))
    assert sorted(path.name for path in target.iterdir()) == ["boom.js", "echo.js", "put.js", "up.js"]
    assert "toUpperCase" in (target / "up.js").read_text()
    pw("pull", shout, str(target))
    (target / "up.js").write_text("mine")
    assert "up.js would be overwritten" in pw("pull", shout, str(target), status=1).stderr
    assert (target / "up.js").read_text() == "mine"
    pw("pull", shout, str(target), "--force")
    assert "toUpperCase" in (target / "up.js").read_text()


def test_a_file_name_of_a_server_cannot_leave_the_directory(
    pw: Pw, shout: str, tmp_path: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served.serving.host, "source", lambda world: {"../evil.js": "x", "up.js": "x"})
    assert "nothing was written" in pw("pull", shout, str(tmp_path / "in"), status=1).stderr
    assert list(tmp_path.iterdir()) == []


def test_develop_reads_standard_input_and_libraries(pw: Pw, client: Client) -> None:
    world = client.create("stdin").id
    assert (
        pw("develop", world, "-", stdin="function f() { return 1 }").stdout == "accepted as revision 1  +f\n"
    )
    assert pw("develop", world, "-", "--commonjs", "lib", stdin="exports.g = () => 2").stdout.startswith(
        "accepted as revision 2  +lib\n"
    )
    assert client.revision(world, 1).summary == "function f() { return 1 }"


def test_worlds_are_renamed_archived_and_purged(pw: Pw, client: Client) -> None:
    world = client.create("fleeting").id
    assert pw("rename", world, "passing").stdout == f"{world} is now named passing\n"
    assert pw("archive", "passing").stdout == f"{world} is archived\n"
    assert world not in pw("worlds").stdout
    assert pw("worlds", "--archived").stdout.splitlines()[-1].endswith(" archived")
    assert pw("archive", "passing", "--undo").stdout == f"{world} is active\n"
    assert "confirm" in pw("purge", world, "--confirm", "yes", status=1).stderr
    assert "is purged" in pw("purge", world, "--confirm", world).stdout


def test_a_backup_is_made_examined_and_restored(pw: Pw, shout: str, tmp_path: Path) -> None:
    copy, home = str(tmp_path / "copy"), str(tmp_path / "home")
    assert "worlds " in pw("backup", copy).stdout
    assert "sound" in pw("doctor", "--home", copy).stdout
    pw("backup", copy, "--restore", "--home", home)
    assert "sound" in pw("doctor", "--home", home).stdout
    assert "not empty" in pw("backup", copy, "--restore", "--home", home, status=1).stderr
    assert (
        "no such directory"
        in pw("backup", str(tmp_path / "none"), "--restore", "--home", home, status=1).stderr
    )


def test_the_doctor_ends_with_1_where_something_is_wrong(pw: Pw, shout: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    pw("backup", str(copy))
    segment = next((copy / "log").glob("*.seg"))
    content = bytearray(segment.read_bytes())
    content[5000] ^= 1
    segment.write_bytes(content)
    found = json.loads(pw("doctor", "--home", str(copy), "--json", status=1).stdout)
    problems = [finding for finding in found if finding["level"] == "problem"]
    assert problems and all(
        finding["where"] and finding["what"] and finding["advice"] for finding in problems
    )
    assert segment.read_bytes() == content


def test_gc_reports(pw: Pw) -> None:
    assert "blobs_kept" in pw("gc").stdout


def test_without_a_token_pw_says_where_it_looked(
    pw: Pw, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PW_TOKEN")
    result = pw("worlds", "--home", str(tmp_path), status=1)
    assert result.stderr.startswith("pw: the operator token is missing\n  hint: set PW_TOKEN")
    assert str(tmp_path) in result.stderr


def test_the_token_is_found_in_the_data_directory(
    pw: Pw, served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PW_TOKEN")
    pw("worlds", "--home", str(served.home))
    monkeypatch.setenv("PW_HOME", str(served.home))
    pw("worlds")
    monkeypatch.delenv("PW_HOME")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".pw").symlink_to(served.home)
    pw("worlds")


def test_where_no_server_is_pw_says_how_to_start_one(pw: Pw) -> None:
    result = pw("worlds", "--server", "http://127.0.0.1:1", status=1)
    assert result.stderr.startswith("pw: no server answers at http://127.0.0.1:1 ")
    assert "hint: start one with `pw serve`" in result.stderr


def test_something_else_at_the_address_is_no_server(pw: Pw, served: Served) -> None:
    assert "no Flickworld server" in pw("worlds", "--server", served.url + "/docs?", status=1).stderr


def test_every_command_is_there_and_explains_itself(pw: Pw) -> None:
    for name in (name for section in COMMANDS.values() for name in section):
        command = main.get_command(click.Context(main), name)
        assert command is not None and command.name == name
        assert pw(name, "--help").stdout.startswith(f"Usage: pw {name}")


def test_help_loads_no_command_and_no_engine() -> None:
    code = (
        "import sys; from engine.cli import main; main(['--help'], standalone_mode=False); "
        "print(sorted(name for name in sys.modules if name in ('httpx', 'wasmtime', 'engine.host', 'uvicorn')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
