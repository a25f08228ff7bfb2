"""HTTP/1.1 as this server speaks it: uvicorn's httptools protocol, with bounds on how large and slow a client may be.

A request whose framing is not certain (two lengths, a chunk that ends elsewhere) is answered 400 and its connection
closes, so that nobody can disagree about where the next request begins.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from engine import limits
from engine.serve.answering import Reply, failed

HEAD_SECONDS_MAX = limits.HEAD_FLICKS_MAX / limits.FLICKS_PER_SECOND
ANSWER_SECONDS_MAX = limits.ANSWER_FLICKS_MAX / limits.FLICKS_PER_SECOND


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_bytes = 0  # of the request line and headers that are arriving
        self._in_head = True
        self._head_deadline: asyncio.TimerHandle | None = None
        self._answer_deadline: asyncio.TimerHandle | None = None

    # ---- the head: bounded in size and time ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop(self._head_deadline)
        self._stop(self._answer_deadline)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_deadline is None:
                self._await_head()
        super().data_received(data)
        if self._in_head and self._head_bytes > limits.HEAD_BYTES_MAX:
            self._refuse(failed(431, f"headers: are larger than {limits.HEAD_BYTES_MAX} bytes"))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_bytes = 0
        self._stop(self._head_deadline)
        self._head_deadline = None
        size_bytes = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size_bytes > limits.HEAD_BYTES_MAX:
            self._refuse(failed(431, f"headers: are larger than {limits.HEAD_BYTES_MAX} bytes"))
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head = True
        if not self.transport.is_closing():
            super().on_message_complete()

    def _await_head(self) -> None:
        self._head_deadline = self.loop.call_later(HEAD_SECONDS_MAX, self._head_is_late)

    def _head_is_late(self) -> None:
        self._head_deadline = None
        if self._head_bytes:
            self._refuse(failed(408, f"headers: did not arrive within {HEAD_SECONDS_MAX:.0f} s"))
        else:
            self.transport.close()

    # ---- the answer: a client that does not read it is let go ---------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._answer_deadline = self.loop.call_later(ANSWER_SECONDS_MAX, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop(self._answer_deadline)
        self._answer_deadline = None

    # ---- refusals -----------------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        self._refuse(failed(400, "the request is not well-formed HTTP/1.1", msg))

    def _refuse(self, reply: Reply) -> None:
        """Answer and close. Where an answer has begun already, only close: a second one would be nonsense."""
        if self.transport.is_closing():
            return
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            self.transport.write(
                STATUS_LINE[reply.status]
                + b"content-type: application/json\r\ncache-control: no-store\r\nconnection: close\r\n"
                + b"content-length: %d\r\n\r\n" % len(reply.body)
                + reply.body
            )
        self.transport.close()

    @staticmethod
    def _stop(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()
