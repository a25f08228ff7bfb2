"""Live the scripted life once and print the hash of the log that it leaves: `python same_bytes.py PATH`."""

from __future__ import annotations

import sys

from blake3 import blake3
from life import SEGMENT_BYTES, live_once

from engine.host import simulated
from engine.io.disk import read_file
from engine.io.sim_disk import SimDisk


def log_hash(prefer: str) -> str:
    """BLAKE3 over the names and bytes of all files of the log after a whole life and a clean end."""
    disk = SimDisk(seed="same")
    host = simulated("same", disk=disk, prefer=prefer, segment_bytes_max=SEGMENT_BYTES)
    live_once(host)
    host.shut_down()
    hasher = blake3()
    for directory in ("log", "blobs"):
        for path in files_below(disk, directory):
            hasher.update(path.encode() + b"\0" + read_file(disk, path))
    return hasher.hexdigest()


def files_below(disk: SimDisk, directory: str) -> list[str]:
    found: list[str] = []
    for name in disk.list(directory):
        path = f"{directory}/{name}"
        found += files_below(disk, path) if disk.is_dir(path) else [path]
    return found


if __name__ == "__main__":
    print(log_hash(sys.argv[1]))
