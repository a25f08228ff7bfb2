"""What goes into a world's hub and what comes out: operations, events, effects, answers.

`hub.step(world, event) -> effects` decides; the host performs the effects and feeds what came of them back as
events. `detail` fields are the host's own (a job's outcome, for instance): the hub carries them and never
looks inside. Times are flicks; `op` numbers are the host's, unique in its process, and creation order breaks
every tie.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# ---- operations: what a client may ask of one world --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Develop:
    source: str
    summary: str
    commonjs: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """`path`: the worlds that it has passed through, the first one first, without this one.

    `retries` is the incident that it tries again. `asynchronous`: its client wants to hear that it is admitted,
    durably, and asks for the outcome later. `admitted` is the record of that, where recovery runs it again.
    """

    function: str
    args: bytes  # a JSON array
    path: tuple[str, ...] = ()
    retries: int | None = None
    asynchronous: bool = False
    admitted: int | None = None


@dataclass(frozen=True, slots=True)
class Execute:
    expression: str


@dataclass(frozen=True, slots=True)
class TryCall:
    """A call by another world's preview: a preview too. `session` is the host's, and holds its overlay."""

    function: str
    args: bytes
    path: tuple[str, ...]
    session: Any


@dataclass(frozen=True, slots=True)
class Enrol:
    name: str
    expression: str
    counterexample: str
    generator: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveCheck:
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class CloseIncident:
    incident: int
    how: str  # "answered" or "dismissed"
    reason: str
    value: bytes | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    worlds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetPage:
    access: str  # "private", "link" or "public"
    functions: tuple[str, ...]
    link_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Rollback:
    revision: int
    reason: str
    force: bool = False


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Put the present prelude behind the head of a world that was made on an older one."""


@dataclass(frozen=True, slots=True)
class EditData:
    key: str
    value: bytes | None  # JSON text; None deletes
    reason: str


@dataclass(frozen=True, slots=True)
class Describe:
    name: str | None = None
    archived: bool | None = None
    frozen: bool | None = None


@dataclass(frozen=True, slots=True)
class Purge:
    reason: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Write the state down, so that rebuilding and replaying need not begin at the genesis."""


@dataclass(frozen=True, slots=True)
class Interrupt:
    """What recovery found in the in-flight file: an operation of a dead process; `detail` is its entry."""

    detail: Any
    request: Request | None = None


Operation = (
    Develop
    | Call
    | Execute
    | TryCall
    | Enrol
    | RemoveCheck
    | CloseIncident
    | Grant
    | SetPage
    | Rollback
    | Upgrade
    | EditData
    | Describe
    | Purge
    | Checkpoint
    | Interrupt
)


@dataclass(frozen=True, slots=True)
class Request:
    """A client's request id and the hash of what it asked (Invariant 10)."""

    id: str
    hash: str


# ---- events ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Admit:
    """An operation arrived. `seed` was drawn for it and is used if it starts; `flick` is the clock's."""

    op: int
    operation: Operation
    actor: str
    request: Request | None
    flick: int
    monotonic_flicks: int
    seed: int


@dataclass(frozen=True, slots=True)
class Read:
    """What a job read: one key, or all keys with `key` as their prefix, from `after` (exclusive) to `until`.

    `until` None means to the end of the prefix.
    """

    key: str
    prefix: bool = False
    after: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Write:
    key: str
    value: bytes | None  # JSON text; None deletes


@dataclass(frozen=True, slots=True)
class CallDone:
    """A call or a preview ran. `missing`: the head has no such definition."""

    op: int
    ok: bool
    missing: bool
    reads: tuple[Read, ...]
    writes: tuple[Write, ...]
    detail: Any


@dataclass(frozen=True, slots=True)
class Ask:
    """One call of another world that an operation waits for; `ordinal` counts its calls from 0."""

    ordinal: int
    world: str
    function: str
    args: bytes  # a JSON array


@dataclass(frozen=True, slots=True)
class CallWaiting:
    """A call or preview cannot go on before another world answers. `asks` are new; `detail` is all it goes on with."""

    op: int
    asks: tuple[Ask, ...]
    detail: Any


@dataclass(frozen=True, slots=True)
class PeerAnswered:
    """What came of an ask. `value` is JSON text, or the error's text; `kind` is then the kind of failure."""

    op: int
    ordinal: int
    ok: bool
    value: bytes
    kind: str = ""


@dataclass(frozen=True, slots=True)
class AttemptDone:
    """A job under the change lock ran; its blobs are durable (Invariant 7).

    `seq` is the earlier record that says the same, where the verdict is "existing".
    """

    op: int
    verdict: str  # "accepted", "unchanged", "rejected"; of an enrolment "enrolled", "existing", "rejected"
    detail: Any
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class JobLost:
    """The job could not be run to an outcome (storage failed under it): refuse with this reason."""

    op: int
    reason: str


@dataclass(frozen=True, slots=True)
class Durable:
    """All drafts of this world up to `seq` are durable."""

    seq: int


@dataclass(frozen=True, slots=True)
class AppendFailed:
    """Nothing after `durable_seq` became durable; the world must fall back to there."""

    durable_seq: int
    reason: str


@dataclass(frozen=True, slots=True)
class TimerFired:
    token: int
    monotonic_flicks: int


@dataclass(frozen=True, slots=True)
class Drain:
    """No new work; what runs ends."""


Event = (
    Admit
    | CallDone
    | CallWaiting
    | PeerAnswered
    | AttemptDone
    | JobLost
    | Durable
    | AppendFailed
    | TimerFired
    | Drain
)

# ---- effects -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Resume:
    """How a waiting operation goes on: with the `detail` of its CallWaiting, and one answer."""

    detail: Any
    ordinal: int
    ok: bool
    value: bytes
    kind: str


@dataclass(frozen=True, slots=True)
class RunJob:
    """Run the operation at this revision on the data of this sequence. `rerun` counts from 0.

    With `resume` it goes on where it waited; else it begins.
    """

    op: int
    operation: Operation
    revision: int
    snapshot: int
    flick: int
    seed: int
    rerun: int
    resume: Resume | None = None


@dataclass(frozen=True, slots=True)
class AskPeer:
    """Ask another world, once for each `request_id` (Invariant 11); feed back PeerAnswered. `path` ends here."""

    op: int
    ask: Ask
    request_id: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as the call heard it."""

    ordinal: int
    world: str
    function: str
    ok: bool
    value: bytes


@dataclass(frozen=True, slots=True)
class Draft:
    """One record to append. The numbers are given here, once (Invariant 17); the host makes the body.

    `kind` is a record kind: revision, unchanged, rejection, call, preview, interrupted, data-edit, describe,
    purge, checkpoint, admitted, incident-closed, check-enrolled, check-removed, granted, page-set. `number` is
    the revision, rejection or incident that it makes.
    """

    seq: int
    kind: str
    op: int
    operation: Operation
    actor: str
    request: Request | None
    flick: int
    seed: int
    revision: int
    snapshot: int
    reruns: int
    number: int | None
    writes: tuple[Write, ...]
    failure: str | None  # set by the hub alone: "conflict"
    detail: Any
    answers: tuple[Answered, ...] = ()  # of other worlds, in the order in which the operation heard them


@dataclass(frozen=True, slots=True)
class Append:
    """Append these, in order. `urgent`: somebody waits; else it may ride with the next batch."""

    drafts: tuple[Draft, ...]
    urgent: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """End this operation for its client: with what the record `seq` says, or with a refusal."""

    op: int
    seq: int | None = None
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Not admitted, nothing recorded. `code` is for programs, `error` and `hint` teach."""

    code: str
    error: str
    hint: str | None = None
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True)
class SetTimer:
    token: int
    at_monotonic_flicks: int


@dataclass(frozen=True, slots=True)
class CancelTimer:
    token: int


@dataclass(frozen=True, slots=True)
class Drained:
    """A draining world has nothing running, queued or unappended."""


Effect = RunJob | AskPeer | Append | Answer | SetTimer | CancelTimer | Drained


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the hub must know of a world when it is opened: its durable state in numbers.

    `requests` are those of the last 24 h: id -> (hash, seq of the outcome, flick).
    `rows` are all rows of data, as JSON text, sorted by key. `closed_incidents` ascend.
    """

    world: str
    seq: int
    revision: int
    next_revision: int
    next_rejection: int
    next_incident: int
    archived: bool
    frozen: bool
    purged: bool
    requests: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    rows: tuple[tuple[str, bytes], ...] = ()
    closed_incidents: tuple[int, ...] = ()
