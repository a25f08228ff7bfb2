"""What must be true of a server that was opened again: the oracle of every crash.

The whole life was lived once, so every world's records are known. After a crash the log holds a prefix of them that
contains every record an answer rested on, and behind it nothing but what recovery itself recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.host import SimulatedHost
from engine.io.sim_disk import SimDisk
from engine.record import decode_header, record_hash


@dataclass
class Lived:
    """`hashes` of every record by world; `marks`: (disk operations, durable sequences by world) at each answer."""

    disk: SimDisk
    hashes: dict[str, list[str]] = field(default_factory=dict)
    marks: list[tuple[int, dict[str, int]]] = field(default_factory=list)

    def mark(self, host: SimulatedHost) -> None:
        durable = {runtime.id: runtime.hub.durable_seq for runtime in host.runtimes.opened()}
        self.marks.append((self.disk.ops, durable))

    def acknowledged(self, at: int) -> dict[str, int]:
        """The last record of each world that an answer rested on when `at` disk operations had happened."""
        durable: dict[str, int] = {}
        for ops, seqs in self.marks:
            if ops > at:
                break
            durable = seqs
        return durable


def hashes_of(host: SimulatedHost) -> dict[str, list[str]]:
    log = host.parts.log
    return {world: [record_hash(entry.header) for _, entry in log.read(world)] for world in log.worlds()}


def assert_committed_prefix(host: SimulatedHost, lived: Lived, at: int) -> None:
    """Invariants 1, 2, 6, 9 (opening compares), 16 and 17, seen from outside."""
    log = host.parts.log
    for world, seq in lived.acknowledged(at).items():
        last = log.last(world)
        assert last is not None, f"world {world} was acknowledged and is gone"
        assert last[0] >= seq, f"world {world} ends at {last[0]}; {seq} was acknowledged"
    for world, hashes in hashes_of(host).items():
        expected = lived.hashes.get(world, [])
        common = 0
        while common < min(len(hashes), len(expected)) and hashes[common] == expected[common]:
            common += 1
        assert common > lived.acknowledged(at).get(world, -1), f"world {world} has another record {common}"
        for _, entry in log.read(world, common):
            kind = decode_header(entry).kind
            assert kind == "interrupted", (
                f"world {world}: record {entry.seq} of kind {kind} was never written"
            )
