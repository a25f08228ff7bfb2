"""A world of a simulated host whose cases are a table: what is done, step by step, and what each step comes to."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from engine.host import SimulatedHost, answers, simulated
from engine.hub import messages as hub


@cache
def host() -> SimulatedHost:
    """One host for all cases of the process."""
    return simulated("cases")


class Case:
    """A new world. `do` takes a step such as `dev SOURCE`, `ex EXPRESSION` or `call NAME ARGS` and says its outcome."""

    def __init__(self, name: str = "case") -> None:
        made = host().create(name)
        assert isinstance(made, answers.Created)
        self.id = made.id

    def do(self, step: str) -> str:
        """The outcome in one line: "= VALUE", "revision N", "unchanged", "KIND: first line" or "404: ..."."""
        verb, _, rest = step.partition(" ")
        return _told(getattr(self, f"_{verb}")(rest))

    def _dev(self, source: str) -> Any:
        return self.perform(hub.Develop(source, "case"))

    def _lib(self, rest: str) -> Any:
        name, _, source = rest.partition(" ")
        return self.perform(hub.Develop(source, "case", name))

    def _ex(self, expression: str) -> Any:
        return self.perform(hub.Execute(expression))

    def _call(self, rest: str) -> Any:
        function, _, args = rest.partition(" ")
        return self.perform(hub.Call(function, args.encode() or b"[]"))

    def _rollback(self, rest: str) -> Any:
        revision, _, reason = rest.partition(" ")
        return self.perform(hub.Rollback(int(revision), reason))

    def _check(self, rest: str) -> Any:
        name, expression, counterexample = rest.split(" | ")
        return self.perform(hub.Enrol(name, expression, counterexample, None))

    def _uncheck(self, rest: str) -> Any:
        name, _, reason = rest.partition(" ")
        return self.perform(hub.RemoveCheck(name, reason))

    def _names(self, _: str) -> str:
        return ",".join(row.name for row in host().functions(self.id)) or "none"

    def perform(self, operation: hub.Operation) -> Any:
        return host().perform(self.id, operation)


def _told(answer: Any) -> str:
    match answer:
        case str():
            return answer
        case answers.CallOk() | answers.PreviewOk():
            return f"= {bytes(answer.value).decode('utf-8', 'surrogatepass')}"
        case answers.CallFailed() | answers.PreviewFailed():
            return f"{answer.failure}: {_first(answer.error)}"
        case answers.Accepted():
            changes = answer.changes
            named = (
                ("+", changes.added),
                ("~", changes.changed),
                ("-", changes.removed),
                ("!", changes.globals),
            )
            return " ".join(
                [f"revision {answer.revision}", *(mark + name for mark, names in named for name in names)]
            )
        case answers.Unchanged():
            return "unchanged"
        case answers.Rejected() | answers.RefusedCheck():
            check = f" {answer.check}" if getattr(answer, "check", None) else ""
            return f"{answer.kind}{check}: {_first(answer.reason)}"
        case answers.Enrolled():
            return "enrolled"
        case answers.Missing():
            return f"404: {answer.error}"
        case answers.Refused():
            return f"{answer.refused}: {answer.error}"
        case answers.Done():
            return "done"
        case other:
            return json.dumps(str(other))


def _first(error: str) -> str:
    return error.split("\n", 1)[0]
