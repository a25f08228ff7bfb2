"""A world's recording replays its goldens too: pins, held changes, blessings, with every outcome compared."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest

from engine import limits
from engine.host import SimulatedHost, simulated
from engine.host import golden_answers as shapes
from engine.host.machine import machine
from engine.host.replaying import replay
from engine.hub import messages as hub
from engine.record.recording import read_recording, write_recording

SHOP = """
function price(n) { return n * 3 }
function sell(n) { const sum = (data.get("sum") ?? 0) + price(n); data.set("sum", sum); return sum }
function dice() { return [Math.random(), Date.now()] }
async function convert(n) { return n * await worlds.call(data.get("rates"), "rate", "eur") }
"""


def times(n: int) -> str:
    return f"function price(n) {{ return n * {n} }}"


@pytest.fixture(scope="module")
def lived() -> tuple[SimulatedHost, str]:
    """A life in which each kind of golden record was made, and each way of ending one was taken."""
    host = simulated("replayed goldens")
    rates, shop = host.create("rates").id, host.create("shop").id

    def ask(operation: hub.Operation, expected: type | None = None) -> Any:
        answer = host.perform(shop, operation)
        assert expected is None or isinstance(answer, expected), answer
        return answer

    def call(function: str, *args: Any) -> int:
        ask(hub.Call(function, json.dumps(args).encode()))
        host.settle()
        return host.world(shop).records - 1

    host.perform(rates, hub.Develop("function rate(of) { return 2 }", "rates"))
    ask(hub.Develop(SHOP, "the beginning"))
    ask(hub.EditData("rates", json.dumps(rates).encode(), "which"))
    ask(hub.Grant((rates,)))
    for seq in (call("sell", 2), call("dice"), call("convert", 5)):
        ask(hub.Pin(seq, "", "it matters"), shapes.Pinned)
    ask(hub.Develop(times(4), "four"), shapes.Held)  # 4
    call("sell", 1)
    ask(hub.Bless(4, "inflation"))
    ask(hub.Develop(times(5), "five"), shapes.Held)  # 5
    ask(hub.RejectHeld(5, "too dear"))
    ask(hub.Develop("function price(n) { return n * tax() * 2 }\nfunction tax() { return 2 }", "the same"))
    ask(hub.Develop("function price(n) { return n * tax() }", "half"), shapes.Held)  # 6
    ask(hub.Develop("function tax() { return 5 }", "tax"), shapes.Held)  # 7
    ask(hub.Bless(7, ""))
    ask(hub.Bless(6, ""), shapes.Held)  # 8 replaces 6
    ask(hub.Bless(8, "so be it"))
    ask(hub.Rollback(1, "as it was"), shapes.Held)  # 9
    ask(hub.Bless(9, "as it was"))
    ask(hub.Develop(times(4), "four"), shapes.Held)  # 10
    ask(hub.Develop(times(4), "four again"), shapes.Held)  # 11
    ask(hub.Bless(10, ""))
    ask(hub.Bless(11, ""))
    ask(hub.Unpin(1, "nobody sells"))
    ask(hub.Pin(4, "another", "too late"), shapes.RefusedPin)
    ask(hub.Develop(times(6), "six", gate=True), shapes.Held)  # 12
    ask(hub.Bless(12, ""))
    ask(hub.Develop("throw new Error('zip')", "no good"))
    host.settle()
    return host, shop


def test_all_of_it_replays_and_is_compared(lived: tuple[SimulatedHost, str]) -> None:
    host, shop = lived
    states = {row.n: row.state for row in host.goldens(shop, limit=100, before=None).held}
    assert states == {
        4: "blessed",
        5: "rejected",
        6: "replaced",
        7: "blessed",
        8: "blessed",
        9: "blessed",
        10: "blessed",
        11: "unchanged",
        12: "blessed",
    }
    replayed = replay(host.parts.log, host.parts.blobs, shop, machine())
    assert replayed.is_equal, replayed
    kinds = {"golden-pinned", "golden-unpinned", "held", "held-rejected", "revision", "unchanged"}
    assert kinds <= set(replayed.compared)
    gated = "a change held for recorded calls, of which some may be erased since"
    assert (replayed.compared["held"], replayed.taken_over) == (
        8,
        {gated: 1, "a call that was not pinned": 1},
    )


def test_it_replays_from_any_record_on(lived: tuple[SimulatedHost, str]) -> None:
    host, shop = lived
    for start in range(1, host.world(shop).records, 5):
        replayed = replay(host.parts.log, host.parts.blobs, shop, machine(), from_seq=start)
        assert replayed.is_equal, (start, replayed)


def test_a_pinned_call_whose_own_body_expired_is_taken_over_and_goes_on_holding() -> None:
    host = simulated("expired")
    shop = host.create("shop").id
    host.perform(shop, hub.Develop(SHOP, "the beginning"))
    host.perform(shop, hub.Call("dice", b"[]"))
    host.settle()
    assert isinstance(host.perform(shop, hub.Pin(2, "", "")), shapes.Pinned)
    assert isinstance(host.perform(shop, hub.Develop("function dice() { return 6 }", "")), shapes.Held)
    host.shell.run_for(limits.READ_BODIES_KEPT_FLICKS + limits.FLICKS_PER_SECOND)
    host.perform(shop, hub.EditData("k", b"1", "time has passed"))
    assert host.collect().ok
    replayed = replay(host.parts.log, host.parts.blobs, shop, machine())
    assert replayed.is_equal and replayed.compared["held"] == 1, replayed
    assert (replayed.erased, replayed.taken_over) == (1, {"a pinned call whose own body is erased": 1})


def test_a_recording_without_what_people_asked_replays_what_is_left(lived: tuple[SimulatedHost, str]) -> None:
    host, shop = lived
    written = b"".join(write_recording(host.parts.log, host.parts.blobs, shop, redact=True))
    recording = read_recording(BytesIO(written))
    replayed = replay(recording.log, recording.blobs, shop, machine())
    assert replayed.is_equal, replayed
