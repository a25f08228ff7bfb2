"""What is tried in the past: an expression, or a view of the page, on the heap and the data of a moment.

The clock is the time of the moment's record, and the seed follows from that record and what is tried, so the same
look gives the same answer. Nothing of it is recorded.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import msgspec

from engine import limits, logic
from engine.host import answers
from engine.host.ledger import LedgerReads
from engine.host.page_results import PAGE_FUNCTION, judged, page_of
from engine.host.parts import Parts
from engine.host.past_answers import PageView
from engine.host.replies import answer_of
from engine.host.sources import Sources
from engine.ids import content_id
from engine.logic import CallOutcome, Interrupt
from engine.logic.jobs import FailureKind
from engine.record import kinds
from engine.record.records import record_hash

Tried = answers.PreviewOk | answers.PreviewFailed | PageView | answers.Missing
_ALL_ROWS = 2**31


class PastData:
    """The data of a moment: the `DataView` of a try there."""

    def __init__(self, ledger: LedgerReads, world: str) -> None:
        self._ledger = ledger
        self._world = world

    def get(self, key: str) -> bytes | None:
        with self._ledger.lock:
            row = self._ledger.read().value(self._world, key)
        return row.value if row is not None else None

    def list(self, prefix: str, after: str | None, limit: int | None) -> list[tuple[str, bytes]]:
        with self._ledger.lock:
            page = self._ledger.read().data(self._world, prefix, after, _ALL_ROWS if limit is None else limit)
        return [(row.key, row.value) for row in page.rows]


class NoPeers:
    """The other worlds as the past has them: none. What they are now is not what they were."""

    def __init__(self, world: str, at: int) -> None:
        self._world = world
        self._at = at

    def may_call(self, world: str) -> tuple[FailureKind, str]:
        return (
            "denied",
            f"{self._world} as it was after record {self._at} cannot call {world}: the past has no other worlds. "
            "Make a copy of the world from there, and grant the copy what it may call",
        )

    def list(self) -> tuple[str, ...]:
        return ()

    def functions(self, world: str) -> tuple[()]:
        return ()


@dataclass(frozen=True, slots=True)
class Try:
    """An expression, or a view of the page with the arguments of `app` (a JSON array)."""

    expression: str | None
    page_args: bytes = b""

    @property
    def asked(self) -> bytes:
        """What the seed follows from."""
        if self.expression is None:
            return b"page " + self.page_args
        return b"execute " + self.expression.encode("utf-8", "surrogatepass")


def tried(parts: Parts, past: LedgerReads, world: str, at: int, what: Try, interrupt: Interrupt) -> Tried:
    """Run it on the moment that `past` is. Called on the VM lane; raises what storage raises, HeapUnreadable too."""
    with past.lock:
        row = past.read().world(world)
    assert row is not None and row.heap is not None, "a moment of a world that was not purged"
    flick, hash_ = _record(parts, world, at)
    run: dict[str, Any] = {
        "flick": flick,
        "seed": int(content_id(hash_.encode() + what.asked)[:16], 16),
        "fuel": limits.CALL_FUEL_MAX,
        "data": PastData(past, world),
        "peers": NoPeers(world, at),
        "source_lookup": Sources(past, world),
        "interrupt": interrupt,
    }
    pool, image = parts.engines.pool_for(row.engine, row.engine_blob), parts.images.get(row.heap)
    if what.expression is not None:
        outcome = logic.execute(pool, image, what.expression, **run)
    else:
        outcome = logic.call(pool, image, PAGE_FUNCTION, what.page_args, **run)
    assert isinstance(outcome, CallOutcome), "who may call nobody waits for nobody"
    if what.expression is None:
        return _viewed(judged(outcome), world, at)
    return _previewed(outcome, at)


def _record(parts: Parts, world: str, at: int) -> tuple[int, str]:
    """The flick and the hash of a record."""
    ledger = parts.ledger
    with ledger.lock:
        row = ledger.read().record(world, at)
    assert row is not None, "a moment is that of a record"
    return row.flick, record_hash(parts.log.read_at(row.cursor).header)


def _previewed(outcome: CallOutcome, at: int) -> answers.PreviewOk | answers.PreviewFailed:
    failure = outcome.failure
    answer = answer_of(
        kinds.Preview(
            expression="",
            revision=0,
            snapshot=at,
            flick=0,
            seed=0,
            value=outcome.value,
            failure=kinds.Failure(failure.kind, failure.error, failure.hint) if failure else None,
            undone=[kinds.Write(key, value) for key, value in outcome.writes],
            logs=list(outcome.logs),
            fuel=outcome.fuel,
        ),
        world="",
        seq=at,
    )
    assert isinstance(answer, answers.PreviewOk | answers.PreviewFailed), "a preview is answered as one"
    return msgspec.structs.replace(answer, at=at)


def _viewed(outcome: CallOutcome, world: str, at: int) -> Tried:
    if outcome.missing:
        return answers.Missing(ok=False, error=f"world {world} defined no app after record {at}")
    if not outcome.ok:
        return _previewed(outcome, at)
    assert outcome.value is not None, "what succeeded has a value"
    page = page_of(outcome.value)
    try:
        body, is_base64 = page.body.decode("utf-8"), False
    except UnicodeDecodeError:
        body, is_base64 = base64.b64encode(page.body).decode("ascii"), True
    preview = _previewed(outcome, at)
    return PageView(
        ok=True,
        status=page.status,
        headers=page.headers,
        body=body,
        base64=is_base64,
        rolled_back=preview.rolled_back,
        logs=preview.logs,
        at=at,
    )
