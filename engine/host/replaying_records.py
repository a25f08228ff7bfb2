"""A world's records in their order, decoded strictly, with a look ahead where one is needed before its turn."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from msgspec.structs import replace

from engine.io.log import Log
from engine.record.kinds import Body, Checkpoint, Header, Revision
from engine.record.records import FIRST_SEQ, RecordRotten, decode, genesis_previous, record_hash


class Record(NamedTuple):
    """`body` is None where it was erased."""

    seq: int
    header: Header
    body: Body | None


class Records:
    """Records from `first` on; each is taken once, and follows the one before it. `taken` is the last that was."""

    def __init__(self, log: Log, world: str, first: int) -> None:
        self.taken = first - 1
        self._world = world
        self._rest = log.read(world, first)
        self._ahead: dict[int, Record] = {}
        self._read = first - 1
        self._last_hash: str | None = genesis_previous() if first == FIRST_SEQ else None

    def take(self, seq: int) -> Record:
        """The next record. Raises RecordForeign, RecordRotten, LogError."""
        assert seq == self.taken + 1, "records are taken in their order"
        self.taken = seq
        record = self._ahead.pop(seq, None)
        return record if record is not None else self._decode_next()

    def peek(self, seq: int) -> Record:
        """A later record, which stays to be taken."""
        while self._read < seq:
            record = self._decode_next()
            self._ahead[record.seq] = record
        return self._ahead[seq]

    def _decode_next(self) -> Record:
        _, entry = next(self._rest)
        header, body = decode(entry)
        self._read += 1
        if header.seq != self._read or (self._last_hash is not None and header.previous != self._last_hash):
            raise RecordRotten(
                self._world, entry.seq, f"it does not follow record {self._read - 1}. Run: pw verify"
            )
        self._last_hash = record_hash(entry.header)
        return Record(self._read, header, body)


def as_far_as_known(recorded: Body, actual: Body, pinned: Container[int]) -> Body:
    """What came of a record, but for what cannot be known here: of `pinned` are the results that are.

    A blob of data may be packed otherwise; a redacted recording holds no pinned results.
    """
    if isinstance(recorded, Checkpoint) and isinstance(actual, Checkpoint):
        same = actual.data_digest == recorded.data_digest
        return replace(actual, data_blob=recorded.data_blob) if same else actual
    if isinstance(recorded, Revision) and isinstance(actual, Revision):
        unknown = [n for n in recorded.unlike if n not in pinned]
        return replace(actual, unlike=sorted({*actual.unlike, *unknown}))
    return actual
