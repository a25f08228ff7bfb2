"""What differs between two records, or two JSON values: a path into them, what was expected and what is there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from engine.limits import DIFFERENCE_CHARS_MAX, DIFFERENCES_MAX
from engine.record.canonical import escape
from engine.record.kinds import Body, Header
from engine.record.records import kind_of

ABSENT = "nothing"
"""How a value that is not there is written; no JSON text is equal to it."""
_CHARS_BEFORE = 40
_WRITES = ("writes", "undone", "overlay")
_ONE_WRITE = "write"
_DEFINITIONS = "definitions"
_Tree = Any


class Difference(msgspec.Struct, frozen=True):
    """One place where two values differ: `path` leads there, the texts are JSON, cut where they are long."""

    path: str
    expected: str
    actual: str


def differences(expected: Body, actual: Body) -> list[Difference]:
    """Where a record's body is another than the one that was expected; empty where they are equal.

    At most DIFFERENCES_MAX. JSON texts are compared as the values that they are, unless only their texts differ.
    """
    if type(expected) is not type(actual):
        return [Difference("kind", kind_of(expected), kind_of(actual))]
    if expected == actual:
        return []
    trees = [msgspec.to_builtins(body, builtin_types=(bytes,)) for body in (expected, actual)]
    found = list(islice(_in_trees("", *trees, of_record=True), DIFFERENCES_MAX))
    assert found, "what is not equal differs somewhere"
    return found


def header_differences(expected: Header, actual: Header) -> list[Difference]:
    """Where a header is another than the one that was expected."""
    names = Header.__struct_fields__
    pairs = ((name, getattr(expected, name), getattr(actual, name)) for name in names)
    return [Difference(name, *_shown(a, b)) for name, a, b in pairs if a != b]


def json_differences(path: str, expected: bytes, actual: bytes) -> list[Difference]:
    """Where two JSON texts differ, below `path`; at most DIFFERENCES_MAX."""
    return list(islice(_in_texts(path, expected, actual), DIFFERENCES_MAX))


def one_line(difference: Difference) -> str:
    """`value.items[3].price: 5 -> 6`"""
    return f"{difference.path}: {difference.expected} -> {difference.actual}"


def _in_trees(path: str, expected: _Tree, actual: _Tree, *, of_record: bool = False) -> Iterator[Difference]:
    """`of_record`: the members are those of a record, and not of a value that somebody chose."""
    if expected == actual and type(expected) is type(actual):
        return
    if isinstance(expected, bytes) and isinstance(actual, bytes):
        yield from _in_texts(path, expected, actual)
    elif isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for name in dict.fromkeys([*expected, *actual]):
            inner = _below(path, name)
            if name in expected and name in actual:
                field = name if of_record else ""
                yield from _in_members(field, inner, expected[name], actual[name])
            else:
                yield Difference(inner, *_shown_where_there(name, expected, actual))
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from _in_lists(path, expected, actual)
    else:
        yield Difference(path or "value", *_shown(expected, actual))


def _in_members(field: str, path: str, expected: _Tree, actual: _Tree) -> Iterator[Difference]:
    before, after = _by_key(field, expected), _by_key(field, actual)
    if before is None or after is None or expected == actual:
        yield from _in_trees(path, expected, actual)
        return
    for key in dict.fromkeys([*before, *after]):
        inner = f"{path}[{json.dumps(key, ensure_ascii=False)}]"
        if key in before and key in after:
            yield from _in_trees(inner, before[key], after[key])
        else:
            yield Difference(inner, *_shown_where_there(key, before, after))
    if before == after:
        yield Difference(f"{path}, their order", *_shown(list(before), list(after)))


def _by_key(field: str, members: _Tree) -> dict[str, _Tree] | None:
    """Writes by their keys, definitions by their names; None for other fields, and where a key comes twice."""
    if field == _ONE_WRITE:
        return dict(zip(("key", "value"), members, strict=True))
    if field in _WRITES:
        keyed = {member[0]: member[1] for member in members}
    elif field == _DEFINITIONS:
        keyed = {member["name"]: member for member in members}
    else:
        return None
    return keyed if len(keyed) == len(members) else None


def _in_lists(path: str, expected: list[_Tree], actual: list[_Tree]) -> Iterator[Difference]:
    for n in range(max(len(expected), len(actual))):
        inner = f"{path}[{n}]"
        if n < len(expected) and n < len(actual):
            yield from _in_trees(inner, expected[n], actual[n])
        elif n < len(expected):
            yield Difference(inner, _text(expected[n]), ABSENT)
        else:
            yield Difference(inner, ABSENT, _text(actual[n]))


def _in_texts(path: str, expected: bytes, actual: bytes) -> Iterator[Difference]:
    """As JSON, if both are; if that is equal, as they are written."""
    try:
        before, after = json.loads(expected), json.loads(actual)
    except (ValueError, RecursionError):
        before = after = None
    found = False
    if before is not None or after is not None:
        for difference in _in_trees(path, before, after):
            found = True
            yield difference
    if not found and expected != actual:
        yield Difference(path or "value", *_shown(expected, actual))


def _below(path: str, name: str) -> str:
    step = name if name.isidentifier() else f"[{json.dumps(name, ensure_ascii=False)}]"
    return step if not path else f"{path}.{step}" if name.isidentifier() else path + step


def _shown_where_there(
    key: str, expected: Mapping[str, _Tree], actual: Mapping[str, _Tree]
) -> tuple[str, str]:
    return (
        _text(expected[key]) if key in expected else ABSENT,
        _text(actual[key]) if key in actual else ABSENT,
    )


def _shown(expected: _Tree, actual: _Tree) -> tuple[str, str]:
    """Both as texts, from a little before where they begin to differ."""
    before, after = _text(expected, cut=False), _text(actual, cut=False)
    if max(len(before), len(after)) <= DIFFERENCE_CHARS_MAX:
        return before, after
    alike = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    start = max(0, alike - _CHARS_BEFORE)
    return _cut(before, start), _cut(after, start)


def _text(tree: _Tree, *, cut: bool = True) -> str:
    if isinstance(tree, bytes):
        text = tree.decode("utf-8", "backslashreplace")
    else:
        text = json.dumps(tree, ensure_ascii=False, default=_text)
    text = escape(text)
    return _cut(text, 0) if cut else text


def _cut(text: str, start: int) -> str:
    shown = text[start : start + DIFFERENCE_CHARS_MAX]
    return ("…" if start else "") + shown + ("…" if start + DIFFERENCE_CHARS_MAX < len(text) else "")
