"""New worlds: their genesis records, and which creation each request id made (Invariant 10)."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from engine.host import answers
from engine.host.api import Done
from engine.host.parts import Parts
from engine.host.replies import answer_of
from engine.host.runtime import Runtimes
from engine.host.writer import Writer
from engine.ids import content_id, world_id_of
from engine.record import kinds
from engine.record.records import FIRST_SEQ


@dataclass(slots=True)
class _Birth:
    body: kinds.Genesis
    waiting: list[Done] = field(default_factory=list)


class Creations:
    def __init__(self, parts: Parts, runtimes: Runtimes, writer: Writer) -> None:
        self._parts = parts
        self._runtimes = runtimes
        self._writer = writer
        self._births: dict[str, _Birth] = {}
        self._requests: dict[str, tuple[str, str]] = {}  # of births: id -> (hash, world)

    def idle(self) -> bool:
        return not self._births

    def start(self, name: str, *, actor: str, request_id: str | None, flick: int, done: Done) -> None:
        request = None
        if request_id is not None:
            request = kinds.Request(request_id, content_id(msgspec.msgpack.encode(["new", name])))
            if self._repeated(name, request, done):
                return
        world = self._free_id(name)
        parts = self._parts
        body = kinds.Genesis(
            name=name,
            engine=parts.engines.identity,
            engine_blob=parts.engines.blob,
            prelude_version=parts.prelude_version,
            heap=parts.genesis_heap,
            request=request,
        )
        self._births[world] = _Birth(body, [done])
        if request:
            self._requests[request.id] = (request.hash, world)
        self._writer.put(body, world=world, seq=FIRST_SEQ, actor=actor, flick=flick, urgent=True)

    def durable(self, world: str) -> None:
        """The genesis is durable: the world is born, and whoever waits for it is told."""
        birth = self._end(world)
        self._runtimes.born(world, birth.body)
        for done in birth.waiting:
            done(answer_of(birth.body, world=world, seq=FIRST_SEQ))

    def failed(self, world: str, refusal: answers.Refused) -> None:
        for done in self._end(world).waiting:
            done(refusal)

    def _end(self, world: str) -> _Birth:
        birth = self._births.pop(world)
        if birth.body.request:
            del self._requests[birth.body.request.id]
        return birth

    def pending(self, world: str) -> bool:
        return world in self._births

    def _repeated(self, name: str, request: kinds.Request, done: Done) -> bool:
        """Answer a request id that was used before; False where it was not."""
        earlier = self._requests.get(request.id)
        if earlier is None:
            made = self._parts.ledger.creation(request.id)
            if made is None:
                return False
            earlier = made.hash, made.world
        hashed, world = earlier
        if hashed != request.hash:
            done(
                answers.Refused(
                    ok=False,
                    refused="request-conflict",
                    error="requestId: was used before to create a world of another name",
                    hint="use a new requestId for a new world",
                )
            )
        elif world in self._births:
            self._births[world].waiting.append(done)
        else:
            done(answers.Created(id=world, name=name, revision=0))
        return True

    def _free_id(self, name: str) -> str:
        while True:
            world = world_id_of(name, self._parts.entropy.draw(3).hex())
            if world not in self._births and not self._runtimes.exists(world):
                return world
