"""A world without a host, for tests of the language: a head, its catalogue, its sources and its data.

Tests run on threads with room for jobs: see `conftest.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from engine import limits
from engine.logic import (
    AttemptOutcome,
    CallOutcome,
    Engine,
    HeapImage,
    VmPool,
    WrittenSource,
    attempt,
    boot,
    load_engine,
    prelude_source,
)
from engine.logic import call as call_definition
from engine.logic import execute as execute_expression
from engine.logic.source import file_of

PACKAGES = Path(__file__).parents[2] / "web" / "node_modules"
MOMENT_FLICKS = 1_700_000_000 * limits.FLICKS_PER_SECOND


@cache
def engine() -> Engine:
    return load_engine((PACKAGES / "quickjs-wasi" / "quickjs.wasm").read_bytes())


@cache
def pool() -> VmPool:
    return VmPool(engine())


@cache
def genesis(version: int = 2) -> HeapImage:
    return boot(engine(), prelude_source(version))


class Rows:
    """A `DataView` of a dict."""

    def __init__(self, rows: Mapping[str, bytes]) -> None:
        self._rows = dict(rows)

    def get(self, key: str) -> bytes | None:
        return self._rows.get(key)

    def list(self, prefix: str, after: str | None, limit: int | None) -> list[tuple[str, bytes]]:
        keys = sorted(k for k in self._rows if k.startswith(prefix) and (after is None or k > after))
        return [(key, self._rows[key]) for key in keys[:limit]]


class World:
    """What a host keeps of a world. Develops that are accepted move the head; calls commit their writes."""

    def __init__(self, image: HeapImage | None = None) -> None:
        self.image = image or genesis()
        self.catalogue = attempt.catalogue_of(pool(), self.image)
        self.data: dict[str, bytes] = {}
        self._sources: dict[str, WrittenSource] = {}

    @property
    def names(self) -> list[str]:
        return [definition.name for definition in self.catalogue.definitions]

    def source(self, file: str) -> WrittenSource | None:
        return self._sources.get(file)

    def attempt(
        self, source: str, *, commonjs: str | None = None, fuel: int = limits.DEVELOP_FUEL_MAX
    ) -> AttemptOutcome:
        outcome = attempt.develop(
            pool(),
            self.image,
            source,
            catalogue=self.catalogue,
            source_lookup=self.source,
            commonjs=commonjs,
            fuel=fuel,
        )
        if outcome.image is not None:
            self.image, self.catalogue = outcome.image, outcome.catalogue
            self._sources[file_of(source)] = WrittenSource(source, commonjs is not None)
        return outcome

    def develop(self, source: str, *, commonjs: str | None = None) -> AttemptOutcome:
        """An attempt that must be accepted."""
        outcome = self.attempt(source, commonjs=commonjs)
        assert outcome.verdict == "accepted", f"{outcome.kind}: {outcome.reason}"
        return outcome

    def reject(self, source: str, *, commonjs: str | None = None) -> tuple[str | None, str]:
        """An attempt that must be rejected: its kind and the first line of its reason."""
        outcome = self.attempt(source, commonjs=commonjs)
        assert outcome.verdict == "rejected", outcome.verdict
        return outcome.kind, outcome.reason.split("\n", 1)[0]

    def call(
        self, name: str, *args: Any, seed: int = 7, fuel: int = limits.CALL_FUEL_MAX, raw: bytes | None = None
    ) -> CallOutcome:
        args_json = raw if raw is not None else json.dumps(args).encode()
        outcome = call_definition(
            pool(),
            self.image,
            name,
            args_json,
            flick=MOMENT_FLICKS,
            seed=seed,
            fuel=fuel,
            data=Rows(self.data),
            source_lookup=self.source,
        )
        if outcome.ok:
            for key, value in outcome.writes:
                if value is None:
                    self.data.pop(key, None)
                else:
                    self.data[key] = value
        return outcome

    def execute(self, expression: str, *, seed: int = 7, fuel: int = limits.CALL_FUEL_MAX) -> CallOutcome:
        return execute_expression(
            pool(),
            self.image,
            expression,
            flick=MOMENT_FLICKS,
            seed=seed,
            fuel=fuel,
            data=Rows(self.data),
            source_lookup=self.source,
        )

    def value(self, expression: str) -> Any:
        """The value of an expression that must succeed."""
        outcome = self.execute(expression)
        assert outcome.ok and outcome.value is not None, outcome.failure
        return json.loads(outcome.value)

    def result(self, name: str, *args: Any) -> Any:
        """The result of a call that must succeed."""
        outcome = self.call(name, *args)
        assert outcome.ok and outcome.value is not None, outcome.failure
        return json.loads(outcome.value)

    def failure(self, expression: str) -> tuple[str, str]:
        """Kind and first line of the failure of an expression that must fail."""
        outcome = self.execute(expression)
        assert outcome.failure is not None, outcome.value
        return outcome.failure.kind, outcome.failure.headline


@cache
def empty_world() -> World:
    """A world without definitions, to evaluate expressions in: nothing changes it."""
    return World()
