"""What an opening finds of the process before: operations in flight, and admitted ones that have no outcome."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Protocol

from engine.host import answers
from engine.host.api import Done
from engine.host.parts import Parts
from engine.host.runtime import Runtime, Runtimes
from engine.hub import messages as hub
from engine.ids import PEER_REQUEST_PREFIX
from engine.record import kinds

HOST = "host"
"""The actor of what the host does of itself; nobody waits for it, so it needs no place in the in-flight file."""
RECOVERY = "recovery"
"""The actor of an operation that an earlier process admitted."""


class Again(NamedTuple):
    """What an operation had that is made again: its flick, its seed, and the name under which it asked other worlds."""

    flick: int
    seed: int
    asks_as: str | None = None

    @classmethod
    def of_incident(cls, body: kinds.Call | kinds.Interrupted) -> Again:
        """So a retry asks what the call asked, and no other world does its part twice (Invariant 11)."""
        flick = body.admitted_flick if isinstance(body, kinds.Interrupted) else body.flick
        request = body.request
        made_of_request = hub.Request(request.id, request.hash).asks_as if request is not None else None
        return cls(flick, body.seed, body.asks_as or made_of_request or hub.asked_as(flick, body.seed))


class Admit(Protocol):
    """`Host.admit`."""

    def __call__(
        self,
        runtime: Runtime,
        operation: hub.Operation,
        *,
        actor: str,
        request: hub.Request | None,
        done: Done,
        again: Again | None = None,
    ) -> Any: ...


def recover(parts: Parts, runtimes: Runtimes, admit: Admit) -> None:
    """What the last process left in flight becomes `interrupted` incidents (Invariant 16).

    What waited for other worlds, or had not begun, and was durably admitted is run again.
    """
    ended = []
    for left in parts.inflight.unsettled(parts.log):
        runtime = runtimes.get(left.work.world)
        assert runtime is not None, "an unsettled operation is of a world in the log"
        ended.append((runtime.id, left.work.flick, left.work.seed))
        request, asks_as = left.work.request, left.work.asks_as
        if runtime.was_admitted(left.work.flick, left.work.seed):
            request = None  # the record that admitted it has it
        elif request is not None and request.id.startswith(PEER_REQUEST_PREFIX):
            asks_as = asks_as or hub.Request(request.id, request.hash).asks_as
            request = None  # nothing of it counts: its caller, if it is run again, asks again
        deaths = parts.ledger.deaths(runtime.id, left.work.work)
        admit(
            runtime,
            hub.Interrupt(
                left.body(deaths_before=deaths, asks_as=asks_as),
                hub.Request(request.id, request.hash) if request else None,
            ),
            actor=HOST,
            request=None,
            done=partial(_recovered, parts, left.slot),
        )
    _run_unsettled(parts, runtimes, admit, ended)


def _run_unsettled(parts: Parts, runtimes: Runtimes, admit: Admit, ended: list[tuple[str, int, int]]) -> None:
    """Run durably admitted operations again as they were admitted; `ended` are (world, flick, seed) to leave."""
    for world in parts.ledger.worlds_with_unsettled():
        runtime = runtimes.get(world)
        assert runtime is not None, "an admitted operation is of a world"
        for seq, body in list(runtime.unsettled.items()):
            if (world, body.flick, body.seed) in ended:
                continue
            call = hub.Call(body.function, body.args, tuple(body.path), admitted=seq)
            admit(
                runtime,
                call,
                actor=RECOVERY,
                request=None,
                done=lambda _: None,
                again=Again(body.flick, body.seed),
            )


def _recovered(parts: Parts, slot: int, answer: answers.OperationAnswer) -> None:
    if not isinstance(answer, answers.Refused):
        parts.inflight.remove(slot)
