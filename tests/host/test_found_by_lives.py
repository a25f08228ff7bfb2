"""Faults that simulated lives found in the whole host, each as the few steps that show it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from engine.host import SimulatedHost, answers, simulated
from engine.host.machine import machine
from engine.host.replaying import replay
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk
from engine.logic import VmPool
from engine.record import kinds
from engine.record.records import decode

PAY = """
function look() { return data.get("n") ?? 0 }
async function askOther(world) { return await worlds.call(world, "look") }
"""


def world_of(host: SimulatedHost, name: str) -> str:
    world = host.create(name).id
    assert isinstance(host.perform(world, hub.Develop(PAY, "pay")), answers.Accepted)
    return world


def bodies(host: SimulatedHost, world: str) -> list[Any]:
    return [decode(entry)[1] for _, entry in host.parts.log.read(world)]


def test_a_server_stops_though_a_late_call_opens_a_world_that_nobody_had_used() -> None:
    disk = SimDisk(seed="late")
    host = simulated("late", disk=disk)
    asker, asked = world_of(host, "asker"), world_of(host, "asked")
    host.perform(asker, hub.Grant((asked,)))
    host.shut_down()
    host = simulated("late again", disk=disk)
    heard: list[Any] = []
    call = hub.Call("askOther", json.dumps([asked]).encode())
    host.submit(asker, call, actor="client", request_id=None, done=heard.append)
    host.shut_down()
    assert isinstance(heard[0], answers.CallOk)
    assert [type(body) for body in bodies(simulated("after", disk=disk), asked)][-1] is kinds.Call


def test_a_call_that_was_not_waited_for_has_one_outcome_though_power_brings_back_its_note() -> None:
    """The in-flight file is not synced: what was wiped may be back, but never under the record that admitted it."""
    disk = SimDisk(seed="note")
    host = simulated("note", disk=disk)
    world = world_of(host, "w")
    later = hub.Call("look", b"[]", asynchronous=True)
    assert isinstance(host.perform(world, later), answers.Started)
    slots = disk.open("inflight/slots")
    before = slots.read_at(0, slots.size())
    host.settle()
    slots.write_at(0, before)
    host.kill()
    again = simulated("note again", disk=disk)
    again.settle()
    found = bodies(again, world)
    assert sum(isinstance(body, kinds.Call) for body in found) == 1
    assert not any(isinstance(body, kinds.Interrupted) for body in found)


def test_an_edit_of_a_world_that_was_archived_before_replays() -> None:
    host = simulated("archived")
    world = world_of(host, "w")
    host.perform(world, hub.Describe(archived=True))
    host.perform(world, hub.Describe(archived=False))
    host.perform(world, hub.EditData("n", b"1", "put right"))
    host.perform(world, hub.Call("look", b"[]"))
    host.settle()
    replayed = replay(host.parts.log, host.parts.blobs, world, machine())
    assert replayed.divergence is None
    assert replayed.compared["data-edit"] == 1


def test_a_host_that_closes_leaves_the_process_its_vms() -> None:
    pool = VmPool(machine().engine)
    own = dataclasses.replace(machine(), pool=pool)
    first = simulated("first", with_machine=own)
    world = world_of(first, "w")
    first.perform(world, hub.Call("look", b"[]"))
    first.shut_down()
    made = pool.made
    second = simulated("second", with_machine=own)
    again = world_of(second, "w")
    for _ in range(5):
        second.perform(again, hub.Call("look", b"[]"))
    assert pool.made <= made + 2, "VMs are used again, also by the next host"


def test_two_who_remove_one_check_at_once_are_both_answered_and_the_server_lives() -> None:
    disk = SimDisk(seed="twice")
    host = simulated("twice", disk=disk)
    world = world_of(host, "w")
    enrolled = host.perform(
        world, hub.Enrol("looks", "look() === 0", "function look() { return 1 }", generator=None)
    )
    assert isinstance(enrolled, answers.Enrolled)
    heard: list[Any] = []
    for who in ("one", "other"):
        host.submit(world, hub.RemoveCheck("looks", who), actor=who, request_id=None, done=heard.append)
    host.settle()
    assert [type(answer) for answer in heard] == [answers.Done, answers.Done]
    assert isinstance(host.perform(world, hub.RemoveCheck("looks", "late")), answers.Missing)
    host.shut_down()
    again = simulated("twice again", disk=disk)
    assert [(row.name, row.reason) for row in again.checks(world).removed] == [("looks", "one")]


def test_what_was_interrupted_is_so_once_though_power_brings_back_its_note() -> None:
    """The note names the record that the operation was to become; another operation has that number now."""
    disk = SimDisk(seed="noted")
    host = simulated("noted", disk=disk)
    world = world_of(host, "w")
    runtime = host.runtimes.get(world)
    assert runtime is not None
    for function in ("first", "second"):
        source = f"function {function}() {{ data.set('{function}', 1); return 1 }}"
        host.perform(world, hub.Develop(source, function))
    for function in ("first", "second"):
        call = hub.Call(function, b"[]")
        host.submit(world, call, actor=function, request_id=None, done=lambda answer: None)
    while not runtime.undurable:
        host.shell.step()
    assert [body.function for body in runtime.undurable.values()] == ["second"], "the first one still runs"
    host.kill()
    slots = disk.open("inflight/slots")
    before = slots.read_at(0, slots.size())
    again = simulated("noted again", disk=disk)
    again.settle()
    again.kill()
    slots.write_at(0, before)
    last = simulated("noted at last", disk=disk)
    last.settle()
    found = [body.subject for body in bodies(last, world) if isinstance(body, kinds.Interrupted)]
    assert sorted(found) == ["first", "second"]


def test_a_pin_of_what_was_pinned_before_the_world_was_purged_is_told_that_it_was_purged() -> None:
    host = simulated("pinned and purged")
    world = world_of(host, "w")
    assert host.perform(world, hub.Call("look", b"[]")).ok
    host.settle()
    seq = host.parts.log.last(world)[0]
    for pin, refused in ((hub.Pin(seq, "", "first"), None), (hub.Pin(seq, "", "second"), "pinned")):
        assert getattr(host.perform(world, pin), "refused", None) == refused
    host.perform(world, hub.Purge("not wanted"))
    host.settle()
    assert host.perform(world, hub.Pin(seq, "", "third")).refused == "purged"
