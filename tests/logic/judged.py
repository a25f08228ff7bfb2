"""A world whose changes are judged by checks, as its host would do it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from language import World, pool

from engine.logic import AttemptOutcome, Broken, Check, enrol, judge

SEED = 20


class JudgedWorld(World):
    """A `World` with checks: `change` keeps a develop only if they let it."""

    def __init__(self) -> None:
        super().__init__()
        self.checks: list[Check] = []

    def propose(
        self,
        expression: str,
        counterexample: str = "",
        generator: str | None = None,
        *,
        name: str = "c",
        seed: int = SEED,
    ) -> Check | Broken:
        proposed = Check(
            name=name, expression=expression, counterexample=counterexample, generator=generator, seed=seed
        )
        verdict = enrol(pool(), self.image, proposed, catalogue=self.catalogue, source_lookup=self.source)
        if isinstance(verdict, Check):
            self.checks.append(verdict)
        return verdict

    def enrol(self, *proposal: str | None, **named: Any) -> Check:
        """A proposal that must be enrolled."""
        check = self.propose(*proposal, **named)
        assert isinstance(check, Check), check
        return check

    def refuse(self, *proposal: str | None, **named: Any) -> tuple[str, str]:
        """A proposal that must be refused: the kind and the first line of the reason."""
        broken = self.propose(*proposal, **named)
        assert isinstance(broken, Broken), "it was enrolled"
        return broken.kind, broken.reason.split("\n", 1)[0]

    def judged(self, source: str) -> Broken | None:
        """What the checks say of a develop that is accepted otherwise; the head stays where it is."""
        outcome = self._attempted(source)
        return judge(
            pool(), outcome.image, self.checks, catalogue=outcome.catalogue, source_lookup=self.source
        )

    def change(self, source: str) -> Broken | None:
        broken = self.judged(source)
        if broken is None:
            self.develop(source)
        return broken

    def _attempted(self, source: str) -> AttemptOutcome:
        head, catalogue = self.image, self.catalogue
        outcome = self.develop(source)
        self.image, self.catalogue = head, catalogue
        return outcome

    def counterexample(self, expression: str, generator: str, *, seed: int = SEED) -> Any:
        """The smallest input for which an expression is not true, as a value."""
        broken = self.propose(expression, "", generator, seed=seed)
        assert isinstance(broken, Broken) and broken.kind == "check" and broken.input is not None, broken
        return json.loads(broken.input)

    def inputs(self, generator: str, *, seed: int = SEED) -> list[Any]:
        """What a generator draws for a check, as values."""
        check = self.enrol(
            "() => holds() === true", "function holds() { return false }", generator, name="inputs", seed=seed
        )
        self.checks.remove(check)
        return [json.loads(text) for text in check.inputs]


def renamed(check: Check, **fields: Any) -> Check:
    return replace(check, **fields)
