"""The pages origin as an ASGI application: views of pages, and the calls that pages make."""

from __future__ import annotations

import ipaddress
import re
from typing import Any
from urllib.parse import urlsplit

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from engine import limits
from engine.host import LiveHost, NotThere, answers
from engine.host.page_results import PAGE_FUNCTION, page_of
from engine.hub import messages as hub
from engine.ids import is_definition_name
from engine.serve import inputs
from engine.serve.answering import Headers, Reply, failed, reply_to
from engine.serve.endpoint import read_body, send_reply
from engine.serve.gate import LOOPBACK_NAMES, host_name
from engine.serve.pages import showing
from engine.serve.pages.access import OPERATOR, Keys
from engine.serve.pages.asking import Address, address_of, app_arguments
from engine.serve.pages.policy import page_headers
from engine.serve.reading import BadInput, canonical_json, percent_decoded, read_input

ACTOR = "page"
VIEW_METHODS = ("GET", "HEAD", "POST")
VIEW_ROUTE, CALL_ROUTE = "/w/{world}", "/call/{world}/{function}"
NULL_ORIGIN = (b"access-control-allow-origin", b"null")
SOON = ((b"retry-after", b"10"),)
_HOST = re.compile(rb"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")


class Site:
    """`url` is where visitors find the pages, when that is not where this server listens: behind a proxy."""

    def __init__(self, host: LiveHost, *, keys: Keys, hosts: frozenset[str], url: str | None = None) -> None:
        self._host = host
        self._keys = keys
        self._url = url.rstrip("/") if url else None
        self._hosts = LOOPBACK_NAMES | hosts
        if self._url:
            self._hosts |= {urlsplit(self._url).hostname or ""}
        self._rates = Rates(
            views=limits.PAGE_VIEWS_A_MINUTE_MAX,
            calls=limits.PAGE_CALLS_A_MINUTE_MAX,
            visitor_calls=limits.PAGE_VISITOR_CALLS_A_MINUTE_MAX,
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        asked = _Asked(scope)
        host = asked.header(b"host")
        name = host_name(host)
        if not _HOST.fullmatch(host) or name is None or not (name in self._hosts or _is_ip_address(name)):
            reply = showing.message(
                403,
                "Not here",
                "This server has another name; its operator allows one with --allow-host NAME.",
            )
        elif asked.path.startswith("/call/"):
            scope["flickworld.route"] = CALL_ROUTE
            reply = _plus(await self._called(asked, receive), (NULL_ORIGIN, (b"vary", b"origin")))
        else:
            scope["flickworld.route"] = VIEW_ROUTE
            reply = await self._viewed(asked, receive)
        await send_reply(send, reply)

    def _origin(self, asked: _Asked) -> str:
        return self._url or f"{asked.scope['scheme']}://{asked.header(b'host').decode('latin-1').lower()}"

    def _visitor(self, asked: _Asked) -> str:
        """The address that a rate is kept for. A proxy in front names it last; anybody could name it first."""
        client = (asked.scope.get("client") or ("",))[0]
        forwarded = asked.header(b"x-forwarded-for").decode("latin-1").rpartition(",")[2].strip()
        return forwarded[:64] if self._url and forwarded else client

    # ---- views --------------------------------------------------------------------------------------------

    async def _viewed(self, asked: _Asked, receive: Any) -> Reply:
        address = address_of(asked.path)
        if address is None:
            return showing.nowhere()
        # Also an error is under a world's address: nothing there is without the policy.
        policy = page_headers(self._origin(asked), address.world)
        try:
            return _plus(await self._view(address, asked, receive), policy)
        except BadInput as error:
            return _plus(showing.message(error.status, "Not understood", error.error), policy)
        except NotThere:
            return _plus(showing.nowhere(), policy)

    async def _view(self, address: Address, asked: _Asked, receive: Any) -> Reply:
        access = self._host.page(address.world)
        way = self._keys.way_in(address.world, address.key, access)
        if way is None:
            return showing.nowhere()
        if asked.method not in VIEW_METHODS:
            allow = ((b"allow", ", ".join(VIEW_METHODS).encode()),)
            return showing.message(
                405, "Not understood", f"A page has no method {asked.method}.", headers=allow
            )
        if not _is_of_pages(asked, self._origin(asked)):
            return showing.message(403, "Not from here", "Another site may not send forms to this page.")
        if not self._rates.view(self._visitor(asked), address.world):
            return showing.message(429, "Too often", "Wait a little, then load it again.", headers=SOON)
        if not address.path:
            return _to_its_root(address, asked.scope["query_string"])
        body = await read_body(asked.scope, receive) if asked.method == "POST" else b""
        args = app_arguments(address, asked.method, asked.scope["query_string"], asked.scope["headers"], body)
        operation = hub.Call(PAGE_FUNCTION, canonical_json(args, "request"))
        answer = await self._host.perform(address.world, operation, actor=ACTOR)
        return self._answered(answer, address, asked, way, is_open=access.access != "private")

    def _answered(self, answer: Any, address: Address, asked: _Asked, way: str, *, is_open: bool) -> Reply:
        match answer:
            case answers.CallOk():
                token = self._keys.make_token(address.world, way)
                origin = self._origin(asked)
                page = page_of(bytes(answer.value))
                try:
                    return showing.shown(
                        page, address=address, origin=origin, world_token=token, is_open=is_open
                    )
                except showing.LeadsAway as error:
                    return showing.failed_view(str(error), None, for_operator=way == OPERATOR)
            case answers.CallFailed():
                return showing.failed_view(answer.error, answer.incident, for_operator=way == OPERATOR)
            case answers.Refused():
                return showing.refused_view(answer)
            case answers.Missing():
                return showing.message(404, showing.NOWHERE, "This world defines no app.")
        raise AssertionError(f"a call is not answered with {type(answer).__name__}")

    # ---- calls --------------------------------------------------------------------------------------------

    async def _called(self, asked: _Asked, receive: Any) -> Reply:
        if asked.method != "POST":
            return failed(405, f"{asked.method} is not a method of this", headers=((b"allow", b"POST"),))
        if not _is_of_pages(asked, self._origin(asked)):
            return failed(403, "another site may not call this", "the page's own script calls it")
        try:
            return await self._call(asked, receive)
        except BadInput as error:
            return failed(error.status, error.error, error.hint)
        except NotThere:
            return _no_token()

    async def _call(self, asked: _Asked, receive: Any) -> Reply:
        world, _, function = asked.path.removeprefix("/call/").partition("/")
        function = percent_decoded(function.encode("ascii"), "function")
        if not self._rates.visitor_call(self._visitor(asked), world[:64]):
            return _slower()
        body = read_input(await read_body(asked.scope, receive), inputs.PageCall)
        access = self._host.page(world)
        if not self._keys.admits(world, body.token, access):
            return _no_token()
        if not self._rates.call(body.token):
            return _slower()
        if function not in access.functions or not is_definition_name(function):
            return failed(
                403,
                f"this page may not call {function[:128]}",
                f"its operator allows it: pw page {world} --function {function[:128]}",
            )
        operation = hub.Call(function, canonical_json(body.args, "args"))
        answer = await self._host.perform(world, operation, actor=ACTOR)
        return reply_to(_for_a_page(answer))


class Rates:
    """How often is too often, a minute. Each method counts one and says whether it may be."""

    def __init__(self, *, views: int, calls: int, visitor_calls: int) -> None:
        self._kept = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._views = RateLimitItemPerMinute(views)
        self._calls = RateLimitItemPerMinute(calls)
        self._visitor_calls = RateLimitItemPerMinute(visitor_calls)

    def view(self, visitor: str, world: str) -> bool:
        return self._kept.hit(self._views, "view", visitor, world)

    def call(self, token: str) -> bool:
        return self._kept.hit(self._calls, "page", token)

    def visitor_call(self, visitor: str, world: str) -> bool:
        return self._kept.hit(self._visitor_calls, "call", visitor, world)


class _Asked:
    """One request's head."""

    __slots__ = ("method", "path", "scope")

    def __init__(self, scope: Any) -> None:
        self.scope = scope
        self.method: str = scope["method"]
        self.path: str = scope["raw_path"].decode("ascii")

    def header(self, wanted: bytes) -> bytes:
        return next((value for name, value in self.scope["headers"] if name == wanted), b"")


def _plus(reply: Reply, headers: Headers) -> Reply:
    return Reply(reply.status, reply.body, reply.content_type, reply.headers + headers)


def _is_of_pages(asked: _Asked, origin: str) -> bool:
    """Whether an unsafe request comes from a page of here, whose origin is null, or from no browser."""
    sent = asked.header(b"origin").decode("latin-1").lower()
    return asked.method in ("GET", "HEAD") or sent in ("", "null", origin.lower())


def _to_its_root(address: Address, query: bytes) -> Reply:
    location = address.base.encode() + b"/" + (b"?" + query if query else b"")
    return Reply(307, b"", showing.HTML.encode(), ((b"location", location),))


def _for_a_page(answer: Any) -> Any:
    """What a visitor may know of it: no stack and no logs of the world."""
    match answer:
        case answers.CallOk():
            return {"ok": True, "value": answer.value}
        case answers.CallFailed():
            error = answer.error.partition("\n")[0]
            return answers.CallFailed(False, answer.failure, error, [], answer.hint, answer.incident)
    return answer


def _no_token() -> Reply:
    return failed(403, "this page's token is not valid any more", "load the page again")


def _slower() -> Reply:
    return failed(429, "this page calls too often", "wait a little, then call again", headers=SOON)


def _is_ip_address(name: str) -> bool:
    """A page may be visited by address, from a phone say: no foreign name can be made to lead to an address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
