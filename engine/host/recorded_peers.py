"""Other worlds as an operation knew them: what it was told then, given to it again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from engine.logic import Ask, text_of
from engine.logic.jobs import FailureKind, Peers, failure_kind
from engine.record import kinds


@dataclass(frozen=True, slots=True)
class Told:
    """An answer that an operation heard. `ask` is what it had asked in full, once that is known."""

    ordinal: int
    world: str
    function: str
    ok: bool
    value: bytes
    kind: FailureKind = "threw"
    ask: Ask | None = None

    def is_to(self, ask: Ask) -> bool:
        """Whether it was the answer to exactly this."""
        if self.ask is not None:
            return self.ask == ask
        return (self.ordinal, self.world, self.function) == (ask.ordinal, ask.world, ask.function)

    def is_to_one_like(self, ask: Ask) -> bool:
        """Whether it was the answer to the same question, asked earlier or later."""
        return self.ask is not None and self.ask[1:] == ask[1:]


def told_of(body: kinds.Body) -> list[Told]:
    """What a recorded call heard, in that order. An interrupted one has no record of it."""
    if not isinstance(body, kinds.Call):
        return []
    return [
        Told(
            answer.ordinal,
            answer.world,
            answer.function,
            answer.ok,
            answer.value,
            failure_kind(answer.kind or "threw"),
        )
        for answer in body.answers
    ]


def next_answer(told: Sequence[Told], waiting: Sequence[Ask]) -> tuple[Told, Ask] | None:
    """The answer to be heard next, of those not heard yet, and which ask it answers; None where there is none."""
    for is_to in (Told.is_to, Told.is_to_one_like):
        for answer in told:
            for ask in waiting:
                if is_to(answer, ask):
                    return answer, ask
    return None


class RecordedPeers:
    """The `Peers` of an operation that runs again. What it did not look at then is for `present` to say."""

    def __init__(self, looks: Sequence[kinds.Look], present: Peers) -> None:
        self._looks = {(look.what, look.world): look for look in looks}
        self._present = present
        self._shown_now: dict[tuple[str, str], None] = {}

    def shown_now(self) -> frozenset[tuple[str, str]]:
        """What `present` said: list, functions or call, and the world."""
        return frozenset(self._shown_now)

    def list(self) -> Sequence[str]:
        look = self._recorded("list", "")
        return self._present.list() if look is None else json.loads(look.answer)

    def functions(self, world: str) -> Sequence[tuple[str, str, str, Sequence[str]]]:
        look = self._recorded("functions", world)
        if look is None:
            return self._present.functions(world)
        return [(row["name"], row["kind"], row["doc"], row["params"]) for row in json.loads(look.answer)]

    def may_call(self, world: str) -> tuple[str, str] | None:
        look = self._recorded("call", world)
        if look is None:
            return self._present.may_call(world)
        return (failure_kind(look.refused), text_of(look.answer)) if look.refused is not None else None

    def _recorded(self, what: str, world: str) -> kinds.Look | None:
        look = self._looks.get((what, world))
        if look is None:
            self._shown_now[what, world] = None
        return look
