"""One event in, its effects out: the whole of a world's hub. No I/O, no clock, no threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.hub import admission, commit, parks, settle
from engine.hub.messages import (
    Admit,
    AppendFailed,
    AttemptDone,
    CallDone,
    CallWaiting,
    Drain,
    Drained,
    Durable,
    Effect,
    Event,
    JobLost,
    PeerAnswered,
    TimerFired,
)
from engine.hub.world import World, check, prune

_HANDLERS: dict[type, Callable[[World, Any, list[Effect]], None]] = {
    Admit: admission.arrive,
    TimerFired: admission.timer_fired,
    Drain: admission.drain,
    CallDone: commit.call_done,
    CallWaiting: parks.call_waiting,
    PeerAnswered: parks.peer_answered,
    AttemptDone: commit.attempt_done,
    JobLost: commit.job_lost,
    Durable: settle.durable,
    AppendFailed: settle.append_failed,
}


def step(world: World, event: Event) -> list[Effect]:
    """Change `world` by one event; perform the effects in order and feed back what comes of them.

    Appends are in the order of their sequences. After `AppendFailed` all earlier appends that were
    not durable are void, and their sequences are given again.
    """
    effects: list[Effect] = []
    _HANDLERS[type(event)](world, event, effects)
    admission.start_what_can(world, effects)
    if world.draining and not world.drained and world.is_at_rest:
        world.drained = True
        effects.append(Drained())
    prune(world)
    check(world)
    return effects
