"""Bytes become strict structs, or an error that names the field."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import limits
from engine.serve import inputs
from engine.serve.reading import (
    BadInput,
    canonical_json,
    number_of,
    parse_json,
    percent_decoded,
    read_input,
    read_query,
)


def error_of(text: bytes, shape: type[inputs.Input] = inputs.Call) -> str:
    with pytest.raises(BadInput) as caught:
        read_input(text, shape)
    assert caught.value.status == 400
    return caught.value.error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"", "args: is missing"),
        (b"{}", "args: is missing"),
        (b'{"args":"x"}', "args: must be an array, not text"),
        (b'{"args":null}', "args: must be an array, not null"),
        (b'{"args":[],"argz":1}', "argz: is not a field of this request; its fields: requestId, args"),
        (b"[]", "body: must be a JSON object, not an array"),
        (b"3", "body: must be a JSON object, not a number"),
        (b"null", "body: must be a JSON object, not null"),
        (b"nope", "body: is not JSON: Expecting value at character 0"),
        (b'{"args":[]} x', "body: is not JSON: Extra data at character 12"),
        (b'\xef\xbb\xbf{"args":[]}', "body: is not JSON: Expecting value at character 0"),
        (b'{"args":["\xff"]}', "body: is not UTF-8 at byte 10"),
        (b'{"args":["\xed\xa0\x80"]}', "body: is not UTF-8 at byte 10"),
        (b'{"args":[NaN]}', "body: holds NaN, which is not JSON"),
        (b'{"args":[-Infinity]}', "body: holds -Infinity, which is not JSON"),
        (b'{"args":[],"args":[1]}', 'body: has the name "args" twice in one object'),
        (b'{"args":[{"a":1,"b":2,"a":3}]}', 'body: has the name "a" twice in one object'),
        (b'{"args":[' + b"9" * 5000 + b"]}", "body: holds a number of thousands of digits"),
        (b'{"args":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "body: is nested more than 508 levels deep"),
        (b'{"args":[],"requestId":5}', "requestId: must be text, not a whole number"),
        (b'{"args":[],"requestId":" "}', "requestId: must not be empty or blank"),
        (b'{"args":[],"requestId":"a\\u0000b"}', "requestId: must not contain control characters"),
        (b'{"args":[],"requestId":"\\ud800"}', "requestId: must not contain lone surrogates"),
        (
            b'{"args":[],"requestId":"' + b"x" * 201 + b'"}',
            "requestId: is 201 characters long; at most 200 are allowed",
        ),
    ],
)
def test_a_call_that_is_not_exactly_right_is_refused_by_field(text: bytes, error: str) -> None:
    assert error_of(text) == error


@pytest.mark.parametrize(
    ("shape", "text", "error"),
    [
        (inputs.Develop, b"{}", "source: is missing"),
        (inputs.Develop, b'{"source":1}', "source: must be text, not a whole number"),
        (inputs.Develop, b'{"source":"\\udc00"}', "source: must not contain lone surrogates"),
        (inputs.Develop, b'{"source":"","dryrun":true}', "dryrun: is not a field of this request"),
        (inputs.Rollback, b'{"reason":"x"}', "revision: is missing"),
        (inputs.Rollback, b'{"revision":-1,"reason":"x"}', "revision: must be a whole number of at least 0"),
        (inputs.Rollback, b'{"revision":1.5,"reason":"x"}', "revision: must be a whole number, not 1.5"),
        (
            inputs.Rollback,
            b'{"revision":true,"reason":"x"}',
            "revision: must be a whole number, not true or false",
        ),
        (
            inputs.Rollback,
            b'{"revision":1,"reason":"x","force":1}',
            "force: must be true or false, not a whole number",
        ),
        (inputs.CreateWorld, b'{"name":""}', "name: must not be empty"),
        (inputs.CreateWorld, b'{"name":"  "}', "name: must not be empty or blank"),
        (inputs.CreateWorld, b'{"name":"a\\u0007"}', "name: must not contain control characters"),
        (inputs.ChangeWorld, b"{}", "body: changes nothing; give at least one of name, archived, frozen"),
        (inputs.ChangeWorld, b'{"archived":"yes"}', "archived: must be true or false, not text"),
        (inputs.Nothing, b'{"a":1}', "a: is not a field of this request; its fields: none"),
    ],
)
def test_every_body_names_the_field_that_is_wrong(shape: type[inputs.Input], text: bytes, error: str) -> None:
    assert error_of(text, shape).startswith(error)


def test_a_name_and_a_note_may_be_as_long_as_the_limit_and_no_longer() -> None:
    assert read_input(json.dumps({"name": "n" * 300}).encode(), inputs.CreateWorld).name == "n" * 300
    assert error_of(json.dumps({"name": "n" * 301}).encode(), inputs.CreateWorld) == (
        "name: must be text of at most 300 characters"
    )
    note = "x" * limits.NOTE_CHARS_MAX
    assert read_input(json.dumps({"reason": note}).encode(), inputs.DeleteData).reason == note
    assert error_of(json.dumps({"reason": note + "x"}).encode(), inputs.DeleteData) == (
        f"reason: must be text of at most {limits.NOTE_CHARS_MAX} characters"
    )


@pytest.mark.parametrize(
    ("query", "error"),
    [
        (b"limit=0", "limit: must be a whole number of at least 1"),
        (b"limit=1001", "limit: must be a whole number of at most 1000"),
        (b"limit=ten", 'limit: must be a whole number in digits, not "ten"'),
        (b"limit=", 'limit: must be a whole number in digits, not ""'),
        (b"before=-1", "before: must be a whole number of at least 0"),
        (b"before=" + b"9" * 30, f"before: must be a whole number of at most {limits.NUMBER_MAX}"),
        (b"limit=5&limit=6", "limit: is given twice"),
        (b"offset=3", "offset: is not a field of this request; its fields: at, limit, before"),
        (b"before=%zz", "before: has a % that two hex digits do not follow"),
        (b"before=%ff", "before: is not percent-encoded UTF-8"),
    ],
)
def test_a_query_is_as_strict_as_a_body(query: bytes, error: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_query(query, inputs.NewestFirst)
    assert caught.value.error == error


@pytest.mark.parametrize(
    "written", ["null", "1e3", "1.0", "-0", "+5", " 5", "5_0", "007", "٣", "0x1", "5%0A"]
)
@pytest.mark.parametrize(
    ("shape", "field"),
    [
        (inputs.AtQuery, "at"),
        (inputs.LogQuery, "after"),
        (inputs.LogQuery, "until"),
        (inputs.LogQuery, "limit"),
        (inputs.RecordingQuery, "until"),
        (inputs.NewestFirst, "before"),
    ],
)
def test_a_number_in_a_query_is_digits_and_nothing_else(
    shape: type[inputs.Input], field: str, written: str
) -> None:
    with pytest.raises(BadInput) as caught:
        read_query(f"{field}={written}".encode(), shape)
    assert caught.value.status == 400
    assert caught.value.error.startswith(f"{field}: must be a whole number in digits, not ")
    assert getattr(read_query(f"{field}=17".encode(), shape), field) == 17


def test_a_number_in_a_query_may_have_any_length_and_is_then_too_large() -> None:
    for digits in (17, 5000):
        with pytest.raises(BadInput, match=f"at: must be a whole number of at most {limits.NUMBER_MAX}"):
            read_query(b"at=" + b"9" * digits, inputs.AtQuery)


def test_a_text_in_a_query_may_be_null_and_a_whole_number_with_a_point_is_shown_as_it_came() -> None:
    assert read_query(b"after=null&prefix=1e3", inputs.DataQuery) == inputs.DataQuery(
        after="null", prefix="1e3"
    )
    assert error_of(b'{"revision":5.0,"reason":"x"}', inputs.Rollback) == (
        "revision: must be a whole number, not 5.0"
    )


def test_a_query_has_defaults_and_any_text_as_a_prefix() -> None:
    assert read_query(b"", inputs.NewestFirst) == inputs.NewestFirst(limit=100, before=None)
    read = read_query(b"prefix=a%2Fb+c%26&after=%ED%A0%80&limit=7", inputs.DataQuery)
    assert read == inputs.DataQuery(prefix="a/b c&", after="\ud800", limit=7)


def test_percent_encoded_halves_of_one_character_are_that_character() -> None:
    assert percent_decoded(b"%ED%A0%BD%ED%B8%80", "key") == "😀"
    assert percent_decoded(b"%ED%B8%80%ED%A0%BD", "key") == "\ude00\ud83d"


@pytest.mark.parametrize("text", ["", "-1", "1.0", "x", "٣", "0x1", " 1"])
def test_a_number_in_a_path_is_decimal_digits(text: str) -> None:
    with pytest.raises(BadInput, match="n: must be a whole number"):
        number_of(text, "n")
    assert number_of("0012", "n") == 12
    with pytest.raises(BadInput, match=r"n: there is no 9{17}; numbers end at") as caught:
        number_of("9" * 17, "n")
    assert caught.value.status == 404


def test_canonical_json_has_no_spaces_and_escapes_what_utf8_cannot_say() -> None:
    value = parse_json(b'{ "\\u00e9" : [ 1.50 , -0.0, 1e3, "\\ud800x", "\\ud83d\\ude00" ] }')
    assert canonical_json(value) == '{"é":[1.5,-0.0,1000.0,"\\ud800x","😀"]}'.encode()


def test_a_number_beyond_doubles_is_refused() -> None:
    with pytest.raises(BadInput) as caught:
        canonical_json(parse_json(b"[1e999]"), "args")
    assert caught.value.error == "args: holds a number beyond the range of a double"


any_text = st.text(st.characters(exclude_categories=()), max_size=8)
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


@given(any_json)
def test_canonical_json_reads_back_as_the_same_value(value: object) -> None:
    text = canonical_json(value)
    assert json.loads(text) == json.loads(json.dumps(value))
    assert canonical_json(parse_json(text)) == text


@given(st.binary(max_size=40))
def test_no_bytes_break_the_reader(text: bytes) -> None:
    try:
        read_input(text, inputs.Call)
    except BadInput as error:
        assert error.status == 400 and ": " in error.error


def test_depth_is_counted_outside_strings_and_ends_at_the_same_level_everywhere():
    deepest = b"[" * 508 + b"]" * 508
    assert parse_json(deepest) is not None
    with pytest.raises(BadInput, match="body: is nested more than 508 levels deep"):
        parse_json(b"[" + deepest + b"]")
    assert parse_json(json.dumps(["[{" * 5_000, '"[' * 600, "\\[" * 600]).encode())
    assert parse_json(b"[" + b",".join([b"[]"] * 600) + b"]")
