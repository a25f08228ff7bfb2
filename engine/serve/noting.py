"""Around each of the two doors: every request gets a number, a line in the log, a place in the metrics, an answer."""

from __future__ import annotations

import secrets
import time
from typing import Any

from engine.serve.answering import Reply, failed
from engine.serve.endpoint import send_reply
from engine.serve.metrics import Metrics
from engine.serve.streaming import ClientGone

METHODS_COUNTED = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})


class Noting:
    """An ASGI application around another one, which may name its route in the scope."""

    def __init__(self, inner: Any, *, logger: Any, metrics: Metrics) -> None:
        self._inner = inner
        self._logger = logger
        self._metrics = metrics
        self._process = secrets.token_hex(4)
        self._requests = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http", "neither lifespan nor sockets are served"
        started_s = time.perf_counter()
        self._requests += 1
        request_id = f"{self._process}-{self._requests}"
        status = 0

        async def noting_send(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message["headers"]
                if not any(name == b"cache-control" for name, _ in headers):
                    headers = [*headers, (b"cache-control", b"no-store")]
                message["headers"] = [
                    *headers,
                    (b"x-request-id", request_id.encode()),
                    (b"x-content-type-options", b"nosniff"),
                ]
            await send(message)

        try:
            await self._inner(scope, receive, noting_send)
        except ClientGone:
            status = status or 499
        except Exception:
            self._logger.error("request failed", request=request_id, exc_info=True)
            if status == 0:
                await send_reply(noting_send, _internal_error(request_id))
        finally:
            self._note(scope, request_id, status, time.perf_counter() - started_s)

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


def _internal_error(request_id: str) -> Reply:
    return failed(500, "the server made a mistake", f"its log says more under request {request_id}")
