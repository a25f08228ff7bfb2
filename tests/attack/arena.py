"""A host in simulated time with worlds to attack: every question and its answer in one line.

One host serves a whole file of tests. What an attack does to it the tests after it would feel.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from engine.host import SimulatedHost, answers, simulated
from engine.hub import messages as hub


@cache
def host() -> SimulatedHost:
    """The host of this process."""
    return simulated("arena")


class World:
    """One world of the host. Methods end in what a person would see: a value, or kind and first line of an error."""

    def __init__(self, source: str = "", name: str = "world", grants: tuple[World, ...] = ()) -> None:
        made = host().create(name)
        assert isinstance(made, answers.Created)
        self.id = made.id
        if source:
            self.accepted(source)
        if grants:
            host().perform(self.id, hub.Grant(tuple(other.id for other in grants)))

    @property
    def head(self) -> int:
        return host().world(self.id).revision

    @property
    def names(self) -> list[str]:
        return sorted(row.name for row in host().functions(self.id))

    def develop(self, source: str, commonjs: str | None = None) -> Any:
        return host().perform(self.id, hub.Develop(source, "attack", commonjs))

    def accepted(self, source: str, commonjs: str | None = None) -> answers.Accepted:
        answer = self.develop(source, commonjs)
        assert isinstance(answer, answers.Accepted), answer
        return answer

    def rejected(self, source: str, commonjs: str | None = None) -> tuple[str, str]:
        """Kind and first line of the reason of a rejection; the head stays."""
        before = self.head
        answer = self.develop(source, commonjs)
        assert isinstance(answer, answers.Rejected), answer
        assert self.head == before
        return answer.kind, answer.reason.split("\n", 1)[0]

    def preview(self, expression: str) -> Any:
        return host().perform(self.id, hub.Execute(expression))

    def value(self, expression: str) -> Any:
        answer = self.preview(expression)
        assert isinstance(answer, answers.PreviewOk), answer
        return json.loads(bytes(answer.value))

    def failure(self, expression: str) -> tuple[str, str]:
        answer = self.preview(expression)
        assert isinstance(answer, answers.PreviewFailed), answer
        return answer.failure, answer.error.split("\n", 1)[0]

    def ask(self, function: str, *args: Any, request_id: str | None = None) -> Any:
        call = hub.Call(function, json.dumps(args).encode())
        return host().perform(self.id, call, request_id=request_id)

    def call(self, function: str, *args: Any) -> Any:
        answer = self.ask(function, *args)
        assert isinstance(answer, answers.CallOk), answer
        return json.loads(bytes(answer.value))

    def fails(self, function: str, *args: Any) -> tuple[str, str]:
        answer = self.ask(function, *args)
        assert isinstance(answer, answers.CallFailed), answer
        return answer.failure, answer.error.split("\n", 1)[0]

    def data(self) -> dict[str, Any]:
        page = host().data(self.id, prefix="", after=None, limit=1000)
        return {row.key: json.loads(bytes(row.value)) for row in page.items}

    def bodies(self, kind: str) -> Iterator[Any]:
        """The bodies of this world's records of one kind, as JSON values."""
        host().settle()  # what nobody waits for is recorded a little later
        for row in host().log(self.id, after=0, limit=1000).records:
            if row.kind == kind and row.body is not None:
                yield json.loads(bytes(row.body))

    def is_well(self) -> bool:
        """Whether it still answers, and so does the server."""
        return bool(self.value("1 + 1") == 2 and host().health().state == "ready")
