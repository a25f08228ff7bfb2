"""Records whose chain holds and that say what no world of ours says: each is refused by number, with the field."""

from __future__ import annotations

import functools
from typing import get_args

import msgspec
import pytest
from forging import changed, said_in, saying, with_fields
from record_lives import (
    call,
    checkpoint,
    failed_call,
    golden,
    held,
    interrupted,
    preview,
    rejection,
    unchanged,
)
from recorded import Recorded, read, with_manifest

from engine import limits
from engine.logic import jobs
from engine.record import recording_checking, recording_fields
from engine.record.golden_kinds import Blessed
from engine.record.kind_parts import Failure, HeapRef, Look, PeerAnswer, Request, Write
from engine.record.kinds import (
    Admitted,
    CheckEnrolled,
    DataEdit,
    DataRestored,
    Describe,
    GoldenPinned,
    Granted,
    HeldRejected,
    Imported,
    IncidentClosed,
    PageSet,
)
from engine.record.recording import RecordingRefused
from engine.record.recording_checking import check_recording

REQUEST = Request("r", "5" * 64)


def pinned(n: int, call: int) -> GoldenPinned:
    return msgspec.structs.replace(golden(n), call=call, snapshot=1)


@functools.cache
def lived() -> bytes:
    """Something of every kind whose fields are checked, as a world writes it."""
    recorded = Recorded()
    recorded.grow(1)
    recorded.write(call(writes={"k": b"1"}, request=REQUEST), failed_call(1, snapshot=2), preview())
    recorded.write(
        Admitted("f", b"[1]", 7, 2**63, ["a"]), pinned(1, call=2), msgspec.structs.replace(held(2), base=1)
    )
    recorded.grow(2)
    recorded.write(
        interrupted(2, snapshot=4),
        IncidentClosed(1, "answered", "by hand", b"5"),
        rejection(1, base=2),
        checkpoint(recorded.blobs, {"k": b"1"}, 2, recorded.heaps.ref, 3),
        DataRestored(2, "", "back", [Write("k", b"2")]),
        CheckEnrolled("holds", "true", "undefine('f')", None, [b"1"], 3, 2),
        Granted(["a"]),
        PageSet("public", ["f"], None),
        HeldRejected(2, "no"),
        Describe(name="Other"),
        DataEdit(Write("\ud800", b'"\\ud800"'), "because"),
        call(admitted=5, answers=[PeerAnswer(0, "a", "f", True, b"1")], looks=[Look("list", "", b"[]")]),
        unchanged(2),
        preview(args=b""),
    )
    return recorded.recording()


(GENESIS, FIRST, CALL, FAILED, PREVIEW, ADMITTED, PIN, HELD, SECOND, INTERRUPTED, CLOSED, REJECTED) = range(
    12
)
(CHECKPOINT, RESTORED, CHECK, GRANTED, PAGE, HELD_REJECTED, DESCRIBED, EDIT, LATE, UNCHANGED) = range(12, 22)


def refusal(recording: bytes) -> str:
    """What is said of it; the reader itself finds nothing wrong."""
    read_whole = read(recording)
    with pytest.raises(RecordingRefused) as caught:
        check_recording(read_whole)
    return caught.value.reason


def test_a_world_as_it_is_written_here_is_taken():
    check_recording(read(lived()))
    check_recording(read(saying(lived(), said_in(lived()))))


@pytest.mark.parametrize(
    ("n", "fields", "says"),
    [
        (FAILED, {"incident": 2}, "incident: is 2; the next incident has number 1"),
        (FAILED, {"incident": 0}, "incident: is 0"),
        (FAILED, {"value": b"1"}, "failure: a call or preview ends with"),
        (CALL, {"incident": 1}, "failure: an incident is a failure"),
        (INTERRUPTED, {"incident": 1}, "incident: is 1; the next incident has number 2"),
        (SECOND, {"n": 1}, "n: is 1; the next revision has number 2"),
        (SECOND, {"n": 2**53}, "the next revision has number 2"),
        (SECOND, {"parent": 0}, "parent: is 0, the head is 1"),
        (SECOND, {"target": 2}, "target: there is no revision 2 yet"),
        (SECOND, {"cause": "whim"}, "cause: must be one of develop, rollback, upgrade"),
        (SECOND, {"blessed": Blessed(1, "good", [])}, "blessed.held: number 1 is no held yet"),
        (SECOND, {"blessed": Blessed(2, "good", [7])}, "blessed.goldens: number 7 is no golden-pinned yet"),
        (REJECTED, {"n": 2}, "n: is 2; the next rejection has number 1"),
        (REJECTED, {"base": 3}, "base: there is no revision 3 yet"),
        (PIN, {"n": -1}, "n: is -1"),
        (PIN, {"n": 2}, "n: is 2; the next golden has number 1"),
        (PIN, {"call": 4}, "call: record 4 is no call before this one"),
        (PIN, {"call": 9999}, "call: there is no record 9999 yet"),
        (HELD, {"n": 1}, "n: is 1; the next golden has number 2"),
        (HELD, {"replaces": 1}, "replaces: number 1 is no held yet"),
        (HELD_REJECTED, {"held": 1}, "held: number 1 is no held yet"),
        (UNCHANGED, {"blesses": 9}, "blesses: number 9 is no held yet"),
        (CLOSED, {"incident": 3}, "incident: there is no incident 3 yet"),
        (CLOSED, {"how": "somehow"}, "how: must be one of"),
        (LATE, {"admitted": 4}, "admitted: record 4 is no admitted before this one"),
        (LATE, {"retries": 3}, "retries: there is no incident 3 yet"),
        (CALL, {"snapshot": 99}, "snapshot: there is no record 99 yet"),
        (CALL, {"snapshot": 2}, "snapshot: there is no record 2 yet"),
        (CALL, {"snapshot": -3}, "snapshot: is -3"),
        (PREVIEW, {"revision": 2}, "revision: there is no revision 2 yet"),
        (INTERRUPTED, {"revision": 99}, "revision: there is no revision 99 yet"),
        (CHECKPOINT, {"snapshot": 12}, "snapshot: there is no record 12 yet"),
        (RESTORED, {"at": 13}, "at: there is no record 13 yet"),
        (CALL, {"writes": [Write("k", b"{nope")]}, "writes[0].value: is not JSON"),
        (CALL, {"writes": [Write("k", b'"\xff"')]}, "writes[0].value: is not UTF-8"),
        (CALL, {"writes": [Write("k", b"NaN")]}, "NaN is no number"),
        (CALL, {"writes": [Write("k", b"[" * 100_000)]}, "is nested too deep"),
        (CALL, {"writes": [Write("k", b"1" * (limits.DATA_VALUE_BYTES_MAX + 1))]}, "writes[0].value: is"),
        (CALL, {"writes": [Write("k" * (limits.DATA_KEY_BYTES_MAX + 1), b"1")]}, "writes[0].key: is"),
        (CALL, {"args": b"{}"}, "args: must be a JSON list"),
        (CALL, {"args": b""}, "args: is not JSON"),
        (CALL, {"value": b'"a'}, "value: is not JSON"),
        (CALL, {"fuel": -1}, "fuel: is -1"),
        (CALL, {"flick": 2**63}, f"flick: is {2**63}"),
        (CALL, {"request": Request("", "5" * 64)}, "request.id: must not be empty"),
        (CALL, {"request": Request("a\0", "5" * 64)}, "request.id: must not contain control"),
        (CALL, {"request": Request("peer:" + "x" * 201, "5" * 64)}, "request.id: is"),
        (CALL, {"request": Request("r", "no hash")}, "request.hash: must be 64 hex digits"),
        (FAILED, {"failure": Failure("bored", "Error")}, "failure.kind: must be one of"),
        (LATE, {"answers": [PeerAnswer(0, "a", "f", True, b"{{")]}, "answers[0].value: is not JSON"),
        (LATE, {"looks": [Look("list", "", b"{{")]}, "looks[0].answer: is not JSON"),
        (LATE, {"path": ["../x"]}, "path: must be 1 to 64"),
        (GENESIS, {"name": ""}, "name: must not be empty"),
        (GENESIS, {"name": "a\x1b[31m"}, "name: must not contain control"),
        (DESCRIBED, {"name": "x" * 301}, "name: is 301 characters"),
        (CHECK, {"inputs": [b"{{"]}, "inputs: is not JSON"),
        (CHECK, {"name": "a\0"}, "name: must not contain control"),
        (GRANTED, {"worlds": ["../x"]}, "worlds: must be 1 to 64"),
        (PAGE, {"access": "some"}, "access: must be one of private, link, public"),
        (PAGE, {"functions": [""]}, "functions: must be an ASCII identifier"),
        (EDIT, {"reason": "x" * 2001}, "reason: is 2001 characters long"),
        (REJECTED, {"input": b"{"}, "input: is not JSON"),
        (CLOSED, {"value": b"{"}, "value: is not JSON"),
    ],
)  # fmt: skip
def test_what_no_record_of_ours_says_is_refused_with_its_record_and_field(n, fields, says):
    reason = refusal(with_fields(lived(), n, **fields))
    assert reason.startswith(f"record {n}, a {said_in(lived())[n].kind}: ") and says in reason


@pytest.mark.parametrize(
    ("n", "header", "says"),
    [
        (CALL, {"actor": ""}, "actor: must not be empty"),
        (CALL, {"actor": "\0\x1b[31m"}, "actor: must not contain control"),
        (CALL, {"actor": "x" * 100_000}, "actor: is 100000 characters long"),
        (CALL, {"flick": -1}, "flick: is before 1970"),
    ],
)
def test_a_header_that_no_record_of_ours_has_is_refused(n, header, says):
    assert says in refusal(changed(lived(), n, lambda one: one._replace(**header)))


@pytest.mark.parametrize("n", [FAILED, PIN, HELD, SECOND, INTERRUPTED, REJECTED])
def test_a_number_that_is_given_twice_is_refused(n):
    said = said_in(lived())
    assert f"record {n + 1}, a {said[n].kind}: " in refusal(
        saying(lived(), [*said[: n + 1], said[n], *said[n + 1 :]])
    )


def test_an_import_names_the_records_before_it():
    said = said_in(lived())
    for body in (Imported("0" * 16, 99, "0" * 64), Imported("0" * 16, len(said), "0" * 64)):
        again = saying(lived(), [*said, said[CALL]._replace(kind="imported", body=body)])
        assert "records: and head do not name the records before it" in refusal(again)


def test_a_manifest_says_what_its_records_say():
    assert "another name" in refusal(with_manifest(lived(), name="Mine"))
    assert "the manifest says prelude 7" in refusal(with_manifest(lived(), prelude_version=7))


def test_what_a_projection_cannot_take_is_refused_whatever_it_is(monkeypatch):
    """The fields are not looked at: the projection alone is a wall."""
    monkeypatch.setattr(recording_checking, "check_fields", lambda body: None)
    monkeypatch.setattr(recording_checking.WorldChecking, "_check_place", lambda self, header, body: None)
    monkeypatch.setattr(recording_checking.WorldChecking, "end", lambda self: None)
    for n, fields in [
        (INTERRUPTED, {"incident": 1}),
        (SECOND, {"n": 1}),
        (HELD, {"n": 1}),
        (ADMITTED, {"flick": 2**63}),
    ]:
        assert "make no world" in refusal(with_fields(lived(), n, **fields))


def test_a_world_whose_rows_take_more_than_is_allowed_is_refused(monkeypatch):
    monkeypatch.setattr(recording_checking, "RECORDING_MEMORY_BYTES_MAX", 50 * 4096)
    said = said_in(lived())
    large = [
        said[CALL]._replace(body=call(writes={f"k{n}": b'"%s"' % (b"x" * 10_000)}, snapshot=2))
        for n in range(50)
    ]
    assert "is more than the 204800 bytes that are allowed" in refusal(saying(lived(), [*said, *large]))


def test_a_redacted_recording_of_a_world_is_taken_although_numbers_are_left_out():
    recorded = Recorded()
    recorded.grow(1)
    recorded.write(failed_call(1, snapshot=1), pinned(1, call=2), interrupted(2, snapshot=1))
    recorded.write(rejection(1, base=1), failed_call(3, snapshot=1), HeldRejected(4, "no"))
    check_recording(read(recorded.recording(redact=True)))


def test_the_words_of_a_record_are_those_that_the_house_uses():
    assert get_args(jobs.FailureKind) == recording_fields.FAILURE_KINDS
    assert get_args(jobs.DefinitionKind) == recording_fields.DEFINITION_KINDS


def test_every_rule_is_of_a_field_that_there_is():
    for kind, name in (*recording_fields._RULES, *recording_fields._RULES_BETWEEN):
        assert name in kind.__struct_fields__, (kind, name)


def test_a_heap_is_named_by_its_hash():
    said = said_in(lived())
    heap = said[SECOND].body.heap
    forged = with_fields(lived(), SECOND, heap=HeapRef("no root", heap.blob))
    assert "heap.root: must be 64 hex digits" in refusal(forged)
