"""One contract for every store of blobs, then what files add: a name is durable before anything can hold it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.ids import content_id
from engine.io.blobs import BlobMissing, BlobRotten
from engine.io.crash_images import CRASH_KINDS
from engine.io.disk import DiskError, DiskFull, SyncFailed, read_file
from engine.io.file_blobs import FileBlobs
from engine.io.mem_blobs import MemBlobs
from engine.io.real_disk import RealDisk
from engine.io.sim_disk import SimDisk, crash_images
from engine.io.sim_faults import PowerLost

CONTENTS = (b"", b"a", b"b" * 5000, bytes(range(256)) * 40)


@pytest.fixture(params=["memory", "files_sim", "files_real"])
def blobs(request, tmp_path):
    if request.param == "memory":
        yield MemBlobs()
    elif request.param == "files_sim":
        yield FileBlobs(SimDisk())
    else:
        disk = RealDisk(tmp_path)
        yield FileBlobs(disk)
        disk.close()


def path_of(blob: str) -> str:
    return f"blobs/{blob[:2]}/{blob}"


# ---- the contract


@pytest.mark.parametrize("content", CONTENTS, ids=len)
def test_a_blob_is_named_by_its_content_and_comes_back(blobs, content):
    blob = blobs.put(content)
    assert blob == content_id(content)
    assert blobs.get(blob) == content
    assert blobs.has(blob)
    assert blobs.size_bytes(blob) == len(content)


def test_putting_many_names_each_in_order_and_the_same_twice(blobs):
    names = blobs.put_many([b"x", b"y", b"x", b""])
    assert names == [content_id(content) for content in (b"x", b"y", b"x", b"")]
    assert blobs.put_many(iter([b"y"])) == [names[1]]
    assert blobs.put_many([]) == []
    assert blobs.names() == sorted({*names})


def test_names_are_sorted(blobs):
    names = [blobs.put(b"%d" % n) for n in range(50)]
    assert blobs.names() == sorted(names)


def test_a_removed_blob_is_missing_and_can_be_put_again(blobs):
    blob = blobs.put(b"x")
    blobs.remove(blob)
    assert not blobs.has(blob) and blobs.names() == []
    for use in (blobs.get, blobs.size_bytes, blobs.remove):
        with pytest.raises(BlobMissing) as missing:
            use(blob)
        assert missing.value.blob == blob
    assert blobs.put(b"x") == blob
    assert blobs.get(blob) == b"x"


@pytest.mark.parametrize(
    "name", ["", "..", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 65, "0" * 64 + "\n"]
)
def test_what_is_no_name_is_no_blob(blobs, name):
    with pytest.raises(BlobMissing):
        blobs.get(name)


# ---- files


def test_each_blob_is_a_file_on_the_shelf_of_its_first_two_digits():
    disk = SimDisk()
    blob = FileBlobs(disk).put(b"x")
    assert read_file(disk, path_of(blob)) == b"x"
    assert disk.list("blobs/new") == []


def test_a_blob_is_durable_when_it_has_a_name():
    disk = SimDisk(sector_bytes=512)
    blobs = FileBlobs(disk)
    acknowledged: list[tuple[int, str]] = []
    for batch in range(6):
        names = blobs.put_many([b"%d/%d" % (batch, n) * 300 for n in range(batch % 3 + 1)])
        acknowledged += [(disk.ops, name) for name in names]
    for (at, *rest), image in crash_images(disk.trace, seeds=range(3)):
        reopened = FileBlobs(image)
        assert [name for op, name in acknowledged if op <= at and not reopened.has(name)] == [], (at, rest)
        assert [str(problem) for problem in reopened.problems()] == []
        assert image.list("blobs/new") == []


def test_a_blob_found_after_a_kill_is_durable_before_it_is_given_out_again():
    for op in range(1, 40):
        disk = SimDisk()
        disk.crash_at(op)
        try:
            FileBlobs(disk).put(b"content")
        except PowerLost:
            pass
        disk.kill()
        blob = FileBlobs(disk).put(b"content")
        assert FileBlobs(disk.after_power_loss("lost")).get(blob) == b"content"


@pytest.mark.parametrize("pages", ["dropped", "kept"])
@pytest.mark.parametrize("restart", [False, True])
def test_no_failed_sync_leaves_a_name_that_a_crash_takes_away(pages, restart):
    whole = SimDisk()
    FileBlobs(whole).put_many(CONTENTS)
    for nth in range(1, whole.syncs + 1):
        disk = SimDisk()
        disk.fail_sync(nth, pages=pages)
        blobs = None
        with pytest.raises(SyncFailed):
            blobs = FileBlobs(disk)
            blobs.put_many(CONTENTS)
        if restart or blobs is None:
            disk.kill()
            blobs = FileBlobs(disk)
        assert blobs.names() == []
        names = blobs.put_many(CONTENTS)
        for kind in CRASH_KINDS:
            for seed in range(3):
                after = FileBlobs(disk.after_power_loss(kind, seed))
                assert [after.get(name) for name in names] == list(CONTENTS), (nth, kind, seed)


def test_a_full_disk_leaves_nothing_behind_and_what_was_there_is_safe():
    contents = [b"%d" % n * 5000 for n in range(3)]
    whole = SimDisk(sector_bytes=512)
    before = FileBlobs(whole).put(b"before")
    first = whole.ops + 1
    FileBlobs(whole).put_many(contents)
    for op in range(first, whole.ops + 1):
        disk = SimDisk(sector_bytes=512)
        blobs = FileBlobs(disk)
        assert blobs.put(b"before") == before
        disk.fill_up_at(op)
        try:
            blobs.put_many(contents)
        except DiskFull:
            assert blobs.names() == [before]
            assert disk.list("blobs/new") == []
        disk.heal()
        names = blobs.put_many(contents)
        after = FileBlobs(disk.after_power_loss("lost"))
        assert [after.get(name) for name in [*names, before]] == [*contents, b"before"]


def test_what_an_unfinished_put_left_is_removed_at_opening():
    disk = SimDisk()
    blobs = FileBlobs(disk)
    disk.crash_at(disk.ops + 4)
    with pytest.raises(PowerLost):
        blobs.put(b"content")
    disk.kill()
    blobs = FileBlobs(disk)
    assert blobs.leftovers_removed == 1
    assert disk.list("blobs/new") == []
    assert FileBlobs(disk).leftovers_removed == 0


def test_putting_again_writes_nothing():
    disk = SimDisk()
    blobs = FileBlobs(disk)
    blobs.put_many(CONTENTS)
    before = disk.ops
    blobs.put_many(CONTENTS)
    assert disk.ops == before


def test_many_puts_sync_each_directory_once():
    disk = SimDisk()
    blobs = FileBlobs(disk)
    contents = [b"%d" % n for n in range(400)]
    blobs.put_many(contents)
    shelves = len({content_id(content)[:2] for content in contents})
    before = disk.syncs
    blobs.put_many([b"again %d" % n for n in range(400)])
    again = len({content_id(b"again %d" % n)[:2] for n in range(400)} - {content_id(c)[:2] for c in contents})
    touched = len({content_id(b"again %d" % n)[:2] for n in range(400)})
    assert disk.syncs - before == 400 + touched + again
    assert before == 2 + 400 + 2 * shelves


@given(st.binary(min_size=1, max_size=600), st.data())
@settings(max_examples=50)
def test_any_flipped_bit_is_noticed_and_nothing_is_erased(content, data):
    disk = SimDisk(sector_bytes=512)
    blobs = FileBlobs(disk)
    blob = blobs.put(content)
    disk.flip_bit(path_of(blob), data.draw(st.integers(0, len(content) * 8 - 1)))
    rotten = read_file(disk, path_of(blob))
    with pytest.raises(BlobRotten, match="holds other bytes than its name says; bring it back from a backup"):
        blobs.get(blob)
    assert [problem.blob for problem in blobs.problems()] == [blob]
    assert read_file(disk, path_of(blob)) == rotten
    assert blobs.put(content) == blob
    after = FileBlobs(disk.after_power_loss("lost"))
    assert after.get(blob) == content
    assert read_file(disk, f"blobs/rotten/{blob}.1") == rotten


def test_a_shortened_or_misnamed_file_is_noticed():
    disk = SimDisk()
    blobs = FileBlobs(disk)
    one, two, three = blobs.put_many([b"one", b"two", b"three"])
    disk.open(path_of(one)).truncate(2)
    disk.rename(path_of(two), path_of(two)[:-4] + "beef")
    disk.open(f"blobs/{three[:2]}/notes.txt", create=True)
    assert sorted(problem.blob for problem in blobs.problems()) == sorted(
        [one, two[:-4] + "beef", "notes.txt"]
    )
    assert "notes.txt" not in blobs.names()


def test_an_unreadable_blob_is_a_problem_and_not_the_end(tmp_path):
    disk = RealDisk(tmp_path)
    blobs = FileBlobs(disk)
    blob = blobs.put(b"x")
    (tmp_path / path_of(blob)).unlink()
    (tmp_path / path_of(blob)).symlink_to("/dev/null")
    (problem,) = blobs.problems()
    assert "symbolic link" in str(problem)
    with pytest.raises(DiskError):
        blobs.get(blob)
