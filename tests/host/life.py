"""One scripted life of a server: everything that writes, once or twice. Tests live it, crash it and compare it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.host import SimulatedHost
from engine.hub import messages as hub

Acknowledge = Callable[[str, Any], None]

SHOUT = """
/** In capitals. */
function up(text) { return String(text).toUpperCase() }
function bump(key) { const n = (data.get(key) ?? 0) + 1; data.set(key, n); return n }
function read(key) { return data.get(key) ?? null }
function fail(text) { data.set("never", 1); throw new Error(text) }
function noise() { return [Math.random(), Date.now()] }
"""


def live_once(host: SimulatedHost, acknowledge: Acknowledge = lambda what, answer: None) -> list[str]:
    """Live the life; `acknowledge` hears every answer, with what was asked. The ids of the two worlds."""
    one = _named(host.create("one", request_id="make-one"), "create one", acknowledge)
    two = _named(host.create("two"), "create two", acknowledge)

    def ask(world: str, what: str, operation: hub.Operation, request_id: str | None = None) -> Any:
        answer = host.perform(world, operation, request_id=request_id)
        acknowledge(what, answer)
        return answer

    for world in (one, two):
        ask(world, f"develop {world}", hub.Develop(SHOUT, "the beginning"), f"dev-{world}")
    ask(one, "rejected", hub.Develop("throw new Error('zip')", "no good"))
    ask(one, "touched", hub.Develop("data.set('k', 1)", "no good either"))
    ask(one, "unchanged", hub.Develop("5", "nothing"))
    for n in range(3):
        ask(one, f"write {n}", hub.Call("bump", b'["n"]'))
        ask(two, f"read {n}", hub.Call("up", b'["abc"]'))
        ask(two, f"noise {n}", hub.Call("noise", b"[]"))
    ask(one, "again", hub.Call("bump", b'["r"]'), "once")
    ask(one, "again", hub.Call("bump", b'["r"]'), "once")
    ask(one, "failed", hub.Call("fail", b'["on purpose"]'))
    ask(two, "preview", hub.Execute("bump('p') + 1"))
    ask(one, "state", hub.Develop("const s = state('s', () => ({n: 1})); s.n += 1;", "a state"))
    ask(one, "redefined", hub.Develop("function up(text) { return text + '!' }", "louder"))
    ask(one, "rolled back", hub.Rollback(1, "too loud"))
    ask(two, "edited", hub.EditData("by hand", b'{"a":1}', "put right"))
    ask(two, "described", hub.Describe(name="zwei"))
    ask(two, "checkpoint", hub.Checkpoint())
    return [one, two]


def _named(answer: Any, what: str, acknowledge: Acknowledge) -> str:
    acknowledge(what, answer)
    return answer.id
