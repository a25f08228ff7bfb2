"""What each field of a record may hold, whoever wrote it: names and texts as the door has them, JSON that is JSON,
numbers that fit. What a record says of other records is judged in `recording_checking`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec

from engine.ids import (
    PEER_REQUEST_PREFIX,
    BadId,
    check_check_name,
    check_request_id,
    check_world_id,
    check_world_name,
    is_definition_name,
)
from engine.limits import (
    ACTOR_CHARS_MAX,
    ARGUMENTS_BYTES_MAX,
    BODY_BYTES_MAX,
    CHECK_INPUT_BYTES_MAX,
    CHECK_INPUTS,
    DATA_KEY_BYTES_MAX,
    DATA_VALUE_BYTES_MAX,
    GOLDEN_NAME_CHARS_MAX,
    NAMES_LISTED_MAX,
    NOTE_CHARS_MAX,
    RESULT_BYTES_MAX,
)
from engine.record import golden_kinds, kind_parts, kinds

FAILURE_KINDS = (
    *("threw", "syntax", "size", "budget", "memory", "pending", "timeout", "conflict", "denied"),
    *("interrupted", "trap"),
)
MISSING = "missing"
REVISION_CAUSES = ("develop", "rollback", "upgrade")
DEFINITION_KINDS = ("function", "class", "library")
ENDINGS = ("answered", "dismissed")
PAGE_ACCESSES = ("private", "link", "public")
LOOKS = ("list", "functions", "call")
_HASH = re.compile(r"[0-9a-f]{64}\Z")
_LINEAGE = re.compile(r"[0-9a-f]{16}\Z")
_INT_END = 2**63
_SEED_END = 2**64


class Wrong(Exception):
    """A field that no record written here has: which, and why."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


Rule = Callable[[Any], None]
"""Raises BadId or ValueError for a value that a field may not hold."""


def check_header(header: kinds.Header) -> None:
    """The fields of a header that the chain says nothing of. Raises Wrong."""
    _apply(_actor, "actor", header.actor)
    if header.flick < 0:
        raise Wrong("flick", "is before 1970")


def check_fields(body: msgspec.Struct, path: str = "") -> None:
    """Each field of a body, and of its parts. Raises Wrong."""
    kind = type(body)
    for name in kind.__struct_fields__:
        field, value = path + name, getattr(body, name)
        if rule := _RULES.get((kind, name)):
            if value is not None:
                _apply(rule, field, value)
        elif name in _RULES_BY_NAME and value is not None:
            _apply(_RULES_BY_NAME[name], field, value)
        if rule := _RULES_BETWEEN.get((kind, name)):
            _apply(rule, field, body)
        _check_value(field, value)


def _check_value(field: str, value: Any) -> None:
    match value:
        case bool():
            return
        case int():
            end = _SEED_END if field.rpartition(".")[2] == "seed" else _INT_END
            if not 0 <= value < end:
                raise Wrong(field, f"is {value}; it must be a whole number from 0 to {end - 1}")
        case list():
            for index, member in enumerate(value):
                _check_value(f"{field}[{index}]", member)
        case msgspec.Struct():
            check_fields(value, f"{field}.")


def _apply(rule: Rule, field: str, value: Any) -> None:
    try:
        rule(value)
    except BadId as error:
        raise Wrong(field, error.reason) from None
    except (ValueError, RecursionError) as error:
        raise Wrong(field, str(error)) from None


# ---- rules


def _refuse(reason: str) -> NoReturn:
    raise ValueError(reason)


def _actor(actor: str) -> None:
    if len(actor) > ACTOR_CHARS_MAX:
        _refuse(f"is {len(actor)} characters long; at most {ACTOR_CHARS_MAX} are allowed")
    check_world_name(actor)


def _request_id(text: str) -> None:
    check_request_id(text.removeprefix(PEER_REQUEST_PREFIX) or text)


def _key(key: str) -> None:
    size_bytes = len(key.encode("utf-8", "surrogatepass"))
    if size_bytes > DATA_KEY_BYTES_MAX:
        _refuse(f"is {size_bytes} bytes long; at most {DATA_KEY_BYTES_MAX} are allowed")


def _definition_name(name: str) -> None:
    if not is_definition_name(name):
        _refuse("must be an ASCII identifier of at most 128 characters")


def _world_id(text: str) -> None:
    check_world_id(text)


def _world_name(text: str) -> None:
    check_world_name(text)


def _check_name(text: str) -> None:
    check_check_name(text)


def _each(rule: Rule, count_max: int = NAMES_LISTED_MAX) -> Rule:
    def check(values: list[Any]) -> None:
        if len(values) > count_max:
            _refuse(f"has {len(values)} members; at most {count_max} are allowed")
        for value in values:
            rule(value)

    return check


def _chars(most: int) -> Rule:
    def check(text: str) -> None:
        if len(text) > most:
            _refuse(f"is {len(text)} characters long; at most {most} are allowed")

    return check


def _source(text: str) -> None:
    size_bytes = len(text.encode("utf-8", "surrogatepass"))
    if size_bytes > BODY_BYTES_MAX:
        _refuse(f"is {size_bytes} bytes long; at most {BODY_BYTES_MAX} are allowed")


def _matches(pattern: re.Pattern[str], what: str) -> Rule:
    def check(text: str) -> None:
        if not pattern.match(text):
            _refuse(f"must be {what}")

    return check


def _one_of(*words: str) -> Rule:
    def check(word: str) -> None:
        if word not in words:
            _refuse(f"must be one of {', '.join(words)}")

    return check


def _json(bytes_max: int, *, may_be_empty: bool = False, is_list: bool = False) -> Rule:
    def check(text: bytes) -> None:
        if may_be_empty and not text:
            return
        if len(text) > bytes_max:
            _refuse(f"is {len(text)} bytes long; at most {bytes_max} are allowed")
        value = _parsed(text)
        if is_list and not isinstance(value, list):
            _refuse("must be a JSON list")

    return check


def _parsed(text: bytes) -> object:
    try:
        return _DECODER.decode(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        _refuse(f"is not UTF-8 at byte {error.start}")
    except RecursionError:
        _refuse("is nested too deep")
    except ValueError as error:
        _refuse(f"is not JSON: {error}")


def _no_number(word: str) -> NoReturn:
    _refuse(f"{word} is no number")


def _answer(answer: kind_parts.PeerAnswer) -> None:
    if answer.ok:
        _RESULT(answer.value)


def _asked(asked: golden_kinds.Asked) -> None:
    if asked.ok:
        _RESULT(asked.value)


def _look(look: kind_parts.Look) -> None:
    if look.what != "call" and look.refused is None:
        _json(_INT_END)(look.answer)


def _ended(one: kinds.Call | kinds.Preview) -> None:
    if (one.value is None) is (one.failure is None):
        _refuse("a call or preview ends with a value or with a failure, and with one of them")
    if isinstance(one, kinds.Call) and one.incident is not None and one.failure is None:
        _refuse("an incident is a failure")


_DECODER = json.JSONDecoder(parse_constant=_no_number)
_HEX = _matches(_HASH, "64 hex digits")
_ARGS = _json(ARGUMENTS_BYTES_MAX, is_list=True)
_ARGS_OR_NONE = _json(ARGUMENTS_BYTES_MAX, is_list=True, may_be_empty=True)
_RESULT = _json(RESULT_BYTES_MAX)
_NOTE = _chars(NOTE_CHARS_MAX)

_RULES: dict[tuple[type, str], Rule] = {
    (kinds.Genesis, "name"): _world_name,
    (kinds.Describe, "name"): _world_name,
    (kinds.Revision, "cause"): _one_of(*REVISION_CAUSES),
    (kinds.Call, "args"): _ARGS,
    (kinds.Call, "value"): _RESULT,
    (kinds.Preview, "args"): _ARGS_OR_NONE,
    (kinds.Preview, "value"): _RESULT,
    (kinds.Interrupted, "args"): _ARGS_OR_NONE,
    (kinds.Admitted, "args"): _ARGS,
    (kinds.IncidentClosed, "how"): _one_of(*ENDINGS),
    (kinds.IncidentClosed, "reason"): _NOTE,
    (kinds.IncidentClosed, "value"): _RESULT,
    (kinds.CheckEnrolled, "name"): _check_name,
    (kinds.CheckEnrolled, "inputs"): _each(_json(CHECK_INPUT_BYTES_MAX), CHECK_INPUTS),
    (kinds.CheckRemoved, "name"): _check_name,
    (kinds.CheckRemoved, "reason"): _NOTE,
    (kinds.Rejection, "input"): _json(CHECK_INPUT_BYTES_MAX),
    (kinds.Granted, "worlds"): _each(_world_id),
    (kinds.PageSet, "access"): _one_of(*PAGE_ACCESSES),
    (kinds.PageSet, "functions"): _each(_definition_name),
    (kinds.PageSet, "link_hash"): _HEX,
    (kinds.DataEdit, "reason"): _NOTE,
    (kinds.DataRestored, "reason"): _NOTE,
    (kinds.DataRestored, "prefix"): _key,
    (kinds.Imported, "head"): _HEX,
    (kinds.Imported, "lineage"): _matches(_LINEAGE, "16 hex digits"),
    (kinds.GoldenPinned, "name"): _chars(GOLDEN_NAME_CHARS_MAX),
    (kinds.GoldenPinned, "args"): _ARGS,
    (kinds.GoldenPinned, "reason"): _NOTE,
    (kinds.GoldenUnpinned, "reason"): _NOTE,
    (kinds.Held, "cause"): _one_of(*REVISION_CAUSES),
    (kinds.HeldRejected, "reason"): _NOTE,
    (kinds.Checkpoint, "data_digest"): _HEX,
    (golden_kinds.Blessed, "reason"): _NOTE,
    (golden_kinds.Outcome, "value"): _RESULT,
    (golden_kinds.Outcome, "large"): _HEX,
    (golden_kinds.Asked, "args"): _ARGS,
    (golden_kinds.Difference, "args"): _ARGS_OR_NONE,
    (kind_parts.Write, "key"): _key,
    (kind_parts.Write, "value"): _json(DATA_VALUE_BYTES_MAX),
    (kind_parts.Request, "id"): _request_id,
    (kind_parts.Request, "hash"): _HEX,
    (kind_parts.Failure, "kind"): _one_of(*FAILURE_KINDS, MISSING),
    (kind_parts.Definition, "name"): _definition_name,
    (kind_parts.Definition, "kind"): _one_of(*DEFINITION_KINDS),
    (kind_parts.Look, "what"): _one_of(*LOOKS),
    (kind_parts.Look, "refused"): _one_of(*FAILURE_KINDS),
    (kind_parts.PeerAnswer, "kind"): _one_of("", *FAILURE_KINDS),
    (kind_parts.Origin, "world"): _world_id,
    (kind_parts.Origin, "hash"): _HEX,
}
_RULES_BY_NAME: dict[str, Rule] = {
    "summary": _NOTE,
    "source": _source,
    "root": _HEX,
    "blob": _HEX,
    "path": _each(_world_id),
}
"""Fields that mean the same in every kind that has them."""
_RULES_BETWEEN: dict[tuple[type, str], Rule] = {
    (kinds.Call, "failure"): _ended,
    (kinds.Preview, "failure"): _ended,
    (kind_parts.PeerAnswer, "value"): _answer,
    (golden_kinds.Asked, "value"): _asked,
    (kind_parts.Look, "answer"): _look,
}
"""Fields that depend on others: told at this one."""
