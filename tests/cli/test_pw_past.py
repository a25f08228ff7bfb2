"""`pw at` and `pw restore`: the world as it was, and data brought back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from engine.serve.client import Client

Pw = Callable[..., Result]


@pytest.fixture
def trip(client: Client) -> str:
    """Records: 0 genesis, 1 the code, 2 and 3 calls that write, 4 another revision, 5 an edit."""
    world = client.create("trip").id
    client.develop(
        world,
        """
        /** Adds to the budget. */
        function add(n) { data.set("sum", (data.get("sum") ?? 0) + n); return data.get("sum") }
        function app(path, query) { console.log("seen"); return path + " " + (query.q ?? "") + data.get("sum") }
        """,
    )
    client.call(world, "add", [1], request_id="one")
    client.call(world, "add", [2], request_id="two")
    client.develop(world, "function add(n) { return 'closed' }")
    client.set_data(world, "note", "paid", reason="to remember")
    return world


def test_at_a_record_pw_says_what_it_was_and_what_the_world_was_then(pw: Pw, trip: str) -> None:
    lines = pw("at", trip, "2").stdout.splitlines()
    assert lines[0].startswith("record    2 of 0 to 5: call by operator at ")
    assert "revision  1" in lines
    assert [line.split()[0] for line in lines[-2:]] == ["add", "app"]
    assert json.loads(pw("--json", "at", trip, "2").stdout)["records"] == 3
    first = pw("at", trip, "0").stdout
    assert "genesis" in first and "add" not in first


def test_a_moment_is_a_record_a_revision_or_a_time(pw: Pw, client: Client, trip: str) -> None:
    assert pw("at", trip, "r2").stdout.splitlines()[0].startswith("record    4 of 0 to 5: revision")
    when = client.log(trip).records[3].at
    last = max(row.seq for row in client.log(trip).records if row.at <= when)
    for named in (when, when.replace("Z", "+00:00"), when.replace("Z", "")):
        assert pw("at", trip, named).stdout.splitlines()[0].startswith(f"record    {last} of 0 to 5")
    assert pw("at", trip, "2999-01-01").stdout.splitlines()[0].startswith("record    5 ")
    early = pw("at", trip, "1999-12-31", status=1)
    assert "the world was not there yet" in early.stderr
    for wrong in ("x", "-1", "1.5", "1e9", "r", "rx", ""):
        assert "pw: moment: must be a record's sequence" in pw("at", trip, wrong, status=2).stderr
    assert "has the records 0 to 5" in pw("at", trip, "6", status=1).stderr
    assert "no revision 9" in pw("at", trip, "r9", status=1).stderr


def test_code_and_data_of_then_are_listed_and_written(pw: Pw, trip: str, tmp_path: Path) -> None:
    assert [line.split()[0] for line in pw("at", trip, "1", "functions").stdout.splitlines()] == [
        "name",
        "add",
        "app",
    ]
    shown = pw("at", trip, "1", "show", "add").stdout
    assert "Adds to the budget." in shown and "closed" not in shown
    assert "closed" in pw("at", trip, "4", "show", "add").stdout
    assert pw("at", trip, "2", "data").stdout.splitlines()[1].split() == ["sum", "1"]
    assert pw("at", trip, "5", "data", "n").stdout.splitlines()[1].split() == ["note", '"paid"']
    assert pw("at", trip, "5", "data", "--limit", "1").stderr.startswith("there are more")
    assert pw("at", trip, "1", "source", str(tmp_path / "then")).stdout.startswith("2 files in ")
    assert "data.set" in (tmp_path / "then" / "add.js").read_text()
    refused = pw("at", trip, "4", "source", str(tmp_path / "then"), status=1)
    assert "add.js would be overwritten" in refused.stderr
    pw("at", trip, "4", "source", str(tmp_path / "then"), "--force")
    assert "closed" in (tmp_path / "then" / "add.js").read_text()


def test_previews_and_pages_of_then_leave_no_trace(pw: Pw, client: Client, trip: str) -> None:
    then = pw("at", trip, "2", "execute", "add(-4)")
    assert (then.stdout, then.stderr) == ("-3\n", "rolled back, set: sum\n")
    failed = pw("at", trip, "0", "execute", "add(1)", status=1)
    assert failed.stderr.startswith("failed (threw): ReferenceError: add is not defined")
    page = pw("at", trip, "3", "page", "/a", "--query", "q=x")
    assert page.stdout == "/a x3\n"
    assert page.stderr == "log: seen\nstatus 200, text/html; charset=utf-8\n"
    assert pw("at", trip, "3", "page").stdout == "/ 3\n"
    assert "defined no app" in pw("at", trip, "0", "page", status=1).stderr
    assert client.world(trip).records == 6


def test_the_query_of_a_page_of_then_may_follow_its_path_as_in_an_address(pw: Pw, trip: str) -> None:
    assert pw("at", trip, "3", "page", "/a?q=x").stdout == "/a x3\n"
    assert pw("at", trip, "3", "page", "?q=x").stdout == "/ x3\n"
    assert pw("at", trip, "3", "page", "/a?", "--query", "q=y", status=2).stderr.startswith(
        "pw: page: its address has a query already"
    )


def test_a_copy_is_made_from_then(pw: Pw, client: Client, trip: str) -> None:
    copy = pw("at", trip, "3", "copy", "what if").stdout.strip()
    assert bytes(client.call(copy, "add", [10]).value) == b"13"
    assert bytes(client.call(trip, "add", [10]).value) == b'"closed"'


def test_pw_at_says_what_it_can_show(pw: Pw, trip: str) -> None:
    wrong = pw("at", trip, "1", "paint", status=2)
    assert "there is no paint; there are functions, show, data" in wrong.stderr
    for look, needs in (("show", "NAME"), ("source", "DIR"), ("execute", "EXPR"), ("copy", "NAME")):
        assert f"{look} {needs}: is missing" in pw("at", trip, "1", look, status=2).stderr


def test_data_are_brought_back_with_a_reason(pw: Pw, client: Client, trip: str) -> None:
    told = pw("restore", trip, "2", "--dry-run")
    assert told.stdout.splitlines() == ["set     sum", "delete  note"]
    assert told.stderr == "a dry run: 2 keys would change\n"
    assert "--reason: is missing" in pw("restore", trip, "2", status=2).stderr
    for blank in ("", " "):
        assert "--reason: must not be blank" in pw("restore", trip, "2", "--reason", blank, status=2).stderr
    assert client.world(trip).records == 6
    done = pw("restore", trip, "2", "--prefix", "s", "--reason", "too much")
    assert done.stdout.splitlines() == ["set     sum", "1 key brought back as after record 2, recorded as 6"]
    assert [(row.key, bytes(row.value)) for row in client.data(trip).items] == [
        ("note", b'"paid"'),
        ("sum", b"1"),
    ]
    again = pw("--json", "restore", trip, "r1", "--reason", "all of it")
    assert json.loads(again.stdout)["restored"] == {"set": [], "deleted": ["note", "sum"]}
    assert "has the records 0 to 7" in pw("restore", trip, "8", "--reason", "x", status=1).stderr
