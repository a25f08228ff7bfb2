"""Heaps as blobs: bases and deltas load to the same bytes; foreign, rotten and unfitting ones are refused."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_lives import META, Heaps, root_of

from engine.io.blobs import BlobMissing, BlobRotten
from engine.io.mem_blobs import MemBlobs
from engine.limits import (
    HEAP_DELTAS_PER_BASE_MAX,
    HEAP_PATCH_PAGES_MAX,
    LINEAR_MEMORY_BYTES_MAX,
    PAGE_BYTES,
    WASM_PAGE_BYTES,
)
from engine.record import HeapRefused, Page, depth_of, encode_base, encode_delta, load, needs_base
from engine.record.heaps import references

PAGES = 2 * WASM_PAGE_BYTES // PAGE_BYTES
ZERO = bytes(PAGE_BYTES)


@pytest.fixture
def blobs():
    return MemBlobs()


@given(
    changes=st.lists(
        st.tuples(
            st.integers(0, PAGES - 1), st.integers(0, PAGE_BYTES - 8), st.binary(min_size=1, max_size=8)
        ),
        max_size=8,
    )
)
def test_any_chain_of_deltas_loads_to_what_was_stored(changes):
    blobs = MemBlobs()
    heaps = Heaps(blobs)
    stored = [(heaps.ref, bytes(heaps.memory))]
    stored.extend((heaps.change(*change), bytes(heaps.memory)) for change in changes)
    for depth, (ref, memory) in enumerate(stored):
        heap = load(blobs, ref.blob)
        assert (bytes(heap.memory), heap.meta, heap.depth) == (memory, META, depth)
        assert root_of(bytes(heap.memory), heap.meta) == ref.root


def test_a_delta_may_grow_the_heap_and_shrink_nothing(blobs):
    parent = blobs.put(encode_base(b"\x11" * WASM_PAGE_BYTES, b"before"))
    new = bytes(range(256)) * 16
    delta = encode_delta(
        parent,
        parent_depth=0,
        size_bytes=3 * WASM_PAGE_BYTES,
        meta=b"after",
        pages=[Page(0, new, b"\x11" * PAGE_BYTES), Page(47, new, ZERO)],
    )
    heap = load(blobs, blobs.put(delta))
    assert heap.meta == b"after"
    assert len(heap.memory) == 3 * WASM_PAGE_BYTES
    assert heap.memory[:PAGE_BYTES] == new
    assert heap.memory[PAGE_BYTES:WASM_PAGE_BYTES] == b"\x11" * (WASM_PAGE_BYTES - PAGE_BYTES)
    assert heap.memory[WASM_PAGE_BYTES : 47 * PAGE_BYTES] == bytes(47 * PAGE_BYTES - WASM_PAGE_BYTES)
    assert heap.memory[47 * PAGE_BYTES :] == new


def test_a_delta_of_no_pages_is_its_parent(blobs):
    parent = blobs.put(encode_base(bytes(WASM_PAGE_BYTES), b""))
    delta = encode_delta(parent, parent_depth=0, size_bytes=WASM_PAGE_BYTES, meta=b"m", pages=[])
    assert load(blobs, blobs.put(delta)).memory == bytes(WASM_PAGE_BYTES)


def test_equal_heaps_have_equal_blobs():
    assert encode_base(bytes(WASM_PAGE_BYTES), META) == encode_base(bytearray(WASM_PAGE_BYTES), META)


def test_a_small_change_of_many_pages_is_a_small_blob(blobs):
    """One definition touches some 40 pages in a few words each: 2.8 KB were measured, against 109 KB whole."""
    heaps = Heaps(blobs, wasm_pages=21)
    pages = []
    for number in range(0, 320, 8):
        before = bytes(heaps.memory[number * PAGE_BYTES : (number + 1) * PAGE_BYTES])
        words = struct.pack("<8I", *range(number, number + 8))
        pages.append(Page(number, before[:64] + words + before[96:], before))
    delta = encode_delta(heaps.ref.blob, parent_depth=0, size_bytes=len(heaps.memory), meta=META, pages=pages)
    assert len(delta) < 4096


def test_the_largest_heap_is_stored_and_one_page_more_is_our_bug():
    blobs = MemBlobs()
    assert (
        len(load(blobs, blobs.put(encode_base(bytes(LINEAR_MEMORY_BYTES_MAX), b""))).memory)
        == LINEAR_MEMORY_BYTES_MAX
    )
    with pytest.raises(AssertionError, match="whole wasm pages"):
        encode_base(bytes(LINEAR_MEMORY_BYTES_MAX + WASM_PAGE_BYTES), b"")


def test_as_many_deltas_stand_on_a_base_as_the_limit_says(blobs):
    heaps = Heaps(blobs)
    for n in range(HEAP_DELTAS_PER_BASE_MAX):
        assert not needs_base(heaps.depth)
        heaps.change(0, n, b"x")
    assert needs_base(heaps.depth)
    heap = load(blobs, heaps.ref.blob)
    assert (heap.depth, heap.memory) == (HEAP_DELTAS_PER_BASE_MAX, heaps.memory)
    with pytest.raises(AssertionError, match="a base before it is too long"):
        heaps.change(0, 0, b"y")


def test_references_and_depth_are_read_without_loading(blobs):
    heaps = Heaps(blobs)
    base = heaps.ref.blob
    delta = heaps.change(1, 0, b"x").blob
    assert (references(base, blobs.get(base)), depth_of(base, blobs.get(base))) == ([], 0)
    assert (references(delta, blobs.get(delta)), depth_of(delta, blobs.get(delta))) == ([base], 1)


def test_a_known_memory_stands_in_for_what_lies_below_it(blobs):
    heaps = Heaps(blobs)
    base, memory = heaps.ref.blob, bytes(heaps.memory)
    heaps.change(1, 0, b"x")
    ref = heaps.change(2, 0, b"y")
    whole = load(blobs, ref.blob)
    blobs.remove(base)
    assert load(blobs, ref.blob, known={base: memory, "another": b""}) == whole


def test_many_pages_are_stored_as_a_difference_and_load_as_well(blobs):
    """More than fit in one window beside their parent's."""
    size_bytes = (HEAP_PATCH_PAGES_MAX + 16) // 16 * WASM_PAGE_BYTES
    parent = blobs.put(encode_base(b"\x11" * size_bytes, b""))
    for count in (HEAP_PATCH_PAGES_MAX, HEAP_PATCH_PAGES_MAX + 1):
        page = bytes(range(256)) * 16
        pages = [Page(number, page, b"\x11" * PAGE_BYTES) for number in range(count)]
        delta = encode_delta(parent, parent_depth=0, size_bytes=size_bytes, meta=b"", pages=pages)
        memory = load(blobs, blobs.put(delta)).memory
        assert memory == page * count + b"\x11" * (size_bytes - count * PAGE_BYTES)


def test_a_missing_parent_is_named(blobs):
    heaps = Heaps(blobs)
    base = heaps.ref.blob
    delta = heaps.change(1, 0, b"x").blob
    blobs.remove(base)
    with pytest.raises(BlobMissing, match=base):
        load(blobs, delta)


def test_any_changed_byte_of_a_blob_is_refused_or_gives_another_root(blobs):
    """The Blobs port notices every one of them by its name; this is the format alone."""
    heaps = Heaps(blobs)
    refs = [heaps.ref, heaps.change(3, 100, b"hello")]
    for ref in refs:
        content = blobs.get(ref.blob)
        for at in range(0, len(content), 1 if ref is refs[1] else 7):
            changed = bytearray(content)
            changed[at] ^= 0x04
            name = blobs.put(bytes(changed))
            try:
                heap = load(blobs, name)
            except (HeapRefused, BlobMissing, BlobRotten):
                continue
            assert root_of(bytes(heap.memory), heap.meta) != ref.root, f"byte {at}"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no heap snapshot"),
        (b"\0asm" + bytes(100), "no heap snapshot"),
        (b"flkheap\n" + struct.pack("<H", 2) + bytes(100), "heap format 2; this version reads 1"),
    ],
)
def test_a_foreign_blob_is_refused_with_what_it_is(blobs, content, reason):
    name = blobs.put(content)
    with pytest.raises(HeapRefused, match=f"heap blob {name}: .*{reason}"):
        load(blobs, name)
    with pytest.raises(HeapRefused, match=reason):
        references(name, content)


def test_a_truncated_blob_is_refused_at_every_length(blobs):
    content = encode_base(bytes(WASM_PAGE_BYTES), META)
    for length in range(len(content)):
        with pytest.raises(HeapRefused):
            load(blobs, blobs.put(content[:length]))


def test_a_delta_on_another_parent_is_refused(blobs):
    heaps = Heaps(blobs)
    second = heaps.change(0, 0, b"x").blob
    delta = encode_delta(second, parent_depth=0, size_bytes=len(heaps.memory), meta=META, pages=[])
    with pytest.raises(HeapRefused, match="does not fit below"):
        load(blobs, blobs.put(delta))
    smaller = encode_delta(second, parent_depth=1, size_bytes=WASM_PAGE_BYTES, meta=META, pages=[])
    with pytest.raises(HeapRefused, match="does not fit below"):
        load(blobs, blobs.put(smaller))
