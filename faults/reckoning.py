"""The reckoning at the end of a life: the log, record by record, against a model of what it should have come to."""

from __future__ import annotations

import bisect
import dataclasses
import json
from typing import Any

from engine.host.ledger import LoadedWorld, loaded_world
from engine.host.machine import machine
from engine.host.replaying import replay
from engine.io.blobs import Blobs
from engine.io.mem_log import MemLog
from engine.record import heaps, kinds
from engine.record.lthash import LtHash
from engine.record.projection import Projection
from faults import guests
from faults.checking import Judge
from faults.driver import Driver
from faults.guests import GuestError, Seen
from faults.history import Record
from faults.rotting import read_data

FLICKS_PER_MILLISECOND = 705_600
BATCH_RECORDS = 3


def reckon(driver: Driver) -> None:
    """At rest, everything healed. Raises Broken."""
    driver.history.catch_up(driver.host.parts.log)
    gone = driver.purged()
    driver.book.check_requests()
    _check_batches(driver)
    found = read_data(driver.host)
    paid: dict[str, dict[str, list[int]]] = {}
    for world, records in driver.history.worlds.items():
        if world in gone:
            continue
        model = WorldModel(driver.judge, world)
        for record in records:
            model.take(record)
        paid[world] = model.paid
        rows = {key: json.loads(value) for key, value in found.get(world, {}).items()}
        driver.judge.require(
            9, rows == model.now(), f"world {world} shows {rows}; its log says {model.now()}"
        )
        summary = driver.host.world(world)
        driver.judge.require(
            17, summary.revision == model.head, f"world {world} is at {summary.revision}, not {model.head}"
        )
    _check_paid(driver, paid, gone)
    if driver.life.options.replays:
        _check_replays(driver, gone)
    _check_blobs(driver)


def _check_paid(driver: Driver, paid: dict[str, dict[str, list[int]]], gone: set[str]) -> None:
    """Invariant 11: a payment is noted once a world, however often its parts were run or asked.

    A retried incident is closed by its success, so it is done once too; but two incidents may be of one payment.
    """
    for world, tokens in paid.items():
        for token, seqs in tokens.items():
            driver.judge.require(11, len(seqs) == 1, f"world {world} was paid {token} by records {seqs}")


def _check_replays(driver: Driver, gone: set[str]) -> None:
    """Invariant 13, by the same code as `pw replay`."""
    parts = driver.host.parts
    for world in driver.history.worlds:
        if world in gone:
            continue
        replayed = replay(parts.log, parts.blobs, world, machine())
        driver.counts.replayed += replayed.count
        told = f"world {world} replays otherwise: {replayed.divergence}"
        driver.judge.require(13, replayed.divergence is None, told)


def _check_batches(driver: Driver) -> None:
    """Invariant 19: the same records in other batches, each of one world alone, come to the same worlds."""
    log, ledger = driver.host.parts.log, driver.host.parts.ledger
    split = MemLog()
    for world in reversed(log.worlds()):
        entries = [entry for _, entry in log.read(world)]
        for at in range(0, len(entries), BATCH_RECORDS):
            split.append(entries[at : at + BATCH_RECORDS])
    anew = Projection(None, split)
    with ledger.lock:
        for world in log.worlds():
            ours, theirs = (_but_requests(loaded_world(of, world)) for of in (ledger.read(), anew))
            driver.judge.require(19, ours == theirs, f"world {world} in other batches: {theirs}, not {ours}")


def _but_requests(loaded: LoadedWorld | None) -> LoadedWorld | None:
    """Request ids are forgotten by the time of the log, which goes on in another order here."""
    if loaded is None:
        return None
    return dataclasses.replace(loaded, hub=dataclasses.replace(loaded.hub, requests={}))


def _check_blobs(driver: Driver) -> None:
    """Invariant 8: after a collection at rest, the blobs are exactly those that the log reaches."""
    report = driver.finish(lambda done: driver.host.gc(done=done))
    if report is None:
        return
    driver.judge.require(8, report.ok, f"a collection at rest failed: {report.error}")
    blobs = driver.host.parts.blobs
    reached = _reached(driver, blobs)
    there = set(blobs.names())
    driver.judge.require(8, not reached - there, f"collected, and needed: {sorted(reached - there)[:3]}")
    driver.judge.require(8, not there - reached, f"not collected: {sorted(there - reached)[:3]}")


def _reached(driver: Driver, blobs: Blobs) -> set[str]:
    """Everything that a durable record of a world that was not purged names, and what that is packed against."""
    gone = driver.purged()
    reached: set[str] = {
        *(ref.blob for ref in (driver.host.parts.genesis_heap,)),
        driver.host.parts.engines.blob,
    }
    for world, record in driver.history.all():
        if world in gone:
            continue
        heap = getattr(record.body, "heap", None)
        rest = [heap.blob] if heap is not None else []
        if isinstance(record.body, kinds.Genesis):
            reached.add(record.body.engine_blob)
        if isinstance(record.body, kinds.Checkpoint):
            reached.add(record.body.data_blob)
        while rest:
            blob = rest.pop()
            if blob not in reached or blob == driver.host.parts.genesis_heap.blob:
                reached.add(blob)
                rest += heaps.references(blob, blobs.get(blob))
    return reached


class WorldModel:
    """One world, lived again by the model from its records in their order."""

    def __init__(self, judge: Judge, world: str) -> None:
        self.head = 0
        self.paid: dict[str, list[int]] = {}
        self._judge = judge
        self._world = world
        self._versions: dict[str, tuple[list[int], list[Any]]] = {}
        self._raw: dict[str, bytes] = {}
        self._before: list[tuple[int, str, bytes | None]] = []
        self._definitions: dict[int, dict[str, str]] = {0: {}}
        self._heaps: dict[int, str] = {}
        self._kept: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}
        self._rejections = 0
        self._incidents = 0
        self._goldens = 0
        self._closed: dict[int, int] = {}
        self._checks: dict[str, None] = {}
        self._seq = 0

    def now(self) -> dict[str, Any]:
        """The data after the last record."""
        return {row[0]: row[1] for row in self._rows("", self._seq)}

    def take(self, record: Record) -> None:
        self._seq = record.seq
        match record.body:
            case kinds.Genesis() as body:
                self._heaps[0] = body.heap.root
            case kinds.Revision() as body:
                self._take_revision(record, body)
            case kinds.Rejection() as body:
                self._number(record, "rejection", body.n, self._rejections)
                self._rejections = body.n
            case kinds.Call() as body:
                self._take_call(record, body)
            case kinds.Preview() as body:
                self._take_preview(record, body)
            case kinds.Interrupted() as body:
                self._number(record, "incident", body.incident, self._incidents)
                self._incidents = body.incident
            case kinds.IncidentClosed() as body:
                self._close(record, body.incident)
            case kinds.DataEdit() as body:
                self._write(record.seq, body.write)
            case kinds.DataRestored() as body:
                self._take_restored(record, body)
            case kinds.GoldenPinned() | kinds.Held() as body:
                self._number(record, "golden", body.n, self._goldens)
                self._goldens = body.n
            case kinds.CheckEnrolled() as body:
                self._checks[body.name] = None
            case kinds.CheckRemoved() as body:
                self._checks.pop(body.name, None)
            case kinds.Checkpoint() as body:
                self._take_checkpoint(record, body)

    def _require(self, invariant: int, holds: bool, record: Record, message: str) -> None:
        if not holds:
            where = f"world {self._world}, record {record.seq} ({record.header.kind})"
            self._judge.require(invariant, False, f"{where}: {message}")

    def _number(self, record: Record, what: str, number: int, before: int) -> None:
        self._require(17, number == before + 1, record, f"{what} {number} follows {before}")

    def _close(self, record: Record, incident: int) -> None:
        self._require(16, incident not in self._closed, record, f"incident {incident} was closed before")
        self._closed[incident] = record.seq

    # ---- code

    def _take_revision(self, record: Record, body: kinds.Revision) -> None:
        self._number(record, "revision", body.n, self.head)
        self._require(17, body.parent == self.head, record, f"its parent is {body.parent}, not {self.head}")
        definitions = dict(self._definitions[self.head])
        for name in body.changes.removed:
            definitions.pop(name, None)
        definitions.update((d.name, d.source) for d in body.definitions)
        count, items = self._kept[self.head]
        if body.cause == "rollback":
            assert body.target is not None
            self._require(
                18, body.heap.root == self._heaps[body.target], record, "it has another heap than its target"
            )
            self._require(
                18,
                definitions == self._definitions[body.target],
                record,
                "other definitions than its target's",
            )
            count, items = self._kept[body.target]
        else:
            source = guests.SOURCE_OF_TEXT.get(body.source)
            if source is not None:
                self._require(18, not source.bad, record, "it can never be accepted")
                count, items = count + source.counts, items + source.items
        breaks = definitions.get("dbl") == guests.BAD_DOUBLE and not body.forced
        self._require(18, not (breaks and self._checks), record, f"it breaks {', '.join(self._checks)}")
        self.head = body.n
        self._definitions[body.n] = definitions
        self._heaps[body.n] = body.heap.root
        self._kept[body.n] = count, items

    # ---- calls

    def _take_call(self, record: Record, body: kinds.Call) -> None:
        if body.incident is not None:
            self._number(record, "incident", body.incident, self._incidents)
            self._incidents = body.incident
            self._require(16, body.failure is not None, record, "an incident that did not fail")
        self._require(12, body.snapshot < record.seq, record, f"its snapshot is {body.snapshot}")
        if body.failure is not None:
            self._require(18, not body.writes, record, "it failed and wrote")
        at_seq = record.seq - 1 if body.writes else body.snapshot
        self._compare(record, body, body.function, body.args, at_seq, body.writes)
        for write in body.writes:
            if write.key.startswith("paid:") and write.value is not None and body.retries is None:
                self.paid.setdefault(write.key, []).append(record.seq)
            self._write(record.seq, write)
        if body.failure is None and body.retries is not None:
            self._close(record, body.retries)

    def _take_preview(self, record: Record, body: kinds.Preview) -> None:
        if body.function is not None or body.answers or body.looks:
            return  # what it saw is another world's preview's
        name, _, rest = body.expression.partition("(")
        if name in guests.LIBRARY and rest.endswith(")"):
            self._compare(record, body, name, f"[{rest[:-1]}]".encode(), body.snapshot, body.undone)

    def _compare(
        self,
        record: Record,
        body: kinds.Call | kinds.Preview,
        function: str,
        args: bytes,
        at_seq: int,
        writes: list[kinds.Write],
    ) -> None:
        """Invariant 12: the outcome is that of the model on the data at that moment, and the revision's own code."""
        failure = body.failure
        definitions = self._definitions[body.revision]
        if function not in definitions:
            missing = failure is not None and (failure.kind == "missing" or isinstance(body, kinds.Preview))
            self._require(12, missing, record, f"{function} was not defined at revision {body.revision}")
            return
        guest = guests.known(definitions[function])
        if guest is None or (failure is not None and failure.kind in _NOT_THE_GUESTS):
            return
        seen = self._seen(body, at_seq)
        try:
            value = guest.run(seen, json.loads(args))
        except GuestError as error:
            expected = f"Error: {error}"
            said = failure.error.split("\n")[0] if failure is not None else repr(body.value)
            self._require(12, said.startswith(expected), record, f"expected {expected!r}, found {said!r}")
            return
        if failure is not None:
            denied = bool(body.looks) or any(not answer.ok for answer in body.answers)
            self._require(12, denied, record, f"expected {value!r}, it failed: {failure.error[:200]}")
            return
        assert body.value is not None
        found = json.loads(body.value)
        self._require(
            12, value == found, record, f"{function}{args.decode()} expected {value!r}, found {found!r}"
        )
        left = {write.key: json.loads(write.value) if write.value is not None else None for write in writes}
        self._require(12, left == _effective(seen), record, f"expected to write {seen.writes}, wrote {left}")

    def _seen(self, body: kinds.Call | kinds.Preview, at_seq: int) -> Seen:
        definitions = self._definitions[body.revision]
        item = guests.known(definitions.get("Item", ""))
        count, items = self._kept[body.revision]
        return Seen(
            get=lambda key: self._at(key, at_seq),
            list=lambda prefix: self._rows(prefix, at_seq),
            count=count,
            items=items,
            weight=item.variant if item is not None else 0,
            now_ms=body.flick // FLICKS_PER_MILLISECOND,
            answers=list(body.answers),
        )

    # ---- data

    def _take_checkpoint(self, record: Record, body: kinds.Checkpoint) -> None:
        rows = dict(self._raw)
        for seq, key, value in reversed(self._before):
            if seq > body.snapshot:
                _put(rows, key, value)
        digest = LtHash(rows.items()).digest()
        self._require(18, digest == body.data_digest, record, f"its data is {body.data_digest}, not {digest}")
        self._require(18, body.heap.root == self._heaps[body.revision], record, "it has another heap")

    def _take_restored(self, record: Record, body: kinds.DataRestored) -> None:
        for write in body.writes:
            self._write(record.seq, write)
        now, then = self._rows(body.prefix, record.seq), self._rows(body.prefix, body.at)
        self._require(12, now == then, record, f"brought back {now}; after record {body.at} it was {then}")

    def _write(self, seq: int, write: kinds.Write) -> None:
        seqs, values = self._versions.setdefault(write.key, ([], []))
        seqs.append(seq)
        values.append(json.loads(write.value) if write.value is not None else None)
        self._before.append((seq, write.key, self._raw.get(write.key)))
        _put(self._raw, write.key, write.value)

    def _at(self, key: str, seq: int) -> Any:
        seqs, values = self._versions.get(key, ([], []))
        at = bisect.bisect_right(seqs, seq)
        return values[at - 1] if at else None

    def _rows(self, prefix: str, seq: int) -> list[tuple[str, Any]]:
        keys = sorted(key for key in self._versions if key.startswith(prefix))
        rows = [(key, self._at(key, seq)) for key in keys]
        return [(key, value) for key, value in rows if value is not None]


_NOT_THE_GUESTS = ("conflict", "busy", "budget", "timeout", "size", "interrupted")
"""Failures that no run of the guest by itself can tell."""


def _effective(seen: Seen) -> dict[str, Any]:
    """Deleting what is not there is no write."""
    return {
        key: value for key, value in seen.writes.items() if value is not None or seen.get(key) is not None
    }


def _put(rows: dict[str, bytes], key: str, value: bytes | None) -> None:
    if value is None:
        rows.pop(key, None)
    else:
        rows[key] = value
