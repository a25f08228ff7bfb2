"""What a world's `app` may answer with: a page. Any other result of it is a failure of the call.

`app` is the one definition with a meaning of its own: whoever calls it, its result is text (HTML), or an object of
`status`, `headers` and `body`. So a bad one is an incident like any other, may be retried, and replays the same.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass, replace
from typing import Any

from engine import limits
from engine.logic import CallOutcome
from engine.logic.jobs import Failure

PAGE_FUNCTION = "app"
HTML = "text/html; charset=utf-8"
HEADERS_ALLOWED = (
    "allow",
    "cache-control",
    "content-disposition",
    "content-language",
    "content-type",
    "etag",
    "last-modified",
    "location",
    "retry-after",
    "vary",
    "x-robots-tag",
)
_VISIBLE = re.compile(r"[\x20-\x7e]*\Z")
_SHAPE = "return HTML as text, or {status, headers, body} where body is text or {base64: text}"


@dataclass(frozen=True, slots=True)
class PageResult:
    """`headers` have lower-case names, `content-type` among them where there is a body."""

    status: int
    headers: dict[str, str]
    body: bytes


class NotAPage(ValueError):
    """The result is no page; the text says why, as an error line of the world's."""


def page_of(value: bytes) -> PageResult:
    """The page that the JSON text `value` is. Raises NotAPage."""
    try:
        result = json.loads(value)
    except RecursionError:
        raise NotAPage("app returned a value that is nested too deeply") from None
    if isinstance(result, str):
        return PageResult(200, {"content-type": HTML}, _utf8(result))
    if not isinstance(result, dict):
        raise NotAPage(f"app returned {_said(result)}")
    unknown = sorted(set(result) - {"status", "headers", "body"})
    if unknown or not result:
        raise NotAPage(
            f"app returned an object with {f'the member {unknown[0]!a}' if unknown else 'no members'}"
        )
    status = _status(result.get("status", 200))
    headers = _headers(result.get("headers"))
    body = _body(result.get("body"))
    if body and status in (204, 304):
        raise NotAPage(f"app returned a body with status {status}, which has none")
    if body or "body" in result:
        headers.setdefault("content-type", HTML)
    return PageResult(status, headers, body)


def judged(outcome: CallOutcome) -> CallOutcome:
    """The outcome of a call of `app`: a failure where its result is no page."""
    if not outcome.ok:
        return outcome
    assert outcome.value is not None, "what succeeded has a value"
    try:
        page_of(outcome.value)
    except NotAPage as error:
        failure = Failure(kind="threw", error=f"TypeError: {error}", hint=_SHAPE)
        return replace(outcome, ok=False, value=None, writes=(), failure=failure)
    return outcome


def _status(status: Any) -> int:
    if isinstance(status, bool) or not isinstance(status, int) or not 200 <= status <= 599:
        raise NotAPage("app returned a status that is no whole number from 200 to 599")
    return status


def _headers(headers: Any) -> dict[str, str]:
    if headers is None:
        return {}
    if not isinstance(headers, dict):
        raise NotAPage(f"app returned as headers {_said(headers)}")
    read: dict[str, str] = {}
    for name, value in headers.items():
        if name.lower() not in HEADERS_ALLOWED:
            raise NotAPage(
                f"app may not set the header {name[:100]!a}; it may set {', '.join(HEADERS_ALLOWED)}"
            )
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(text, str) or not _VISIBLE.match(text) or len(text) > limits.PAGE_HEADER_CHARS_MAX:
            raise NotAPage(
                f"app returned a header {name.lower()} that is not at most {limits.PAGE_HEADER_CHARS_MAX} "
                "visible ASCII characters"
            )
        if name.lower() in read:
            raise NotAPage(f"app returned the header {name.lower()} twice")
        read[name.lower()] = text
    return read


def _body(body: Any) -> bytes:
    if body is None:
        return b""
    if isinstance(body, str):
        return _utf8(body)
    if isinstance(body, dict) and list(body) == ["base64"] and isinstance(body["base64"], str):
        try:
            return base64.b64decode(body["base64"], validate=True)
        except (binascii.Error, ValueError):
            raise NotAPage("app returned a body whose base64 is none") from None
    raise NotAPage(f"app returned as body {_said(body)}")


def _utf8(text: str) -> bytes:
    """Lone surrogates become U+FFFD, as in every browser."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode("utf-8")


def _said(value: Any) -> str:
    names = {str: "text", list: "an array", dict: "an object", bool: str(value).lower(), type(None): "null"}
    return names.get(type(value), "a number")
