"""`pw` for what stands in a world beside its code: checks, incidents, grants, its page, who calls whom."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from click.testing import Result

from engine.serve.client import Client

Pw = Callable[..., Result]


@pytest.fixture
def shop(client: Client) -> str:
    """A world to sell in."""
    world = client.create("shop").id
    client.develop(
        world,
        """
        function price(n) { return n * 3 }
        function stock() { return data.get("stock") ?? 0 }
        function sell(n) { if (n > stock()) throw new Error("only " + stock()); return price(n) }
        function app(path) { return "<h1>Shop</h1>" }
        """,
    )
    return world


def test_a_check_is_added_listed_shown_and_removed(pw: Pw, shop: str, tmp_path: Path) -> None:
    worse = tmp_path / "worse.js"
    worse.write_text("function price(n) { return -n }")
    added = pw("check", "add", shop, "price", "price(2) === 6", "--counterexample", f"@{worse}")
    assert added.stdout == "enrolled price, which holds at revision 1\n"
    assert pw("check", shop).stdout.splitlines()[1].split() == ["price", "1", "price(2)", "===", "6"]
    assert "function price(n) { return -n }" in pw("check", "list", shop, "price").stdout
    rejected = pw("develop", shop, "-e", "function price(n) { return n * 4 }", status=1)
    assert rejected.stderr.startswith('rejected (check "price"), kept as rejection 1')
    assert pw("check", "remove", shop, "price", "--reason", "inflation").stdout.startswith(
        "removed, recorded as "
    )
    assert pw("check", shop, "--removed").stdout.splitlines()[1].endswith("inflation")
    pw("develop", shop, "-e", "function price(n) { return n * 4 }")


def test_a_refused_check_ends_with_status_1(pw: Pw, shop: str) -> None:
    refused = pw("check", "add", shop, "true", "true", "--counterexample", "function price() {}", status=1)
    assert refused.stderr.startswith("refused (vacuous), kept as rejection 1: ")


def test_an_incident_is_retried_answered_and_dismissed(pw: Pw, client: Client, shop: str) -> None:
    for n in (1, 2, 3):
        pw("call", shop, "sell", str(n), status=1)
    client.set_data(shop, "stock", 1, reason="delivered")
    assert pw("retry", shop, "1").stdout == "3\n"
    assert pw("answer", shop, "2", '{"sold": 2}', "--reason", "by hand").stdout.startswith(
        "answered, recorded as "
    )
    assert pw("dismiss", shop, "3", "--reason", "a mistake").stdout.startswith("dismissed, recorded as ")
    states = [line.split()[:4] for line in pw("incidents", shop).stdout.splitlines()[1:]]
    assert states == [
        ["3", "threw", "sell", "dismissed"],
        ["2", "threw", "sell", "answered"],
        ["1", "threw", "sell", "retried"],
    ]
    assert "answered by hand:\n" in pw("incidents", shop, "2").stdout
    assert "closed: a mistake" in pw("incidents", shop, "3").stdout
    assert pw("dismiss", shop, "3", "--reason", "again", status=1).stderr.startswith("pw: ")


def test_a_call_that_is_not_waited_for_is_asked_for_later(pw: Pw, shop: str) -> None:
    said = pw("call", shop, "price", "14", "--no-wait").stdout
    n = re.search(r"^admitted as operation (\d+): pw operation", said)
    assert n, said
    while "running" in (state := pw("operation", shop, n[1]).stdout):
        pass
    assert state.startswith(f"operation {n[1]}: ended\n") and '"value": 42' in state


def test_grants_are_allowed_and_denied_by_name(pw: Pw, client: Client, shop: str) -> None:
    bank = client.create("the bank").id
    assert (
        pw("grants", shop).stdout
        == f"{shop} may call no other world. Allow one: pw grants {shop} --allow WORLD\n"
    )
    assert pw("grants", shop, "--allow", "the bank").stdout.splitlines()[1].split() == [bank, "the", "bank"]
    assert json.loads(pw("--json", "grants", shop).stdout) == {"worlds": [bank]}
    assert "may call no other world" in pw("grants", shop, "--deny", bank).stdout
    assert pw("grants", shop, "--allow", "nobody", status=1).stderr.startswith("pw: there is no world nobody")


def test_a_page_is_opened_and_told_what_it_may_call(pw: Pw, shop: str) -> None:
    private = pw("page", shop).stdout
    assert private.startswith(
        "private: may be opened only by the address below, for a day\nmay call  nothing\n"
    )
    url = re.search(r"^for you   (\S+)$", private, re.MULTILINE)
    assert url and httpx.get(url[1], trust_env=False).text.endswith("<h1>Shop</h1>")
    assert "may call  price, sell\n" in pw("page", shop, "--function", "sell", "--function", "price").stdout
    assert "may call  sell\n" in pw("page", shop, "--no-function", "price").stdout
    public = pw("page", shop, "--access", "public").stdout
    assert public.startswith(
        "public: may be opened by everybody\nmay call  sell\naddress   http://127.0.0.1:"
    )
    assert public.endswith(f"/w/{shop}/\n") and "for you" not in public
    first, second = (pw("page", shop, "--access", "link", *more).stdout for more in ([], ["--new-link"]))
    assert first.splitlines()[2].startswith("address   ") and first.splitlines()[2] != second.splitlines()[2]
    assert pw("page", shop, "--access", "all", status=2)
    assert pw("page", shop, "--function", "a b", status=1).stderr.startswith(
        "pw: functions[0]: must be an ASCII"
    )


def test_the_graph_is_shown_both_ways(pw: Pw, shop: str) -> None:
    lines = [line.split() for line in pw("show", shop, "--graph").stdout.splitlines()]
    assert lines == [
        ["name", "calls", "called", "by"],
        ["app"],
        ["price", "sell"],
        ["sell", "price,", "stock"],
        ["stock", "sell"],
    ]
    assert pw("show", shop, "price", "--graph").stdout.splitlines()[1].split() == ["price", "sell"]


def test_data_of_a_world_alone_is_its_list(pw: Pw, client: Client, shop: str) -> None:
    client.set_data(shop, "stock", 1, reason="delivered")
    assert pw("data", shop).stdout == pw("data", "list", shop).stdout == "key    value\nstock  1\n"
    assert pw("data", shop, "nothing").stdout == "key  value\n"
    assert "Usage: pw data" in pw("data", "--help").stdout
