"""Open worlds: a hub each, and what the host keeps beside it. A world is opened when it is first asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import msgspec
from fastrlock.rlock import FastRLock

from engine import limits
from engine.host.ledger import LedgerReads, LoadedWorld
from engine.host.parts import Parts
from engine.host.rerunning import Case, case_of_golden
from engine.host.sources import Sources
from engine.hub import messages as hub
from engine.hub import open_world
from engine.ids import content_id
from engine.logic import Catalogue, Check
from engine.record import kinds
from engine.record.inflight import Work
from engine.record.records import FIRST_SEQ


class Engine(NamedTuple):
    """What a world's heaps run on: the identity, and the blob of its binary."""

    identity: str
    blob: str


class Enrolled(NamedTuple):
    """A check, and the record that enrolled it."""

    seq: int
    check: Check


NO_PAGE = kinds.PageSet(access="private", functions=[], link_hash=None)


def check_of(body: kinds.CheckEnrolled) -> Check:
    return Check(
        name=body.name,
        expression=body.expression,
        counterexample=body.counterexample,
        generator=body.generator,
        inputs=tuple(body.inputs),
        seed=body.seed,
    )


class Runtime:
    """One open world. `lock` guards the hub's data, which VM threads read while the host's thread goes on."""

    def __init__(self, loaded: LoadedWorld, ledger: LedgerReads) -> None:
        self.id = loaded.hub.world
        self.lock = FastRLock()
        self.hub = open_world(loaded.hub)
        self.head = loaded.hub.revision
        self.heaps: dict[int, kinds.HeapRef] = {self.head: loaded.heap}
        self.prelude_version = loaded.prelude_version
        self.engine = Engine(loaded.engine, loaded.engine_blob)
        self.names: dict[str, None] = dict.fromkeys(loaded.names)
        self.catalogue: Catalogue | None = None  # of the head, once an attempt has asked for it
        self._ledger = ledger
        self.sources = Sources(ledger, self.id)
        self.checks: dict[str, Enrolled] = {
            body.name: Enrolled(seq, check_of(body)) for seq, body in loaded.checks
        }
        self.grants: tuple[str, ...] = tuple(loaded.grants)
        self.page = loaded.page or NO_PAGE
        self.goldens: dict[int, Case] = {
            row.n: case_of_golden(row.body, row.outcome) for row in loaded.goldens
        }
        self.golden_seqs: dict[int, int] = {row.n: row.seq for row in loaded.goldens}
        self.held: dict[int, str] = dict(loaded.held)  # number -> cause
        self.unsettled: dict[int, kinds.Admitted] = dict(loaded.unsettled)
        self.undurable: dict[int, kinds.Body] = {}
        self.recent: OrderedDict[int, kinds.Body] = OrderedDict()
        self.quarantined: set[str] = set(loaded.quarantined)
        self.upgrading = False
        self.dry_runs = 0  # under way
        self._records_since_checkpoint = 0

    def made_durable(self, seq: int) -> list[kinds.Body]:
        """Take over what is durable now, up to `seq`; the bodies in order."""
        bodies = []
        while self.undurable and (first := next(iter(self.undurable))) <= seq:
            body = self.undurable.pop(first)
            self.recent[first] = body
            self._records_since_checkpoint += 1
            self._apply(first, body)
            bodies.append(body)
        while len(self.recent) > limits.RECENT_BODIES_KEPT_MAX:
            self.recent.popitem(last=False)
        return bodies

    def _apply(self, seq: int, body: kinds.Body) -> None:
        match body:
            case kinds.CheckEnrolled():
                self.checks[body.name] = Enrolled(seq, check_of(body))
            case kinds.CheckRemoved():
                self.checks.pop(body.name, None)  # two may have been let in to remove it
            case kinds.GoldenPinned():
                self.goldens[body.n] = case_of_golden(body, body.outcome)
                self.golden_seqs[body.n] = seq
            case kinds.GoldenUnpinned():
                del self.goldens[body.golden], self.golden_seqs[body.golden]
            case kinds.Held():
                self.held[body.n] = body.cause
                self.held.pop(body.replaces or 0, None)
            case kinds.HeldRejected():
                del self.held[body.held]
            case kinds.Unchanged():
                self.held.pop(body.blesses or 0, None)
            case kinds.Granted():
                self.grants = tuple(body.worlds)
            case kinds.PageSet():
                self.page = body
            case kinds.Admitted():
                self.unsettled[seq] = body
            case kinds.Call() if body.admitted is not None:
                self.unsettled.pop(body.admitted, None)
            case kinds.Revision():
                self.head = body.n
                self.heaps[body.n] = body.heap
                self.prelude_version = body.prelude_version
                for name in body.changes.removed:
                    self.names.pop(name, None)
                self.names.update((definition.name, None) for definition in body.definitions)
                self.quarantined.clear()
                self._blessed(body)
            case kinds.Interrupted():
                self._interrupted(body)
            case kinds.Checkpoint():
                self._records_since_checkpoint = 0

    def _blessed(self, body: kinds.Revision) -> None:
        """Results that a revision was blessed to change are pinned as they are now. A recording may leave them out."""
        blessed = body.blessed
        if blessed is None or self.held.pop(blessed.held, None) is None:
            return
        held = self._ledger.held(self.id, blessed.held)
        assert held is not None, "what is open was held"
        for golden in blessed.goldens:
            self.goldens[golden] = replace(self.goldens[golden], outcome=held.shown[golden])

    def _interrupted(self, body: kinds.Interrupted) -> None:
        if body.quarantined:
            self.quarantined.add(body.work)
        for seq, admitted in list(self.unsettled.items()):
            if (admitted.flick, admitted.seed) == (body.admitted_flick, body.seed):
                del self.unsettled[seq]

    def was_admitted(self, flick: int, seed: int) -> bool:
        """Whether an operation without an outcome was durably admitted with these."""
        return any((body.flick, body.seed) == (flick, seed) for body in self.unsettled.values())

    def wants_checkpoint(self) -> bool:
        return self._records_since_checkpoint >= limits.CHECKPOINT_RECORDS

    def checkpointing(self) -> None:
        """One was asked for: do not ask again before it had time to be written."""
        self._records_since_checkpoint = 0

    def needs_upgrade(self, prelude_version: int) -> bool:
        """Whether the head is on an older prelude, and nobody is at it or has forbidden it."""
        behind = self.prelude_version < prelude_version and "upgrade" not in self.held.values()
        return behind and not (self.upgrading or self.hub.purged or self.hub.archived or self.hub.frozen)

    def is_quarantined(self, operation: hub.Operation) -> bool:
        return bool(self.quarantined) and work_key(self.id, operation, self.head) in self.quarantined

    def work_of(self, work: hub.RunJob | hub.Draft, request: hub.Request | None, asks_as: str | None) -> Work:
        """What the in-flight file remembers of an operation that runs or is about to be recorded."""
        operation = work.operation
        return Work(
            world=self.id,
            operation=type(operation).__name__.lower(),
            subject=subject_of(operation),
            args=operation.args if isinstance(operation, hub.Call | hub.TryCall) else b"",
            revision=work.revision,
            snapshot=work.snapshot,
            flick=work.flick,
            seed=work.seed,
            work=work_key(self.id, operation, work.revision),
            request=kinds.Request(request.id, request.hash) if request else None,
            asks_as=asks_as,
        )


def subject_of(operation: hub.Operation) -> str:
    """What an operation is about, for people: the function, the expression, the source ..."""
    match operation:
        case hub.Call():
            return operation.function
        case hub.TryCall():
            return operation.function
        case hub.Execute():
            return operation.expression
        case hub.Enrol() | hub.RemoveCheck():
            return operation.name
        case hub.Develop():
            return operation.source
        case hub.Rollback():
            return f"to revision {operation.revision}"
        case hub.RestoreData():
            return f"data of record {operation.at}"
        case hub.Pin():
            return f"record {operation.call}"
        case hub.Bless() | hub.RejectHeld():
            return f"held change {operation.held}"
        case hub.Unpin():
            return f"golden {operation.golden}"
        case _:
            return ""


def work_key(world: str, operation: hub.Operation, revision: int) -> str:
    """The identity of one piece of work: the same again at the same revision has the same key."""
    args = operation.args if isinstance(operation, hub.Call | hub.TryCall) else b""
    subject = subject_of(operation).encode("utf-8", "surrogatepass")
    return content_id(msgspec.msgpack.encode([world, type(operation).__name__, subject, args, revision]))


class Runtimes:
    """The open worlds, in the order in which they were opened."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._open: dict[str, Runtime] = {}

    def get(self, world: str) -> Runtime | None:
        """The open world, opened now if it must be; None where there is none of that id."""
        runtime = self._open.get(world)
        if runtime is None:
            loaded = self._parts.ledger.load(world)
            if loaded is None:
                return None
            runtime = self._open[world] = Runtime(loaded, self._parts.ledger)
        return runtime

    def exists(self, world: str) -> bool:
        return world in self._open or self._parts.ledger.has(world)

    def opened(self) -> Iterator[Runtime]:
        yield from list(self._open.values())

    def born(self, world: str, genesis: kinds.Genesis) -> Runtime:
        """A new world, whose genesis is durable."""
        loaded = hub.Loaded(
            world=world,
            seq=FIRST_SEQ,
            revision=0,
            next_revision=1,
            next_rejection=1,
            next_incident=1,
            archived=False,
            frozen=False,
            purged=False,
        )
        runtime = self._open[world] = Runtime(
            LoadedWorld(
                hub=loaded,
                heap=genesis.heap,
                prelude_version=genesis.prelude_version,
                engine=genesis.engine,
                engine_blob=genesis.engine_blob,
            ),
            self._parts.ledger,
        )
        return runtime
