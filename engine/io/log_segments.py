"""The segments of an open log: the list of them, the one that is appended to, and finding batches in them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from fastrlock.rlock import FastRLock

from engine.io.disk import Disk, DiskError, File, write_file_durably
from engine.io.entropy import Entropy
from engine.io.log import LogError
from engine.io.log_format import (
    EMPTY_HASH,
    KEY_BYTES,
    Batch,
    SegmentHeader,
    encode_batch,
    encode_seal,
    encode_segment_header,
)
from engine.io.log_index import SegmentIndex, encode_index
from engine.io.log_segment import Segment, index_path, segment_path
from engine.limits import LOG_CACHE_BYTES, SECTOR_BYTES


class Segments:
    """What is appended goes to the last segment while that is `active`, else to one that is begun."""

    def __init__(
        self, disk: Disk, entropy: Entropy, directory: str, log_id: bytes, segments: list[Segment]
    ) -> None:
        self._disk = disk
        self._entropy = entropy
        self._directory = directory
        self._log_id = log_id
        self._segments = segments
        self._active: File | None = None
        self._swap = FastRLock()  # a segment's file and its entry in the list change together
        self._cache: dict[int, tuple[Batch, int]] = {}
        self._cache_bytes = 0

    @property
    def active(self) -> bool:
        return self._active is not None

    @property
    def last(self) -> Segment:
        return self._segments[-1]

    def all(self) -> list[Segment]:
        return list(self._segments)

    def ended(self) -> list[Segment]:
        """Those that nothing is appended to any more."""
        return self._segments[:-1] if self.active else list(self._segments)

    def head(self) -> tuple[int, bytes]:
        """The number and hash of the last batch."""
        return self._segments[-1].head() if self._segments else (0, EMPTY_HASH)

    # Appending

    def encode(self, batch: Batch) -> bytes:
        """The batch's bytes for the end of the last segment."""
        return encode_batch(batch, key=self.last.header.key, offset_bytes=self.last.index.end_bytes)

    def encode_seal(self) -> bytes:
        return encode_seal(*self.head(), key=self.last.header.key, offset_bytes=self.last.index.end_bytes)

    def write(self, content: bytes) -> None:
        """Write at the end of the last segment, durably. Raises DiskError; the segment has ended then.

        Invariant 4: after a failure nothing more goes there, since how much of it the disk holds is unknown.
        """
        assert self._active is not None, "a segment was begun"
        offset_bytes = self.last.index.end_bytes
        assert offset_bytes % SECTOR_BYTES == 0, "Invariant 5: a synced sector is never written again"
        try:
            self._active.write_at(offset_bytes, content)
            self._active.sync()
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Append no more to the last segment."""
        if self._active is not None:
            self._active.close()
            self._active = None

    def begin(self, carried: Sequence[Batch] = ()) -> None:
        """Begin a segment after the last one, or in place of it where that is empty. Raises DiskError.

        It gets its name when the header and the carried batches are durable, and its name is durable on return.
        """
        self.end()
        last = self._segments[-1] if self._segments else None
        replaced = last is not None and not last.index.count
        header = self._header_in_place_of(last) if last and replaced else self._header_after(last)
        segment = Segment(
            segment_path(self._directory, header.number), header, SegmentIndex(header.batch_before)
        )
        parts = [encode_segment_header(header)]
        for batch in carried:
            parts.append(encode_batch(batch, key=header.key, offset_bytes=segment.index.end_bytes))
            segment.index.add(batch, len(parts[-1]))
        self._active = self._publish(segment.path, b"".join(parts))
        if replaced:
            self._segments[-1] = segment
            return
        if last is not None:
            self.keep_index(last)
        self._segments.append(segment)

    def _header_after(self, last: Segment | None) -> SegmentHeader:
        batch_before, hash_before = self.head()
        return SegmentHeader(
            log_id=self._log_id,
            number=last.header.number + 1 if last else 1,
            generation=0,
            key=self._entropy.draw(KEY_BYTES),
            batch_before=batch_before,
            hash_before=hash_before,
            previous_end_bytes=last.index.end_bytes if last else 0,
            end_bytes=0,
        )

    def _header_in_place_of(self, empty: Segment) -> SegmentHeader:
        assert not empty.header.end_bytes, "an empty segment is never written again to erase bodies"
        return empty.header._replace(key=self._entropy.draw(KEY_BYTES))

    def _publish(self, path: str, content: bytes) -> File:
        """Make a file with this content, durable before it gets its name, and its name durable."""
        temporary = path + ".tmp"
        if self._disk.exists(temporary):
            self._disk.remove(temporary)  # what a failed sync has left in it is not built upon
        file = self._disk.open(temporary, create=True)
        try:
            file.write_at(0, content)
            file.sync()
        except DiskError:
            file.close()
            self._disk.remove(temporary)
            raise
        file.close()
        self._disk.rename(temporary, path)
        self._disk.sync_dir(self._directory)
        return self._disk.open(path)

    def keep_index(self, segment: Segment) -> None:
        """Keep the index of a segment that ended. It is a cache: without it the segment is read again."""
        try:
            content = encode_index(segment.index, segment.header)
            write_file_durably(self._disk, index_path(self._directory, segment.header.number), content)
        except DiskError:
            pass

    def replace(self, segment: Segment, rewritten: Segment, temporary: str) -> None:
        """Put `temporary` in the place of a segment's file. Raises DiskError."""
        with self._swap:
            self._disk.rename(temporary, segment.path)
            self._segments[segment.header.number - 1] = rewritten
            self._cache.clear()
            self._cache_bytes = 0
        self._disk.sync_dir(self._directory)
        self.keep_index(rewritten)

    # Reading

    def batch(self, number: int) -> Batch:
        """One batch, kept for a while. Raises LogError where there is none of that number, LogRotten."""
        kept = self._cache.get(number)
        if kept is not None:
            return kept[0]
        segment, file = self._open_at(number)
        position = number - segment.index.batch_before - 1
        try:
            batch = segment.read_batch(file, position)
        finally:
            file.close()
        with self._swap:
            if segment in self._segments and number not in self._cache:
                self._keep(batch, segment.index.span(position)[1])
        return batch

    def _keep(self, batch: Batch, size_bytes: int) -> None:
        if size_bytes > LOG_CACHE_BYTES:
            return
        self._cache[batch.number] = (batch, size_bytes)
        self._cache_bytes += size_bytes
        while self._cache_bytes > LOG_CACHE_BYTES:
            self._cache_bytes -= self._cache.pop(next(iter(self._cache)))[1]

    def batches_after(self, number: int) -> Iterator[tuple[Segment, Batch]]:
        """All batches after one up to the present head, read in large pieces. Raises LogRotten."""
        last = self.head()[0]
        while number < last:
            segment, file = self._open_at(number + 1)
            try:
                batches = segment.read_some(file, number - segment.index.batch_before)
            finally:
                file.close()
            for batch in batches:
                yield segment, batch
            number += len(batches)

    def _open_at(self, number: int) -> tuple[Segment, File]:
        """The segment that holds a batch, and its file as it belongs to it, whatever takes its place later."""
        last = self.head()[0]
        if not 0 < number <= last:
            raise LogError(f"there is no batch {number}; the last one is {last}")
        with self._swap:
            place = bisect_left(self._segments, number, key=lambda segment: segment.index.batch_before)
            segment = self._segments[place - 1]
            return segment, self._disk.open(segment.path)
