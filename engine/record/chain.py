"""A world's record chain: contiguous sequences, each header naming the hash of the one before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.io.log import LogEntry
from engine.record.kinds import Body
from engine.record.problems import Problem
from engine.record.records import FIRST_SEQ, RecordRefused, decode, genesis_previous, record_hash

_ADVICE = "Restore this world's records from a backup"


class Chain:
    """One world's chain as far as it was looked at. Erased bodies are no problem (Invariant 20).

    After a problem the chain is taken up again at the record at hand, so that each fault is told once.
    """

    def __init__(self, world: str, *, seq: int = FIRST_SEQ - 1, last_hash: str | None = None) -> None:
        """`seq` and `last_hash` are those of the record before the first that will be checked."""
        self.world = world
        self.seq = seq
        self.last_hash = genesis_previous() if last_hash is None else last_hash

    def check(self, entry: LogEntry) -> tuple[Body | None, list[Problem]]:
        """The next record: its body where it can be read, and what is wrong."""
        if entry.world != self.world:
            return None, [
                self._problem(entry, f"expected a record of {self.world}, got one of {entry.world}")
            ]
        expected_seq, expected_previous = self.seq + 1, self.last_hash
        self.seq, self.last_hash = entry.seq, record_hash(entry.header)
        try:
            header, body = decode(entry)
        except RecordRefused as refused:
            return None, [self._problem(entry, refused.reason)]
        problems = []
        if entry.seq != expected_seq:
            problems.append(self._problem(entry, f"expected record {expected_seq}, got record {entry.seq}"))
        elif header.previous != expected_previous:
            what = f"its previous record's hash: expected {expected_previous}, got {header.previous}"
            problems.append(self._problem(entry, what))
        return body, problems

    def _problem(self, entry: LogEntry, what: str) -> Problem:
        return Problem(f"world {self.world}", what, _ADVICE, entry.seq)


def verify_chain(world: str, entries: Iterable[LogEntry]) -> Iterator[Problem]:
    """Problems of a world's records, from its first on, in their order."""
    chain = Chain(world)
    for entry in entries:
        yield from chain.check(entry)[1]
