"""What tests of the simulated disk share: a disk of small sectors, a life on it, and what is on it as a whole."""

from __future__ import annotations

from engine.io.crash_images import CRASH_KINDS, DECIDED_KINDS
from engine.io.disk import Disk, read_file
from engine.io.sim_disk import SimDisk

S = 512  # bytes a sector
RANDOM_KINDS = tuple(kind for kind in CRASH_KINDS if kind not in DECIDED_KINDS)
SEEDS = range(200)


def small_disk(**options) -> SimDisk:
    return SimDisk(sector_bytes=S, **options)


def write(disk: Disk, path: str, content: bytes, *, at_bytes: int = 0, sync: bool = False) -> None:
    file = disk.open(path, create=True)
    file.write_at(at_bytes, content)
    if sync:
        file.sync()
    file.close()


def tree(disk: Disk, path: str = "") -> dict[str, bytes]:
    """Every file and its content; a directory ends with "/"."""
    found: dict[str, bytes] = {}
    for name in disk.list(path):
        below = f"{path}/{name}" if path else name
        if disk.is_dir(below):
            found[below + "/"] = b""
            found.update(tree(disk, below))
        else:
            found[below] = read_file(disk, below)
    return found


def trees_after(disk: SimDisk, kinds=RANDOM_KINDS, seeds=SEEDS) -> list[dict[str, bytes]]:
    return [tree(disk.after_power_loss(kind, seed)) for kind in kinds for seed in seeds]


def busy_disk() -> SimDisk:
    """A little life with everything in it: the trace that several tests crash."""
    disk = small_disk(seed=3)
    disk.make_dir("d/e")
    disk.sync_dir("")
    write(disk, "a", b"a" * 1200, sync=True)
    disk.sync_dir("")
    write(disk, "a", b"A" * 700, at_bytes=100)
    write(disk, "d/b", b"b" * 600, sync=True)
    disk.rename("d/b", "d/e/c")
    disk.sync_dir("d/e")
    write(disk, "d/x", b"x" * 2000)
    disk.rename("d/x", "d/e/c")
    disk.remove("a")
    write(disk, "a", b"again")
    file = disk.open("a")
    file.truncate(2)
    return disk


def shape_of(content: bytes) -> str:
    """One character a sector: the digit it is full of, or "?"."""
    sectors = [content[start : start + S] for start in range(0, len(content), S)]
    return "".join(chr(sector[0]) if sector == sector[:1] * S else "?" for sector in sectors)
