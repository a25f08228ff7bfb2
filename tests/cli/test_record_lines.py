"""Every kind of record has a line that a person can read."""

from __future__ import annotations

from engine.cli.records import _LINES, CHARS_MAX, ERASED, record_line
from engine.record.records import KINDS


def test_every_kind_of_record_has_a_line():
    assert sorted(_LINES) == sorted(KINDS)


def test_a_call_says_what_was_asked_and_what_it_came_to():
    body = b'{"function":"visit","args":"[\\"Ada\\",2]","value":"\\"Hi\\"","failure":null}'
    assert record_line("call", body) == 'visit("Ada",2) -> "Hi"'
    body = (
        b'{"function":"f","args":"[]","value":null,"incident":3,'
        b'"failure":{"kind":"threw","error":"Error: no\\n    at f (pw:1:1:1)"}}'
    )
    assert record_line("call", body) == "f() failed (threw, incident 3): Error: no"


def test_a_long_line_is_cut_and_an_erased_body_is_told():
    body = b'{"n":1,"summary":"%s\\nand more"}' % (b"x" * 500)
    line = record_line("revision", body)
    assert len(line) == CHARS_MAX and line.endswith("\u2026") and "\n" not in line
    assert record_line("call", None) == ERASED
