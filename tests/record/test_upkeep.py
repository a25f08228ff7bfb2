"""Expiry and collection: what goes, what stays, and that nothing tells afterwards (Invariants 8, 9, 20)."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from directories import Directory
from record_lives import Heaps, call, failed_call, genesis, preview, revision

from engine.io.blobs import BlobMissing
from engine.io.log import LogEntry
from engine.limits import READ_BODIES_KEPT_FLICKS, REQUEST_ID_KEPT_FLICKS
from engine.record import HeapRefused, decode, load, verify_chain
from engine.record.collection import Collected, collect
from engine.record.kinds import Describe, HeapRef, Purge, Request
from engine.record.projection import Projection
from engine.record.retention import Retention


class Pins:
    """Pins of a host; `on_lock` happens just before a sweep looks again."""

    def __init__(self, *names: str, on_lock=lambda: None) -> None:
        self._names = list(names)
        self._on_lock = on_lock

    @property
    def lock(self):
        self._on_lock()
        return nullcontext()

    def names(self) -> list[str]:
        return self._names


@pytest.fixture
def home():
    return Directory()


def kinds_erased(home, world: str) -> list[str]:
    return [decode(entry)[0].kind for _, entry in home.log.read(world) if entry.body is None]


def erase(home, *, now_flicks: int = 2**62) -> int:
    retention = Retention.of(home.project(), now_flicks=now_flicks)
    home.log.seal()
    return home.log.erase_bodies(retention.erasable)


def age(home, flicks: int) -> None:
    """Time passes, and a record of another world says so."""
    home.book.flick += flicks
    home.book.write("lists", call(writes={"now": b"1"}))


# ---- expiry


def test_only_old_bodies_that_changed_nothing_expire(home):
    age(home, READ_BODIES_KEPT_FLICKS + 1)
    assert erase(home) > 0
    assert kinds_erased(home, "trip") == ["preview", "call"] * 3
    assert kinds_erased(home, "lists") == []


@pytest.mark.parametrize(
    ("flicks", "expired"), [(READ_BODIES_KEPT_FLICKS, 0), (READ_BODIES_KEPT_FLICKS + 1, 6)]
)
def test_bodies_are_kept_exactly_as_long_as_the_limit_says(home, flicks, expired):
    age(home, flicks)
    erase(home)
    assert len(kinds_erased(home, "trip")) == expired


def test_a_world_may_keep_its_bodies_longer_or_less_long_but_never_less_than_its_request_ids(home):
    home.book.write("trip", Describe(read_bodies_kept_flicks=2 * READ_BODIES_KEPT_FLICKS))
    home.book.write("lists", Describe(read_bodies_kept_flicks=0), preview())
    age(home, REQUEST_ID_KEPT_FLICKS)
    erase(home)
    assert (kinds_erased(home, "trip"), kinds_erased(home, "lists")) == ([], [])
    age(home, READ_BODIES_KEPT_FLICKS)
    erase(home)
    assert (kinds_erased(home, "trip"), kinds_erased(home, "lists")) == ([], ["preview"])


def test_all_of_a_purged_world_goes_but_its_tombstone(home):
    assert erase(home) > 0
    assert kinds_erased(home, "gone") == ["genesis", "data-edit"]
    assert list(verify_chain("gone", (entry for _, entry in home.log.read("gone")))) == []
    assert b"secret" not in b"".join(entry.body or b"" for _, entry in home.log.read("gone"))


def test_a_world_that_is_not_projected_yet_keeps_everything(home):
    retention = Retention.of(home.project(), now_flicks=2**62)
    home.book.flick = 1
    home.book.write("new", genesis(), preview())
    home.log.seal()
    home.log.erase_bodies(retention.erasable)
    assert kinds_erased(home, "new") == []


def test_failed_calls_never_expire_for_they_are_incidents(home):
    home.book.write("lists", failed_call(3), call(value=None, failure=None))
    age(home, READ_BODIES_KEPT_FLICKS + 1)
    erase(home)
    assert kinds_erased(home, "lists") == ["call"]


def test_a_projection_tells_nothing_of_what_was_erased(home):
    """Also where a request id led to an erased answer: it was forgotten before."""
    home.book.write("trip", call(request=Request("asked", "1" * 64)))
    projection = home.project()
    age(home, READ_BODIES_KEPT_FLICKS + 1)
    projection.catch_up()
    erase(home)
    assert projection.dump() == Projection(None, home.log).dump()


def test_a_clock_that_runs_ahead_of_the_log_expires_nothing_early(home):
    home.book.write("trip", call(request=Request("asked", "1" * 64)))
    projection = home.project()
    erase(home, now_flicks=2**62)
    assert projection.request("trip", "asked") is not None
    assert projection.dump() == Projection(None, home.log).dump()


# ---- collection


def test_what_nothing_reaches_goes_and_all_else_stays(home):
    orphan = home.blobs.put(b"an attempt that was rejected")
    before = home.blobs.names()
    collected = collect(home.blobs, home.log, Pins())
    assert sorted(set(before) - set(home.blobs.names())) == sorted([orphan, home.gone_blob])
    assert collected == Collected(kept=len(before) - 2, removed=2, freed_bytes=collected.freed_bytes)
    assert bytes(load(home.blobs, home.heaps.ref.blob).memory) == home.heaps.memory


def test_every_head_revision_base_checkpoint_and_engine_is_kept(home):
    collect(home.blobs, home.log, Pins())
    needed = {home.engine_blob, home.first_heap.blob, home.heaps.ref.blob, home.data_blob}
    assert needed <= set(home.blobs.names())
    for row in home.project().revisions("trip", 9).rows:
        assert row.body is not None and load(home.blobs, row.body.heap.blob)


def test_pinned_blobs_and_what_they_stand_on_are_kept(home):
    other = Heaps(home.blobs, wasm_pages=3)
    base, delta = other.ref.blob, other.change(0, 0, b"x").blob
    collect(home.blobs, home.log, Pins(delta))
    assert home.blobs.has(base) and home.blobs.has(delta)
    collect(home.blobs, home.log, Pins())
    assert not home.blobs.has(base) and not home.blobs.has(delta)


def test_a_blob_whose_record_becomes_durable_while_marking_is_kept(home):
    late = Heaps(home.blobs, wasm_pages=3).ref

    def record_lands() -> None:
        if home.project().world("trip").revision == 3:
            home.book.write("trip", revision(4, "f", heap=late))

    collect(home.blobs, home.log, Pins(on_lock=record_lands))
    assert home.blobs.has(late.blob)


def test_a_world_that_is_purged_while_marking_keeps_its_blobs_until_the_next_time(home):
    heap = Heaps(home.blobs, wasm_pages=3).ref
    home.book.write("new", genesis(heap=heap, engine_blob=home.engine_blob))

    def purge() -> None:
        if not home.project().world("new").purged:
            home.book.write("new", Purge("asked"))

    assert collect(home.blobs, home.log, Pins(on_lock=purge)).removed == 1  # of the world purged before
    assert home.blobs.has(heap.blob)
    assert collect(home.blobs, home.log, Pins()).removed == 1
    assert not home.blobs.has(heap.blob)


def test_nothing_is_removed_where_what_is_needed_cannot_be_read(home):
    home.blobs.put(b"an orphan")
    home.blobs.remove(home.first_heap.blob)
    before = home.blobs.names()
    with pytest.raises(BlobMissing, match=home.first_heap.blob):
        collect(home.blobs, home.log, Pins())
    assert home.blobs.names() == before


def test_a_heap_of_a_newer_format_stops_the_collection(home):
    newer = home.blobs.put(b"flkheap\n\x09\x00" + bytes(60))
    home.book.write("trip", revision(4, "f", heap=HeapRef("0" * 64, newer)))
    home.blobs.put(b"an orphan")
    before = home.blobs.names()
    with pytest.raises(HeapRefused, match="heap format 9"):
        collect(home.blobs, home.log, Pins())
    assert home.blobs.names() == before


def test_collecting_twice_removes_nothing_the_second_time(home):
    collect(home.blobs, home.log, Pins())
    assert collect(home.blobs, home.log, Pins()).removed == 0


def test_entries_of_worlds_are_told_apart_by_the_policy_of_their_own_world():
    retention = Retention({"w": None})
    assert not retention.erasable(LogEntry("v", 0, b"", b""))
