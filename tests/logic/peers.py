"""Worlds that ask other worlds, for tests: who may be called, and operations driven from one answer to the next."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from language import MOMENT_FLICKS, Rows, World, pool

from engine import limits
from engine.logic import CallOutcome, Interrupt, Park, Peers, VmPool, Waiting, call, execute, resume

Part = CallOutcome | Waiting
Functions = Sequence[tuple[str, str, str, Sequence[str]]]


class Granted:
    """`Peers` of a world `a` that may call some others; it notes what it is asked."""

    def __init__(
        self,
        *worlds: str,
        functions: Mapping[str, Functions] | None = None,
        path: Sequence[str] = ("a",),
    ) -> None:
        self.worlds = list(worlds)
        self.asked: list[str] = []
        self._functions = functions or {}
        self._path = path

    def may_call(self, world: str) -> Any:
        self.asked.append(f"call {world}")
        if world in self._path:
            return "threw", f"cycle: {' -> '.join((*self._path, world))}"
        return None if world in self.worlds else ("denied", f"a may not call {world}")

    def list(self) -> Sequence[str]:
        self.asked.append("list")
        return self.worlds

    def functions(self, world: str) -> Functions:
        self.asked.append(f"functions {world}")
        return self._functions[world]


class Operation:
    """One operation of a world, from part to part. `parts` are what each came to."""

    def __init__(
        self,
        world: World,
        expression: str | None = None,
        *,
        named: tuple[str, Sequence[Any]] | None = None,
        peers: Peers | None = None,
        on: VmPool | None = None,
        fuel: int = limits.CALL_FUEL_MAX,
        seed: int = 7,
    ) -> None:
        """On the calling thread, which has a stack for jobs."""
        self.world = world
        self.pool = on or pool()
        self.peers = peers or Granted("b", "c")
        self.head = world.image
        self.data = Rows(world.data)
        self.interrupt: Interrupt | None = None
        given: dict[str, Any] = {
            "flick": MOMENT_FLICKS,
            "seed": seed,
            "fuel": fuel,
            "data": self.data,
            "peers": self.peers,
            "source_lookup": world.source,
        }
        if named is not None:
            first = call(self.pool, self.head, named[0], json.dumps(named[1]).encode(), **given)
        else:
            assert expression is not None
            first = execute(self.pool, self.head, expression, **given)
        self.parts: list[Part] = [first]

    @property
    def last(self) -> Part:
        return self.parts[-1]

    @property
    def park(self) -> Park:
        assert isinstance(self.last, Waiting), self.last
        return self.last.park

    @property
    def outcome(self) -> CallOutcome:
        assert isinstance(self.last, CallOutcome), self.last
        return self.last

    @property
    def value(self) -> Any:
        assert self.outcome.value is not None, self.outcome.failure
        return json.loads(self.outcome.value)

    @property
    def failure(self) -> tuple[str, str]:
        """Kind and first line."""
        assert self.outcome.failure is not None, self.outcome.value
        return self.outcome.failure.kind, self.outcome.failure.headline

    @property
    def asks(self) -> list[tuple[int, str, Any]]:
        """The new asks of the last part: ordinal, "world.function", arguments."""
        assert isinstance(self.last, Waiting), self.last
        return [(ask.ordinal, f"{ask.world}.{ask.function}", json.loads(ask.args)) for ask in self.last.asks]

    def answer(self, ordinal: int, value: Any, *, on: VmPool | None = None) -> Operation:
        return self._go_on(ordinal, True, json.dumps(value).encode(), "threw", on)

    def fail(self, ordinal: int, message: str, *, kind: str = "threw", on: VmPool | None = None) -> Operation:
        return self._go_on(ordinal, False, message.encode(), kind, on)

    def _go_on(self, ordinal: int, ok: bool, value: bytes, kind: str, on: VmPool | None) -> Operation:
        part = resume(
            on or self.pool,
            self.head,
            self.park,
            ordinal,
            ok,
            value,
            kind=kind,
            data=self.data,
            peers=self.peers,
            source_lookup=self.world.source,
            interrupt=self.interrupt,
        )
        self.parts.append(part)
        return self

    def finish(self, peer: Callable[..., Any]) -> Operation:
        """Answer every ask in its order with `peer("world.function", *args)` until the operation has ended."""
        waiting: list[tuple[int, str, Any]] = []
        while isinstance(self.last, Waiting):
            waiting += self.asks
            ordinal, what, args = waiting.pop(0)
            self.answer(ordinal, peer(what, *args))
        return self
