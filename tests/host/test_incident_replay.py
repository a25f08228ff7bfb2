"""An incident opens as a replay: the same run again, step by step, and an edited definition tried against it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from engine import limits, logic
from engine.host import NotThere, SimulatedHost, answers, shell, simulated
from engine.host.incident_answers import IncidentReplayed, StepRow, TriedReplay, TryRejected
from engine.host.incident_replay import Replay
from engine.hub import messages as hub
from engine.io.disk import read_file, write_file_durably
from engine.io.sim_disk import SimDisk
from engine.limits import FLICKS_PER_SECOND
from engine.logic import Interrupt
from engine.record import kinds

PAY = """
async function pay(id, n) {
  console.log("paying", n);
  const before = data.get("sum") ?? 0;
  data.set("sum", before + n);
  data.get("sum");
  data.list("s");
  data.delete("nope");
  const counted = await worlds.call(id, "tick", n);
  if (counted > 3) throw new Error("too much: " + counted + " " + Math.random() + " " + Date.now());
  return counted;
}
"""
MENDED = PAY.replace("if (counted > 3)", "if (counted > 30)")
PEER = """
function tick(n) { data.set("n", (data.get("n") ?? 0) + 1); return n + 1 }
function bad() { throw new Error("peer bad") }
"""


class Town:
    """`shop` may call `bank`; both are worlds of one simulated host."""

    def __init__(self, prefer: Any = "auto", disk: SimDisk | None = None) -> None:
        self.host: SimulatedHost = simulated("town", prefer=prefer, disk=disk)
        self.shop, self.bank = (self.host.create(name).id for name in ("shop", "bank"))
        self.develop(PAY)
        self.host.perform(self.bank, hub.Develop(PEER, "peer"))
        self.host.perform(self.shop, hub.Grant((self.bank,)))

    def develop(self, source: str) -> int:
        answer = self.host.perform(self.shop, hub.Develop(source, "change"))
        assert isinstance(answer, answers.Accepted), answer
        return answer.revision

    def call(self, function: str, *args: Any) -> answers.CallOk:
        answer = self.host.perform(self.shop, hub.Call(function, json.dumps(args).encode()))
        assert isinstance(answer, answers.CallOk), answer
        return answer

    def fail(self, function: str, *args: Any) -> int:
        """Call what fails; the incident's number."""
        answer = self.host.perform(self.shop, hub.Call(function, json.dumps(args).encode()))
        assert isinstance(answer, answers.CallFailed) and answer.incident is not None, answer
        return answer.incident

    def replay(self, n: int, **edit: Any) -> IncidentReplayed:
        replayed = self.host.replay(self.shop, n, **edit)
        assert isinstance(replayed, IncidentReplayed), replayed
        return replayed

    def tried(self, n: int, source: str) -> TriedReplay:
        tried = self.replay(n, source=source).tried
        assert tried is not None
        return tried


@pytest.fixture
def town() -> Town:
    return Town()


def told(steps: list[StepRow]) -> list[tuple[Any, ...]]:
    """Kind, name, value or text of each step."""
    return [
        (step.kind, step.key or step.prefix or step.look or step.function, _plain(step)) for step in steps
    ]


def _plain(step: StepRow) -> Any:
    if step.error is not None:
        return step.error.partition("\n")[0]
    return json.loads(bytes(step.value)) if step.value is not None else step.text


def test_an_incident_runs_again_step_by_step_and_comes_to_the_same(town: Town):
    town.call("pay", town.bank, 1)
    n = town.fail("pay", town.bank, 5)
    replayed = town.replay(n)
    assert (replayed.same, replayed.differs, replayed.cut) == (True, [], False)
    assert replayed.now == replayed.recorded
    error = (replayed.recorded.error or "").partition("\n")[0]
    assert error.startswith("Error: too much: 6 0.")
    assert told(replayed.steps) == [
        ("console", None, "paying 5"),
        ("read", "sum", 1),
        ("write", "sum", 6),
        ("read", "sum", 6),
        ("list", "s", {"rows": [{"key": "sum", "value": 6}]}),
        ("delete", "nope", False),
        ("look", "call", None),
        ("ask", "tick", [5]),
        ("answer", "tick", 6),
        ("end", None, error),
    ]
    assert [step.n for step in replayed.steps] == list(range(1, 11))
    assert [step.n for step in replayed.steps if step.own] == [4]
    assert replayed.steps[-1].failure == "threw"


def test_a_run_that_is_not_as_recorded_says_in_which_parts(town: Town):
    n = town.fail("pay", town.bank, 5)
    body = town.host.parts.ledger.incident(town.shop, n)
    assert isinstance(body, kinds.Call)
    runtime = town.host.runtimes.get(town.shop)
    assert runtime is not None
    for tampered, differs in (
        (msgspec.structs.replace(body, fuel=body.fuel + 1), ["fuel"]),
        (msgspec.structs.replace(body, seed=body.seed + 1), ["error", "fuel"]),
        (msgspec.structs.replace(body, logs=["paying 6"]), ["logs"]),
        (msgspec.structs.replace(body, answers=[]), ["outcome", "failure", "error", "fuel"]),
    ):
        replay = Replay(town.host.parts, runtime, n, tampered, None, None, Interrupt())
        replayed = shell.DeepThread().run(replay.run)
        assert (replayed.same, replayed.differs) == (False, differs)


def test_it_sees_the_data_and_the_definitions_of_then_whatever_happened_since(town: Town):
    town.call("pay", town.bank, 2)
    n = town.fail("pay", town.bank, 9)
    town.call("pay", town.bank, 1)
    town.host.perform(town.shop, hub.EditData("sum", b"1000", "by hand"))
    town.host.perform(town.shop, hub.Checkpoint())
    town.develop("function pay() { return 'another' }")
    town.host.perform(town.shop, hub.Grant(()))
    replayed = town.replay(n)
    assert replayed.same
    assert told(replayed.steps)[1] == ("read", "sum", 2)


def test_it_runs_again_in_another_directory_that_its_world_was_brought_to(town: Town):
    n = town.fail("pay", town.bank, 5)
    elsewhere = simulated("elsewhere")
    elsewhere.imported(town.host.exported(town.shop))
    replayed = elsewhere.replay(town.shop, n, source=MENDED)
    assert replayed == town.replay(n, source=MENDED)
    assert replayed.same


def test_nothing_is_recorded_and_no_world_changes_and_nobody_is_asked(town: Town):
    n = town.fail("pay", town.bank, 5)
    town.host.settle()
    before = _everything(town)
    batches = town.host.parts.log.head()
    town.replay(n)
    town.tried(n, MENDED)
    town.host.replay(town.shop, n, source="not a change (")
    town.host.settle()
    assert _everything(town) == before
    assert town.host.parts.log.head() == batches


def _everything(town: Town) -> Any:
    host = town.host
    return [
        (
            host.world(world),
            [(row.kind, row.hash) for row in host.log(world, after=-1, limit=1000).records],
            [(row.key, bytes(row.value)) for row in host.data(world, prefix="", after=None, limit=100).items],
        )
        for world in (town.shop, town.bank)
    ]


def test_an_edited_definition_is_tried_against_what_failed(town: Town):
    n = town.fail("pay", town.bank, 5)
    tried = town.tried(n, MENDED)
    assert (tried.now.outcome, json.loads(bytes(tried.now.value or b""))) == ("value", 6)
    assert tried.now.rolled_back == answers.RolledBack(set=["sum"], deleted=[])
    assert tried.changes.changed == ["pay"]
    assert tried.departs == 10, "only the end is another"
    assert told(tried.steps)[9] == ("end", None, 6)


def test_the_first_step_at_which_an_edit_departs_is_named(town: Town):
    n = town.fail("pay", town.bank, 5)
    edited = MENDED.replace('data.set("sum", before + n)', 'data.set("sum", before - n)')
    tried = town.tried(n, edited)
    assert tried.departs == 3
    assert told(tried.steps)[2] == ("write", "sum", -5)


def test_an_edit_that_asks_anew_stops_there_and_says_what_it_would_ask(town: Town):
    n = town.fail("pay", town.bank, 5)
    edited = MENDED.replace("return counted", 'return await worlds.call(id, "tick", counted + 1)')
    tried = town.tried(n, edited)
    assert tried.now.outcome == "asks"
    assert [(ask.world, ask.function, bytes(ask.args)) for ask in tried.now.asks] == [
        (town.bank, "tick", b"[7]")
    ]
    (row,) = town.host.data(town.bank, prefix="", after=None, limit=9).items
    assert (row.key, bytes(row.value)) == ("n", b"1")


def test_an_answer_is_only_given_to_the_question_that_it_answered(town: Town):
    n = town.fail("pay", town.bank, 5)
    tried = town.tried(n, MENDED.replace('"tick", n)', '"tick", n + 1)'))
    assert (tried.now.outcome, bytes(tried.now.asks[0].args)) == ("asks", b"[6]")


def test_the_same_question_asked_later_hears_the_answer_of_then(town: Town):
    n = town.fail("pay", town.bank, 5)
    edited = MENDED.replace(
        "const counted =", 'const other = worlds.call(id, "bad"); other.catch(() => 0);\n  const counted ='
    )
    tried = town.tried(n, edited)
    assert (tried.now.outcome, json.loads(bytes(tried.now.value or b""))) == ("value", 6)
    assert tried.now.abandoned == [f"{town.bank}.bad"]


def test_an_edit_that_would_be_rejected_is_told_so_and_has_no_number(town: Town):
    n = town.fail("pay", town.bank, 5)
    rejected = town.host.replay(town.shop, n, source="console.log('hm'); throw new Error('zip')")
    assert isinstance(rejected, TryRejected)
    assert (rejected.kind, rejected.reason.partition("\n")[0], rejected.logs) == (
        "threw",
        "Error: zip",
        ["hm"],
    )
    assert town.host.rejections(town.shop, limit=9, before=None).rejections == []


def test_positions_in_what_an_edit_throws_are_those_of_the_edit(town: Town):
    n = town.fail("pay", town.bank, 5)
    tried = town.tried(n, "\n\nfunction pay() {\n  throw new Error('edited') }")
    assert tried.now.error is not None
    assert tried.now.error.splitlines()[1].endswith(":4:13)")


def test_an_edit_that_changes_nothing_fails_as_before(town: Town):
    n = town.fail("pay", town.bank, 5)
    tried = town.tried(n, "// nothing")
    assert tried.departs is None
    assert tried.now.failure == "threw"


def test_a_library_can_be_tried(town: Town):
    town.develop("function twice(n) { return times(n, 2) }")
    n = town.fail("twice", 4)
    replayed = town.replay(n, source="module.exports = (n, m) => n * m", commonjs="times")
    assert replayed.tried is not None and replayed.tried.now.value is not None
    assert bytes(replayed.tried.now.value) == b"8"


def test_a_check_that_an_edit_would_break_is_named(town: Town):
    town.develop("function half(n) { if (n % 2) throw new Error('odd'); return n / 2 }")
    enrolled = town.host.perform(
        town.shop, hub.Enrol("halves", "half(4) === 2", "function half() { return 3 }", None)
    )
    assert isinstance(enrolled, answers.Enrolled), enrolled
    n = town.fail("half", 3)
    assert town.tried(n, "function half(n) { return Math.floor(n / 2) }").broken is None
    broken = town.tried(n, "function half(n) { return Math.ceil(n / 2) + 1 }").broken
    assert broken is not None
    assert (broken.check, broken.kind) == ("halves", "check")


def test_a_call_that_caught_errors_of_other_worlds_hears_them_again(town: Town):
    town.develop(
        """async function careful(id) {
          const heard = await Promise.allSettled([worlds.call(id, "bad"), worlds.call(id, "tick", 1)]);
          throw new Error(heard.map((one) => one.reason?.message ?? one.value).join(" and "));
        }"""
    )
    n = town.fail("careful", town.bank)
    replayed = town.replay(n)
    assert replayed.same
    heard = sorted(
        bytes(step.value or b"").decode() + (step.error or "")
        for step in replayed.steps
        if step.kind == "answer"
    )
    assert heard == ["2", f"{town.bank}.bad: Error: peer bad"]


def test_a_call_that_waited_too_long_times_out_again(town: Town):
    submit = town.host._submit
    town.host._submit = lambda world, *args, **named: (  # type: ignore[method-assign]
        None if world == town.bank else submit(world, *args, **named)
    )
    n = town.fail("pay", town.bank, 1)
    town.host._submit = submit  # type: ignore[method-assign]
    replayed = town.replay(n)
    assert (replayed.same, replayed.recorded.failure) == (True, "timeout")
    assert replayed.steps[-2].error == f"{town.bank}.tick: no answer within 30 s"


def test_what_it_was_not_allowed_to_call_it_is_not_allowed_again(town: Town):
    town.host.perform(town.shop, hub.Grant(()))
    n = town.fail("pay", town.bank, 1)
    town.host.perform(town.shop, hub.Grant((town.bank,)))
    replayed = town.replay(n)
    assert (replayed.same, replayed.now.failure) == (True, "denied")
    look, ask = (step for step in replayed.steps if step.kind in ("look", "ask"))
    assert look.error == ask.error
    assert ask.error is not None and "no grant" in ask.error


def test_what_an_edit_looks_at_anew_is_shown_as_it_is_now(town: Town):
    n = town.fail("pay", town.bank, 5)
    tried = town.tried(n, "async function pay() { return worlds.list() }")
    assert json.loads(bytes(tried.now.value or b"")) == [town.bank]
    assert [step.as_of_now for step in tried.steps if step.kind == "look"] == [True]


def test_a_conflict_runs_again_at_its_last_snapshot(town: Town):
    town.develop(
        """async function slow(id) {
          const before = data.get("hot") ?? 0;
          await worlds.call(id, "tick", 1);
          data.set("hot", before + 1);
          return before;
        }
        function heat(n) { data.set("hot", n); return n }"""
    )
    answer = _slow_against_others(town)
    assert (answer.failure, answer.incident) == ("conflict", 1)
    replayed = town.replay(1)
    assert (replayed.same, replayed.recorded.failure, replayed.now.outcome) == (True, "conflict", "value")
    assert replayed.steps[-1].kind == "end"


def _slow_against_others(town: Town) -> answers.CallFailed:
    """Call `slow` while others go on writing what it read, each time that it runs."""
    heard: list[Any] = []
    heats = iter(range(10_000))
    town.host.submit(
        town.shop,
        hub.Call("slow", json.dumps([town.bank]).encode()),
        actor="client",
        request_id=None,
        done=heard.append,
    )
    while not heard:
        town.host.submit(
            town.shop,
            hub.EditData("hot", b"%d" % next(heats), "hot"),
            actor="x",
            request_id=None,
            done=_nothing,
        )
        town.host.shell.run_for(FLICKS_PER_SECOND // 2000)
    assert isinstance(heard[0], answers.CallFailed), heard
    return heard[0]


def _nothing(_answer: Any) -> None:
    pass


def test_a_page_that_is_no_page_fails_again(town: Town):
    town.develop("function app() { data.set('seen', 1); return 7 }")
    n = town.fail("app", {})
    replayed = town.replay(n)
    assert replayed.same
    assert (replayed.now.error or "").startswith("TypeError: app returned a number")


@pytest.mark.parametrize(
    ("source", "failure"),
    [
        ("function f() { for (;;) data.get('k') }", "budget"),
        ("function f() { const all = []; for (;;) all.push(new Array(100000).fill(7)) }", "memory"),
        ("function f() { return new Promise(() => {}) }", "pending"),
        ("function f() { data.set('k', 'x'.repeat(300000)) }", "size"),
    ],
)
def test_whatever_it_failed_with_it_fails_with_again(
    town: Town, monkeypatch: pytest.MonkeyPatch, source: str, failure: str
):
    if failure == "budget":
        monkeypatch.setattr(limits, "CALL_FUEL_MAX", limits.CALL_FUEL_MAX // 100)
    town.develop(source)
    n = town.fail("f")
    replayed = town.replay(n)
    assert (replayed.same, replayed.now.failure) == (True, failure), replayed.differs


class _Stopping:
    """Nothing under any key; the watchdog fires at the thousandth question."""

    def __init__(self, interrupt: Interrupt) -> None:
        self._interrupt = interrupt
        self._asked = 0

    def get(self, _key: str) -> None:
        self._asked += 1
        if self._asked == 1000:
            self._interrupt.fire()

    def list(self, *_asked: Any) -> list[tuple[str, bytes]]:
        return []


@pytest.mark.parametrize("path", ["c", "python"])
def test_what_the_watchdog_stopped_stops_at_the_same_fuel(path: Any):
    town = Town(path)
    town.develop(
        "function spin() { for (let i = 0; ; i++) { data.get('k'); if (i % 300 === 0) console.log(i) } }"
    )
    parts, runtime = town.host.parts, town.host.runtimes.get(town.shop)
    assert runtime is not None
    interrupt = Interrupt()
    deep = shell.DeepThread()
    stopped = deep.run(
        lambda: logic.call(
            parts.engines.pool,
            parts.images.get(runtime.heaps[2]),
            "spin",
            b"[]",
            flick=0,
            seed=1,
            fuel=limits.CALL_FUEL_MAX,
            data=_Stopping(interrupt),
            source_lookup=runtime.sources,
            interrupt=interrupt,
        )
    )
    assert stopped.failure.error.startswith("the watchdog stopped it")
    body = kinds.Call(
        function="spin",
        args=b"[]",
        revision=2,
        snapshot=0,
        flick=0,
        seed=1,
        value=None,
        failure=kinds.Failure(stopped.failure.kind, stopped.failure.error),
        writes=[],
        logs=list(stopped.logs),
        fuel=stopped.fuel,
        reruns=0,
        incident=1,
    )
    replayed = deep.run(Replay(parts, runtime, 1, body, None, None, Interrupt()).run)
    assert (replayed.same, replayed.now.error) == (True, stopped.failure.error)
    assert len(replayed.steps) > 1000


def test_many_steps_are_cut_and_so_are_large_values(town: Town):
    town.develop(
        """function many() { for (let i = 0; i < 20000; i++) data.get("k" + i); throw new Error("tired") }
        function large() { data.set("big", "x".repeat(100000)); data.get("big"); throw new Error("full") }"""
    )
    many = town.replay(town.fail("many"))
    assert (many.same, many.cut, len(many.steps)) == (True, True, limits.STEPS_MAX)
    large = town.replay(town.fail("large"))
    assert [(step.kind, step.value, step.left_out_bytes) for step in large.steps[:2]] == [
        ("write", None, 100002),
        ("read", None, 100002),
    ]
    assert not large.steps[1].absent


def test_what_is_left_out_is_compared_all_the_same(town: Town):
    town.develop("function large() { data.set('big', 'x'.repeat(100000)); throw new Error('full') }")
    n = town.fail("large")
    tried = town.tried(n, "function large() { data.set('big', 'y'.repeat(100000)); throw new Error('full') }")
    assert tried.departs == 1


def test_steps_are_the_same_by_both_paths():
    shown = []
    for path in ("c", "python"):
        town = Town(path)
        n = town.fail("pay", town.bank, 5)
        shown.append((town.replay(n, source=MENDED), town.shop, town.bank))
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("operation", "outcome"),
    [
        (hub.Call("pay", b'["nowhere", 1]'), "failed"),
        (hub.Call("note", b"[3]"), "value"),
        (hub.Execute("note(4) + data.get('n')"), "value"),
    ],
)
def test_what_was_interrupted_runs_to_an_outcome(operation: hub.Operation, outcome: str):
    town = Town()
    town.develop("function note(n) { data.set('n', n); return n }")
    _interrupt(town, operation)
    replayed = town.replay(1)
    assert (replayed.recorded.outcome, replayed.same, replayed.differs) == ("interrupted", False, ["outcome"])
    assert replayed.now.outcome == outcome
    assert town.host.data(town.shop, prefix="n", after=None, limit=1).items == []


def test_what_was_interrupted_stops_at_what_it_would_ask():
    town = Town()
    _interrupt(town, hub.Call("pay", json.dumps([town.bank, 5]).encode()))
    replayed = town.replay(1)
    assert (replayed.now.outcome, bytes(replayed.now.asks[0].args)) == ("asks", b"[5]")
    assert replayed.steps[-1].kind == "ask"


def test_an_interrupted_develop_is_not_run_again():
    town = Town()
    _interrupt(town, hub.Develop("function g() {}", "never"))
    refused = town.host.replay(town.shop, 1)
    assert isinstance(refused, answers.Refused)
    assert (refused.refused, refused.error) == (
        "no-call",
        "incident 1 interrupted a develop, which is not run again",
    )


def test_what_ended_the_process_twice_is_not_run_again_here():
    town = Town()
    for _ in range(limits.INFLIGHT_DEATHS_MAX):
        _interrupt(town, hub.Call("pay", b'["nowhere", 1]'))
    refused = town.host.replay(town.shop, limits.INFLIGHT_DEATHS_MAX)
    assert isinstance(refused, answers.Refused) and refused.refused == "quarantined"


def _interrupt(town: Town, operation: hub.Operation) -> None:
    """The process ends while the operation runs; another one opens the directory."""
    town.host.settle()
    disk = town.host.parts.disk
    town.host.submit(town.shop, operation, actor="operator", request_id=None, done=_nothing)
    town.host.kill()
    town.host = simulated("again", disk=disk)
    town.host.settle()


def test_what_is_not_there_is_told_so(town: Town):
    with pytest.raises(NotThere, match="no incident 1 in world"):
        town.host.replay(town.shop, 1)
    with pytest.raises(NotThere, match="there is no world nowhere"):
        town.host.replay("nowhere", 1)


def test_a_purged_worlds_incidents_are_refused(town: Town):
    n = town.fail("pay", town.bank, 5)
    town.host.perform(town.shop, hub.Purge("not wanted"))
    town.host.settle()
    refused = town.host.replay(town.shop, n)
    assert isinstance(refused, answers.Refused) and refused.refused == "purged"


def test_a_heap_that_cannot_be_read_is_refused_and_the_server_goes_on():
    disk = SimDisk()
    town = Town(disk=disk)
    n = town.fail("pay", town.bank, 5)
    town.develop("function pay() { return 'mended' }")
    row = town.host.parts.ledger.revision(town.shop, 1)
    assert row is not None and row.body is not None
    town.host.shut_down()
    path = f"blobs/{row.body.heap.blob[:2]}/{row.body.heap.blob}"
    content = read_file(disk, path)
    write_file_durably(disk, path, content[:-1] + bytes([content[-1] ^ 1]))
    town.host = simulated("again", disk=disk)
    refused = town.host.replay(town.shop, n)
    assert isinstance(refused, answers.Refused)
    assert (refused.refused, row.body.heap.blob in refused.error) == ("storage", True)
    assert town.host.health().state == "ready"


def test_a_draining_server_replays_nothing(town: Town):
    n = town.fail("pay", town.bank, 5)
    town.host.door.draining = True
    refused = town.host.replay(town.shop, n)
    assert isinstance(refused, answers.Refused) and refused.refused == "draining"
