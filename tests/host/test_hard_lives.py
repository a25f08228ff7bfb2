"""Copies, restarts and refuse: what a world's heap and its chances come to over several lives of a server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.host import SimulatedHost, answers, simulated
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk

DRAW = """
const chance = state("chance", () => ({ of: [Math.random(), Math.random()] }));
function draw() { return Math.random() }
function kept() { return state("chance", () => ({})).of }
"""


def value(host: SimulatedHost, world: str, function: str, *args: Any) -> Any:
    answer = host.perform(world, hub.Call(function, json.dumps(args).encode()))
    assert isinstance(answer, answers.CallOk), answer
    return json.loads(bytes(answer.value))


def test_a_copied_world_draws_other_numbers_in_new_calls_than_its_original_and_keeps_those_of_its_heap() -> (
    None
):
    host = simulated("original")
    world = host.create("w").id
    host.perform(world, hub.Develop(DRAW, "draw"))
    assert host.back_up("copy").ok
    copy = simulated("copy", disk=host.disks["copy"])
    assert value(copy, world, "kept") == value(host, world, "kept")
    drawn = [[value(each, world, "draw") for _ in range(5)] for each in (host, copy)]
    assert len({*drawn[0], *drawn[1]}) == 10


@pytest.mark.parametrize("ending", ["shut down", "killed"])
def test_what_a_source_drew_is_the_same_after_every_restart(ending: str) -> None:
    disk = SimDisk(seed="restart")
    host = simulated("first", disk=disk)
    world = host.create("w").id
    host.perform(world, hub.Develop(DRAW, "draw"))
    kept = value(host, world, "kept")
    snapshot = host.revision(world, 1).snapshot
    for life in range(3):
        if ending == "killed":
            host.kill()
        else:
            host.shut_down()
        host = simulated(f"life {life}", disk=disk)
        assert (value(host, world, "kept"), host.revision(world, 1).snapshot) == (kept, snapshot)


def test_change_and_restart_again_and_again_works_each_time_as_the_first_time() -> None:
    disk = SimDisk(seed="again")
    host = simulated("again", disk=disk)
    world = host.create("w").id
    for life in range(1, 5):
        source = (
            f"function which() {{ const n = data.get('n') ?? 0; data.set('n', n + 1); return [{life}, n] }}"
        )
        assert host.perform(world, hub.Develop(source, "next")).revision == life
        assert value(host, world, "which") == [life, life - 1]
        assert host.perform(world, hub.Execute("which()")).ok
        assert host.perform(world, hub.Develop("throw new Error('x')", "no")).rejection == life
        if life % 2:
            host.kill()
        else:
            host.shut_down()
        host = simulated(f"again {life}", disk=disk)
        assert value(host, world, "which") == [life, life]
        assert host.perform(world, hub.EditData("n", str(life).encode(), "put right")).ok


def test_previews_rejections_and_what_was_interrupted_leave_no_blob_behind() -> None:
    disk = SimDisk(seed="refuse")
    host = simulated("refuse", disk=disk)
    world = host.create("w").id
    host.perform(world, hub.Develop("function f() { return 1 }\nstate('big', () => ({}))", "f"))
    host.settle()
    assert host.collect().ok
    before = sorted(host.parts.blobs.names())
    for n in range(120):
        host.perform(world, hub.Execute(f"define('g{n}', () => {n}) && 1"))
        host.perform(
            world, hub.Develop(f"state('big', () => ({{}})).x = 'x'.repeat({n}000); throw {n}", "no")
        )
        host.perform(world, hub.Develop(f"define('g', () => {n}); data.set('k', 1)", "no"))
    for _ in range(3):
        host.submit(world, hub.Call("f", b"[]"), actor="client", request_id=None, done=lambda _: None)
    host.submit(
        world,
        hub.Develop("function g() { return 2 }", "cut"),
        actor="client",
        request_id=None,
        done=lambda _: None,
    )
    host.kill()
    host = simulated("refuse again", disk=disk)
    host.settle()
    assert host.collect().ok
    assert host.world(world).revision == 1
    assert sorted(host.parts.blobs.names()) == before
    assert value(host, world, "f") == 1
