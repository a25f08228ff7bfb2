"""Every crash of a log and the blobs that its records name: what opens is a prefix, and no blob is torn or missing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.io import sim_disk
from engine.io.blobs import BlobError
from engine.io.crash_images import CRASH_KINDS
from engine.io.file_blobs import FileBlobs
from engine.io.log import LogError
from engine.io.sim_file import SimFile
from faults.orders import images


def test_every_image_of_a_log_and_its_blobs_opens_with_all_that_was_acknowledged():
    found = {images.check(point, disk) for point, disk in images.images()}
    assert found == set(range(len(images.lived().batches) + 1)), "crashes left every length there is"


@pytest.mark.soak
def test_many_images_of_a_log_and_its_blobs_open_with_all_that_was_acknowledged():
    count = 0
    for seed in range(1, 40):
        for point, disk in images.images(seed):
            images.check(point, disk)
            count += 1
    assert count == 39 * len(CRASH_KINDS) * (len(images.lived().disk.trace) + 1)


def name_no_blob_durably(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FileBlobs, "_sync_shelves", lambda blobs, names: None)


def sync_no_file(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SimFile, "sync", lambda file: None)


def sync_no_directory(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sim_disk.SimDisk, "sync_dir", lambda disk, path: None)


@pytest.mark.parametrize("plant", [name_no_blob_durably, sync_no_file, sync_no_directory])
def test_a_sync_that_is_left_out_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
):
    images.lived.cache_clear()
    plant(monkeypatch)
    try:
        images.lived()
        monkeypatch.undo()  # who opens is sound
        with pytest.raises((AssertionError, LogError, BlobError)):
            for point, disk in images.images():
                images.check(point, disk)
    finally:
        images.lived.cache_clear()
