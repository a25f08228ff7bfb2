"""A world's chain: contiguous, each record naming the one before, erased bodies and all."""

from __future__ import annotations

import pytest
from record_lives import Book, call, genesis, revision

from engine.io.mem_log import MemLog
from engine.record import verify_chain


@pytest.fixture
def entries():
    book = Book(MemLog())
    return [book.entry("w", body) for body in (genesis(), revision(1, "f"), call(), call(), call())]


def told(entries) -> list[str]:
    return [str(problem) for problem in verify_chain("w", entries)]


def test_a_whole_chain_has_no_problem(entries):
    assert told(entries) == []
    assert told([]) == []


def test_erased_bodies_leave_the_chain_verifiable(entries):
    assert told([entry._replace(body=None) for entry in entries]) == []


def test_a_missing_record_is_told_once_with_both_numbers(entries):
    del entries[2]
    assert told(entries) == [
        "world w, record 3: expected record 2, got record 3. Restore this world's records from a backup"
    ]


def test_a_chain_that_begins_late_is_told(entries):
    assert told(entries[1:])[0].startswith("world w, record 1: expected record 0, got record 1")


def test_a_record_that_names_another_predecessor_is_told_with_both_hashes(entries):
    other = Book(MemLog())
    other.entry("w", genesis("Another world"))
    entries[1] = other.entry("w", revision(1, "f"))
    told_of = told(entries)
    assert len(told_of) == 2  # it follows another record, and the next one follows what was there
    assert told_of[0].startswith("world w, record 1: its previous record's hash: expected ")
    assert told_of[1].startswith("world w, record 2: its previous record's hash: expected ")


def test_records_of_other_worlds_and_swapped_ones_are_told(entries):
    stranger = Book(MemLog()).entry("v", genesis())
    assert "expected a record of w, got one of v" in told([*entries, stranger])[0]
    entries[2], entries[3] = entries[3], entries[2]
    assert [problem.seq for problem in verify_chain("w", entries)] == [3, 2, 4]


def test_a_rotten_body_is_told_and_the_chain_goes_on(entries):
    entries[2] = entries[2]._replace(body=entries[2].body + b"x")
    assert told(entries) == [
        "world w, record 2: its body is not the one that its header names. Run: pw doctor. "
        "Restore this world's records from a backup"
    ]
