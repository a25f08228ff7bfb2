"""The bytes of the log: what is packed comes back, and what it costs."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_lives import Worlds

from engine.ids import content_id
from engine.io.log import LogEntry, LogForeign, LogRotten
from engine.io.log_format import (
    BATCH_HEADER_BYTES,
    EMPTY_HASH,
    BadBatch,
    HeadMark,
    SegmentHeader,
    batch_size_bytes,
    decode_head_slot,
    decode_segment_header,
    encode_batch,
    encode_head_slot,
    encode_seal,
    encode_segment_header,
    make_batch,
    parse_batch,
    unpack_batch,
)
from engine.io.log_index import SegmentIndex, decode_index, encode_index
from engine.limits import SECTOR_BYTES

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
HEADER = SegmentHeader(b"l" * 16, 7, 2, KEY, 40, b"h" * 32, 8192, 12288)

bodies = st.one_of(st.binary(max_size=200), st.binary(min_size=1, max_size=3).map(lambda b: b * 3000))
entries = st.builds(
    LogEntry,
    world=st.text(st.characters(codec="utf-8"), max_size=5),
    seq=st.integers(0, 2**64 - 1),
    header=st.binary(max_size=300),
    body=st.none() | bodies,
)
chained = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), bodies), min_size=1, max_size=40)


def pack(batch, *, key=KEY, offset=SECTOR_BYTES):
    return encode_batch(batch, key=key, offset_bytes=offset)


@given(st.lists(entries, min_size=1, max_size=30), st.integers(1, 2**63), st.binary(min_size=32, max_size=32))
def test_any_batch_comes_back_as_it_was(records, number, previous):
    batch = make_batch(number, previous, records)
    content = pack(batch)
    assert len(content) % SECTOR_BYTES == 0
    assert batch_size_bytes(content) == len(content)
    assert unpack_batch(parse_batch(content, key=KEY, offset_bytes=SECTOR_BYTES)) == batch


@given(chained)
def test_records_that_follow_each_other_come_back_without_their_predecessors_hash_being_stored(items):
    worlds = Worlds()
    batch = make_batch(1, EMPTY_HASH, [worlds.entry(world, body) for world, body in items])
    raw = parse_batch(pack(batch), key=KEY, offset_bytes=SECTOR_BYTES)
    assert unpack_batch(raw) == batch
    followers = len(items) - len({world for world, _ in items})
    assert raw.headers.count(content_id(batch.entries[0].header).encode()) == 0
    assert len(raw.headers) <= sum(len(e.header) + 24 for e in batch.entries) + 20 - 64 * followers


def test_a_header_that_holds_its_predecessors_hash_twice_comes_back():
    first = LogEntry("a", 0, b"first", b"")
    hash_ = content_id(b"first").encode()
    records = [first] + [LogEntry("a", n, hash_ + b"|" + hash_, b"") for n in range(1, 3)]
    batch = make_batch(1, EMPTY_HASH, records)
    assert unpack_batch(parse_batch(pack(batch), key=KEY, offset_bytes=SECTOR_BYTES)) == batch


@given(st.lists(entries, min_size=1, max_size=6), st.data())
def test_any_changed_byte_of_a_batch_is_seen(records, data):
    content = bytearray(pack(make_batch(1, EMPTY_HASH, records)))
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(BadBatch):
        parse_batch(bytes(content), key=KEY, offset_bytes=SECTOR_BYTES)


def test_a_batch_is_none_under_another_key_and_is_known_for_what_it_is_at_another_place():
    content = pack(make_batch(3, EMPTY_HASH, Worlds().batch("a")))
    with pytest.raises(BadBatch) as stranger:
        parse_batch(content, key=OTHER_KEY, offset_bytes=SECTOR_BYTES)
    assert not stranger.value.authentic
    with pytest.raises(BadBatch, match="batch 3 was written for byte 4096") as displaced:
        parse_batch(content, key=KEY, offset_bytes=2 * SECTOR_BYTES)
    assert displaced.value.authentic


@pytest.mark.parametrize("length", [0, 8, BATCH_HEADER_BYTES, SECTOR_BYTES - 1])
def test_a_batch_that_is_cut_off_is_none(length):
    content = pack(make_batch(3, EMPTY_HASH, Worlds().batch("a")))
    with pytest.raises(BadBatch):
        parse_batch(content[:length], key=KEY, offset_bytes=SECTOR_BYTES)


def test_the_hash_of_a_batch_covers_place_worlds_sequences_and_headers_and_no_bodies():
    base = LogEntry("a", 5, b"header", b"body")
    hash_ = make_batch(1, EMPTY_HASH, [base]).hash
    assert make_batch(1, EMPTY_HASH, [base._replace(body=None)]).hash == hash_
    for other in (
        make_batch(2, EMPTY_HASH, [base]),
        make_batch(1, b"\1" + EMPTY_HASH[1:], [base]),
        make_batch(1, EMPTY_HASH, [base._replace(world="b")]),
        make_batch(1, EMPTY_HASH, [base._replace(seq=6)]),
        make_batch(1, EMPTY_HASH, [base._replace(header=b"other")]),
        make_batch(1, EMPTY_HASH, [base, base]),
    ):
        assert other.hash != hash_


def test_a_batch_whose_hash_is_not_that_of_its_records_is_seen():
    batch = make_batch(1, EMPTY_HASH, Worlds().batch("a"))._replace(hash=b"\7" * 32)
    raw = parse_batch(pack(batch), key=KEY, offset_bytes=SECTOR_BYTES)
    with pytest.raises(BadBatch, match="does not hash to what it says"):
        unpack_batch(raw)


def test_a_seal_is_one_sector_and_no_record():
    content = encode_seal(9, b"h" * 32, key=KEY, offset_bytes=8192)
    assert len(content) == SECTOR_BYTES
    raw = parse_batch(content, key=KEY, offset_bytes=8192)
    assert (raw.number, raw.hash, raw.records, raw.headers, raw.bodies) == (9, b"h" * 32, 0, b"", b"")


def test_a_segment_header_comes_back_and_any_changed_byte_is_seen():
    sector = encode_segment_header(HEADER)
    assert len(sector) == SECTOR_BYTES
    assert decode_segment_header(sector, "x.seg") == HEADER
    for at in range(SECTOR_BYTES):
        changed = sector[:at] + bytes([sector[at] ^ 0x10]) + sector[at + 1 :]
        with pytest.raises((LogForeign, LogRotten)) as error:
            decode_segment_header(changed, "x.seg")
        assert error.value.file == "x.seg"


def test_a_half_of_the_head_file_comes_back_and_any_changed_byte_is_seen():
    mark = HeadMark(b"l" * 16, 12, b"h" * 32)
    sector = encode_head_slot(mark).ljust(SECTOR_BYTES, b"\0")
    assert decode_head_slot(sector, "HEAD", 0) == mark
    for at in range(SECTOR_BYTES):
        changed = sector[:at] + bytes([sector[at] ^ 0x01]) + sector[at + 1 :]
        with pytest.raises((LogForeign, LogRotten)):
            decode_head_slot(changed, "HEAD", 0)


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.none()), min_size=1, max_size=9), max_size=8
    )
)
def test_an_index_comes_back_and_finds_every_record(batches):
    worlds, index = Worlds(), SegmentIndex(40)
    where = {}
    for position, items in enumerate(batches):
        batch = make_batch(41 + position, EMPTY_HASH, [worlds.entry(world, b"") for world, _ in items])
        index.add(batch, SECTOR_BYTES * (1 + position % 3))
        where |= {entry[:2]: position for entry in batch.entries}
    again = decode_index(encode_index(index, HEADER), HEADER)
    for found in (index, again):
        assert found.last_batch == 40 + len(batches)
        for (world, seq), position in where.items():
            assert found.positions_from(world, seq)[0] == position
            assert found.worlds[world].last_seq == worlds.ends[world][0]
            assert found.worlds[world].last_hash.hex() == worlds.ends[world][1]
        assert [found.span(n) for n in range(found.count)] == [index.span(n) for n in range(index.count)]


def test_an_index_of_another_generation_is_not_taken_and_a_damaged_one_is_refused():
    content = encode_index(SegmentIndex(40), HEADER)
    assert decode_index(content, HEADER._replace(key=OTHER_KEY)) is None
    for at in range(len(content)):
        with pytest.raises(ValueError, match="does not match its check"):
            decode_index(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :], HEADER)


def usual_records(worlds: Worlds, count: int, *, worlds_count: int) -> list[LogEntry]:
    """Calls with a body of 71 bytes, alike as calls of one function are."""
    records = []
    for n in range(count):
        body = msgspec.json.encode({"kind": "call", "function": "addTodo", "args": [n], "value": "ok"})
        records.append(worlds.entry(f"todos-{n % worlds_count:06x}", body.ljust(71)))
    return records


@pytest.mark.parametrize(
    "count, worlds_count, bytes_max",
    [(1, 1, 4096), (16, 1, 256), (16, 16, 256), (256, 1, 64), (256, 256, 112)],
)
def test_a_record_costs_this_much(count, worlds_count, bytes_max):
    batch = make_batch(1, EMPTY_HASH, usual_records(Worlds(), count, worlds_count=worlds_count))
    assert len(pack(batch)) / count <= bytes_max
