"""Recordings from somebody else: what is not exactly one is refused, with what is wrong and where."""

from __future__ import annotations

import io
import random
import struct

import msgspec
import pytest
import zstandard
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st
from record_lives import call, genesis
from recorded import (
    ENGINE,
    WORLD,
    Recorded,
    chunks_of,
    read,
    sealed,
    small,
    with_head,
    with_manifest,
    with_records,
)

from engine import limits
from engine.record.canonical import from_bytes, to_bytes
from engine.record.recording import Manifest, PackedRecords, RecordingRefused
from engine.record.recording_format import (
    BLOB,
    END,
    MAGIC,
    MANIFEST,
    PIECE,
    PLAIN,
    RECORDS,
    ZSTD,
    Chunk,
    ChunkWriter,
)
from engine.record.recording_reading import read_parts

WHOLE = small().recording()
REDACTED = small().recording(redact=True)
KINDS_OF_WHOLE = ["genesis", "revision", "call", "preview", "checkpoint"]


def refused(recording: bytes) -> RecordingRefused:
    """The refusal; reading it in parts ends in the same one."""
    with pytest.raises(RecordingRefused) as in_memory:
        read(recording)
    with pytest.raises(RecordingRefused) as in_parts:
        list(read_parts(io.BytesIO(recording)))
    assert str(in_memory.value) == str(in_parts.value)
    assert in_memory.value.offset_bytes is not None, "it says where"
    return in_memory.value


def test_what_is_taken_apart_and_put_together_again_is_the_same():
    assert sealed(chunks_of(WHOLE)) == WHOLE
    assert with_head(WHOLE) == WHOLE and read(WHOLE).manifest.world == WORLD


def test_every_beginning_of_a_recording_is_told_from_the_whole():
    for length in range(len(WHOLE)):
        with pytest.raises(RecordingRefused) as caught:
            list(read_parts(io.BytesIO(WHOLE[:length])))
        refusal = caught.value
        assert "cut off" in refusal.reason or (length == 0 and "no recording" in refusal.reason), length


@pytest.mark.parametrize("recording", [WHOLE, REDACTED])
def test_a_flipped_bit_anywhere_is_seen_at_its_chunk(recording):
    chance = random.Random(7)
    starts = [chunk.offset_bytes for chunk in chunks_of(recording)]
    for at in range(len(recording)):
        damaged = bytearray(recording)
        damaged[at] ^= 1 << chance.randrange(8)
        with pytest.raises(RecordingRefused) as caught:
            list(read_parts(io.BytesIO(damaged)))
        offset_bytes = caught.value.offset_bytes
        begin = max([0, *(start for start in starts if start <= at)])
        assert offset_bytes is not None and (offset_bytes >= begin or at < starts[0]), at


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200), st.integers(0, len(WHOLE)), st.integers(0, 64))
def test_whatever_bytes_stand_in_it_nothing_but_a_refusal_comes_of_it(junk, at, cut):
    changed = WHOLE[:at] + junk + WHOLE[at + cut :]
    if changed != WHOLE:
        refused(changed)
    if not junk.startswith(MAGIC):
        assert "no recording" in refused(junk).reason or MAGIC.startswith(junk)


@pytest.mark.parametrize(
    ("start", "begins"),
    [
        (b"PK\x03\x04 a zip file", "it begins with the bytes 50 4b 03 04 20 61 20 7a"),
        (b"{}", 'it begins with "{}"'),
        (b"flkheap\nxx", 'it begins with "flkheap"'),
        ("größer".encode(), "it begins with the bytes 67 72 c3 b6 c3 9f 65 72"),
        (b"\0" * 500, "it begins with the bytes 00 00 00 00 00 00 00 00"),
        (b"", "it is empty"),
    ],
)
def test_another_kind_of_file_is_named(start, begins):
    assert refused(start).what == f'it is no recording: {begins}; a recording begins with "flkrec"'
    assert refused(start).reason.endswith(". `pw export` makes one")


def test_another_version_is_refused_with_both_named():
    other = WHOLE[: len(MAGIC)] + struct.pack("<H", 7) + WHOLE[len(MAGIC) + 2 :]
    refusal = refused(other)
    assert "it has recording format 7; this version reads format 1" in refusal.reason
    assert refusal.offset_bytes == len(MAGIC)


def test_records_of_another_format_are_refused_with_both_named():
    assert "format 2; this version reads format 1" in refused(with_manifest(WHOLE, record_format=2)).reason


# ---- files whose checks all hold: only what they say is wrong


def _edited(edit) -> bytes:
    """The chunks of a whole recording, changed as a list."""
    return sealed(edit(chunks_of(WHOLE)))


def _with_tag(tag: int) -> int:
    return next(n for n, chunk in enumerate(chunks_of(WHOLE)) if chunk.tag == tag)


def _dropped(tag: int):
    return lambda chunks: [*chunks[: _with_tag(tag)], *chunks[_with_tag(tag) + 1 :]]


def _repeated(tag: int):
    return lambda chunks: [*chunks[: _with_tag(tag)], chunks[_with_tag(tag)], *chunks[_with_tag(tag) :]]


def _inserted(at: int, tag: int, content: bytes, method: int = PLAIN):
    return lambda chunks: [*chunks[:at], Chunk(tag, method, content, 0), *chunks[at:]]


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (_dropped(MANIFEST), "expected the manifest, got a blob"),
        (_dropped(BLOB), "the end mark counts"),
        (_dropped(RECORDS), "the end mark counts"),
        (_dropped(END), "cut off"),
        (_repeated(MANIFEST), "a manifest has no place here"),
        (_repeated(BLOB), "out of order, or there twice"),
        (_repeated(RECORDS), "expected record 5, got record 0"),
        (_repeated(END), "bytes follow the end mark"),
        (lambda chunks: [chunks[0], *chunks[-3:0:-1], *chunks[-2:]], "out of order"),
        (lambda chunks: [chunks[0], chunks[-2], *chunks[1:-2], chunks[-1]], "a blob has no place here"),
        (lambda chunks: [*chunks[:-2], chunks[-1]], "the end mark counts"),
        (_inserted(1, PIECE, b"flkheap\n"), "heap"),
        (_inserted(-2, PIECE, b"a piece"), "a records has no place here"),
        (_inserted(-1, PIECE, b"a piece"), "a blob piece has no place here"),
        (_inserted(1, BLOB, b"x" * 50, ZSTD), "only the engine is compressed"),
        (_inserted(1, BLOB, b"neither heap nor data"), "it is no data"),
        (_inserted(1, BLOB, b"flkheap\nshort"), "no heap snapshot"),
    ],
)
def test_chunks_that_are_missing_doubled_moved_or_foreign_are_refused(edit, says):
    assert says in refused(_edited(edit)).reason


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": 2}, "manifest format"),
        ({"world": "../../etc"}, "world: must be"),
        ({"world": "another-world"}, "that end in"),
        ({"head": "0" * 64}, "that end in"),
        ({"head": "x"}, "hashes are none"),
        ({"engine_blob": "x"}, "hashes are none"),
        ({"records": 4}, "the manifest says 4 records"),
        ({"records": 10**12}, "the manifest says 1000000000000 records"),
        ({"engine": "engine 2"}, "the genesis is of engine 'engine 1', the manifest says 'engine 2'"),
        ({"engine_blob": "1" * 64}, "only the engine is compressed"),
        ({"redacted": True}, "redacted recording holds no body of a call"),
    ],
)
def test_a_manifest_that_is_not_of_these_records_is_refused(changes, says):
    assert says in refused(with_manifest(WHOLE, **changes)).reason


def test_a_redacted_recording_that_says_it_is_whole_is_refused():
    assert "without a body" in refused(with_manifest(REDACTED, redacted=False)).reason


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"\xff", b'{"format":1}', b"null", b"[" * 5000],
)
def test_a_manifest_that_is_none_is_refused(content):
    changed = _edited(lambda chunks: [chunks[0]._replace(content=content), *chunks[1:]])
    assert "does not read as one" in refused(changed).reason


def test_a_manifest_in_another_form_is_refused():
    spaced = _edited(lambda chunks: [chunks[0]._replace(content=chunks[0].content + b" "), *chunks[1:]])
    assert "not in its one form" in refused(spaced).reason
    packed = _edited(lambda chunks: [chunks[0]._replace(method=ZSTD), *chunks[1:]])
    assert "not in its one form" in refused(packed).reason
    more = msgspec.json.decode(chunks_of(WHOLE)[0].content) | {"extra": 1}
    grown = _edited(lambda chunks: [chunks[0]._replace(content=msgspec.json.encode(more)), *chunks[1:]])
    assert "extra" in refused(grown).reason


def _set(**columns):
    return lambda packed: msgspec.structs.replace(packed, **columns)


def _body(n: int, body) -> bytes:
    return with_records(
        WHOLE, lambda packed: _set(bodies=[*packed.bodies[:n], body, *packed.bodies[n + 1 :]])(packed)
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_set(first=1), "expected record 0, got record 1"),
        (_set(first=-1), "expected record 0, got record -1"),
        (_set(kinds=["genesis"]), "columns are not of one length"),
        (_set(actors=["operator"] * 6), "columns are not of one length"),
        (_set(steps=[1000]), "columns are not of one length"),
        (_set(bodies=[]), "columns are not of one length"),
        (_set(erased=[bytes(32)]), "columns are not of one length"),
        (_set(kinds=[], actors=[], steps=[], bodies=[]), "holds too many records or none"),
        (
            _set(kinds=["genesis", "revision", "call", "preview", "from-the-future"]),
            "'from-the-future' is not known",
        ),
        (_set(kinds=["genesis", "genesis", "call", "preview", "checkpoint"]), "record 1 is a genesis"),
        (_set(kinds=["call", "revision", "call", "preview", "checkpoint"]), "record 0 is a call"),
        (_set(kinds=["genesis", "revision", "call", "preview", "call"]), "its body is no call"),
        (_set(actors=["operator"] * 4 + ["someone"]), "that end in"),
        (_set(steps=[1000, 0, 0, 0, 1]), "that end in"),
        (_set(steps=[2**63 - 1] * 5), "that end in"),
    ],
)
def test_records_that_are_not_in_order_or_not_those_of_the_chain_are_refused(change, says):
    assert says in refused(with_records(WHOLE, change)).reason


def test_records_that_do_not_read_are_refused():
    for content in (b"", b"\xc0", b"\x96" + b"\xff" * 5, b"\xdd\xff\xff\xff\xff"):
        changed = _edited(
            lambda chunks, c=content: [*chunks[:-2], chunks[-2]._replace(content=c), chunks[-1]]
        )
        assert "do not read as such" in refused(changed).reason


@pytest.mark.parametrize(
    ("recording", "says"),
    [
        (_body(2, b"no msgpack"), "its body is no call"),
        (_body(2, to_bytes(call(args=b"[2]"))), "that end in"),
        (_body(0, to_bytes(genesis(engine_blob="9" * 64))), "the genesis is of engine"),
    ],
)
def test_a_body_that_was_changed_is_refused(recording, says):
    assert says in refused(recording).reason


@pytest.mark.parametrize("n", range(5))
def test_only_what_changed_nothing_may_be_without_a_body(n):
    def change(packed):
        body_hash = blake3(packed.bodies[n]).digest()
        bodies = [*packed.bodies[:n], None, *packed.bodies[n + 1 :]]
        return msgspec.structs.replace(packed, bodies=bodies, erased=[body_hash])

    recording = with_records(WHOLE, change)
    if n in (2, 3):
        ends = chunks_of(recording)
        end = msgspec.json.decode(ends[-1].content) | {"erased": 1}
        assert read(sealed([*ends[:-1], ends[-1]._replace(content=msgspec.json.encode(end))]))
    else:
        assert f"record {n}: a {KINDS_OF_WHOLE[n]} without a body" in refused(recording).reason


def test_the_hash_of_a_body_that_is_left_out_has_its_length():
    def change(packed):
        return msgspec.structs.replace(packed, erased=[packed.erased[0][:-1], *packed.erased[1:]])

    assert "without a body" in refused(with_records(REDACTED, change)).reason


def test_blobs_that_are_missing_or_needed_by_nothing_are_refused():
    recorded = small()
    chunks = chunks_of(recorded.recording())
    blobs = [n for n, chunk in enumerate(chunks) if chunk.tag == BLOB]
    for n in blobs:
        end = msgspec.json.decode(chunks[-1].content) | {"blobs": len(blobs) - 1}
        left = [c for at, c in enumerate(chunks[:-1]) if at != n]
        without = sealed([*left, chunks[-1]._replace(content=msgspec.json.encode(end))])
        assert "is missing; " in refused(without).reason
    other = Recorded()
    other.heaps.change(1, 2, b"nobody needs this")
    extra = other.blobs.get(other.heaps.ref.blob)
    merged = sorted(
        [*(chunks[n].content for n in blobs), extra], key=lambda content: blake3(content).hexdigest()
    )
    end = msgspec.json.decode(chunks[-1].content) | {"blobs": len(merged)}
    more = sealed(
        [
            chunks[0],
            *(Chunk(BLOB, ZSTD if content == ENGINE else PLAIN, content, 0) for content in merged),
            chunks[-2],
            chunks[-1]._replace(content=msgspec.json.encode(end)),
        ]
    )
    assert "is needed by no record" in refused(more).reason


# ---- sizes that lie


def _raw_chunk(
    tag: int, method: int, packed: bytes, plain_bytes: int, packed_bytes: int | None = None
) -> bytes:
    """A recording that begins with a sound manifest and goes on with one chunk, whose check holds."""
    writer = ChunkWriter()
    manifest = writer.chunk(MANIFEST, chunks_of(WHOLE)[0].content, method=PLAIN)
    head = struct.pack(
        "<BBII", tag, method, len(packed) if packed_bytes is None else packed_bytes, plain_bytes
    )
    check = blake3(writer._check + head + packed).digest()
    return writer.start + manifest + head + check + packed


BOMB = zstandard.ZstdCompressor(level=3).compress(bytes(64 * limits.MIB))
UNSIZED = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(100))


@pytest.mark.parametrize(
    ("recording", "says"),
    [
        (_raw_chunk(RECORDS, ZSTD, BOMB, 64 * limits.MIB), "at most"),
        (_raw_chunk(RECORDS, ZSTD, BOMB, 1000), "two lengths contradict"),
        (_raw_chunk(PIECE, ZSTD, BOMB, limits.RECORDING_BLOB_PIECE_BYTES), "two lengths contradict"),
        (_raw_chunk(RECORDS, ZSTD, UNSIZED, 100), "two lengths contradict"),
        (_raw_chunk(RECORDS, ZSTD, b"no zstd", 7), "does not decompress"),
        (_raw_chunk(RECORDS, ZSTD, BOMB + b"x", 64 * limits.MIB), "at most"),
        (_raw_chunk(BLOB, PLAIN, b"five!", 6), "not as long as it says"),
        (_raw_chunk(BLOB, PLAIN, b"x", 1, 2**32 - 1), "at most"),
        (_raw_chunk(BLOB, PLAIN, b"x", 2**32 - 1), "at most"),
        (_raw_chunk(MANIFEST, PLAIN, b"x", limits.RECORDING_MANIFEST_BYTES_MAX + 1), "at most"),
        (_raw_chunk(9, PLAIN, b"x", 1), "a chunk of kind 9"),
        (_raw_chunk(BLOB, 2, b"x", 1), "packed by method 2"),
        (_raw_chunk(BLOB, ZSTD, zstandard.compress(bytes(100)) + b"more", 100), "does not decompress"),
    ],
)
def test_sizes_that_lie_are_refused_before_anything_of_that_size_is_made(recording, says):
    assert says in refused(recording).reason


def _with_data(head: bytes, plain: bytes) -> bytes:
    """A recording whose data blob has this head and these rows; only it is another blob than its record names."""
    recorded = small()
    chunks = chunks_of(recorded.recording())
    at = next(n for n, chunk in enumerate(chunks) if chunk.content.startswith(b"flkdata\n"))
    content = b"flkdata\n" + head + zstandard.compress(plain)
    return sealed([*chunks[:at], chunks[at]._replace(content=content), *chunks[at + 1 :]])


def _row(key: bytes, value: bytes = b"1") -> bytes:
    return struct.pack("<II", len(key), len(value)) + key + value


@pytest.mark.parametrize(
    ("count", "plain", "size_bytes", "says"),
    [
        (1, _row(b"k"), 2**60, "not what its head says"),
        (2**23, bytes(64 * limits.MIB), 64 * limits.MIB, "not those that its head counts"),
        (2, _row(b"k") + _row(b"k"), None, "not those that its head counts"),
        (2, _row(b"k") + _row(b"a"), None, "not those that its head counts"),
        (2, _row(b"k"), None, "not those that its head counts"),
        (1, _row(b"k") + b"more", None, "does not decode"),
        (1, _row(b"k")[:-1], None, "not those that its head counts"),
        (1, _row(b"\xff"), None, "does not decode"),
        (1, _row(b"k" * (limits.DATA_KEY_BYTES_MAX + 1)), None, "not those that its head counts"),
        (1, _row(b"k", bytes(limits.DATA_VALUE_BYTES_MAX + 1)), None, "not those that its head counts"),
    ],
)
def test_data_that_is_none_is_refused_whatever_size_it_says(count, plain, size_bytes, says):
    head = struct.pack("<HIQ", 1, count, len(plain) if size_bytes is None else size_bytes)
    assert says in refused(_with_data(head, plain)).reason


def test_more_than_memory_takes_is_refused_where_it_would_be_held(monkeypatch):
    monkeypatch.setattr("engine.record.recording.RECORDING_MEMORY_BYTES_MAX", 5000)
    with pytest.raises(RecordingRefused, match="more than the 5000 bytes"):
        read(WHOLE)
    assert len(list(read_parts(io.BytesIO(WHOLE)))) > 3


def test_a_blob_ends_at_its_limit(monkeypatch):
    monkeypatch.setattr("engine.record.recording_reading.RECORDING_BLOB_BYTES_MAX", 100)
    assert "more than the 100 bytes" in refused(WHOLE).reason
    monkeypatch.undo()
    monkeypatch.setattr("engine.record.recording_reading.RECORDING_ENGINE_BYTES_MAX", len(ENGINE) - 1)
    assert f"more than the {len(ENGINE) - 1} bytes" in refused(WHOLE).reason


def test_a_source_that_gives_little_at_a_time_is_read_to_its_end():
    class Slow(io.BytesIO):
        def read(self, count=-1, /):
            return super().read(min(count, 3))

    parts = list(read_parts(Slow(WHOLE)))
    assert isinstance(parts[0], Manifest)
    assert from_bytes(PackedRecords, chunks_of(WHOLE)[-2].content).first == 0
