"""Reading a log directory and judging it, changing nothing: what opening rests on and what verifying reports.

The rule for the end of the last segment: an unreadable piece past the last batch known to be durable is a write that
a crash tore, unless an authentic batch follows it. Everything else that is not as it was written is rot.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from engine.io.disk import Disk, FileMissing, read_file
from engine.io.log import LogError, LogForeign, LogRotten
from engine.io.log_format import (
    BATCH_MAGIC,
    EMPTY_HASH,
    HEAD_FILE_BYTES,
    BadBatch,
    HeadMark,
    SegmentHeader,
    decode_head_slot,
    decode_segment_header,
    is_zero,
)
from engine.io.log_index import SegmentIndex, decode_index
from engine.io.log_segment import (
    RESTORE,
    Segment,
    Window,
    head_path,
    index_batches,
    index_path,
    read_span,
    segment_path,
)
from engine.limits import SECTOR_BYTES

Report = Callable[[LogError], None]
_SEGMENT_NAME = re.compile(r"(\d{10})\.seg\Z")


def raise_it(error: LogError) -> None:
    raise error


class Survey(NamedTuple):
    """A log directory as it was found. `mark` is None for a directory without a log.

    `durable_batch` is certain to be durable; batches of the last segment past it may be in the page cache alone.
    `torn_at_bytes` is where unreadable bytes begin in the last segment, -1 where there are none. Only where it has
    `ended`, by a seal or because it was written again, can no batch turn up in it later.
    `damage` is what is wrong and not needed: half of the head file, an index beside a segment. `unindexed` are the
    segments that ended and have no good index beside them.
    """

    mark: HeadMark | None
    segments: list[Segment]
    durable_batch: int
    torn_at_bytes: int
    ended: bool
    mark_damaged: bool
    damage: list[LogError]
    unindexed: list[Segment]


def survey(disk: Disk, directory: str, *, report: Report = raise_it, use_indexes: bool = True) -> Survey:
    """Read the log. `report` gets each thing that is wrong; where it returns, the survey goes on.

    With `use_indexes` the segments that ended are taken from the files beside them where those match.
    """
    numbers = _segment_numbers(disk, directory)
    mark, mark_error = read_mark(disk, directory)
    damage: list[LogError] = []
    if mark is not None and mark_error is not None:
        damage.append(mark_error)
    elif mark_error is not None:
        report(mark_error)
    else:
        _check_presence(directory, mark, numbers, report)
    headers = _read_headers(disk, directory, numbers, mark, report)
    segments: list[Segment] = []
    unindexed: list[Segment] = []
    torn_at, ended = -1, True
    for place, header in enumerate(headers):
        following = next((h for h in headers[place + 1 :][:1] if h.number == header.number + 1), None)
        _check_follows(directory, segments[-1] if segments else None, header, report)
        end_bytes = header.end_bytes or (following.previous_end_bytes if following else 0)
        segment = Segment(segment_path(directory, header.number), header, SegmentIndex(header.batch_before))
        if end_bytes:
            ended = True
            index = _index_beside(disk, directory, header, damage)
            if index is None:
                unindexed.append(segment)
            _read_ended(disk, segment, end_bytes, index if use_indexes else None, report)
        else:
            torn_at, ended = _read_last(disk, segment, mark, report)
        segments.append(segment)
    durable = mark.batch if mark else 0
    if segments:
        last = segments[-1]
        durable = max(durable, last.index.last_batch if last.header.end_bytes else last.header.batch_before)
        if mark is not None and last.whole and last.header.number == numbers[-1]:
            _check_mark(directory, mark, segments, report)
    return Survey(mark, segments, durable, torn_at, ended, mark_error is not None, damage, unindexed)


def verify_log(disk: Disk, directory: str, *, full: bool = True) -> list[LogError]:
    """All that is wrong with a log directory, each with file and offset; nothing is changed and no lock needed.

    With `full` every byte is read; else the segments that ended are taken from the files beside them.
    """
    problems: list[LogError] = []
    found = survey(disk, directory, report=problems.append, use_indexes=not full)
    problems += found.damage
    return problems


# The head file


def read_mark(disk: Disk, directory: str) -> tuple[HeadMark | None, LogError | None]:
    """The newest mark, and what is wrong with the file. (None, None) where no head file was ever written."""
    path = head_path(directory)
    try:
        content = read_file(disk, path)
    except FileMissing:
        return None, None
    if is_zero(content):
        return None, None
    marks: list[HeadMark] = []
    errors: list[LogError] = []
    for offset in range(0, HEAD_FILE_BYTES, SECTOR_BYTES):
        try:
            marks.append(decode_head_slot(content[offset : offset + SECTOR_BYTES], path, offset))
        except LogError as error:
            errors.append(error)
    if len(content) != HEAD_FILE_BYTES:
        errors.append(
            LogRotten(
                f"has {len(content)} bytes, not {HEAD_FILE_BYTES}", file=path, offset_bytes=len(content)
            )
        )
    if not marks:
        return None, next((error for error in errors if isinstance(error, LogForeign)), errors[0])
    return max(marks, key=lambda mark: mark.batch), errors[0] if errors else None


def _check_mark(directory: str, mark: HeadMark, segments: list[Segment], report: Report) -> None:
    """Invariant 2: the log holds what the head file claims."""
    found = hash_of(segments, mark.batch)
    last = segments[-1]
    if found is None:
        report(
            LogRotten(
                f"the log ends here with batch {last.index.last_batch}, but {head_path(directory)} knows that batch "
                f"{mark.batch} was durable; {RESTORE}",
                file=last.path,
                offset_bytes=last.index.end_bytes,
            )
        )
    elif found != mark.hash:
        report(
            LogRotten(
                f"batch {mark.batch} has hash {mark.hash.hex()} here and {found.hex()} in the segments; {RESTORE}",
                file=head_path(directory),
                offset_bytes=0,
            )
        )


def hash_of(segments: list[Segment], batch: int) -> bytes | None:
    """The hash of a batch, by its number; None where it is not there."""
    if batch == 0:
        return EMPTY_HASH
    for segment in reversed(segments):
        if batch > segment.index.last_batch:
            return None
        if batch > segment.index.batch_before:
            return segment.index.hash_at(batch - segment.index.batch_before - 1)
    return None


# Segments


def _segment_numbers(disk: Disk, directory: str) -> list[int]:
    matches = (_SEGMENT_NAME.match(name) for name in disk.list(directory))
    return sorted(int(match[1]) for match in matches if match)


def _check_presence(directory: str, mark: HeadMark | None, numbers: list[int], report: Report) -> None:
    if mark is None and numbers:
        report(
            LogRotten(
                f"the head file is missing or empty, though there are {len(numbers)} segments; {RESTORE}",
                file=head_path(directory),
                offset_bytes=0,
            )
        )
    if mark is not None and mark.batch and not numbers:
        report(
            LogRotten(
                f"knows that batch {mark.batch} was durable, but there is no segment; {RESTORE}",
                file=head_path(directory),
                offset_bytes=0,
            )
        )
    present = frozenset(numbers)
    for number in range(1, max(numbers, default=0)):
        if number not in present:
            report(
                LogRotten(
                    f"the segment is missing, though later ones are there; {RESTORE}",
                    file=segment_path(directory, number),
                    offset_bytes=0,
                )
            )


def _read_headers(
    disk: Disk, directory: str, numbers: list[int], mark: HeadMark | None, report: Report
) -> list[SegmentHeader]:
    headers = []
    for number in numbers:
        path = segment_path(directory, number)
        try:
            header = decode_segment_header(read_span(disk, path, 0, SECTOR_BYTES), path)
            if mark is not None and header.log_id != mark.log_id:
                raise LogForeign(
                    f"belongs to log {header.log_id.hex()}, this is log {mark.log_id.hex()}",
                    file=path,
                    offset_bytes=0,
                )
            if header.number != number:
                raise LogRotten(f"holds segment {header.number}; {RESTORE}", file=path, offset_bytes=0)
        except LogError as error:
            report(error)
        else:
            headers.append(header)
    return headers


def _check_follows(directory: str, before: Segment | None, header: SegmentHeader, report: Report) -> None:
    """A segment goes on where the one before it ended."""
    if (before.header.number if before else 0) != header.number - 1 or (before and not before.whole):
        return  # the cause was reported
    batch, hash_ = before.head() if before else (0, EMPTY_HASH)
    if (batch, hash_) != (header.batch_before, header.hash_before):
        report(
            LogRotten(
                f"goes on after batch {header.batch_before} with hash {header.hash_before.hex()}, but the segment "
                f"before it ends with batch {batch} and hash {hash_.hex()}; {RESTORE}",
                file=segment_path(directory, header.number),
                offset_bytes=0,
            )
        )


def _read_ended(
    disk: Disk, segment: Segment, end_bytes: int, index: SegmentIndex | None, report: Report
) -> None:
    """Index a segment whose end is known, or take this index: up to there all must be as it was written."""
    size_bytes = disk.size(segment.path)
    if index is not None and index.end_bytes == end_bytes <= size_bytes:
        segment.index = index
        return
    stop = index_batches(disk, segment, end_bytes)
    if segment.index.end_bytes != end_bytes:
        segment.whole = False
        report(
            LogRotten(
                f"{stop}, though the segment is known to go on to byte {end_bytes}; {RESTORE}",
                file=segment.path,
                offset_bytes=segment.index.end_bytes,
            )
        )


def _index_beside(
    disk: Disk, directory: str, header: SegmentHeader, damage: list[LogError]
) -> SegmentIndex | None:
    """The index that is kept beside a segment, where there is one that belongs to it."""
    path = index_path(directory, header.number)
    if not disk.exists(path):
        return None
    try:
        return decode_index(read_file(disk, path), header)
    except ValueError as error:
        damage.append(
            LogRotten(f"{error}; the index is made anew from its segment", file=path, offset_bytes=0)
        )
        return None


def _read_last(disk: Disk, segment: Segment, mark: HeadMark | None, report: Report) -> tuple[int, bool]:
    """Index the last segment and judge what follows its last batch.

    Where unreadable bytes begin, or -1; and whether a seal ends it.
    """
    size_bytes = disk.size(segment.path)
    stop = index_batches(disk, segment, size_bytes)
    end_bytes = segment.index.end_bytes
    rest = Window(disk, segment.path, size_bytes)
    try:
        tail_bytes = segment.tail_bytes(rest.file)
        later = _authentic_after(rest, segment.header.key, tail_bytes, size_bytes)
        clean = rest.is_zero(tail_bytes, size_bytes)
    finally:
        rest.close()
    if later is not None:
        segment.whole = False
        report(
            LogRotten(
                f"{stop}, but a batch of this log follows at byte {later}; {RESTORE}",
                file=segment.path,
                offset_bytes=end_bytes,
            )
        )
    elif mark is not None and mark.batch > segment.index.last_batch:
        clean = True  # reported with the head file
    return -1 if clean else tail_bytes, tail_bytes > end_bytes


def _authentic_after(window: Window, key: bytes, from_bytes: int, size_bytes: int) -> int | None:
    """The offset of the first batch of this segment that is no continuation, wherever it was meant to be."""
    for offset in range(from_bytes, size_bytes, SECTOR_BYTES):
        if window.read(offset, len(BATCH_MAGIC)) != BATCH_MAGIC:
            continue
        try:
            window.batch_at(offset, key)
            return offset
        except BadBatch as bad:
            if bad.authentic:
                return offset
    return None
