"""What goes into a world's hub and what comes out: operations, events, effects, answers.

`hub.step(world, event) -> effects` decides; the host performs the effects and feeds what came of them back as
events. `detail` fields are the host's own (a job's outcome, for instance): the hub carries them and never
looks inside. Times are flicks; `op` numbers are the host's, unique in its process, and creation order breaks
every tie.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engine.hub.operations import (  # noqa: F401  who speaks with a hub finds all its words here
    Bless,
    Call,
    Checkpoint,
    CloseIncident,
    Describe,
    Develop,
    EditData,
    Enrol,
    Execute,
    Grant,
    Interrupt,
    Operation,
    Pin,
    Purge,
    RejectHeld,
    RemoveCheck,
    Request,
    RestoreData,
    Rollback,
    SetPage,
    TryCall,
    Unpin,
    Upgrade,
    asked_as,
)

# ---- events ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Admit:
    """An operation arrived. `seed` was drawn for it and is used if it starts; `flick` is what its clock says.

    That is when it arrived, unless it is run again as it ran before: `arrived_flick` says then when. `rerun` counts
    the runs that a replay leaves out, since the last one alone was recorded. `asks_as` is the name under which a call
    that is made again has asked other worlds before, where that is neither its request's nor made of flick and seed.
    """

    op: int
    operation: Operation
    actor: str
    request: Request | None
    flick: int
    monotonic_flicks: int
    seed: int
    arrived_flick: int | None = None
    rerun: int = 0
    asks_as: str | None = None


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
    """A call or preview cannot go on before another world answers: one of `asks`, or of those before them.

    `detail` is all that it goes on with.
    """

    op: int
    asks: tuple[Ask, ...]
    detail: Any
    monotonic_flicks: int  # of now: the asks are answered within a time


@dataclass(frozen=True, slots=True)
class PeerAnswered:
    """What came of an AskPeer. `value` is JSON text, or the error's text; `kind` is then the kind of failure."""

    op: int
    ordinal: int  # that of the AskPeer
    ok: bool
    value: bytes
    kind: str = ""


@dataclass(frozen=True, slots=True)
class AttemptDone:
    """A job under the change lock ran; its blobs are durable (Invariant 7).

    `seq` is the earlier record that says the same, where the verdict is "existing".
    """

    op: int
    # "accepted", "unchanged", "rejected", "held"; of an enrolment "enrolled", "existing", "rejected"; of a pin
    # "pinned", "existing", "rejected".
    verdict: str
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
    """No new work, but for other worlds' running calls; what runs ends or stays parked."""


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
    """Ask another world, once for each `request_id` (Invariant 11); feed back PeerAnswered. `path` ends here.

    `ask.ordinal` counts the asks of the operation over all its runs, so that what an earlier run asked and
    this one did not is told apart, however late its answer comes.
    """

    op: int
    ask: Ask
    request_id: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as the operation heard it; `ordinal` counts the calls of its last run, `kind` is as in PeerAnswered."""

    ordinal: int
    world: str
    function: str
    ok: bool
    value: bytes
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """One record to append. The numbers are given here, once (Invariant 17); the host makes the body.

    `kind` is a record kind: revision, unchanged, rejection, call, preview, interrupted, data-edit, describe,
    purge, checkpoint, admitted, incident-closed, check-enrolled, check-removed, granted, page-set,
    data-restored, golden-pinned, golden-unpinned, held, held-rejected. `number` is the revision, rejection, incident
    or golden that it makes. `flick` is what the operation's clock said, `arrived_flick` when it arrived: the record's
    time.
    """

    seq: int
    kind: str
    op: int
    operation: Operation
    actor: str
    request: Request | None
    flick: int
    arrived_flick: int
    seed: int
    revision: int
    snapshot: int
    reruns: int
    number: int | None
    writes: tuple[Write, ...]
    failure: str | None  # set by the hub alone: "conflict"
    detail: Any
    answers: tuple[Answered, ...] = ()  # of other worlds, in the order in which the operation heard them
    asks_as: str | None = None  # where `request` does not say it


@dataclass(frozen=True, slots=True)
class Append:
    """Append these, in order. `urgent`: somebody waits; else it may ride with the next batch."""

    drafts: tuple[Draft, ...]
    urgent: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """End this operation for its client: with what the record `seq` says, or with a refusal.

    With `goes_on` it ends for its client alone, who hears that it is admitted; another answer ends it.
    """

    op: int
    seq: int | None = None
    refusal: Refusal | None = None
    goes_on: bool = False


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
    """A draining world has nothing running, queued or unappended.

    Calls that are durably admitted may be parked: the next process runs them again. A call of another world
    may still arrive; once it has ended, this is said again.
    """


Effect = RunJob | AskPeer | Append | Answer | SetTimer | CancelTimer | Drained


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the hub must know of a world when it is opened: its durable state in numbers.

    `requests` are those of the last 24 h: id -> (hash, seq of the outcome, flick).
    `rows` are all rows of data, as JSON text, sorted by key. `closed_incidents`, `goldens` and `held` ascend.
    `running_max` is how many calls run at once where that is not CALLS_RUNNING_MAX.
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
    next_golden: int = 1
    goldens: tuple[int, ...] = ()  # pinned
    held: tuple[int, ...] = ()  # open
    running_max: int | None = None
