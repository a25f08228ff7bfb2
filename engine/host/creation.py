"""New worlds: their genesis records, and which creation each request id made (Invariant 10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from engine.host import answers
from engine.host.api import Done
from engine.host.landing import Arrivals
from engine.host.parts import Parts
from engine.host.replies import answer_of
from engine.host.runtime import Runtimes
from engine.host.writer import Writer
from engine.ids import content_id, world_id_of
from engine.record import kinds
from engine.record.records import FIRST_SEQ


class Birth(Protocol):
    """Records of a world on their way, before it is open to anybody."""

    def durable(self) -> None: ...

    def failed(self, refusal: answers.Refused) -> None: ...


@dataclass(slots=True)
class _OneRecord:
    """A birth, or an end, that is one record: what to do once it is durable, and what to say where it failed."""

    is_durable: Callable[[], None]
    has_failed: Callable[[answers.Refused], None]

    def durable(self) -> None:
        self.is_durable()

    def failed(self, refusal: answers.Refused) -> None:
        self.has_failed(refusal)


@dataclass(slots=True)
class _Asked:
    """A creation under a request id that is not durable yet."""

    hash: str
    world: str
    waiting: list[Done] = field(default_factory=list)


class Creations:
    def __init__(self, parts: Parts, runtimes: Runtimes, writer: Writer, arrivals: Arrivals) -> None:
        self._parts = parts
        self._runtimes = runtimes
        self._writer = writer
        self._arrivals = arrivals
        self._births: dict[str, _OneRecord] = {}
        self._asked: dict[str, _Asked] = {}  # by request id

    def idle(self) -> bool:
        return not self._births and self._arrivals.idle()

    def start(self, name: str, *, actor: str, request_id: str | None, flick: int, done: Done) -> None:
        request = request_of(request_id, ["new", name])
        if request is not None and self.repeated(name, request, done):
            return
        world = self.free_id(name)
        parts = self._parts
        body = kinds.Genesis(
            name=name,
            engine=parts.engines.identity,
            engine_blob=parts.engines.blob,
            prelude_version=parts.prelude_version,
            heap=parts.genesis_heap,
            request=request,
        )
        told = self.claimed(request, world, done)

        def born() -> None:
            self._runtimes.born(world, body)
            told(answer_of(body, world=world, seq=FIRST_SEQ))

        self._put(body, born, told, world=world, seq=FIRST_SEQ, actor=actor, flick=flick)

    def purge(self, world: str, *, reason: str, actor: str, flick: int, done: Done) -> None:
        """End a world whose import was cut off: its tombstone."""
        seq = self._writer.last_seq(world) + 1

        def buried() -> None:
            self._arrivals.buried(world)
            done(answers.Done(ok=True, seq=seq))

        self._put(kinds.Purge(reason), buried, done, world=world, seq=seq, actor=actor, flick=flick)

    def _put(
        self,
        body: kinds.Body,
        durable: Callable[[], None],
        failed: Callable[[answers.Refused], None],
        *,
        world: str,
        seq: int,
        actor: str,
        flick: int,
    ) -> None:
        self._births[world] = _OneRecord(durable, failed)
        self._writer.put(body, world=world, seq=seq, actor=actor, flick=flick, urgent=True)

    # ---- what the writer says

    def pending(self, world: str) -> bool:
        return world in self._births or self._arrivals.landing(world) is not None

    def durable(self, world: str) -> None:
        """What was written of the world is durable."""
        self._end(world).durable()

    def failed(self, world: str, refusal: answers.Refused) -> None:
        self._end(world).failed(refusal)

    def _end(self, world: str) -> Birth:
        landing = self._arrivals.landing(world)
        return landing if landing is not None else self._births.pop(world)

    # ---- request ids and ids

    def repeated(self, name: str, request: kinds.Request, done: Done) -> bool:
        """Answer a request id that was used before, or is in use; False where it is new."""
        asked = self._asked.get(request.id)
        if asked is None:
            made = self._parts.ledger.creation(request.id)
            if made is None:
                return False
            asked = _Asked(made.hash, made.world)
        if asked.hash != request.hash:
            done(
                answers.Refused(
                    ok=False,
                    refused="request-conflict",
                    error="requestId: was used before to create a world of another name",
                    hint="use a new requestId for a new world",
                )
            )
        elif request.id in self._asked:
            asked.waiting.append(done)
        else:
            done(answers.Created(id=asked.world, name=name, revision=0))
        return True

    def claimed(self, request: kinds.Request | None, world: str, done: Done) -> Done:
        """Claim the request id until the creation ends; its answer goes to all who asked under it."""
        if request is None:
            return done
        asked = self._asked[request.id] = _Asked(request.hash, world, [done])

        def told(answer: answers.OperationAnswer) -> None:
            del self._asked[request.id]
            for waiting in asked.waiting:
                waiting(answer)

        return told

    def free_id(self, name: str) -> str:
        while True:
            world = world_id_of(name, self._parts.entropy.draw(3).hex())
            if not (world in self._births or self._arrivals.has(world) or self._runtimes.exists(world)):
                return world


def request_of(request_id: str | None, asked: list[object]) -> kinds.Request | None:
    """A creation's request id, with the hash of what was asked under it."""
    if request_id is None:
        return None
    return kinds.Request(request_id, content_id(msgspec.msgpack.encode(asked)))
