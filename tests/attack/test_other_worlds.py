# ruff: noqa: E501  (programs in tables stay on their lines)
"""Without a grant nothing of another world can be called, seen or guessed, and nobody can pass for another."""

from __future__ import annotations

import json
from typing import Any

import pytest
from arena import World, host

from engine.host import answers
from engine.hub import messages as hub

SECRET = "function secret() { data.set('asked', (data.get('asked') ?? 0) + 1); return 'treasure' }"
ASK = """
async function reach(id, name = "secret", ...args) { return await worlds.call(id, name, ...args) }
async function look(id) { return await worlds.functions(id) }
async function all() { return await worlds.list() }
"""


@pytest.fixture
def vault() -> World:
    return World(SECRET, "vault")


@pytest.fixture
def thief() -> World:
    return World(ASK, "thief")


FORGED_IDS = {
    "the id itself": lambda id: id,
    "in capitals": lambda id: id.upper(),
    "with a blank": lambda id: id + " ",
    "with a NUL": lambda id: id + "\0",
    "with a path": lambda id: f"../{id}",
    "with a dot": lambda id: f"./{id}",
    "with a slash at the end": lambda id: id + "/",
    "percent-encoded": lambda id: "%" + f"{ord(id[0]):02x}" + id[1:],
    "with a line feed and another": lambda id: f"x\n{id}",
    "in quotes": lambda id: json.dumps(id),
    "a prefix of it": lambda id: id[:-1],
    "its name": lambda id: "vault",
    "a star": lambda id: "*",
    "nothing": lambda id: "",
    "a prototype's key": lambda id: "__proto__",
    "a lone surrogate": lambda id: id + "\ud800",
}


@pytest.mark.parametrize("forge", FORGED_IDS.values(), ids=FORGED_IDS.keys())
def test_no_form_of_an_id_reaches_a_world_without_a_grant(vault: World, thief: World, forge: Any) -> None:
    forged = forge(vault.id)
    assert thief.fails("reach", forged)[0] == "denied"
    assert thief.fails("look", forged)[0] == "denied"
    assert vault.data() == {}
    assert "treasure" not in json.dumps(list(thief.bodies("call")))


@pytest.mark.parametrize(
    "forge", [lambda id: None, lambda id: [id], lambda id: {"toString": id}, lambda id: 5, lambda id: True]
)
def test_what_is_no_text_is_no_id(vault: World, thief: World, forge: Any) -> None:
    for function in ("reach", "look"):
        kind, error = thief.fails(function, forge(vault.id))
        assert kind == "threw"
        assert error.startswith("TypeError: worlds.") and ": the id of a world must be text, not " in error
    assert vault.data() == {}


def test_an_id_that_would_change_between_two_looks_is_not_looked_at(vault: World) -> None:
    friend = World("function secret() { return 'hello' }", "friend")
    thief = World(
        """async function slip(good, bad) {
          let n = 0;
          const id = { toString() { return n++ ? bad : good } };
          const error = await worlds.call(id, "secret").catch((e) => e.message);
          return [error, n];
        }""",
        "thief",
        grants=(friend,),
    )
    assert thief.call("slip", friend.id, vault.id) == [
        "worlds.call: the id of a world must be text, not object",
        0,
    ]
    assert vault.data() == {}


def test_a_world_that_exists_is_refused_like_one_that_does_not(vault: World, thief: World) -> None:
    _, real = thief.fails("reach", vault.id)
    absent = "nobody-000000"
    _, unreal = thief.fails("reach", absent)
    assert real.replace(vault.id, "ID") == unreal.replace(absent, "ID")
    _, real = thief.fails("look", vault.id)
    _, unreal = thief.fails("look", absent)
    assert real.replace(vault.id, "ID") == unreal.replace(absent, "ID")


def test_a_list_shows_what_is_granted_and_no_more(vault: World, thief: World) -> None:
    friend = World(SECRET, "friend")
    host().perform(thief.id, hub.Grant((friend.id, thief.id)))
    assert thief.call("all") == [friend.id]
    assert [row["name"] for row in thief.call("look", friend.id)] == ["secret"]
    assert sorted(thief.call("look", friend.id)[0]) == ["doc", "kind", "name", "params"]


def test_a_grant_is_not_passed_on_and_ends_when_it_is_taken(vault: World, thief: World) -> None:
    friend = World(ASK, "friend", grants=(vault,))
    host().perform(thief.id, hub.Grant((friend.id,)))
    assert thief.call("reach", friend.id, "reach", vault.id) == "treasure"
    assert thief.fails("reach", vault.id)[0] == "denied"
    host().perform(friend.id, hub.Grant(()))
    assert "no grant" in thief.fails("reach", friend.id, "reach", vault.id)[1]
    assert vault.data() == {"asked": 1}


def test_a_preview_needs_the_same_grants_and_leaves_nothing_there(vault: World, thief: World) -> None:
    assert thief.failure(f"worlds.call('{vault.id}', 'secret')")[0] == "denied"
    host().perform(thief.id, hub.Grant((vault.id,)))
    assert thief.value(f"worlds.call('{vault.id}', 'secret')") == "treasure"
    assert vault.data() == {}


NAMES = [
    "toString",
    "constructor",
    "__proto__",
    "data",
    "define",
    "secret.call",
    "secret\n[]",
    "../secret",
    "",
    "a b",
]


@pytest.mark.parametrize("name", NAMES)
def test_only_definitions_are_called_in_another_world(vault: World, name: str) -> None:
    caller = World(ASK, "caller", grants=(vault,))
    kind, _ = caller.fails("reach", vault.id, name)
    assert kind == "threw"
    assert vault.data() == {}


def test_a_call_path_is_the_hosts_and_no_argument_changes_it(vault: World) -> None:
    loop = World("", "loop")
    host().perform(loop.id, hub.Grant((loop.id, vault.id)))
    loop.accepted(
        ASK
        + """async function around(id) {
               const call = worlds.call;
               return await call.apply({ path: [] }, [id, "around", id, { path: [], admitted: 0 }]);
             }"""
    )
    assert f"cycle: {loop.id} -> {loop.id}" in loop.fails("around", loop.id)[1]
    assert vault.data() == {}


def test_answers_and_ordinals_are_the_hosts(vault: World) -> None:
    caller = World(
        """async function forge(id) {
          const stolen = [];
          const first = worlds.call(id, "secret", { toJSON() { worlds.call(id, "secret").then((v) => stolen.push(v)) } });
          const text = '+"forged"', ask = "r0\\n+" + JSON.stringify("forged");
          data.set(ask, text);
          console.log("~"); console.log(ask);
          const value = await first;
          while (stolen.length === 0) await worlds.call(id, "secret");
          return [value, stolen];
        }""",
        "caller",
        grants=(vault,),
    )
    assert caller.call("forge", vault.id) == ["treasure", ["treasure"]]


@pytest.mark.parametrize("value", ['"~"', '"?"', '"+1"', '"0"', '"!x"', '"-x"', '"~r0"'])
def test_no_result_passes_for_an_outcome(value: str) -> None:
    assert World().value(value) == json.loads(value)


@pytest.mark.parametrize("thrown", ["'~'", "'?'", "'+1'", "'0'", "''", "'!x'"])
def test_nothing_thrown_passes_for_an_outcome(thrown: str) -> None:
    assert World().failure(f"(() => {{ throw {thrown} }})()") == ("threw", thrown.strip("'"))


REFUSALS = {
    "a refusal of a grant": "Error: W may not call x: no grant. The operator allows it with: pw grants W --allow x",
    "memory": "InternalError: out of memory",
    "a budget": "the budget ended: 1 units of fuel were spent",
    "a conflict": "conflict: what this call read was changed by others",
    "a size": 'RangeError: data.set: the value of "k" is 9 bytes',
}


@pytest.mark.parametrize("text", REFUSALS.values(), ids=REFUSALS.keys())
def test_an_error_that_reads_like_a_refusal_is_an_error_that_was_thrown(text: str) -> None:
    kind, first = World().failure(f"(() => {{ throw {json.dumps(text)} }})()")
    assert kind in {"threw", "memory"}
    assert first == text


def test_what_waits_is_asked_once_though_its_caller_runs_again(vault: World) -> None:
    till = World(
        """async function sell(id) {
          const n = data.get("sales") ?? 0;
          await worlds.call(id, "secret");
          data.set("sales", n + 1);
          return n + 1;
        }""",
        "till",
        grants=(vault,),
    )
    heard: list[Any] = []
    for _ in range(12):
        host().submit(
            till.id,
            hub.Call("sell", json.dumps([vault.id]).encode()),
            actor="operator",
            request_id=None,
            done=heard.append,
        )
    host().shell.run_until(lambda: len(heard) == 12)
    assert sorted(json.loads(bytes(answer.value)) for answer in heard) == list(range(1, 13))
    assert vault.data() == {"asked": 12}


def test_a_request_id_is_claimed_once_and_by_one_body() -> None:
    world = World("function add(n) { const t = (data.get('t') ?? 0) + n; data.set('t', t); return t }")
    first, again = world.ask("add", 5, request_id="r"), world.ask("add", 5, request_id="r")
    assert (bytes(first.value), bytes(again.value)) == (b"5", b"5")
    other = world.ask("add", 7, request_id="r")
    assert isinstance(other, answers.Refused) and other.refused == "request-conflict"
    assert world.data() == {"t": 5}


def test_the_request_id_of_a_peer_call_cannot_be_guessed_into_another_answer(vault: World) -> None:
    """A world cannot see or set the ids under which it asks: its own request ids are its clients'."""
    caller = World(ASK, "caller", grants=(vault,))
    assert caller.call("reach", vault.id) == "treasure"
    (call,) = vault.bodies("call")
    assert call["request"]["id"].startswith("peer:")
    assert call["path"] == [caller.id]
    assert caller.call("reach", vault.id) == "treasure"
    assert vault.data() == {"asked": 2}
    assert len({body["request"]["id"] for body in vault.bodies("call")}) == 2
