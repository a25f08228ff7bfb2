"""What every life must have kept: the promises that can be seen from its log and its answers.

Each refers to its invariant by number (docs/ARCHITECTURE.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from engine import limits
from engine.hub.messages import Bless, Draft, Enrol, Interrupt, Pin, RejectHeld, Unpin
from faults.orders.guest import View, run_guest

if TYPE_CHECKING:
    from faults.orders.life import Life

# Which count a record of a kind is numbered by.
NUMBERS = {
    "revision": "revision",
    "rejection": "rejection",
    "call": "incident",
    "interrupted": "incident",
    "golden-pinned": "golden",
    "held": "golden",
}


def check_log(life: Life) -> None:
    """What the log alone shows."""
    _check_serial_order(life)
    _check_numbers(life)
    _check_revisions(life)
    _check_request_ids(life)
    _check_incidents(life)
    purges = [seq for seq, draft in life.log.items() if draft.kind == "purge"]
    assert purges in ([], [life.last_seq]), "nothing follows a tombstone"


def check_clients(life: Life) -> None:
    """What was said to clients, what peers said, and what the hub holds, beside the log."""
    _check_one_outcome_each(life)
    _check_acknowledged(life)
    _check_goldens(life)
    _check_answers(life)


def _check_request_ids(life: Life) -> None:
    """Under one id there is one effect, until the id is forgotten."""
    arrived: dict[str, list[int]] = {}
    for draft in life.log.values():
        if draft.request is not None:
            before = arrived.setdefault(draft.request.id, [])
            for flick in before:
                apart_flicks = abs(draft.arrived_flick - flick)
                assert apart_flicks >= limits.REQUEST_ID_KEPT_FLICKS, "Invariant 10: one effect under an id"
            before.append(draft.arrived_flick)


def _check_incidents(life: Life) -> None:
    """Each is closed at most once, after it happened."""
    closed: list[int] = []
    happened: set[int | None] = set()
    for draft in life.log.values():
        for incident in closes(draft):
            assert incident in happened and incident not in closed
            closed.append(incident)
        if NUMBERS.get(draft.kind) == "incident":
            happened.add(draft.number)


def _check_goldens(life: Life) -> None:
    """What is unpinned was pinned; what is blessed or rejected was held: each once, and nobody forgot any."""
    pinned: set[int | None] = set()
    held: set[int | None] = set()
    for draft in life.log.values():
        match draft.operation:
            case Unpin(golden=n):
                pinned.remove(n)
            case RejectHeld(held=n):
                held.remove(n)
            case Bless(held=n) if draft.kind != "rejection":
                held.remove(n)
            case Bless(held=n):
                assert n in held, "what is attempted once more was held"
        if draft.kind == "golden-pinned":
            pinned.add(draft.number)
        elif draft.kind == "held":
            held.add(draft.number)
    assert sorted(pinned) == pinned_of(life.log.values()) and sorted(held) == held_of(life.log.values())
    if not life.world.pending:
        assert sorted(pinned) == sorted(life.world.goldens) and sorted(held) == sorted(
            life.world.held_changes
        )


def _check_answers(life: Life) -> None:
    """What a call heard is what its peers recorded, or that they did not answer."""
    said = {value for _, value in life.peers_did.values()}
    for draft in life.log.values():
        ordinals = [answer.ordinal for answer in draft.answers]
        assert len(ordinals) == len(set(ordinals)), "each answer is heard once"
        for answer in draft.answers:
            if answer.value.endswith(b"no answer within 30 s"):
                assert not answer.ok
            else:
                assert answer.value in said


def _check_one_outcome_each(life: Life) -> None:
    outcomes: dict[int, int] = {}
    for draft in life.log.values():
        if draft.kind == "admitted":
            continue
        is_interrupt = isinstance(draft.operation, Interrupt)
        owner = draft.operation.detail if is_interrupt else life.owner_of(draft.op)
        outcomes[owner] = outcomes.get(owner, 0) + 1
    assert set(outcomes.values()) <= {1}, "Invariant 16"
    for op, admit in life.started.items():
        owner = life.owner_of(op)
        if isinstance(admit.operation, Interrupt) or owner in outcomes:
            continue
        if op in life.waiting or isinstance(admit.operation, Enrol | Pin):
            continue
        if op in life.readers_answered or owner in life.erased:
            continue
        answer = life.answered.get(op)
        if owner in life.going_on and _was_refused_later(life, owner):
            continue  # it is still to be run again, by the next process
        joined_a_record = admit.request is not None and any(
            draft.request == admit.request for draft in life.log.values()
        )
        assert joined_a_record or (answer is not None and answer.refusal is not None), "Invariant 16"
    for op, answer in life.answered.items():
        refused = answer.refusal is not None and op not in life.going_on
        assert not refused or op not in outcomes, "what was refused left no record"


def _was_refused_later(life: Life, op: int) -> bool:
    """Storage failed under it when it was run again."""
    return op in [draft.op for draft in life.unsettled()] and any(
        answer.refusal is not None and life.owner_of(again) == op
        for again, answer in life.answered.items()
        if again in life.started
    )


def _check_serial_order(life: Life) -> None:
    """Each writer as if alone, in the order of the log; each reader and failure at its snapshot."""
    for seq, draft in life.log.items():
        if draft.kind != "call" or draft.failure == "conflict":
            assert draft.kind in ("data-edit", "data-restored", "call") or not draft.writes
            if draft.kind == "data-restored":
                _check_restored(life, seq, draft)
            continue
        at_seq = seq - 1 if draft.writes else draft.snapshot
        rows = life.states[at_seq]
        view = View(
            rows.get,
            lambda prefix, rows=rows: [row for row in sorted(rows.items()) if row[0].startswith(prefix)],
            [(answer.ordinal, answer.ok, answer.value) for answer in draft.answers],
        )
        again = run_guest(draft.operation, draft.seed, view)
        assert (again.ok, again.missing, again.value) == (
            draft.detail.ok,
            draft.detail.missing,
            draft.detail.value,
        ), "Invariant 12"
        assert draft.writes == (again.writes if again.ok else ()), "Invariant 12"


def _check_restored(life: Life, seq: int, draft: Draft) -> None:
    """The keys with its prefix are what they were, the others what they had become."""
    operation = draft.operation
    then, before, after = life.states[operation.at], life.states[seq - 1], life.states[seq]
    for key in {**then, **before, **after}:
        expected = then if key.startswith(operation.prefix) else before
        assert after.get(key) == expected.get(key), "data is as it was"


def _check_revisions(life: Life) -> None:
    """What ran, ran on the head of its snapshot."""
    heads = {1: 0}
    for seq, draft in life.log.items():
        heads[seq] = draft.number if draft.kind == "revision" else heads[seq - 1]
    for draft in life.log.values():
        if draft.kind in ("call", "preview", "revision", "rejection", "unchanged"):
            assert draft.revision == heads[draft.snapshot], "Invariant 1: a job runs on the durable head"


def _check_numbers(life: Life) -> None:
    for count in ("revision", "rejection", "incident", "golden"):
        numbers = [
            draft.number
            for draft in life.log.values()
            if draft.number is not None and NUMBERS[draft.kind] == count
        ]
        assert numbers == list(range(1, len(numbers) + 1)), "Invariant 17"


def _check_acknowledged(life: Life) -> None:
    for (count, number), seq in life.acknowledged.items():
        assert (NUMBERS[life.log[seq].kind], life.log[seq].number) == (count, number), "Invariant 17"


def pinned_of(log: Iterable[Draft]) -> list[int]:
    """The goldens that are pinned after these records, ascending."""
    log = list(log)
    unpinned = [draft.operation.golden for draft in log if draft.kind == "golden-unpinned"]
    return [draft.number for draft in log if draft.kind == "golden-pinned" and draft.number not in unpinned]


def held_of(log: Iterable[Draft]) -> list[int]:
    """The held changes that are open after these records, ascending."""
    log = list(log)
    ended = [
        draft.operation.held
        for draft in log
        if isinstance(draft.operation, Bless | RejectHeld) and draft.kind != "rejection"
    ]
    return [draft.number for draft in log if draft.kind == "held" and draft.number not in ended]


def closes(draft: Draft) -> list[int]:
    """The incident that a record closes."""
    if draft.kind == "incident-closed":
        return [draft.operation.incident]
    if draft.kind == "call" and draft.operation.retries is not None and draft.failure is None:
        return [draft.operation.retries] if draft.detail.ok else []
    return []
