"""From a request on the pages origin to the arguments of the world's `app`: (path, query, request)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from engine.serve.reading import BadInput, percent_decoded

# What a page may need and what is fit to be recorded for ever: neither who visits nor with what.
HEADERS_SHOWN = ("accept", "accept-language", "content-type", "if-modified-since", "if-none-match")
FORM = "application/x-www-form-urlencoded"
_ADDRESS = re.compile(r"/w/([a-z0-9-]{1,64})(?:/~([A-Za-z0-9_.-]{32,64}))?(/.*)?\Z")


@dataclass(frozen=True, slots=True)
class Address:
    """/w/WORLD[/~KEY]PATH: `base` is all before the path, and `path` is empty or begins with "/", as it was sent."""

    world: str
    key: str | None
    path: str

    @property
    def base(self) -> str:
        return f"/w/{self.world}" + (f"/~{self.key}" if self.key else "")


def address_of(path: str) -> Address | None:
    """The page that a request's path names; None where it names none."""
    match = _ADDRESS.match(path)
    return Address(match[1], match[2], match[3] or "") if match else None


def app_arguments(
    address: Address, method: str, query: bytes, headers: list[tuple[bytes, bytes]], body: bytes
) -> list[Any]:
    """The arguments of `app`. Raises BadInput for what is not text."""
    shown = {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in headers
        if name.decode("latin-1") in HEADERS_SHOWN
    }
    text = _text(body)
    media_type = shown.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == "multipart/form-data":
        raise BadInput(
            "body: a form of multipart/form-data is not taken",
            status=415,
            hint=f"leave out its enctype: {FORM} is",
        )
    request = {
        "method": method,
        "base": address.base,
        "headers": shown,
        "form": _last_of_each(text) if media_type == FORM else {},
        "body": text,
    }
    return [
        percent_decoded(address.path.encode("ascii"), "path"),
        _last_of_each(query.decode("latin-1")),
        request,
    ]


def _last_of_each(encoded: str) -> dict[str, str]:
    """Names and values of a query or a form, read as browsers do; the last value of each name."""
    return dict(parse_qsl(encoded, keep_blank_values=True, errors="replace"))


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"body: is not UTF-8 at byte {error.start}") from None
