"""What a recording holds: all of a world up to a record, the same bytes each time, and not much more than it must."""

from __future__ import annotations

import itertools
import json
import random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from record_lives import EVERY_KIND, Book, Heaps, call, checkpoint, edit, genesis, preview, root_of
from recorded import ENGINE, WORLD, Recorded, chunks_of, of_every_kind, read, small

from engine import limits
from engine.io.file_log import FileLog
from engine.io.log import LogEntry
from engine.io.mem_blobs import MemBlobs
from engine.io.mem_log import MemLog
from engine.io.sim_disk import SimDisk
from engine.io.sim_entropy import SimEntropy
from engine.record.kinds import Purge, Request
from engine.record.recording import (
    KINDS_KEPT,
    RecordingRefused,
    batches_of,
    write_recording,
)
from engine.record.recording_format import BLOB, PIECE, RECORDS
from engine.record.records import decode, decode_header, encode
from engine.record.retention import only_answered
from engine.record.verify import verify_world


def entries_of(log, world: str = WORLD) -> list[LogEntry]:
    return [entry for _, entry in log.read(world)]


def test_every_kind_of_record_comes_back_as_it_was_with_what_it_needs():
    recorded = of_every_kind()
    recording = read(recorded.recording())
    assert entries_of(recording.log) == entries_of(recorded.log)
    unneeded = {"what another world needs"}
    assert {recording.blobs.get(name) for name in recording.blobs.names()} == {
        recorded.blobs.get(name) for name in recorded.blobs.names()
    } - {text.encode() for text in unneeded}
    assert recording.manifest.records == len(EVERY_KIND) - 1
    assert recording.manifest.head == (recorded.log.last(WORLD) or (0, ""))[1]
    assert [step.problems for step in verify_world(recording.log, recording.blobs, WORLD)][-1] == [
        problem for step in verify_world(recorded.log, recorded.blobs, WORLD) for problem in step.problems
    ]


def test_a_recording_ends_at_any_record_and_holds_no_blob_of_later_ones():
    recorded = small()
    recorded.grow(2)
    whole = recorded.recording()
    for until in range(6):
        recording = read(recorded.recording(until=until))
        assert entries_of(recording.log) == entries_of(recorded.log)[: until + 1]
        assert recording.manifest.records == until + 1
        assert len(recording.blobs.names()) == [2, 3, 3, 3, 4, 5][until]
    assert recorded.recording(until=5) == whole


def test_the_same_records_give_the_same_bytes_whatever_log_they_are_in():
    recorded = of_every_kind()
    whole = recorded.recording()
    log = FileLog(SimDisk(), SimEntropy(5))
    beside = Book(MemLog())
    for entry in entries_of(recorded.log):
        log.append([beside.entry("other", genesis("Other")), entry])
    assert b"".join(write_recording(log, recorded.blobs, WORLD)) == whole
    again = read(whole)
    assert b"".join(write_recording(again.log, again.blobs, WORLD)) == whole


TEXTS = st.text(max_size=20) | st.sampled_from(["\ud800", "a\udfffb", "\U0010ffff", "operator"])
FLICKS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 10**6)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@example(records=[("operator", -(2**63), b"", False), ("operator", 2**63 - 1, b"", True)])
@given(
    records=st.lists(st.tuples(TEXTS, FLICKS, st.binary(max_size=50), st.booleans()), min_size=1, max_size=30)
)
def test_any_actors_times_and_erased_bodies_come_back(records):
    recorded = Recorded()
    for n, (actor, flick, args, writes) in enumerate(records):
        body = call(args=args, writes={f"k{n}": b"1"} if writes else None)
        seq, previous = recorded.book.ends[WORLD]
        entry, entry_hash = encode(
            body, world=WORLD, seq=seq + 1, actor=actor, flick=flick, previous=previous
        )
        recorded.book.ends[WORLD] = (seq + 1, entry_hash)
        recorded.log.append([entry])
    recorded.log.seal()
    recorded.log.erase_bodies(lambda entry: entry.seq % 3 == 1 and only_answered(decode(entry)[1]))
    recording = read(recorded.recording())
    assert entries_of(recording.log) == entries_of(recorded.log)


def test_a_redacted_recording_keeps_the_chain_and_what_was_developed():
    recorded = of_every_kind()
    recording = read(recorded.recording(redact=True))
    assert recording.manifest.redacted
    for was, now in zip(entries_of(recorded.log), entries_of(recording.log), strict=True):
        kind = decode_header(was).kind
        assert now == (was if kind in KINDS_KEPT else was._replace(body=None))
    data = [name for name in recorded.blobs.names() if recorded.blobs.get(name).startswith(b"flkdata\n")]
    assert data and not any(recording.blobs.has(name) for name in data)
    assert [step for step in verify_world(recording.log, recording.blobs, WORLD)][-1].problems == []
    assert recording.manifest.head == read(recorded.recording()).manifest.head


def test_the_warning_says_what_is_in_it():
    recorded = small()
    for redact, says in ((False, "arguments, results, data, console lines"), (True, "are left out")):
        manifest = read(recorded.recording(redact=redact)).manifest
        assert says in manifest.warning
        assert manifest.warning.encode() in recorded.recording(redact=redact)[:2000]


def test_a_redacted_recording_can_be_recorded_redacted_again():
    redacted = read(small().recording(redact=True))
    again = b"".join(write_recording(redacted.log, redacted.blobs, WORLD, redact=True))
    assert again == small().recording(redact=True)


@pytest.mark.parametrize(
    ("world", "until", "says"),
    [
        ("no-such-world", None, "there is no world no-such-world"),
        (WORLD, 5, "has no record 5; its last one is 4"),
        (WORLD, -1, "has no record -1"),
    ],
)
def test_what_is_not_there_cannot_be_recorded(world, until, says):
    recorded = small()
    with pytest.raises(RecordingRefused, match=says):
        next(write_recording(recorded.log, recorded.blobs, world, until=until))


@pytest.mark.parametrize("erased", [False, True])
def test_a_purged_world_cannot_be_recorded(erased):
    recorded = small()
    last = recorded.write(Purge("gone"))
    if erased:
        recorded.log.seal()
        recorded.log.erase_bodies(lambda entry: entry.seq < last)
    with pytest.raises(RecordingRefused, match="was purged"):
        next(write_recording(recorded.log, recorded.blobs, WORLD))


def test_chunks_are_bounded_and_a_large_record_or_blob_is_no_exception():
    recorded = Recorded()
    recorded.heaps = Heaps(recorded.blobs, wasm_pages=4)
    noise = random.Random(5)
    large = [noise.randbytes(limits.RECORDING_CHUNK_BYTES * n // 4) for n in (1, 5, 2, 3, 30)]
    rows = {f"k{n}": noise.randbytes(limits.DATA_VALUE_BYTES_MAX) for n in range(36)}
    for value in large:
        recorded.write(call(args=value))
    recorded.write(*(preview() for _ in range(limits.LOG_BATCH_RECORDS_MAX)))
    recorded.write(checkpoint(recorded.blobs, rows, 0, recorded.heaps.ref, 6))
    recording = recorded.recording()
    chunks = chunks_of(recording)
    assert max(len(chunk.content) for chunk in chunks if chunk.tag in (PIECE, BLOB)) == (
        limits.RECORDING_BLOB_PIECE_BYTES
    )
    assert [len(chunk.content) // limits.MIB for chunk in chunks if chunk.tag == RECORDS] == [
        0,
        1,
        0,
        0,
        7,
        0,
    ]
    assert entries_of(read(recording).log) == entries_of(recorded.log)


def test_a_chunk_holds_so_many_records_and_no_more():
    recorded = Recorded()
    count = limits.RECORDING_CHUNK_RECORDS_MAX
    for start in range(0, count + 1, 512):
        recorded.write(*(edit("k", b"1") for _ in range(min(512, count + 1 - start))))
    counts = [chunk for chunk in chunks_of(recorded.recording()) if chunk.tag == RECORDS]
    assert len(counts) == 2
    assert len(entries_of(read(recorded.recording()).log)) == count + 2


def test_batches_are_as_large_as_a_log_takes():
    body = bytes(limits.LOG_BATCH_BYTES_MAX // 3)
    entries = [LogEntry("w", seq, b"header", body if seq < 5 else b"") for seq in range(1000)]
    batches = list(batches_of(entries))
    assert [entry for batch in batches for entry in batch] == entries
    assert [len(batch) for batch in batches] == [2, 2, 1 + 511, 484]
    assert list(batches_of([])) == []


def test_a_call_costs_at_most_a_hundred_bytes_beyond_its_arguments_and_results():
    """Request ids as clients make them on every tenth call: what can be compressed of a call, and what cannot."""
    recorded, without = Recorded(), Recorded()
    chance = random.Random(1)
    flick, own_bytes = 10**18, 0
    for start in range(0, 2000, 500):
        calls = []
        for n in range(start, start + 500):
            flick += chance.randrange(10**6)
            args, value = json.dumps([n, f"item {n % 17}"]).encode(), json.dumps(n * n).encode()
            own_bytes += len(args) + len(value)
            request = Request(chance.randbytes(8).hex(), chance.randbytes(32).hex()) if n % 10 == 0 else None
            calls.append(
                call(
                    "add" if n % 2 else "reverse",
                    args=args,
                    value=value,
                    flick=flick,
                    seed=chance.getrandbits(64),
                    snapshot=n,
                    request=request,
                )
            )
        recorded.book.flick = flick
        recorded.write(*calls)
    spent_bytes = len(recorded.recording()) - len(without.recording()) - own_bytes
    assert spent_bytes / 2000 <= 100
    assert entries_of(read(recorded.recording()).log) == entries_of(recorded.log)


def test_the_engine_is_compressed_and_there_once():
    recording = small().recording()
    assert ENGINE not in recording and len(ENGINE) > 200
    (engine,) = [chunk for chunk in chunks_of(recording) if chunk.content == ENGINE]
    assert engine.method == 1


def test_heaps_that_were_recorded_are_verified_by_their_roots():
    recorded = small()
    recording = read(recorded.recording())
    last = list(verify_world(recording.log, recording.blobs, WORLD, root_of=root_of))[-1]
    assert (last.records, last.erased, last.blobs, last.problems) == (5, 0, 4, [])
    wrong = list(verify_world(recording.log, recording.blobs, WORLD, root_of=lambda *_: "7" * 64))[-1]
    assert len(wrong.problems) == 2 and all("expects the heap" in str(problem) for problem in wrong.problems)


def test_making_a_recording_reads_no_further_than_it_is_asked():
    recorded = small()
    pieces = write_recording(recorded.log, recorded.blobs, WORLD)
    first = list(itertools.islice(pieces, 2))
    pieces.close()
    assert recorded.recording().startswith(b"".join(first))


def test_a_blob_that_is_missing_ends_the_recording_before_it_begins():
    recorded = small()
    blobs = MemBlobs()
    blobs.put(ENGINE)
    with pytest.raises(Exception, match="was never put"):
        next(write_recording(recorded.log, blobs, WORLD))
    assert MemLog().worlds() == []
