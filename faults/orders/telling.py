"""An order in the words of the field: "A reads k; B commits k; A commits k"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.hub.messages import (
    Answer,
    Append,
    AppendFailed,
    AskPeer,
    Call,
    CallDone,
    CallWaiting,
    Draft,
    Drained,
    Durable,
    Effect,
    Event,
    Execute,
    Interrupt,
    PeerAnswered,
    RunJob,
    TimerFired,
    TryCall,
)
from faults.orders.branching import Branching, Choice

if TYPE_CHECKING:
    from faults.orders.place import Place

_WRITTEN = {
    "preview": "is recorded",
    "revision": "makes revision {number}",
    "unchanged": "changes nothing",
    "rejection": "is rejected",
    "incident-closed": "closes incident {incident}",
    "interrupted": "is recorded as interrupted",
    "admitted": "is admitted",
    "purge": "purges the world",
}


def tell(start: Branching | Place, choices: Sequence[Choice]) -> list[str]:
    """Live `choices` from `start` and say what happened, one line each. What the last one raises is left unsaid."""
    life = start.alone()
    lines = []
    for choice in choices:
        label = life.label(choice)
        life.said = []
        if isinstance(life, Branching):
            life.listen = lambda life, event, effects: life.said.extend(_of_step(life, event, effects))
            life.said += _of_choice(life, choice)
        failed = False
        try:
            life.happen(choice)
        except Exception:
            failed = True
        lines.append(", ".join(life.said) or label)
        if failed:
            break
    return lines


def _of_choice(life: Branching, choice: Choice) -> list[str]:
    """What the hub does not hear of itself."""
    if choice.kind == "crash":
        kept = [life.name_of(draft.op) for draft in life.appended[: choice.more]]
        return [f"the process is killed, {' and '.join(kept) or 'nothing'} on the disk"]
    if choice.kind == "tomorrow":
        return ["a day passes"]
    return []


def _of_step(life: Branching, event: Event, effects: list[Effect]) -> list[str]:
    said = _of_event(life, event, effects)
    for effect in effects:
        said += _of_effect(life, effect)
    if isinstance(event, CallDone) and not any(isinstance(effect, Append | Answer) for effect in effects):
        op = life.world.ops.get(event.op)
        if op is not None and op.phase in ("waiting", "running"):
            said.insert(0, f"{life.name_of(event.op)} has to run again")
        elif op is not None and op.phase == "held":
            said.insert(0, f"{life.name_of(event.op)} waits to commit")
    return said


def _of_event(life: Branching, event: Event, effects: list[Effect]) -> list[str]:
    match event:
        case Durable():
            became = [draft.op for draft in life.log.values() if life.world.durable_seq >= draft.seq]
            answered = [effect.op for effect in effects if isinstance(effect, Answer) and effect.op in became]
            names = [life.name_of(op) for op in answered] or ["a record"]
            return [f"{' and '.join(names)} {'are' if len(names) > 1 else 'is'} durable"]
        case AppendFailed():
            return ["the append fails"]
        case PeerAnswered():
            asked = life.world.id if event.op not in life.world.ops else life.name_of(event.op)
            return [f"{asked} hears an answer" if event.ok else f"{asked} hears a failure"]
        case TimerFired():
            return ["time is up"]
        case CallWaiting():
            return []
    return []


def _of_effect(life: Branching, effect: Effect) -> list[str]:
    match effect:
        case RunJob():
            return [_of_job(life, effect)]
        case AskPeer():
            return [f"{life.name_of(effect.op)} asks {effect.ask.world}"]
        case Append():
            return [of_record(_name_in(life, draft), draft) for draft in effect.drafts]
        case Answer(refusal=refusal) if refusal is not None:
            return [f"{life.name_of(effect.op)} is refused: {refusal.code}"]
        case Drained():
            return ["the world is drained"]
    return []


def _of_job(life: Branching, job: RunJob) -> str:
    name = life.name_of(job.op)
    if job.resume is not None:
        return f"{name} goes on"
    if not isinstance(job.operation, Call | Execute | TryCall):
        return f"{name} begins"
    outcome = life.run(job)
    reads = outcome.reads if isinstance(outcome, CallDone) else ()
    keys = " and ".join(dict.fromkeys(read.key + ("*" if read.prefix else "") for read in reads))
    if not keys:
        return f"{name} begins again" if job.rerun else f"{name} begins"
    return f"{name} reads {keys}" + (" again" if job.rerun else "")


def _name_in(life: Branching, draft: Draft) -> str:
    """What was interrupted has its own name, whoever records it."""
    return life.name_of(draft.operation.detail if isinstance(draft.operation, Interrupt) else draft.op)


def of_record(name: str, draft: Draft) -> str:
    """What a record does, that somebody of this name makes."""
    keys = " and ".join(write.key for write in draft.writes)
    if draft.kind == "data-edit":
        return f"{name} writes {keys}"
    if draft.kind == "call":
        if draft.failure is not None:
            return f"{name} gives up: {draft.failure}"
        return f"{name} commits {keys}" if keys else f"{name} is recorded"
    did = _WRITTEN.get(draft.kind, f"is recorded: {draft.kind}")
    return f"{name} {did}".format(number=draft.number, incident=getattr(draft.operation, "incident", None))
