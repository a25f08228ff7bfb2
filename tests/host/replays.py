"""Recordings that tests live, replay and tamper with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from engine.host import SimulatedHost
from engine.host.machine import machine
from engine.host.replaying import Replayed, replay
from engine.io.log import Log, LogEntry
from engine.io.mem_log import MemLog
from engine.limits import LOG_BATCH_RECORDS_MAX
from engine.record import kinds
from engine.record.records import decode, encode, genesis_previous, record_hash


def replayed(host: SimulatedHost, world: str, **sections: int) -> Replayed:
    """A replay of what a host has recorded of a world so far."""
    host.settle()
    return replay(host.parts.log, host.parts.blobs, world, machine("auto"), **sections)


def assert_equal(host: SimulatedHost, world: str) -> Replayed:
    """All of a world's records come out as they were recorded."""
    outcome = replayed(host, world)
    assert outcome.divergence is None, outcome.divergence.text()
    assert outcome.count > 0 and outcome.taken_over == {}, outcome
    return outcome


def assert_equal_from_everywhere(host: SimulatedHost, world: str) -> None:
    """So does every end of its records, and each record alone."""
    last = assert_equal(host, world).until_seq
    for seq in range(last + 1):
        for until in {seq, last}:
            outcome = replayed(host, world, from_seq=seq, until_seq=until)
            assert outcome.divergence is None, outcome.divergence.text()
            assert outcome.count == until - seq + 1 - outcome.erased


def entries_of(log: Log, world: str) -> list[LogEntry]:
    return [entry for _, entry in log.read(world)]


def log_of(entries: list[LogEntry]) -> MemLog:
    log = MemLog()
    for begin in range(0, len(entries), LOG_BATCH_RECORDS_MAX):
        log.append(entries[begin : begin + LOG_BATCH_RECORDS_MAX])
    return log


def tampered(entries: list[LogEntry], seq: int, change: Callable[[Any], kinds.Body]) -> MemLog:
    """These records with one body changed, chained anew: no hash of them tells."""
    log, changed, previous = [], 0, genesis_previous()
    for entry in entries:
        header, body = decode(entry)
        if header.seq == seq:
            assert body is not None
            body, before = change(body), body
            changed += body != before
        if body is None:
            header = msgspec.structs.replace(header, previous=previous)
            entry = entry._replace(header=msgspec.msgpack.encode(header))
            previous = record_hash(entry.header)
        else:
            entry, previous = encode(
                body,
                world=header.world,
                seq=header.seq,
                actor=header.actor,
                flick=header.flick,
                previous=previous,
            )
        log.append(entry)
    assert changed == 1, "something was changed"
    return log_of(log)
