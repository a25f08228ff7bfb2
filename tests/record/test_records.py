"""Records as bytes: one form for each value, nothing else accepted, every changed byte noticed."""

from __future__ import annotations

import msgspec
import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st
from record_lives import EVERY_KIND, call, edit, genesis, rejection

from engine.io.log import LogEntry
from engine.record import (
    FIRST_SEQ,
    RecordForeign,
    RecordRotten,
    decode,
    encode,
    genesis_previous,
    kind_of,
    record_hash,
)
from engine.record.canonical import MARK, NotCanonical, from_bytes, to_bytes
from engine.record.kinds import Call, Describe, Failure, Header, Write
from engine.record.records import FORMAT, KINDS

ANY_TEXT = (
    st.text(st.characters(exclude_categories=[]), max_size=20) | st.just(MARK) | st.just(MARK + "00d800")
)


def put(body, seq: int = FIRST_SEQ, previous: str | None = None) -> tuple[LogEntry, str]:
    return encode(
        body, world="w", seq=seq, actor="operator", flick=-5, previous=previous or genesis_previous()
    )


def resealed(entry: LogEntry, body: bytes, **header) -> LogEntry:
    """The entry with another body, or header, that hashes fit."""
    fields = msgspec.structs.asdict(decode(entry)[0]) | {"body_hash": blake3(body).hexdigest()} | header
    return entry._replace(body=body, header=to_bytes(Header(**fields)))


@pytest.mark.parametrize("body", EVERY_KIND, ids=kind_of)
def test_every_kind_comes_back_as_it_was(body):
    entry, entry_hash = put(body, seq=7, previous="9" * 64)
    assert decode(entry) == (
        Header(
            format=1,
            world="w",
            seq=7,
            kind=kind_of(body),
            actor="operator",
            flick=-5,
            body_hash=blake3(entry.body).hexdigest(),
            previous="9" * 64,
        ),
        body,
    )
    assert entry_hash == blake3(entry.header).hexdigest() == record_hash(entry.header)


def test_every_kind_is_in_the_examples():
    assert {kind_of(body) for body in EVERY_KIND} == set(KINDS)


def test_the_bytes_of_a_record_are_a_format():
    entry, entry_hash = put(edit("k", b"1"))
    assert entry.body == b"\x83\xa4type\xa9data-edit\xa5write\x92\xa1k\xc4\x011\xa6reason\xa7because"
    assert entry_hash == "86fd9521430685ac2501da6786abc9416855c59b634f90159e4a8f014387c5d6"


@given(
    key=ANY_TEXT, error=ANY_TEXT, log=ANY_TEXT, args=st.binary(max_size=20), seed=st.integers(0, 2**64 - 1)
)
def test_any_text_and_bytes_come_back_and_equal_values_give_equal_bytes(key, error, log, args, seed):
    body = call(args=args, seed=seed, value=None, failure=Failure("threw", error), writes={key: args})
    body.logs.append(log)
    entry, _ = put(body)
    assert decode(entry)[1] == body
    assert put(from_bytes(Call, entry.body))[0] == entry


@given(left=ANY_TEXT, right=ANY_TEXT)
def test_different_texts_have_different_bytes(left, right):
    assert (to_bytes(Write(left, None)) == to_bytes(Write(right, None))) == (left == right)


@pytest.mark.parametrize("body", EVERY_KIND, ids=kind_of)
def test_any_changed_byte_of_any_record_is_noticed(body):
    entry, entry_hash = put(body)
    for at in range(len(entry.body)):
        for flip in (0x01, 0x80, 0xFF):
            changed = bytearray(entry.body)
            changed[at] ^= flip
            with pytest.raises(RecordRotten):
                decode(entry._replace(body=bytes(changed)))
    for at in range(len(entry.header)):
        changed = bytearray(entry.header)
        changed[at] ^= 0x01
        assert record_hash(bytes(changed)) != entry_hash


@pytest.mark.parametrize("body", EVERY_KIND, ids=kind_of)
def test_a_truncated_or_longer_body_is_refused_also_where_the_hash_fits(body):
    entry, _ = put(body)
    for length in range(len(entry.body)):
        with pytest.raises(RecordRotten):
            decode(resealed(entry, entry.body[:length]))
    with pytest.raises(RecordRotten):
        decode(resealed(entry, entry.body + b"\0"))


def test_an_erased_body_is_none_and_the_header_stays():
    entry, _ = put(call())
    header, body = decode(entry._replace(body=None))
    assert (header.kind, header.seq, body) == ("call", 0, None)


def test_an_unknown_kind_is_refused_by_name():
    entry, _ = put(call())
    with pytest.raises(
        RecordForeign, match=r"world w, record 0: its kind 'park' is not known to this version"
    ):
        decode(resealed(entry, entry.body, kind="park"))


def test_another_format_is_refused_with_both_numbers():
    entry, _ = put(call())
    with pytest.raises(RecordForeign, match=r"it has record format 2; this version reads format 1"):
        decode(resealed(entry, entry.body, format=FORMAT + 1))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"shape": 1}, "contains unknown field `shape`"),
        ({"name": "x", "archived": None}, "not in canonical form"),
        ({"archived": 1}, "Expected `bool | null`"),
        ({"type": "purge"}, "Invalid value 'purge'"),
    ],
)
def test_a_body_that_says_more_or_otherwise_than_its_kind_is_refused(change, reason):
    entry, _ = put(Describe(name="x"))
    tree = msgspec.msgpack.decode(entry.body) | change
    with pytest.raises(RecordRotten, match=r"record 0: its body is no describe") as refused:
        decode(resealed(entry, msgspec.msgpack.encode(tree)))
    assert reason in str(refused.value)


def test_fields_in_another_order_are_refused():
    entry, _ = put(genesis())
    tree = msgspec.msgpack.decode(entry.body)
    turned = msgspec.msgpack.encode(dict(reversed(tree.items())))
    with pytest.raises(RecordRotten, match="canonical"):
        decode(resealed(entry, turned))


def test_an_escape_that_nothing_needed_is_refused():
    encoded = to_bytes(Write("k", None)).replace(b"\xa1k", b"\xaa" + (MARK + "00006b").encode())
    with pytest.raises(NotCanonical):
        from_bytes(Write, encoded)
    with pytest.raises(NotCanonical):
        from_bytes(Write, to_bytes(Write("k", None)).replace(b"\xa1k", b"\xaa" + (MARK + "ffffff").encode()))


def test_a_record_in_another_place_is_refused():
    entry, _ = put(rejection(1), seq=4)
    with pytest.raises(RecordRotten, match="its header says world w, record 4"):
        decode(entry._replace(seq=5))
    with pytest.raises(RecordRotten, match="its header says world w, record 4"):
        decode(entry._replace(world="v"))


def test_a_header_with_more_in_it_is_refused():
    entry, _ = put(call())
    fields = [*msgspec.msgpack.decode(entry.header), 1]
    with pytest.raises(RecordRotten):
        decode(entry._replace(header=msgspec.msgpack.encode(fields)))
    with pytest.raises(RecordRotten):
        decode(entry._replace(header=b""))


def test_a_field_added_later_leaves_old_bytes_as_they_are():
    class Later(Describe, frozen=True, tag="describe"):
        mood: str | None = None

    assert to_bytes(Later(name="x")) == to_bytes(Describe(name="x"))
    assert from_bytes(Later, to_bytes(Describe(name="x"))) == Later(name="x")
