"""What the log of a server says, read from outside as it grows: every record, and whose outcome it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from engine.io.log import Log
from engine.record.kinds import Admitted, Body, Call, Genesis, Header, Interrupted
from engine.record.records import FIRST_SEQ, RecordRefused, decode, genesis_previous, record_hash
from faults.checking import Judge


class Record(NamedTuple):
    seq: int
    hash: str
    header: Header
    body: Body | None


class History:
    """Grown by `catch_up`; a body that was read once is kept, also when the log erases it later."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.worlds: dict[str, list[Record]] = {}
        self.by_actor: dict[tuple[str, str], list[Record]] = {}
        self.by_request: dict[tuple[str, str], list[Record]] = {}
        self.interrupted: dict[tuple[str, int, int], list[Record]] = {}
        self.by_admission: dict[tuple[str, int], list[Record]] = {}

    def catch_up(self, log: Log) -> None:
        """Read what is new; the end of what was read before must still be there (Invariant 1), and chains hold (6)."""
        require = self._judge.require
        for world in log.worlds():
            records = self.worlds.setdefault(world, [])
            begin = max(FIRST_SEQ, FIRST_SEQ + len(records) - 1)
            entries = iter(log.read(world, begin))
            if records:
                first = next(entries, None)
                same = first is not None and record_hash(first[1].header) == records[-1].hash
                require(
                    1, same, f"world {world}: record {records[-1].seq} was durable and is gone or another"
                )
            for _, entry in entries:
                previous = records[-1].hash if records else genesis_previous()
                try:
                    header, body = decode(entry)
                except RecordRefused as refused:
                    require(6, False, f"world {world}: record {entry.seq} cannot be read: {refused}")
                    continue
                hash = record_hash(entry.header)
                require(
                    6,
                    (header.seq, header.previous) == (FIRST_SEQ + len(records), previous),
                    f"world {world}: record {entry.seq} does not follow {len(records) - 1 + FIRST_SEQ}",
                )
                self._take(world, Record(entry.seq, hash, header, body))
        for world in self.worlds:
            require(1, log.last(world) is not None, f"world {world} was durable and is gone")

    def _take(self, world: str, record: Record) -> None:
        self.worlds[world].append(record)
        self.by_actor.setdefault((world, record.header.actor), []).append(record)
        request = getattr(record.body, "request", None)
        if request is not None:
            self.by_request.setdefault((world, request.id), []).append(record)
        if isinstance(record.body, Interrupted):
            key = (world, record.body.admitted_flick, record.body.seed)
            known = self.interrupted.setdefault(key, [])
            # A retry is another run: it begins when what it tries again is recorded.
            earlier = known[-1].seq if known else 0
            # Two may be under way at once, and have all in common.
            another = record.body.snapshot >= earlier or record.body.asks_as is not None
            again = f"world {world}: record {record.seq} interrupts again what record {earlier} did"
            self._judge.require(16, another, again)
            known.append(record)
        if isinstance(record.body, Call) and record.body.admitted is not None:
            self.by_admission.setdefault((world, record.body.admitted), []).append(record)

    def outcomes(self, world: str, actor: str, begun: list[tuple[int, int]]) -> list[Record]:
        """The records that end an operation: its own, those of its interruption, and of a later process's run."""
        found: list[Record] = []
        drawn = dict.fromkeys(begun)
        for record in self.by_actor.get((world, actor), []):
            if isinstance(record.body, Admitted):
                found += self.by_admission.get((world, record.seq), [])
                drawn[record.body.flick, record.body.seed] = None
            else:
                found.append(record)
        ended = min((record.seq for record in found), default=None)
        for flick, seed in drawn:
            # A retry has the flick and the seed of what it tries again, and began after that had ended.
            ends = self.interrupted.get((world, flick, seed), [])[:1]
            for record in ends:
                assert isinstance(record.body, Interrupted)
                if ended is None or record.body.snapshot < ended:
                    found.append(record)
        return list({record.seq: record for record in found}.values())

    def genesis_of(self, world: str) -> Genesis | None:
        body = self.worlds[world][0].body if self.worlds.get(world) else None
        return body if isinstance(body, Genesis) else None

    def all(self) -> Iterator[tuple[str, Record]]:
        for world, records in self.worlds.items():
            for record in records:
                yield world, record
