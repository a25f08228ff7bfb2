"""From what a world's `app` answered to what the visitor's browser gets."""

from __future__ import annotations

import html
import json
import re
from importlib import resources
from urllib.parse import urljoin, urlsplit

from engine.host import answers
from engine.host.page_results import HTML, PageResult
from engine.serve.answering import STATUS_OF_REFUSAL, Headers, Reply
from engine.serve.pages.asking import Address

CLIENT = resources.files("engine.serve.pages").joinpath("client.js").read_text("utf-8")
FONTS = re.compile(r"font/|application/(x-)?font-|application/vnd\.ms-fontobject", re.IGNORECASE)
# What may stand before the first tag of a document: there a script is in the head whatever follows.
_PREFACE = re.compile(r"\ufeff?(?:\s+|<!--(?:>|->|.*?--!?>))*(?:<!doctype[^>]*>)?", re.IGNORECASE | re.DOTALL)
_STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1.5rem;color:#222;"
    "background:#fff}h1{font-size:1.4rem}p{overflow-wrap:anywhere}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}}"
)
NOWHERE = "There is no page here"
ASK = "If it is private, or its link has ended, ask its owner for the address."


class LeadsAway(ValueError):
    """A location that would lead out of the world by the visitor's own hand; the text says why."""


def shown(page: PageResult, *, address: Address, origin: str, world_token: str, is_open: bool) -> Reply:
    """The page as a reply. `is_open`: caches may keep it if it says so. Raises LeadsAway."""
    headers = dict(page.headers)
    body, content_type = page.body, headers.pop("content-type", HTML)
    if "location" in headers:
        headers["location"] = _location(headers["location"], address, origin)
    if not is_open:
        headers.pop("cache-control", None)
    if content_type.partition(";")[0].strip().lower() == "text/html" and body:
        body = with_client(body.decode("utf-8", "replace"), address.world, world_token).encode("utf-8")
    extra: Headers = tuple((name.encode(), value.encode()) for name, value in headers.items())
    if FONTS.match(content_type):
        extra += ((b"access-control-allow-origin", b"null"),)
    return Reply(page.status, body, content_type.encode(), extra)


def with_client(text: str, world: str, token: str) -> str:
    """The document with the client as its first script."""
    page = json.dumps({"id": world, "token": token})
    preface = _PREFACE.match(text)
    assert preface is not None, "it matches nothing at least"
    at = preface.end()
    return f"{text[:at]}<script>{CLIENT.replace('__PAGE__', page)}</script>{text[at:]}"


def message(status: int, title: str, text: str = "", *, headers: Headers = ()) -> Reply:
    """A page of this server's own, with everything escaped."""
    body = (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style>"
        f"<h1>{html.escape(title)}</h1><p>{html.escape(text)}</p></html>"
    )
    return Reply(status, body.encode("utf-8", "replace"), HTML.encode(), headers)


def nowhere() -> Reply:
    """For no world, no page and no permission alike: nobody learns which worlds there are."""
    return message(404, NOWHERE, ASK)


def failed_view(error: str, incident: int | None, *, for_operator: bool) -> Reply:
    """The world's own failure. An error may tell what a visitor must not know, so its first line is the operator's;
    everybody else gets the number under which the operator finds it."""
    told = error.partition("\n")[0] if for_operator else "Its owner can find out why."
    return message(500, "This page failed", told + ("" if incident is None else f" (incident {incident})"))


def refused_view(answer: answers.Refused) -> Reply:
    headers: Headers = ()
    if answer.retry_after_s is not None:
        headers = ((b"retry-after", str(answer.retry_after_s).encode()),)
    return message(STATUS_OF_REFUSAL[answer.refused], "Not now", answer.error, headers=headers)


def _location(location: str, address: Address, origin: str) -> str:
    """Where a redirect leads. A path is one of the world's own, as `app` sees paths; other origins are left alone."""
    own = address.base + "/"
    if location.startswith("/") and not location.startswith("//"):
        location = location if location.startswith(own) else address.base + location
    target = urlsplit(urljoin(f"{origin}{address.base}{address.path}", location))
    if target.scheme not in ("http", "https"):
        raise LeadsAway(
            f"app set a location of the scheme {target.scheme}: it may lead to http and https only"
        )
    if f"{target.scheme}://{target.netloc}".lower() != origin.lower():
        return location
    if (
        not target.path.startswith(own)
        or "\\" in location
        or re.search(r"%2e|/\.\.?(/|\Z)", target.path, re.I)
    ):
        raise LeadsAway("app set a location outside of its own world")
    return location
