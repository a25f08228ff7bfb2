"""What a host is made of, opened on one data directory: the same for a live and for a simulated one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.host.engines import Engines
from engine.host.images import Images, Pins
from engine.host.ledger import Ledger, LedgerReads
from engine.io.blobs import Blobs
from engine.io.disk import Disk, Lock
from engine.io.entropy import Entropy
from engine.io.file_blobs import FileBlobs
from engine.io.file_log import FileLog
from engine.record.inflight import InFlight
from engine.record.kinds import HeapRef


class JobParts(Protocol):
    """What jobs use of a host: a replay gives them its own."""

    @property
    def blobs(self) -> Blobs: ...

    @property
    def ledger(self) -> LedgerReads: ...

    @property
    def engines(self) -> Engines: ...

    @property
    def images(self) -> Images: ...

    @property
    def pins(self) -> Pins: ...


@dataclass(slots=True)
class Parts:
    """`ledger` answers reads; `genesis_heap` begins new worlds."""

    disk: Disk
    entropy: Entropy
    log: FileLog
    blobs: FileBlobs
    ledger: Ledger
    inflight: InFlight
    engines: Engines
    images: Images
    pins: Pins
    genesis_heap: HeapRef
    prelude_version: int
    lock: Lock

    def seal(self) -> None:
        """The end of a drained server: everything durable, the log's end certain."""
        self.log.seal()
        self.ledger.close()
        self.inflight.close()

    def close(self) -> None:
        """Let go of files and the directory, as they are."""
        self.engines.close()
        self.log.close()
        self.lock.release()
