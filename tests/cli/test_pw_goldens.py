"""`pw goldens` and what `pw develop` says of results that a change would change."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import Result

from engine.serve.client import Client

Pw = Callable[..., Result]
DEARER = "function price(n) { return n * 4 }"


@pytest.fixture
def shop(client: Client) -> str:
    """A world with three calls on record; the last one is record 4."""
    world = client.create("shop").id
    client.develop(
        world,
        """
        function price(n) { return n * 3 }
        function sell(n) { const sum = (data.get("sum") ?? 0) + price(n); data.set("sum", sum); return sum }
        function stock(n) { return { name: "screws", count: n, price: price(n), shelf: "the second from the left" } }
        """,
    )
    for n in (1, 2):
        client.call(world, "sell", [n], request_id=f"sell-{n}")
    client.call(world, "stock", [7], request_id="stock")
    return world


def test_a_dry_run_shows_each_result_that_would_be_another_line_by_line(pw: Pw, shop: str) -> None:
    said = pw("develop", shop, "-e", DEARER, "--dry-run").stdout
    assert said.splitlines() == [
        "would be accepted  ~price",
        "of 3 recorded calls 0 come to the same, 3 do not",
        "  stock(7), record 4",
        "    …",
        '       "count": 7,',
        '    -  "price": 21,',
        '    +  "price": 28,',
        '       "shelf": "the second from the left"',
        "  sell(2), record 3",
        "    - 9",
        "    - writes sum: 9",
        "    + 11",
        "    + writes sum: 11",
        "  sell(1), record 2",
        "    - 3",
        "    - writes sum: 3",
        "    + 4",
        "    + writes sum: 4",
    ]
    assert pw("revisions", shop, "--json").stdout.count('"n":') == 2


def test_a_dry_run_of_what_would_be_rejected_ends_with_status_1(pw: Pw, shop: str) -> None:
    said = pw("develop", shop, "-e", "throw new Error('zip')", "--dry-run", status=1).stderr
    assert said.startswith("would be rejected (threw): Error: zip")
    assert "--request-id" in pw("develop", shop, "-e", "1", "--dry-run", "--request-id", "x", status=2).stderr


def test_a_dry_run_with_nothing_to_try_says_so(pw: Pw, world: str) -> None:
    said = pw("develop", world, "-e", DEARER, "--dry-run")
    assert "no recorded call was tried: what it would change is not known" in said.stderr


def test_a_result_is_pinned_a_change_of_it_held_shown_and_blessed(pw: Pw, shop: str) -> None:
    said = pw("goldens", "pin", shop, "3", "--name", "a sale", "--reason", "it matters").stdout
    assert said == f"pinned as {shop}.1: sell(2) comes to 9, 1 written\n"
    held = pw("develop", shop, "-e", DEARER, "--summary", "dearer", status=1)
    assert held.stderr.startswith(f"held as {shop}.2: results would be others  ~price\n")
    assert f'sell(2), record 3, pinned as "a sale" ({shop}.1)' in held.stdout
    listed = pw("goldens", shop).stdout.splitlines()
    assert listed[:2] == [f"held {shop}.2, open: develop on revision 1  ~price", "  dearer"]
    assert listed[-1].split()[:5] == [f"{shop}.1", "a", "sale", "pinned", "sell(2)"]
    assert f"pw goldens bless {shop}.2" in pw("goldens").stderr
    shown = pw("goldens", "show", f"{shop}.2").stdout
    assert "    - 9\n" in shown and f"    {DEARER}\n" in shown
    blessed = pw("goldens", "bless", f"{shop}.2", "--reason", "inflation").stdout
    assert blessed == "accepted as revision 2  ~price\n"
    shown = pw("goldens", "show", f"{shop}.1").stdout
    assert "comes to 11, 1 written" in shown and ": inflation" in shown
    assert pw("goldens", "bless", f"{shop}.2", status=1).stderr.startswith("pw: golden 2 is closed")


def test_a_held_change_is_rejected_and_a_result_unpinned(pw: Pw, shop: str) -> None:
    pw("goldens", "pin", shop, "2")
    pw("develop", shop, "-e", DEARER, status=1)
    assert "--reason" in pw("goldens", "reject", f"{shop}.2", status=2).stderr
    said = pw("goldens", "reject", f"{shop}.2", "--reason", "too dear").stdout
    assert said.startswith("rejected, recorded as ")
    assert ": too dear" in pw("goldens", "show", f"{shop}.2").stdout
    assert pw("goldens", "unpin", f"{shop}.1", "--reason", "no").stdout.startswith("unpinned, recorded as ")
    assert pw("develop", shop, "-e", DEARER).stdout == "accepted as revision 2  ~price\n"


def test_a_replay_counts_kinds_that_are_no_nouns_without_a_plural(pw: Pw, shop: str) -> None:
    for call in ("2", "3"):
        pw("goldens", "pin", shop, call)
    for source in (DEARER, DEARER + ";"):
        pw("develop", shop, "-e", source, status=1)
    said = pw("replay", shop).stdout
    assert said.startswith("replayed 9 records in ")
    assert ": 1 genesis, 1 revision, 3 calls, 2 golden-pinned, 2 held; all equal\n" in said


def test_what_does_not_hold_now_is_refused_with_status_1(pw: Pw, shop: str) -> None:
    pw("develop", shop, "-e", DEARER)
    refused = pw("goldens", "pin", shop, "2", status=1).stderr
    assert refused.startswith("refused (differs), kept as rejection 1: record 2: it comes to something else")


def test_a_result_that_is_an_object_is_shown_in_one_line_and_cut(pw: Pw, shop: str) -> None:
    said = pw("goldens", "pin", shop, "4").stdout
    shown = '{"name": "screws", "count": 7, "price": 21, "shelf": "the s…'
    assert said == f"pinned as {shop}.1: stock(7) comes to {shown}\n"
    assert shown in pw("goldens", shop).stdout
    assert f"comes to {shown}\n" in pw("goldens", "show", f"{shop}.1").stdout


def test_a_large_result_is_shown_by_how_it_begins(pw: Pw, client: Client, shop: str) -> None:
    client.develop(shop, "function long(n) { return 'ab'.repeat(n) + price(1) }")
    client.call(shop, "long", [10_000], request_id="long")
    said = pw("goldens", "pin", shop, "6").stdout
    beginning = '"' + "ab" * 29 + "… (20,003 bytes in all, too large to be kept: "
    assert said.startswith(f"pinned as {shop}.1: long(10000) comes to {beginning}")
    held = pw("develop", shop, "-e", DEARER, status=1).stdout
    assert f"    - {beginning}" in held and f"    + {beginning}" in held


def test_a_pinned_call_is_not_pinned_anew_and_what_is_pinned_is_said(pw: Pw, shop: str) -> None:
    pw("goldens", "pin", shop, "3", "--reason", "it matters")
    for more in (("--name", "x"), ("--reason", "again"), ()):
        refused = pw("goldens", "pin", shop, "3", *more, status=1).stderr
        assert (
            f"record 3 is pinned already as {shop}.1, by the name 'sell', for the reason 'it matters'"
            in refused
        )
        assert f"pw goldens show {shop}.1" in refused
    for option in ("--name", "--reason"):
        assert f"{option}: must not be blank" in pw("goldens", "pin", shop, "2", option, " ", status=2).stderr
    assert pw("goldens", "pin", shop, "2").stdout == f"pinned as {shop}.2: sell(1) comes to 3, 1 written\n"
    held = pw("develop", shop, "-e", DEARER, status=1).stderr.split()[2].rstrip(":")
    pw("goldens", "bless", held)
    assert pw("goldens", "pin", shop, "2").stdout == f"pinned as {shop}.2: sell(1) comes to 4, 1 written\n"


def test_what_the_head_does_not_give_after_a_forced_rollback_is_marked(pw: Pw, shop: str) -> None:
    pw("develop", shop, "-e", DEARER)
    pw("call", shop, "price", "2", "--request-id", "dear")
    pw("goldens", "pin", shop, "6")
    pw("rollback", shop, "1", "--reason", "b", "--force")
    assert "pinned, differs at the head" in pw("goldens", shop).stdout
    shown = pw("goldens", "show", f"{shop}.1")
    assert shown.stdout.startswith(f'golden {shop}.1, pinned, differs at the head: "price"')
    assert "the head gives something else, since a rollback was forced" in shown.stderr
    assert pw("develop", shop, "-e", "function g() { return 2 }").stdout == "accepted as revision 4  +g\n"


def test_a_gated_call_that_is_pinned_too_is_shown_once(pw: Pw, shop: str) -> None:
    pw("goldens", "pin", shop, "3")
    tried = pw("develop", shop, "-e", DEARER, "--gate", "--dry-run", status=1).stdout
    assert "1 pinned result would be another:\n" in tried
    assert "of 3 recorded calls 0 come to the same, 3 do not\n" in tried
    held = pw("develop", shop, "-e", DEARER, "--gate", status=1).stdout
    for said in (tried, held, pw("goldens", "show", f"{shop}.2").stdout):
        assert [said.count(f"record {seq}") for seq in (2, 3, 4)] == [1, 1, 1]


def test_a_gated_develop_is_held_without_any_pin(pw: Pw, shop: str) -> None:
    held = pw("develop", shop, "-e", DEARER, "--gate", status=1)
    assert held.stderr.startswith(f"held as {shop}.1: ")
    assert pw("goldens", "bless", f"{shop}.1").stdout == "accepted as revision 2  ~price\n"


def test_goldens_as_json_are_the_answers_as_they_came(pw: Pw, shop: str) -> None:
    pw("goldens", "pin", shop, "2")
    page = json.loads(pw("goldens", shop, "--json").stdout)
    assert [row["id"] for row in page["goldens"]] == [f"{shop}.1"] and page["held"] == []
    assert f"{shop}.1" in [row["id"] for row in json.loads(pw("goldens", "--json").stdout)["goldens"]]


def test_the_repositorys_goldens_are_listed_by_their_own_tool(pw: Pw, capfd: pytest.CaptureFixture) -> None:
    pw("goldens", "repository", "list")
    assert "trip-budget/addTrip 1: blessed by operator: " in capfd.readouterr().out
    pw("goldens", "repository", "bless", "--reason", "no id", status=2)


def test_a_world_without_goldens_says_how_to_pin_one_and_what_is_no_id_is_misuse(pw: Pw, world: str) -> None:
    assert "pw goldens pin WORLD CALL" in pw("goldens", world).stderr
    for id in ("x", "x.", "x.y", f"{world}.1.5x"):
        assert "id: must be WORLD.NUMBER" in pw("goldens", "bless", id, status=2).stderr
    assert pw("goldens", "bless", f"{world}.1", status=1).stderr.startswith("pw: there is no golden 1")
