"""Every answer has one status, and its JSON says exactly what the struct says."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from engine.host import answers
from engine.host.answers import as_json
from engine.record.kinds import Changes
from engine.serve.answering import STATUS_OF_REFUSAL, failed, reply_to

ROLLED_BACK = answers.RolledBack(set=["a"], deleted=[])


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        (answers.Created("a-1", "A", 0), 201, {"id": "a-1", "name": "A", "revision": 0}),
        (
            answers.Accepted(2, Changes(added=["f"]), ["hi"]),
            200,
            {"status": "accepted", "revision": 2, "changes": {"added": ["f"]}, "logs": ["hi"]},
        ),
        (answers.Unchanged(2), 200, {"status": "unchanged", "revision": 2}),
        (
            answers.Rejected(1, "threw", "Error: no", []),
            422,
            {"status": "rejected", "rejection": 1, "kind": "threw", "reason": "Error: no", "logs": []},
        ),
        (
            answers.CallOk(True, msgspec.Raw(b"[1,null]"), 3, []),
            200,
            {"ok": True, "value": [1, None], "revision": 3, "logs": []},
        ),
        (
            answers.CallFailed(False, "threw", "Error: no", [], incident=4),
            422,
            {"ok": False, "failure": "threw", "error": "Error: no", "logs": [], "incident": 4},
        ),
        (
            answers.PreviewOk(True, msgspec.Raw(b"1"), ROLLED_BACK, []),
            200,
            {"ok": True, "value": 1, "rolledBack": {"set": ["a"], "deleted": []}, "logs": []},
        ),
        (answers.PreviewFailed(False, "syntax", "no", ROLLED_BACK, []), 422, None),
        (answers.Missing(False, "f is not defined"), 404, {"ok": False, "error": "f is not defined"}),
        (answers.Done(True, 9), 200, {"ok": True, "seq": 9}),
    ],
)
def test_an_answer_has_its_status_and_shape(answer: object, status: int, text: object) -> None:
    reply = reply_to(answer)
    assert reply.status == status
    assert text is None or json.loads(reply.body) == text


@pytest.mark.parametrize(("code", "status"), sorted(STATUS_OF_REFUSAL.items()))
def test_a_refusal_has_the_status_of_its_code(code: str, status: int) -> None:
    reply = reply_to(answers.Refused(ok=False, refused=code, error="no"))
    assert reply.status == status
    assert json.loads(reply.body) == {"ok": False, "refused": code, "error": "no"}


def test_every_code_that_the_host_documents_has_a_status() -> None:
    documented = answers.Refused.__doc__ or ""
    codes = re.findall(r"[a-z]+(?:-[a-z]+)*(?=[, (])", documented.split("code:", 1)[1])
    assert set(STATUS_OF_REFUSAL) == set(codes)


def test_a_busy_world_says_when_to_come_again() -> None:
    reply = reply_to(answers.Refused(ok=False, refused="busy", error="busy", retry_after_s=1))
    assert (reply.status, reply.headers) == (503, ((b"retry-after", b"1"),))


def test_lone_surrogates_of_a_guest_are_escaped_and_nothing_else_changes() -> None:
    answer = answers.CallOk(True, msgspec.Raw(b'["\\ud800"]'), 1, ["x\ud800é"])
    assert as_json(answer) == '{"ok":true,"value":["\\ud800"],"revision":1,"logs":["x\\ud800é"]}'.encode()
    rows = answers.DataPage([answers.DataRow("\udfff", msgspec.Raw(b"1"))], False)
    assert as_json(rows) == b'{"items":[{"key":"\\udfff","value":1}],"more":false}'


def test_a_failure_leaves_out_the_hint_that_it_has_not() -> None:
    assert failed(404, "no").body == b'{"error":"no"}'
    assert failed(404, "no", "try").body == b'{"error":"no","hint":"try"}'
