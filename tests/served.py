"""A real server on a real directory and port, in a thread of the test's process."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import structlog

from engine.serve.client import Client
from engine.serve.server import Serving, listen, serve

TOKEN = "a-token-of-the-tests"


class Served:
    """Starts at once; `stop` drains and joins. `logs` are the structured log's events."""

    def __init__(
        self,
        home: Path,
        *,
        token: str | None = TOKEN,
        names: frozenset[str] = frozenset(),
        pages_url: str | None = None,
    ) -> None:
        self.home = home
        self.logs: list[dict[str, Any]] = []
        self._names = names
        self._pages_url = pages_url
        self._wanted_token = token
        self._listener = listen("127.0.0.1", 0)
        self._pages_listener = listen("127.0.0.1", 0)
        self._started = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._started.wait(60)
        if self._error is not None:
            raise self._error

    @property
    def url(self) -> str:
        return self.serving.url

    @property
    def pages(self) -> str:
        """Where this server's pages listen."""
        return f"http://127.0.0.1:{self._pages_listener_port}"

    @property
    def port(self) -> int:
        return self._listener_port

    def client(self) -> Client:
        return Client(self.url, TOKEN)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> httpx.Response:
        """One request with the token, exactly as given."""
        sent = {"authorization": f"Bearer {TOKEN}"} | {
            name.replace("_", "-"): text for name, text in headers.items()
        }
        return httpx.request(method, self.url + path, content=body, headers=sent, trust_env=False, timeout=60)

    def talk(self, *parts: bytes | float, wait_s: float = 5.0) -> bytes:
        """Send bytes as they are (a float pauses) and return what comes until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait_s) as sock:
            for part in parts:
                if isinstance(part, float):
                    time.sleep(part)
                else:
                    sock.sendall(part)
            answer = b""
            while chunk := sock.recv(65536):
                answer += chunk
            return answer

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(lambda: self._stop.done() or self._stop.set_result(None))
        self._thread.join(60)
        assert not self._thread.is_alive(), "the server ends in bounded time"

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._error = error
        finally:
            self._listener.close()
            self._pages_listener.close()
            self._started.set()

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._stop = self.loop.create_future()
        self._listener_port = self._listener.getsockname()[1]
        self._pages_listener_port = self._pages_listener.getsockname()[1]
        logger = structlog.wrap_logger(None, processors=[self._keep_log])
        await serve(
            str(self.home),
            self._listener,
            self._pages_listener,
            pages_url=self._pages_url,
            names=self._names,
            token=self._wanted_token,
            logger=logger,
            stop=self._stop,
            on_serving=self._serving,
        )

    async def _serving(self, serving: Serving) -> None:
        self.serving = serving
        self._started.set()

    def _keep_log(self, _logger: Any, method: str, event: dict[str, Any]) -> Any:
        self.logs.append({"level": method, **event})
        raise structlog.DropEvent
