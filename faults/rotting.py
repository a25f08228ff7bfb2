"""A bit rots while the server is down: it must be told or do no harm, and be whole again once the bit is."""

from __future__ import annotations

from typing import Any

from engine.host import CannotOpen, SimulatedHost
from engine.io.sim_disk import SimDisk
from engine.io.sim_entropy import SimEntropy
from engine.record.verify import verify
from faults import steps
from faults.checking import TOLD
from faults.driver import Driver

Data = dict[str, dict[str, bytes]]


def rot(driver: Driver, step: steps.Rot) -> None:
    """Kill, flip, verify, open, look; then mend it, open again and compare."""
    driver.heal()
    driver.stop_by_kill()
    disk = driver.disk
    files = _files_below(disk, step.below)
    found: Data = {}
    path = ""
    if files:
        path = files[step.file % len(files)]
        disk.flip_bit(path, step.bit % (disk.size(path) * 8))
        driver.trace.add(f"rot in {path}")
        found = _look(driver, path)
        driver.sever()
        driver.disk.heal()
    if step.below == "inflight":
        driver.book.forget_begun()
    driver.host = driver.open_again()
    sound = read_data(driver.host)
    for world, rows in found.items():
        driver.judge.require(1, rows == sound.get(world), f"rot in {path}: the data of {world} read wrong")


def _look(driver: Driver, path: str) -> Data:
    """Open on the rotten bit: what is refused or lost there must be told by verifying. What could be read."""
    problems = verify(driver.disk, SimEntropy("rot"))
    try:
        host = driver.open_unjudged()
    except CannotOpen as refused:
        driver.counts.note("refused to open on rot")
        told = f"rot in {path}: opening refuses ({refused}), and verifying finds nothing"
        driver.judge.require(1, bool(problems), told)
        return {}
    driver.counts.note("opened on rot")
    for world, (seq, _) in driver.marks.items():
        last = host.parts.log.last(world)
        there = last is not None and last[0] >= seq
        driver.judge.require(1, there, f"rot in {path}: world {world} lost record {seq}, and nothing tells")
    found = read_data(host)
    host.shell.close()
    return found


def read_data(host: SimulatedHost) -> Data:
    """The data of each world that can be read; the others tell that they cannot."""
    found: Data = {}
    try:
        worlds: list[Any] = host.worlds(archived=True)
    except TOLD:
        return {}
    for world in worlds:
        try:
            page = host.data(world.id, prefix="", after=None, limit=1000)
        except TOLD:
            continue
        found[world.id] = {item.key: bytes(item.value) for item in page.items}
    return found


def _files_below(disk: SimDisk, directory: str) -> list[str]:
    """Paths of files with content, sorted."""
    found: list[str] = []
    for name in disk.list(directory):
        path = f"{directory}/{name}"
        if disk.is_dir(path):
            found += _files_below(disk, path)
        elif disk.size(path):
            found.append(path)
    return found
