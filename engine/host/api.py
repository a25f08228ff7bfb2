"""The one interface that the server and the tools see of a host: operations, reads, upkeep.

All of it is called on the host's own thread (the event loop's, live). Reads answer at once from durable state;
`submit` and `create_world` call `done` once, later, on the same thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from engine.host.answers import (
    CheckList,
    DataPage,
    DefinitionRow,
    Grants,
    Graph,
    Health,
    IncidentPage,
    IncidentRow,
    LogPage,
    OperationAnswer,
    OperationState,
    PageAccess,
    RejectionPage,
    RejectionRow,
    RevisionPage,
    RevisionRow,
    Version,
    WorldSummary,
)
from engine.host.golden_answers import GoldenPage, GoldenRow, HeldRow
from engine.hub.messages import Develop, Operation

Done = Callable[[OperationAnswer], None]


class NotThere(Exception):
    """The world, revision, rejection, incident, definition or key asked for does not exist; the text says which."""


class Gone(NotThere):
    """It was there, and was erased with its world; the text says so."""


class Upkeep(Struct, frozen=True):
    """How a long piece of upkeep ended: `report` are plain JSON values; `ok` False comes with an `error`."""

    ok: bool
    report: dict[str, Any]
    error: str = ""


class Application(Protocol):
    """Raises NotThere for what does not exist; `world` is always an id."""

    def create_world(self, name: str, *, actor: str, request_id: str | None, done: Done) -> None: ...

    def submit(
        self, world: str, operation: Operation, *, actor: str, request_id: str | None, done: Done
    ) -> None:
        """Start an operation. An unknown world is answered Missing."""
        ...

    def worlds(self, *, archived: bool = False) -> list[WorldSummary]: ...

    def world(self, world: str) -> WorldSummary: ...

    def functions(self, world: str) -> list[DefinitionRow]: ...

    def function(self, world: str, name: str) -> DefinitionRow: ...

    def source(self, world: str) -> dict[str, str]:
        """The head's definitions as files: file name -> text that `develop` takes again."""
        ...

    def revisions(self, world: str, *, limit: int, before: int | None) -> RevisionPage: ...

    def revision(self, world: str, n: int) -> RevisionRow: ...

    def rejections(self, world: str, *, limit: int, before: int | None) -> RejectionPage: ...

    def rejection(self, world: str, n: int) -> RejectionRow: ...

    def incidents(self, world: str, *, limit: int, before: int | None) -> IncidentPage: ...

    def incident(self, world: str, n: int) -> IncidentRow: ...

    def data(self, world: str, *, prefix: str, after: str | None, limit: int) -> DataPage: ...

    def log(self, world: str, *, after: int, limit: int) -> LogPage: ...

    def checks(self, world: str) -> CheckList: ...

    def grants(self, world: str) -> Grants: ...

    def page(self, world: str) -> PageAccess: ...

    def graph(self, world: str) -> Graph: ...

    def operation(self, world: str, seq: int) -> OperationState:
        """What became of an operation that was answered Started."""
        ...

    def goldens(self, world: str, *, limit: int, before: int | None) -> GoldenPage:
        """What is pinned and held in a world, and what was, newest first."""
        ...

    def golden(self, world: str, n: int) -> GoldenRow | HeldRow: ...

    def all_goldens(self) -> GoldenPage:
        """What is pinned and held now, in all worlds."""
        ...

    def dry_run(self, world: str, develop: Develop, *, done: Callable[[Any], None]) -> None:
        """What a develop would come to, and which recorded results would be others; nothing is recorded."""
        ...

    def health(self) -> Health: ...

    def version(self) -> Version: ...

    def gauges(self) -> dict[str, float]:
        """Numbers for /metrics, by Prometheus name without the `pw_` prefix."""
        ...

    def gc(self, *, done: Callable[[Upkeep], None]) -> None:
        """Collect unreachable blobs and expired bodies, beside the running work."""
        ...

    def backup(self, directory: str, *, done: Callable[[Upkeep], None]) -> None:
        """Copy a consistent image of the running server's data into an empty directory of this machine."""
        ...
