"""Text of any kind in msgpack: lone surrogates are not UTF-8, so they are escaped behind one noncharacter.

`MARK` and six hex digits stand for a lone surrogate, or for `MARK` itself; all other text is as it is. Every value has
one encoding only, so equal values give equal bytes.
"""

from __future__ import annotations

import re
from typing import Any

MARK = "\U0010ffff"
MARK_UTF8 = MARK.encode()
_ESCAPABLE = re.compile("[\ud800-\udfff\U0010ffff]")
_ESCAPED = re.compile("\U0010ffff([0-9a-f]{6})")


def escape(text: str) -> str:
    """`text` without lone surrogates; `unescape` inverts it."""
    return _ESCAPABLE.sub(lambda match: f"{MARK}{ord(match[0]):06x}", text)


def unescape(text: str) -> str:
    """Invert `escape`. Raises ValueError for a code past Unicode."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def escape_all(value: Any) -> Any:
    """`escape` for every text in a tree of dicts, lists and scalars."""
    return _map_texts(value, escape)


def unescape_all(value: Any) -> Any:
    """Invert `escape_all`."""
    return _map_texts(value, unescape)


def _map_texts(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_texts(member, change) for key, member in value.items()}
    if isinstance(value, list):
        return [_map_texts(member, change) for member in value]
    return value
