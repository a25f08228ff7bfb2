"""The last backup, opened elsewhere while the server goes on: all of it is there, and it can be worked with."""

from __future__ import annotations

from typing import Any

from engine.host import SimulatedHost, answers, simulated
from engine.host.machine import machine
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk
from engine.record.records import record_hash
from faults.driver import Driver
from faults.rotting import read_data


def open_backup(driver: Driver) -> None:
    """Power was lost right after the backup: what it then holds is a prefix that has all that was acknowledged."""
    name = next(reversed(driver.backup_marks), None)
    if name is None:
        return
    disk = driver.backups[name]
    assert isinstance(disk, SimDisk)
    after = disk.after_power_loss("lost")
    host = simulated(f"{name} of {driver.life.options.seed}", disk=after, with_machine=machine())
    driver.counts.note("opened a backup")
    _judge(driver, host, name)
    _use(driver, host, name)
    host.kill()


def _judge(driver: Driver, host: SimulatedHost, name: str) -> None:
    require = driver.judge.require
    log = host.parts.log
    for world, (seq, _) in driver.backup_marks[name].items():
        last = log.last(world)
        require(7, last is not None and last[0] >= seq, f"{name}: world {world} lacks record {seq}")
    driver.alive(lambda: driver.history.catch_up(driver.host.parts.log))
    for world in log.worlds():
        known = driver.history.worlds.get(world, [])
        hashes = [record_hash(entry.header) for _, entry in log.read(world)]
        require(
            20,
            hashes == [record.hash for record in known[: len(hashes)]],
            f"{name}: another chain of {world}",
        )


def _use(driver: Driver, host: SimulatedHost, name: str) -> None:
    """It was opened once, so it recovers and answers like any server."""
    host.settle()
    for world in host.worlds(archived=True):
        if world.purged:
            continue
        heard: list[Any] = [
            host.perform(world.id, operation)
            for operation in (hub.Describe(archived=False, frozen=False), hub.Execute("1+1"))
        ]
        require = driver.judge.require
        require(16, isinstance(heard[0], answers.Done), f"{name}: world {world.id} says {heard[0]}")
        sound = isinstance(heard[1], answers.PreviewOk) and bytes(heard[1].value) == b"2"
        require(7, sound, f"{name}: world {world.id} says {heard[1]}")
    read_data(host)
