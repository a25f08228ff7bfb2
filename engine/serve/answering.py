"""What goes out: every answer's status and its JSON bytes. One place says which answer has which status."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.host import answers, golden_answers, incident_answers, recording_answers
from engine.host.answers import as_json

JSON = b"application/json"
Headers = tuple[tuple[bytes, bytes], ...]

STATUS_OF_ANSWER: dict[type, int] = {
    answers.Created: 201,
    recording_answers.Imported: 201,
    answers.Enrolled: 201,
    answers.Started: 202,
    answers.Rejected: 422,
    golden_answers.Pinned: 201,
    golden_answers.RefusedPin: 422,
    golden_answers.Held: 202,
    golden_answers.WouldReject: 422,
    answers.RefusedCheck: 422,
    answers.CallFailed: 422,
    answers.PreviewFailed: 422,
    incident_answers.TryRejected: 422,
    answers.Missing: 404,
}
STATUS_OF_REFUSAL = {
    "busy": 503,
    "draining": 503,
    "read-only": 503,
    "storage": 503,
    "request-conflict": 409,
    "archived": 409,
    "frozen": 409,
    "quarantined": 409,
    "already-head": 409,
    "purged": 410,
    "erased": 410,
    "no-call": 409,
    "closed": 409,
    "pinned": 409,
    "no-incident": 404,
    "no-revision": 404,
    "no-golden": 404,
    "not-a-call": 404,
    "too-many": 409,
    "exists": 409,
    "importing": 409,
    "clock": 409,
    "foreign": 409,
    "recording": 400,
    "bad-reason": 400,
    "size": 400,
}


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a request came to nothing at the door; `hint` says what to do."""

    error: str
    hint: str | None = None


class Reply:
    """A finished response: status, body, content type, further headers."""

    __slots__ = ("body", "content_type", "headers", "status")

    def __init__(
        self,
        status: int,
        body: bytes,
        content_type: bytes = JSON,
        headers: Headers = (),
    ) -> None:
        self.status = status
        self.body = body
        self.content_type = content_type
        self.headers = headers


def reply_to(answer: Any) -> Reply:
    """The reply that says `answer`: a struct or list of engine.host.answers, a Failure, plain JSON values."""
    if isinstance(answer, answers.Refused):
        return _refused(answer)
    return Reply(STATUS_OF_ANSWER.get(type(answer), 200), as_json(answer))


def started(answer: answers.Started, location: str) -> Reply:
    """The reply to `Prefer: respond-async`: `location` is where the outcome can be asked for."""
    reply = reply_to(answer)
    headers = ((b"location", location.encode()), (b"preference-applied", b"respond-async"))
    return Reply(reply.status, reply.body, headers=headers)


def failed(status: int, error: str, hint: str | None = None, *, headers: Headers = ()) -> Reply:
    """A reply of the door itself."""
    return Reply(status, as_json(Failure(error, hint)), headers=headers)


def _refused(answer: answers.Refused) -> Reply:
    headers: Headers = ()
    if answer.retry_after_s is not None:
        headers = ((b"retry-after", str(answer.retry_after_s).encode()),)
    return Reply(STATUS_OF_REFUSAL[answer.refused], as_json(answer), headers=headers)
