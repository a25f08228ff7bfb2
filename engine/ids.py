"""Identifiers: what a world, an operation and a request may be called.

Every check raises `BadId` naming the field, so that the door can answer 400 and nothing else happens.
"""

from __future__ import annotations

import re
import unicodedata

from blake3 import blake3

WORLD_ID_CHARS_MAX = 64
WORLD_NAME_CHARS_MAX = 300
CHECK_NAME_CHARS_MAX = 200
REQUEST_ID_CHARS_MAX = 200
PEER_REQUEST_PREFIX = "peer:"
"""Begins the request ids under which worlds call each other; no client may use it."""
_WORLD_ID = re.compile(r"[a-z0-9-]{1,64}\Z")
_DEFINITION_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,127}\Z")


class BadId(ValueError):
    """An identifier that is refused at the door; `field` is the input's name."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


def check_world_id(text: str, field: str = "world") -> str:
    """Return `text` if it is a world id (`[a-z0-9-]`, 1 to 64 characters)."""
    if not isinstance(text, str) or not _WORLD_ID.match(text):
        raise BadId(field, "must be 1 to 64 characters of a-z, 0-9 and '-'")
    return text


def check_world_name(text: str, field: str = "name") -> str:
    """Return `text` if it may name a world: 1 to 300 characters, not blank, no control characters."""
    return _check_text(text, field, WORLD_NAME_CHARS_MAX)


def check_check_name(text: str, field: str = "name") -> str:
    """Return `text` if it may name a check: 1 to 200 characters, not blank, no control characters."""
    return _check_text(text, field, CHECK_NAME_CHARS_MAX)


def check_request_id(text: str, field: str = "requestId") -> str:
    """Return `text` if it is a request id: 1 to 200 characters, not blank, no control characters."""
    _check_text(text, field, REQUEST_ID_CHARS_MAX)
    if text.startswith(PEER_REQUEST_PREFIX):
        raise BadId(field, f"must not begin with {PEER_REQUEST_PREFIX}, which calls between worlds use")
    return text


def is_definition_name(text: str) -> bool:
    """Whether `text` is an ASCII identifier that `define` accepts."""
    return bool(_DEFINITION_NAME.match(text))


def world_id_of(name: str, entropy_hex6: str) -> str:
    """The id of a new world: the normalised name and six hex digits, at most 64 characters."""
    assert re.fullmatch(r"[0-9a-f]{6}", entropy_hex6), "six hex digits of injected entropy"
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_name).strip("-")[: WORLD_ID_CHARS_MAX - 7].strip("-")
    return f"{slug or 'world'}-{entropy_hex6}"


def content_id(content: bytes) -> str:
    """The identity of bytes everywhere in the house: BLAKE3, 64 hex digits."""
    return blake3(content).hexdigest()


def _check_text(text: str, field: str, chars_max: int) -> str:
    if not isinstance(text, str):
        raise BadId(field, "must be text")
    if not text.strip():
        raise BadId(field, "must not be empty or blank")
    if len(text) > chars_max:
        raise BadId(field, f"is {len(text)} characters long; at most {chars_max} are allowed")
    for char in text:
        category = unicodedata.category(char)
        if category == "Cc":
            raise BadId(field, "must not contain control characters")
        if category == "Cs":
            raise BadId(field, "must not contain lone surrogates")
    return text
