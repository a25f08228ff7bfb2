"""From drafts to the bodies of records that pin results and hold changes of them."""

from __future__ import annotations

import msgspec

from engine.host.drafting import Attempted, attempted, cause_of, request_of, summary_of
from engine.host.goldens import RefusedPin
from engine.hub import messages as hub
from engine.record import kinds


def golden_pinned(draft: hub.Draft) -> kinds.Body:
    """`detail` is the body but for what the hub gives."""
    assert draft.number is not None, "a golden is numbered"
    body: kinds.GoldenPinned = draft.detail
    return msgspec.structs.replace(body, n=draft.number, request=request_of(draft))


def refused_pin(draft: hub.Draft, pin: hub.Pin) -> kinds.Body:
    refused: RefusedPin = draft.detail
    assert draft.number is not None, "a rejection is numbered"
    return kinds.Rejection(
        n=draft.number,
        base=draft.revision,
        cause="pin",
        source="",
        commonjs=None,
        summary=f"pin {pin.call}",
        kind=refused.kind,
        reason=refused.reason,
        check=None,
        logs=[],
        fuel=0,
        request=request_of(draft),
    )


def golden_unpinned(draft: hub.Draft) -> kinds.Body:
    operation = draft.operation
    assert isinstance(operation, hub.Unpin)
    return kinds.GoldenUnpinned(golden=operation.golden, reason=operation.reason, request=request_of(draft))


def held(draft: hub.Draft) -> kinds.Body:
    attempt: Attempted = draft.detail
    operation, judged = attempted(draft), attempt.judged
    assert draft.number is not None and judged is not None, "what is held has a number and a reason"
    return kinds.Held(
        n=draft.number,
        base=draft.revision,
        cause=cause_of(operation),
        source=attempt.source,
        commonjs=attempt.commonjs,
        summary=summary_of(operation),
        target=operation.revision if isinstance(operation, hub.Rollback) else None,
        root=judged.root,
        changes=attempt.changes,
        goldens=judged.goldens,
        differs=judged.differs,
        tried_until=judged.tried_until,
        logs=attempt.logs,
        fuel=attempt.fuel,
        replaces=attempt.held.n if attempt.held else None,
        request=request_of(draft),
    )


def held_rejected(draft: hub.Draft) -> kinds.Body:
    operation = draft.operation
    assert isinstance(operation, hub.RejectHeld)
    return kinds.HeldRejected(held=operation.held, reason=operation.reason, request=request_of(draft))
