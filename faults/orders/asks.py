"""What the scenarios of a whole host begin with, and what their clients ask."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

from engine.host import answers, simulated
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk
from engine.limits import READ_BODIES_KEPT_FLICKS, REQUEST_ID_KEPT_FLICKS
from engine.record.records import record_hash
from faults.orders.place import Ask, Base, Place, replayed

SOURCE = """
function add(key) { const n = (data.get(key) ?? 0) + 1; data.set(key, n); return n }
function get(key) { return data.get(key) ?? 0 }
function needs(key) { if (!data.get(key)) throw new Error(key + " is missing"); return add("retried") }
async function askAndAdd(key, world) {
  const before = data.get(key) ?? 0;
  const there = await worlds.call(world, "add", "asked");
  data.set(key, before + 1);
  return [before + 1, there];
}
"""
BY_TEN = "function add(key) { const n = (data.get(key) ?? 0) + 10; data.set(key, n); return n }"


# ---- what they begin with


@functools.cache
def base() -> Base:
    """Two worlds, `one` and `two`; `one` may call `two`, and has one incident."""
    disk = SimDisk(seed="orders")
    host = simulated("orders", disk=disk)
    worlds = {name: host.create(name).id for name in ("one", "two")}
    for id in worlds.values():
        assert isinstance(host.perform(id, hub.Develop(SOURCE, "the beginning")), answers.Accepted)
    host.perform(worlds["one"], hub.Grant((worlds["two"],)))
    assert host.perform(worlds["one"], call_of("needs", "key")).incident == 1
    host.perform(worlds["one"], hub.EditData("key", b"1", "put right"))
    assert isinstance(host.perform(worlds["one"], call_of("get", "a"), request_id="r"), answers.CallOk)
    recording = host.exported(worlds["two"])
    chain = [record_hash(entry.header) for _, entry in host.parts.log.read(worlds["two"])]
    host.shut_down()
    return Base(disk, worlds, {"recording": recording, "chain": chain})


@functools.cache
def without_two() -> Base:
    """World `one` alone; `two` is to come as a recording from elsewhere."""
    elsewhere = base()
    disk = SimDisk(seed="orders, one world")
    host = simulated("orders, one world", disk=disk)
    one = host.create("one").id
    assert isinstance(host.perform(one, hub.Develop(SOURCE, "the beginning")), answers.Accepted)
    host.perform(one, hub.Grant((elsewhere.worlds["two"],)))
    host.shut_down()
    return Base(disk, {"one": one, "two": elsewhere.worlds["two"]}, elsewhere.kept)


def call_of(function: str, *args: Any, asynchronous: bool = False, retries: int | None = None) -> hub.Call:
    return hub.Call(function, json.dumps(args).encode(), asynchronous=asynchronous, retries=retries)


def ask(name: str, operation: hub.Operation, *, world: str = "one", request: str | None = None) -> Ask:
    def do(place: Place, done: Callable[[Any], None]) -> None:
        assert place.host is not None
        place.host.submit(place.worlds[world], operation, actor=name, request_id=request, done=done)

    what = operation.function if isinstance(operation, hub.Call) else type(operation).__name__.lower()
    return Ask(name, what, do)


def adds(names: str, *, asynchronous: bool = False, **how: Any) -> tuple[Ask, ...]:
    return tuple(ask(name, call_of("add", "a", asynchronous=asynchronous), **how) for name in names)


def ask_and_add(name: str) -> Ask:
    def do(place: Place, done: Callable[[Any], None]) -> None:
        assert place.host is not None
        call = call_of("askAndAdd", "a", place.worlds["two"])
        place.host.submit(place.worlds["one"], call, actor=name, request_id=None, done=done)

    return Ask(name, "askAndAdd", do)


def open_another(name: str) -> Ask:
    return Ask(name, "open", lambda place, done: done(place.open_another()))


def a_week_passes(name: str) -> Ask:
    """More than anything is kept that expires."""

    def do(place: Place, done: Callable[[Any], None]) -> None:
        place.clock.jump(READ_BODIES_KEPT_FLICKS + REQUEST_ID_KEPT_FLICKS)
        done(True)

    return Ask(name, "a week passes", do)


def collect(name: str) -> Ask:
    def do(place: Place, done: Callable[[Any], None]) -> None:
        assert place.host is not None
        place.host.gc(done=done)

    return Ask(name, "gc", do)


def replay_incident(name: str) -> Ask:
    def do(place: Place, done: Callable[[Any], None]) -> None:
        assert place.host is not None
        place.host.replay_incident(place.worlds["one"], 1, done=done)

    return Ask(name, "replay the incident", do)


def replay_all(name: str) -> Ask:
    def do(place: Place, done: Callable[[Any], None]) -> None:
        assert place.host is not None
        place.shell.work("upkeep", lambda: replayed(place, place.worlds["one"]), done)

    return Ask(name, "replay the world", do)


def import_two(name: str) -> Ask:
    def do(place: Place, done: Callable[[Any], None]) -> None:
        assert place.host is not None
        recording = place.kept["recording"]
        place.host.import_recording(lambda: BytesIO(recording), actor=name, done=done)

    return Ask(name, "import", do)
