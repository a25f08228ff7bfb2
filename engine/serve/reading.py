"""Reading what came in: bytes to strict structs, or BadInput that names the field. Nothing is guessed or repaired.

JSON goes through Python's own parser because values may hold lone surrogates, which msgspec does not take; msgspec
then checks the shape. Names that occur twice in an object are refused: two readers would disagree about them.
"""

from __future__ import annotations

import codecs
import functools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeVar, get_args, get_origin
from urllib.parse import unquote_to_bytes

import msgspec

from engine import limits
from engine.ids import BadId
from engine.serve.inputs import Input


class BadInput(Exception):
    """What was sent is refused with `status` (4xx); the text says which field and why."""

    def __init__(self, error: str, *, status: int = 400, hint: str | None = None) -> None:
        super().__init__(error)
        self.error = error
        self.status = status
        self.hint = hint


AnyInput = TypeVar("AnyInput", bound=Input)

# ---- JSON -------------------------------------------------------------------------------------------------


def parse_json(text: bytes, field: str = "body") -> Any:
    """The value of JSON text. Raises BadInput for anything that is not exactly one JSON value in UTF-8."""
    if _is_too_deep(text):
        raise BadInput(f"{field}: is nested more than {_LEVELS_MAX} levels deep")
    try:
        return _DECODER.decode(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadInput(f"{field}: is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise BadInput(f"{field}: is not JSON: {error.msg} at character {error.pos}") from None
    except _NotStrict as error:
        raise BadInput(f"{field}: {error}") from None
    except ValueError:  # Python's own bound on the digits of an int
        raise BadInput(f"{field}: holds a number of thousands of digits") from None


def canonical_json(value: Any, field: str = "value") -> bytes:
    """JSON text of a parsed value: no spaces, UTF-8, lone surrogates escaped as JSON.stringify does."""
    try:
        return _ENCODER.encode(value).encode("utf-8", "json-escape")
    except ValueError:
        raise BadInput(f"{field}: holds a number beyond the range of a double") from None


def _is_too_deep(text: bytes) -> bool:
    """Counts brackets outside strings: the same wherever it runs, unlike the depth of an interpreter's stack."""
    if text.count(b"[") + text.count(b"{") <= _LEVELS_MAX:
        return False
    depth = 0
    for bracket in _BRACKETS.finditer(text):
        kind = bracket.group()
        if kind in (b"[", b"{"):
            depth += 1
            if depth > _LEVELS_MAX:
                return True
        elif kind in (b"]", b"}"):
            depth -= 1
    return False


class _NotStrict(ValueError):
    """Python's parser would take it; this door does not."""


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _NotStrict(f"has the name {json.dumps(twice)} twice in one object")
    return value


def _refuse_constant(name: str) -> None:
    raise _NotStrict(f"holds {name}, which is not JSON")


def _escape_surrogates(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError), "only for encoding"
    return "".join(f"\\u{ord(char):04x}" for char in error.object[error.start : error.end]), error.end


_LEVELS_MAX = limits.NESTED_MAX + 8  # a request's own levels around a value that may be as deep as any
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
codecs.register_error("json-escape", _escape_surrogates)
_DECODER = json.JSONDecoder(object_pairs_hook=_object_of, parse_constant=_refuse_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))

# ---- bodies, queries, path segments -----------------------------------------------------------------------


def read_input(text: bytes, shape: type[AnyInput]) -> AnyInput:
    """A body as its struct. An empty body is an empty object."""
    value = parse_json(text) if text else {}
    if not isinstance(value, dict):
        raise BadInput(f"body: must be a JSON object, not {_said(value)}")
    return _shaped(value, shape, strict=True)


def read_query(query: bytes, shape: type[AnyInput]) -> AnyInput:
    """A query string as its struct; a name may occur once, and a number is written in digits."""
    values: dict[str, str | int] = {}
    for part in query.split(b"&") if query else ():
        if not part:
            continue
        name, _, value = part.replace(b"+", b" ").partition(b"=")
        field = percent_decoded(name, "query")
        if field in values:
            raise BadInput(f"{field}: is given twice")
        values[field] = percent_decoded(value, field)
    for field in _whole_numbers_of(shape) & values.keys():
        values[field] = _whole_number(str(values[field]), field)
    return _shaped(values, shape, strict=False)


@functools.cache
def _whole_numbers_of(shape: type[Input]) -> frozenset[str]:
    """The fields that are numbers: msgspec would take null, 1e3 and 1.0 for some in a text."""
    fields = msgspec.structs.fields(shape)
    return frozenset(one.encode_name for one in fields if int in _plain_types(one.type))


def _plain_types(declared: Any) -> Iterator[Any]:
    yield declared
    for part in get_args(declared):
        yield from _plain_types(part)


def _whole_number(text: str, field: str) -> int:
    """Its bounds are the shape's to check; what is longer than all bounds stays beyond them."""
    if not _WHOLE.match(text):
        raise BadInput(f"{field}: must be a whole number in digits, not {json.dumps(text[:40])}")
    return int(text[: _DIGITS_MAX + 2])


def percent_decoded(text: bytes, field: str) -> str:
    """Percent-decoded text. Encoded lone surrogates pass; broken escapes and other bytes are refused."""
    if b"%" not in text and text.isascii():
        return text.decode("ascii")
    if _BROKEN_ESCAPE.search(text):
        raise BadInput(f"{field}: has a % that two hex digits do not follow")
    try:
        decoded = unquote_to_bytes(text).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise BadInput(f"{field}: is not percent-encoded UTF-8") from None
    # Two halves that were encoded apart are one character, as they are in JavaScript.
    return decoded.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def number_of(text: str, field: str) -> int:
    """A number in a path: decimal digits. Raises BadInput: 404 where nothing can have such a number."""
    if not _DIGITS.match(text):
        raise BadInput(f"{field}: must be a whole number, not {json.dumps(text[:40])}")
    if len(text) > _DIGITS_MAX or int(text) > limits.NUMBER_MAX:
        raise BadInput(f"{field}: there is no {text[:40]}; numbers end at {limits.NUMBER_MAX}", status=404)
    return int(text)


_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_DIGITS = re.compile(r"[0-9]+\Z")
_WHOLE = re.compile(r"(?:0|-?[1-9][0-9]*)\Z")
_DIGITS_MAX = len(str(limits.NUMBER_MAX))


def _shaped(values: dict[str, Any], shape: type[AnyInput], *, strict: bool) -> AnyInput:
    try:
        shaped = msgspec.convert(values, shape, strict=strict)
        shaped.check()
        return shaped
    except msgspec.ValidationError as error:
        raise BadInput(_explained(str(error), shape, values)) from None
    except BadId as error:
        raise BadInput(str(error)) from None


# ---- what was wrong, in words ----------------------------------------------------------------------------

_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_PATH = re.compile(r"(?s)(.*) - at `\$\.?(.*)`\Z")
_MISSING = re.compile(r"Object missing required field `(.*)`\Z")
_UNKNOWN = re.compile(r"(?s)Object contains unknown field `(.*)`\Z")
_EXPECTED = re.compile(r"Expected `(.*?)`(?: (.*?))?(?:, got `(.*)`)?\Z")

_BOUND = re.compile(r"(?:of length )?(>=|<=) ")
_BOUND_WORDS = {">=": "of at least ", "<=": "of at most "}


def _explained(problem: str, shape: type[Input], values: dict[str, Any]) -> str:
    """msgspec's message about these values as `field: what is wrong`."""
    if match := _MISSING.match(problem):
        return f"{match[1]}: is missing"
    if match := _UNKNOWN.match(problem):
        known = ", ".join(shape.__struct_encode_fields__) or "none"
        return f"{match[1][:100]}: is not a field of this request; its fields: {known}"
    match = _PATH.match(problem)
    problem, field = (match[1], match[2]) if match else (problem, "body")
    expected = _EXPECTED.match(problem)
    if problem.startswith("Invalid enum value"):
        return f"{field}: must be {_one_of(_choices(shape, field))}"
    if not expected:
        return f"{field}: {problem}"
    wanted = " or ".join(_WORDS.get(name, name) for name in expected[1].split(" | ") if name != "null")
    if expected[2]:
        if expected[1] == "str" and expected[2] == "of length >= 1":
            return f"{field}: must not be empty"
        wanted += " " + _BOUND.sub(lambda bound: _BOUND_WORDS[bound[1]], expected[2])
        wanted += " characters" if expected[1] == "str" else ""
    got = f", not {_WORDS.get(expected[3], expected[3])}" if expected[3] else ""
    if (
        expected[3] == "float" and field in values
    ):  # 5.0 is a number, and whole: only as it is written it is none
        got = f", not {json.dumps(values[field])}"
    return f"{field}: must be {wanted}{got}"


def _choices(shape: type[Input], field: str) -> Sequence[str]:
    """What a field of a few texts may be."""
    of_type = next(one.type for one in msgspec.structs.fields(shape) if one.encode_name == field)
    literals = (one for one in (of_type, *get_args(of_type)) if get_origin(one) is Literal)
    return get_args(next(literals))


def _one_of(choices: Sequence[str]) -> str:
    return ", ".join(choices[:-1]) + f" or {choices[-1]}"


def _said(value: Any) -> str:
    names = {str: "text", list: "an array", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
