"""The Log on a disk: segments of batches, one sync a batch, a head file that remembers what became durable.

    log/0000000001.seg   batches, appended until it is full, the log is sealed or a write fails
    log/0000000001.idx   cache: where things are in a segment that ended
    log/HEAD             the last durable batch, written after the batch's own sync, in one of two halves
    log/RESERVE          space to give up when the disk is full
    log/aside/           bytes that a crash left unreadable past the durable end

Each opening goes on in a new segment, which says where the one before it ended. What that one holds past there
never counted, whatever it looks like: after a failed sync the page cache is no witness. Batches past the head
file's mark may be such a case when a log is opened, so they are written again, into the new segment, before anyone
sees them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from fastrlock.rlock import FastRLock

from engine import limits
from engine.ids import content_id
from engine.io.disk import Disk, DiskError, DiskFull, File, parent_of, read_file, write_file_durably
from engine.io.entropy import Entropy
from engine.io.log import Cursor, LogEntry, LogError, LogFailed, LogHead
from engine.io.log_erase import rewrite_without_bodies
from engine.io.log_format import (
    EMPTY_HASH,
    KEY_BYTES,
    LOG_ID_BYTES,
    Batch,
    SegmentHeader,
    check_entries,
    encode_batch,
    encode_seal,
    encode_segment_header,
    make_batch,
)
from engine.io.log_index import SegmentIndex, encode_index
from engine.io.log_mark import MarkFile, Reserve
from engine.io.log_survey import (
    Segment,
    Survey,
    hash_of,
    head_path,
    index_path,
    read_span,
    segment_path,
    survey,
    verify_log,
)

_T = TypeVar("_T")


class Opening(NamedTuple):
    """What opening did: batches written again, files set aside, and damage that it could work around."""

    carried_batches: int
    set_aside: tuple[str, ...]
    found: tuple[LogError, ...]


class FileLog:
    """Implements Log. The caller holds the directory's lock.

    `append`, `seal`, `resume` and `close` are for one thread at a time. Reads, and one `erase_bodies` at a time,
    may run beside them.
    """

    def __init__(
        self,
        disk: Disk,
        entropy: Entropy,
        *,
        directory: str = "log",
        segment_bytes_max: int = limits.LOG_SEGMENT_BYTES_MAX,
        reserve_bytes: int = limits.DISK_RESERVE_BYTES,
    ) -> None:
        """Open the log, or begin one where there is none.

        Raises LogRotten and LogForeign (nothing was changed), LogFailed where the disk refused a write.
        """
        self._disk = disk
        self._entropy = entropy
        self._directory = directory
        self._segment_bytes_max = segment_bytes_max
        self._reserve = Reserve(disk, f"{directory}/RESERVE", reserve_bytes)
        self._active: File | None = None  # the last segment's file while it may be appended to
        self._failure = ""  # why nothing can be appended
        self._swap = FastRLock()  # a segment's file and its entry in _segments change together
        self._cache: dict[int, tuple[Batch, int]] = {}
        self._cache_bytes = 0
        found = survey(disk, directory)
        self._segments = found.segments
        self._marks = MarkFile(
            disk, head_path(directory), found.mark.log_id if found.mark else entropy.draw(LOG_ID_BYTES)
        )
        self.opening = self._settle(found)
        self._last: dict[str, tuple[int, bytes]] = {
            world: (part.last_seq, part.last_hash)
            for segment in self._segments
            for world, part in segment.index.worlds.items()
        }
        self._reserve.restore()

    # Appending

    def append(self, entries: Sequence[LogEntry]) -> list[Cursor]:
        if self._failure:
            raise LogFailed(self._failure)
        check_entries(entries, self._last)
        head, hash_ = self._head()
        batch = make_batch(head + 1, hash_, entries)
        content = self._content_for(batch)
        self._write(content, f"batch {batch.number}")
        segment = self._segments[-1]
        segment.index.add(batch, len(content))
        for entry, record_hash in zip(entries, batch.record_hashes, strict=True):
            self._last[entry.world] = (entry.seq, record_hash)
        self._mark(batch)
        return [Cursor(segment.header.number, batch.number, i) for i in range(len(entries))]

    def _content_for(self, batch: Batch) -> bytes:
        """The batch's bytes for the end of a segment that has room for it. Raises LogFailed."""
        if self._active is not None:
            content = self._encode(batch)
            end_bytes = self._segments[-1].index.end_bytes + len(content)
            if end_bytes <= self._segment_bytes_max or not self._segments[-1].index.offsets:
                return content
        try:
            self._begin_segment()
        except DiskError as error:
            raise self._fail(f"no new segment could be begun: {error}") from error
        return self._encode(batch)

    def _encode(self, batch: Batch) -> bytes:
        segment = self._segments[-1]
        return encode_batch(batch, key=segment.header.key, offset_bytes=segment.index.end_bytes)

    def _write(self, content: bytes, what: str) -> None:
        """Write at the end of the last segment and sync. Raises LogFailed, going on elsewhere (Invariant 4)."""
        segment = self._segments[-1]
        offset_bytes = segment.index.end_bytes
        assert self._active is not None
        assert offset_bytes % limits.SECTOR_BYTES == 0, "Invariant 5: no synced sector is written again"
        try:
            self._active.write_at(offset_bytes, content)
            self._active.sync()
        except DiskError as error:
            self._close_active()
            reason = f"{what} did not become durable ({error.reason})"
            try:
                self._begin_segment()
            except DiskError as second:
                self._fail(f"{reason}, nor could a new segment be begun: {second}")
            raise LogFailed(reason, file=segment.path, offset_bytes=offset_bytes) from error
        except BaseException:
            self._close_active()  # how much was written is unknown, so this segment ends here
            raise

    def _mark(self, batch: Batch) -> None:
        """Note a durable batch. It counts even where this fails, but nothing may follow it unnoted."""
        try:
            self._marks.write(batch.number, batch.hash)
        except DiskError as error:
            self._fail(f"the head file could not be written: {error}")

    def _fail(self, reason: str) -> LogFailed:
        """Nothing can be appended until `resume`."""
        self._close_active()
        self._failure = f"the log is read-only: {reason}"
        return LogFailed(self._failure)

    def _close_active(self) -> None:
        if self._active is not None:
            self._active.close()
            self._active = None

    @property
    def failure(self) -> str:
        """Why every append fails; empty while the log works."""
        return self._failure

    def resume(self) -> None:
        """Try to go on after a failure, in a new segment. Raises LogFailed."""
        if not self._failure:
            return
        try:
            self._begin_segment()
            self._marks.replace(*self._head())
        except DiskError as error:
            raise self._fail(f"it could not go on: {error}") from error
        self._failure = ""

    def seal(self) -> None:
        if self._active is None:
            return
        segment = self._segments[-1]
        if segment.index.offsets:
            content = encode_seal(*self._head(), key=segment.header.key, offset_bytes=segment.index.end_bytes)
            self._write(content, "the seal")
        self._close_active()
        try:
            self._marks.settle(*self._head())
        except DiskError as error:
            raise self._fail(f"the head file could not be synced: {error}") from error

    def close(self) -> None:
        """Let go of the files; what was appended is durable already."""
        self._close_active()
        self._marks.close()

    # Segments

    def _begin_segment(self, carried: Sequence[Batch] = ()) -> None:
        """Begin a segment after the last one, or in place of it where it is empty. Raises DiskError.

        It gets its name only when header and carried batches are durable, and its name is durable on return.
        """
        self._close_active()
        last = self._segments[-1] if self._segments else None
        if last is not None and not last.index.offsets:
            assert not last.header.end_bytes, "an empty segment is not rewritten, so it may be replaced"
            header = last.header._replace(key=self._entropy.draw(KEY_BYTES))
        else:
            header = self._header_after(last)
        segment = Segment(
            segment_path(self._directory, header.number), header, SegmentIndex(header.batch_before)
        )
        parts = [encode_segment_header(header)]
        for batch in carried:
            parts.append(encode_batch(batch, key=header.key, offset_bytes=segment.index.end_bytes))
            segment.index.add(batch, len(parts[-1]))
        active = self._publish(segment.path, b"".join(parts))
        if header.number == len(self._segments):
            self._segments[-1] = segment
        else:
            if last is not None:
                self._keep_index(last)
            self._segments.append(segment)
        self._active = active

    def _header_after(self, last: Segment | None) -> SegmentHeader:
        number, batch_before, hash_before, previous_end_bytes = 1, 0, EMPTY_HASH, 0
        if last is not None:
            number, previous_end_bytes = last.header.number + 1, last.index.end_bytes
            batch_before, hash_before = last.head()
        return SegmentHeader(
            log_id=self._marks.log_id,
            number=number,
            generation=0,
            key=self._entropy.draw(KEY_BYTES),
            batch_before=batch_before,
            hash_before=hash_before,
            previous_end_bytes=previous_end_bytes,
            end_bytes=0,
        )

    def _publish(self, path: str, content: bytes) -> File:
        """Make a file with this content, durable before it gets its name, and its name durable."""
        temporary = path + ".tmp"
        if self._disk.exists(temporary):
            self._disk.remove(
                temporary
            )  # a fresh file: what a failed sync left in the old one is not trusted
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

    def _keep_index(self, segment: Segment) -> None:
        """Keep the index of a segment that ended. It is a cache: without it the segment is read again."""
        try:
            content = encode_index(segment.index, segment.header)
            write_file_durably(self._disk, index_path(self._directory, segment.header.number), content)
        except DiskError:
            pass

    # Opening

    def _settle(self, found: Survey) -> Opening:
        """Make sure of all that is about to be served. Raises LogFailed."""
        carried = self._take_uncertain_batches(found)
        try:
            if found.mark is None:
                self._with_reserve(self._make_directory)
            set_aside = self._with_reserve(lambda: self._set_aside(found))
            if carried or found.torn_at_bytes >= 0:
                self._with_reserve(lambda: self._begin_segment(carried))
            self._with_reserve(lambda: self._remember_head(found))
        except DiskError as error:
            raise LogFailed(
                f"the log could not be opened, though nothing of it is lost: {error}; "
                "make room or mend the disk, then start again"
            ) from error
        for segment in found.unindexed:
            self._keep_index(segment)
        return Opening(len(carried), set_aside, tuple(found.damage))

    def _with_reserve(self, step: Callable[[], _T]) -> _T:
        """Do it; where the disk is full, once more with the reserve given up."""
        try:
            return step()
        except DiskFull:
            if not self._reserve.release():
                raise
            return step()

    def _take_uncertain_batches(self, found: Survey) -> list[Batch]:
        """Take off the last segment the batches that may not be durable, to write them again."""
        if not found.segments or found.segments[-1].index.last_batch <= found.durable_batch:
            return []
        last = found.segments[-1]
        whole, last.index = last.index, SegmentIndex(last.index.batch_before)
        carried: list[Batch] = []
        file = self._disk.open(last.path)
        try:
            for position in range(whole.count):
                batch = last.unpack(file.read_at(*whole.span(position)), whole.offsets[position])
                if batch.number <= found.durable_batch:
                    last.index.add(batch, whole.span(position)[1])
                else:
                    carried.append(batch)
        finally:
            file.close()
        return carried

    def _make_directory(self) -> None:
        """Make the directory durable by name, also where an opening that failed has left it.

        A name that was there when a sync failed may be in the cache alone, and no later sync tells; so it is given
        anew. The same goes for the head file and for segments, which always get their names by a rename.
        """
        aside = self._directory + ".new"
        if not self._disk.is_dir(self._directory):
            self._disk.make_dir(self._directory)
        elif not self._disk.exists(aside):
            self._disk.rename(self._directory, aside)
            self._disk.rename(aside, self._directory)
        path = self._directory
        while path:
            path = parent_of(path)
            self._disk.sync_dir(path)

    def _remember_head(self, found: Survey) -> None:
        try:
            self._marks.replace(*self._head())
        except DiskFull:
            if found.mark is None or found.mark_damaged:
                raise
            self._marks.reopen(*self._head())

    def _set_aside(self, found: Survey) -> tuple[str, ...]:
        """Copy what is unreadable, so that nothing that is done later can erase it."""
        pieces: list[tuple[str, bytes]] = []
        if found.torn_at_bytes >= 0:
            path, start = found.segments[-1].path, found.torn_at_bytes
            content = read_span(self._disk, path, start, self._disk.size(path) - start)
            pieces.append((f"{found.segments[-1].header.number:010d}-{start:010d}", content))
        if found.mark_damaged:
            pieces.append(("HEAD", read_file(self._disk, head_path(self._directory))))
        if not pieces:
            return ()
        directory = f"{self._directory}/aside"
        self._disk.make_dir(directory)
        self._disk.sync_dir(self._directory)
        paths = []
        for name, content in pieces:
            path = f"{directory}/{name}-{content_id(content)[:16]}.bin"
            write_file_durably(self._disk, path, content)
            paths.append(path)
        return tuple(paths)

    # Reading

    def read(self, world: str, from_seq: int = 0) -> Iterator[tuple[Cursor, LogEntry]]:
        for segment in list(self._segments):
            index, count = segment.index, segment.index.count
            for position in index.positions_from(world, from_seq):
                if position >= count:
                    return  # of a batch that was being taken in when this began
                batch = self._batch(index.batch_before + position + 1)
                for i, entry in enumerate(batch.entries):
                    if entry.world == world and entry.seq >= from_seq:
                        yield Cursor(segment.header.number, batch.number, i), entry

    def read_at(self, cursor: Cursor) -> LogEntry:
        """A cursor finds its batch by number, also after an opening has written it again elsewhere."""
        return self._batch(cursor.batch).entries[cursor.index]

    def scan(self, after_batch: int = 0) -> Iterator[tuple[LogHead, list[tuple[Cursor, LogEntry]]]]:
        number, last = after_batch + 1, self._head()[0]
        while number <= last:
            segment, file = self._open_at(number)
            try:
                batches = segment.read_some(file, number - segment.index.batch_before - 1)
            finally:
                file.close()
            for batch in batches:
                places = (Cursor(segment.header.number, batch.number, i) for i in range(len(batch.entries)))
                yield LogHead(batch.number, batch.hash.hex()), list(zip(places, batch.entries, strict=True))
            number += len(batches)

    def head(self) -> LogHead:
        number, hash_ = self._head()
        return LogHead(number, hash_.hex())

    def batch_hash(self, batch: int) -> str | None:
        found = hash_of(self._segments, batch)
        return found.hex() if found is not None else None

    def last(self, world: str) -> tuple[int, str] | None:
        last = self._last.get(world)
        return (last[0], last[1].hex()) if last else None

    def worlds(self) -> list[str]:
        return sorted(self._last)

    def size_bytes(self) -> int:
        return sum(self._disk.size(segment.path) for segment in list(self._segments))

    def verify(self, *, full: bool = True) -> list[LogError]:
        """All that is wrong with the files, without changing them; not for while bodies are being erased."""
        return verify_log(self._disk, self._directory, full=full)

    def _head(self) -> tuple[int, bytes]:
        return self._segments[-1].head() if self._segments else (0, EMPTY_HASH)

    def _open_at(self, batch: int) -> tuple[Segment, File]:
        """The segment that holds a batch, and its file as it belongs to it."""
        if not 0 < batch <= self._head()[0]:
            raise LogError(f"there is no batch {batch}; the last one is {self._head()[0]}")
        with self._swap:
            place = bisect_left(self._segments, batch, key=lambda segment: segment.index.batch_before)
            segment = self._segments[place - 1]
            return segment, self._disk.open(segment.path)

    def _batch(self, number: int) -> Batch:
        """One batch, kept for a while."""
        kept = self._cache.get(number)
        if kept is not None:
            return kept[0]
        segment, file = self._open_at(number)
        position = number - segment.index.batch_before - 1
        try:
            batch = segment.read_batch(file, position)
        finally:
            file.close()
        size_bytes = segment.index.span(position)[1]
        with self._swap:
            if segment in self._segments and size_bytes <= limits.LOG_CACHE_BYTES:
                self._cache[number] = (batch, size_bytes)
                self._cache_bytes += size_bytes
                while self._cache_bytes > limits.LOG_CACHE_BYTES:
                    self._cache_bytes -= self._cache.pop(next(iter(self._cache)))[1]
        return batch

    # Erasing

    def erase_bodies(self, erasable: Callable[[LogEntry], bool]) -> int:
        """Erase bodies in segments that ended; the bytes of those bodies. `seal` first to reach all.

        Raises DiskError where the disk refuses: then some segments are done and the others as they were.
        """
        erased_bytes = 0
        for segment in list(self._segments):
            if segment is self._segments[-1] and self._active is not None:
                break
            rewritten = rewrite_without_bodies(
                self._disk,
                segment,
                erasable,
                key=self._entropy.draw(KEY_BYTES),
                temporary=segment.path + ".erase",
            )
            if rewritten is not None:
                self._replace(segment, rewritten[0])
                erased_bytes += rewritten[1]
        return erased_bytes

    def _replace(self, segment: Segment, rewritten: Segment) -> None:
        with self._swap:
            self._disk.rename(segment.path + ".erase", segment.path)
            self._segments[segment.header.number - 1] = rewritten
            self._cache.clear()
            self._cache_bytes = 0
        self._disk.sync_dir(self._directory)
        self._keep_index(rewritten)

    # The reserve

    def reserve_held(self) -> bool:
        return self._reserve.held()

    def release_reserve(self) -> bool:
        """Give up the reserve, so that `resume` and a last word have room; whether there was one."""
        return self._reserve.release()

    def restore_reserve(self) -> bool:
        """Take the reserve back if the disk has plenty of space; whether it is held."""
        return self._reserve.restore()
