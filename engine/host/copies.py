"""The first records of a copy: a new world from what another one was at one of its records.

Its genesis has the origin's heap and catalogue; checks and data follow. Grants, who may open the page, request ids,
incidents and everything else that was promised to somebody stay with the origin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from engine.io.blobs import Blobs
from engine.io.log import LogEntry
from engine.limits import DATA_WRITE_BYTES_ABOUT, DATA_WRITES_BYTES_MAX
from engine.record import heaps, kinds
from engine.record.moments import Moment
from engine.record.records import FIRST_SEQ, encode, genesis_previous


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
    )
    for check in moment.checks(origin):
        yield msgspec.structs.replace(check.body, revision=0, request=None)
    yield from map(kinds.DataCopied, _portions(moment.all_data(origin)))


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
