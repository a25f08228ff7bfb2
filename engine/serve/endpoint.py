"""One endpoint: a method of a path, what it takes, what it may answer, and the function behind it.

The table of endpoints is the only description of the API: routing, strict reading and the OpenAPI document come from
it. An endpoint is a raw ASGI callable, so that a call costs no more than it must.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.routing import Route

from engine import limits
from engine.host import LiveHost, NotThere
from engine.host.api import Gone
from engine.ids import BadId, check_world_id
from engine.serve.answering import Reply, failed, reply_to
from engine.serve.inputs import Input, NoQuery
from engine.serve.reading import BadInput, percent_decoded, read_input, read_query
from engine.serve.streaming import ClientGone, Streamed, send_streamed, spooled

TOO_LARGE = f"body: is larger than {limits.BODY_BYTES_MAX} bytes"
ACTOR = "operator"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, read: the path's parameters as text, the query and the body as the endpoint's structs."""

    params: dict[str, str]
    query: Any
    body: Any
    headers: Sequence[tuple[bytes, bytes]] = ()

    @property
    def wants_no_wait(self) -> bool:
        """`Prefer: respond-async`: to hear that the work is admitted is enough."""
        preferred = (value for name, value in self.headers if name == b"prefer")
        return any(
            part.partition(b";")[0].strip().lower() == b"respond-async"
            for value in preferred
            for part in value.split(b",")
        )


Handler = Callable[[LiveHost, Asked], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`answers` are the types that the handler may return. BadInput and NotThere end as a Failure.

    One that `takes_file` is given its body as an open file, which is closed once it has answered.
    """

    method: str
    path: str
    handler: Handler
    answers: Sequence[Any]
    query: type[Input] = NoQuery
    body: type[Input] | None = None
    content_type: str = "application/json"
    takes_file: bool = False

    @property
    def summary(self) -> str:
        assert self.handler.__doc__, f"{self.method} {self.path} says what it does"
        return self.handler.__doc__.strip()


class Resource:
    """All endpoints of one path, as an ASGI application."""

    def __init__(self, path: str, endpoints: Iterable[Endpoint], host: LiveHost) -> None:
        self.path = path
        self.by_method = {endpoint.method: endpoint for endpoint in endpoints}
        self._host = host
        if "GET" in self.by_method:
            self.by_method["HEAD"] = self.by_method["GET"]
        self._allow = ", ".join(sorted(self.by_method)).encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope["flickworld.route"] = self.path
        endpoint = self.by_method.get(scope["method"])
        if endpoint is None:
            error = f"{scope['method']} is not a method of {self.path}"
            reply: Reply | Streamed = failed(
                405, error, "Allow lists its methods", headers=((b"allow", self._allow),)
            )
        else:
            reply = await self._replied(endpoint, scope, receive)
        if isinstance(reply, Streamed):
            await send_streamed(scope, receive, send, reply)
        else:
            await send_reply(send, reply)

    async def _replied(self, endpoint: Endpoint, scope: Any, receive: Any) -> Reply | Streamed:
        try:
            params = _params_of(scope)
            query = read_query(scope["query_string"], endpoint.query)
            if endpoint.takes_file:
                async with spooled(scope, receive, self._host.home) as file:
                    answer = await endpoint.handler(self._host, Asked(params, query, file, scope["headers"]))
            else:
                body = read_input(await read_body(scope, receive), endpoint.body) if endpoint.body else None
                answer = await endpoint.handler(self._host, Asked(params, query, body, scope["headers"]))
            return answer if isinstance(answer, Reply | Streamed) else reply_to(answer)
        except BadInput as error:
            return failed(error.status, error.error, error.hint)
        except BadId as error:
            return failed(400, str(error))
        except Gone as error:
            return failed(410, str(error))
        except NotThere as error:
            return failed(404, str(error))


def routes(endpoints: Iterable[Endpoint], host: LiveHost) -> list[Route]:
    """One raw route a path, in the table's order: the first ones are found fastest."""
    by_path: dict[str, list[Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, []).append(endpoint)
    return [
        Route(path, Resource(path.replace(":path}", "}"), of_path, host)) for path, of_path in by_path.items()
    ]


async def read_body(scope: Any, receive: Any) -> bytes:
    """The whole body, however it is framed. Raises BadInput where it is too large, ClientGone.

    The protocol bounds how long it may take, and skips what is not read: most clients look for the answer only when
    they have sent everything.
    """
    for name, value in scope["headers"]:
        if name == b"content-length" and int(value) > limits.BODY_BYTES_MAX:
            raise BadInput(TOO_LARGE, status=413)
    chunks: list[bytes] = []
    size_bytes = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        body, more = message.get("body", b""), message.get("more_body", False)
        size_bytes += len(body)
        if size_bytes > limits.BODY_BYTES_MAX:
            raise BadInput(TOO_LARGE, status=413)
        chunks.append(body)
    return b"".join(chunks)


async def send_reply(send: Any, reply: Reply) -> None:
    """Send a finished response."""
    headers = [
        (b"content-type", reply.content_type),
        (b"content-length", b"%d" % len(reply.body)),
        *reply.headers,
    ]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


def _params_of(scope: Any) -> dict[str, str]:
    # The gate routes on the path as it was sent, so an encoded "/" belongs to its parameter.
    params = {
        name: percent_decoded(value.encode("ascii"), name) for name, value in scope["path_params"].items()
    }
    if "world" in params:
        check_world_id(params["world"])
    return params
