"""Worlds that call each other through a whole host in simulated time: grants, answers, paths, re-runs, restarts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.host import SimulatedHost, answers, simulated
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk
from engine.limits import FLICKS_PER_SECOND

RATES = """
function convert(usd, to) {
  const rate = data.get(to);
  if (rate === undefined) throw new Error(`Unknown currency: ${to}`);
  return { usd, [to]: usd * rate };
}
function bump() { const n = (data.get("n") ?? 0) + 1; data.set("n", n); return n }
"""
SHOP = """
const rates = () => worlds.list().then(ids => ids[0]);
async function price(usd, to) { return await worlds.call(await rates(), "convert", usd, to) }
async function twice() {
  const id = await rates();
  const first = await worlds.call(id, "bump");
  const second = await worlds.call(id, "bump");
  return [first, second];
}
async function both() {
  const id = await rates();
  return await Promise.all([worlds.call(id, "bump"), worlds.call(id, "convert", 1, "JPY")]);
}
async function careful(to) { try { return await price(1, to) } catch (error) { return String(error) } }
function forget() { worlds.list().then(ids => worlds.call(ids[0], "bump")); return "gone" }
async function count() {
  const id = await rates();
  const sales = data.get("sales") ?? 0;
  await worlds.call(id, "bump");
  data.set("sales", sales + 1);
  return sales + 1;
}
"""


class Town:
    """A host with worlds by name."""

    def __init__(self, seed: str = "town", disk: SimDisk | None = None) -> None:
        self.disk = disk or SimDisk(seed=seed)
        self.host: SimulatedHost = simulated(seed, disk=self.disk)
        self.ids = {world.name: world.id for world in self.host.worlds()}

    def world(self, name: str, source: str = "", grants: tuple[str, ...] = ()) -> str:
        made = self.host.create(name)
        assert isinstance(made, answers.Created)
        self.ids[name] = made.id
        if source:
            accepted = self.host.perform(made.id, hub.Develop(source, "first"))
            assert isinstance(accepted, answers.Accepted), accepted
        if grants:
            self.host.perform(made.id, hub.Grant(tuple(self.ids[grant] for grant in grants)))
        return made.id

    def call(self, name: str, function: str, *args: Any, request_id: str | None = None) -> Any:
        call = hub.Call(function, json.dumps(args).encode())
        return self.host.perform(self.ids[name], call, request_id=request_id)

    def value(self, name: str, function: str, *args: Any) -> Any:
        answer = self.call(name, function, *args)
        assert isinstance(answer, answers.CallOk), answer
        return json.loads(bytes(answer.value))

    def data(self, name: str) -> dict[str, Any]:
        page = self.host.data(self.ids[name], prefix="", after=None, limit=100)
        return {row.key: json.loads(bytes(row.value)) for row in page.items}


@pytest.fixture
def town() -> Town:
    town = Town()
    town.world("rates", RATES)
    town.host.perform(town.ids["rates"], hub.EditData("JPY", b"150", "today's"))
    town.world("shop", SHOP, grants=("rates",))
    return town


def test_a_world_asks_another_and_gets_its_value(town: Town) -> None:
    assert town.value("shop", "price", 10, "JPY") == {"usd": 10, "JPY": 1500}


def test_an_error_of_the_other_world_arrives_with_the_path(town: Town) -> None:
    rates = town.ids["rates"]
    assert town.value("shop", "careful", "GBP") == f"Error: {rates}.convert: Error: Unknown currency: GBP"
    failed = town.call("shop", "price", 1, "GBP")
    assert (failed.failure, failed.error.split("\n")[0]) == (
        "threw",
        f"Error: {rates}.convert: Error: Unknown currency: GBP",
    )


def test_each_answer_resumes_the_caller_and_what_the_other_world_wrote_stands(town: Town) -> None:
    assert town.value("shop", "twice") == [1, 2]
    assert town.value("shop", "both") == [3, {"usd": 1, "JPY": 150}]
    assert town.data("rates")["n"] == 3


def test_a_world_without_a_grant_is_refused_by_name_with_the_command_that_allows_it(town: Town) -> None:
    stranger = town.world("stranger", SHOP.replace("ids => ids[0]", f"() => '{town.ids['rates']}'"))
    failed = town.call("stranger", "price", 1, "JPY")
    assert failed.failure == "denied"
    assert f"pw grants {stranger} --allow {town.ids['rates']}" in failed.error


def test_a_cycle_is_refused_at_once_and_says_its_path() -> None:
    town = Town("cycle")
    a, b = town.world("a"), town.world("b")
    for world, other in ((a, b), (b, a)):
        town.host.perform(
            world, hub.Develop(f"async function go() {{ return await worlds.call('{other}', 'go') }}", "go")
        )
        town.host.perform(world, hub.Grant((other,)))
    failed = town.call("a", "go")
    assert f"cycle: {a} -> {b} -> {a}" in failed.error
    town.host.perform(
        a, hub.Develop(f"async function self() {{ return await worlds.call('{a}', 'self') }}", "self")
    )
    assert f"cycle: {a} -> {a}" in town.call("a", "self").error


def test_a_call_that_nobody_awaits_does_not_delay_the_answer_and_is_listed(town: Town) -> None:
    answer = town.call("shop", "forget")
    assert bytes(answer.value) == b'"gone"'
    assert answer.abandoned == [f"{town.ids['rates']}.bump"]


def test_a_call_that_runs_again_asks_nobody_twice(town: Town) -> None:
    answers_: list[Any] = []
    for _ in range(6):
        town.host.submit(
            town.ids["shop"],
            hub.Call("count", b"[]"),
            actor="operator",
            request_id=None,
            done=answers_.append,
        )
    town.host.shell.run_until(lambda: len(answers_) == 6)
    assert sorted(json.loads(bytes(answer.value)) for answer in answers_) == [1, 2, 3, 4, 5, 6]
    assert town.data("shop")["sales"] == 6
    assert town.data("rates")["n"] == 6


def test_a_preview_reaches_into_other_worlds_as_a_preview_with_one_overlay(town: Town) -> None:
    preview = town.host.perform(town.ids["shop"], hub.Execute("twice()"))
    assert json.loads(bytes(preview.value)) == [1, 2]
    assert "n" not in town.data("rates")


def test_a_silent_world_times_out_and_is_named(town: Town) -> None:
    shop, rates = town.ids["shop"], town.ids["rates"]
    heard: list[Any] = []
    silent = town.host._submit  # the other world's answer never comes

    def without_rates(world: str, *args: Any, **kwargs: Any) -> None:
        if world != rates:
            silent(world, *args, **kwargs)

    town.host._submit = without_rates  # type: ignore[method-assign]
    town.host.submit(
        shop, hub.Call("price", b'[1,"JPY"]'), actor="operator", request_id=None, done=heard.append
    )
    town.host.shell.run_for(31 * FLICKS_PER_SECOND)
    (failed,) = heard
    assert failed.failure == "timeout"
    assert f"{rates}.convert" in failed.error


@pytest.mark.parametrize("phase", ["parked", "running"])
def test_an_admitted_call_goes_on_after_a_restart_where_it_waited_and_is_interrupted_where_it_ran(
    town: Town, phase: str
) -> None:
    shop = town.ids["shop"]
    started = town.host.perform(shop, hub.Call("twice", b"[]", asynchronous=True), request_id="later")
    assert isinstance(started, answers.Started)
    ops = town.host.runtimes.get(shop).hub.ops
    town.host.shell.run_until(lambda: town.data("rates").get("n") == 1)
    town.host.shell.run_until(lambda: [op.phase for op in ops.values()] == [phase])
    town.host.kill()
    again = Town("again", town.disk)
    again.host.settle()
    state = again.host.operation(shop, started.operation)
    assert state.state == "ended"
    ended = json.loads(bytes(state.answer))
    if phase == "parked":
        assert ended.get("value") == [1, 2], ended
        assert again.data("rates") == {"JPY": 150, "n": 2}
    else:
        assert (ended["failure"], again.data("rates")["n"]) == ("interrupted", 1)


def test_a_failed_call_is_retried_at_the_new_head_and_its_incident_ends(town: Town) -> None:
    failed = town.call("shop", "price", 1, "GBP")
    town.host.perform(town.ids["rates"], hub.EditData("GBP", b"0.5", "now known"))
    retried = town.host.perform(town.ids["shop"], hub.Call("price", b'[1,"GBP"]', retries=failed.incident))
    assert isinstance(retried, answers.CallOk)
    row = town.host.incident(town.ids["shop"], failed.incident)
    assert row.state == "retried"
    again = town.host.perform(town.ids["shop"], hub.Call("price", b'[1,"GBP"]', retries=failed.incident))
    assert (again.refused, again.ok) == ("closed", False)


def test_an_incident_is_answered_by_hand_or_dismissed_with_a_reason(town: Town) -> None:
    first, second = town.call("shop", "price", 1, "X"), town.call("shop", "price", 1, "X")
    shop = town.ids["shop"]
    assert town.host.perform(shop, hub.CloseIncident(first.incident, "answered", "", b"7")).ok
    blank = town.host.perform(shop, hub.CloseIncident(second.incident, "dismissed", " "))
    assert blank.refused == "bad-reason"
    assert town.host.perform(shop, hub.CloseIncident(second.incident, "dismissed", "known")).ok
    rows = town.host.incidents(shop, limit=9, before=None).incidents
    assert [(row.state, row.alike) for row in rows] == [("dismissed", 2), ("answered", 2)]
    assert town.host.perform(shop, hub.CloseIncident(99, "dismissed", "none")).refused == "no-incident"


CHARGE = """
async function order(item) {
  const [bank] = await worlds.list();
  const paid = await worlds.call(bank, "bump");
  return await worlds.call(bank, "convert", paid, item);
}
"""


def test_a_retry_hears_again_what_it_heard_and_asks_again_only_what_failed(town: Town) -> None:
    """Nobody is charged twice: the first call of the bank stands, the second one is mended and made again."""
    world = town.world("orders", CHARGE, grants=("rates",))
    failed = town.call("orders", "order", "GBP")
    assert town.data("rates")["n"] == 1
    town.host.perform(town.ids["rates"], hub.EditData("GBP", b"2", "now known"))
    retried = town.host.perform(world, hub.Call("order", b'["GBP"]', retries=failed.incident))
    assert json.loads(bytes(retried.value)) == {"usd": 1, "GBP": 2}
    assert town.data("rates")["n"] == 1


def test_a_retry_is_recorded_when_it_happened_and_its_clock_is_that_of_the_first_try(town: Town) -> None:
    shop = town.world(
        "late", "function when() { if (!data.get('ok')) throw new Error('no'); return Date.now() }"
    )
    failed = town.call("late", "when")
    town.host.perform(shop, hub.EditData("ok", b"true", "mended"))
    town.host.shell.run_for(3600 * FLICKS_PER_SECOND)
    retried = town.host.perform(shop, hub.Call("when", b"[]", retries=failed.incident))
    rows = town.host.log(shop, after=-1, limit=20).records
    first, last = [row.at for row in rows if row.kind == "call"]
    assert json.loads(bytes(retried.value)) < 946_684_800_000 + 60_000
    assert (first < "2000-01-01T00:01:00", last > "2000-01-01T01:00:00") == (True, True)


def test_who_asks_again_under_its_request_id_after_a_power_loss_charges_nobody_twice(town: Town) -> None:
    """The other world's part was durable, the caller's own record and the in-flight file were not."""
    host, shop, rates = town.host, town.ids["shop"], town.ids["rates"]
    host.settle()
    heard: list[Any] = []
    host.submit(shop, hub.Call("count", b"[]"), actor="operator", request_id="pay-1", done=heard.append)
    before = host.parts.log.last(rates)
    while host.parts.log.last(rates) == before:
        assert host.shell.step()
    host.kill()
    assert not heard
    again = Town("again", town.disk.after_power_loss("lost", seed=1))
    assert again.data("rates")["n"] == 1 and again.data("shop") == {}
    answer = again.call("shop", "count", request_id="pay-1")
    assert isinstance(answer, answers.CallOk) and bytes(answer.value) == b"1"
    assert again.data("rates")["n"] == 1, "its part was done before the power went"
    again.call("shop", "count", request_id="pay-2")
    assert again.data("rates")["n"] == 2


MIDDLE = """
async function sell() {
  const [rates] = await worlds.list();
  const n = await worlds.call(rates, "bump");
  if (!data.get("open")) throw new Error("closed");
  return n;
}
"""
FRONT = (
    "async function buy() { const [middle] = await worlds.list(); return await worlds.call(middle, 'sell') }"
)


def test_a_retry_of_a_call_whose_peer_failed_after_asking_another_charges_that_one_once(town: Town) -> None:
    town.world("middle", MIDDLE, grants=("rates",))
    town.world("front", FRONT, grants=("middle",))
    failed = town.call("front", "buy")
    assert isinstance(failed, answers.CallFailed) and failed.incident == 1
    assert town.data("rates")["n"] == 1
    town.host.perform(town.ids["middle"], hub.EditData("open", b"true", "now"))
    for name, function in (("front", "buy"), ("middle", "sell")):
        retry = hub.Call(function, b"[]", retries=1)
        answer = town.host.perform(town.ids[name], retry, request_id=f"retry-{name}")
        assert isinstance(answer, answers.CallOk) and bytes(answer.value) == b"1", answer
    assert town.data("rates")["n"] == 1
