"""The typed client: one method a route. What the server refuses is raised; what it answers comes as the host's structs.

`pw` and the tests use it and nothing else. It imports the wire's structs only, so that `pw` starts quickly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, get_args, get_origin
from urllib.parse import quote

import httpx
import msgspec

from engine.host import answers
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


class Client:
    """Talks to one server. `last_body` is the body of the last reply as it came."""

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

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # ---- worlds -------------------------------------------------------------------------------------------

    def worlds(self, *, archived: bool = False) -> list[answers.WorldSummary]:
        query = {"archived": "true"} if archived else {}
        return self._get("/api/worlds", list[answers.WorldSummary], query)

    def create(self, name: str, *, request_id: str | None = None) -> answers.Created:
        return self._send("POST", "/api/worlds", {"name": name}, request_id, answers.Created)

    def world(self, world: str) -> answers.WorldSummary:
        return self._get(_path(world), answers.WorldSummary)

    def change(
        self,
        world: str,
        *,
        name: str | None = None,
        archived: bool | None = None,
        frozen: bool | None = None,
        request_id: str | None = None,
    ) -> answers.WorldSummary:
        body = _given({"name": name, "archived": archived, "frozen": frozen})
        return self._send("PATCH", _path(world), body, request_id, answers.WorldSummary)

    def archive(self, world: str, *, request_id: str | None = None) -> answers.WorldSummary:
        return self._send("DELETE", _path(world), {}, request_id, answers.WorldSummary)

    def purge(
        self, world: str, *, confirm: str, reason: str | None = None, request_id: str | None = None
    ) -> answers.Done:
        body = _given({"confirm": confirm, "reason": reason})
        return self._send("POST", _path(world, "purge"), body, request_id, answers.Done)

    # ---- change -------------------------------------------------------------------------------------------

    def develop(
        self,
        world: str,
        source: str,
        *,
        summary: str = "",
        commonjs: str | None = None,
        request_id: str | None = None,
    ) -> answers.Accepted | answers.Unchanged | answers.Rejected:
        body = _given({"source": source, "summary": summary, "commonjs": commonjs})
        return self._attempt(_path(world, "develop"), body, request_id)

    def rollback(
        self, world: str, revision: int, *, reason: str, force: bool = False, request_id: str | None = None
    ) -> answers.Accepted | answers.Unchanged | answers.Rejected:
        body: dict[str, Any] = {"revision": revision, "reason": reason, "force": force}
        return self._attempt(_path(world, "rollback"), body, request_id)

    # ---- use ----------------------------------------------------------------------------------------------

    def call(
        self, world: str, function: str, args: list[Any], *, request_id: str | None = None
    ) -> answers.CallOk | answers.CallFailed:
        """Raises Missing where there is no such definition."""
        value = self._change("POST", _path(world, "call", function), {"args": args}, request_id)
        return _built(value, answers.CallOk if value["ok"] else answers.CallFailed)

    def execute(
        self, world: str, expression: str, *, request_id: str | None = None
    ) -> answers.PreviewOk | answers.PreviewFailed:
        value = self._change("POST", _path(world, "execute"), {"expression": expression}, request_id)
        return _built(value, answers.PreviewOk if value["ok"] else answers.PreviewFailed)

    def functions(self, world: str) -> list[answers.DefinitionRow]:
        return self._get(_path(world, "functions"), list[answers.DefinitionRow])

    def function(self, world: str, name: str) -> answers.DefinitionRow:
        return self._get(_path(world, "functions", name), answers.DefinitionRow)

    def source(self, world: str) -> dict[str, str]:
        """File name -> text that `develop` takes again."""
        return self._get(_path(world, "source"), dict[str, dict[str, str]])["files"]

    # ---- history ------------------------------------------------------------------------------------------

    def revisions(
        self, world: str, *, limit: int | None = None, before: int | None = None
    ) -> answers.RevisionPage:
        query = _given({"limit": limit, "before": before})
        return self._get(_path(world, "revisions"), answers.RevisionPage, query)

    def revision(self, world: str, n: int) -> answers.RevisionRow:
        return self._get(_path(world, "revisions", str(n)), answers.RevisionRow)

    def rejections(
        self, world: str, *, limit: int | None = None, before: int | None = None
    ) -> answers.RejectionPage:
        query = _given({"limit": limit, "before": before})
        return self._get(_path(world, "rejections"), answers.RejectionPage, query)

    def rejection(self, world: str, n: int) -> answers.RejectionRow:
        return self._get(_path(world, "rejections", str(n)), answers.RejectionRow)

    def incidents(
        self, world: str, *, limit: int | None = None, before: int | None = None
    ) -> answers.IncidentPage:
        query = _given({"limit": limit, "before": before})
        return self._get(_path(world, "incidents"), answers.IncidentPage, query)

    def incident(self, world: str, n: int) -> answers.IncidentRow:
        return self._get(_path(world, "incidents", str(n)), answers.IncidentRow)

    def log(self, world: str, *, after: int | None = None, limit: int | None = None) -> answers.LogPage:
        query = _given({"after": after, "limit": limit})
        return self._get(_path(world, "log"), answers.LogPage, query)

    # ---- data ---------------------------------------------------------------------------------------------

    def data(
        self, world: str, *, prefix: str = "", after: str | None = None, limit: int | None = None
    ) -> answers.DataPage:
        query = _given({"prefix": prefix or None, "after": after, "limit": limit})
        return self._get(_path(world, "data"), answers.DataPage, query)

    def set_data(
        self, world: str, key: str, value: Any, *, reason: str, request_id: str | None = None
    ) -> answers.Done:
        body = {"value": value, "reason": reason}
        return self._send("PUT", _path(world, "data", key), body, request_id, answers.Done)

    def delete_data(
        self, world: str, key: str, *, reason: str, request_id: str | None = None
    ) -> answers.Done:
        return self._send("DELETE", _path(world, "data", key), {"reason": reason}, request_id, answers.Done)

    # ---- operation ----------------------------------------------------------------------------------------

    def health(self) -> answers.Health:
        """Also when the server is not ready: the state says so."""
        return self._decoded(self._request("GET", "/readyz"), answers.Health)

    def version(self) -> answers.Version:
        return self._get("/api/version", answers.Version)

    def gc(self) -> dict[str, Any]:
        """The report; raises ServerError where it failed."""
        return self._upkeep("/api/gc", {})

    def backup(self, directory: str) -> dict[str, Any]:
        """Back up into a directory of the server's machine: the report. Raises ServerError where it failed."""
        return self._upkeep("/api/backup", {"directory": directory})

    # ---- the wire -----------------------------------------------------------------------------------------

    def _get(self, path: str, shape: type[T], query: Mapping[str, Any] | None = None) -> T:
        response = self._request("GET", path, query=query)
        _raise_unless(response, 200)
        return self._decoded(response, shape)

    def _send(
        self, method: str, path: str, body: dict[str, Any], request_id: str | None, shape: type[T]
    ) -> T:
        return _built(self._change(method, path, body, request_id), shape)

    def _attempt(self, path: str, body: dict[str, Any], request_id: str | None) -> Any:
        value = self._change("POST", path, body, request_id)
        shapes: dict[str, Any] = {
            "accepted": answers.Accepted,
            "unchanged": answers.Unchanged,
            "rejected": answers.Rejected,
        }
        return _built(value, shapes[value["status"]])

    def _upkeep(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        value = self._change("POST", path, body, None)
        if not value["ok"]:
            raise ServerError(422, value["error"])
        return value["report"]

    def _change(self, method: str, path: str, body: dict[str, Any], request_id: str | None) -> Any:
        if request_id is not None:
            body = body | {"requestId": request_id}
        response = self._request(method, path, body=canonical_json(body, "body"))
        _raise_unless(response, 200, 201, 422)
        return _parsed(response)

    def _decoded(self, response: httpx.Response, shape: type[T]) -> T:
        return _built(_parsed(response), shape)

    def _request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> httpx.Response:
        parts = [f"{name}={_quoted(str(value))}" for name, value in (query or {}).items()]
        url = path + ("?" + "&".join(parts) if parts else "")
        headers = {"content-type": "application/json"} if body is not None else {}
        try:
            response = self._http.request(method, url, content=body, headers=headers)
        except httpx.TimeoutException:
            raise ClientError(
                f"{self.url} did not answer in time", "it may still do what was asked; the log shows it"
            ) from None
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise Unreachable(
                f"no server answers at {self.url} ({error})",
                "start one with `pw serve`, or name another with --server or PW_SERVER",
            ) from None
        self.last_body = response.content
        return response


def _path(world: str, *segments: str) -> str:
    return "/api/worlds/" + "/".join(_quoted(segment) for segment in (world, *segments))


def _quoted(text: str) -> str:
    # A dot is encoded too: clients resolve the segments "." and "..", which a key may well be.
    return quote(text.encode("utf-8", "surrogatepass"), safe="").replace(".", "%2E")


def _given(fields: dict[str, Any]) -> dict[str, Any]:
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


def _built(value: Any, shape: Any) -> Any:
    """`value` as `shape`, with Raw members as JSON text again: msgspec's own parser refuses lone surrogates."""
    try:
        return _built_as(value, shape)
    except (msgspec.ValidationError, TypeError, AttributeError) as error:
        raise NotAServer(f"the server answered in another shape than this pw knows: {error}") from None


def _built_as(value: Any, shape: Any) -> Any:
    inner = get_args(shape)
    if shape is msgspec.Raw or (msgspec.Raw in inner and value is not None):
        return msgspec.Raw(canonical_json(value))
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
