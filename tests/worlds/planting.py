"""A simulated host with the live one's way of being asked, to plant examples in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from engine.host import simulated
from engine.hub.messages import Call, Grant, Operation
from engine.io.sim_disk import SimDisk
from engine.serve.examples import plant
from tests.apart import run_apart


class CutOff(Exception):
    """The process that planted ended here."""


class Planter:
    """Dies before change number `dies_at`, worlds that are made among them."""

    def __init__(self, disk: SimDisk | None = None) -> None:
        self.simulated = simulated(1, disk=disk)
        self.worlds = self.simulated.worlds
        self.log = self.simulated.log
        self.changed = 0
        self.dies_at: int | None = None

    async def create(self, name: str, *, actor: str, request_id: str | None = None) -> Any:
        self._count()
        return self.simulated.create(name, actor=actor, request_id=request_id)

    async def perform(
        self, world: str, operation: Operation, *, actor: str, request_id: str | None = None
    ) -> Any:
        self._count()
        return self.simulated.perform(world, operation, actor=actor, request_id=request_id)

    def _count(self) -> None:
        if self.changed == self.dies_at:
            raise CutOff
        self.changed += 1

    def plant(self, directory: Path) -> list[str] | None:
        return run_apart(plant(self, str(directory)))  # type: ignore[arg-type]

    def id_of(self, name: str) -> str:
        return next(world.id for world in self.worlds() if world.name == name)

    def call(self, name: str, function: str, *args: Any) -> Any:
        return self.simulated.perform(self.id_of(name), Call(function, json.dumps(args).encode()))

    def grant(self, name: str, *others: str) -> None:
        """Let a world call these others and no more."""
        self.simulated.perform(self.id_of(name), Grant(tuple(sorted(map(self.id_of, others)))))

    def with_ids(self, text: str) -> str:
        """The text with each `{name}` replaced by that world's id."""
        return re.sub(r"\{([\w-]+)\}", lambda match: self.id_of(match[1]), text)
