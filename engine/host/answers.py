"""What the host answers: the shapes of the REST API as structs, ready for `msgspec.json`.

Answers to operations are one of `OperationAnswer`; reads return the row structs. Field names are those of the wire.
Fields with a default are left out of the JSON where they hold it.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from engine.host.golden_answers import Triaged
from engine.record.kinds import Changes


class _Shape(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    pass


# ---- answers to operations ------------------------------------------------------------------------------------------


class Created(_Shape, frozen=True):
    id: str
    name: str
    revision: int = msgspec.field(name="revision")


class Accepted(_Shape, frozen=True, tag_field="status", tag="accepted"):
    revision: int
    changes: Changes
    logs: list[str]


class Unchanged(_Shape, frozen=True, tag_field="status", tag="unchanged"):
    revision: int


class Rejected(_Shape, frozen=True, tag_field="status", tag="rejected"):
    rejection: int
    kind: str
    reason: str
    logs: list[str]
    check: str | None = None
    input: msgspec.Raw | None = None


class CheckRow(_Shape, frozen=True):
    """An enrolled check; `inputs` counts the inputs that were drawn for it."""

    name: str
    expression: str
    counterexample: str
    revision: int
    generator: str | None = None
    inputs: int = 0


class Enrolled(_Shape, frozen=True, tag_field="status", tag="enrolled"):
    check: CheckRow


class RefusedCheck(_Shape, frozen=True, tag_field="status", tag="refused"):
    """`input` is the smallest input that the check failed for, where it was one of a generator's."""

    rejection: int
    kind: str
    reason: str
    input: msgspec.Raw | None = None


class Started(_Shape, frozen=True):
    """Durably admitted: 202. The outcome is to be asked for under this number."""

    ok: bool
    operation: int


class CallOk(_Shape, frozen=True):
    ok: bool
    value: msgspec.Raw
    revision: int
    logs: list[str]
    abandoned: list[str] = []


class CallFailed(_Shape, frozen=True):
    """`incident` is None where the definition was missing (404) or nothing was recorded as an incident."""

    ok: bool
    failure: str
    error: str
    logs: list[str]
    hint: str | None = None
    incident: int | None = None


class RolledBack(_Shape, frozen=True, omit_defaults=False):
    set: list[str]
    deleted: list[str]


class PreviewOk(_Shape, frozen=True):
    """`at` is the record whose moment it looked at, where that was not the present."""

    ok: bool
    value: msgspec.Raw
    rolled_back: RolledBack
    logs: list[str]
    at: int | None = None


class PreviewFailed(_Shape, frozen=True):
    ok: bool
    failure: str
    error: str
    rolled_back: RolledBack
    logs: list[str]
    hint: str | None = None
    at: int | None = None


class Restored(_Shape, frozen=True):
    """Data is as it was after record `at`, by record `seq`. A dry run has none: it says what would be written."""

    ok: bool
    at: int
    restored: RolledBack
    seq: int | None = None


class Done(_Shape, frozen=True):
    """A data edit, a description or a purge was recorded as record `seq`."""

    ok: bool
    seq: int


class Missing(_Shape, frozen=True):
    """No such world, definition, revision ...: 404."""

    ok: bool
    error: str
    hint: str | None = None


class Refused(_Shape, frozen=True):
    """Not admitted. `refused` is a code: busy, draining, read-only, storage (503), request-conflict, archived, frozen,
    quarantined, already-head, closed, no-call, pinned, too-many, exists, importing, clock, foreign (409), purged,
    erased (410), no-revision, no-incident, no-golden, not-a-call (404), bad-reason, size, recording (400)."""

    ok: bool
    refused: str
    error: str
    hint: str | None = None
    retry_after_s: int | None = None


OperationAnswer = (
    Created
    | Accepted
    | Unchanged
    | Rejected
    | Enrolled
    | RefusedCheck
    | Started
    | CallOk
    | CallFailed
    | PreviewOk
    | PreviewFailed
    | Restored
    | Done
    | Missing
    | Refused
    | Triaged
)

# ---- rows of reads --------------------------------------------------------------------------------------------------


class WorldSummary(_Shape, frozen=True, omit_defaults=False):
    """`incidents` counts the open ones, `records` all that were ever written."""

    id: str
    name: str
    revision: int
    archived: bool
    frozen: bool
    purged: bool
    created_at: str
    definitions: int
    incidents: int
    records: int
    engine: str
    prelude: int


class DefinitionRow(_Shape, frozen=True, omit_defaults=False):
    """`calls` and `called_by` name other definitions, sorted; `revision` is the one that made this text."""

    name: str
    kind: str
    version: int
    params: list[str]
    doc: str
    source: str
    revision: int
    calls: list[str]
    called_by: list[str]


class RevisionRow(_Shape, frozen=True):
    """`seq` is the record that made it: the world was so from that moment on."""

    n: int
    seq: int
    parent: int | None
    kind: str
    summary: str
    actor: str
    at: str
    changes: Changes
    snapshot: str
    bytes: int
    source: str | None = None


class RevisionPage(_Shape, frozen=True, omit_defaults=False):
    revisions: list[RevisionRow]
    more: bool


class RejectionRow(_Shape, frozen=True):
    n: int
    base: int
    kind: str
    reason: str
    summary: str
    actor: str
    at: str
    source: str
    logs: list[str]
    check: str | None = None


class RejectionPage(_Shape, frozen=True, omit_defaults=False):
    rejections: list[RejectionRow]
    more: bool


class PeerAnswerRow(_Shape, frozen=True):
    world: str
    function: str
    ok: bool
    value: str


class IncidentRow(_Shape, frozen=True):
    """`alike` counts the incidents of the same function and first line of error."""

    n: int
    kind: str
    function: str
    args: msgspec.Raw
    error: str
    revision: int
    snapshot: int
    flick: int
    seed: int
    actor: str
    at: str
    state: str
    logs: list[str]
    alike: int
    hint: str | None = None
    closed_reason: str | None = None
    answer: msgspec.Raw | None = None
    retried: int | None = None
    answers: list[PeerAnswerRow] = []


class RemovedCheckRow(_Shape, frozen=True):
    name: str
    expression: str
    reason: str
    actor: str
    at: str


class CheckList(_Shape, frozen=True, omit_defaults=False):
    checks: list[CheckRow]
    removed: list[RemovedCheckRow]


class Grants(_Shape, frozen=True, omit_defaults=False):
    worlds: list[str]


class PageAccess(_Shape, frozen=True, omit_defaults=False):
    """`access` is private, link or public; `functions` are what the page may call."""

    access: str
    functions: list[str]
    link_hash: str | None


class Graph(_Shape, frozen=True, omit_defaults=False):
    """Who calls whom, both ways: each definition's name to the names it refers to, and that refer to it."""

    calls: dict[str, list[str]]
    called_by: dict[str, list[str]]


class OperationState(_Shape, frozen=True):
    """What became of an operation that was answered 202: `answer` once it ended."""

    operation: int
    state: str
    answer: msgspec.Raw | None = None


class IncidentPage(_Shape, frozen=True, omit_defaults=False):
    incidents: list[IncidentRow]
    more: bool


class DataRow(_Shape, frozen=True):
    key: str
    value: msgspec.Raw


class DataPage(_Shape, frozen=True, omit_defaults=False):
    items: list[DataRow]
    more: bool


class LogRow(_Shape, frozen=True):
    seq: int
    kind: str
    actor: str
    at: str
    hash: str
    body: msgspec.Raw | None = None


class LogPage(_Shape, frozen=True, omit_defaults=False):
    records: list[LogRow]
    more: bool


class Health(_Shape, frozen=True, omit_defaults=False):
    """`state` is ready, draining or read-only; `reason` says why it is not ready."""

    state: str
    reason: str
    warnings: list[str]


class Version(_Shape, frozen=True, omit_defaults=False):
    build: str
    engine: str
    prelude: int
    vm: str


def as_json(shape: Any) -> bytes:
    """A shape, or a record's body, as JSON text. Lone surrogates, which a guest's text may hold, are escaped."""
    try:
        return msgspec.json.encode(shape)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(shape, enc_hook=_parsed)
        text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def record_as_json(body: Any) -> bytes:
    """A record's body as JSON text. What it holds as bytes is UTF-8 (arguments, values, errors): it is shown as that
    text, exactly as it was recorded."""
    return as_json(_with_texts(msgspec.to_builtins(body, builtin_types=(bytes,))))


def _with_texts(value: Any) -> Any:
    match value:
        case bytes():
            return value.decode("utf-8", "replace")
        case dict():
            return {name: _with_texts(member) for name, member in value.items()}
        case list() | tuple():
            return [_with_texts(member) for member in value]
    return value


_SURROGATE = re.compile("[\ud800-\udfff]")


def _parsed(raw: msgspec.Raw) -> Any:
    return json.loads(bytes(raw))
