"""One segment of the log on a disk: reading its batches, from front to back or at their places."""

from __future__ import annotations

from engine.io.disk import Disk, File
from engine.io.log import LogRotten
from engine.io.log_format import (
    BATCH_HEADER_BYTES,
    SEAL,
    BadBatch,
    Batch,
    RawBatch,
    SegmentHeader,
    batch_size_bytes,
    is_zero,
    parse_batch,
    unpack_batch,
)
from engine.io.log_index import SegmentIndex
from engine.limits import LOG_READ_AHEAD_BYTES, SECTOR_BYTES

RESTORE = "restore the directory from a backup; `pw doctor` lists all that is wrong, and nothing was changed"


def segment_path(directory: str, number: int) -> str:
    return f"{directory}/{number:010d}.seg"


def index_path(directory: str, number: int) -> str:
    return f"{directory}/{number:010d}.idx"


def head_path(directory: str) -> str:
    return f"{directory}/HEAD"


def aside_path(directory: str) -> str:
    return f"{directory}/aside"


class Segment:
    """One segment as it can be read; `whole` unless something in it was reported as rot.

    It ends with its last batch. A seal may follow, and what a crash or a failed write left; neither is part of it.
    """

    __slots__ = ("header", "index", "path", "whole")

    def __init__(self, path: str, header: SegmentHeader, index: SegmentIndex) -> None:
        self.path = path
        self.header = header
        self.index = index
        self.whole = True

    def head(self) -> tuple[int, bytes]:
        """The number and hash of its last batch, or of the one before the segment."""
        count = self.index.count
        hash_ = self.index.hash_at(count - 1) if count else self.header.hash_before
        return self.index.batch_before + count, hash_

    def tail_bytes(self, file: File) -> int:
        """Where that which is neither batch nor seal begins, whether or not there is any."""
        end_bytes = self.index.end_bytes
        try:
            content = file.read_at(end_bytes, SECTOR_BYTES)
            raw = parse_batch(content, key=self.header.key, offset_bytes=end_bytes)
        except BadBatch:
            return end_bytes
        is_seal = raw.kind == SEAL and (raw.number, raw.hash) == self.head()
        return end_bytes + raw.size_bytes if is_seal else end_bytes

    def read_batch(self, file: File, position: int) -> Batch:
        """Raises LogRotten."""
        offset, size_bytes = self.index.span(position)
        return self.unpack(file.read_at(offset, size_bytes), offset)

    def read_some(self, file: File, position: int) -> list[Batch]:
        """The batches from a position on that one read of some size brings; at least one. Raises LogRotten."""
        index = self.index
        start, size_bytes = index.span(position)
        upto = position + 1
        while upto < index.count and size_bytes + index.span(upto)[1] <= LOG_READ_AHEAD_BYTES:
            size_bytes += index.span(upto)[1]
            upto += 1
        content = file.read_at(start, size_bytes)
        spans = [index.span(at) for at in range(position, upto)]
        return [self.unpack(content[at - start : at - start + size], at) for at, size in spans]

    def unpack(self, content: bytes, offset_bytes: int) -> Batch:
        """The batch that `content`, read at this offset, holds. Raises LogRotten."""
        try:
            return unpack_batch(parse_batch(content, key=self.header.key, offset_bytes=offset_bytes))
        except BadBatch as bad:
            raise LogRotten(f"{bad.reason}; {RESTORE}", file=self.path, offset_bytes=offset_bytes) from bad


def read_span(disk: Disk, path: str, offset_bytes: int, size_bytes: int) -> bytes:
    file = disk.open(path)
    try:
        return file.read_at(offset_bytes, size_bytes)
    finally:
        file.close()


def index_batches(disk: Disk, segment: Segment, end_bytes: int) -> str:
    """Read batches from the start while they are whole and chained; why it stopped."""
    window = Window(disk, segment.path, end_bytes)
    index, hash_ = segment.index, segment.header.hash_before
    try:
        while index.end_bytes < end_bytes:
            raw = window.batch_at(index.end_bytes, segment.header.key)
            if raw.kind == SEAL:
                return f"a seal of batch {raw.number} follows batch {index.last_batch}"
            if (raw.number, raw.previous) != (index.last_batch + 1, hash_):
                return f"batch {raw.number} does not follow batch {index.last_batch}"
            index.add(unpack_batch(raw), raw.size_bytes)
            hash_ = raw.hash
        return "nothing follows the last batch"
    except BadBatch as bad:
        return bad.reason
    finally:
        window.close()


class Window:
    """Reading a file from front to back in large pieces."""

    def __init__(self, disk: Disk, path: str, size_bytes: int) -> None:
        self.file: File = disk.open(path)
        self._size_bytes = size_bytes
        self._start = 0
        self._content = b""

    def read(self, offset_bytes: int, length_bytes: int) -> bytes:
        """As much of the length as there is before the end."""
        length_bytes = min(length_bytes, self._size_bytes - offset_bytes)
        at = offset_bytes - self._start
        if at < 0 or at + length_bytes > len(self._content):
            self._start, at = offset_bytes, 0
            ahead = min(max(length_bytes, LOG_READ_AHEAD_BYTES), self._size_bytes - offset_bytes)
            self._content = self.file.read_at(offset_bytes, ahead)
        return self._content[at : at + length_bytes]

    def batch_at(self, offset_bytes: int, key: bytes) -> RawBatch:
        """Raises BadBatch."""
        size_bytes = batch_size_bytes(self.read(offset_bytes, BATCH_HEADER_BYTES))
        content = self.read(offset_bytes, max(size_bytes, SECTOR_BYTES))
        return parse_batch(content, key=key, offset_bytes=offset_bytes)

    def is_zero(self, from_bytes: int, to_bytes: int) -> bool:
        step = LOG_READ_AHEAD_BYTES
        return all(is_zero(self.read(at, step)) for at in range(from_bytes, to_bytes, step))

    def close(self) -> None:
        self.file.close()
