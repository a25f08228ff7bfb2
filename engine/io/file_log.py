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

from collections.abc import Callable, Iterator, Sequence

from engine import limits
from engine.io.disk import Disk, DiskError
from engine.io.entropy import Entropy
from engine.io.log import Cursor, LogEntry, LogError, LogFailed, LogHead
from engine.io.log_erase import rewrite_without_bodies
from engine.io.log_format import LOG_ID_BYTES, Batch, check_entries, make_batch
from engine.io.log_mark import MarkFile, Reserve
from engine.io.log_opening import settle
from engine.io.log_segment import aside_path, head_path
from engine.io.log_segments import Segments
from engine.io.log_survey import hash_of, survey, verify_log


class FileLog:
    """Implements Log. The caller holds the directory's lock.

    `append`, `seal`, `resume` and `close` are for one thread at a time. Reads, and one `erase_bodies` at a time,
    may run beside them. `opening` says what opening found and did.
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
        self._failure = ""
        found = survey(disk, directory)
        log_id = found.mark.log_id if found.mark else entropy.draw(LOG_ID_BYTES)
        self._segments = Segments(disk, entropy, directory, log_id, found.segments)
        self._marks = MarkFile(disk, head_path(directory), log_id)
        self._reserve = Reserve(disk, f"{directory}/RESERVE", reserve_bytes)
        self.opening = settle(disk, directory, found, self._segments, self._marks, self._reserve)
        self._last: dict[str, tuple[int, bytes]] = {
            world: (part.last_seq, part.last_hash)
            for segment in self._segments.all()
            for world, part in segment.index.worlds.items()
        }
        self._reserve.restore()

    # Appending

    def append(self, entries: Sequence[LogEntry]) -> list[Cursor]:
        if self._failure:
            raise LogFailed(self._failure)
        check_entries(entries, self._last)
        head, hash_ = self._segments.head()
        batch = make_batch(head + 1, hash_, entries)
        content = self._content_for(batch)
        self._write(content, f"batch {batch.number}")
        segment = self._segments.last
        segment.index.add(batch, len(content))
        for entry, record_hash in zip(entries, batch.record_hashes, strict=True):
            self._last[entry.world] = (entry.seq, record_hash)
        self._mark(batch)
        return [Cursor(segment.header.number, batch.number, i) for i in range(len(entries))]

    def _content_for(self, batch: Batch) -> bytes:
        """The batch's bytes for the end of a segment that has room for it. Raises LogFailed."""
        if self._segments.active:
            content, index = self._segments.encode(batch), self._segments.last.index
            if index.end_bytes + len(content) <= self._segment_bytes_max or not index.count:
                return content
        try:
            self._segments.begin()
        except DiskError as error:
            raise self._fail(f"no new segment could be begun: {error}") from error
        return self._segments.encode(batch)

    def _write(self, content: bytes, what: str) -> None:
        """Write at the end of the last segment, durably. Raises LogFailed, and goes on in a new segment."""
        segment = self._segments.last
        try:
            self._segments.write(content)
        except DiskError as error:
            reason = f"{what} did not become durable ({error.reason})"
            try:
                self._segments.begin()
            except DiskError as second:
                self._fail(f"{reason}, nor could a new segment be begun: {second}")
            raise LogFailed(reason, file=segment.path, offset_bytes=segment.index.end_bytes) from error

    def _mark(self, batch: Batch) -> None:
        """Note a durable batch. It counts even where this fails, but nothing may follow it unnoted."""
        try:
            self._marks.write(batch.number, batch.hash)
        except DiskError as error:
            self._fail(f"the head file could not be written: {error}")

    def _fail(self, reason: str) -> LogFailed:
        """Nothing can be appended until `resume`."""
        self._segments.end()
        self._failure = f"the log is read-only: {reason}"
        return LogFailed(self._failure)

    @property
    def failure(self) -> str:
        """Why every append fails; empty while the log works."""
        return self._failure

    def resume(self) -> None:
        """Try to go on after a failure, in a new segment. Raises LogFailed."""
        if not self._failure:
            return
        try:
            self._segments.begin()
            self._marks.replace(*self._segments.head())
        except DiskError as error:
            raise self._fail(f"it could not go on: {error}") from error
        self._failure = ""

    def seal(self) -> None:
        if not self._segments.active:
            return
        if self._segments.last.index.count:
            self._write(self._segments.encode_seal(), "the seal")
        self._segments.end()
        try:
            self._marks.settle(*self._segments.head())
        except DiskError as error:
            raise self._fail(f"the head file could not be synced: {error}") from error

    def close(self) -> None:
        """Let go of the files; what was appended is durable already."""
        self._segments.end()
        self._marks.close()

    # Reading

    def read(self, world: str, from_seq: int = 0) -> Iterator[tuple[Cursor, LogEntry]]:
        for segment in self._segments.all():
            index, count = segment.index, segment.index.count
            for position in index.positions_from(world, from_seq):
                if position >= count:
                    return  # of a batch that was being taken in when this began
                batch = self._segments.batch(index.batch_before + position + 1)
                for i, entry in enumerate(batch.entries):
                    if entry.world == world and entry.seq >= from_seq:
                        yield Cursor(segment.header.number, batch.number, i), entry

    def read_at(self, cursor: Cursor) -> LogEntry:
        """A cursor finds its batch by number, also after an opening has written it again elsewhere."""
        return self._segments.batch(cursor.batch).entries[cursor.index]

    def scan(self, after_batch: int = 0) -> Iterator[tuple[LogHead, list[tuple[Cursor, LogEntry]]]]:
        for segment, batch in self._segments.batches_after(after_batch):
            places = (Cursor(segment.header.number, batch.number, i) for i in range(len(batch.entries)))
            yield LogHead(batch.number, batch.hash.hex()), list(zip(places, batch.entries, strict=True))

    def head(self) -> LogHead:
        number, hash_ = self._segments.head()
        return LogHead(number, hash_.hex())

    def batch_hash(self, batch: int) -> str | None:
        found = hash_of(self._segments.all(), batch)
        return found.hex() if found is not None else None

    def last(self, world: str) -> tuple[int, str] | None:
        last = self._last.get(world)
        return (last[0], last[1].hex()) if last else None

    def worlds(self) -> list[str]:
        return sorted(self._last)

    def size_bytes(self) -> int:
        return sum(self._disk.size(segment.path) for segment in self._segments.all())

    def verify(self, *, full: bool = True) -> list[LogError]:
        """All that is wrong with the files, without changing them; not for while bodies are being erased."""
        return verify_log(self._disk, self._directory, full=full)

    # Erasing

    def erase_bodies(self, erasable: Callable[[LogEntry], bool]) -> int:
        """Erase bodies in segments that ended; the bytes of those bodies. `seal` first to reach all.

        Raises DiskError where the disk refuses: then some segments are done and the others as they were.
        """
        erased_bytes = 0
        for segment in self._segments.ended():
            temporary = segment.path + ".erase"
            rewritten = rewrite_without_bodies(self._disk, self._entropy, segment, erasable, temporary)
            if rewritten is not None:
                self._segments.replace(segment, rewritten[0], temporary)
                erased_bytes += rewritten[1]
        return erased_bytes

    def remove_set_aside(self) -> int:
        """Remove the fragments that openings set aside: nothing acknowledged. Their bytes. Raises DiskError."""
        aside, freed_bytes = aside_path(self._directory), 0
        for name in self._disk.list(aside):
            freed_bytes += self._disk.size(f"{aside}/{name}")
            self._disk.remove(f"{aside}/{name}")
        if freed_bytes:
            self._disk.sync_dir(aside)
        return freed_bytes

    # The reserve

    def reserve_held(self) -> bool:
        return self._reserve.held()

    def release_reserve(self) -> bool:
        """Give up the reserve, so that `resume` and a last word have room; whether there was one."""
        return self._reserve.release()

    def restore_reserve(self) -> bool:
        """Take the reserve back if the disk has plenty of space; whether it is held."""
        return self._reserve.restore()
