"""A world's record chain: contiguous sequences, each header naming the hash of the one before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.io.log import LogEntry
from engine.record.problems import Problem
from engine.record.records import FIRST_SEQ, RecordRefused, decode, genesis_previous, record_hash

_ADVICE = "Restore this world's records from a backup"


def verify_chain(
    world: str,
    entries: Iterable[LogEntry],
    *,
    first_seq: int = FIRST_SEQ,
    previous: str | None = None,
) -> Iterator[Problem]:
    """Problems of a world's records in their order; erased bodies are none (Invariant 20).

    `previous` is the hash of the record before `first_seq`, None for the genesis. After a problem the chain
    is taken up again at the record at hand, so that each fault is told once.
    """
    expected_seq = first_seq
    previous = genesis_previous() if previous is None else previous
    for entry in entries:
        yield from _verify_link(world, entry, expected_seq, previous)
        expected_seq = entry.seq + 1
        previous = record_hash(entry.header)


def _verify_link(world: str, entry: LogEntry, expected_seq: int, previous: str) -> Iterator[Problem]:
    if entry.world != world:
        yield Problem(world, f"expected a record of {world}, got one of {entry.world}", _ADVICE, entry.seq)
        return
    try:
        header, _ = decode(entry)
    except RecordRefused as refused:
        yield Problem(world, refused.reason, _ADVICE, entry.seq)
        return
    if entry.seq != expected_seq:
        yield Problem(world, f"expected record {expected_seq}, got record {entry.seq}", _ADVICE, entry.seq)
    elif header.previous != previous:
        what = f"its previous record's hash: expected {previous}, got {header.previous}"
        yield Problem(world, what, _ADVICE, entry.seq)
