"""A whole data directory with a bit of everything, for tests of upkeep, verification and backups."""

from __future__ import annotations

from record_lives import (
    Book,
    Heaps,
    call,
    checkpoint,
    edit,
    failed_call,
    genesis,
    interrupted,
    preview,
    rejection,
    revision,
    unchanged,
)

from engine.io.disk import Disk, write_file_durably
from engine.io.file_blobs import FileBlobs
from engine.io.file_log import FileLog
from engine.io.sim_disk import SimDisk
from engine.io.sim_entropy import SimEntropy
from engine.record.kinds import Purge
from engine.record.projection import Projection

FORMAT = b"a format of some directory\n"


class Directory:
    """Worlds `trip` and `lists` with revisions, data and a checkpoint; `gone` was purged."""

    def __init__(self, disk: Disk | None = None, *, segment_bytes_max: int = 64 * 4096) -> None:
        self.disk = SimDisk() if disk is None else disk
        self.entropy = SimEntropy("directory")
        write_file_durably(self.disk, "FORMAT", FORMAT)
        self.log = FileLog(self.disk, self.entropy, segment_bytes_max=segment_bytes_max, reserve_bytes=0)
        self.blobs = FileBlobs(self.disk)
        self.book = Book(self.log)
        self.engine_blob = self.blobs.put(b"\0asm an engine")
        self.heaps = Heaps(self.blobs)
        self.first_heap = self.heaps.ref
        self._live()

    def _live(self) -> None:
        write, first, engine = self.book.write, self.first_heap, self.engine_blob
        gone_heap = Heaps(self.blobs, wasm_pages=1).ref
        write("trip", genesis("Trip", heap=first, engine_blob=engine))
        write("gone", genesis("Gone", heap=gone_heap, engine_blob=engine), edit("secret", b'"s"'))
        self.gone_blob = gone_heap.blob
        for n in range(1, 4):
            write("trip", revision(n, "f", heap=self.heaps.change(n, 8, b"revision %d" % n)))
            write("trip", call(writes={f"k{n}": b"%d" % n}), preview(), call())
        write("lists", genesis("Lists", heap=first, engine_blob=engine), failed_call(1), interrupted(2))
        write("lists", rejection(1), unchanged(0), edit("k", b"[]"))
        self.data_blob = checkpoint(self.blobs, {"k1": b"1", "k2": b"2", "k3": b"3"}).data_blob
        write("trip", checkpoint(self.blobs, {"k1": b"1", "k2": b"2", "k3": b"3"}, 3, self.heaps.ref))
        write("gone", Purge("asked"))

    def project(self) -> Projection:
        return Projection(self.disk, self.log)

    def close(self) -> None:
        """A clean end, with a projection on the disk."""
        self.project().close()
        self.log.seal()
        self.log.close()
