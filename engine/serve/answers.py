"""Answers that the door alone can give; all others are the host's."""

from __future__ import annotations

import msgspec


class Page(msgspec.Struct, frozen=True, rename="camel"):
    """A world's page. `url` is the address to give to others: None while the page is private, or where its link was
    made in another data directory. `preview` opens it for a day whatever its access: for the operator alone."""

    access: str
    functions: list[str]
    url: str | None
    preview: str
