"""Worlds that call each other: what a job may know of the others, and what an answer of one is to its caller."""

from __future__ import annotations

from collections.abc import Sequence

from engine import limits
from engine.host import answers
from engine.host.ledger import LedgerReads
from engine.hub import messages as hub
from engine.logic.jobs import FailureKind


class PeerView:
    """The `Peers` of one job, called on a VM thread: grants and catalogues as they are now."""

    def __init__(self, ledger: LedgerReads, world: str, grants: Sequence[str], path: tuple[str, ...]) -> None:
        self._ledger = ledger
        self._world = world
        self._grants = grants
        self._path = (*path, world)

    def list(self) -> Sequence[str]:
        """The worlds that may be called, sorted; never the world itself."""
        return tuple(world for world in self._grants if world != self._world)

    def functions(self, world: str) -> Sequence[tuple[str, str, str, Sequence[str]]]:
        """Name, kind, doc and params of each definition of a granted world."""
        return [
            (row.definition.name, row.definition.kind, row.definition.doc, row.definition.params)
            for row in self._ledger.functions(world)
        ]

    def may_call(self, world: str) -> tuple[FailureKind, str] | None:
        """Why a world may not be called, as a kind of failure and a text; None where it may."""
        if world in self._path:
            return "threw", f"cycle: {' -> '.join((*self._path, world))}"
        if world not in self._grants:
            return (
                "denied",
                f"{self._world} may not call {world}: no grant. The operator allows it with: "
                f"pw grants {self._world} --allow {world}",
            )
        if len(self._path) >= limits.CALL_PATH_WORLDS_MAX:
            return (
                "threw",
                f"the call path is {limits.CALL_PATH_WORLDS_MAX} worlds long already: {' -> '.join(self._path)}",
            )
        return None


class Session:
    """One preview over several worlds: what it would have written in each, seen by its later calls there."""

    def __init__(self) -> None:
        self._writes: dict[str, dict[str, bytes | None]] = {}

    def of(self, world: str) -> dict[str, bytes | None]:
        """What the preview would have written in a world so far."""
        return dict(self._writes.get(world, {}))

    def wrote(self, world: str, writes: Sequence[hub.Write]) -> None:
        overlay = self._writes.setdefault(world, {})
        overlay.update((write.key, write.value) for write in writes)


def answered(op: int, ask: hub.Ask, answer: answers.OperationAnswer) -> hub.PeerAnswered:
    """What a caller hears: the value, or the error with this hop's prefix."""
    match answer:
        case answers.CallOk() | answers.PreviewOk():
            return hub.PeerAnswered(op, ask.ordinal, True, bytes(answer.value))
        case answers.CallFailed() | answers.PreviewFailed():
            reason = answer.error.split("\n", 1)[0]
        case answers.Missing() | answers.Refused():
            reason = answer.error
        case other:
            raise AssertionError(f"a call is not answered {type(other).__name__}")
    text = f"{ask.world}.{ask.function}: {reason}"
    return hub.PeerAnswered(op, ask.ordinal, False, text.encode("utf-8", "surrogatepass"), "threw")
