"""Pinned results hold the changes that would alter them, through the whole host, and outlive restarts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine import limits
from engine.host import SimulatedHost, answers, simulated
from engine.host import golden_answers as shapes
from engine.host.machine import machine
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk
from engine.record.projection import Projection

SHOP = """
function price(n) { return n * 3 }
function sell(n) {
  const sum = (data.get("sum") ?? 0) + price(n);
  console.log("sold", n);
  data.set("sum", sum);
  return sum;
}
function look() { return data.get("sum") ?? 0 }
function dice() { return [Math.random(), Date.now()] }
function refuse(n) { throw new Error("no " + n) }
"""
DEARER = "function price(n) { return n * 4 }"
SAME_IN_OTHER_WORDS = "function price(n) { return n + n + n }"


@pytest.fixture
def disk() -> SimDisk:
    return SimDisk(seed="goldens")


@pytest.fixture
def host(disk: SimDisk) -> SimulatedHost:
    host = simulated("goldens", disk=disk)
    world = host.create("shop").id
    host.perform(world, hub.Develop(SHOP, "the beginning"))
    return host


def world_of(host: SimulatedHost) -> str:
    return host.worlds(archived=True)[0].id


def ask(host: SimulatedHost, operation: hub.Operation, request_id: str | None = None) -> Any:
    return host.perform(world_of(host), operation, request_id=request_id)


def call(host: SimulatedHost, function: str, *args: Any) -> int:
    """Make a call; the record of it."""
    ask(host, hub.Call(function, json.dumps(args).encode()))
    host.settle()
    return host.world(world_of(host)).records - 1


def pin(host: SimulatedHost, function: str, *args: Any) -> shapes.Pinned:
    pinned = ask(host, hub.Pin(call(host, function, *args), f"{function} is right", "it matters"))
    assert isinstance(pinned, shapes.Pinned), pinned
    return pinned


def states(host: SimulatedHost) -> dict[int, str]:
    page = host.goldens(world_of(host), limit=100, before=None)
    return {row.n: row.state for row in (*page.goldens, *page.held)}


def reopened(host: SimulatedHost, disk: SimDisk) -> SimulatedHost:
    host.kill()
    return simulated("goldens again", disk=disk)


# ---- pinning -----------------------------------------------------------------------------------------------


def test_a_pinned_result_is_numbered_named_and_shown(host: SimulatedHost) -> None:
    pinned = pin(host, "sell", 2)
    assert (pinned.golden, pinned.id) == (1, f"{world_of(host)}.1")
    row = host.golden(world_of(host), 1)
    assert isinstance(row, shapes.GoldenRow)
    assert (row.name, row.state, row.reason, row.call.function) == (
        "sell is right",
        "pinned",
        "it matters",
        "sell",
    )
    assert bytes(row.outcome.value) == b"6"
    assert [(write.key, bytes(write.value)) for write in row.outcome.writes] == [("sum", b"6")]


def test_a_change_that_leaves_pinned_results_alone_is_accepted(host: SimulatedHost) -> None:
    pin(host, "sell", 2)
    assert isinstance(ask(host, hub.Develop(SAME_IN_OTHER_WORDS, "slower")), answers.Accepted)
    assert states(host) == {1: "pinned"}


def test_a_change_of_a_pinned_result_is_held_with_both_results_and_makes_no_revision(
    host: SimulatedHost,
) -> None:
    call(host, "sell", 1)
    pin(host, "sell", 2)
    held = ask(host, hub.Develop(DEARER, "dearer"))
    assert isinstance(held, shapes.Held)
    assert (held.held, held.base, held.changes.changed) == (2, 1, ["price"])
    (difference,) = held.goldens
    assert (difference.golden, difference.name) == (f"{world_of(host)}.1", "sell is right")
    assert (bytes(difference.before.value), bytes(difference.after.value)) == (b"9", b"11")
    assert bytes(difference.after.writes[0].value) == b"11"
    assert difference.before.logs is None, "what it printed is the same, so it is not shown"
    assert host.world(world_of(host)).revision == 1
    assert bytes(ask(host, hub.Call("look", b"[]")).value) == b"9"


def test_time_and_randomness_are_those_of_the_call(host: SimulatedHost) -> None:
    pin(host, "dice")
    host.shell.run_for(3600 * limits.FLICKS_PER_SECOND)
    assert isinstance(ask(host, hub.Develop(DEARER, "no matter to dice")), answers.Accepted)
    held = ask(host, hub.Develop("function dice() { return Math.random() }", "only luck"))
    (difference,) = held.goldens
    assert json.loads(bytes(difference.before.value))[0] == json.loads(bytes(difference.after.value))


def test_a_failure_is_pinned_like_any_result_and_its_stack_is_no_part_of_it(host: SimulatedHost) -> None:
    pin(host, "refuse", 7)
    moved = "function refuse(n) {\n\n  throw new Error('no ' + n)\n}"
    assert isinstance(ask(host, hub.Develop(moved, "further down")), answers.Accepted)
    held = ask(host, hub.Develop("function refuse(n) { throw new TypeError('no ' + n) }", "typed"))
    (difference,) = held.goldens
    assert difference.before.error.startswith("Error: no 7") and difference.after.failure == "threw"


def test_what_it_printed_and_the_fuel_it_took_are_shown_and_make_no_difference(host: SimulatedHost) -> None:
    pin(host, "sell", 2)
    louder = SHOP.split("function look")[0].replace('"sold"', '"SOLD"')
    assert isinstance(ask(host, hub.Develop(louder, "louder")), answers.Accepted)
    held = ask(host, hub.Develop(DEARER, "dearer"))
    assert held.goldens[0].before.logs == ["sold 2"] and held.goldens[0].after.logs == ["SOLD 2"]
    assert held.goldens[0].before.fuel != held.goldens[0].after.fuel


def test_a_definition_that_is_removed_changes_what_was_pinned_of_it(host: SimulatedHost) -> None:
    pin(host, "look")
    held = ask(host, hub.Develop("undefine('look')", "nobody looks"))
    assert (held.goldens[0].after.failure, held.goldens[0].after.error) == ("missing", "look is not defined")


def test_the_same_call_is_pinned_once(host: SimulatedHost) -> None:
    seq = call(host, "look")
    first, again = ask(host, hub.Pin(seq, "a", "")), ask(host, hub.Pin(seq, "a", ""))
    assert first == again and states(host) == {1: "pinned"}


def test_a_call_that_is_pinned_is_not_pinned_by_another_name_or_for_another_reason(
    host: SimulatedHost,
) -> None:
    seq = call(host, "look")
    pinned = ask(host, hub.Pin(seq, "", "it matters"), "first")
    for other in (hub.Pin(seq, "b", "it matters"), hub.Pin(seq, "", "again"), hub.Pin(seq, "look", "")):
        refused = ask(host, other)
        assert refused.refused == "pinned" and refused.error == (
            f"call: record {seq} is pinned already as {world_of(host)}.1, by the name 'look', "
            "for the reason 'it matters'; it stays as it is"
        )
    assert ask(host, hub.Pin(seq, "", "it matters"), "first") == pinned
    ask(host, hub.Unpin(1, "to name it"))
    assert ask(host, hub.Pin(seq, "b", "again")).name == "b"


def test_what_does_not_hold_at_the_head_is_not_pinned_and_that_is_kept_as_a_rejection(
    host: SimulatedHost,
) -> None:
    seq = call(host, "sell", 2)
    ask(host, hub.Develop(DEARER, "dearer"))
    refused = ask(host, hub.Pin(seq, "", ""), "pin")
    assert isinstance(refused, shapes.RefusedPin) and (refused.kind, states(host)) == ("differs", {})
    assert refused.reason == f"record {seq}: it comes to something else at the head; call it again, pin that"
    row = host.rejection(world_of(host), refused.rejection)
    assert (row.kind, row.summary) == ("differs", f"pin {seq}")
    ask(host, hub.Rollback(1, "back"))
    assert ask(host, hub.Pin(seq, "", ""), "pin") == refused, "under its request id it is answered as it was"
    assert isinstance(ask(host, hub.Pin(seq, "", "")), shapes.Pinned)


def test_what_is_no_call_is_not_pinned(host: SimulatedHost) -> None:
    ask(host, hub.Execute("look()"))
    host.settle()
    preview = host.world(world_of(host)).records - 1
    ask(host, hub.Call("nothing", b"[]"), "an id")
    missing = host.world(world_of(host)).records - 1
    for seq, words in (
        (preview, "is no call but a record of kind preview"),
        (0, "is no call but a record of kind genesis"),
        (missing, "is a call of what was not defined"),
        (999, "is not there"),
    ):
        for request_id in (None, f"pin {seq}"):
            refused = ask(host, hub.Pin(seq, "", ""), request_id)
            assert refused.refused == "not-a-call" and words in refused.error
    assert states(host) == {} and host.rejections(world_of(host), limit=9, before=None).rejections == []


def test_a_call_of_another_world_is_no_call_of_this_one(host: SimulatedHost) -> None:
    other = host.create("other").id
    host.perform(other, hub.Develop("function f() { return 1 }", "f"))
    for _ in range(5):
        host.perform(other, hub.Call("f", b"[]"), request_id=None)
    host.settle()
    assert ask(host, hub.Pin(6, "", "")).refused == "not-a-call"


def test_a_pin_outlives_the_expiry_of_its_call(host: SimulatedHost) -> None:
    seq = call(host, "look")
    ask(host, hub.Pin(seq, "", ""))
    late = call(host, "look")
    host.shell.run_for(limits.READ_BODIES_KEPT_FLICKS + limits.FLICKS_PER_SECOND)
    ask(host, hub.EditData("tick", b"1", "so that time is seen to have passed"))
    assert host.collect().ok
    rows = {row.seq: row for row in host.log(world_of(host), after=-1, limit=100).records}
    assert rows[seq].body is None and rows[late].body is None
    assert ask(host, hub.Pin(late, "", "")).error.endswith("is a call whose body was erased")
    held = ask(host, hub.Develop("function look() { return 'gone' }", "gone"))
    assert bytes(held.goldens[0].before.value) == b"0"


def test_the_data_is_that_of_the_calls_snapshot_whatever_became_of_it(host: SimulatedHost) -> None:
    call(host, "sell", 1)
    pin(host, "look")
    for n in range(4):
        call(host, "sell", n)
        ask(host, hub.Checkpoint())
    pin(host, "look")
    ask(host, hub.EditData("sum", None, "away"))
    assert isinstance(ask(host, hub.Develop(SAME_IN_OTHER_WORDS, "slower")), answers.Accepted)
    held = ask(host, hub.Develop("function look() { return String(data.get('sum')) }", "as text"))
    assert [bytes(difference.after.value) for difference in held.goldens] == [b'"3"', b'"21"']


def test_a_result_too_large_to_be_kept_is_pinned_by_its_hash(host: SimulatedHost) -> None:
    ask(host, hub.Develop("function big(n) { return 'x'.repeat(n) + price(1) }", "big"))
    pinned = pin(host, "big", limits.OUTCOME_BYTES_MAX)
    assert pinned.outcome.large is not None and pinned.outcome.value is None
    assert isinstance(ask(host, hub.Develop(SAME_IN_OTHER_WORDS, "slower")), answers.Accepted)
    held = ask(host, hub.Develop(DEARER, "dearer"))
    assert held.goldens[0].before.large == pinned.outcome.large != held.goldens[0].after.large
    assert ask(host, hub.Bless(2, "")).revision == 4
    assert isinstance(ask(host, hub.Develop("function price(n) { return 4 * n }", "same")), answers.Accepted)


def test_a_call_that_takes_too_much_to_run_again_is_not_pinned(host: SimulatedHost) -> None:
    ask(host, hub.Develop("function long(text) { return text.length }", "long"))
    refused = ask(host, hub.Pin(call(host, "long", "x" * limits.GOLDEN_BYTES_MAX), "", ""))
    assert refused.kind == "size" and str(limits.GOLDEN_BYTES_MAX) in refused.reason
    assert pin(host, "long", "x" * (limits.GOLDEN_BYTES_MAX - 1000)).golden == 1


def test_a_large_result_is_shown_by_how_it_begins_and_its_size(host: SimulatedHost) -> None:
    ask(host, hub.Develop("function big(n) { data.set('k', 7); return 'x'.repeat(n) + price(1) }", "big"))
    pinned = pin(host, "big", limits.OUTCOME_BYTES_MAX)
    assert pinned.outcome.beginning == '"' + "x" * (limits.OUTCOME_BEGINNING_CHARS_MAX - 1)
    assert pinned.outcome.size_bytes == limits.OUTCOME_BYTES_MAX + len('"3"') + len("k7")


# ---- blessing ----------------------------------------------------------------------------------------------


def test_a_blessed_change_becomes_a_revision_that_says_so_and_its_results_are_pinned(
    host: SimulatedHost, disk: SimDisk
) -> None:
    pin(host, "sell", 2)
    ask(host, hub.Develop(DEARER, "dearer"))
    blessed = ask(host, hub.Bless(2, "inflation"))
    assert (blessed.revision, blessed.changes.changed) == (2, ["price"])
    row = host.golden(world_of(host), 1)
    assert bytes(row.outcome.value) == b"8"
    assert (row.blessed.held, row.blessed.revision, row.blessed.reason) == (
        f"{world_of(host)}.2",
        2,
        "inflation",
    )
    held = host.golden(world_of(host), 2)
    assert (held.state, held.ended.by, held.ended.reason) == ("blessed", "revision 2", "inflation")
    host = reopened(host, disk)
    assert isinstance(ask(host, hub.Develop("function price(n) { return 4 * n }", "same")), answers.Accepted)
    assert isinstance(ask(host, hub.Develop(SAME_IN_OTHER_WORDS, "cheap again")), shapes.Held)


def test_the_record_of_a_blessed_revision_holds_what_was_blessed(host: SimulatedHost) -> None:
    pin(host, "sell", 2)
    ask(host, hub.Develop(DEARER, "dearer"))
    ask(host, hub.Bless(2, "inflation"))
    body = json.loads(bytes(host.log(world_of(host), after=-1, limit=100).records[-1].body))
    assert (body["cause"], body["summary"]) == ("develop", "dearer")
    assert body["blessed"] == {"held": 2, "reason": "inflation", "goldens": [1]}


def test_what_the_head_of_now_makes_of_it_must_be_what_was_shown(host: SimulatedHost) -> None:
    pin(host, "sell", 2)
    ask(host, hub.Develop("function price(n) { return n * tax() }\nfunction tax() { return 4 }", "taxed"))
    ask(host, hub.Develop("function look() { return 'another head' }", "elsewhere"))
    assert ask(host, hub.Bless(2, "")).revision == 3, "another head that changes nothing of it"
    ask(host, hub.Develop("function price(n) { return n * tax() * 2 }", "double"))
    ask(host, hub.Develop("function tax() { return 5 }", "dearer"))
    assert states(host) == {1: "pinned", 2: "blessed", 3: "open", 4: "open"}
    assert ask(host, hub.Bless(4, "")).revision == 4
    again = ask(host, hub.Bless(3, ""))
    assert isinstance(again, shapes.Held) and again.replaces == f"{world_of(host)}.3"
    assert [bytes(again.goldens[0].before.value), bytes(again.goldens[0].after.value)] == [b"10", b"20"]
    assert states(host) == {1: "pinned", 2: "blessed", 3: "replaced", 4: "blessed", 5: "open"}
    assert ask(host, hub.Bless(5, "")).revision == 5


def test_a_blessing_whose_change_a_check_refuses_now_is_rejected_and_stays_held(host: SimulatedHost) -> None:
    pin(host, "sell", 2)
    ask(host, hub.Develop(DEARER, "dearer"))
    ask(host, hub.Enrol("cheap", "price(1) < 4", "function price() { return 9 }"))
    rejected = ask(host, hub.Bless(2, ""))
    assert isinstance(rejected, answers.Rejected) and rejected.check == "cheap"
    assert states(host) == {1: "pinned", 2: "open"}
    assert host.rejection(world_of(host), rejected.rejection).summary == "dearer"


def test_a_change_that_came_meanwhile_by_itself_is_unchanged_and_closed(host: SimulatedHost) -> None:
    pin(host, "sell", 2)
    ask(host, hub.Develop(DEARER, "dearer"))
    ask(host, hub.Develop(DEARER, "dearer too"))
    ask(host, hub.Bless(2, ""))
    assert isinstance(ask(host, hub.Bless(3, "")), answers.Unchanged)
    assert states(host) == {1: "pinned", 2: "blessed", 3: "unchanged"}


def test_a_held_change_is_rejected_with_a_reason_that_is_kept(host: SimulatedHost, disk: SimDisk) -> None:
    pin(host, "sell", 2)
    ask(host, hub.Develop(DEARER, "dearer"))
    assert ask(host, hub.RejectHeld(2, "")).refused == "bad-reason"
    assert isinstance(ask(host, hub.RejectHeld(2, "too dear")), answers.Done)
    host = reopened(host, disk)
    row = host.golden(world_of(host), 2)
    assert (row.state, row.ended.reason, row.source) == ("rejected", "too dear", DEARER)
    assert ask(host, hub.Bless(2, "")).refused == "closed"


def test_what_is_held_survives_the_process_and_its_number_is_not_given_again(
    host: SimulatedHost, disk: SimDisk
) -> None:
    pin(host, "sell", 2)
    ask(host, hub.Develop(DEARER, "dearer"))
    host = reopened(host, disk)
    assert states(host) == {1: "pinned", 2: "open"}
    assert ask(host, hub.Develop("function price(n) { return n * 5 }", "five")).held == 3
    assert ask(host, hub.Bless(3, "")).revision == 2
    host.shut_down()


def test_a_request_id_blesses_once_and_answers_the_same(host: SimulatedHost, disk: SimDisk) -> None:
    pin(host, "sell", 2)
    first = ask(host, hub.Develop(DEARER, "dearer"), "dev")
    assert ask(host, hub.Develop(DEARER, "dearer"), "dev") == first
    blessed = ask(host, hub.Bless(2, "yes"), "bless")
    host = reopened(host, disk)
    assert ask(host, hub.Bless(2, "yes"), "bless") == blessed
    assert ask(host, hub.Bless(2, "no"), "bless").refused == "request-conflict"
    assert ask(host, hub.Bless(2, "yes")).refused == "closed"


def test_two_blessings_and_a_develop_at_once_come_one_after_the_other(host: SimulatedHost) -> None:
    pin(host, "sell", 2)
    ask(host, hub.Develop(DEARER, "dearer"))
    heard: list[Any] = []
    five = hub.Develop("function price(n) { return n * 5 }", "five")
    for operation in (hub.Bless(2, "a"), hub.Bless(2, "b"), five):
        host.submit(world_of(host), operation, actor="operator", request_id=None, done=heard.append)
    host.settle()
    by_type = {type(answer): answer for answer in heard}
    assert by_type[answers.Accepted].revision == 2 and by_type[answers.Refused].refused == "closed"
    assert bytes(by_type[shapes.Held].goldens[0].before.value) == b"8"


def test_an_unpinned_result_holds_nothing_any_more(host: SimulatedHost) -> None:
    pin(host, "sell", 2)
    ask(host, hub.Unpin(1, "nobody sells"))
    assert isinstance(ask(host, hub.Develop(DEARER, "dearer")), answers.Accepted)
    row = host.golden(world_of(host), 1)
    assert (row.state, row.ended.reason) == ("unpinned", "nobody sells")


def test_of_a_change_that_was_held_for_what_is_unpinned_now_nothing_is_left_to_bless(
    host: SimulatedHost,
) -> None:
    pin(host, "sell", 2)
    ask(host, hub.Develop(DEARER, "dearer"))
    ask(host, hub.Unpin(1, "nobody sells"))
    assert ask(host, hub.Bless(2, "")).revision == 2


def test_a_rollback_is_held_too_unless_it_is_forced(host: SimulatedHost) -> None:
    ask(host, hub.Develop(DEARER, "dearer"))
    pin(host, "sell", 2)
    held = ask(host, hub.Rollback(1, "cheap again"))
    assert isinstance(held, shapes.Held)
    blessed = ask(host, hub.Bless(held.held, "meant"))
    assert blessed.revision == 3
    row = host.revision(world_of(host), 3)
    assert (row.kind, row.summary) == ("rollback", "cheap again")
    assert bytes(host.golden(world_of(host), 1).outcome.value) == b"6"
    forced = ask(host, hub.Rollback(2, "dear again", force=True))
    assert forced.revision == 4
    assert host.golden(world_of(host), 1).differs and states(host)[1] == "pinned"


def test_a_library_file_is_held_and_blessed_as_one(host: SimulatedHost) -> None:
    source = "module.exports = { tax(n) { return n * 2 } }"
    assert isinstance(ask(host, hub.Develop(source, "lib", "rates")), answers.Accepted)
    ask(host, hub.Develop("function taxed(n) { return rates.tax(n) }", "taxed"))
    pin(host, "taxed", 10)
    held = ask(host, hub.Develop(source.replace("2", "3"), "lib", "rates"))
    assert bytes(held.goldens[0].after.value) == b"30"
    assert isinstance(ask(host, hub.Bless(held.held, "")), answers.Accepted)
    assert bytes(ask(host, hub.Call("taxed", b"[10]")).value) == b"30"


def test_an_upgrade_that_would_change_a_pinned_result_is_held_once_and_blessed(disk: SimDisk) -> None:
    host = simulated("old", disk=disk, with_machine=machine("auto", 1))
    host.create("old")
    ask(host, hub.Develop("function knows() { return typeof worlds }", "does it know others"))
    pin(host, "knows")
    host.shut_down()
    for _ in range(2):
        host = simulated("new", disk=disk)
        assert bytes(ask(host, hub.Call("knows", b"[]")).value) == b'"undefined"'
        host.settle()
        assert states(host) == {1: "pinned", 2: "open"}
        host.shut_down()
    host = simulated("blessed", disk=disk)
    assert host.golden(world_of(host), 2).cause == "upgrade"
    assert ask(host, hub.Bless(2, "it may know them")).revision == 2
    assert bytes(ask(host, hub.Call("knows", b"[]")).value) == b'"object"'
    assert host.world(world_of(host)).prelude == 2


def test_a_page_is_pinned_as_any_call_and_judged_as_one(host: SimulatedHost) -> None:
    ask(host, hub.Develop("function app(path) { return '<h1>' + path + price(1) + '</h1>' }", "a page"))
    pin(host, "app", "/", {}, {})
    held = ask(host, hub.Develop("function app() { return 7 }", "no page"))
    assert "app" in held.goldens[0].after.error and held.goldens[0].after.value is None


# ---- the state of a world ----------------------------------------------------------------------------------


def test_held_changes_leave_no_blob_and_change_no_state(host: SimulatedHost) -> None:
    pin(host, "sell", 2)
    assert host.collect().ok
    before = host.parts.blobs.names()
    data = host.data(world_of(host), prefix="", after=None, limit=100).items
    for n in range(4, 9):
        assert isinstance(ask(host, hub.Develop(f"function price(n) {{ return n * {n} }}", "")), shapes.Held)
    assert host.parts.blobs.names() == before
    assert [
        bytes(row.value) for row in host.data(world_of(host), prefix="", after=None, limit=100).items
    ] == [bytes(row.value) for row in data]


def test_a_frozen_world_blesses_nothing_and_a_purged_one_has_nothing(host: SimulatedHost) -> None:
    pin(host, "sell", 2)
    ask(host, hub.Develop(DEARER, "dearer"))
    ask(host, hub.Describe(frozen=True))
    assert ask(host, hub.Bless(2, "")).refused == "frozen"
    ask(host, hub.Describe(frozen=False, archived=True))
    assert ask(host, hub.Bless(2, "")).refused == "archived"
    ask(host, hub.Purge("over"))
    host.settle()
    assert states(host) == {} and host.all_goldens().goldens == []
    assert ask(host, hub.Bless(2, "")).refused == "purged"


def test_what_is_pinned_and_held_in_all_worlds_is_listed_together(host: SimulatedHost) -> None:
    pin(host, "sell", 2)
    ask(host, hub.Develop(DEARER, "dearer"))
    other = host.create("other").id
    host.perform(other, hub.Develop("function one() { return 1 }", "one"))
    host.perform(other, hub.Call("one", b"[]"), request_id="x")
    host.perform(other, hub.Pin(2, "", ""))
    page = host.all_goldens()
    assert [row.id for row in page.goldens] == [f"{world_of(host)}.1", f"{other}.1"]
    assert [row.id for row in page.held] == [f"{world_of(host)}.2"]


def test_a_rebuilt_projection_says_the_same_of_goldens(host: SimulatedHost) -> None:
    pin(host, "sell", 2)
    pin(host, "look")
    ask(host, hub.Develop(DEARER, "dearer"))
    ask(host, hub.Bless(3, "yes"))
    ask(host, hub.Develop("function price(n) { return n * 5 }", "five"))
    ask(host, hub.RejectHeld(4, "no"))
    ask(host, hub.Unpin(2, "no"))
    host.settle()
    with host.parts.ledger.lock:
        mine = host.parts.ledger.read().dump()
    assert Projection(None, host.parts.log).dump() == mine
