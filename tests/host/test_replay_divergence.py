"""Recordings that were tampered with and chained anew, so that no hash tells: a replay finds record and field."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replays import entries_of, log_of, tampered

from engine import limits
from engine.host import simulated
from engine.host.machine import machine
from engine.host.replaying import replay
from engine.host.replaying_sections import bisect
from engine.host.shell import deep_thread
from engine.hub import messages as hub
from engine.io.blobs import Blobs
from engine.io.log import LogEntry
from engine.io.mem_log import MemLog
from engine.logic import catalogue_of, develop
from engine.logic.image import HeapImage, HeapMeta
from engine.record import heaps, kinds
from engine.record.comparing import one_line
from engine.record.divergence import Divergence, first_difference
from engine.record.records import decode

SOURCE = """
const cart = state("cart", () => ({ items: [{ name: "pen", price: 5 }] }));
function total() { return cart.items.reduce((sum, item) => sum + item.price, 0) }
function bump(key) { const n = (data.get(key) ?? 0) + 1; data.set(key, n); console.log("now", n); return { n } }
function swap() { data.set("a", 1); data.delete("n"); data.set("b", 2) }
function fail() { throw new Error("on purpose") }
"""
OUTCOMES = {
    "call": ("value", "failure", "writes", "logs", "fuel", "incident", "abandoned", "looks", "revision"),
    "preview": ("value", "failure", "undone", "logs", "fuel", "abandoned", "looks", "revision"),
    "revision": (
        "n",
        "parent",
        "rewritten",
        "heap",
        "prelude_version",
        "changes",
        "definitions",
        "logs",
        "fuel",
    ),
    "unchanged": ("revision", "logs", "fuel"),
    "rejection": ("n", "base", "kind", "reason", "check", "logs", "fuel", "input"),
    "check-enrolled": ("inputs", "revision"),
    "checkpoint": ("revision", "heap", "data_digest", "rows"),
    "interrupted": ("incident",),
}
"""By kind, what a record says an operation came to; its other fields say what was asked, and go into the replay."""


class Life(NamedTuple):
    world: str
    entries: list[LogEntry]
    blobs: Blobs

    def bodies(self) -> list[kinds.Body]:
        bodies = [decode(entry)[1] for entry in self.entries]
        assert all(body is not None for body in bodies)
        return bodies  # type: ignore[return-value]

    def seq_of(self, kind: type[Any], nth: int = 0) -> int:
        return [seq for seq, body in enumerate(self.bodies()) if isinstance(body, kind)][nth]

    def diverges(self, log: MemLog) -> Divergence | None:
        return replay(log, self.blobs, self.world, machine("auto")).divergence


@pytest.fixture(scope="module")
def life() -> Life:
    """One small life with everything in it that a record can say."""
    host = simulated("tampered")
    world = host.create("one").id
    for operation in (
        hub.Develop(SOURCE, "the beginning"),
        hub.Call("bump", b'["n"]'),
        hub.Call("bump", b'["n"]'),
        hub.Enrol("sum", "total() >= 0", "function total() { return -1 }"),
        hub.Enrol("sums", "(n) => n >= 0", "function total() { return -1 }"),
        hub.Call("swap", b"[]"),
        hub.Call("fail", b"[]"),
        hub.Execute("[total(), bump('p')]"),
        hub.Develop("state('cart', () => null).items.push({ name: 'ink', price: 7 })", "more"),
        hub.Develop("function total() { return -1 }", "less"),
        hub.Develop("5", "nothing"),
        hub.Checkpoint(),
        hub.Call("total", b"[]"),
        hub.EditData("k", b"1", "by hand"),
    ):
        host.perform(world, operation)
    host.settle()
    return Life(world, entries_of(host.parts.log, world), host.parts.blobs)


def changed(body: Any, **fields: Any) -> Any:
    return msgspec.structs.replace(body, **fields)


CHANGES: list[tuple[type[Any], Callable[[Any], Any], str]] = [
    (kinds.Call, lambda b: changed(b, value=b'{"n":2}'), "value.n: 2 -> 1"),
    (kinds.Call, lambda b: changed(b, fuel=b.fuel + 1), "fuel: "),
    (kinds.Call, lambda b: changed(b, logs=["now 2"]), 'logs[0]: "now 2" -> "now 1"'),
    (kinds.Call, lambda b: changed(b, writes=[kinds.Write("n", b"7")]), 'writes["n"]: 7 -> 1'),
    (kinds.Call, lambda b: changed(b, writes=[]), 'writes["n"]: nothing -> 1'),
    (kinds.Preview, lambda b: changed(b, undone=[]), 'undone["p"]: nothing -> 1'),
    (kinds.Rejection, lambda b: changed(b, reason="x"), "reason: "),
    (kinds.Revision, lambda b: changed(b, changes=kinds.Changes(added=["total"])), "changes.added[0]: "),
    (kinds.Checkpoint, lambda b: changed(b, rows=9), "rows: 9 -> 2"),
]


@pytest.mark.parametrize(("kind", "change", "told"), CHANGES)
def test_a_tampered_outcome_is_found_in_its_record_and_named(
    life: Life, kind: type[Any], change: Callable[[Any], Any], told: str
) -> None:
    seq = life.seq_of(kind)
    found = life.diverges(tampered(life.entries, seq, change))
    assert found is not None and found.seq == seq
    assert one_line(found.differences[0]).startswith(told)


def test_untouched_it_is_equal(life: Life) -> None:
    assert life.diverges(log_of(life.entries)) is None


@settings(max_examples=60)
@given(data=st.data())
def test_any_one_outcome_that_says_something_else_is_found_in_its_record(
    life: Life, data: st.DataObject
) -> None:
    seq = data.draw(st.sampled_from(range(1, len(life.entries))))
    header, body = decode(life.entries[seq])
    fields = OUTCOMES.get(header.kind)
    if not fields:
        return
    field = data.draw(st.sampled_from(fields))
    before = getattr(body, field)
    after = data.draw(other_than(before))
    log = tampered(life.entries, seq, lambda body: changed(body, **{field: after}))
    found = life.diverges(log)
    assert found is not None and found.seq == seq, f"record {seq}, {field}: {before!r} -> {after!r}"
    assert any(difference.path.startswith(field) for difference in found.differences), found


@settings(max_examples=60)
@given(data=st.data())
def test_any_field_that_says_something_else_is_found_against_the_recording_as_it_was(
    life: Life, data: st.DataObject
) -> None:
    seq = data.draw(st.sampled_from(range(len(life.entries))))
    body: Any = decode(life.entries[seq])[1]
    field = data.draw(st.sampled_from(body.__struct_fields__))
    after = data.draw(other_than(getattr(body, field)))
    log = tampered(life.entries, seq, lambda body: changed(body, **{field: after}))
    found = first_difference(log_of(life.entries), log, life.world)
    assert found is not None and found.seq == seq
    assert [d for d in found.differences if not d.path.startswith(field)] == [], "nothing else is told"


def other_than(value: Any) -> st.SearchStrategy[Any]:
    """Another value of the same shape."""
    match value:
        case bool():
            return st.just(not value)
        case int():
            return st.integers(0, 1 << 40).filter(lambda other: other != value)
        case bytes():
            return st.binary(max_size=5).map(lambda tail: b"1%s" % tail.hex().encode()).filter(value.__ne__)
        case str():
            return st.just(f"{value}!")
        case None:
            return st.nothing()
        case list():
            return st.just(value[1:]) if value else st.nothing()
        case kinds.HeapRef():
            return st.just(kinds.HeapRef(value.root[::-1], value.blob))
        case kinds.Changes():
            return st.just(changed(value, removed=[*value.removed, "zzz"]))
        case kinds.Failure():
            return st.just(changed(value, error=f"{value.error}!"))
        case kinds.Write():
            return st.just(kinds.Write(value.key, b"99"))
    raise AssertionError(f"a shape that no record has: {value!r}")


def test_a_state_that_differs_is_told_by_its_path(life: Life) -> None:
    """The heap that was recorded is replaced by one in which an item of the state has another price."""
    seq = life.seq_of(kinds.Revision, 1)
    revised: Any = life.bodies()[seq]
    source = "const cart = state('cart', () => null); cart.items[1].price = 6; cart.items[0].name = 'pencil'"
    other = heap_with(life, source, revised.heap)
    found = life.diverges(tampered(life.entries, seq, partial(changed, heap=other)))
    assert found is not None and found.seq == seq
    told = [one_line(difference) for difference in found.differences]
    assert told[1:] == [
        'state("cart").items[0].name: "pencil" -> "pen"',
        'state("cart").items[1].price: 6 -> 7',
    ]


def test_a_heap_that_differs_in_what_nobody_sees_is_told_by_its_pages(life: Life) -> None:
    seq = life.seq_of(kinds.Revision, 1)
    revised: Any = life.bodies()[seq]
    image = image_of(life, revised.heap)
    memory = bytearray(image.to_bytes())
    memory[-1] ^= 1
    last_page = len(memory) // limits.PAGE_BYTES - 1
    other = put(life, HeapImage.from_bytes(bytes(memory), image.meta))
    found = life.diverges(tampered(life.entries, seq, partial(changed, heap=other)))
    assert found is not None
    assert one_line(found.differences[-1]) == f"heap: the same pages -> 1 pages differ: {last_page}"


def image_of(life: Life, ref: kinds.HeapRef) -> HeapImage:
    heap = heaps.load(life.blobs, ref.blob)
    return HeapImage.from_bytes(bytes(heap.memory), HeapMeta.from_bytes(heap.meta))


def put(life: Life, image: HeapImage) -> kinds.HeapRef:
    return kinds.HeapRef(
        image.root, life.blobs.put(heaps.encode_base(image.to_bytes(), image.meta.to_bytes()))
    )


def heap_with(life: Life, source: str, ref: kinds.HeapRef) -> kinds.HeapRef:
    """The heap after one more source, stored."""
    pool, image = machine("auto").pool, image_of(life, ref)

    def attempt() -> HeapImage:
        catalogue = catalogue_of(pool, image)
        outcome = develop(pool, image, source, catalogue=catalogue, source_lookup=lambda _: None)
        assert outcome.image is not None, outcome.reason
        return outcome.image

    return put(life, deep_thread().run(attempt))


def test_bisecting_lives_a_few_sections_and_finds_what_goes_on_diverging(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.record.divergence.REPLAY_SECTION_RECORDS", 8)
    host = simulated("bisected")
    world = host.create("one").id
    host.perform(world, hub.Develop(SOURCE, "the beginning"))
    for n in range(150):
        host.perform(world, hub.Call("bump", b'["n"]'))
        if n in (60, 100):
            host.perform(world, hub.Checkpoint())
    host.settle()
    entries = entries_of(host.parts.log, world)
    log = log_of(entries)
    for seq in range(77, len(entries)):
        if isinstance(decode(entries[seq])[1], kinds.Call):
            log = tampered(entries_of(log, world), seq, lambda body: changed(body, fuel=body.fuel + 1))
    last = len(entries) - 1
    found = bisect(log, host.parts.blobs, world, machine("auto"), until_seq=last)
    assert found.divergence is not None and found.divergence.seq == 77
    assert len(found.probed) <= 6 < found.sections
    whole = replay(log, host.parts.blobs, world, machine("auto"))
    assert whole.divergence == found.divergence
    sound = bisect(log_of(entries), host.parts.blobs, world, machine("auto"), until_seq=last)
    assert sound.is_equal and sound.count < len(entries)


def test_a_snapshot_after_which_what_was_read_changed_is_found(life: Life) -> None:
    """Invariant 12: the second call cannot have read what was there before the first one wrote."""
    seq = life.seq_of(kinds.Call, 1)
    found = life.diverges(tampered(life.entries, seq, lambda body: changed(body, snapshot=body.snapshot - 1)))
    assert found is not None and found.seq == seq
    assert [one_line(difference) for difference in found.differences] == [
        f"snapshot: nothing that it read changed after record {seq - 2} -> 'n' did"
    ]


def test_what_the_hub_would_have_refused_is_found(life: Life) -> None:
    seq = life.seq_of(kinds.Call, 2)
    later = tampered(life.entries, seq, lambda body: changed(body, snapshot=seq + 3))
    found = life.diverges(later)
    assert found is not None and found.seq == seq
    assert one_line(found.differences[0]) == f"snapshot: a record before {seq} -> {seq + 3}"
    retried = tampered(life.entries, seq, lambda body: changed(body, retries=9))
    found = life.diverges(retried)
    assert found is not None and found.seq == seq
    assert one_line(found.differences[0]).startswith("kind: a record -> refused, no-incident: ")
