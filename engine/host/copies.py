"""Copies: a new world from what another one was at one of its records.

Its genesis has the origin's heap and catalogue; checks and data follow. Grants, who may open the page, request ids,
incidents and everything else that was promised to somebody stay with the origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from engine.host import answers
from engine.host.admission import Door
from engine.host.api import Done, Gone, NotThere
from engine.host.creation import Creations, request_of
from engine.host.engines import EngineForeign
from engine.host.landing import Arrivals, Marker
from engine.host.parts import Parts
from engine.host.past import moment_of
from engine.host.shell import Shell
from engine.host.sources import developed
from engine.io.blobs import BlobError, Blobs
from engine.io.disk import DiskError
from engine.io.log import LogEntry, LogError
from engine.limits import COPIED_SOURCES_BYTES_MAX, DATA_WRITE_BYTES_ABOUT, DATA_WRITES_BYTES_MAX
from engine.record import heaps, kinds
from engine.record.heaps import HeapRefused
from engine.record.moments import Moment, NoMoment
from engine.record.recording import RecordingRefused, batches_of
from engine.record.records import FIRST_SEQ, RecordRefused, encode, genesis_previous


class Copies:
    """The part of a host that copies worlds. What `done` hears comes once."""

    parts: Parts
    shell: Shell
    door: Door
    _creations: Creations
    _arrivals: Arrivals

    world: Callable[[str], answers.WorldSummary]

    def copy_world(
        self,
        world: str,
        *,
        at: int | None = None,
        name: str,
        actor: str,
        request_id: str | None = None,
        done: Done,
    ) -> None:
        """A new world from what this one was after its record `at` (its last one). Raises NotThere, Gone."""
        self.present(world, at)

        def opened() -> tuple[Moment, Blobs]:
            last = self.parts.log.last(world)
            assert last is not None, "it is there"
            return moment_of(self.parts, world, last[0] if at is None else at), self.parts.blobs

        self.copy_from(opened, ["copy", world, at, name], name, actor, request_id, done)

    def copy_from(
        self,
        opened: Callable[[], tuple[Moment, Blobs]],
        asked: list[object],
        name: str,
        actor: str,
        request_id: str | None,
        done: Done,
    ) -> None:
        """A new world from the moment, and the blobs under it, that `opened` gives on the upkeep lane.

        `asked` is what a request id stands for (Invariant 10).
        """
        if refusal := self.door.closed():
            done(refusal)
            return
        request = request_of(request_id, asked)
        if request is not None and self._creations.repeated(name, request, done):
            return
        world = self._creations.free_id(name)
        told = self._creations.claimed(request, world, done)
        flick, pinned = self.shell.clock.now_flicks(), list[str]()
        entries: list[LogEntry] = []

        def batches() -> Iterator[Sequence[LogEntry]]:
            moment, blobs = opened()
            pinned.extend(self.parts.pins.put_many(self.parts.blobs, list(blobs_under(moment, blobs))))
            entries.extend(
                copied_entries(moment, world=world, name=name, request=request, actor=actor, flick=flick)
            )
            moment.close()
            yield from batches_of(entries)

        def landed(refusal: answers.Refused | None) -> None:
            told(refusal or answers.Created(id=world, name=name, revision=0))

        self._arrivals.land(
            world,
            batches(),
            lambda: Marker(len(entries), ""),
            pinned=pinned,
            refused=self.import_refused,
            done=landed,
        )

    def present(self, world: str, seq: int | None) -> None:
        """Whether there is such a world, and has such a record. Raises NotThere, Gone."""
        summary = self.world(world)
        if summary.purged:
            raise Gone(f"world {world} was purged: what it recorded is erased")
        if seq is not None and not 0 <= seq < summary.records:
            raise NotThere(
                f"world {world} has records 0 to {summary.records - 1}, so there is no record {seq}"
            )

    def import_refused(self, error: BaseException) -> answers.Refused:
        """What to say of what reading and storing raise; anything else is a fault of ours."""
        match error:
            case RecordingRefused():
                return refused("recording", str(error), "`pw verify FILE` looks at a recording alone")
            case EngineForeign():
                return refused("foreign", str(error), "a world runs on the engine that made it")
            case NoMoment():
                return refused("erased", str(error), "`pw log` lists the world's records")
            case DiskError():
                self.door.storage_failed(error)
                return self.door.storage_refusal()
            case BlobError() | HeapRefused() | LogError() | RecordRefused():
                return refused("storage", str(error), "`pw doctor` says more")
        self.shell.report(error)
        return refused("storage", "the server made a mistake; nothing was done", "its log says more")


def refused(code: str, error: str, hint: str) -> answers.Refused:
    return answers.Refused(ok=False, refused=code, error=error, hint=hint)


def copied_entries(
    moment: Moment, *, world: str, name: str, request: kinds.Request | None, actor: str, flick: int
) -> Iterator[LogEntry]:
    """The records of the new world `world`, in their order."""
    previous = genesis_previous()
    for seq, body in enumerate(_bodies(moment, name, request), FIRST_SEQ):
        entry, previous = encode(body, world=world, seq=seq, actor=actor, flick=flick, previous=previous)
        yield entry


def blobs_under(moment: Moment, blobs: Blobs) -> Iterator[bytes]:
    """The contents that the world's engine and heap cannot do without. Raises BlobError, HeapRefused."""
    row = moment.world(moment.world_id)
    assert row is not None and row.heap is not None, "a moment is of a world that was not erased"
    yield blobs.get(row.engine_blob)
    below = [row.heap.blob]
    while below:
        content = blobs.get(below[0])
        yield content
        below = heaps.references(below[0], content)


def _bodies(moment: Moment, name: str, request: kinds.Request | None) -> Iterator[kinds.Body]:
    origin = moment.world_id
    row = moment.world(origin)
    assert row is not None and row.heap is not None, "a moment is of a world that was not erased"
    yield kinds.Genesis(
        name=name,
        engine=row.engine,
        engine_blob=row.engine_blob,
        prelude_version=row.prelude_version,
        heap=row.heap,
        request=request,
        origin=kinds.Origin(origin, row.seq, row.hash),
        definitions=[found.definition for found in moment.functions(origin)],
        sources=_sources(moment),
    )
    for check in moment.checks(origin):
        yield msgspec.structs.replace(check.body, revision=0, request=None)
    yield from map(kinds.DataCopied, _portions(moment.all_data(origin)))


def _sources(moment: Moment) -> list[kinds.Developed]:
    """The texts that made the present definitions, the newest first, as many as a record takes."""
    origin, texts, size_bytes = moment.world_id, list[kinds.Developed](), 0
    for n in sorted({found.revision for found in moment.functions(origin)}, reverse=True):
        row = moment.revision(origin, n)
        for text in developed(row.body) if row is not None else ():
            size_bytes += len(text.source.encode("utf-8", "surrogatepass"))
            if size_bytes > COPIED_SOURCES_BYTES_MAX:
                return texts
            texts.append(text)
    return texts


def _portions(rows: Iterable[tuple[str, bytes]]) -> Iterator[list[kinds.Write]]:
    """The rows as writes, as many together as a record takes."""
    portion: list[kinds.Write] = []
    size_bytes = 0
    for key, value in rows:
        row_bytes = len(key.encode("utf-8", "surrogatepass")) + len(value) + DATA_WRITE_BYTES_ABOUT
        if portion and size_bytes + row_bytes > DATA_WRITES_BYTES_MAX:
            yield portion
            portion, size_bytes = [], 0
        portion.append(kinds.Write(key, value))
        size_bytes += row_bytes
    if portion:
        yield portion
