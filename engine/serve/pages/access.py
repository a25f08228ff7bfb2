"""Who may open a world's page, and what an opened page may call. All of it follows from one secret and the record.

Three kinds of text open something; each is for one world alone:

- a *link key* opens a page whose access is `link`, in its address: /w/ID/~KEY/. The record holds its BLAKE3 only. Keys
  are made from the secret and a count, so that the operator can be told the link again, and a new link ends the old.
- a *pass* opens any page for a day, in the same place of the address. The operator API hands it out: so the operator
  sees private pages. No cookie could: a sandboxed page sends none, and its forms and links would lose it.
- a *page token* lets a page that was sent out call the functions that are listed for it, for a day, as long as the
  way by which it was opened stays open.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Callable

from engine import limits
from engine.host.answers import PageAccess
from engine.ids import content_id
from engine.serve.tokens import BadToken, write_private

SECRET_FILE = "pages-secret"
OPERATOR = "operator"
_SECRET = re.compile(r"[0-9a-f]{64}\n?\Z")
_KEY = re.compile(r"[A-Za-z0-9_-]{32}(\.[0-9a-f]{1,12})?\Z")
_MAC_BYTES = 24
_ACCESS_SECONDS = limits.PAGE_ACCESS_FLICKS // limits.FLICKS_PER_SECOND


class Keys:
    """Makes and knows keys, passes and tokens. `now_s` is the time in seconds since 1970."""

    def __init__(self, secret: bytes, *, now_s: Callable[[], float] = time.time) -> None:
        assert len(secret) == 32, "a secret of 256 bits"
        self._secret = secret
        self._now_s = now_s

    # ---- links ------------------------------------------------------------------------------------------

    def link_of(self, world: str, link_hash: str | None) -> str | None:
        """The key whose hash is recorded; None where there is none, or it was made with another secret."""
        count = self._count_of(world, link_hash)
        return None if count is None else self._link(world, count)

    def next_link(self, world: str, link_hash: str | None) -> str:
        """A key that no link of the world has had."""
        count = self._count_of(world, link_hash)
        return self._link(world, 0 if count is None else count + 1)

    def _count_of(self, world: str, link_hash: str | None) -> int | None:
        if link_hash is None:
            return None
        counts = range(limits.PAGE_LINKS_MAX)
        return next((n for n in counts if content_id(self._link(world, n).encode()) == link_hash), None)

    def _link(self, world: str, count: int) -> str:
        return self._mac("link", world, str(count))

    # ---- opening a page -----------------------------------------------------------------------------------

    def make_pass(self, world: str) -> str:
        """What opens the world's page for a day, whatever its access."""
        return self._dated("pass", world, "")

    def way_in(self, world: str, key: str | None, access: PageAccess) -> str | None:
        """By which way a visitor with `key` may open the page: a text that `make_token` takes; None for not."""
        if key is not None and not _KEY.match(key):
            return None
        if key is not None and self._is_dated(key, "pass", world, ""):
            return OPERATOR
        if access.access == "public":
            return _open_way(access) if key is None else None
        if access.access == "link" and key is not None and access.link_hash is not None:
            same = hmac.compare_digest(content_id(key.encode()), access.link_hash)
            return _open_way(access) if same else None
        return None

    # ---- calls of a page ----------------------------------------------------------------------------------

    def make_token(self, world: str, way: str) -> str:
        """The token of one page that is sent out."""
        return self._dated("page", world, way)

    def admits(self, world: str, token: str, access: PageAccess) -> bool:
        """Whether `token` is of a page of this world, in time, and the way it was opened by is still open."""
        ways = (OPERATOR,) if access.access == "private" else (OPERATOR, _open_way(access))
        return bool(_KEY.match(token)) and any(self._is_dated(token, "page", world, way) for way in ways)

    # ---- codes --------------------------------------------------------------------------------------------

    def _dated(self, purpose: str, world: str, detail: str) -> str:
        until = f"{int(self._now_s()) + _ACCESS_SECONDS:x}"
        return f"{self._mac(purpose, world, detail, until)}.{until}"

    def _is_dated(self, code: str, purpose: str, world: str, detail: str) -> bool:
        mac, _, until = code.partition(".")
        if not hmac.compare_digest(mac, self._mac(purpose, world, detail, until)):
            return False
        return self._now_s() < int(until, 16)

    def _mac(self, *parts: str) -> str:
        # No part holds a line break, so no two lists of parts are the same message.
        message = "\n".join(parts).encode()
        digest = hmac.new(self._secret, message, hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest[:_MAC_BYTES]).decode()


def open_keys(home: str) -> Keys:
    """The keys of a data directory, whose secret is made at first. Raises BadToken for a damaged file."""
    path = os.path.join(home, SECRET_FILE)
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            stored = file.read()
    except FileNotFoundError:
        stored = secrets.token_hex(32)
        write_private(home, SECRET_FILE, stored + "\n")
    if not _SECRET.match(stored):
        raise BadToken(f"{path}: holds no secret; delete it, and open pages must be loaded again")
    return Keys(bytes.fromhex(stored))


def _open_way(access: PageAccess) -> str:
    return "public" if access.access == "public" else f"link {access.link_hash}"
