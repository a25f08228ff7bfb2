"""Crash images of a whole life, and what must be true after each: shared by the two halves of the crash suite."""

from __future__ import annotations

import functools

from life import SEGMENT_BYTES, live_a_little, live_once
from oracle import Lived, assert_committed_prefix, hashes_of

from engine.host import simulated
from engine.io.crash_images import CRASH_KINDS, DECIDED_KINDS
from engine.io.sim_disk import SimDisk, crash_images
from engine.io.sim_entropy import SimEntropy

SHARDS = 6
IMAGES_IN_TEST = 300
IMAGES_IN_SOAK = 5_000


@functools.cache
def lived() -> Lived:
    """The life, lived once with a clean end, and the trace of its disk."""
    disk = SimDisk(seed="life")
    life = Lived(disk)
    host = simulated("life", disk=disk, segment_bytes_max=SEGMENT_BYTES)
    life.mark(host)
    live_once(host, lambda what, answer: life.mark(host))
    life.hashes = hashes_of(host)
    host.shut_down()
    return life


def survive(point_at: int, disk: SimDisk, cycles: int = 3) -> None:
    """Open what the crash left, check it, work, lose power again: `cycles` times."""
    for cycle in range(cycles):
        host = simulated(f"reopened {cycle}", disk=disk, segment_bytes_max=SEGMENT_BYTES)
        if cycle == 0:
            assert_committed_prefix(host, lived(), point_at)
        host.settle()
        before = hashes_of(host)
        live_a_little(host)
        after = hashes_of(host)
        assert all(after[world][: len(hashes)] == hashes for world, hashes in before.items())
        host.kill()
        disk = disk.after_power_loss("lost", seed=cycle)
        again = simulated(f"checked {cycle}", disk=disk, segment_bytes_max=SEGMENT_BYTES)
        now = hashes_of(again)
        assert all(now[world][: len(hashes)] == hashes for world, hashes in before.items())
        again.shut_down()


def images(count: int, shard: int, seed: str):
    """`count` crash images over all shards, spread over the trace and the kinds of crash."""
    entropy = SimEntropy(f"crash points {seed} {shard}")
    operations = len(lived().disk.trace)
    points = sorted(entropy.below(operations + 1) for _ in range(count // SHARDS))
    for n, at in enumerate(points):
        kind = CRASH_KINDS[n % len(CRASH_KINDS)]
        yield from crash_images(lived().disk.trace, at, kinds=(kind,), seeds=(f"{seed} {shard} {n}",))


def survive_all(count: int, shard: int, seed: str, *, thrice: bool) -> None:
    """Open every image of a shard; without `thrice` the drawn kinds live two cycles only."""
    for point, disk in images(count, shard, seed):
        try:
            survive(point.at, disk, cycles=3 if thrice or point.kind in DECIDED_KINDS else 2)
        except BaseException as error:
            error.add_note(str(point))
            raise
