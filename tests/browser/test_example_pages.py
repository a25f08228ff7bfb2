"""The pages of the example worlds, as a person uses them on a phone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served import Served

from engine.serve.client import Client
from engine.serve.examples import plant

WORLDS = Path(__file__).parents[2] / "worlds"


@pytest.fixture(scope="module")
def planted(served: Served) -> Served:
    """The server with the example worlds."""
    planting = plant(served.serving.host, str(WORLDS))
    asyncio.run_coroutine_threadsafe(planting, served.loop).result(120)
    return served


@pytest.fixture
def phone(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(**chromium.devices["Pixel 7"])
    context.set_default_timeout(20_000)
    yield context.new_page()
    context.close()


def opened(phone: Any, client: Client, name: str) -> str:
    """Open the page of the example world `name`: its id."""
    world = next(row.id for row in client.worlds() if row.name == name)
    phone.goto(client.page(world).preview)
    return world


def fits(phone: Any) -> bool:
    width_px, page_px = phone.evaluate("[innerWidth, document.documentElement.scrollWidth]")
    return width_px == 412 and page_px <= width_px


def test_the_reading_list_takes_a_book_and_reads_on_in_place(
    planted: Served, client: Client, phone: Any, tmp_path: Path
) -> None:
    world = opened(phone, client, "reading-list")
    phone.get_by_label("Title").fill("Emma <i>")
    phone.get_by_label("Author").fill("Jane Austen")
    phone.get_by_label("Pages").fill("474")
    phone.get_by_role("button", name="Add", exact=True).click()
    phone.get_by_role("heading", name="Emma <i>").wait_for()
    address = phone.url
    phone.get_by_role("button", name="Start").click()
    phone.get_by_label("Page", exact=True).fill("237")
    phone.get_by_role("button", name="Save").click()
    phone.get_by_text("of 474 · 50%").wait_for()
    assert phone.url == address
    called = [row.kind for row in client.log(world, limit=1000).records if row.actor == "page"]
    assert called.count("call") >= 4
    phone.get_by_role("link", name="Finished").click()
    phone.get_by_text("No books on this shelf.").wait_for()
    phone.go_back()
    phone.screenshot(path=tmp_path / "reading-list.png", full_page=True)
    assert fits(phone)
    assert client.incidents(world).incidents == []
