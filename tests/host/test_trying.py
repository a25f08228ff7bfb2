"""What a change would change: dry runs, the gate, calls that asked other worlds. Nothing of a dry run is left."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine import limits
from engine.host import SimulatedHost, answers, simulated
from engine.host import golden_answers as shapes
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk

SHOP = """
function price(n) { return n * 3 }
function sell(n) { const sum = (data.get("sum") ?? 0) + price(n); data.set("sum", sum); return sum }
function look() { return data.get("sum") ?? 0 }
function refuse(n) { throw new Error("no " + n) }
"""
RATES = """
function rate(of) { const n = (data.get("asked") ?? 0) + 1; data.set("asked", n); return n * 10 }
function slow(of) { return rate(of) }
function fail(of) { throw new Error("no rate for " + of) }
"""
CALLER = """
async function convert(n, of) { return n * await worlds.call(data.get("rates"), "rate", of) }
async function both(a, b) {
  const rates = data.get("rates");
  const [one, two] = await Promise.all([worlds.call(rates, "rate", a), worlds.call(rates, "rate", b)]);
  return [one, two];
}
async function twice(of) {
  const rates = data.get("rates");
  return [await worlds.call(rates, "rate", of), await worlds.call(rates, "rate", of)];
}
async function failing(of) { return worlds.call(data.get("rates"), "fail", of) }
async function known() { return (await worlds.list()).length }
async function denied() {
  try { return await worlds.call("nobody-000000", "f") } catch (error) { return error.message }
}
function constant() { return 7 }
"""
DEARER = "function price(n) { return n * 4 }"


@pytest.fixture
def host() -> SimulatedHost:
    host = simulated("trying", disk=SimDisk(seed="trying"))
    world = host.create("shop").id
    host.perform(world, hub.Develop(SHOP, "the beginning"))
    return host


@pytest.fixture
def caller(host: SimulatedHost) -> str:
    """A world that asks another."""
    rates, caller = host.create("rates").id, host.create("caller").id
    host.perform(rates, hub.Develop(RATES, "rates"))
    host.perform(caller, hub.Develop(CALLER, "caller"))
    host.perform(caller, hub.EditData("rates", json.dumps(rates).encode(), "which"))
    host.perform(caller, hub.Grant((rates,)))
    return caller


def shop_of(host: SimulatedHost) -> str:
    return host.worlds()[0].id


def call(host: SimulatedHost, world: str, function: str, *args: Any) -> int:
    """Make a call; the record of it."""
    host.perform(world, hub.Call(function, json.dumps(args).encode()))
    host.settle()
    return host.world(world).records - 1


def try_it(host: SimulatedHost, source: str, world: str = "", **more: Any) -> Any:
    return host.try_develop(world or shop_of(host), hub.Develop(source, "", **more))


def after(found: Any) -> list[Any]:
    """What the calls that differ would come to, newest first."""
    return [
        one.after.stopped or one.after.error or json.loads(bytes(one.after.value)) for one in found.differs
    ]


# ---- dry runs ----------------------------------------------------------------------------------------------


def test_a_dry_run_says_which_results_would_be_others_before_and_after(host: SimulatedHost) -> None:
    shop = shop_of(host)
    for n in (1, 2):
        call(host, shop, "sell", n)
    call(host, shop, "look")
    found = try_it(host, DEARER)
    assert isinstance(found, shapes.DryRun)
    assert (found.status, found.base, found.changes.changed) == ("accepted", 1, ["price"])
    assert (found.tried, found.same, found.skipped) == (3, 1, [])
    newest, oldest = found.differs
    assert (newest.call.seq, newest.call.function, bytes(newest.call.args)) == (3, "sell", b"[2]")
    assert (bytes(newest.before.value), bytes(newest.after.value)) == (b"9", b"11")
    assert [(write.key, bytes(write.value)) for write in newest.after.writes] == [("sum", b"11")]
    assert (bytes(oldest.before.value), bytes(oldest.after.value)) == (b"3", b"4")


def test_a_dry_run_leaves_no_record_no_number_no_blob_and_no_state(host: SimulatedHost) -> None:
    shop = shop_of(host)
    call(host, shop, "sell", 1)
    host.collect()
    log, blobs, summary = host.parts.log.head(), host.parts.blobs.names(), host.world(shop)
    for source in (DEARER, "throw new Error('no')", "5", "function other() {}"):
        try_it(host, source)
    host.settle()
    assert (host.parts.log.head(), host.parts.blobs.names(), host.world(shop)) == (log, blobs, summary)
    assert host.perform(shop, hub.Develop("throw 1", "")).rejection == 1
    assert host.perform(shop, hub.Develop(DEARER, "")).revision == 2


def test_a_dry_run_of_what_would_be_rejected_says_why_and_keeps_no_rejection(host: SimulatedHost) -> None:
    found = try_it(host, "throw new Error('zip')")
    assert isinstance(found, shapes.WouldReject) and found.kind == "threw" and "zip" in found.reason
    host.perform(shop_of(host), hub.Enrol("cheap", "price(1) < 4", "function price() { return 9 }"))
    found = try_it(host, DEARER)
    assert (found.kind, found.check) == ("check", "cheap")
    assert host.rejections(shop_of(host), limit=9, before=None).rejections == []


def test_a_dry_run_without_recorded_calls_says_that_nothing_was_tried(host: SimulatedHost) -> None:
    found = try_it(host, DEARER)
    assert (found.status, found.tried, found.same, found.differs) == ("accepted", 0, 0, [])


def test_a_dry_run_of_nothing_new_is_unchanged(host: SimulatedHost) -> None:
    call(host, shop_of(host), "look")
    found = try_it(host, "// nothing")
    assert (found.status, found.tried) == ("unchanged", 0)


def test_a_dry_run_of_what_would_be_held_says_so(host: SimulatedHost) -> None:
    shop = shop_of(host)
    seq = call(host, shop, "sell", 1)
    assert try_it(host, DEARER, gate=True).status == "held"
    host.perform(shop, hub.Pin(seq, "", ""))
    found = try_it(host, DEARER)
    assert found.status == "held" and found.goldens[0].golden == f"{shop}.1"


def test_only_the_last_calls_are_tried_and_previews_are_none(
    host: SimulatedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TRIED_CALLS_MAX", 3)
    shop = shop_of(host)
    for n in range(5):
        call(host, shop, "sell", n)
        host.perform(shop, hub.Execute("sell(1)"))
    found = try_it(host, "function sell(n) { return n + 1000 }")
    assert after(found) == [1004, 1003, 1002]


def test_what_cannot_be_tried_is_told_with_its_reason(host: SimulatedHost) -> None:
    shop = shop_of(host)
    old = call(host, shop, "look")
    host.shell.run_for(limits.READ_BODIES_KEPT_FLICKS + limits.FLICKS_PER_SECOND)
    call(host, shop, "sell", 1)
    assert host.collect().ok
    found = try_it(host, DEARER)
    assert [(row.call, row.reason) for row in found.skipped] == [(old, "its body is erased")]
    assert found.tried == 1


def test_a_trial_ends_when_its_fuel_does(host: SimulatedHost, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = shop_of(host)
    for _ in range(4):
        call(host, shop, "look")
    spins = "function look() { for (let i = 0; i < 20000; i += 1) {} }"
    monkeypatch.setattr(limits, "TRIED_FUEL_MAX", 100_000)
    found = try_it(host, spins)
    assert found.tried >= 1 and len(found.skipped) >= 1
    assert {row.reason for row in found.skipped} == {
        "not tried: the calls before it took all the fuel that there is for this"
    }


def test_a_dry_run_goes_on_in_slices_between_other_work(
    host: SimulatedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TRIED_SLICE_FUEL", 1)
    shop = shop_of(host)
    for n in range(6):
        call(host, shop, "sell", n)
    found: list[Any] = []
    host.dry_run(shop, hub.Develop(DEARER, ""), done=found.append)
    meanwhile = 0
    while not found:
        host.perform(shop, hub.Call("sell", b"[1]"))
        meanwhile += 1
    assert meanwhile > 2 and found[0].tried == 6, "it is tried against what was recorded when it began"


def test_too_many_dry_runs_at_once_are_refused_and_an_ended_one_makes_room(host: SimulatedHost) -> None:
    found: list[Any] = []
    for _ in range(limits.DRY_RUNS_MAX + 1):
        host.dry_run(shop_of(host), hub.Develop(DEARER, ""), done=found.append)
    assert [type(one) for one in found] == [answers.Refused] and found[0].refused == "busy"
    host.settle()
    assert len(found) == limits.DRY_RUNS_MAX + 1 and try_it(host, DEARER).status == "accepted"


def test_a_world_that_takes_no_develop_takes_no_dry_run(host: SimulatedHost) -> None:
    shop = shop_of(host)
    host.perform(shop, hub.Describe(frozen=True))
    assert try_it(host, DEARER).refused == "frozen"
    host.perform(shop, hub.Describe(frozen=False, archived=True))
    assert try_it(host, DEARER, shop).refused == "archived"
    assert isinstance(try_it(host, DEARER, "nobody-000000"), answers.Missing)


# ---- the gate ----------------------------------------------------------------------------------------------


def test_a_gated_change_is_held_where_a_recorded_result_would_be_another(host: SimulatedHost) -> None:
    shop = shop_of(host)
    call(host, shop, "sell", 1)
    held = host.perform(shop, hub.Develop(DEARER, "dearer", gate=True))
    assert isinstance(held, shapes.Held) and held.goldens == []
    assert bytes(held.differs[0].after.value) == b"4"
    call(host, shop, "sell", 1)
    assert host.perform(shop, hub.Bless(held.held, "meant")).revision == 2, "newer calls were not shown"
    assert isinstance(host.perform(shop, hub.Develop("function other() {}", "", gate=True)), answers.Accepted)


def test_a_change_is_not_blamed_for_what_an_earlier_one_did(host: SimulatedHost) -> None:
    shop = shop_of(host)
    call(host, shop, "sell", 1)
    host.perform(shop, hub.Develop(DEARER, "dearer"))
    assert try_it(host, "function other() {}").same == 1
    found = try_it(host, "function price(n) { return n * 5 }")
    assert (bytes(found.differs[0].before.value), bytes(found.differs[0].after.value)) == (b"4", b"5")
    assert try_it(host, "function look() { return 1 }").differs == []


def test_a_gated_change_that_does_something_else_by_now_is_held_anew(host: SimulatedHost) -> None:
    shop = shop_of(host)
    call(host, shop, "sell", 1)
    source = "function price(n) { return n * tax() }"
    host.perform(shop, hub.Develop("function tax() { return 4 }", "tax"))
    held = host.perform(shop, hub.Develop(source, "taxed", gate=True))
    host.perform(shop, hub.Develop("function tax() { return 5 }", "tax"))
    again = host.perform(shop, hub.Bless(held.held, ""))
    assert isinstance(again, shapes.Held) and bytes(again.differs[0].after.value) == b"5"
    assert host.perform(shop, hub.Bless(again.held, "")).revision == 4


# ---- other worlds ------------------------------------------------------------------------------------------


def test_a_call_that_asked_other_worlds_hears_what_it_heard_and_nobody_is_asked(
    host: SimulatedHost, caller: str
) -> None:
    call(host, caller, "convert", 2, "eur")
    call(host, caller, "both", "a", "b")
    call(host, caller, "twice", "eur")
    rates = host.worlds()[1]
    found = try_it(host, "function constant() { return 8 }", caller)
    assert (found.tried, found.same, found.skipped) == (3, 3, [])
    found = try_it(
        host,
        "async function convert(n, of) { return 1 + n * await worlds.call(data.get('rates'), 'rate', of) }",
        caller,
    )
    assert after(found) == [21]
    host.settle()
    assert host.world(rates.id) == rates


def test_asks_in_another_order_are_given_their_own_answers(host: SimulatedHost, caller: str) -> None:
    call(host, caller, "both", "a", "b")
    swapped = """async function both(a, b) {
      const rates = data.get("rates");
      const [two, one] = await Promise.all([worlds.call(rates, "rate", b), worlds.call(rates, "rate", a)]);
      return [one, two];
    }"""
    found = try_it(host, swapped, caller)
    assert (found.tried, found.same) == (1, 1)


def test_an_ask_that_was_not_recorded_ends_the_call_and_is_told(host: SimulatedHost, caller: str) -> None:
    rates = host.worlds()[1].id
    call(host, caller, "convert", 2, "eur")
    found = try_it(
        host, "async function convert(n) { return worlds.call(data.get('rates'), 'rate', 'usd') }", caller
    )
    assert after(found) == [f'it would ask {rates}.rate(["usd"]), which was not asked then']
    found = try_it(host, "async function convert(n) { return (await worlds.list()).length }", caller)
    assert after(found) == ["it would ask which worlds it may call, which it did not ask then"]
    found = try_it(
        host,
        "async function convert(n, of) { const r = data.get('rates'); "
        "return [await worlds.call(r, 'rate', of), await worlds.call(r, 'rate', of)] }",
        caller,
    )
    assert after(found) == [f'it would ask {rates}.rate(["eur"]), which was not asked then']


def test_what_a_call_was_told_of_other_worlds_is_told_again(host: SimulatedHost, caller: str) -> None:
    call(host, caller, "known")
    call(host, caller, "denied")
    call(host, caller, "failing", "eur")
    host.perform(caller, hub.Grant(()))
    found = try_it(host, "function constant() { return 8 }", caller)
    assert (found.tried, found.same) == (3, 3)


def test_a_pinned_call_keeps_what_it_asked_and_heard(host: SimulatedHost, caller: str) -> None:
    seq = call(host, caller, "twice", "eur")
    pinned = host.perform(caller, hub.Pin(seq, "", ""))
    assert isinstance(pinned, shapes.Pinned), pinned
    host.perform(caller, hub.Grant(()))
    assert isinstance(
        host.perform(caller, hub.Develop("function constant() { return 8 }", "")), answers.Accepted
    )
    once = "async function twice(of) { return [await worlds.call(data.get('rates'), 'rate', of)] }"
    held = host.perform(caller, hub.Develop(once, "once"))
    assert bytes(held.goldens[0].before.value) == b"[10,20]"
    assert bytes(held.goldens[0].after.value) == b"[10]"
    other = "async function twice(of) { return worlds.call(data.get('rates'), 'rate', 'usd') }"
    held = host.perform(caller, hub.Develop(other, "other"))
    assert "it would ask" in held.goldens[0].after.stopped
    assert host.perform(caller, hub.Bless(held.held, "so be it")).revision == 3
    assert isinstance(
        host.perform(caller, hub.Develop("function constant() { return 9 }", "")), answers.Accepted
    )
