"""Structs as canonical bytes: msgpack, fields in their order, defaults left out; equal values give equal
bytes.

Lone surrogates are not UTF-8, so they are escaped behind one noncharacter: `MARK` and six hex digits stand
for a lone surrogate, or for `MARK` itself. All other text is as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)

MARK = "\U0010ffff"
_MARK_UTF8 = MARK.encode()
_ESCAPABLE = re.compile("[\ud800-\udfff\U0010ffff]")
_ESCAPED = re.compile("\U0010ffff([0-9a-f]{6})")
_encoder = msgspec.msgpack.Encoder()


class NotCanonical(ValueError):
    """Bytes that are no value of that kind, or not in the one form that such a value has."""


def to_bytes(value: msgspec.Struct) -> bytes:
    """The canonical bytes of a struct."""
    try:
        encoded = _encoder.encode(value)
    except UnicodeEncodeError:
        return _encode_escaped(value)
    return _encode_escaped(value) if _MARK_UTF8 in encoded else encoded


def from_bytes(kind: type[S], encoded: bytes) -> S:
    """Invert `to_bytes`. Raises NotCanonical."""
    try:
        if _MARK_UTF8 in encoded:
            tree = _map_texts(msgspec.msgpack.decode(encoded), unescape)
            value = msgspec.convert(tree, kind, builtin_types=(bytes,))
        else:
            value = _decoder(kind).decode(encoded)
    except (msgspec.DecodeError, ValueError) as error:
        raise NotCanonical(str(error)) from None
    if to_bytes(value) != encoded:
        raise NotCanonical("not in canonical form")
    return value


def escape(text: str) -> str:
    """`text` without lone surrogates; `unescape` inverts it."""
    return _ESCAPABLE.sub(lambda match: f"{MARK}{ord(match[0]):06x}", text)


def unescape(text: str) -> str:
    """Invert `escape`. Raises ValueError for a code past Unicode."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


@lru_cache(maxsize=64)
def _decoder(kind: type[S]) -> msgspec.msgpack.Decoder[S]:
    return msgspec.msgpack.Decoder(kind)


def _encode_escaped(value: msgspec.Struct) -> bytes:
    return _encoder.encode(_map_texts(msgspec.to_builtins(value, builtin_types=(bytes,)), escape))


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_texts(member, change) for key, member in value.items()}
    if isinstance(value, list):
        return [_map_texts(member, change) for member in value]
    return value
