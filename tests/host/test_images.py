"""Heaps as the host stores them: small for small changes, and the same when they come back."""

from __future__ import annotations

from engine.host import simulated
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk
from engine.limits import HEAP_DELTAS_PER_BASE_MAX
from engine.record import heaps


def test_a_long_history_begins_anew_at_the_genesis_heap_and_never_stores_a_whole_heap() -> None:
    disk = SimDisk(seed="images")
    host = simulated("images", disk=disk)
    world = host.create("w").id
    for n in range(HEAP_DELTAS_PER_BASE_MAX + 3):
        host.perform(world, hub.Develop(f"function f{n % 5}(x) {{ return x + {n} }}", "again"))
    rows = host.revisions(world, limit=100, before=None).revisions
    sizes = [row.bytes for row in rows if row.n > 0]
    assert max(sizes) < 64 * 1024, sizes
    blobs = host.parts.blobs
    depths = [
        heaps.depth_of(ref.blob, blobs.get(ref.blob))
        for _, ref in sorted(host.runtimes.get(world).heaps.items())
    ]
    assert depths == [0, *range(1, HEAP_DELTAS_PER_BASE_MAX + 1), 1, 2, 3]
    host.shut_down()
    again = simulated("again", disk=disk)
    assert again.perform(world, hub.Rollback(20, "half way")).revision == HEAP_DELTAS_PER_BASE_MAX + 4
    assert bytes(again.perform(world, hub.Call("f4", b"[1]")).value) == b"20"
