"""HTTP/1.1 as this server speaks it: uvicorn's httptools protocol, with bounds on how slow and large a client may be.

A request whose framing is not certain (two lengths, a chunk that ends elsewhere) is answered 400 and its connection
closes, so that nobody can disagree about where the next request begins.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from httptools import HttpParserInvalidMethodError
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from engine import limits
from engine.serve.answering import Reply, failed

HEAD_TOO_LARGE = f"head: is larger than {limits.HEAD_BYTES_MAX} bytes"
HEAD_SECONDS_MAX = limits.HEAD_FLICKS_MAX / limits.FLICKS_PER_SECOND
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
BODY_SECONDS_MAX = limits.BODY_FLICKS_MAX / limits.FLICKS_PER_SECOND
UPLOAD_SECONDS_MAX = limits.UPLOAD_FLICKS_MAX / limits.FLICKS_PER_SECOND
UPLOAD_PATH = b"/api/recordings"
ANSWER_SECONDS_MAX = limits.ANSWER_FLICKS_MAX / limits.FLICKS_PER_SECOND


class BoundedProtocol(HttpToolsProtocol):
    """One connection.

    `_arriving` is the part of a request that is incomplete: head, body, or nothing between requests (uvicorn's
    keep-alive timer runs then). A request that arrives in one piece sets no timer here.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._arriving = "head"
        self._head_bytes = 0
        self._arrival_deadline: asyncio.TimerHandle | None = None
        self._answer_deadline: asyncio.TimerHandle | None = None

    # ---- the request: bounded in size and time ------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_rest()

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest_came()
        self._stop(self._answer_deadline)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._arriving != "body":
            self._arriving = "head"
            self._head_bytes += len(data)
        super().data_received(data)
        if self._arriving == "head" and self._head_bytes > limits.HEAD_BYTES_MAX:
            self._refuse(failed(431, HEAD_TOO_LARGE))
        elif self._arriving != "nothing" and self._arrival_deadline is None:
            self._expect_rest()

    def on_headers_complete(self) -> None:
        self._rest_came()
        self._arriving = "body"
        self._head_bytes = 0
        if refusal := self._head_refusal():
            self._refuse(refusal)
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._rest_came()
        self._arriving = "nothing"
        if not self.transport.is_closing():
            super().on_message_complete()

    def _expect_rest(self) -> None:
        seconds = HEAD_SECONDS_MAX
        if self._arriving == "body":
            is_upload = self.url.partition(b"?")[0] == UPLOAD_PATH
            seconds = UPLOAD_SECONDS_MAX if is_upload else BODY_SECONDS_MAX
        self._arrival_deadline = self.loop.call_later(seconds, self._rest_is_late, seconds)

    def _rest_came(self) -> None:
        self._stop(self._arrival_deadline)
        self._arrival_deadline = None

    def _rest_is_late(self, seconds: float) -> None:
        if self._arriving == "head" and self._head_bytes == 0:
            self.transport.close()  # connected and said nothing
        else:
            self._refuse(failed(408, f"{self._arriving}: did not arrive within {seconds:.0f} s"))

    def _head_refusal(self) -> Reply | None:
        """What llhttp lets pass and this server does not: two readers could understand it in two ways."""
        size_bytes = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size_bytes > limits.HEAD_BYTES_MAX:
            return failed(431, HEAD_TOO_LARGE)
        is_newest = self.parser.get_http_version() == "1.1"
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (is_newest and hosts == 0):
            return failed(400, f"host: is given {hosts} times; HTTP/1.1 wants it once")
        for name, value in self.headers:
            if name == b"transfer-encoding" and (value.lower() != b"chunked" or not is_newest):
                return failed(400, "transfer-encoding: only chunked is taken, and only in HTTP/1.1")
        return None

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
        if isinstance(sys.exception(), HttpParserInvalidMethodError):
            hint = f"the methods are {', '.join(METHODS)}; TLS is for a proxy in front"
            self._refuse(failed(501, "the request does not begin with a method that this server knows", hint))
            return
        hint = "its length is given twice, a chunk ends elsewhere, or its head is malformed"
        self._refuse(failed(400, "the request is not well-formed HTTP/1.1", hint))

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
