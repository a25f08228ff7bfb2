"""What the typed client says and hears: requests as bytes, replies as the host's structs, refusals as exceptions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Self, TypeVar, get_args, get_origin
from urllib.parse import quote

import httpx
import msgspec

from engine.serve.reading import canonical_json

T = TypeVar("T")


class ClientError(Exception):
    """The request came to nothing; `hint` says what to do."""

    def __init__(self, error: str, hint: str | None = None) -> None:
        super().__init__(error)
        self.error = error
        self.hint = hint


class Unreachable(ClientError):
    """No server answers at that address."""


class NotAServer(ClientError):
    """Something answers there, and it is no Flickworld server of this version."""


class ServerError(ClientError):
    """The server said no. `status` is HTTP's."""

    def __init__(self, status: int, error: str, hint: str | None = None) -> None:
        super().__init__(error, hint)
        self.status = status


class Invalid(ServerError):
    """400, 408, 413: what was sent is wrong; the text names the field."""


class Unauthorized(ServerError):
    """401, 403: no token, a wrong one, or another origin."""


class Missing(ServerError):
    """404: no such world, definition, revision ..."""


class RefusedError(ServerError):
    """The world or the server does not take this now: `code` says which of answers.Refused it is."""

    def __init__(self, status: int, error: str, hint: str | None, code: str) -> None:
        super().__init__(status, error, hint)
        self.code = code


_BY_STATUS: dict[int, type[ServerError]] = {
    400: Invalid,
    408: Invalid,
    413: Invalid,
    401: Unauthorized,
    403: Unauthorized,
    404: Missing,
}


class Wire:
    """A connection to one server. `last_body` is the body of the last reply as it came."""

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        timeout_s: float = 120.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self.url = url.rstrip("/")
        self.last_body = b""
        self._http = httpx.Client(
            base_url=self.url, headers=headers, timeout=timeout_s, transport=transport, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def _get(
        self,
        path: str,
        shape: type[T],
        query: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> T:
        response = self._request("GET", path, query=query, timeout_s=timeout_s)
        _raise_unless(response, 200)
        return self._decoded(response, shape)

    def _send(
        self, method: str, path: str, body: dict[str, Any], request_id: str | None, shape: type[T]
    ) -> T:
        return built(self._change(method, path, body, request_id), shape)

    def _change(
        self,
        method: str,
        path: str,
        body: dict[str, Any],
        request_id: str | None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        if request_id is not None:
            body = body | {"requestId": request_id}
        response = self._request(method, path, body=canonical_json(body, "body"), headers=headers)
        _raise_unless(response, 200, 201, 202, 422)
        return _parsed(response)

    def _decoded(self, response: httpx.Response, shape: type[T]) -> T:
        return built(_parsed(response), shape)

    def _request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> httpx.Response:
        sent = {"content-type": "application/json"} if body is not None else {}
        with self._speaking():
            response = self._http.request(
                method,
                _url_of(path, query),
                content=body,
                headers=sent | dict(headers or {}),
                timeout=self._http.timeout if timeout_s is None else timeout_s,
            )
        self.last_body = response.content
        return response

    def _pieces(self, path: str, query: Mapping[str, Any]) -> Iterator[bytes]:
        """The body of a GET as it comes. Raises ClientError, also where it ends before its end."""
        with self._speaking(), self._http.stream("GET", _url_of(path, query)) as response:
            if response.status_code != 200:
                response.read()
                _raise_unless(response, 200)
            yield from response.iter_bytes()

    def _upload(
        self, path: str, pieces: Iterator[bytes], query: Mapping[str, Any], *, timeout_s: float
    ) -> Any:
        """POST a body that is as long as it is; the parsed reply."""
        sent = {"content-type": "application/octet-stream"}
        with self._speaking():
            response = self._http.post(_url_of(path, query), content=pieces, headers=sent, timeout=timeout_s)
        self.last_body = response.content
        _raise_unless(response, 200, 201)
        return _parsed(response)

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """What goes wrong on the way, as a ClientError."""
        try:
            yield
        except httpx.TimeoutException:
            raise ClientError(
                f"{self.url} did not answer in time", "it may still do what was asked; the log shows it"
            ) from None
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise Unreachable(
                f"no server answers at {self.url} ({error})",
                "start one with `pw serve`, or name another with --server or PW_SERVER",
            ) from None


def _url_of(path: str, query: Mapping[str, Any] | None) -> str:
    parts = [f"{name}={quoted(str(value))}" for name, value in (query or {}).items()]
    return path + ("?" + "&".join(parts) if parts else "")


def path_of(world: str, *segments: str) -> str:
    return "/api/worlds/" + "/".join(quoted(segment) for segment in (world, *segments))


def quoted(text: str) -> str:
    # A dot is encoded too: clients resolve the segments "." and "..", which a key may well be.
    return quote(text.encode("utf-8", "surrogatepass"), safe="").replace(".", "%2E")


def given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _raise_unless(response: httpx.Response, *statuses: int) -> None:
    if response.status_code in statuses:
        return
    value = _parsed(response)
    if not isinstance(value, dict) or not isinstance(value.get("error"), str):
        raise NotAServer(f"{response.url} answered {response.status_code} with no error that pw knows")
    status, error, hint = response.status_code, value["error"], value.get("hint")
    if "refused" in value:
        raise RefusedError(status, error, hint, value["refused"])
    raise _BY_STATUS.get(status, ServerError)(status, error, hint)


def _parsed(response: httpx.Response) -> Any:
    try:
        return json.loads(response.content)
    except ValueError:
        raise NotAServer(
            f"what answers at {response.url} is no Flickworld server", "check --server or PW_SERVER"
        ) from None


def built(value: Any, shape: Any) -> Any:
    """`value` as `shape`, with Raw members as JSON text again: msgspec's own parser refuses lone surrogates."""
    try:
        return _built_as(value, shape)
    except (msgspec.ValidationError, TypeError, AttributeError) as error:
        raise NotAServer(f"the server answered in another shape than this pw knows: {error}") from None


def _built_as(value: Any, shape: Any) -> Any:
    inner = get_args(shape)
    if shape is msgspec.Raw or (msgspec.Raw in inner and value is not None):
        return msgspec.Raw(canonical_json(value))
    if type(None) in inner and value is not None and len(inner) == 2:
        return _built_as(value, next(of_type for of_type in inner if of_type is not type(None)))
    if get_origin(shape) is list:
        return [_built_as(member, inner[0]) for member in value]
    if isinstance(shape, type) and issubclass(shape, msgspec.Struct):
        members = {
            name: _built_as(value[encoded], of_type)
            for name, encoded, of_type in _fields_of(shape)
            if encoded in value
        }
        return shape(**members)
    return msgspec.convert(value, shape)


@cache
def _fields_of(struct: type[msgspec.Struct]) -> list[tuple[str, str, Any]]:
    return [(field.name, field.encode_name, field.type) for field in msgspec.structs.fields(struct)]
