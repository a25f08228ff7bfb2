"""The gate in front of the operator API: who may come in, and under which host name.

It routes on the path as it was sent: an encoded "/" in a key or an id is part of it, not a separator.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from engine.serve.answering import Reply, failed
from engine.serve.endpoint import send_reply
from engine.serve.tokens import Guard

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OPERATION_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class Gate:
    """An ASGI application around another one. `hosts` are the names it may be addressed by, beside loopback ones."""

    def __init__(self, inner: Any, *, guard: Guard, hosts: frozenset[str]) -> None:
        self._inner = inner
        self._guard = guard
        self._hosts = LOOPBACK_NAMES | hosts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope["path"] = scope["raw_path"].decode("ascii")
        refusal = self._refusal(scope)
        if refusal is None:
            await self._inner(scope, receive, send)
        else:
            await send_reply(send, refusal)

    def _refusal(self, scope: Any) -> Reply | None:
        headers = _Headers(scope["headers"])
        path = scope["path"]
        if refusal := self._wrong_place(headers, changes=scope["method"] not in SAFE_METHODS):
            return refusal
        guarded = path.startswith("/api") or (path in OPERATION_PATHS and not _is_local(scope))
        if guarded and not self._guard.admits(headers.authorization):
            return _unauthorized(headers.authorization)
        return None

    def _wrong_place(self, headers: _Headers, *, changes: bool) -> Reply | None:
        """Refuse what a name rebound to this address asks, reads too: its page could read the answer. And refuse
        changes that a page of another origin sends: it cannot read the answer, but the change would happen."""
        name = host_name(headers.host)
        if name is None or name not in self._hosts:
            return failed(
                403,
                f"host: {_shown(headers.host)} is not a name of this server",
                "use http://127.0.0.1, or start the server with --allow-host NAME",
            )
        if not changes or headers.origin is None:
            return None
        if headers.origin.partition(b"://")[2].lower() != headers.host.lower():
            return failed(
                403,
                f"origin: {_shown(headers.origin)} may not change anything here",
                "send the request from this server's own pages, or without an Origin header",
            )
        return None


class _Headers:
    """The three headers that the gate looks at."""

    __slots__ = ("authorization", "host", "origin")

    def __init__(self, headers: list[tuple[bytes, bytes]]) -> None:
        self.authorization: bytes | None = None
        self.host = b""
        self.origin: bytes | None = None
        for name, value in headers:
            if name == b"authorization":
                self.authorization = value
            elif name == b"host":
                self.host = value
            elif name == b"origin":
                self.origin = value


def host_name(host: bytes) -> str | None:
    """The name in a Host header, without port and brackets; None where it is none."""
    text = host.decode("latin-1").lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] or None


def _is_local(scope: Any) -> bool:
    client = scope.get("client")
    try:
        return client is not None and ipaddress.ip_address(client[0]).is_loopback
    except ValueError:
        return False


def _unauthorized(authorization: bytes | None) -> Reply:
    error = "the operator token is missing" if authorization is None else "the operator token is wrong"
    hint = "send Authorization: Bearer TOKEN; pw serve printed it once, and it lies in the data directory"
    return failed(401, error, hint, headers=((b"www-authenticate", b"Bearer"),))


def _shown(header: bytes) -> str:
    return header.decode("latin-1")[:100] or "(none)"
