"""Erasing bodies from a segment that ended: it is written again without them, the chain as it was."""

from __future__ import annotations

from collections.abc import Callable

from engine.io.disk import Disk
from engine.io.entropy import Entropy
from engine.io.log import LogEntry
from engine.io.log_format import KEY_BYTES, Batch, encode_batch, encode_segment_header
from engine.io.log_index import SegmentIndex
from engine.io.log_segment import Segment
from engine.limits import SECTOR_BYTES

Erasable = Callable[[LogEntry], bool]


def rewrite_without_bodies(
    disk: Disk, entropy: Entropy, segment: Segment, erasable: Erasable, temporary: str
) -> tuple[Segment, int] | None:
    """Write the segment's next generation to `temporary`, durably; it, and the bytes of bodies left out.

    None, and nothing is written, where no body is erasable and nothing lies past the segment's end; what does goes
    too. Raises DiskError; the segment stays as it was.
    """
    if not segment.index.count or not _must_be_rewritten(disk, segment, erasable):
        return None
    if disk.exists(temporary):
        disk.remove(temporary)
    key = entropy.draw(KEY_BYTES)
    source, target = disk.open(segment.path), disk.open(temporary, create=True)
    erased_bytes = 0
    index = SegmentIndex(segment.index.batch_before)
    try:
        for position in range(segment.index.count):
            batch, bytes_here = _without_bodies(segment.read_batch(source, position), erasable)
            content = encode_batch(batch, key=key, offset_bytes=index.end_bytes)
            target.write_at(index.end_bytes, content)
            index.add(batch, len(content))
            erased_bytes += bytes_here
        header = segment.header._replace(
            generation=segment.header.generation + 1, key=key, end_bytes=index.end_bytes
        )
        target.write_at(0, encode_segment_header(header))
        target.sync()
    except Exception:
        disk.remove(temporary)
        raise
    finally:
        source.close()
        target.close()
    assert index.end_bytes >= SECTOR_BYTES and index.last_batch == segment.index.last_batch
    return Segment(segment.path, header, index), erased_bytes


def _must_be_rewritten(disk: Disk, segment: Segment, erasable: Erasable) -> bool:
    file = disk.open(segment.path)
    try:
        return file.size() > segment.tail_bytes(file) or any(
            entry.body is not None and erasable(entry)
            for position in range(segment.index.count)
            for entry in segment.read_batch(file, position).entries
        )
    finally:
        file.close()


def _without_bodies(batch: Batch, erasable: Erasable) -> tuple[Batch, int]:
    entries, erased_bytes = [], 0
    for entry in batch.entries:
        if entry.body is not None and erasable(entry):
            erased_bytes += len(entry.body)
            entry = entry._replace(body=None)
        entries.append(entry)
    return batch._replace(entries=entries), erased_bytes
