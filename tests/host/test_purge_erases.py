"""A purge erases: afterwards no file of the data directory holds a byte of what the world held."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.host import SimulatedHost, simulated
from engine.hub import messages as hub
from engine.io.disk import Disk, read_file, write_file_durably
from engine.io.real_disk import RealDisk
from engine.io.sim_disk import SimDisk

MARKER = "marker-8c1f"
CODE = f"""
/** {MARKER} of a doc */
function put(key, text) {{ data.set("{MARKER}" + key, text); console.log(text); return text }}
function fail(text) {{ throw new Error(text) }}
"""


@pytest.fixture(params=["simulated", "real"])
def disk(request, tmp_path) -> Disk:
    return SimDisk() if request.param == "simulated" else RealDisk(tmp_path / "home")


def files(disk: Disk, path: str = "") -> Iterator[str]:
    for name in disk.list(path):
        below = f"{path}/{name}".lstrip("/")
        if disk.is_dir(below):
            yield from files(disk, below)
        else:
            yield below


def holding(disk: Disk) -> list[str]:
    return [path for path in files(disk) if MARKER.encode() in read_file(disk, path)]


def fill(host: SimulatedHost, world: str) -> None:
    """Everything a world records, often enough that the projection's pages split and are freed."""
    assert host.perform(world, hub.Develop(CODE, f"{MARKER} summary")).revision == 1
    for n in range(60):
        text = f'"{MARKER} {n} {"x" * (40 * (n % 7))}"'
        assert host.perform(world, hub.Call("put", f"[{n},{text}]".encode())).ok
        if n % 3 == 0:
            host.perform(world, hub.EditData(f"{MARKER}{n}", None, f"{MARKER} reason"))
    host.perform(world, hub.Call("fail", f'["{MARKER}"]'.encode()), request_id=f"{MARKER}-id")
    pinned = hub.Pin(host.world(world).records - 2, f"{MARKER} golden", f"{MARKER} reason")
    assert host.perform(world, pinned).golden == 1
    held = hub.Develop(CODE.replace("return text", "return [text]"), f"{MARKER} held")
    assert host.perform(world, held).held == 2
    host.perform(world, hub.Describe(name=MARKER))
    host.perform(world, hub.Execute(f"put(1, '{MARKER}')"))
    host.perform(world, hub.Develop(f"throw new Error('{MARKER}')", "no good"))
    host.perform(world, hub.Checkpoint())
    host.perform(world, hub.Call("put", f'["long","{MARKER * 300}"]'.encode()))


def purged(disk: Disk) -> SimulatedHost:
    """A host whose one world was filled and purged, and another that lives on."""
    host = simulated(5, disk=disk, segment_bytes_max=96 * 1024)
    world, other = host.create("gone").id, host.create("other").id
    fill(host, world)
    host.parts.ledger.flush()
    assert holding(disk), "before the purge it is there"
    assert host.perform(world, hub.Purge("asked")).ok
    host.perform(other, hub.Develop("function f() { return 1 }", "one"))
    return host


def test_after_a_purge_and_a_collection_no_file_holds_anything_of_the_world(disk):
    host = purged(disk)
    assert host.collect().ok
    assert holding(disk) == []
    host.shut_down()
    assert holding(disk) == []


def test_a_purge_erases_by_itself(disk):
    host = purged(disk)
    host.settle()
    assert holding(disk) == []


def test_fragments_a_database_and_a_blob_that_were_set_aside_go_and_are_counted(disk):
    host = purged(disk)
    host.settle()
    disk.make_dir("log/aside")
    disk.make_dir("blobs/rotten")
    aside = ("log/aside/0000000001-0000000000-ab.bin", "projection/aside.db", f"blobs/rotten/{'ab' * 32}.1")
    for path in aside:
        write_file_durably(disk, path, MARKER.encode())
    report = host.collect().report
    assert report["set_aside_freed_bytes"] == len(aside) * len(MARKER)
    assert report["freed_bytes"] == sum(
        report[f"{part}_freed_bytes"] for part in ("bodies", "set_aside", "blobs")
    )
    assert holding(disk) == []


def test_a_purge_whose_process_ended_at_once_is_finished_by_the_next_collection(disk):
    host = purged(disk)
    host.kill()
    host = simulated(6, disk=disk, segment_bytes_max=96 * 1024)
    assert host.collect().ok
    assert holding(disk) == []


def test_a_purged_world_says_that_it_is_after_a_restart_too(disk: Disk) -> None:
    host = purged(disk)
    world = next(world.id for world in host.worlds(archived=True) if world.purged)
    host.shut_down()
    again = simulated(6, disk=disk, segment_bytes_max=96 * 1024)
    for operation in (hub.EditData("k", b"1", "late"), hub.Execute("1+1"), hub.Develop("1", "late")):
        assert again.perform(world, operation).refused == "purged"
