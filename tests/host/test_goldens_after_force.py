"""What is pinned and the head does not give, since a rollback was forced: it holds no other change."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest

from engine.host import SimulatedHost, answers, simulated
from engine.host import golden_answers as shapes
from engine.host.machine import machine
from engine.host.replaying import replay
from engine.hub import messages as hub
from engine.io.blobs import BlobError
from engine.io.sim_disk import SimDisk
from engine.record.recording import read_recording, write_recording

SHOP = """
function price(n) { return n * 3 }
function sell(n) { const sum = (data.get("sum") ?? 0) + price(n); data.set("sum", sum); return sum }
"""
DEARER = "function price(n) { return n * 4 }"
SAME_IN_OTHER_WORDS = "function price(n) { return n + n + n }"


@pytest.fixture
def disk() -> SimDisk:
    return SimDisk(seed="forced")


@pytest.fixture
def host(disk: SimDisk) -> SimulatedHost:
    host = simulated("forced", disk=disk)
    world = host.create("shop").id
    host.perform(world, hub.Develop(SHOP, "the beginning"))
    return host


def world_of(host: SimulatedHost) -> str:
    return host.worlds(archived=True)[0].id


def ask(host: SimulatedHost, operation: hub.Operation) -> Any:
    return host.perform(world_of(host), operation)


def pin_a_sale(host: SimulatedHost) -> None:
    ask(host, hub.Call("sell", json.dumps([2]).encode()))
    host.settle()
    pinned = ask(host, hub.Pin(host.world(world_of(host)).records - 1, "", "it matters"))
    assert isinstance(pinned, shapes.Pinned), pinned


def differing(host: SimulatedHost) -> list[int]:
    page = host.goldens(world_of(host), limit=100, before=None)
    assert [row.n for row in host.all_goldens().goldens if row.differs] == [
        row.n for row in page.goldens if row.differs
    ]
    assert all(host.golden(world_of(host), row.n) == row for row in page.goldens)
    return [row.n for row in page.goldens if row.differs]


@pytest.fixture
def forced(host: SimulatedHost) -> SimulatedHost:
    """A head that gives 6 where 8 is pinned as 1: dearer was blessed, and rolled back by force."""
    pin_a_sale(host)
    ask(host, hub.Develop(DEARER, "dearer"))
    ask(host, hub.Bless(2, "inflation"))
    assert differing(host) == []
    assert ask(host, hub.Rollback(1, "panic", force=True)).revision == 3
    return host


def test_after_a_forced_rollback_what_the_head_does_not_give_is_marked_for_good(
    forced: SimulatedHost, disk: SimDisk
) -> None:
    assert differing(forced) == [1]
    forced.kill()
    again = simulated("forced again", disk=disk)
    assert differing(again) == [1]
    assert isinstance(ask(again, hub.Develop(SAME_IN_OTHER_WORDS, "slower")), answers.Accepted)
    assert differing(again) == [1]
    ask(again, hub.Unpin(1, "nobody sells"))
    assert differing(again) == []


def test_after_a_forced_rollback_a_change_that_does_not_touch_the_call_is_accepted(
    forced: SimulatedHost,
) -> None:
    unrelated = hub.Develop("function g() { return 2 }", "no matter to sell")
    records = forced.world(world_of(forced)).records
    assert forced.try_develop(world_of(forced), unrelated).status == "accepted"
    assert forced.world(world_of(forced)).records == records
    assert isinstance(ask(forced, unrelated), answers.Accepted)


def test_after_a_forced_rollback_a_change_back_to_what_is_pinned_is_accepted_and_holds_from_then_on(
    forced: SimulatedHost,
) -> None:
    assert isinstance(ask(forced, hub.Develop(DEARER, "dearer again")), answers.Accepted)
    assert differing(forced) == []
    assert isinstance(ask(forced, hub.Develop(SAME_IN_OTHER_WORDS, "cheaper")), shapes.Held)


def test_after_a_forced_rollback_a_change_to_a_third_result_is_held_and_can_be_blessed(
    forced: SimulatedHost,
) -> None:
    held = ask(forced, hub.Develop("function price(n) { return n * 5 }", "five"))
    (difference,) = held.goldens
    assert (bytes(difference.before.value), bytes(difference.after.value)) == (b"8", b"10")
    assert ask(forced, hub.Bless(held.held, "so be it")).revision == 4
    assert differing(forced) == []
    assert bytes(forced.golden(world_of(forced), 1).outcome.value) == b"10"


def test_what_was_held_before_a_forced_rollback_is_blessed_with_what_it_had_shown(
    host: SimulatedHost,
) -> None:
    ask(host, hub.Develop(DEARER, "dearer"))
    ask(host, hub.Rollback(1, "back"))
    pin_a_sale(host)
    held = ask(host, hub.Develop(DEARER + "\nfunction more() {}", "dearer again"))
    ask(host, hub.Rollback(2, "dear", force=True))
    assert differing(host) == [1]
    assert isinstance(ask(host, hub.Bless(held.held, "as was shown")), answers.Accepted)
    assert differing(host) == [] and bytes(host.golden(world_of(host), 1).outcome.value) == b"8"


def test_a_life_with_forced_rollbacks_replays_whole_and_redacted(forced: SimulatedHost) -> None:
    ask(forced, hub.Develop("function g() { return 2 }", "no matter to sell"))
    ask(forced, hub.Develop("function price(n) { return n * 5 }", "five"))
    ask(forced, hub.Develop(DEARER, "back to it"))
    forced.settle()
    world, parts = world_of(forced), forced.parts
    assert replay(parts.log, parts.blobs, world, machine()).is_equal
    redacted = BytesIO(b"".join(write_recording(parts.log, parts.blobs, world, redact=True)))
    recording = read_recording(redacted)
    assert replay(recording.log, recording.blobs, world, machine()).is_equal


def test_a_rollback_is_forced_even_where_the_past_cannot_be_read(
    host: SimulatedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(host, hub.Develop(SAME_IN_OTHER_WORDS, "slower"))
    pin_a_sale(host)

    def lost(*_: Any) -> Any:
        raise BlobError("ab" * 32, "is lost")

    monkeypatch.setattr("engine.host.trying.data_at", lost)
    assert ask(host, hub.Rollback(1, "panic", force=True)).revision == 3
    assert differing(host) == [1], "nothing is known of it"
