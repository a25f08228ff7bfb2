"""The sources of a world by the file name that stacks show, so that errors point into the text as written."""

from __future__ import annotations

from fastrlock.rlock import FastRLock

from engine import limits
from engine.host.ledger import LedgerReads
from engine.logic.jobs import WrittenSource
from engine.logic.source import file_of
from engine.record import kinds


class Sources:
    """A `SourceLookup`, called on VM threads when an error is made readable. Reads the world's history once."""

    def __init__(self, ledger: LedgerReads, world: str) -> None:
        self._ledger = ledger
        self._world = world
        self._lock = FastRLock()
        self._files: dict[str, int] = {}  # file name -> the newest revision with that source
        self._read_until = 0

    def __call__(self, file: str) -> WrittenSource | None:
        with self._lock:
            if file not in self._files:
                self._read_on()
            n = self._files.get(file)
        row = self._ledger.revision(self._world, n) if n is not None else None
        if row is None or not isinstance(row.body, kinds.Revision):
            return None
        return WrittenSource(row.body.source, row.body.commonjs is not None)

    def _read_on(self) -> None:
        """Take in the revisions that came since."""
        before: int | None = None
        newest = self._read_until
        while True:
            page = self._ledger.revisions(self._world, limit=limits.PAGE_ROWS_MAX, before=before)
            for row in page.rows:
                if row.n <= self._read_until:
                    break
                newest = max(newest, row.n)
                if isinstance(row.body, kinds.Revision) and row.body.source:
                    self._files.setdefault(file_of(row.body.source), row.n)
            if not page.more or page.rows[-1].n <= self._read_until:
                break
            before = page.rows[-1].n
        self._read_until = newest
