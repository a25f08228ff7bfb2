"""Backups of a directory in use, and what comes back from them."""

from __future__ import annotations

import pytest
from directories import FORMAT, Directory
from record_lives import Heaps, call, edit, revision, root_of

from engine.io.disk import DiskFull, read_file, write_file_durably
from engine.io.file_blobs import FileBlobs
from engine.io.file_log import FileLog
from engine.io.real_disk import RealDisk
from engine.io.shadow_disk import ShadowDisk
from engine.io.sim_disk import SimDisk
from engine.io.sim_entropy import SimEntropy
from engine.io.sim_faults import PowerLost
from engine.record import load
from engine.record.backup import MANIFEST_FILE, BackupRefused, Manifest, back_up, restore
from engine.record.projection import Projection
from engine.record.verify import verify


@pytest.fixture
def home():
    return Directory()


def backed_up(home, target=None):
    target = SimDisk() if target is None else target
    done = back_up(home.log, home.blobs, target, SimEntropy("backup"), format_file=FORMAT, root_of=root_of)
    return target, done


def records(log) -> dict[str, list]:
    return {world: [entry for _, entry in log.read(world)] for world in log.worlds()}


def opened(disk) -> FileLog:
    return FileLog(ShadowDisk(disk), SimEntropy("opened"))


def test_a_backup_holds_every_record_and_what_they_need_and_nothing_else(home):
    home.blobs.put(b"an orphan")
    home.project().close()
    target, done = backed_up(home)
    assert records(opened(target)) == records(home.log)
    assert FileBlobs(target).names() == sorted(
        {
            home.engine_blob,
            home.data_blob,
            *(row.body.heap.blob for row in home.project().revisions("trip", 9).rows),
        }
    )
    assert read_file(target, "FORMAT") == FORMAT
    assert sorted(target.list("")) == ["BACKUP", "FORMAT", "blobs", "log"]
    assert done.report() == {
        "records": 23,
        "worlds": 3,
        "blobs": 6,
        "source_batch": home.log.head().batch,
        "copied_bytes": done.copied_bytes,
    }


def test_erased_bodies_stay_erased_and_chains_verify(home):
    home.log.seal()
    home.log.erase_bodies(lambda entry: entry.world == "gone" and entry.seq < 2)
    target, _ = backed_up(home)
    assert records(opened(target)) == records(home.log)
    assert [entry.body is None for entry in records(opened(target))["gone"]] == [True, True, False]


def test_the_source_goes_on_while_it_is_copied(home):
    """What becomes durable after the start is not in the copy, and does not disturb it."""

    class Busy(FileBlobs):
        def get(self, blob: str) -> bytes:
            home.book.write("trip", edit("busy", b"1"), call())
            return super().get(blob)

    before = records(home.log)
    done = back_up(
        home.log, Busy(home.disk), target := SimDisk(), SimEntropy(1), format_file=FORMAT, root_of=root_of
    )
    assert records(opened(target)) == before
    assert home.log.head().batch > done.source_batch
    assert verify(home.disk, SimEntropy(2), root_of=root_of) == []


def test_a_restored_backup_is_the_world_as_it_was(home):
    at = home.project().dump()
    target, done = backed_up(home)
    home.book.write("trip", revision(4, "f", heap=Heaps(home.blobs, wasm_pages=3).ref))
    back = SimDisk()
    assert restore(target, back, SimEntropy("restore"), root_of=root_of) == done.manifest
    log = FileLog(back, SimEntropy("again"))
    again = Projection(back, log).dump()
    for table in at.keys() - {"applied", "records"}:
        assert again[table] == at[table]
    assert [row[:5] for row in again["records"]] == [row[:5] for row in at["records"]]
    assert load(FileBlobs(back), home.heaps.ref.blob).memory == home.heaps.memory
    assert MANIFEST_FILE not in back.list("")


def test_restoring_changes_nothing_of_the_backup(home):
    target, _ = backed_up(home)
    ops = target.ops
    restore(target, SimDisk(), SimEntropy("restore"))
    assert target.ops == ops


def test_a_restored_directory_goes_on_and_can_be_backed_up_again(home):
    target, _ = backed_up(home)
    for _ in range(3):
        back = SimDisk()
        restore(target, back, SimEntropy("restore"))
        again = Directory.__new__(Directory)
        again.log, again.blobs = FileLog(back, SimEntropy("again")), FileBlobs(back)
        again.log.append([home.book.entry("trip", edit("a", b"1"))])
        target, done = backed_up(again)
        assert done.manifest.records == sum(map(len, records(again.log).values()))


@pytest.mark.parametrize("name", ["file", "dir/file"])
def test_a_target_that_is_not_empty_is_refused_and_untouched(home, name):
    target = SimDisk()
    target.make_dir("dir")
    write_file_durably(target, name, b"mine")
    ops = target.ops
    with pytest.raises(BackupRefused, match=r"not empty \(it holds dir"):
        backed_up(home, target)
    whole, _ = backed_up(home)
    with pytest.raises(BackupRefused, match="not empty"):
        restore(whole, target, SimEntropy(1))
    assert target.ops == ops


def test_what_is_no_backup_is_refused(home):
    home.close()
    with pytest.raises(
        BackupRefused, match="BACKUP is missing: this is no backup, or one that was not finished"
    ):
        restore(home.disk, SimDisk(), SimEntropy(1))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "does not read as one"),
        (b"\xff", "does not read as one"),
        (b'{"format": 1}', "does not read as one"),
        (
            b'{"format":2,"records":1,"worlds":1,"blobs":1,"head_batch":1,"head_hash":""}',
            "format 2; this version reads 1",
        ),
    ],
)
def test_a_foreign_manifest_is_refused(home, content, reason):
    target, _ = backed_up(home)
    write_file_durably(target, MANIFEST_FILE, content)
    with pytest.raises(BackupRefused, match=reason):
        restore(target, SimDisk(), SimEntropy(1))


def test_a_backup_whose_log_is_another_is_refused(home):
    target, _ = backed_up(home)
    home.book.write("trip", edit("a", b"1"))
    other, _ = backed_up(home)
    write_file_durably(other, MANIFEST_FILE, read_file(target, MANIFEST_FILE))
    with pytest.raises(BackupRefused, match="it is not the log of this backup"):
        restore(other, SimDisk(), SimEntropy(1))


def test_a_rotten_backup_is_refused_and_nothing_is_copied(home):
    target, _ = backed_up(home)
    paths = [f"blobs/{home.data_blob[:2]}/{home.data_blob}", "log/0000000001.seg"]
    for path in paths:
        content = read_file(target, path)
        write_file_durably(target, path, content[:5000].replace(content[40:44], b"????", 1) + content[5000:])
        back = SimDisk()
        with pytest.raises(BackupRefused, match="the backup is not sound, so nothing was copied"):
            restore(target, back, SimEntropy(1), root_of=root_of)
        assert back.list("") == []
        write_file_durably(target, path, content)
    restore(target, SimDisk(), SimEntropy(1), root_of=root_of)


def test_a_source_that_is_not_sound_is_no_backup(home):
    home.blobs.remove(home.data_blob)
    with pytest.raises(Exception, match=home.data_blob):
        backed_up(home, target := SimDisk())
    assert MANIFEST_FILE not in target.list("")


def test_a_backup_that_was_cut_off_at_any_point_is_no_backup(home):
    whole, done = backed_up(home)
    for op in range(1, whole.ops + 1, 2):
        target = SimDisk()
        target.crash_at(op)
        with pytest.raises(PowerLost):
            backed_up(home, target)
        for kind in ("lost", "kept"):
            left = target.after_power_loss(kind)
            if left.exists(MANIFEST_FILE):  # named, though its name was not durable yet: then all is there
                assert op >= whole.ops - 1
                assert restore(left, SimDisk(), SimEntropy(1)) == done.manifest
            else:
                with pytest.raises(BackupRefused):
                    restore(left, SimDisk(), SimEntropy(1))
    assert restore(whole.after_power_loss("lost"), SimDisk(), SimEntropy(1)) == done.manifest


def test_a_full_target_is_said_and_is_no_backup(home):
    target = SimDisk(capacity_bytes=20 * 4096)
    with pytest.raises(DiskFull):
        backed_up(home, target)
    assert MANIFEST_FILE not in target.list("")


def test_a_manifest_is_json_for_people(home):
    target, done = backed_up(home)
    text = read_file(target, MANIFEST_FILE).decode()
    assert text.startswith('{\n  "format": 1,\n  "records": 23,\n')
    assert done.manifest == Manifest(1, 23, 3, 6, 1, done.manifest.head_hash)


def test_it_works_on_real_disks(tmp_path):
    home = Directory(RealDisk(tmp_path / "home"))
    target, done = backed_up(home, RealDisk(tmp_path / "backup"))
    back = RealDisk(tmp_path / "back")
    assert restore(target, back, SimEntropy(1), root_of=root_of) == done.manifest
    for disk in (home.disk, target, back):
        disk.close()
