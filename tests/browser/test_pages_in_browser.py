"""Pages as a person uses them: forms, links, private addresses, a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from served import Served

from engine.serve.client import Client

NOTES = """
const escaped = text => text.replace(/[&<>"]/g, c => "&#" + c.charCodeAt(0) + ";")
const notes = () => data.list("note:").map(row => row.value)
define("noteList", notes)
define("app", (path, query, request) => {
  if (path === "/add" && request.method === "POST") {
    data.set("note:" + String(data.list("note:").length).padStart(4, "0"), request.form.text)
    return { status: 303, headers: { location: "/" } }
  }
  const found = noteList().filter(note => note.includes(query.find ?? ""))
  return `<!doctype html><html lang=en><head><meta charset=utf-8><title>Notes</title>
    <meta name=viewport content="width=device-width, initial-scale=1">
    <style>
      body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 0 auto; padding: 1rem }
      form { display: flex; gap: .5rem; margin: .5rem 0 } input { flex: 1; min-width: 0; font: inherit; padding: .4rem }
      button { font: inherit; padding: .4rem .9rem }
    </style><script>globalThis.early = typeof world.call</script></head>
    <body><h1>Notes</h1>
    <form method=post action=add><input name=text required aria-label=Note><button>Add</button></form>
    <form><input name=find value="${escaped(query.find ?? "")}" aria-label=Find><button>Find</button></form>
    <ul>${found.map(note => "<li>" + escaped(note)).join("")}</ul>
    <p><a href=more/>more</a> <output id=count></output>
    <script>world.call("noteList").then(all => { count.textContent = all.length + " in all" },
                                        error => { count.textContent = error.message })</script>`
})
"""


@pytest.fixture
def notes(client: Client) -> str:
    world = client.create("notes").id
    client.develop(world, NOTES)
    client.set_page(world, functions=["noteList"])
    return world


def test_forms_by_post_and_get_work_on_a_private_page(client: Client, notes: str, page: Any) -> None:
    private = client.page(notes).preview
    page.goto(private)
    page.get_by_label("Note").fill("milk & <b>bread</b>")
    page.get_by_role("button", name="Add").click()
    page.wait_for_url(private)
    page.get_by_label("Note").fill("tea")
    page.get_by_role("button", name="Add").click()
    page.get_by_text("2 in all").wait_for()
    assert page.locator("li").all_text_contents() == ["milk & <b>bread</b>", "tea"]
    page.get_by_label("Find").fill("tea")
    page.get_by_role("button", name="Find").click()
    page.wait_for_url(private + "?find=tea")
    assert page.locator("li").all_text_contents() == ["tea"]
    page.get_by_role("link").click()
    page.wait_for_url(private + "more/")
    assert [row.key for row in client.data(notes).items] == ["note:0000", "note:0001"]


def test_the_client_is_there_before_the_pages_own_scripts_and_leaves_the_document_as_it_is(
    client: Client, notes: str, page: Any
) -> None:
    page.goto(client.page(notes).preview)
    assert page.evaluate("[early, document.compatMode, document.documentElement.lang, document.title]") == [
        "function",
        "CSS1Compat",
        "en",
        "Notes",
    ]


def test_a_page_that_was_closed_says_so_to_who_still_has_it_open(
    client: Client, notes: str, page: Any
) -> None:
    link = client.set_page(notes, access="link").url
    page.goto(link)
    page.get_by_text("0 in all").wait_for()
    client.set_page(notes, access="private")
    assert page.evaluate("world.call('noteList').catch(error => [error.message, error.hint])") == [
        "this page's token is not valid any more",
        "load the page again",
    ]
    page.reload()
    assert page.get_by_role("heading").text_content() == "There is no page here"


def test_a_page_and_a_message_fit_a_phone(
    client: Client, notes: str, chromium: Any, served: Served, tmp_path: Path
) -> None:
    context = chromium.new_context(**chromium.devices["Pixel 7"])
    phone = context.new_page()
    for name, url in (("notes", client.page(notes).preview), ("nowhere", f"{served.pages}/w/nothing/")):
        phone.goto(url)
        phone.screenshot(path=tmp_path / f"{name}.png")
        width_px, page_px = phone.evaluate("[innerWidth, document.documentElement.scrollWidth]")
        assert width_px == 412 and page_px <= width_px
    context.close()
