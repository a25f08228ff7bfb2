"""Reads: durable rows of the projection in the shapes of the wire. Nothing here changes anything."""

from __future__ import annotations

from importlib import metadata

import msgspec

from engine import limits
from engine.clock.flicks import iso_from_flicks
from engine.host import answers
from engine.host.admission import Door
from engine.host.api import NotThere
from engine.host.ledger import LedgerReads
from engine.host.parts import Parts
from engine.host.replies import answer_of, check_row
from engine.host.runtime import NO_PAGE, Runtime, Runtimes
from engine.io.blobs import BlobError
from engine.logic.syntax import free_names
from engine.record import kinds
from engine.record.projection import rows as projected
from engine.record.records import record_hash


class WorldReads:
    """What one world is, on durable state only (Invariant 1): that of `ledger`, of now or of a moment."""

    parts: Parts

    @property
    def ledger(self) -> LedgerReads:
        return self.parts.ledger

    def world(self, world: str) -> answers.WorldSummary:
        row = self._row(world)
        ledger = self.ledger
        with ledger.lock:
            return _summary(row, ledger.read().closed_incidents(world))

    def functions(self, world: str) -> list[answers.DefinitionRow]:
        row = self._row(world)
        rows = self.ledger.definitions_at(world, row.revision)
        names = frozenset(r.definition.name for r in rows)
        calls = {r.definition.name: sorted(names & free_names(r.definition.source)) for r in rows}
        return [_definition(r, calls) for r in rows]

    def function(self, world: str, name: str) -> answers.DefinitionRow:
        for definition in self.functions(world):
            if definition.name == name:
                return definition
        raise NotThere(f"{name} is not defined in world {world}")

    def source(self, world: str) -> dict[str, str]:
        row = self._row(world)
        rows = self.ledger.definitions_at(world, row.revision)
        return {f"{r.definition.name}.js": _as_file(r.definition) for r in rows}

    def revisions(self, world: str, *, limit: int, before: int | None) -> answers.RevisionPage:
        self._row(world)
        ledger = self.ledger
        with ledger.lock:
            page = ledger.read().revisions(world, limit=limit, before=before)
        return answers.RevisionPage(
            revisions=[self._revision(row, with_source=False) for row in page.rows], more=page.more
        )

    def revision(self, world: str, n: int) -> answers.RevisionRow:
        self._row(world)
        row = self.ledger.revision(world, n)
        if row is None:
            raise NotThere(f"no revision {n} in world {world}")
        return self._revision(row, with_source=True)

    def rejections(self, world: str, *, limit: int, before: int | None) -> answers.RejectionPage:
        self._row(world)
        ledger = self.ledger
        with ledger.lock:
            page = ledger.read().rejections(world, limit=limit, before=before)
        return answers.RejectionPage(rejections=[_rejection(row) for row in page.rows], more=page.more)

    def rejection(self, world: str, n: int) -> answers.RejectionRow:
        self._row(world)
        ledger = self.ledger
        with ledger.lock:
            row = ledger.read().rejection(world, n)
        if row is None:
            raise NotThere(f"no rejection {n} in world {world}")
        return _rejection(row)

    def incidents(self, world: str, *, limit: int, before: int | None) -> answers.IncidentPage:
        self._row(world)
        ledger = self.ledger
        with ledger.lock:
            page = ledger.read().incidents(world, limit=limit, before=before)
        return answers.IncidentPage(incidents=[_incident(row) for row in page.rows], more=page.more)

    def incident(self, world: str, n: int) -> answers.IncidentRow:
        self._row(world)
        ledger = self.ledger
        with ledger.lock:
            row = ledger.read().incident(world, n)
        if row is None:
            raise NotThere(f"no incident {n} in world {world}")
        return _incident(row)

    def data(self, world: str, *, prefix: str, after: str | None, limit: int) -> answers.DataPage:
        self._row(world)
        ledger = self.ledger
        with ledger.lock:
            page = ledger.read().data(world, prefix=prefix, after=after, limit=limit)
        return answers.DataPage(
            items=[answers.DataRow(key=row.key, value=msgspec.Raw(row.value)) for row in page.rows],
            more=page.more,
        )

    def log(self, world: str, *, after: int, limit: int, until: int | None = None) -> answers.LogPage:
        """Records with their bodies, none after `until`; a body that was erased is left out."""
        self._row(world)
        ledger = self.ledger
        with ledger.lock:
            page = ledger.read().records(world, after=after, limit=limit)
        rows = [row for row in page.rows if until is None or row.seq <= until]
        more = page.more and len(rows) == len(page.rows) and rows[-1].seq != until
        return answers.LogPage(records=[self._record(row) for row in rows], more=more)

    def checks(self, world: str) -> answers.CheckList:
        self._row(world)
        ledger = self.ledger
        with ledger.lock:
            enrolled, removed = ledger.read().checks(world), ledger.read().removed_checks(world)
        return answers.CheckList(
            checks=[check_row(row.body) for row in enrolled],
            removed=[
                answers.RemovedCheckRow(
                    name=row.body.name,
                    expression=row.body.expression,
                    reason=row.reason,
                    actor=row.actor,
                    at=iso_from_flicks(row.flick),
                )
                for row in removed
            ],
        )

    def grants(self, world: str) -> answers.Grants:
        self._row(world)
        ledger = self.ledger
        with ledger.lock:
            return answers.Grants(worlds=ledger.read().grants(world))

    def page(self, world: str) -> answers.PageAccess:
        self._row(world)
        ledger = self.ledger
        with ledger.lock:
            return _page(ledger.read().page(world) or NO_PAGE)

    def graph(self, world: str) -> answers.Graph:
        rows = self.functions(world)
        return answers.Graph(
            calls={row.name: row.calls for row in rows}, called_by={row.name: row.called_by for row in rows}
        )

    # ---- rows ------------------------------------------------------------------------------------------------------

    def _row(self, world: str) -> projected.World:
        ledger = self.ledger
        with ledger.lock:
            row = ledger.read().world(world)
        if row is None:
            raise NotThere(f"there is no world {world}")
        return row

    def _revision(self, row: projected.RevisionRow, *, with_source: bool) -> answers.RevisionRow:
        body = row.body
        heap = body.heap if body is not None else None
        revision = body if isinstance(body, kinds.Revision) else None
        return answers.RevisionRow(
            n=row.n,
            seq=row.seq,
            parent=revision.parent if revision else None,
            kind=row.cause,
            summary=revision.summary if revision else "",
            actor=row.actor,
            at=iso_from_flicks(row.flick),
            changes=revision.changes if revision else kinds.Changes(),
            snapshot=heap.root if heap else "",
            bytes=self._blob_bytes(heap.blob) if heap else 0,
            source=revision.source if revision and with_source else None,
        )

    def _blob_bytes(self, blob: str) -> int:
        try:
            return self.parts.blobs.size_bytes(blob)
        except BlobError:
            return 0

    def _record(self, row: projected.RecordRow) -> answers.LogRow:
        entry = self.parts.log.read_at(row.cursor)
        body = self.ledger.body_of(row.cursor)
        return answers.LogRow(
            seq=row.seq,
            kind=row.kind,
            actor=row.actor,
            at=iso_from_flicks(row.flick),
            hash=record_hash(entry.header),
            body=msgspec.Raw(answers.record_as_json(body)) if body is not None else None,
        )


class Reads(WorldReads):
    """The reading half of `api.Application`."""

    runtimes: Runtimes
    door: Door

    def worlds(self, *, archived: bool = False) -> list[answers.WorldSummary]:
        """The worlds in use; with `archived`, all."""
        ledger = self.parts.ledger
        with ledger.lock:
            queries = ledger.read()
            rows = queries.worlds(archived=None if archived else False)
            return [_summary(row, queries.closed_incidents(row.id)) for row in rows]

    def grants(self, world: str) -> answers.Grants:
        return answers.Grants(worlds=list(self._runtime(world).grants))

    def page(self, world: str) -> answers.PageAccess:
        return _page(self._runtime(world).page)

    def operation(self, world: str, seq: int) -> answers.OperationState:
        """What became of an operation that was durably admitted as record `seq`."""
        self._row(world)
        ledger = self.parts.ledger
        with ledger.lock:
            row = ledger.read().admitted(world, seq)
        if row is None:
            raise NotThere(f"no operation {seq} in world {world}")
        if row.outcome_seq is None:
            return answers.OperationState(operation=seq, state="running")
        body = ledger.body_at(world, row.outcome_seq)
        if body is None:
            return answers.OperationState(operation=seq, state="erased")
        if isinstance(body, kinds.Imported):
            return answers.OperationState(operation=seq, state="not-run")
        answer = answers.as_json(answer_of(body, world=world, seq=row.outcome_seq))
        return answers.OperationState(operation=seq, state="ended", answer=msgspec.Raw(answer))

    def health(self) -> answers.Health:
        free_bytes = self.parts.disk.free_bytes()
        warnings = []
        if free_bytes < limits.DISK_WARN_BYTES_FREE:
            warnings.append(
                f"only {free_bytes // limits.MIB} MiB of disk are free; make room before the server turns read-only"
            )
        warnings += self.parts.ledger.warnings() + self.parts.images.warnings()
        state = "draining" if self.door.draining else "read-only" if self.door.trouble else "ready"
        return answers.Health(state=state, reason=self.door.trouble or "", warnings=warnings)

    def version(self) -> answers.Version:
        engines = self.parts.engines
        return answers.Version(
            build=metadata.version("flickworld"),
            engine=engines.identity,
            prelude=self.parts.prelude_version,
            vm=engines.path,
        )

    def gauges(self) -> dict[str, float]:
        pool = self.parts.engines.pool
        opened = list(self.runtimes.opened())
        return {
            "worlds_open": len(opened),
            "operations_in_flight": sum(len(runtime.hub.ops) for runtime in opened),
            "calls_waiting": sum(len(runtime.hub.parked) for runtime in opened),
            "vms_idle": pool.idle,
            "vms_made": pool.made,
            "vms_discarded": pool.discarded,
            "log_bytes": self.parts.log.size_bytes(),
            "log_batches": self.parts.log.head().batch,
            "disk_free_bytes": self.parts.disk.free_bytes(),
            "read_only": float(self.door.trouble is not None),
        }

    def _runtime(self, world: str) -> Runtime:
        runtime = self.runtimes.get(world)
        if runtime is None:
            raise NotThere(f"there is no world {world}")
        return runtime


def _summary(row: projected.World, closed_incidents: list[int]) -> answers.WorldSummary:
    incidents = 0 if row.purged else row.next_incident - 1
    return answers.WorldSummary(
        id=row.id,
        name=row.name,
        revision=row.revision,
        archived=row.archived,
        frozen=row.frozen,
        purged=row.purged,
        created_at=iso_from_flicks(row.created_flick),
        definitions=row.definitions,
        incidents=incidents - len(closed_incidents),
        records=row.seq + 1,
        engine=row.engine,
        prelude=row.prelude_version,
    )


def _definition(row: projected.DefinitionRow, calls: dict[str, list[str]]) -> answers.DefinitionRow:
    definition = row.definition
    return answers.DefinitionRow(
        name=definition.name,
        kind=definition.kind,
        version=definition.version,
        params=definition.params,
        doc=definition.doc,
        source=definition.source,
        revision=row.revision,
        calls=calls[definition.name],
        called_by=sorted(name for name, called in calls.items() if definition.name in called),
    )


def _as_file(definition: kinds.Definition) -> str:
    """A text that `develop` takes again: the definition's own text, under its doc."""
    return definition.source + "\n"


def _page(page: kinds.PageSet) -> answers.PageAccess:
    return answers.PageAccess(access=page.access, functions=page.functions, link_hash=page.link_hash)


def _rejection(row: projected.RejectionRow) -> answers.RejectionRow:
    body = row.body
    return answers.RejectionRow(
        n=row.n,
        base=body.base if body else 0,
        kind=body.kind if body else "erased",
        reason=body.reason if body else "",
        summary=body.summary if body else "",
        actor=row.actor,
        at=iso_from_flicks(row.flick),
        source=body.source if body else "",
        logs=body.logs if body else [],
        check=body.check if body else None,
    )


def _incident(row: projected.IncidentRow) -> answers.IncidentRow:
    body = row.body
    call = body if isinstance(body, kinds.Call) else None
    interrupted = body if isinstance(body, kinds.Interrupted) else None
    args = call.args if call else interrupted.args if interrupted and interrupted.args else b"[]"
    failure = call.failure if call else None
    error = failure.error if failure else ""
    if interrupted:
        error = f"interrupted: the server ended while this {interrupted.operation} ran"
    return answers.IncidentRow(
        n=row.n,
        kind=failure.kind if failure else "interrupted" if interrupted else "erased",
        function=call.function if call else interrupted.subject if interrupted else "",
        args=msgspec.Raw(args),
        error=error,
        revision=body.revision if body else 0,
        snapshot=body.snapshot if body else 0,
        flick=call.flick if call else interrupted.admitted_flick if interrupted else row.flick,
        seed=body.seed if body else 0,
        actor=row.actor,
        at=iso_from_flicks(row.flick),
        state="quarantined" if interrupted and interrupted.quarantined and row.state == "open" else row.state,
        logs=call.logs if call else [],
        alike=row.alike,
        hint=failure.hint if failure else None,
        closed_reason=row.closed_reason,
        answer=msgspec.Raw(row.answer) if row.answer is not None else None,
        retried=row.retried_seq,
        answers=[
            answers.PeerAnswerRow(
                world=a.world, function=a.function, ok=a.ok, value=a.value.decode("utf-8", "replace")
            )
            for a in (call.answers if call else [])
        ],
    )
