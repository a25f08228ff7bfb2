"""Calls and previews that wait for other worlds: what they asked, what they heard, and how they go on.

One that waits holds no slot. It keeps its snapshot, and each answer resumes it, one after the other in the
order in which they came. A run from the start, after a conflict, is given the answers to what it asks again:
no other world is asked twice for one thing (Invariant 11).
"""

from __future__ import annotations

import json

from engine import limits
from engine.hub import refusals
from engine.hub.messages import (
    Answered,
    Ask,
    AskPeer,
    CallWaiting,
    CancelTimer,
    Effect,
    PeerAnswered,
    Resume,
    RunJob,
    SetTimer,
)
from engine.hub.talk import Asked, Talk
from engine.hub.world import Op, World, end_run, leave, refuse
from engine.ids import PEER_REQUEST_PREFIX, content_id


def request_id_of(world: World, op: Op, ask: Ask) -> str:
    """The request id of a call of another world: the same whenever the operation asks the same again."""
    asked = [world.id, op.asking_name, ask.world, ask.function, content_id(ask.args), ask.ordinal]
    return PEER_REQUEST_PREFIX + content_id(json.dumps(asked).encode())


# ---- events ------------------------------------------------------------------------------------------------


def call_waiting(world: World, event: CallWaiting, effects: list[Effect]) -> None:
    op = world.ops.get(event.op)
    if op is None or op.phase != "running":
        return
    end_run(world)
    if world.is_full and not op.is_durably_admitted:
        leave(world, op, effects)
        refuse(world, op, effects, refusals.busy(f"{limits.CALLS_QUEUED_MAX} calls wait already"))
        return
    if op.talk is None:
        op.talk = Talk()
    talk = op.talk
    talk.detail = event.detail
    op.move("parked")
    world.parked[op.id] = op
    for ask in event.asks:
        _ask(world, op, ask, event.monotonic_flicks, effects)
    assert talk.unheard, "an operation that waits has asked for something"
    if talk.inbox:
        _make_ready(world, op)


def peer_answered(world: World, event: PeerAnswered, effects: list[Effect]) -> None:
    """An answer that is late, or of an operation that is gone, changes nothing."""
    op = world.ops.get(event.op)
    if op is None or op.talk is None:
        return
    asked = op.talk.open.pop(event.ordinal, None)
    if asked is not None:
        del world.ask_timers[asked.token]
        effects.append(CancelTimer(asked.token))
        _take_answer(world, op, asked, event.ok, event.value, event.kind)


def ask_timed_out(world: World, token: int) -> None:
    waited = world.ask_timers.pop(token, None)
    if waited is None:
        return  # the answer came in the same moment
    op, ordinal = waited
    assert op.talk is not None
    asked = op.talk.open.pop(ordinal)
    seconds = limits.PEER_WAIT_FLICKS_MAX // limits.FLICKS_PER_SECOND
    error = f"{asked.ask.world}.{asked.ask.function}: no answer within {seconds} s"
    _take_answer(world, op, asked, False, error.encode("utf-8", "surrogatepass"), "timeout")


def resume_ready(world: World, effects: list[Effect]) -> None:
    """Let those go on that have an answer, as slots get free, in the order in which they could."""
    while world.ready and world.slots < world.running_max:
        op = world.ready.popleft()
        del world.parked[op.id]
        op.move("running")
        world.slots += 1
        talk = op.talk
        assert talk is not None
        asked = talk.inbox.popleft()
        assert asked.answer is not None and asked.run == op.rerun, "it hears what it asked"
        ok, value, kind = asked.answer
        ask = asked.ask
        talk.unheard -= 1
        talk.heard.append(Answered(ask.ordinal, ask.world, ask.function, ok, value, kind))
        resume = Resume(talk.detail, ask.ordinal, ok, value, kind)
        talk.detail = None
        effects.append(
            RunJob(op.id, op.operation, op.revision, op.snapshot, op.flick, op.seed, op.rerun, resume)
        )


# ---- their parts -------------------------------------------------------------------------------------------


def _ask(world: World, op: Op, ask: Ask, monotonic_flicks: int, effects: list[Effect]) -> None:
    talk = op.talk
    assert talk is not None
    talk.unheard += 1
    asked = talk.asked.get(ask)
    if asked is not None:
        assert asked.run < op.rerun, "a run asks one thing once"
        asked.run = op.rerun
        if asked.answer is not None:
            talk.inbox.append(asked)
        return
    token = world.next_token
    world.next_token = token - 1
    ordinal = len(talk.asked)
    talk.asked[ask] = talk.open[ordinal] = Asked(ask, op.rerun, token)
    world.ask_timers[token] = (op, ordinal)
    numbered = Ask(ordinal, ask.world, ask.function, ask.args)
    path = (*op.path, world.id)
    effects.append(AskPeer(op.id, numbered, request_id_of(world, op, ask), path))
    effects.append(SetTimer(token, monotonic_flicks + limits.PEER_WAIT_FLICKS_MAX))


def _take_answer(world: World, op: Op, asked: Asked, ok: bool, value: bytes, kind: str) -> None:
    """Keep it for every run; this one hears it in its turn if it has asked."""
    assert op.talk is not None
    asked.answer = (ok, value, kind)
    if asked.run == op.rerun:
        op.talk.inbox.append(asked)
        if op.phase == "parked":
            _make_ready(world, op)


def _make_ready(world: World, op: Op) -> None:
    if world.drained:
        return  # it is durably admitted and stays parked: the next process runs it again
    op.move("ready")
    if op is world.alone:
        world.ready.appendleft(op)
    else:
        world.ready.append(op)
