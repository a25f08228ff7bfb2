"""The sources of a world by the file name that stacks show, so that errors point into the text as written."""

from __future__ import annotations

from collections.abc import Sequence

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
        self._read_until = -1

    def __call__(self, file: str) -> WrittenSource | None:
        with self._lock:
            if file not in self._files:
                self._read_on()
            n = self._files.get(file)
        row = self._ledger.revision(self._world, n) if n is not None else None
        for text in developed(row.body) if row is not None else ():
            if file_of(text.source) == file:
                return WrittenSource(text.source, text.commonjs is not None)
        return None

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
                for text in developed(row.body):
                    self._files.setdefault(file_of(text.source), row.n)
            if not page.more or page.rows[-1].n <= self._read_until:
                break
            before = page.rows[-1].n
        self._read_until = newest


def developed(body: kinds.Genesis | kinds.Revision | None) -> Sequence[kinds.Developed]:
    """What a revision was made of: one text, or what a copy brought along."""
    match body:
        case kinds.Genesis():
            return body.sources
        case kinds.Revision() if body.source:
            return [kinds.Developed(body.source, body.commonjs)]
        case _:
            return ()
