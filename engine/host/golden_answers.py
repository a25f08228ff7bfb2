"""What is said of pinned results, of held changes, and of what a change would change. Names are those of the wire."""

from __future__ import annotations

import msgspec

from engine.record import kinds
from engine.record.golden_kinds import Difference, Outcome
from engine.record.kinds import Changes


class _Shape(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    pass


class WriteRow(_Shape, frozen=True):
    """What a call wrote under a key, or that it deleted it."""

    key: str
    value: msgspec.Raw | None = None
    deleted: bool = False


class OutcomeRow(_Shape, frozen=True):
    """A result: `value`, or `failure` and `error`; and what it wrote.

    `stopped`: it came to nothing, since it would have needed what was not recorded. `large` is the hash of a result
    that is too large to be kept; then `beginning` is how its value begins, `sizeBytes` what it takes.
    Of two results `logs` and `fuel` are given where they differ; they make no difference.
    """

    value: msgspec.Raw | None = None
    failure: str | None = None
    error: str | None = None
    stopped: str | None = None
    large: str | None = None
    writes: list[WriteRow] = []
    logs: list[str] | None = None
    fuel: int | None = None
    beginning: str = ""
    size_bytes: int = 0


class CallRow(_Shape, frozen=True):
    """A recorded call; `args` is left out where it is too large to be shown."""

    seq: int
    function: str
    args: msgspec.Raw | None = None


class DifferenceRow(_Shape, frozen=True):
    """A call that would come to something else; `golden` is the id of what it is pinned as."""

    call: CallRow
    before: OutcomeRow
    after: OutcomeRow
    golden: str | None = None
    name: str | None = None


class EndedRow(_Shape, frozen=True):
    """`by` is the revision, or the id of the held change, that came of it."""

    seq: int
    actor: str
    at: str
    reason: str
    by: str | None = None


class BlessingRow(_Shape, frozen=True):
    held: str
    revision: int
    actor: str
    at: str
    reason: str


class GoldenRow(_Shape, frozen=True):
    """A pinned result. `state` is pinned or unpinned; `outcome` is what the call is to come to now.

    `differs`: the head does not give it, since a rollback was forced.
    """

    id: str
    world: str
    n: int
    state: str
    name: str
    call: CallRow
    outcome: OutcomeRow
    reason: str
    actor: str
    at: str
    blessed: BlessingRow | None = None
    ended: EndedRow | None = None
    differs: bool = False


class HeldRow(_Shape, frozen=True):
    """A held change. `state` is open, blessed, rejected, replaced or unchanged. Lists leave its source out."""

    id: str
    world: str
    n: int
    state: str
    base: int
    cause: str
    summary: str
    changes: Changes
    goldens: list[DifferenceRow]
    differs: list[DifferenceRow]
    logs: list[str]
    actor: str
    at: str
    source: str | None = None
    commonjs: str | None = None
    target: int | None = None
    replaces: str | None = None
    ended: EndedRow | None = None


class GoldenPage(_Shape, frozen=True, omit_defaults=False):
    """Both kinds have one numbering; each list is newest first."""

    goldens: list[GoldenRow]
    held: list[HeldRow]
    more: bool


class Pinned(_Shape, frozen=True, tag_field="status", tag="pinned"):
    """A call's result is pinned: 201."""

    id: str
    golden: int
    name: str
    call: CallRow
    outcome: OutcomeRow


class RefusedPin(_Shape, frozen=True, tag_field="status", tag="refused"):
    """A call is not pinned: 422. Why is kept as a rejection."""

    rejection: int
    kind: str
    reason: str


class Held(_Shape, frozen=True, omit_defaults=False, tag_field="status", tag="held"):
    """The attempt would change results: 202, and no revision before `id` is blessed.

    `goldens` are pinned results, `differs` those of recorded calls, where it was tried against these. `replaces` is the
    held change whose blessing found something else than it had shown.
    """

    id: str
    held: int
    base: int
    goldens: list[DifferenceRow]
    differs: list[DifferenceRow]
    changes: Changes
    logs: list[str]
    replaces: str | None


class SkippedRow(_Shape, frozen=True):
    call: int
    reason: str


class DryRun(_Shape, frozen=True, omit_defaults=False):
    """What a develop would come to: `status` is accepted, unchanged, or held where a pinned result would change.

    Of the world's last recorded calls `tried` were run again: `same` came to the same. With none tried, nothing is
    known.
    """

    status: str
    base: int
    changes: Changes
    goldens: list[DifferenceRow]
    differs: list[DifferenceRow]
    tried: int
    same: int
    skipped: list[SkippedRow]
    logs: list[str]


class WouldReject(_Shape, frozen=True, tag_field="status", tag="rejected"):
    """What a develop would be rejected for: 422, and no rejection is kept."""

    kind: str
    reason: str
    logs: list[str]
    check: str | None = None
    input: msgspec.Raw | None = None


Triaged = Pinned | RefusedPin | Held


def pinned(world: str, body: kinds.GoldenPinned) -> Pinned:
    return Pinned(
        id=golden_id(world, body.n),
        golden=body.n,
        name=body.name,
        call=CallRow(body.call, body.function, msgspec.Raw(body.args)),
        outcome=outcome_row(body.outcome),
    )


def held(world: str, body: kinds.Held) -> Held:
    return Held(
        id=golden_id(world, body.n),
        held=body.n,
        base=body.base,
        goldens=difference_rows(world, body.goldens),
        differs=difference_rows(world, body.differs),
        changes=body.changes,
        logs=body.logs,
        replaces=golden_id(world, body.replaces) if body.replaces is not None else None,
    )


def golden_id(world: str, n: int) -> str:
    """The id of a pinned result or a held change among those of all worlds."""
    return f"{world}.{n}"


def difference_rows(world: str, differences: list[Difference]) -> list[DifferenceRow]:
    return [_difference_row(world, difference) for difference in differences]


def outcome_row(outcome: Outcome, beside: Outcome | None = None) -> OutcomeRow:
    """As it is shown; its console and fuel only where those of the one `beside` it are others."""
    failure = outcome.failure
    return OutcomeRow(
        value=msgspec.Raw(outcome.value) if outcome.value is not None else None,
        failure=failure.kind if failure else None,
        error=failure.error if failure else None,
        stopped=outcome.stopped,
        large=outcome.large,
        writes=[_write_row(write) for write in outcome.writes],
        logs=outcome.logs if beside is not None and beside.logs != outcome.logs else None,
        fuel=outcome.fuel if beside is not None and beside.fuel != outcome.fuel else None,
        beginning=outcome.beginning,
        size_bytes=outcome.size_bytes,
    )


def _difference_row(world: str, difference: Difference) -> DifferenceRow:
    before, after = difference.before, difference.after
    args = msgspec.Raw(difference.args) if difference.args else None
    pinned_as = golden_id(world, difference.golden) if difference.golden is not None else None
    return DifferenceRow(
        call=CallRow(difference.call, difference.function, args),
        before=outcome_row(before, after),
        after=outcome_row(after, before),
        golden=pinned_as,
        name=difference.name or None,
    )


def _write_row(write: kinds.Write) -> WriteRow:
    if write.value is None:
        return WriteRow(write.key, deleted=True)
    return WriteRow(write.key, msgspec.Raw(write.value))
