"""Every refusal that a hub can give: what is wrong, where, and what to do. Codes are for programs."""

from __future__ import annotations

from engine import limits
from engine.hub.messages import Refusal

CODES = (
    "busy",
    "draining",
    "purged",
    "archived",
    "frozen",
    "bad-reason",
    "already-head",
    "no-revision",
    "no-incident",
    "no-key",
    "size",
    "no-golden",
    "not-a-call",
    "pinned",
    "too-many",
    "closed",
    "request-conflict",
    "storage",
)


def busy(what: str) -> Refusal:
    return Refusal(
        "busy",
        f"the world is busy: {what}",
        hint="try again; nothing was done",
        retry_after_s=limits.BUSY_RETRY_AFTER_S,
    )


def draining() -> Refusal:
    return Refusal(
        "draining",
        "the server is stopping and takes no new work",
        hint="try again when it is back; nothing was done",
        retry_after_s=limits.DRAINING_RETRY_AFTER_S,
    )


def purged() -> Refusal:
    return Refusal("purged", "the world was purged; only its tombstone is left", hint="create a new world")


def purging() -> Refusal:
    return Refusal("purged", "the world is being purged", hint="create a new world")


def archived() -> Refusal:
    return Refusal(
        "archived", "the world is archived and can only be read", hint="set archived to false first"
    )


def frozen() -> Refusal:
    return Refusal(
        "frozen",
        "the world is frozen and gets no new revisions",
        hint="set frozen to false first; calls go on",
    )


def bad_reason() -> Refusal:
    return Refusal(
        "bad-reason", "reason: must not be blank", hint="say why; the reason is kept with the record"
    )


def already_head(revision: int) -> Refusal:
    return Refusal(
        "already-head", f"revision: {revision} is the head already", hint="name an earlier revision"
    )


def no_revision(revision: int, *, head: int) -> Refusal:
    return Refusal(
        "no-revision", f"revision: there is no revision {revision}", hint=f"the revisions are 0 to {head}"
    )


def no_incident(incident: int, *, newest: int) -> Refusal:
    hint = f"the incidents are 1 to {newest}" if newest else "the world has had no incident"
    return Refusal("no-incident", f"there is no incident {incident}", hint=hint)


def no_key(key: str) -> Refusal:
    return Refusal(
        "no-key", f"there is no data under {key!r}, so nothing was deleted", hint="`pw data` lists the keys"
    )


def restores_too_much(size_bytes: int) -> Refusal:
    return Refusal(
        "size",
        f"at: to bring all of that back writes {size_bytes} bytes; at most {limits.DATA_WRITES_BYTES_MAX} at once",
        hint="give a prefix, and bring the data back part by part",
    )


def incident_closed(incident: int) -> Refusal:
    return Refusal(
        "closed",
        f"incident {incident} is closed",
        hint="it was retried, answered or dismissed; call the function anew if that is meant",
    )


def no_golden(n: int, *, newest: int) -> Refusal:
    hint = f"they are numbered 1 to {newest}" if newest else "nothing was pinned or held"
    return Refusal("no-golden", f"there is no golden {n}", hint=hint)


def golden_pinned(n: int) -> Refusal:
    return Refusal(
        "closed",
        f"golden {n} is a pinned result, and no held change",
        hint="bless or reject the change that was held because of it; or unpin it",
    )


def golden_held(n: int) -> Refusal:
    return Refusal("closed", f"golden {n} is a held change, and no pinned result", hint="bless or reject it")


def golden_closed(n: int) -> Refusal:
    return Refusal("closed", f"golden {n} is closed", hint="it was blessed, rejected, replaced or unpinned")


def not_a_call(seq: int, reason: str) -> Refusal:
    return Refusal("not-a-call", f"call: record {seq} {reason}", hint="`pw log` lists the world's records")


def pinned_already(call: int, id: str, name: str, reason: str) -> Refusal:
    why = f", for the reason {reason!r}" if reason else ""
    return Refusal(
        "pinned",
        f"call: record {call} is pinned already as {id}, by the name {name!r}{why}; it stays as it is",
        hint=f"`pw goldens show {id}` shows what it is to come to; unpin it to pin it anew",
    )


def too_many_goldens() -> Refusal:
    return Refusal(
        "too-many",
        f"{limits.GOLDENS_MAX} results of this world are pinned already",
        hint="unpin one that matters less",
    )


def too_many_held() -> Refusal:
    return Refusal(
        "too-many",
        f"{limits.HELD_CHANGES_MAX} changes of this world are held already",
        hint="bless or reject some: `pw goldens` lists them",
    )


def request_conflict(request_id: str) -> Refusal:
    return Refusal(
        "request-conflict",
        f"requestId: {request_id!r} was used for another request to this world",
        hint="repeat the same request under the same id, or use a new id",
    )


def storage(reason: str) -> Refusal:
    return Refusal(
        "storage",
        f"the outcome could not be stored: {reason}",
        hint="try again once the server's storage is well (pw doctor says what is wrong), under the same requestId "
        "if it had one: then it is done once, whatever the disk has kept",
    )


def lost(reason: str) -> Refusal:
    """A job that came to no outcome: the storage refused what it needed, or a heap could not be read."""
    return Refusal(
        "storage",
        f"the operation could not be carried out: {reason}",
        hint="nothing of it was kept; pw doctor says what is wrong with the storage and what to do",
    )
