"""The running server: one data directory, a port for the operator API and one for pages, until it is told to stop."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import uvicorn

from engine import limits
from engine.host import LiveHost, live
from engine.serve.app import make_apps
from engine.serve.logs import make_logger
from engine.serve.pages import open_keys
from engine.serve.protocol import BoundedProtocol
from engine.serve.tokens import open_guard

DRAIN_SECONDS_MAX = limits.DRAIN_FLICKS_MAX / limits.FLICKS_PER_SECOND
# After draining only answers are on their way; a client that keeps its connection open is not waited for.
CLOSE_SECONDS_MAX = 3
AGAIN_SECONDS = 1.0


class CannotListen(Exception):
    """The address cannot be served on; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that takes requests. `token` is given only when it was made or taken just now."""

    url: str
    pages_url: str
    token: str | None
    host: LiveHost


def run(
    home: str,
    *,
    address: str = "127.0.0.1",
    port: int = limits.PORT_DEFAULT,
    pages_port: int | None = None,
    pages_url: str | None = None,
    names: Sequence[str] = (),
    token: str | None = None,
    log_level: str = "info",
    on_serving: Callable[[Serving], Awaitable[None]],
) -> None:
    """Serve `home` until SIGTERM or SIGINT: drain, seal the log, return.

    `port` 0 takes a free one; the pages have the next one, unless `pages_port` says another. `pages_url` is where
    visitors find them behind a proxy. `names` are host names that the server may be addressed by beside the
    loopback ones; `token` is PW_TOKEN. `on_serving` is awaited once requests are taken.
    Raises CannotListen, BadToken, engine.host.CannotOpen.
    """
    _allow_many_connections()
    if pages_port is None:
        pages_port = port + 1 if 0 < port < 65535 else 0
    logger = make_logger(log_level)
    with listen(address, port) as listener, listen(address, pages_port, "--pages-port") as pages_listener:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            stop = _stop_on_signals(runner.get_loop(), logger)
            runner.run(
                serve(
                    home,
                    listener,
                    pages_listener,
                    pages_url=pages_url,
                    names=frozenset(names),
                    token=token,
                    logger=logger,
                    stop=stop,
                    on_serving=on_serving,
                )
            )


async def serve(
    home: str,
    listener: socket.socket,
    pages_listener: socket.socket,
    *,
    pages_url: str | None = None,
    names: frozenset[str],
    token: str | None,
    logger: Any,
    stop: asyncio.Future[None],
    on_serving: Callable[[Serving], Awaitable[None]],
) -> None:
    """`run` on sockets that listen, until `stop` is resolved."""
    host = live(home, loop=asyncio.get_running_loop())
    try:
        guard, new_token = open_guard(home, token)
        keys = open_keys(home)
        await host.start()
    except BaseException:
        await host.close()
        raise
    serving = Serving(_url_of(listener), pages_url or _url_of(pages_listener), new_token, host)
    apps = make_apps(
        host,
        guard=guard,
        keys=keys,
        hosts=names | _names_of(listener),
        pages_url=serving.pages_url,
        behind_proxy=pages_url is not None,
        logger=logger,
    )
    accepting = [
        _Accepting(app, socket) for app, socket in zip(apps, (listener, pages_listener), strict=True)
    ]
    logger.info("serving", url=serving.url, pages_url=serving.pages_url, home=home)
    try:
        await on_serving(serving)
        await asyncio.wait({stop, *(one.task for one in accepting)}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _end(host, accepting, logger)


async def _end(host: LiveHost, accepting: Sequence[_Accepting], logger: Any) -> None:
    """Drain while requests are still answered (503 to new work), then close the connections, then the directory."""
    logger.info("draining")
    try:
        await asyncio.wait_for(host.drained(), DRAIN_SECONDS_MAX)
    except TimeoutError:
        # Like a crash, and as safe: what ran becomes an interrupted incident when the directory is opened again.
        logger.error("work did not end in time; it will be an interrupted incident")
        os._exit(1)
    for one in accepting:
        one.server.should_exit = True
    await asyncio.gather(*(one.task for one in accepting))
    await host.close()
    logger.info("stopped")


class _Server(uvicorn.Server):
    """Uvicorn's server without its signal handlers: draining comes before closing here."""

    def __init__(self, app: Any) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=BoundedProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                limit_concurrency=limits.CONNECTIONS_MAX,
                timeout_keep_alive=limits.IDLE_FLICKS_MAX // limits.FLICKS_PER_SECOND,
                timeout_graceful_shutdown=CLOSE_SECONDS_MAX,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Accepting:
    """One application on its socket."""

    def __init__(self, app: Any, listener: socket.socket) -> None:
        self.server = _Server(app)
        self.task = asyncio.create_task(self.server.serve(sockets=[listener]))


def _stop_on_signals(loop: asyncio.AbstractEventLoop, logger: Any) -> asyncio.Future[None]:
    """Resolved by the first SIGTERM or SIGINT; another one a second later or more ends the process at once.

    Until then it is the same wish twice: a terminal, make and timeout all signal the whole group and the process.
    """
    stop = loop.create_future()
    told_s = 0.0

    def signalled() -> None:
        nonlocal told_s
        if not stop.done():
            told_s = loop.time()
            stop.set_result(None)
        elif loop.time() - told_s > AGAIN_SECONDS:
            logger.warning("told again to stop: stopping at once")
            os._exit(1)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled)
    return stop


def listen(address: str, port: int, option: str = "--port") -> socket.socket:
    """A socket that listens. Raises CannotListen, which names the `option` that chooses the port."""
    try:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = socket.create_server((address, port), family=family, backlog=2048)
        listener.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )  # an answer in two writes waits 40 ms else
        return listener
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CannotListen(
                f"port {port} of {address} is in use. A server may be running already: `pw worlds` asks it; "
                f"else choose another {option}"
            ) from None
        if error.errno == errno.EACCES:
            raise CannotListen(f"port {port} needs privileges; choose a {option} from 1024 on") from None
        raise CannotListen(f"cannot listen on {address} port {port}: {error.strerror or error}") from None


def _url_of(listener: socket.socket) -> str:
    address, port = listener.getsockname()[:2]
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def _names_of(listener: socket.socket) -> frozenset[str]:
    """The address that was chosen to listen on, if it is one and not all of them: a name that nobody can rebind."""
    address = listener.getsockname()[0]
    return frozenset() if address in ("0.0.0.0", "::") else frozenset({address})


def _allow_many_connections() -> None:
    """Raise the soft limit on open files: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * limits.CONNECTIONS_MAX
    if soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard) if hard > 0 else wanted, hard))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:  # not made for every platform
        return asyncio.new_event_loop
    return uvloop.new_event_loop
