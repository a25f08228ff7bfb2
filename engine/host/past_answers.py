"""What a look at the past answers that the present has no word for."""

from __future__ import annotations

import msgspec

from engine.host.answers import RolledBack


class PageView(msgspec.Struct, frozen=True, rename="camel"):
    """What `app` would answer, as a preview at the moment `at`. `base64`: the body is no text and is so encoded."""

    ok: bool
    status: int
    headers: dict[str, str]
    body: str
    base64: bool
    rolled_back: RolledBack
    logs: list[str]
    at: int
