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
TWICE = "function bump(key) { const n = (data.get(key) ?? 0) + 2; data.set(key, n); return n }"
SEGMENT_BYTES = 96 * 1024
"""So small that a life rolls its log over several times."""


def live_once(host: SimulatedHost, acknowledge: Acknowledge = lambda what, answer: None) -> list[str]:
    """Live the life; `acknowledge` hears every answer, with what was asked. The ids of the worlds."""

    def ask(world: str, what: str, operation: hub.Operation, request_id: str | None = None) -> Any:
        answer = host.perform(world, operation, request_id=request_id)
        acknowledge(what, answer)
        return answer

    def create(name: str, request_id: str | None = None) -> str:
        answer = host.create(name, request_id=request_id)
        acknowledge(f"create {name}", answer)
        return answer.id

    one = create("one", "make-one")
    two = create("two")
    for world in (one, two):
        ask(world, "develop", hub.Develop(SHOUT, "the beginning"), f"dev-{world}")
    ask(one, "rejected", hub.Develop("throw new Error('zip')", "no good"))
    ask(one, "touched", hub.Develop("data.set('k', 1)", "no good either"))
    ask(one, "unchanged", hub.Develop("5", "nothing"))
    for _ in range(3):
        ask(one, "write", hub.Call("bump", b'["n"]'))
        ask(two, "read", hub.Call("up", b'["abc"]'))
        ask(two, "noise", hub.Call("noise", b"[]"))
    for _ in range(2):
        ask(one, "once", hub.Call("bump", b'["r"]'), "once")
    ask(one, "failed", hub.Call("fail", b'["on purpose"]'))
    ask(two, "preview", hub.Execute("bump('p') + 1"))
    ask(one, "state", hub.Develop("const s = state('s', () => ({n: 1})); s.n += 1;", "a state"))
    ask(one, "redefined", hub.Develop("function up(text) { return text + '!' }", "louder"))
    ask(one, "rolled back", hub.Rollback(1, "too loud"))
    ask(one, "to be pinned", hub.Call("bump", b'["g"]'), "golden")
    ask(one, "pinned", hub.Pin(host.world(one).records - 1, "counts", "others count on it"))
    ask(one, "held", hub.Develop(TWICE, "by two"))
    ask(one, "blessed", hub.Bless(2, "meant"))
    ask(one, "held again", hub.Develop(TWICE.replace("2", "3"), "by three"))
    ask(one, "not blessed", hub.RejectHeld(3, "two is enough"))
    ask(two, "edited", hub.EditData("by hand", b'{"a":1}', "put right"))
    ask(two, "described", hub.Describe(name="zwei"))
    ask(two, "checkpoint", hub.Checkpoint())
    assert host.collect().ok
    assert host.back_up("backup").ok
    three = create("three")
    ask(three, "develop", hub.Develop(SHOUT, "the beginning"))
    ask(three, "purged", hub.Purge("not wanted"))
    host.settle()
    assert host.collect().ok
    ask(two, "write", hub.Call("bump", b'["last"]'))
    return [one, two, three]


def live_a_little(host: SimulatedHost) -> None:
    """Some work that must succeed on any server, in whatever state a crash left its worlds."""
    for summary in host.worlds():
        if summary.purged:
            continue
        answer = host.perform(
            summary.id, hub.Develop(f"function again(x) {{ return [{summary.revision}, x] }}", "again")
        )
        assert answer.revision == summary.revision + 1
        value = host.perform(summary.id, hub.Call("again", b"[7]")).value
        assert bytes(value) == b"[%d,7]" % summary.revision
    made = host.create("after")
    assert host.perform(made.id, hub.Develop(SHOUT, "the beginning")).revision == 1
    assert bytes(host.perform(made.id, hub.Call("bump", b'["n"]')).value) == b"1"
