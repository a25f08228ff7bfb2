"""Mistakes in what keeps bytes: the log, its head file, blobs, their collection, and the projection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from engine.host import recordings
from engine.host.images import Images, Pins
from engine.host.ledger import Ledger
from engine.host.writer import Written
from engine.io import log_erase, log_opening, log_survey
from engine.io.disk import DiskError, File
from engine.io.file_blobs import FileBlobs
from engine.io.file_log import FileLog
from engine.io.log import Cursor, LogEntry, LogFailed, LogHead
from engine.io.log_format import check_entries, make_batch
from engine.io.log_index import SegmentIndex
from engine.io.log_segments import Segments
from engine.record import collection, heaps, kinds
from engine.record.canonical import to_bytes
from engine.record.collection import Marker
from engine.record.projection import apply
from engine.record.projection.apply import Applier
from engine.record.projection.standing import Standing
from engine.record.records import decode, decode_header, genesis_previous
from tests.faults.plants_looks import CrashImages, Lives
from tests.faults.plants_planting import Patch, Plant

# ---- the log


def _answer_before_the_sync(patch: Patch) -> None:
    def write(segments: Segments, content: bytes) -> None:
        assert segments._active is not None
        segments._active.sync()  # of the batch before
        segments._active.write_at(segments.last.index.end_bytes, content)

    patch.setattr(Segments, "write", write)


def _sync_every_other_batch(patch: Patch) -> None:
    count = [0]

    def write(segments: Segments, content: bytes) -> None:
        assert segments._active is not None
        segments._active.write_at(segments.last.index.end_bytes, content)
        count[0] += 1
        if count[0] % 2:
            segments._active.sync()

    patch.setattr(Segments, "write", write)


def _go_on_in_the_failed_segment(patch: Patch) -> None:
    def write(log: FileLog, content: bytes, what: str) -> None:
        segments = log._segments
        assert segments._active is not None
        try:
            segments._active.write_at(segments.last.index.end_bytes, content)
            segments._active.sync()
        except DiskError as error:
            raise LogFailed(f"{what} did not become durable ({error.reason})") from error

    patch.setattr(FileLog, "_write", write)


def _begin_a_segment_in_place(patch: Patch) -> None:
    """No temporary file, no rename."""

    def publish(segments: Segments, path: str, content: bytes) -> File:
        file = segments._disk.open(path, create=True)
        file.write_at(0, content)
        file.sync()
        segments._disk.sync_dir(segments._directory)
        return file

    patch.setattr(Segments, "_publish", publish)


def _erase_in_place(patch: Patch) -> None:
    whole = Segments.replace

    def replace(segments: Segments, segment: Any, rewritten: Any, temporary: str) -> None:
        source, target = segments._disk.open(temporary), segments._disk.open(segment.path)
        content = source.read_at(0, source.size())
        target.write_at(0, content)
        target.sync()
        source.close()
        target.close()
        whole(segments, segment, rewritten, temporary)

    patch.setattr(Segments, "replace", replace)


def _lose_the_name_of_a_segment(patch: Patch) -> None:
    def publish(segments: Segments, path: str, content: bytes) -> File:
        temporary = path + ".tmp"
        file = segments._disk.open(temporary, create=True)
        file.write_at(0, content)
        file.sync()
        file.close()
        segments._disk.rename(temporary, path)
        return segments._disk.open(path)

    patch.setattr(Segments, "_publish", publish)


def _mark_before_the_sync(patch: Patch) -> None:
    whole = FileLog._write

    def write(log: FileLog, content: bytes, what: str) -> None:
        if what.startswith("batch"):
            raw = log._segments  # the batch is known by then
            number, hash_ = marks[id(log)]
            log._marks.write(number, hash_)
            del raw
        whole(log, content, what)

    marks: dict[int, tuple[int, bytes]] = {}
    content_for = FileLog._content_for

    def content(log: FileLog, batch: Any) -> bytes:
        marks[id(log)] = batch.number, batch.hash
        return content_for(log, batch)

    patch.setattr(FileLog, "_content_for", content)
    patch.setattr(FileLog, "_write", write)


def _believe_what_was_not_synced(patch: Patch) -> None:
    """Batches past the mark are served as they lie there."""
    patch.setattr(log_opening, "_take_uncertain_batches", lambda disk, found: [])


def _cut_one_batch_too_many(patch: Patch) -> None:
    """Where no seal follows the last batch, it is taken for a torn one."""
    whole = log_survey._read_last

    def read_last(disk: Any, segment: Any, mark: Any, report: Any) -> Any:
        torn_at_bytes, ended = whole(disk, segment, mark, report)
        if not ended and segment.index.count:
            file = disk.open(segment.path)
            index = SegmentIndex(segment.index.batch_before)
            for position in range(segment.index.count - 1):
                index.add(segment.read_batch(file, position), segment.index.span(position)[1])
            file.close()
            segment.index = index
            torn_at_bytes = index.end_bytes
        return torn_at_bytes, ended

    patch.setattr(log_survey, "_read_last", read_last)


def _sort_a_batch_by_text(patch: Patch) -> None:
    """Records of a batch in the order of their numbers' texts: 10 before 9."""
    whole = FileLog.append

    def append(log: FileLog, entries: Sequence[LogEntry]) -> list[Cursor]:
        return whole(log, sorted(entries, key=lambda entry: (entry.world, str(entry.seq))))

    patch.setattr(FileLog, "append", append)


def _erase_what_the_chain_needs(patch: Patch) -> None:
    """An erased record's header says that it never had a body."""
    whole = log_erase._without_bodies

    def without_bodies(batch: Any, erasable: Any) -> Any:
        before = batch
        batch, erased_bytes = whole(batch, erasable)
        entries = [
            entry._replace(header=to_bytes(msgspec.structs.replace(decode_header(entry), body_hash="0" * 64)))
            if entry.body is None and old.body is not None
            else entry
            for entry, old in zip(batch.entries, before.entries, strict=True)
        ]
        return batch._replace(entries=entries), erased_bytes

    patch.setattr(log_erase, "_without_bodies", without_bodies)


def _follow_nothing_after_an_import(patch: Patch) -> None:
    """What says that a world was imported begins a chain of its own."""
    whole = recordings.encode

    def encode(body: Any, **given: Any) -> Any:
        return whole(body, **given | {"previous": genesis_previous()})

    patch.setattr(recordings, "encode", encode)


def _lose_blobs_of_an_import(patch: Patch) -> None:
    """The last blobs of a recording are not stored."""
    whole = Pins.put_many

    def put_many(pins: Pins, blobs: Any, contents: Sequence[bytes]) -> list[str]:
        return whole(pins, blobs, contents[:-1])

    patch.setattr(Pins, "put_many", put_many)


# ---- blobs


def _lose_the_name_of_a_blob(patch: Patch) -> None:
    patch.setattr(FileBlobs, "_sync_shelves", lambda blobs, names: None)


def _name_a_blob_before_its_sync(patch: Patch) -> None:
    def place(blobs: FileBlobs, blob: str, content: bytes) -> None:
        shelf = f"{blobs._root}/{blob[:2]}"
        blobs._trusted.discard(shelf)
        blobs._make_shelf(shelf)
        file = blobs._disk.open(f"{shelf}/{blob}", create=True)
        file.write_at(0, content)
        file.close()

    patch.setattr(FileBlobs, "_place", place)


def _store_a_heap_against_another(patch: Patch) -> None:
    """The delta is made against the genesis heap, and named as one against the parent."""

    def encoded(images: Images, image: Any, parent: Any) -> tuple[bytes, int]:
        before = images._genesis
        assert before is not None
        if parent is None or image.size_bytes < before.size_bytes:
            return heaps.encode_base(image.to_bytes(), image.meta.to_bytes()), 0
        depth = images._depth(parent)
        pages = [heaps.Page(n, image.page(n), before.page(n)) for n in image.pages_differing(before)]
        content = heaps.encode_delta(
            parent.blob,
            parent_depth=depth,
            size_bytes=image.size_bytes,
            meta=image.meta.to_bytes(),
            pages=pages,
        )
        return content, depth + 1

    patch.setattr(Images, "_encoded", encoded)


def _forget_earlier_revisions(patch: Patch) -> None:
    """Only the heap of a world's newest revision is needed."""
    whole = Marker._take
    heap_of: dict[tuple[int, str], str] = {}

    def take(marker: Marker, entry: LogEntry) -> None:
        whole(marker, entry)
        if decode_header(entry).kind == "revision" and entry.body is not None:
            body = decode(entry)[1]
            assert isinstance(body, kinds.Revision)
            before = heap_of.get((id(marker), entry.world))
            if before is not None:
                marker._named[entry.world].pop(before, None)
            heap_of[id(marker), entry.world] = body.heap.blob

    patch.setattr(Marker, "_take", take)


def _collect_what_is_on_its_way(patch: Patch) -> None:
    patch.setattr(Pins, "names", lambda pins: [])


def _collect_checkpoints(patch: Patch) -> None:
    whole = collection.blobs_named
    patch.setattr(
        collection,
        "blobs_named",
        lambda body: iter([body.heap.blob]) if isinstance(body, kinds.Checkpoint) else whole(body),
    )


# ---- the projection


def _project_what_is_not_durable(patch: Patch) -> None:
    """The projection hears of a batch when it is handed to the log."""
    ledgers: dict[int, Ledger] = {}
    init, append = Ledger.__init__, FileLog.append

    def remember(ledger: Ledger, disk: Any, log: FileLog) -> None:
        init(ledger, disk, log)
        ledgers[id(log)] = ledger

    def tell_and_append(log: FileLog, entries: Sequence[LogEntry]) -> list[Cursor]:
        check_entries(entries, log._last)
        batch = make_batch(log._segments.head()[0] + 1, log._segments.head()[1], entries)
        segment = log._segments.last.header.number if log._segments.all() else 1
        written = [Written(Cursor(segment, batch.number, i), entry) for i, entry in enumerate(entries)]
        if id(log) in ledgers:
            ledgers[id(log)].durable(LogHead(batch.number, batch.hash.hex()), written)
        return append(log, entries)

    patch.setattr(Ledger, "__init__", remember)
    patch.setattr(FileLog, "append", tell_and_append)


def _keep_deleted_rows(patch: Patch) -> None:
    """A write of nothing is no row to write, and none to remove."""
    whole = Applier._flush

    def flush(applier: Applier) -> None:
        applier._data = {place: row for place, row in applier._data.items() if row[0] is not None}
        whole(applier)

    patch.setattr(Applier, "_flush", flush)


class _FirstWrites(dict[Any, Any]):
    """What is there already stays."""

    def __setitem__(self, place: Any, row: Any) -> None:
        self.setdefault(place, row)


def _keep_the_first_write_of_a_batch(patch: Patch) -> None:
    """Seen only where two calls that wrote one key came to lie in one batch."""
    whole = Applier.apply

    def apply_batch(applier: Applier, *batch: Any) -> None:
        applier._data = _FirstWrites()
        whole(applier, *batch)

    patch.setattr(Applier, "apply", apply_batch)


def _keep_rows_of_a_purged_world(patch: Patch) -> None:
    tables = tuple(table for table in apply.OF_ONE_WORLD if table != "incidents")
    patch.setattr(apply, "OF_ONE_WORLD", tables)


def _forget_endings(patch: Patch) -> None:
    """What was admitted stays open in the projection, though its outcome is there."""
    patch.setattr(Standing, "call_ended", lambda standing, no, header, body: None)


_SYNCS = ("crashes", "syncs")

PLANTS = (
    Plant("an answer leaves before its batch is synced", (1,), _answer_before_the_sync, (Lives(12),), True),
    Plant("only every other batch is synced", (3, 1), _sync_every_other_batch, (Lives(2),), True),
    Plant(
        "the log goes on in a segment whose sync failed",
        (4,),
        _go_on_in_the_failed_segment,
        (Lives(20, troubles=("syncs",)),),
        True,
    ),
    Plant(
        "a segment is begun in place of the empty one, in its file",
        (5,),
        _begin_a_segment_in_place,
        (Lives(20),),
        True,
    ),
    Plant(
        "bodies are erased in the segment itself",
        (5, 20),
        _erase_in_place,
        (Lives(40, troubles=("expiry",)),),
        True,
    ),
    Plant(
        "the directory is not synced when a segment gets its name",
        (1,),
        _lose_the_name_of_a_segment,
        (Lives(20),),
    ),
    Plant(
        "the head file is marked before the batch is synced",
        (2,),
        _mark_before_the_sync,
        (Lives(20, troubles=_SYNCS),),
        True,
    ),
    Plant(
        "an opening believes batches that may not be synced", (1,), _believe_what_was_not_synced, (Lives(80),)
    ),
    Plant(
        "a batch that no seal follows is taken for a torn one",
        (1, 16),
        _cut_one_batch_too_many,
        (CrashImages(2_000),),
        True,
    ),
    Plant("a batch is sorted by the texts of its numbers", (6,), _sort_a_batch_by_text, (Lives(20),), True),
    Plant(
        "an erased body takes its hash along",
        (20,),
        _erase_what_the_chain_needs,
        (Lives(40, troubles=("expiry",)),),
        True,
    ),
    Plant(
        "what says that a world was imported follows nothing",
        (20, 6),
        _follow_nothing_after_an_import,
        (Lives(20, troubles=()),),
    ),
    Plant("an import loses the last blobs", (7, 20), _lose_blobs_of_an_import, (Lives(20, troubles=()),)),
    Plant(
        "a shelf is not synced when a blob gets its name", (7,), _lose_the_name_of_a_blob, (Lives(20),), True
    ),
    Plant(
        "a blob gets its name before its bytes are synced", (7,), _name_a_blob_before_its_sync, (Lives(20),)
    ),
    Plant(
        "a heap is stored as a delta of another heap than it names",
        (7, 13),
        _store_a_heap_against_another,
        (Lives(10),),
    ),
    Plant(
        "collection takes the heaps of earlier revisions", (8,), _forget_earlier_revisions, (Lives(30),), True
    ),
    Plant(
        "collection takes blobs whose record is on its way",
        (8,),
        _collect_what_is_on_its_way,
        (Lives(60, troubles=("crashes", "slow")),),
    ),
    Plant("collection takes the data of checkpoints", (8,), _collect_checkpoints, (Lives(10),)),
    Plant(
        "the projection hears of a batch that is not durable",
        (2,),
        _project_what_is_not_durable,
        (Lives(20, troubles=("syncs",)),),
        True,
    ),
    Plant("the projection keeps rows that were deleted", (9,), _keep_deleted_rows, (Lives(10),), True),
    Plant(
        "of the writes of a key in one batch the first counts",
        (19, 9),
        _keep_the_first_write_of_a_batch,
        (Lives(20, worlds=1, troubles=("slow",)),),
    ),
    Plant("a purge leaves the incidents of its world", (9, 20), _keep_rows_of_a_purged_world, (Lives(120),)),
    Plant("the projection forgets that an admitted call has ended", (9, 16), _forget_endings, (Lives(10),)),
)
