"""What a record can say: its header, and one body a kind. These are formats: a field is never reused or
reordered.

Bodies are msgpack maps in the order of their fields, so equal values give equal bytes. A kind that this
version does not know is refused by name. Fields that hold their default are left out, so a field that is
added later, at the end and with a default, leaves the bytes of old records as they were. `heap` fields name a
heap by its root and the blob that holds it (see `heaps`).
"""

# ruff: noqa: RUF012  msgspec gives each value a list of its own

from __future__ import annotations

from engine.record.golden_kinds import Blessed, GoldenPinned, GoldenUnpinned, Held, HeldRejected
from engine.record.kind_parts import (
    Changes,
    Definition,
    Developed,
    Failure,
    HeapRef,
    Look,
    Origin,
    Part,
    PeerAnswer,
    Request,
    Write,
)


class Genesis(Part, frozen=True, tag="genesis"):
    """The first record. Of a copy `origin` says where it comes from: then `heap` is that state's, not a new world's.

    `definitions` are then its catalogue, and `sources` the texts that errors in them point into; its checks and its
    data follow as records of their own.
    """

    name: str
    engine: str
    engine_blob: str
    prelude_version: int
    heap: HeapRef
    request: Request | None = None
    origin: Origin | None = None
    definitions: list[Definition] = []
    sources: list[Developed] = []


class Revision(Part, frozen=True, tag="revision"):
    """A new head. `definitions` are those added or changed; the others are as in the parent.

    `cause` is develop, rollback or upgrade; for a rollback `target` is the revision whose heap returned and
    `definitions` and `changes` say what that changed against the parent. `blessed` is what it changed of pinned
    results, where the operator blessed that: they are pinned as they are now. `unlike` are the numbers of those that it
    does not give all the same, since a rollback was forced.
    """

    n: int
    parent: int
    cause: str
    summary: str
    source: str
    commonjs: str | None
    rewritten: str
    heap: HeapRef
    prelude_version: int
    changes: Changes
    definitions: list[Definition]
    logs: list[str]
    fuel: int
    target: int | None = None
    forced: bool = False
    request: Request | None = None
    blessed: Blessed | None = None
    unlike: list[int] = []


class Unchanged(Part, frozen=True, tag="unchanged"):
    """`blesses` is the held change that was blessed and, on the head of now, changes nothing any more."""

    revision: int
    source: str
    commonjs: str | None
    summary: str
    logs: list[str]
    fuel: int
    request: Request | None = None
    blesses: int | None = None


class Rejection(Part, frozen=True, tag="rejection"):
    """An attempt that left no trace but this. `target` is the revision of a rollback, `seed` drew a check's inputs."""

    n: int
    base: int
    cause: str
    source: str
    commonjs: str | None
    summary: str
    kind: str
    reason: str
    check: str | None
    logs: list[str]
    fuel: int
    request: Request | None = None
    counterexample: str | None = None
    generator: str | None = None
    input: bytes | None = None
    target: int | None = None
    seed: int | None = None


class Call(Part, frozen=True, tag="call"):
    """One call and its outcome: `value` is the JSON text as the guest made it, or None where it failed.

    `snapshot` is the sequence whose data it read, `incident` its number where it failed. `path` are the worlds that
    the call had passed through, `answers` what other worlds said, in the order in which the call heard it,
    `abandoned` the calls that it did not wait for. `retries` is the incident that it tries again, `admitted` the
    record that it was admitted by, if it had one. `asks_as` is the name under which it asked other worlds, where
    neither its request nor its flick and seed make it.
    """

    function: str
    args: bytes
    revision: int
    snapshot: int
    flick: int
    seed: int
    value: bytes | None
    failure: Failure | None
    writes: list[Write]
    logs: list[str]
    fuel: int
    reruns: int
    incident: int | None = None
    request: Request | None = None
    path: list[str] = []
    answers: list[PeerAnswer] = []
    abandoned: list[str] = []
    looks: list[Look] = []
    retries: int | None = None
    admitted: int | None = None
    asks_as: str | None = None


class Preview(Part, frozen=True, tag="preview"):
    """An `execute`: nothing of it lasts; `undone` is what it would have written.

    `overlay` is what the preview that called it would have written here before: it saw that over the data.
    """

    expression: str
    revision: int
    snapshot: int
    flick: int
    seed: int
    value: bytes | None
    failure: Failure | None
    undone: list[Write]
    logs: list[str]
    fuel: int
    request: Request | None = None
    function: str | None = None
    args: bytes = b""
    path: list[str] = []
    answers: list[PeerAnswer] = []
    abandoned: list[str] = []
    looks: list[Look] = []
    overlay: list[Write] = []


class Interrupted(Part, frozen=True, tag="interrupted"):
    """An operation that was in flight when the process ended; an incident of that kind.

    `deaths` counts the processes that ended while this same work ran; at the limit it is quarantined.
    `snapshot` and `seed` are those that it was admitted with.
    """

    incident: int
    operation: str
    subject: str
    args: bytes
    revision: int
    admitted_flick: int
    work: str
    deaths: int
    quarantined: bool
    request: Request | None = None
    snapshot: int = 0
    seed: int = 0
    asks_as: str | None = None


class Admitted(Part, frozen=True, tag="admitted"):
    """A call that its client does not wait for: it will be run to an outcome, by this process or a later one."""

    function: str
    args: bytes
    flick: int
    seed: int
    path: list[str]
    request: Request | None = None


class IncidentClosed(Part, frozen=True, tag="incident-closed"):
    """The operator's word on an incident: `how` is answered (by hand, with `value`) or dismissed (with a reason)."""

    incident: int
    how: str
    reason: str
    value: bytes | None
    request: Request | None = None


class CheckEnrolled(Part, frozen=True, tag="check-enrolled"):
    """A check that judges every change from now on; `inputs` are the JSON texts drawn for it, once, by `seed`."""

    name: str
    expression: str
    counterexample: str
    generator: str | None
    inputs: list[bytes]
    seed: int
    revision: int
    request: Request | None = None


class CheckRemoved(Part, frozen=True, tag="check-removed"):
    name: str
    reason: str
    request: Request | None = None


class Granted(Part, frozen=True, tag="granted"):
    """The worlds that this world may call from now on, sorted."""

    worlds: list[str]
    request: Request | None = None


class PageSet(Part, frozen=True, tag="page-set"):
    """Who may open the world's page (private, link, public) and which functions it may call, sorted.

    `link_hash` is the BLAKE3 of the link's key where there is one.
    """

    access: str
    functions: list[str]
    link_hash: str | None
    request: Request | None = None


class DataEdit(Part, frozen=True, tag="data-edit"):
    """The operator's own change of one key."""

    write: Write
    reason: str
    request: Request | None = None


class Describe(Part, frozen=True, tag="describe"):
    """A change of the world's own description; None leaves a field as it was.

    `read_bodies_kept_flicks` is how long bodies of read-only calls and previews are kept (see `retention`).
    """

    name: str | None = None
    archived: bool | None = None
    frozen: bool | None = None
    request: Request | None = None
    read_bodies_kept_flicks: int | None = None


class Purge(Part, frozen=True, tag="purge"):
    """The tombstone of a world: all bodies before this record may be erased, and nothing follows it."""

    reason: str
    request: Request | None = None


class Checkpoint(Part, frozen=True, tag="checkpoint"):
    """The head's heap, and all data as it was at sequence `snapshot`, as one blob with its LtHash digest.

    Records between the snapshot and the checkpoint's own may have written data.
    """

    revision: int
    heap: HeapRef
    data_blob: str
    data_digest: str
    rows: int
    snapshot: int


class DataRestored(Part, frozen=True, tag="data-restored"):
    """The operator brought data back: what was written so that all keys with the prefix are as after record `at`."""

    at: int
    prefix: str
    reason: str
    writes: list[Write]
    request: Request | None = None


class DataCopied(Part, frozen=True, tag="data-copied"):
    """Data that a copy begins with, as it was in its origin; of much data there are several of these."""

    writes: list[Write]


class Imported(Part, frozen=True, tag="imported"):
    """The records before this one were made in another directory: here a new lineage begins.

    `records` counts them and `head` is the hash of the last; `lineage` is drawn here, 16 hex digits, so two imports of
    one recording are told apart. Calls that were admitted there and had no outcome end here: whoever admitted them
    runs them, so here they are not run. Grants and who may open the page are as of a new world, until the operator says
    them here, and the request id of its creation is forgotten.
    """

    lineage: str
    records: int
    head: str


Body = (
    Genesis
    | Revision
    | Unchanged
    | Rejection
    | Call
    | Preview
    | Interrupted
    | DataEdit
    | Describe
    | Purge
    | Checkpoint
    | Admitted
    | IncidentClosed
    | CheckEnrolled
    | CheckRemoved
    | Granted
    | PageSet
    | DataRestored
    | GoldenPinned
    | GoldenUnpinned
    | Held
    | HeldRejected
    | DataCopied
    | Imported
)


class Header(Part, frozen=True, array_like=True):
    """The chained part of a record. `body_hash` and `previous` are BLAKE3 hex; the first `previous` is 64
    zeros.
    """

    format: int
    world: str
    seq: int
    kind: str
    actor: str
    flick: int
    body_hash: str
    previous: str


def writes_of(body: Body | None) -> list[Write]:
    """What a record wrote into its world's data. A body that was erased wrote nothing, or its world is purged."""
    match body:
        case Call() | DataRestored() | DataCopied():
            return body.writes
        case DataEdit():
            return [body.write]
        case _:
            return []
