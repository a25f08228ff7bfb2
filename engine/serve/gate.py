"""The gate in front of everything: who may come in, under which host name, and what is noted of it.

It routes on the path as it was sent: an encoded "/" in a key or an id is part of it, not a separator.
"""

from __future__ import annotations

import ipaddress
import secrets
import time
from typing import Any

from engine.serve.answering import Reply, failed
from engine.serve.endpoint import ClientGone, send_reply
from engine.serve.metrics import Metrics
from engine.serve.tokens import Guard

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OPERATION_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
METHODS_COUNTED = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})


class Gate:
    """An ASGI application around another one. `hosts` are the names it may be addressed by, beside loopback ones."""

    def __init__(
        self, inner: Any, *, guard: Guard, hosts: frozenset[str], logger: Any, metrics: Metrics
    ) -> None:
        self._inner = inner
        self._guard = guard
        self._hosts = LOOPBACK_NAMES | hosts
        self._logger = logger
        self._metrics = metrics
        self._process = secrets.token_hex(4)
        self._requests = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http", "neither lifespan nor sockets are served"
        started_s = time.perf_counter()
        self._requests += 1
        request_id = f"{self._process}-{self._requests}"
        scope["path"] = scope["raw_path"].decode("ascii")
        status = 0

        async def noting_send(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message["headers"],
                    (b"cache-control", b"no-store"),
                    (b"x-request-id", request_id.encode()),
                    (b"x-content-type-options", b"nosniff"),
                ]
            await send(message)

        try:
            refusal = self._refusal(scope)
            if refusal is None:
                await self._inner(scope, receive, noting_send)
            else:
                await send_reply(noting_send, refusal)
        except ClientGone:
            status = status or 499
        except Exception:
            self._logger.error("request failed", request=request_id, exc_info=True)
            if status == 0:
                await send_reply(noting_send, _internal_error(request_id))
        finally:
            self._note(scope, request_id, status, time.perf_counter() - started_s)

    def _refusal(self, scope: Any) -> Reply | None:
        headers = _Headers(scope["headers"])
        path = scope["path"]
        if scope["method"] not in SAFE_METHODS and (refusal := self._wrong_place(headers)):
            return refusal
        guarded = path.startswith("/api") or (path in OPERATION_PATHS and not _is_local(scope))
        if guarded and not self._guard.admits(headers.authorization):
            return _unauthorized(headers.authorization)
        return None

    def _wrong_place(self, headers: _Headers) -> Reply | None:
        """Refuse a change that a page of another origin, or a name rebound to this address, may have sent."""
        name = _host_name(headers.host)
        if name is None or name not in self._hosts:
            return failed(
                403,
                f"host: {_shown(headers.host)} is not a name of this server",
                "use http://127.0.0.1, or start the server with --allow-host NAME",
            )
        if headers.origin is not None and headers.origin.partition(b"://")[2].lower() != headers.host.lower():
            return failed(
                403,
                f"origin: {_shown(headers.origin)} may not change anything here",
                "send the request from this server's own pages, or without an Origin header",
            )
        return None

    def _note(self, scope: Any, request_id: str, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in METHODS_COUNTED else "OTHER"
        route = scope.get("flickworld.route", "none")
        self._metrics.observe(method, route, status, seconds)
        self._logger.info(
            "request",
            request=request_id,
            method=method,
            route=route,
            world=scope.get("path_params", {}).get("world"),
            status=status,
            ms=round(seconds * 1000, 3),
        )


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


def _host_name(host: bytes) -> str | None:
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


def _internal_error(request_id: str) -> Reply:
    return failed(500, "the server made a mistake", f"its log says more under request {request_id}")


def _shown(header: bytes) -> str:
    return header.decode("latin-1")[:100] or "(none)"
