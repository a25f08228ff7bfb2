"""What running an incident again answers: the run, its steps, and what an edited definition made of it."""

from __future__ import annotations

import msgspec

from engine.host.answers import RolledBack
from engine.record.kinds import Changes


class _Shape(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    pass


class StepRow(_Shape, frozen=True):
    """One step: `kind` is read, list, write, delete, console, look, ask, answer or end.

    `value` is what was read, listed, written, asked with, answered or returned; of a delete whether there was anything.
    `absent`: a read found nothing. `error` stands in its place where the step failed. `own`: the operation read
    what it had written itself. `asOfNow`: it had not looked at that when it was recorded. `leftOutBytes`: so large was
    what is not shown.
    """

    n: int
    kind: str
    key: str | None = None
    prefix: str | None = None
    look: str | None = None
    value: msgspec.Raw | None = None
    text: str | None = None
    error: str | None = None
    failure: str | None = None
    world: str | None = None
    function: str | None = None
    ordinal: int | None = None
    after: str | None = None
    limit: int | None = None
    absent: bool = False
    own: bool = False
    as_of_now: bool = False
    left_out_bytes: int = 0


class AskRow(_Shape, frozen=True):
    """A call of another world that nobody had answered: it was not made."""

    world: str
    function: str
    args: msgspec.Raw


class CameTo(_Shape, frozen=True):
    """What a run came to: `outcome` is value, failed, interrupted, or asks, where it stopped at what it would ask."""

    outcome: str
    logs: list[str]
    value: msgspec.Raw | None = None
    failure: str | None = None
    error: str | None = None
    hint: str | None = None
    fuel: int | None = None
    rolled_back: RolledBack | None = None
    abandoned: list[str] = []
    asks: list[AskRow] = []


class BrokenCheck(_Shape, frozen=True):
    """A check of the world that a develop of this would break."""

    check: str
    kind: str
    reason: str
    input: msgspec.Raw | None = None


class TriedReplay(_Shape, frozen=True):
    """The same call on an edited heap. `departs` is the first step that is another than before; `logs` the edit's."""

    changes: Changes
    logs: list[str]
    now: CameTo
    steps: list[StepRow]
    cut: bool = False
    departs: int | None = None
    broken: BrokenCheck | None = None


class IncidentReplayed(_Shape, frozen=True):
    """An incident, run again. `differs` names the fields in which it is not as recorded; `same`: there are none.

    `cut`: there were more steps than are shown.
    """

    incident: int
    same: bool
    differs: list[str]
    recorded: CameTo
    now: CameTo
    steps: list[StepRow]
    cut: bool = False
    tried: TriedReplay | None = None


class TryRejected(_Shape, frozen=True, tag_field="status", tag="rejected"):
    """What was to be tried is no change that a develop would accept. It has no number: nothing was recorded."""

    kind: str
    reason: str
    logs: list[str]
