"""Heap images: what an image is does not depend on how it is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import limits
from engine.limits import PAGE_BYTES, WASM_PAGE_BYTES
from engine.logic import HeapImage, HeapMeta

META = HeapMeta(stack_ptr=1, entry_ptr=2, raise_ptr=3, undefined_ptr=4, scratch_ptr=5, random_ptr=6)
SIZE_BYTES = 2 * WASM_PAGE_BYTES
PAGES = SIZE_BYTES // PAGE_BYTES


def page(fill: int) -> bytes:
    return bytes([fill]) * PAGE_BYTES


def first() -> HeapImage:
    return HeapImage.from_bytes(b"".join(page(n + 1) for n in range(PAGES)), META)


changes = st.dictionaries(st.integers(0, PAGES - 1), st.integers(0, 255).map(page), max_size=12)


@given(steps=st.lists(changes, max_size=5))
def test_a_chain_of_changes_equals_the_whole_made_at_once(steps):
    image, memory = first(), bytearray(first().to_bytes())
    for changed in steps:
        image = HeapImage.from_parent(image, changed, SIZE_BYTES, META)
        for number, content in changed.items():
            memory[number * PAGE_BYTES : (number + 1) * PAGE_BYTES] = content
    whole = HeapImage.from_bytes(bytes(memory), META)
    assert image.to_bytes() == bytes(memory)
    assert image.root == whole.root
    assert [image.page(n) for n in range(PAGES)] == [whole.page(n) for n in range(PAGES)]
    assert image.pages_differing(whole) == whole.pages_differing(image) == []


@given(left=changes, right=changes)
def test_the_differing_pages_are_exactly_those_that_differ(left, right):
    ours = HeapImage.from_parent(first(), left, SIZE_BYTES, META)
    theirs = HeapImage.from_parent(ours, right, SIZE_BYTES, META)
    apart = HeapImage.from_bytes(theirs.to_bytes(), META)
    expected = [n for n in range(PAGES) if ours.page(n) != theirs.page(n)]
    assert theirs.pages_differing(ours) == apart.pages_differing(ours) == expected
    rebuilt = HeapImage.from_parent(ours, {n: theirs.page(n) for n in expected}, SIZE_BYTES, META)
    assert rebuilt.root == theirs.root


def test_a_heap_grows_with_zeros():
    grown = HeapImage.from_parent(first(), {PAGES + 1: page(9)}, SIZE_BYTES + WASM_PAGE_BYTES, META)
    assert grown.size_bytes == SIZE_BYTES + WASM_PAGE_BYTES
    assert [grown.page(PAGES), grown.page(PAGES + 1)] == [page(0), page(9)]
    assert grown.to_bytes()[SIZE_BYTES:] == page(0) + page(9) + bytes(WASM_PAGE_BYTES - 2 * PAGE_BYTES)
    assert grown.pages_differing(first()) == [PAGES + 1]
    assert HeapImage.from_bytes(grown.to_bytes(), META).pages_differing(first()) == [PAGES + 1]


def test_a_page_of_zeros_over_a_base_is_kept():
    image = HeapImage.from_parent(first(), {3: page(0)}, SIZE_BYTES, META)
    assert image.page_numbers == (3,)
    assert image.page(3) == page(0)


def test_pages_that_return_to_the_bases_bytes_are_dropped():
    changed = HeapImage.from_parent(first(), {3: page(77)}, SIZE_BYTES, META)
    assert changed.page_numbers == (3,)
    back = HeapImage.from_parent(changed, {3: page(4)}, SIZE_BYTES, META)
    assert back.page_numbers == ()
    assert back.base is changed.base
    assert back.root == first().root


def test_at_the_limit_the_base_is_shared_and_one_page_past_it_is_not():
    pages_max = limits.HEAP_DELTA_PAGES_MAX
    size_bytes = -(-(pages_max + 1) * PAGE_BYTES // WASM_PAGE_BYTES) * WASM_PAGE_BYTES
    base = HeapImage.from_bytes(bytes(size_bytes), META)
    at_limit = HeapImage.from_parent(base, {n: page(1) for n in range(pages_max)}, size_bytes, META)
    past_it = HeapImage.from_parent(at_limit, {pages_max: page(1)}, size_bytes, META)
    assert at_limit.base is base.base
    assert past_it.base is not base.base
    assert past_it.page_numbers == ()
    assert past_it.to_bytes() == page(1) * (pages_max + 1) + bytes(size_bytes - (pages_max + 1) * PAGE_BYTES)


def test_the_root_covers_size_and_addresses():
    other_meta = HeapMeta(stack_ptr=1, entry_ptr=2, raise_ptr=3, undefined_ptr=4, scratch_ptr=5, random_ptr=7)
    roots = {
        HeapImage.from_bytes(bytes(SIZE_BYTES), META).root,
        HeapImage.from_bytes(bytes(SIZE_BYTES), other_meta).root,
        HeapImage.from_bytes(bytes(SIZE_BYTES + WASM_PAGE_BYTES), META).root,
    }
    assert len(roots) == 3
    assert HeapImage.from_bytes(bytes(SIZE_BYTES), META).root == (
        "7cb7257a1ba2cbd9f4f0d25a4379dec14fcdbb21e06e699e3b2b6e4a341fa189"
    )


def test_meta_bytes_come_back_and_another_length_is_refused():
    assert HeapMeta.from_bytes(META.to_bytes()) == META
    assert META.to_bytes().hex() == "010000000200000003000000040000000500000006000000"
    with pytest.raises(ValueError, match="heap meta: 23 bytes, expected 24"):
        HeapMeta.from_bytes(META.to_bytes()[:-1])


def test_changes_outside_the_heap_are_our_bug():
    with pytest.raises(AssertionError, match="inside the heap"):
        HeapImage.from_parent(first(), {PAGES: page(1)}, SIZE_BYTES, META)
    with pytest.raises(AssertionError, match="heaps only grow"):
        HeapImage.from_parent(first(), {}, SIZE_BYTES - WASM_PAGE_BYTES, META)
