"""Checks, grants, pages, ends of incidents, admitted calls: what the projection says of them, and after a rebuild."""

from __future__ import annotations

import msgspec
import pytest
from record_lives import Book, call, failed_call, genesis, interrupted

from engine.io.mem_log import MemLog
from engine.record.kinds import (
    Admitted,
    CheckEnrolled,
    CheckRemoved,
    Granted,
    Imported,
    IncidentClosed,
    PageSet,
    Request,
)
from engine.record.projection import Projection
from engine.record.retention import only_answered

HOLDS = CheckEnrolled("holds", "f(1) === 1", "undefine('f')", None, [], 7, 1)


@pytest.fixture
def log() -> MemLog:
    return MemLog()


@pytest.fixture
def book(log) -> Book:
    return Book(log)


def test_a_check_stands_until_it_is_removed_and_is_remembered_with_the_reason(log, book):
    book.write("w", genesis("W"), HOLDS, CheckRemoved("holds", "f is gone"), HOLDS)
    projection = Projection(None, log)
    assert [(row.seq, row.body) for row in projection.checks("w")] == [(3, HOLDS)]
    (removed,) = projection.removed_checks("w")
    assert (removed.seq, removed.reason, removed.body) == (2, "f is gone", HOLDS)


def test_grants_and_the_page_are_as_last_said(log, book):
    book.write("w", genesis("W"), Granted(["b", "c"]), Granted(["c"]), PageSet("public", ["f"], None))
    projection = Projection(None, log)
    assert projection.grants("w") == ["c"]
    assert projection.page("w") == PageSet("public", ["f"], None)


def test_a_new_world_has_no_grants_and_no_page(log, book):
    book.write("w", genesis("W"))
    projection = Projection(None, log)
    assert (projection.grants("w"), projection.page("w"), projection.checks("w")) == ([], None, [])


def test_an_imported_world_may_call_nobody_shows_no_page_and_owes_no_call(log, book):
    made = msgspec.structs.replace(genesis("W"), request=Request("make-w", "0" * 64))
    book.write("w", made, Granted(["b"]), PageSet("public", ["f"], None), Admitted("f", b"[]", 5, 6, []))
    book.write("v", genesis("V"), Granted(["b"]), Admitted("f", b"[]", 5, 6, []))
    book.write("w", Imported("lineage", 4, "0" * 64))
    projection = Projection(None, log)
    assert (projection.grants("w"), projection.page("w"), projection.unsettled("w")) == ([], None, [])
    assert projection.creation("make-w") is None
    admitted = projection.admitted("w", 3)
    assert admitted is not None and admitted.outcome_seq == 4
    assert projection.grants("v") == ["b"]
    assert [row.seq for row in projection.unsettled("v")] == [2]


def test_an_incident_ends_by_a_word_of_the_operator_or_by_a_retry_that_succeeds(log, book):
    retried = msgspec.structs.replace(call(), retries=2)
    again = msgspec.structs.replace(failed_call(4), retries=3)
    book.write("w", genesis("W"), failed_call(1), failed_call(2), failed_call(3))
    book.write("w", IncidentClosed(1, "dismissed", "known", None), retried, again)
    projection = Projection(None, log)
    states = {
        row.n: (row.state, row.closed_reason, row.retried_seq) for row in projection.incidents("w", 9).rows
    }
    assert states == {
        1: ("dismissed", "known", None),
        2: ("retried", None, 5),
        3: ("open", None, None),
        4: ("open", None, None),
    }
    assert projection.closed_incidents("w") == [1, 2]


def test_an_answer_by_hand_is_kept(log, book):
    book.write("w", genesis("W"), failed_call(1), IncidentClosed(1, "answered", "", b'{"a":1}'))
    row = Projection(None, log).incident("w", 1)
    assert (row.state, row.answer) == ("answered", b'{"a":1}')


def test_an_admitted_call_is_unsettled_until_its_outcome_or_the_end_of_the_process_that_ran_it(log, book):
    first, second = Admitted("f", b"[]", 5, 6, []), Admitted("f", b"[]", 7, 2**64 - 1, [])
    book.write("w", genesis("W"), first, second)
    book.write("v", genesis("V"))
    projection = Projection(None, log)
    assert [row.seq for row in projection.unsettled("w")] == [1, 2]
    assert projection.worlds_with_unsettled() == ["w"]
    book.write("w", msgspec.structs.replace(call(), admitted=1))
    book.write("w", msgspec.structs.replace(interrupted(1, seed=2**64 - 1), admitted_flick=7))
    projection = Projection(None, log)
    assert projection.unsettled("w") == projection.worlds_with_unsettled() == []
    assert [projection.admitted("w", seq).outcome_seq for seq in (1, 2)] == [3, 4]


def test_a_call_that_others_rows_rest_on_does_not_expire():
    reading = msgspec.structs.replace(call(), writes=[])
    assert only_answered(reading)
    assert not only_answered(msgspec.structs.replace(reading, retries=1))
    assert not only_answered(msgspec.structs.replace(reading, admitted=0))
