"""Calls that wait for other worlds: parked, resumed anywhere, one budget, one console, one view."""

from __future__ import annotations

import json

import pytest
from language import MOMENT_FLICKS, World, empty_world
from language import pool as language_pool
from peers import Granted, Operation

from engine import limits
from engine.logic import Interrupt, KeyRead, Look, RangeRead, Waiting
from engine.logic.call import milliseconds_of
from engine.logic.vm import Job

ASK = "worlds.call('b', 'convert', 10, 'JPY')"


# ---- waiting and going on


def test_a_call_waits_for_another_world_and_goes_on_with_its_answer(pool):
    world = World()
    world.develop(
        "define('price', async (usd) => ({ usd, JPY: await worlds.call('b', 'convert', usd, 'JPY') }))"
    )
    operation = Operation(world, named=("price", [10]), on=pool)
    assert operation.asks == [(0, "b.convert", [10, "JPY"])]
    operation.answer(0, 1500)
    assert operation.value == {"usd": 10, "JPY": 1500}
    assert operation.outcome.abandoned == ()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_answers_arrive_one_by_one_in_either_order(pool, order):
    operation = Operation(
        empty_world(),
        "Promise.all([worlds.call('b', 'x'), worlds.call('c', 'y', 1)]).then((all) => all.join())",
        on=pool,
    )
    assert operation.asks == [(0, "b.x", []), (1, "c.y", [1])]
    operation.answer(order[0], f"answer {order[0]}")
    assert operation.asks == []
    operation.answer(order[1], f"answer {order[1]}")
    assert operation.value == "answer 0,answer 1"


def test_the_first_answer_wins_a_race_and_the_other_call_is_abandoned(pool):
    source = "Promise.race([worlds.call('b', 'slow'), worlds.call('c', 'quick')])"
    operation = Operation(empty_world(), source, on=pool).answer(1, "quick")
    assert operation.value == "quick"
    assert operation.outcome.abandoned == ("b.slow",)


def test_calls_one_after_another_wait_one_after_another():
    source = "(async () => await worlds.call('c', 'double', await worlds.call('b', 'one')))()"
    operation = Operation(empty_world(), source)
    assert operation.asks == [(0, "b.one", [])]
    operation.answer(0, 21)
    assert operation.asks == [(1, "c.double", [21])]
    assert operation.answer(1, 42).value == 42


def test_a_loop_waits_a_hundred_times():
    source = """(async () => {
      let sum = 0
      for (let i = 0; i < 100; i++) sum += await worlds.call('b', 'square', i)
      return sum
    })()"""
    operation = Operation(empty_world(), source).finish(lambda _what, i: i * i)
    assert operation.value == 328350
    sizes = [part.park.size_bytes for part in operation.parts if isinstance(part, Waiting)]
    assert (len(sizes), max(sizes) < 10_000) == (100, True), sizes


def test_what_waits_may_lie_deep_in_async_functions():
    source = """(async () => {
      const inner = async (n) => (n === 0 ? await worlds.call('b', 'deep') : await inner(n - 1))
      const results = await Promise.all([inner(5), (async () => { await null; return inner(0) })()])
      for await (const extra of (async function* () { yield inner(1) })()) results.push(extra)
      return results
    })()"""
    operation = Operation(empty_world(), source)
    assert operation.asks == [(0, "b.deep", []), (1, "b.deep", [])]
    operation.answer(1, "second").answer(0, "first")
    assert operation.asks == [(2, "b.deep", [])]
    assert operation.answer(2, "third").value == ["first", "second", "third"]


def test_a_call_that_nobody_awaits_does_not_delay_the_answer(pool):
    outcome = Operation(empty_world(), f"({ASK}, {ASK}, 'at once')", on=pool).outcome
    assert (outcome.value, outcome.abandoned) == (b'"at once"', ("b.convert", "b.convert"))


def test_a_call_that_was_answered_while_another_was_awaited_is_not_abandoned():
    operation = Operation(empty_world(), "(worlds.call('b', 'aside'), worlds.call('c', 'main'))")
    operation.answer(0, 1).answer(1, 2)
    assert (operation.value, operation.outcome.abandoned) == (2, ())


def test_a_promise_that_no_answer_settles_is_pending_once_all_have_answered():
    operation = Operation(empty_world(), f"({ASK}, new Promise(() => {{}}))")
    assert operation.answer(0, 1).failure[0] == "pending"


def test_an_answer_that_is_not_waited_for_changes_nothing():
    operation = Operation(empty_world(), ASK)
    first = operation.last
    operation.answer(1, "nobody asked").answer(77, "nor this")
    assert isinstance(first, Waiting)
    assert operation.last == Waiting((), first.park)
    assert operation.answer(0, "this").value == "this"


def test_answers_of_any_json_arrive_as_they_were_made(pool):
    values = [None, 0, -1.5, "a\0\ud800", [[], {}], {"then": 1, "__proto__": 2, "é": True}]
    operation = Operation(
        empty_world(), "worlds.call('b', 'f').then((v) => [v, Object.keys(v[5]).join()])", on=pool
    )
    operation.answer(0, values)
    assert operation.value == [values, "then,__proto__,é"]


def test_arguments_cross_as_json():
    operation = Operation(
        empty_world(),
        "worlds.call('b', 'f', undefined, NaN, -0, 3n, new Map([['k', new Set([1])]]), '\\ud800')",
    )
    assert operation.asks == [(0, "b.f", [None, None, 0, "3", {"k": [1]}, "\ud800"])]


# ---- errors


def test_an_error_that_nobody_catches_fails_the_call_with_its_path_and_who_asked(pool):
    world = World()
    world.develop("define('price', async () => {\n  return await worlds.call('b', 'convert', 'GBP')\n})")
    operation = Operation(world, named=("price", []), on=pool)
    operation.fail(0, "b.convert: Error: Unknown currency: GBP")
    assert operation.failure == ("threw", "Error: b.convert: Error: Unknown currency: GBP")
    assert operation.outcome.failure is not None
    frame = operation.outcome.failure.error.split("\n")[1]
    assert frame.startswith("    at price (pw:")
    assert frame.endswith(":2:23)")


def test_positions_of_a_previews_own_text_survive_the_wait():
    operation = Operation(empty_world(), "worlds.call('b', 'f').then((v) =>\n  v.missing.more)").answer(0, {})
    assert operation.outcome.failure is not None
    assert operation.failure == ("threw", "TypeError: cannot read property 'more' of undefined")
    assert operation.outcome.failure.error.split("\n")[1].endswith(":2:3)")


def test_an_error_may_be_caught_and_the_call_goes_on():
    source = """(async () => {
      try { await worlds.call('b', 'f') } catch (e) {
        return [e instanceof Error, Object.keys(e), e.message, await worlds.call('c', 'g')]
      }
    })()"""
    operation = Operation(empty_world(), source).fail(0, "b.f: Error: no")
    assert operation.answer(1, "went on").value == [True, [], "b.f: Error: no", "went on"]


def test_a_failed_peer_fails_promise_all_and_leaves_the_rest_abandoned():
    operation = Operation(empty_world(), "Promise.all([worlds.call('b', 'f'), worlds.call('c', 'g')])")
    operation.fail(0, "b.f: Error: no")
    assert (operation.failure, operation.outcome.abandoned) == (("threw", "Error: b.f: Error: no"), ("c.g",))


@pytest.mark.parametrize("kind", ["timeout", "denied"])
def test_the_kind_that_comes_with_an_answer_is_that_of_the_failure(kind):
    assert Operation(empty_world(), ASK).fail(0, "b.convert: no answer within 30 s", kind=kind).failure == (
        kind,
        "Error: b.convert: no answer within 30 s",
    )
    caught = Operation(empty_world(), f"{ASK}.catch(() => {{ throw new Error('mine') }})")
    assert caught.fail(0, "b.convert: no answer within 30 s", kind=kind).failure == ("threw", "Error: mine")


@pytest.mark.parametrize(
    ("expression", "kind", "headline"),
    [
        ("worlds.call('d', 'f')", "denied", "Error: a may not call d"),
        ("worlds.call('a', 'f')", "threw", "Error: cycle: a -> a"),
        ("worlds.functions('d')", "denied", "Error: a may not call d"),
        ("worlds.call('b', 'no name')", "threw", 'Error: b.no name: "no name" is no name of a definition'),
        ("worlds.call('b', '\\ud800')", "threw", 'Error: b.\ud800: "\\ud800" is no name of a definition'),
        ("worlds.call()", "threw", "TypeError: worlds.call: the id of a world must be text, not undefined"),
        (
            "worlds.call(5, 'f')",
            "threw",
            "TypeError: worlds.call: the id of a world must be text, not number",
        ),
        (
            "worlds.call('b')",
            "threw",
            "TypeError: worlds.call: the name of a function must be text, not undefined",
        ),
        (
            "worlds.call('d', ['f'])",
            "threw",
            "TypeError: worlds.call: the name of a function must be text, not an array",
        ),
        (
            "worlds.functions(null)",
            "threw",
            "TypeError: worlds.functions: the id of a world must be text, not null",
        ),
        (
            "worlds.call('b', 'f', (() => { const x = []; x[0] = x; return x })())",
            "threw",
            "TypeError: circular reference",
        ),
        (
            "worlds.call('b', 'f', 'x'.repeat(1048573))",
            "size",
            "RangeError: b.f: the arguments are 1048577 bytes; at most 1048576 are allowed",
        ),
    ],
)
def test_a_refused_call_rejects_its_promise_and_throws_nothing(expression, kind, headline):
    assert Operation(empty_world(), expression).failure == (kind, headline)
    assert Operation(empty_world(), f"({expression}.catch(() => {{}}), 'no throw')").value == "no throw"


def test_arguments_of_the_largest_size_are_asked_with():
    assert (
        len(Operation(empty_world(), "worlds.call('b', 'f', 'x'.repeat(1048572))").park.journal.unanswered)
        == 1
    )


def test_a_call_asks_at_most_so_many_times():
    source = f"""(async () => {{
      const asks = Array.from({{ length: {limits.PEER_ASKS_MAX} }}, () => worlds.call('b', 'f'))
      const late = await worlds.call('b', 'f').catch((e) => `${{e.name}}: ${{e.message}}`)
      return [late, await asks[0]]
    }})()"""
    operation = Operation(empty_world(), source)
    assert len(operation.asks) == limits.PEER_ASKS_MAX
    operation.answer(0, "answered")
    assert operation.value == [
        f"RangeError: b.f: one call may ask other worlds {limits.PEER_ASKS_MAX} times at most",
        "answered",
    ]
    assert len(operation.outcome.abandoned) == limits.PEER_ASKS_MAX - 1


def test_what_crosses_between_worlds_in_one_call_is_bounded():
    source = "(async () => { for (let i = 0; i < 9; i++) await worlds.call('b', 'f') })()"
    operation = Operation(empty_world(), source)
    large = "x" * 1_000_000
    for ordinal in range(4):
        operation.answer(ordinal, large)
        assert isinstance(operation.last, Waiting)
    fuel = operation.park.fuel_used
    operation.answer(4, large)
    assert operation.failure == (
        "size",
        "arguments for other worlds and their answers are at most 4194304 bytes in one call",
    )
    assert operation.outcome.fuel == fuel


def test_arguments_count_as_well():
    source = """(async () => {
      const kinds = []
      for (let i = 0; i < 6; i++) worlds.call('b', 'f', 'x'.repeat(1e6)).catch((e) => kinds.push(i + e.name))
      await null
      return kinds
    })()"""
    assert Operation(empty_world(), source).value == ["4RangeError", "5RangeError"]


# ---- what the host itself says of other worlds


def test_list_and_functions_answer_at_once_and_by_promises(pool):
    peers = Granted("b", "c", functions={"b": [("f", "function", "Adds.", ("x", "y"))]})
    source = """(async () => {
      const [list, functions] = [worlds.list(), worlds.functions('b')]
      return [list instanceof Promise, functions instanceof Promise, await list, await functions]
    })()"""
    outcome = Operation(empty_world(), source, peers=peers, on=pool)
    listed = [{"name": "f", "kind": "function", "doc": "Adds.", "params": ["x", "y"]}]
    assert outcome.value == [True, True, ["b", "c"], listed]
    assert outcome.outcome.looks == (
        Look("list", "", b'["b", "c"]'),
        Look("functions", "b", json.dumps(listed).encode()),
    )


def test_what_the_host_said_it_says_throughout_the_operation():
    peers = Granted("b", functions={"b": []})
    source = """(async () => {
      const before = [await worlds.list(), await worlds.functions('b'), await worlds.call('d', 'f').catch(String)]
      await worlds.call('b', 'f')
      return [before, [await worlds.list(), await worlds.functions('b'), await worlds.call('d', 'f').catch(String)]]
    })()"""
    operation = Operation(empty_world(), source, peers=peers)
    peers.worlds += ["d"]
    before, after = operation.answer(0, 0).value
    assert before == after == [["b"], [], "Error: a may not call d"]
    assert peers.asked == ["list", "functions b", "call d", "call b"]
    assert operation.outcome.looks[2] == Look("call", "d", b"a may not call d", "denied")


def test_without_peers_there_are_none():
    assert empty_world().value("worlds.list()") == []
    assert empty_world().failure("worlds.call('shop', 'f', 1)") == (
        "denied",
        'Error: this world may not call "shop": the operator grants it with `pw grants` or PUT .../grants',
    )


# ---- one operation over all its parts


def test_the_fuel_of_an_operation_is_the_sum_of_its_parts_and_its_budget_that_of_all(pool):
    work = "for (let i = 0; i < 2000; i++);"
    source = f"(async () => {{ {work} const v = await {ASK}; {work} return v }})()"
    operation = Operation(empty_world(), source, on=pool).answer(0, 5)
    first, total = operation.parts[0].park.fuel_used, operation.outcome.fuel
    assert 0 < first < total < 2.2 * first
    assert Operation(empty_world(), source, on=pool, fuel=total).answer(0, 5).outcome == operation.outcome
    for fuel in (total - 5000, first + 1, first):
        short = Operation(empty_world(), source, on=pool, fuel=fuel).answer(0, 5)
        assert short.failure == ("budget", f"the budget ended: {fuel} units of fuel were spent")
        assert short.outcome.fuel == fuel
    assert Operation(empty_world(), source, on=pool, fuel=first - 5000).failure[0] == "budget"


def test_console_lines_of_all_parts_are_kept_in_order_within_one_bound():
    source = f"(async () => {{ console.log('before'); await {ASK}; console.log('after') }})()"
    assert Operation(empty_world(), source).answer(0, 0).outcome.logs == ("before", "after")
    many = f"""(async () => {{
      for (let i = 0; i < 150; i++) console.log(i)
      await {ASK}
      for (let i = 150; i < 300; i++) console.log(i)
    }})()"""
    logs = Operation(empty_world(), many).answer(0, 0).outcome.logs
    assert (len(logs), logs[199], logs[200].startswith("(the console is full")) == (201, "199", True)
    wide = f"(async () => {{ console.log('x'.repeat(16380)); await {ASK}; console.log('yyyyyyyy') }})()"
    assert [len(line) for line in Operation(empty_world(), wide).answer(0, 0).outcome.logs[:2]] == [16380, 4]


def test_the_own_writes_and_reads_of_all_parts_are_one_view(pool):
    world = World()
    world.data = {"k": b"1", "p:a": b"1"}
    source = f"""(async () => {{
      data.get("k"); data.set("p:b", 2); data.delete("k")
      await {ASK}
      const seen = [data.get("k") === undefined, data.get("p:b"), data.list("p:").map((row) => row.key), data.get("q")]
      data.set("p:b", 3)
      return seen
    }})()"""
    operation = Operation(world, source, on=pool).answer(0, 0)
    assert operation.value == [True, 2, ["p:a", "p:b"], None]
    assert operation.outcome.writes == (("k", None), ("p:b", b"3"))
    assert operation.outcome.reads == (KeyRead("k"), RangeRead("p:", None, None), KeyRead("q"))


def test_a_watchdog_that_stops_a_later_part_leaves_the_fuel_of_all_parts():
    operation = Operation(empty_world(), f"(async () => {{ await {ASK}; for (;;); }})()")
    watchdog = Interrupt()
    watchdog.fire()
    operation.interrupt = watchdog
    fuel = operation.park.fuel_used
    assert operation.answer(0, 0).failure[0] == "budget"
    assert operation.outcome.fuel == fuel


def test_clock_and_randomness_go_on(pool):
    waiting = (
        f"(async () => {{ const a = Math.random(); await {ASK}; return [a, Math.random(), Date.now()] }})()"
    )
    straight = "(async () => { const a = Math.random(); await 0; return [a, Math.random(), Date.now()] })()"
    operation = Operation(empty_world(), waiting, on=pool, seed=3).answer(0, 0)
    assert operation.value == Operation(empty_world(), straight, on=pool, seed=3).value
    assert operation.value[2] == milliseconds_of(MOMENT_FLICKS)


# ---- attackers


@pytest.mark.parametrize(
    "expression",
    [
        "[typeof host, typeof waiting, typeof table, typeof answerWaiting].join()",
        "(() => { try { Map.prototype.get = () => ({ resolve() {} }) } catch (e) { return e.name } })()",
        "(() => { try { worlds.call = () => 1 } catch (e) { return e.name } })()",
        "(() => { try { Object.defineProperty(worlds, 'x', { value: 1 }) } catch (e) { return e.name } })()",
        "Object.isFrozen(worlds) && Object.isFrozen(worlds.call)",
    ],
)
def test_what_keeps_the_promises_is_out_of_reach(expression):
    assert empty_world().value(expression) in ("undefined,undefined,undefined,undefined", "TypeError", True)


def test_calls_from_within_the_making_of_arguments_get_their_own_ordinals():
    source = """(async () => {
      const seen = []
      const sly = { toJSON() { seen.push(worlds.call("c", "inner")); return "sly" } }
      const first = { toJSON() { seen.push(worlds.call("c", "first")); return "first" } }
      const outer = worlds.call("b", "outer", first, sly)
      return [await outer, ...(await Promise.all(seen))]
    })()"""
    operation = Operation(empty_world(), source)
    assert operation.asks == [(0, "c.first", []), (1, "c.inner", []), (2, "b.outer", ["first", "sly"])]
    operation.answer(0, "first").answer(1, "inner").answer(2, "outer")
    assert operation.value == ["outer", "first", "inner"]


def test_no_text_of_the_guest_passes_for_an_answer_or_a_wait():
    world = World()
    world.develop(
        "define('r', (...a) => a); define('echo', async (x) => { console.log('r0\\n+1'); return x })"
    )
    assert world.result("echo", "~") == "~"
    operation = Operation(
        world, f"(async () => {{ r('0\\n+1'); await echo('r0\\n+1'); return [await {ASK}, '~'] }})()"
    )
    assert operation.answer(0, "real").value == ["real", "~"]
    assert empty_world().failure("(() => { throw '~' })()") == ("threw", "~")
    assert world.result("r", "~") == ["~"]


def test_an_answer_is_data_and_runs_nothing():
    source = """worlds.call("b", "f").then(
      (v) => [typeof v.then, typeof v.toJSON, v.constructor === Object, "polluted" in {}])"""
    answer = {"then": "x", "toJSON": 1, "__proto__": {"polluted": True}}
    assert Operation(empty_world(), source).answer(0, answer).value == ["string", "number", True, False]


def test_an_answer_to_a_heap_that_waits_for_nothing_is_harmless():
    for request in (b"r0\n+1", b"r0\n-no", b"r\n", b"r__proto__\n+1"):
        result = language_pool().run(
            Job(
                image=empty_world().image,
                request=request,
                collect_request=b"=",
                fuel=10**9,
                host=lambda *_: None,
                park=True,
            )
        )
        assert (result.status, result.text, result.image) == ("ok", b"?", None)


def test_a_promise_of_a_subclass_or_a_thenable_waits_like_any_other():
    source = """(async () => {
      class Mine extends Promise { static get [Symbol.species]() { return Promise } }
      const own = new Mine((resolve) => worlds.call("b", "f").then(resolve))
      return [await own.then((v) => v + 1), await { then: (resolve) => worlds.call("c", "g").then(resolve) }]
    })()"""
    operation = Operation(empty_world(), source).answer(0, 1)
    assert operation.answer(1, "g").value == [2, "g"]
