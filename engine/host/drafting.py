"""What an attempt hands to its draft, and what the bodies of several kinds take from a draft."""

from __future__ import annotations

from dataclasses import dataclass

from engine.host.goldens import Judged, attempted_by
from engine.hub import messages as hub
from engine.logic import Catalogue
from engine.record import kinds


@dataclass(frozen=True, slots=True)
class Attempted:
    """What an attempt's job hands to its draft: everything of the record that the hub does not number."""

    source: str
    commonjs: str | None
    rewritten: str
    changes: kinds.Changes
    definitions: list[kinds.Definition]
    logs: list[str]
    fuel: int
    catalogue: Catalogue
    prelude_version: int
    heap: kinds.HeapRef | None = None
    kind: str = ""
    reason: str = ""
    check: str | None = None
    counterexample: str | None = None
    generator: str | None = None
    input: bytes | None = None
    judged: Judged | None = None
    held: kinds.Held | None = None
    """The held change that is attempted once more, if it is one."""


def attempted(draft: hub.Draft) -> hub.Operation:
    """What was attempted: of a blessing, the change that was held."""
    if isinstance(draft.operation, hub.Bless):
        held = draft.detail.held
        assert held is not None, "a blessing is of a held change"
        return attempted_by(held)
    return draft.operation


def cause_of(operation: hub.Operation) -> str:
    causes = {hub.Develop: "develop", hub.Rollback: "rollback", hub.Upgrade: "upgrade", hub.Enrol: "check"}
    return causes[type(operation)]


def summary_of(operation: hub.Operation) -> str:
    if isinstance(operation, hub.Rollback):
        return operation.reason
    if isinstance(operation, hub.Enrol):
        return f"check {operation.name}"
    return operation.summary if isinstance(operation, hub.Develop) else "prelude upgraded"


def request_of(draft: hub.Draft) -> kinds.Request | None:
    return kinds.Request(draft.request.id, draft.request.hash) if draft.request else None
