"""The simulated disk against a model that knows only the rules: what may be seen, and what a crash may leave."""

from __future__ import annotations

import shutil
import tempfile

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engine.io.crash_images import CRASH_KINDS
from engine.io.disk import DiskError, SyncFailed, read_file
from engine.io.real_disk import RealDisk
from engine.io.sim_disk import SimDisk
from engine.io.sim_media import ROOT, DirNode, FileNode

S = 512
DIRECTORIES = ("", "d")
NAMES = ("a", "b", "c")
paths = st.sampled_from(
    [f"{directory}/{name}" if directory else name for directory in DIRECTORIES for name in NAMES]
)
offsets = st.integers(0, 3 * S)
contents = st.builds(lambda byte, size: bytes([byte]) * size, st.integers(1, 255), st.integers(1, 2 * S))


class SimIsReal(RuleBasedStateMachine):
    """What a program sees of a simulated disk is what it sees of a real one."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.disks = (RealDisk(self.folder), SimDisk(sector_bytes=S))

    def teardown(self) -> None:
        self.disks[0].close()
        shutil.rmtree(self.folder)

    def both(self, use) -> None:
        outcomes = []
        for disk in self.disks:
            try:
                outcomes.append(("did", use(disk)))
            except DiskError as error:
                outcomes.append((type(error).__name__, error.path))
        assert outcomes[0] == outcomes[1]

    @rule(path=paths, offset=offsets, content=contents, create=st.booleans())
    def write(self, path, offset, content, create):
        def use(disk):
            file = disk.open(path, create=create)
            file.write_at(offset, content)
            file.close()

        self.both(use)

    @rule(path=paths, size=offsets)
    def truncate(self, path, size):
        self.both(lambda disk: disk.open(path).truncate(size))

    @rule(source=paths, new=paths)
    def rename(self, source, new):
        self.both(lambda disk: disk.rename(source, new))

    @rule(path=paths | st.just("d"))
    def remove(self, path):
        self.both(lambda disk: disk.remove(path))

    @rule(path=st.sampled_from(["d", "a", "d/a"]))
    def make_dir(self, path):
        self.both(lambda disk: disk.make_dir(path))

    @rule(path=paths | st.sampled_from(["", "d"]))
    def look(self, path):
        self.both(lambda disk: disk.list(path))
        self.both(lambda disk: (disk.exists(path), disk.is_dir(path)))
        self.both(lambda disk: disk.size(path))
        self.both(lambda disk: read_file(disk, path))


class Versions:
    """One file in the model: what each sector and the size may be after a crash."""

    def __init__(self, content: bytes = b"") -> None:
        self.sectors: dict[int, list[bytes]] = {i: [c] for i, c in enumerate(_sectors(content))}
        self.sizes = [len(content)]
        self.unsynced: set[int] = set()
        self.changed = False

    def change(self, before: bytes, after: bytes, written: range) -> None:
        new = dict(enumerate(_sectors(after)))
        gone = range(len(new), len(_sectors(before)))
        for index in [*written, *gone]:
            self.sectors.setdefault(index, [bytes(S)]).append(new.get(index, bytes(S)))
            self.unsynced.add(index)
        self.sizes.append(len(after))
        self.changed = True

    def sync(self) -> None:
        for index in self.unsynced:
            self.sectors[index] = self.sectors[index][-1:]
        if self.changed:
            self.sizes = self.sizes[-1:]
        self.fail()

    def fail(self) -> None:
        self.unsynced = set()
        self.changed = False

    def allows(self, content: bytes, garbled: bool) -> bool:
        if len(content) not in self.sizes:
            return False
        for index, sector in enumerate(_sectors(content)):
            inside = min(S, len(content) - index * S)
            versions = self.sectors.get(index, [bytes(S)])
            had = any(sector[:inside] == version[:inside] for version in versions)
            if not (had or (garbled and len(versions) > 1)):
                return False
        return True


def _sectors(content: bytes) -> list[bytes]:
    return [content[start : start + S].ljust(S, b"\0") for start in range(0, len(content), S)]


class CrashesKeepTheRules(RuleBasedStateMachine):
    """Any crash, at any moment: what was synced is there, what was not is old or new."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = SimDisk(sector_bytes=S)
        self.disk.make_dir("d")
        self.disk.sync_dir("")
        self.begin()

    def begin(self) -> None:
        """The model of a disk whose whole content is durable."""
        names = {directory: self.names(self.disk, directory) for directory in DIRECTORIES}
        self.past = {directory: [names[directory]] for directory in DIRECTORIES}
        self.files = {
            number: Versions(read_file(self.disk, f"{directory}/{name}".lstrip("/")))
            for directory in DIRECTORIES
            for name, number in names[directory].items()
        }
        self.safe = set(self.files)  # files that have a name in any crash
        self.in_doubt: set[str] = set()  # directories of which a sync failed

    @staticmethod
    def names(disk: SimDisk, directory: str) -> dict[str, int]:
        number = disk.media.directory(ROOT).names["d"] if directory else ROOT
        node = disk.media.nodes[number]
        assert isinstance(node, DirNode)
        return {name: n for name, n in node.names.items() if isinstance(disk.media.nodes[n], FileNode)}

    def number(self, path: str) -> int:
        directory, _, name = path.rpartition("/")
        return self.names(self.disk, directory).get(name, 0)

    def note_names(self) -> None:
        for directory in DIRECTORIES:
            self.past[directory].append(self.names(self.disk, directory))

    @rule(path=paths, offset=offsets, content=contents)
    def write(self, path, offset, content):
        file = self.disk.open(path, create=True)
        versions = self.files.setdefault(self.number(path), Versions())
        self.note_names()
        before = file.read_at(0, file.size())
        file.write_at(offset, content)
        written = range(offset // S, (offset + len(content) - 1) // S + 1)
        versions.change(before, file.read_at(0, file.size()), written)

    @rule(path=paths, size=offsets)
    def truncate(self, path, size):
        if number := self.number(path):
            file = self.disk.open(path)
            before = file.read_at(0, file.size())
            file.truncate(size)
            cut = range(size // S, size // S + 1) if size % S and size < len(before) else range(0)
            self.files[number].change(before, file.read_at(0, file.size()), cut)

    @rule(path=paths)
    def sync(self, path):
        if number := self.number(path):
            self.disk.open(path).sync()
            self.files[number].sync()

    @rule(path=paths, pages=st.sampled_from(["dropped", "kept"]))
    def fail_sync(self, path, pages):
        if number := self.number(path):
            self.disk.fail_sync(self.disk.syncs + 1, pages=pages)
            try:
                self.disk.open(path).sync()
            except SyncFailed:
                self.files[number].fail()

    @rule(source=paths, new=paths)
    def rename(self, source, new):
        moved, replaced = self.number(source), self.number(new)
        if moved and source != new:
            self.disk.rename(source, new)
            self.safe.discard(replaced)
            self.note_names()

    @rule(path=paths)
    def remove(self, path):
        if number := self.number(path):
            self.disk.remove(path)
            self.safe.discard(number)
            self.note_names()

    @rule(directory=st.sampled_from(DIRECTORIES))
    def sync_dir(self, directory):
        self.disk.sync_dir(directory)
        now = self.names(self.disk, directory)
        if directory not in self.in_doubt:
            self.past[directory] = [now]
            self.safe.update(now.values())

    @rule(directory=st.sampled_from(DIRECTORIES))
    def fail_sync_dir(self, directory):
        self.disk.fail_sync(self.disk.syncs + 1)
        try:
            self.disk.sync_dir(directory)
        except SyncFailed:
            # A rename between the two makes both doubtful; the model then promises less, for this life.
            self.in_doubt.update(DIRECTORIES)

    @rule()
    def kill(self):
        self.disk.kill()

    @precondition(lambda self: self.disk.ops > 0)
    @rule(kind=st.sampled_from(CRASH_KINDS), seed=st.integers(0, 999))
    def crash(self, kind, seed):
        self.disk = self.disk.after_power_loss(kind, seed)
        self.begin()

    @invariant()
    def space_is_counted_as_it_is(self):
        assert self.disk.media.used_sectors() == self.disk.media.copy().used_sectors()

    @invariant()
    def every_crash_keeps_the_rules(self):
        for kind in CRASH_KINDS:
            self.check(self.disk.after_power_loss(kind, self.disk.ops), garbled=kind == "garbled")

    def check(self, after: SimDisk, *, garbled: bool) -> None:
        found: list[int] = []
        for directory in DIRECTORIES:
            for name, number in self.names(after, directory).items():
                assert number in [past.get(name) for past in self.past[directory]], (
                    "a name stands for what it once did"
                )
                content = read_file(after, f"{directory}/{name}".lstrip("/"))
                assert self.files[number].allows(content, garbled), "each sector and the size is one it had"
                found.append(number)
            for name, number in self.past[directory][0].items():
                if len({past.get(name) for past in self.past[directory]}) == 1:
                    assert self.names(after, directory).get(name) == number, "a durable name survives"
        assert len(found) == len({*found}), "a file has one name"
        assert self.safe <= {*found}, "a renamed file shows its old name or its new one, never neither"


TestSimIsReal = SimIsReal.TestCase
TestSimIsReal.settings = settings(max_examples=60, stateful_step_count=30)
TestCrashesKeepTheRules = CrashesKeepTheRules.TestCase
TestCrashesKeepTheRules.settings = settings(max_examples=80, stateful_step_count=30)


@pytest.mark.soak
def test_many_more_lives_keep_the_rules():
    run_state_machine_as_test(
        CrashesKeepTheRules, settings=settings(max_examples=2000, stateful_step_count=50)
    )
