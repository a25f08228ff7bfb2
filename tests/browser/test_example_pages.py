"""The pages of the example worlds, as people use them on a phone and at a desk."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from served import Served

from engine.serve.client import Client
from engine.serve.examples import plant

WORLDS = Path(__file__).parents[2] / "worlds"
WIDTHS_PX = {"phone": 412, "desk": 1280}
TULIPS = "Plant <b>tulips</b> & such, in the long bed behind the house"
ISSUES: list[dict[str, Any]] = [
    {"title": "Dry the walls", "priority": 1, "labels": ["house"]},
    {
        "title": "Paint the hall",
        "priority": 1,
        "assignee": "Ada",
        "dependencies": [{"depends_on_id": "bd-1"}],
    },
    {"title": "Hang the pictures", "dependencies": [{"depends_on_id": "bd-2", "type": "blocks"}]},
    {"title": "The bell is silent", "priority": 0, "issue_type": "bug", "status": "in_progress"},
    {"title": TULIPS, "priority": 3, "labels": ["garden"]},
    {"title": "Sell the old door", "status": "closed", "closed_at": "2026-04-20T08:00:00Z"},
]


@pytest.fixture(scope="module")
def planted(served: Served) -> Served:
    """The server with the example worlds."""
    planting = plant(served.serving.host, str(WORLDS))
    asyncio.run_coroutine_threadsafe(planting, served.loop).result(240)
    return served


@pytest.fixture(params=["phone", "desk"])
def browser(request: Any, chromium: Any, tmp_path: Path) -> Iterator[Any]:
    """A page of the browser; `browser.look` takes pictures of it, by day and by night, and says whether it fits."""
    device = (
        chromium.devices["Pixel 7"]
        if request.param == "phone"
        else {"viewport": {"width": 1280, "height": 800}}
    )
    context = chromium.new_context(**device)
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.look = lambda name: look(page, tmp_path / f"{name}-{request.param}", WIDTHS_PX[request.param])
    yield page
    context.close()


def value(client: Client, world: str, function: str, *args: Any) -> Any:
    return json.loads(bytes(client.call(world, function, list(args)).value))


def emptied(client: Client, world: str, prefix: str) -> str:
    """The world without the rows that another test left."""
    for row in client.data(world, prefix=prefix, limit=1000).items:
        client.delete_data(world, row.key, reason="the next test")
    return world


def unfold(page: Any, summary: str) -> None:
    page.locator("details", has_text=summary).evaluate("details => { details.open = true }")


def look(page: Any, path: Path, screen_px: int) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=f"{path}-{scheme}.png", full_page=True)
    width_px, page_px = page.evaluate("[innerWidth, document.documentElement.scrollWidth]")
    assert width_px == screen_px and page_px <= width_px, "nothing sticks out at the side"
    small = page.evaluate(
        "[...document.querySelectorAll('button, select, summary, input:not([type=hidden], [type=file])')]"
        ".filter(part => part.checkVisibility() && part.getBoundingClientRect().height < 44)"
        ".map(part => part.outerHTML)"
    )
    assert small == [], "a thumb can press it"


@pytest.fixture
def named(planted: Served, client: Client) -> Callable[[str], str]:
    return lambda name: next(row.id for row in client.worlds() if row.name == name)


def test_the_reading_list_takes_a_book_and_reads_on_in_place(named: Any, client: Client, browser: Any):
    world = emptied(client, named("reading-list"), "book:")
    client.call(world, "addBook", [{"title": "Middlemarch", "author": "George Eliot", "pages": 880}])
    browser.goto(client.page(world).url)
    unfold(browser, "Add a book")
    browser.get_by_label("Title").fill("Emma <i>")
    browser.get_by_label("Author").fill("Jane Austen")
    browser.get_by_label("Pages").fill("474")
    browser.get_by_role("button", name="Add", exact=True).click()
    emma = browser.locator("article", has=browser.get_by_role("heading", name="Emma <i>"))
    emma.wait_for()
    address = browser.url
    emma.get_by_role("button", name="Start").click()
    emma.get_by_label("Page", exact=True).fill("237")
    emma.get_by_role("button", name="Save").click()
    emma.get_by_text("page 237 of 474 · 50%").wait_for()
    browser.look("reading-list")
    emma.get_by_role("button", name="Finished").click()
    emma.get_by_role("button", name="4 of 5 stars").click()
    emma.locator("[aria-pressed=true]").nth(3).wait_for()
    assert emma.locator("[aria-pressed=true]").count() == 4
    assert browser.url == address
    browser.look("reading-list-finished")
    browser.get_by_role("link", name="Finished 1").click()
    browser.wait_for_url("**/?shelf=finished")
    assert browser.locator("h2").all_text_contents() == ["Emma <i>"]
    emma.get_by_role("button", name="Remove").click()
    browser.get_by_role("link", name="All 1").wait_for()
    assert client.incidents(world).incidents == []


def test_a_reading_list_keeps_what_was_typed_when_it_refuses_a_book(named: Any, client: Client, browser: Any):
    world = named("reading-list")
    browser.goto(client.page(world).url)
    unfold(browser, "Add a book")
    browser.get_by_label("Title").fill("   ")
    browser.get_by_label("Author").fill("Nobody")
    browser.get_by_label("Pages").fill("10")
    browser.get_by_role("button", name="Add", exact=True).click()
    browser.get_by_role("alert").get_by_text("A book needs a title").wait_for()
    assert browser.get_by_label("Author").input_value() == "Nobody"


def test_closing_a_bead_frees_what_waited_for_it(named: Any, client: Client, browser: Any):
    world = emptied(client, named("beads-board"), "issue:")
    lines = [json.dumps({"id": f"bd-{n}", **issue}) for n, issue in enumerate(ISSUES, start=1)]
    assert value(client, world, "importBeads", "\n".join(lines))["added"] == 6
    browser.goto(client.page(world).url)
    browser.look("beads-board")

    def column(name: str) -> list[str]:
        return browser.get_by_label(name, exact=True).locator("article h2").all_text_contents()

    assert column("Ready") == ["Dry the walls", TULIPS]
    assert column("Blocked") == ["Paint the hall", "Hang the pictures"]
    browser.get_by_role("button", name="Close bd-1").click()
    browser.get_by_role("button", name="Reopen bd-1").wait_for()
    assert column("Ready") == ["Paint the hall", TULIPS]
    assert column("Closed") == ["Dry the walls", "Sell the old door"]
    browser.get_by_label("Any label").select_option("garden")
    browser.wait_for_url("**label=garden*")
    assert column("Ready") == [TULIPS]
    browser.get_by_role("link", name=TULIPS).click()
    browser.get_by_label("Wait for").select_option("bd-2")
    browser.get_by_role("button", name="Wait for it").click()
    browser.get_by_role("link", name="bd-2").wait_for()
    browser.look("bead")
    assert [row["id"] for row in value(client, world, "readyIssues")] == ["bd-2"]
    assert client.incidents(world).incidents == []


def test_a_file_of_beads_is_imported(named: Any, client: Client, browser: Any, tmp_path: Path):
    world = emptied(client, named("beads-board"), "issue:")
    lines = [json.dumps({"id": f"b-{n}", "title": f"Bead {n}", "notes": "x" * 9000}) for n in range(50)]
    (tmp_path / "issues.jsonl").write_text("\n".join(lines))
    browser.goto(client.page(world).url)
    unfold(browser, "Import")
    browser.get_by_label("or the file").set_input_files(tmp_path / "issues.jsonl")
    browser.get_by_role("link", name="Bead 49").wait_for()
    assert len(value(client, world, "readyIssues")) == 50


def test_the_dashboard_shows_what_other_worlds_say_in_any_currency(named: Any, client: Client, browser: Any):
    trips, page = named("trip-budget"), client.page(named("dashboard")).url
    for trip in value(client, trips, "listTrips"):
        client.call(trips, "removeTrip", [trip])
    browser.goto(page)
    browser.get_by_text("No trips yet").wait_for()
    browser.look("dashboard-empty")
    for code, rate, digits in (("EUR", 0.92, 2), ("JPY", 150, 0)):
        client.call(named("currency"), "setRate", [code, rate, digits])
    for trip, budget in (("Rome", 1500), ("Lisbon, with everybody", 800)):
        client.call(trips, "addTrip", [trip, budget, ["Ada", "Bob"]])
        for amount in (48.5, 840):
            spent = {
                "day": "2026-05-02",
                "what": "Stay",
                "category": "stay",
                "amount": amount,
                "paidBy": "Ada",
            }
            client.call(trips, "addExpense", [trip, spent])
    browser.goto(page)
    browser.get_by_text("888.50 USD").first.wait_for()
    browser.get_by_label("Currency").select_option("JPY")
    browser.get_by_text("133,275 JPY").first.wait_for()
    browser.get_by_label("Trip").select_option("Rome")
    browser.get_by_label("What for").fill("Dinner")
    browser.get_by_label("Dollars").fill("11.50")
    browser.get_by_role("button", name="Add").first.click()
    browser.wait_for_url("**in=JPY")
    browser.get_by_text("135,000 JPY").wait_for()
    browser.look("dashboard")
    assert client.incidents(named("dashboard")).incidents == []
