"""Opening a log: what a survey found is made certain before anyone sees it. Nothing is erased."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from engine.ids import content_id
from engine.io.disk import Disk, DiskError, DiskFull, parent_of, read_file, write_file_durably
from engine.io.log import LogError, LogFailed
from engine.io.log_format import Batch
from engine.io.log_index import SegmentIndex
from engine.io.log_mark import MarkFile, Reserve
from engine.io.log_segment import aside_path, head_path, read_span
from engine.io.log_segments import Segments
from engine.io.log_survey import Survey

_T = TypeVar("_T")


class Opening(NamedTuple):
    """What opening did: batches written again, files set aside, and damage that it could work around."""

    carried_batches: int
    set_aside: tuple[str, ...]
    found: tuple[LogError, ...]


def settle(
    disk: Disk, directory: str, found: Survey, segments: Segments, marks: MarkFile, reserve: Reserve
) -> Opening:
    """Make durable what `found` describes, in `segments` and `marks`. Raises LogFailed."""

    def with_reserve(step: Callable[[], _T]) -> _T:
        """Do it; where the disk is full, once more with the reserve given up."""
        try:
            return step()
        except DiskFull:
            if not reserve.release():
                raise
            return step()

    carried = _take_uncertain_batches(disk, found)
    try:
        if found.mark is None:
            with_reserve(lambda: _make_directory(disk, directory))
        set_aside = with_reserve(lambda: _set_aside(disk, directory, found))
        if carried or found.torn_at_bytes >= 0:
            with_reserve(lambda: segments.begin(carried))
        elif not found.ended:
            _decide_the_end(segments)
        with_reserve(lambda: _mark_head(found, segments, marks))
    except DiskError as error:
        raise LogFailed(
            f"the log could not be opened, though nothing of it is lost: {error}; make room or mend the disk, "
            "then start again"
        ) from error
    for segment in found.unindexed:
        segments.keep_index(segment)
    return Opening(len(carried), set_aside, tuple(found.damage))


def _take_uncertain_batches(disk: Disk, found: Survey) -> list[Batch]:
    """Take off the last segment the batches that may not be durable, to write them again."""
    if not found.segments or found.segments[-1].index.last_batch <= found.durable_batch:
        return []
    last = found.segments[-1]
    whole, last.index = last.index, SegmentIndex(last.index.batch_before)
    carried: list[Batch] = []
    file = disk.open(last.path)
    try:
        for position in range(whole.count):
            offset_bytes, size_bytes = whole.span(position)
            batch = last.unpack(file.read_at(offset_bytes, size_bytes), offset_bytes)
            if batch.number <= found.durable_batch:
                last.index.add(batch, size_bytes)
            else:
                carried.append(batch)
    finally:
        file.close()
    return carried


def _decide_the_end(segments: Segments) -> None:
    """Begin a segment, so that a batch whose sync failed cannot turn up after having been absent.

    On a full disk the first append does it; until then the log can be read at least.
    """
    try:
        segments.begin()
    except DiskFull:
        pass


def _make_directory(disk: Disk, directory: str) -> None:
    """Make the directory durable by name, also where an opening that failed has left it.

    A name that was there when a sync failed may be in the cache alone, and no later sync tells; so it is given
    anew. The same goes for the head file and for segments, which always get their names by a rename.
    """
    aside = directory + ".new"
    if not disk.is_dir(directory):
        disk.make_dir(directory)
    elif not disk.exists(aside):
        disk.rename(directory, aside)
        disk.rename(aside, directory)
    path = directory
    while path:
        path = parent_of(path)
        disk.sync_dir(path)


def _mark_head(found: Survey, segments: Segments, marks: MarkFile) -> None:
    """Remember the head durably; where the disk is full, in the file that is there."""
    try:
        marks.replace(*segments.head())
    except DiskFull:
        if found.mark is None or found.mark_damaged:
            raise
        marks.reopen(*segments.head())


def _set_aside(disk: Disk, directory: str, found: Survey) -> tuple[str, ...]:
    """Copy what is unreadable, so that nothing that is done later can erase it; the copies' paths."""
    pieces: list[tuple[str, bytes]] = []
    if found.torn_at_bytes >= 0:
        last, start = found.segments[-1], found.torn_at_bytes
        content = read_span(disk, last.path, start, disk.size(last.path) - start)
        pieces.append((f"{last.header.number:010d}-{start:010d}", content))
    if found.mark_damaged:
        pieces.append(("HEAD", read_file(disk, head_path(directory))))
    if not pieces:
        return ()
    aside = aside_path(directory)
    disk.make_dir(aside)
    disk.sync_dir(directory)
    paths = []
    for name, content in pieces:
        paths.append(f"{aside}/{name}-{content_id(content)[:16]}.bin")
        write_file_durably(disk, paths[-1], content)
    return tuple(paths)
