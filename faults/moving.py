"""Worlds leave as recordings and arrive elsewhere: the same chain, verified there, used there, and out again (20)."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

from engine.clock.clock import SimClock
from engine.host import NotThere, SimulatedHost, answers, simulated
from engine.host.machine import machine
from engine.host.replaying import replay
from engine.hub import messages as hub
from engine.limits import FLICKS_PER_SECOND
from engine.record.recording import RecordingRefused, read_recording
from engine.record.records import record_hash
from faults.checking import TOLD
from faults.driver import Driver

_LATER_FLICKS = 1000 * 24 * 3600 * FLICKS_PER_SECOND
"""A directory elsewhere is of a time when all that is recorded here is past, also where a clock was set forward."""


def move(driver: Driver) -> None:
    """Export each world that is not purged; import it here, where it is already, and in a new directory."""
    clock = SimClock()
    clock.advance_by(_LATER_FLICKS)
    there = simulated(f"there {driver.counts.deaths}", clock=clock, with_machine=machine())
    for world in list(driver.ids.values()):
        recording = _exported(driver, world)
        if recording is not None:
            _arrive(driver, there, world, recording)
            _arrive_again(driver, world, recording)
    there.kill()


def _exported(driver: Driver, world: str) -> bytes | None:
    """None where the process died of it, the world is gone, or the disk refuses."""

    def ask(done: Any) -> None:
        try:
            pieces = driver.host.recording(world)
        except NotThere:
            done(None)
            return
        driver.host.shell.work("upkeep", lambda: b"".join(pieces), done)

    found = driver.finish(ask)
    if isinstance(found, bytes):
        driver.counts.note("exported")
        return found
    error = getattr(found, "error", None)
    if error is not None and not isinstance(error, (*TOLD, RecordingRefused)):
        raise error
    return None


def _arrive(driver: Driver, there: SimulatedHost, world: str, recording: bytes) -> None:
    require = driver.judge.require
    answer = there.imported(recording)
    told = answers.as_json(answer).decode()
    require(
        20, not isinstance(answer, answers.Refused), f"world {world} cannot be imported elsewhere: {told}"
    )
    records = read_recording(BytesIO(recording)).manifest.records
    driver.alive(lambda: driver.history.catch_up(driver.host.parts.log))
    here = [record.hash for record in driver.history.worlds.get(world, [])[:records]]
    log = there.parts.log
    hashes = [record_hash(entry.header) for _, entry in log.read(world)]
    require(20, hashes[:records] == here, f"world {world} has another chain where it was imported")
    replayed = replay(log, there.parts.blobs, world, machine())
    require(
        13, replayed.divergence is None, f"world {world} replays otherwise elsewhere: {replayed.divergence}"
    )
    again = there.exported(world, until=records - 1)
    require(20, again == recording, f"world {world}: what is exported from there is not what came")
    there.perform(world, hub.Describe(archived=False, frozen=False))
    one = there.perform(world, hub.Execute("1+1"))
    sound = isinstance(one, answers.PreviewOk) and json.loads(bytes(one.value)) == 2
    require(7, sound, f"world {world} does not answer where it was imported: {one}")


def _arrive_again(driver: Driver, world: str, recording: bytes) -> None:
    """Here it is already: nothing is done, and its records stay as they are."""
    last = driver.host.parts.log.last(world)
    answer = driver.finish(
        lambda done: driver.host.import_recording(lambda: BytesIO(recording), actor="operator", done=done)
    )
    if answer is None or isinstance(answer, answers.Refused):
        return
    driver.judge.require(20, last is not None, f"world {world} was imported where it had been")
