"""The parts of the pages origin one by one: keys, where the client goes, rates, a proxy."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from served import Served

from engine import limits
from engine.host.answers import PageAccess
from engine.ids import content_id
from engine.serve.pages.access import SECRET_FILE, Keys, open_keys
from engine.serve.pages.asking import address_of
from engine.serve.pages.showing import with_client
from engine.serve.pages.site import Rates
from engine.serve.tokens import BadToken

DAY_S = 24 * 3600
PRIVATE = PageAccess("private", [], None)
PUBLIC = PageAccess("public", [], None)


class Clock:
    now_s = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_pass_opens_its_own_world_for_a_day() -> None:
    clock = Clock()
    keys = Keys(bytes(32), now_s=clock)
    key = keys.make_pass("diary")
    assert keys.way_in("diary", key, PRIVATE) == "operator"
    assert keys.way_in("other", key, PRIVATE) is None
    assert Keys(bytes(31) + b"x", now_s=clock).way_in("diary", key, PRIVATE) is None
    clock.now_s += DAY_S - 1
    assert keys.way_in("diary", key, PRIVATE) == "operator"
    clock.now_s += 1
    assert keys.way_in("diary", key, PRIVATE) is None


def test_the_end_of_a_pass_cannot_be_moved() -> None:
    keys = Keys(bytes(32))
    mac, _, until = keys.make_pass("diary").partition(".")
    assert keys.way_in("diary", f"{mac}.{int(until, 16) + 1:x}", PRIVATE) is None


def test_a_pass_is_no_page_token_and_a_token_no_pass() -> None:
    keys = Keys(bytes(32))
    assert not keys.admits("diary", keys.make_pass("diary"), PRIVATE)
    assert keys.way_in("diary", keys.make_token("diary", "operator"), PRIVATE) is None
    assert keys.admits("diary", keys.make_token("diary", "operator"), PRIVATE)


def test_no_link_is_made_twice() -> None:
    keys, made = Keys(bytes(32)), []
    link_hash = None
    for _ in range(5):
        made.append(keys.next_link("album", link_hash))
        link_hash = content_id(made[-1].encode())
        assert keys.link_of("album", link_hash) == made[-1]
    assert len(set(made)) == 5
    access = PageAccess("link", [], link_hash)
    assert [keys.way_in("album", key, access) is not None for key in made] == [False] * 4 + [True]


def test_a_link_that_another_directory_made_opens_though_it_cannot_be_told() -> None:
    key = Keys(b"a" * 32).next_link("album", None)
    access = PageAccess("link", [], content_id(key.encode()))
    here = Keys(b"b" * 32)
    assert here.way_in("album", key, access) is not None
    assert here.link_of("album", access.link_hash) is None


@given(st.text(max_size=80))
def test_no_text_opens_a_page_or_passes_for_a_token(text: str) -> None:
    keys = Keys(bytes(32))
    assert keys.way_in("diary", text, PUBLIC) is None and keys.way_in("diary", text, PRIVATE) is None
    assert not keys.admits("diary", text, PUBLIC)


def test_the_secret_is_made_once_is_private_and_must_be_whole(tmp_path: Path) -> None:
    key = open_keys(str(tmp_path)).make_pass("diary")
    assert open_keys(str(tmp_path)).way_in("diary", key, PRIVATE) == "operator"
    assert (tmp_path / SECRET_FILE).stat().st_mode & 0o777 == 0o600
    (tmp_path / SECRET_FILE).write_text("short")
    with pytest.raises(BadToken, match="holds no secret"):
        open_keys(str(tmp_path))


@pytest.mark.parametrize(
    "before",
    [
        "",
        "<!doctype html>",
        "<!DOCTYPE html >",
        "\ufeff <!-- <html> --><!doctype html>",
        "<!--><!doctype html>",
        "<!-- a --!>  ",
    ],
)
def test_the_client_stands_before_the_first_tag_and_after_the_doctype(before: str) -> None:
    rest = "<html lang=en><head><script>mine</script>"
    with_it = with_client(before + rest, "shop", "TOKEN")
    assert with_it.startswith(before + "<script>") and with_it.endswith("</script>" + rest)


@pytest.mark.parametrize(
    ("path", "base", "rest"),
    [
        ("/w/shop", "/w/shop", ""),
        ("/w/shop/", "/w/shop", "/"),
        ("/w/shop/a/b", "/w/shop", "/a/b"),
        ("/w/shop/~" + "k" * 32, "/w/shop/~" + "k" * 32, ""),
        ("/w/shop/~" + "k" * 32 + "/a", "/w/shop/~" + "k" * 32, "/a"),
        ("/w/shop/~short/a", "/w/shop", "/~short/a"),
    ],
)
def test_an_address_is_world_key_and_path(path: str, base: str, rest: str) -> None:
    address = address_of(path)
    assert address is not None and (address.base, address.path) == (base, rest)


@pytest.mark.parametrize("path", ["/", "/w/", "/w/Shop/", "/w/a%2fb/", "/x/shop/", "/w/shop%2f/"])
def test_another_path_is_no_address(path: str) -> None:
    assert address_of(path) is None


def test_rates_are_kept_apart_and_end() -> None:
    rates = Rates(views=2, calls=1, visitor_calls=3)
    assert [rates.view("1.1.1.1", "shop") for _ in range(3)] == [True, True, False]
    assert rates.view("1.1.1.1", "other") and rates.view("2.2.2.2", "shop")
    assert (rates.call("a"), rates.call("a"), rates.call("b")) == (True, False, True)
    assert [rates.visitor_call("1.1.1.1", "shop") for _ in range(4)] == [True] * 3 + [False]


def test_a_page_that_calls_too_often_is_told_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PAGE_VIEWS_A_MINUTE_MAX", 2)
    served = Served(tmp_path)
    with served.client() as client:
        world = client.create("busy").id
        client.develop(world, 'function app() { return "x" }')
        client.set_page(world, access="public")
    answers = [httpx.get(f"{served.pages}/w/{world}/", trust_env=False) for _ in range(3)]
    served.stop()
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].headers["retry-after"] == "10"


def test_behind_a_proxy_pages_have_its_name_and_visitors_their_own_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PAGE_VIEWS_A_MINUTE_MAX", 1)
    served = Served(tmp_path, pages_url="https://pages.example.org")
    with served.client() as client:
        world = client.create("shown").id
        client.develop(world, 'function app() { return "x" }')
        url = client.set_page(world, access="public").url
    sent = {"host": "pages.example.org"}
    answers = [
        httpx.get(f"{served.pages}/w/{world}/", headers=sent | {"x-forwarded-for": visitor}, trust_env=False)
        for visitor in ("9.9.9.9, 1.1.1.1", "1.1.1.1", "9.9.9.9, 2.2.2.2")
    ]
    served.stop()
    assert url == f"https://pages.example.org/w/{world}/"
    assert [answer.status_code for answer in answers] == [200, 429, 200]
    assert (
        f"form-action https://pages.example.org/w/{world}/" in answers[0].headers["content-security-policy"]
    )
