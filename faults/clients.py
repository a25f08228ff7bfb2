"""The clients and the operator of a life: who asks, who asks again, and what they are told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engine.host import NotThere, SimulatedHost, answers
from engine.hub import messages as hub
from faults import steps
from faults.actions import ACTIONS
from faults.asking import Asked, Book
from faults.checking import Judge
from faults.ports import Trace


@dataclass
class Counts:
    """What a life came to."""

    asked: int = 0
    refused: int = 0
    deaths: int = 0
    openings: int = 0
    refused_openings: int = 0
    records: int = 0
    replayed: int = 0
    simulated_flicks: int = 0
    how: dict[str, int] = field(default_factory=dict)

    def note(self, what: str) -> None:
        self.how[what] = self.how.get(what, 0) + 1


class Clients:
    """The part of a driver that asks `host`; the `place` of actions."""

    host: SimulatedHost
    judge: Judge
    trace: Trace
    counts: Counts
    book: Book
    ids: dict[int, str]
    marks: dict[str, tuple[int, str]]

    # ---- where the life stands

    def world_id(self, world: int) -> str | None:
        return self.ids.get(world)

    def open_incidents(self, world: int) -> list[Any]:
        page = self.host.incidents(self.ids[world], limit=50, before=None)
        return [row for row in reversed(page.incidents) if row.state == "open"]

    def head(self, world: int) -> int:
        return self.host.world(self.ids[world]).revision

    def last_calls(self, world: int) -> list[int]:
        rows = self.host.log(self.ids[world], after=max(0, self.records(world) - 40), limit=40).records
        return [row.seq for row in rows if row.kind == "call"]

    def standing(self, world: int, what: str) -> list[int]:
        page = self.host.goldens(self.ids[world], limit=50, before=None)
        rows: list[Any] = page.goldens if what == "goldens" else page.held
        return [row.n for row in reversed(rows) if row.state in ("pinned", "open")]

    def records(self, world: int) -> int:
        return self.host.world(self.ids[world]).records

    # ---- asking

    def ask(self, step: steps.Ask) -> None:
        if step.what == "create":
            self._create(step)
            return
        world = self.ids.get(step.world)
        if world is None:
            return
        operation = ACTIONS[step.what].operation(self, step.world, step.args)
        if operation is not None:
            asked = Asked(step.n, world, operation, str(step), step.request, step.hears)
            self.submit(asked)

    def submit(self, asked: Asked) -> None:
        self.book.add(asked)
        self.counts.asked += 1
        assert asked.operation is not None
        operation, who = asked.operation, {"actor": asked.actor, "request_id": asked.request}

        def heard(answer: Any) -> None:
            if isinstance(answer, NotThere):
                answer = answers.Missing(ok=False, error=str(answer))
            self._heard(asked, answer)

        if isinstance(operation, hub.RestoreData):
            found = {"prefix": operation.prefix, "reason": operation.reason, "dry_run": False}
            self.host.restore_data(asked.world, operation.at, **found, **who, done=heard)
        else:
            self.host.submit(asked.world, operation, **who, done=heard)

    def _create(self, step: steps.Ask) -> None:
        asked = Asked(step.n, "", None, str(step), step.request, step.hears)
        self.book.add(asked)
        self.counts.asked += 1

        def created(answer: answers.OperationAnswer) -> None:
            if isinstance(answer, answers.Created):
                self.ids[step.world] = answer.id
            self._heard(asked, answer)

        name = steps.WORLD_NAMES[step.world]
        self.host.create_world(name, actor=asked.actor, request_id=asked.request, done=created)

    def ask_again(self, step: steps.Again) -> None:
        first = self.book.all.get(step.of)
        if first is None or first.request is None or not first.world:
            return
        operation = first.operation
        if step.clashes:
            operation = hub.EditData("hot", b"77", f"other {step.n}")
        if operation is not None:
            self.submit(Asked(step.n, first.world, operation, str(step), first.request, True))

    def _heard(self, asked: Asked, answer: answers.OperationAnswer) -> None:
        self.trace.add(f"{asked.actor} hears {answers.as_json(answer)!r}")
        self.book.heard(asked, answer)
        if isinstance(answer, answers.Refused):
            self.counts.refused += 1
            self.counts.note(f"refused {answer.refused}")
            self.judge.require(1, bool(answer.error), f"{asked.said} was refused without a reason")
        elif asked.hears:
            self.counts.note(type(answer).__name__)
            self._mark(asked, answer)

    def _mark(self, asked: Asked, answer: answers.OperationAnswer) -> None:
        last = self.host.parts.log.last(asked.world)
        if last is None:
            self.judge.require(1, not asked.world, f"{asked.said} was answered before its world was durable")
            return
        if isinstance(answer, answers.Done | answers.Started):
            seq = answer.seq if isinstance(answer, answers.Done) else answer.operation
            self.judge.require(
                1, seq <= last[0], f"{asked.said} was told of record {seq}; {last[0]} is durable"
            )
        self.marks[asked.world] = last
