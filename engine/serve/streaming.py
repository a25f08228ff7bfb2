"""What is too large to be held: uploads that go to a file first, answers that go out piece by piece."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any, BinaryIO

from engine import limits
from engine.serve.answering import Headers
from engine.serve.reading import BadInput

BINARY = "application/octet-stream"
_WRITTEN_BYTES = limits.MIB


class ClientGone(Exception):
    """The client went away before its request, or its answer, was complete; nobody is answered."""


class Streamed:
    """A response in pieces, whose length nobody knows before its end. A client sees whether it was all."""

    __slots__ = ("content_type", "headers", "pieces")

    def __init__(
        self, pieces: AsyncGenerator[bytes, None], *, content_type: str = BINARY, headers: Headers = ()
    ) -> None:
        self.pieces = pieces
        self.content_type = content_type.encode()
        self.headers = headers


async def send_streamed(scope: Any, receive: Any, send: Any, streamed: Streamed) -> None:
    """Send the pieces as they come. Raises ClientGone as soon as nobody reads them, and what making them raises:
    then the response has no end.
    """
    gone = asyncio.ensure_future(_gone(receive))
    try:
        headers = [(b"content-type", streamed.content_type), *streamed.headers]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for piece in streamed.pieces:
            if gone.done():
                raise ClientGone
            if scope["method"] == "HEAD":
                break
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()
        await streamed.pieces.aclose()


@asynccontextmanager
async def spooled(scope: Any, receive: Any, directory: str) -> AsyncIterator[BinaryIO]:
    """The whole body as a file without a name in `directory`, at its beginning; it is gone afterwards.

    Raises BadInput where it is too large or cannot be stored, ClientGone.
    """
    for name, value in scope["headers"]:
        if name == b"content-length" and int(value) > limits.RECORDING_UPLOAD_BYTES_MAX:
            raise _too_large()
    with ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.TemporaryFile("w+b", dir=directory))
            await _spool_into(file, receive)
            file.seek(0)
        except OSError as error:
            raise BadInput(
                f"body: cannot be stored ({error.strerror})",
                status=503,
                hint="make room on the server's disk",
            ) from None
        yield file


async def _spool_into(file: BinaryIO, receive: Any) -> None:
    size_bytes = 0
    gathered = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        gathered += message.get("body", b"")
        more = message.get("more_body", False)
        if size_bytes + len(gathered) > limits.RECORDING_UPLOAD_BYTES_MAX:
            raise _too_large()
        if len(gathered) >= _WRITTEN_BYTES or not more:
            await asyncio.to_thread(file.write, bytes(gathered))
            size_bytes += len(gathered)
            gathered.clear()


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _too_large() -> BadInput:
    return BadInput(f"body: is larger than {limits.RECORDING_UPLOAD_BYTES_MAX} bytes", status=413)
