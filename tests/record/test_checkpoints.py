"""Data digests and data blobs: the same for equal data, whatever its history."""

from __future__ import annotations

import struct
import tracemalloc

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from engine.record import DataBlobRefused, LtHash, decode_data, encode_data
from engine.record.checkpoints import check_data

KEYS = st.text(st.characters(exclude_categories=[]), max_size=6)
ROWS = st.dictionaries(KEYS, st.binary(max_size=12), max_size=8)

EMPTY_DIGEST = "be2a8de3dcf46c94ce85cdc8e07ac308f4d8a95490d956c38d780fd610db0813"


@given(rows=ROWS, gone=ROWS, order=st.randoms(use_true_random=False))
def test_the_digest_of_a_set_does_not_depend_on_its_history(rows, gone, order):
    straight = LtHash(rows.items())
    other = LtHash()
    steps = list(rows.items())
    order.shuffle(steps)
    for key, value in gone.items():
        other.add(key, value)
    for key, value in steps:
        other.add(key, value)
    for key, value in gone.items():
        other.remove(key, value)
    assert other.digest() == straight.digest()


@given(left=ROWS, right=ROWS)
def test_digests_are_equal_exactly_where_data_are(left, right):
    assert (LtHash(left.items()).digest() == LtHash(right.items()).digest()) == (left == right)


def test_key_and_value_do_not_run_into_each_other():
    assert LtHash([("ab", b"c")]).digest() != LtHash([("a", b"bc")]).digest()


def test_a_row_that_is_there_twice_is_not_one_that_is_there_once():
    twice = LtHash([("a", b"1"), ("a", b"1")])
    assert twice.digest() not in (LtHash([("a", b"1")]).digest(), LtHash().digest())


def test_digests_are_a_format():
    assert LtHash().digest() == EMPTY_DIGEST
    assert LtHash([("a", b"1"), ("\ud800", b"{}")]).digest() == (
        "25b28e9e6ce2fa2febacec66df50c5a7ed6c625bfae51742af09f81c06e32025"
    )


@given(rows=ROWS, at=st.integers(0, 200), junk=st.binary(min_size=1, max_size=3))
def test_what_passes_the_check_for_strangers_data_decodes(rows, at, junk):
    content, _, _ = encode_data(rows.items())
    check_data("b", content)
    for changed in (content[:at] + junk + content[at + len(junk) :], content + junk, content[:-1]):
        try:
            check_data("b", changed)
        except DataBlobRefused:
            continue
        decode_data("b", changed)


def test_data_that_unpacks_to_a_gigabyte_is_refused_while_little_is_held():
    plain_bytes = 1 << 30
    frame = zstandard.ZstdCompressor(level=1).compressobj(size=plain_bytes)
    packed = b"".join(frame.compress(bytes(1 << 20)) for _ in range(1 << 10)) + frame.flush()
    content = encode_data([])[0][:10] + struct.pack("<IQ", 5, plain_bytes) + packed
    tracemalloc.start()
    with pytest.raises(DataBlobRefused, match="not those that its head counts"):
        check_data("b", content)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 64 << 20


@given(rows=ROWS)
def test_any_data_comes_back_by_code_point(rows):
    content, digest, count = encode_data(rows.items())
    assert decode_data("b", content) == sorted(rows.items())
    assert (digest, count) == (LtHash(rows.items()).digest(), len(rows))
    assert encode_data(reversed(rows.items()))[0] == content


@pytest.mark.parametrize("at", range(22))
def test_a_changed_head_is_refused(at):
    content = bytearray(encode_data([("a", b"1"), ("b", b"2")])[0])
    content[at] ^= 1
    with pytest.raises(DataBlobRefused, match="data blob NAME: "):
        decode_data("NAME", bytes(content))


def test_truncated_and_foreign_blobs_are_refused():
    content = encode_data([("a", b"1"), ("b", b"2")])[0]
    for length in range(len(content)):
        with pytest.raises(DataBlobRefused):
            decode_data("NAME", content[:length])
    with pytest.raises(DataBlobRefused, match="magic missing"):
        decode_data("NAME", b"something else entirely, long enough")


def test_a_blob_in_which_a_key_is_there_twice_is_refused():
    content, _, _ = encode_data([("k", b"1"), ("k", b"2")])
    with pytest.raises(DataBlobRefused, match="not those that its head counts, in order"):
        decode_data("NAME", content)
    with pytest.raises(DataBlobRefused, match="not those that its head counts, in order"):
        check_data("NAME", content)
