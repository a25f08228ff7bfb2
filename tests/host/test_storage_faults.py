"""Storage that fails: each failed sync, a disk that fills up, flipped bits. What was acknowledged stays."""

from __future__ import annotations

import pytest

from engine.host import CannotOpen, SimulatedHost, answers, simulated
from engine.hub import messages as hub
from engine.io.disk import read_file
from engine.io.sim_disk import SimDisk
from engine.io.sim_entropy import SimEntropy
from engine.limits import FLICKS_PER_SECOND

PUT = "function put(key) { data.set(key, key); return key }\nfunction all() { return data.list('').map(r => r.key) }"
WRITES = 12


class Workload:
    """Creates a world and writes keys; knows what was acknowledged, and hears how refusals sound."""

    def __init__(self, host: SimulatedHost) -> None:
        self.host = host
        self.world: str | None = None
        self.developed = False
        self.keys: list[str] = []
        self.refusals: list[answers.Refused] = []

    def run(self, label: str) -> None:
        """Try everything once; between refusals time passes, so that storage is tried again."""
        for n in range(WRITES):
            self._once(f"{label}-{n}")
            self.host.shell.run_for(2 * FLICKS_PER_SECOND)

    def _once(self, key: str) -> None:
        if self.world is None:
            answer = self.host.create("w")
            if self._took(answer):
                self.world = answer.id
        elif not self.developed:
            self.developed = self._took(self.host.perform(self.world, hub.Develop(PUT, "put")))
        elif self._took(self.host.perform(self.world, hub.Call("put", f'["{key}"]'.encode()))):
            self.keys.append(key)

    def _took(self, answer: object) -> bool:
        if isinstance(answer, answers.Refused):
            assert answer.refused in ("read-only", "storage"), answer
            assert answer.error and answer.hint, "errors teach"
            self.refusals.append(answer)
            return False
        return True

    def assert_kept(self, host: SimulatedHost) -> None:
        """Exactly what was acknowledged is there, no more and no less."""
        if self.world is None:
            assert host.worlds() == []
        elif not self.developed:
            assert host.world(self.world).revision == 0
        else:
            items = host.data(self.world, prefix="", after=None, limit=1000).items
            assert [item.key for item in items] == sorted(self.keys)


def syncs_of_a_clean_run() -> int:
    disk = SimDisk(seed="clean")
    host = simulated("clean", disk=disk)
    Workload(host).run("a")
    host.shut_down()
    return disk.syncs


def reopened(disk: SimDisk, seed: str) -> SimulatedHost:
    return simulated(seed, disk=disk)


@pytest.mark.parametrize("pages", ["dropped", "kept"])
@pytest.mark.parametrize("share", range(4))
def test_after_each_failed_sync_nothing_acknowledged_is_lost_and_the_server_says_why(
    pages: str, share: int
) -> None:
    for nth in range(1 + share, syncs_of_a_clean_run() + 1, 4):
        disk = SimDisk(seed=f"sync {nth}")
        disk.fail_sync(nth, pages=pages)
        try:
            host = simulated("fails", disk=disk)
        except CannotOpen as refused:
            assert "sync" in str(refused)
            continue
        work = Workload(host)
        work.run("a")
        assert work.keys, "one failed sync does not stop the server for ever"
        host.kill()
        disk.heal()
        lost = disk.after_power_loss("lost", seed=nth)
        work.assert_kept(reopened(lost, f"lost {nth}"))


@pytest.mark.parametrize("share", range(4))
def test_a_disk_that_fills_up_makes_the_server_read_only_and_loses_nothing(share: int) -> None:
    clean = SimDisk(seed="clean")
    host = simulated("clean", disk=clean)
    Workload(host).run("a")
    operations = clean.ops
    for at in range(1 + share * 7, operations, 29):
        disk = SimDisk(seed=f"full {at}")
        disk.fill_up_at(at, times=None)
        try:
            host = simulated("fills", disk=disk)
        except CannotOpen as refused:
            assert "space" in str(refused) or "full" in str(refused)
            continue
        work = Workload(host)
        work.run("a")
        if work.refusals:
            assert host.health().state == "read-only"
            assert "full" in host.health().reason
        kept = list(work.keys)
        disk.heal()
        host.shell.run_for(2 * FLICKS_PER_SECOND)
        work.run("b")
        assert len(work.keys) > len(kept) or work.refusals == [], "once there is room the server goes on"
        host.kill()
        work.assert_kept(reopened(disk.after_power_loss("lost", seed=at), f"after {at}"))


def files_below(disk: SimDisk, directory: str) -> list[str]:
    found: list[str] = []
    for name in disk.list(directory):
        path = f"{directory}/{name}"
        found += files_below(disk, path) if disk.is_dir(path) else [path]
    return found


@pytest.mark.parametrize("share", range(2))
def test_a_flipped_bit_in_log_or_blobs_is_noticed_and_nothing_is_erased(share: int) -> None:
    """At opening, when what it hit is needed, or by the doctor's verification: never a wrong answer."""
    from engine.io.real_entropy import RealEntropy
    from engine.record.verify import verify

    disk = SimDisk(seed="flips")
    host = simulated("flips", disk=disk)
    work = Workload(host)
    work.run("a")
    host.shut_down()
    sound = disk.after_power_loss("kept", seed=0)
    entropy = SimEntropy(f"flips {share}")
    files = [f for f in files_below(sound, "log") + files_below(sound, "blobs") if not f.endswith("RESERVE")]
    for n in range(60):
        path = files[entropy.below(len(files))]
        rotten = sound.after_power_loss("kept", seed=n)
        bit = entropy.below(rotten.size(path) * 8)
        rotten.flip_bit(path, bit)
        flipped = read_file(rotten, path)
        problems = verify(rotten, RealEntropy())
        assert read_file(rotten, path) == flipped, "verifying changes nothing"
        try:
            again = simulated(f"again {n}", disk=rotten)
        except CannotOpen as refused:
            assert problems, f"{path} bit {bit}: {refused}"
            assert read_file(rotten, path) == flipped, "refusing overwrites nothing"
            continue
        work.assert_kept(again)
        if not problems:
            continue_is_harmless(path, rotten, bit, sound)


def continue_is_harmless(path: str, rotten: SimDisk, bit: int, sound: SimDisk) -> None:
    """A flip that nothing noticed must lie where nothing means anything: padding of the head file's other slot."""
    assert path.endswith(("HEAD", ".idx")), f"{path} bit {bit} was not noticed"
