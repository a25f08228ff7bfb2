"""The one writer of the log: gathers records of all worlds into batches, one batch in flight (Invariant 3).

A record is encoded when its batch starts, so that who made it need not wait for that. Urgent records start a batch as
soon as none is in flight; the others ride along, or start one after a short delay.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from engine import limits
from engine.host.shell import Failed, Shell
from engine.io.file_log import FileLog
from engine.io.log import Cursor, LogEntry, LogHead
from engine.record.kinds import Body
from engine.record.records import FIRST_SEQ, encode, genesis_previous, record_hash


class Written(NamedTuple):
    """One record that became durable."""

    cursor: Cursor
    entry: LogEntry


class Chain:
    """The end of a world's chain: what is queued and what is durable."""

    __slots__ = ("durable_hash", "durable_seq", "hash", "seq")

    def __init__(self, seq: int, last_hash: str) -> None:
        self.seq = self.durable_seq = seq
        self.hash = self.durable_hash = last_hash

    @classmethod
    def empty(cls) -> Chain:
        return cls(FIRST_SEQ - 1, genesis_previous())

    def fall_back(self) -> None:
        self.seq, self.hash = self.durable_seq, self.durable_hash


class _Queued:
    """Records of one world that go into one batch: as they will be encoded, or `encoded` with their hashes."""

    __slots__ = ("actor", "body", "encoded", "flick", "seq", "world")

    def __init__(
        self,
        world: str,
        seq: int,
        body: Body | None = None,
        actor: str = "",
        flick: int = 0,
        encoded: Sequence[tuple[LogEntry, str]] = (),
    ) -> None:
        self.world = world
        self.seq = seq
        self.body = body
        self.actor = actor
        self.flick = flick
        self.encoded = encoded


class Writer:
    """`on_durable(head, written)` and `on_failed(worlds, reason)` are called on the host's thread."""

    def __init__(
        self,
        log: FileLog,
        shell: Shell,
        *,
        on_durable: Callable[[LogHead, list[Written]], None],
        on_failed: Callable[[dict[str, int], BaseException], None],
    ) -> None:
        self._log = log
        self._shell = shell
        self._on_durable = on_durable
        self._on_failed = on_failed
        self._chains: dict[str, Chain] = {}
        self._queue: deque[_Queued] = deque()
        self._in_flight: list[tuple[LogEntry, str]] = []
        self._urgent = False
        self._cancel_delay: Callable[[], None] | None = None

    def last_seq(self, world: str) -> int:
        """The last queued sequence of a world; 0 before its genesis."""
        return self._chain(world).seq

    def put(self, body: Body, *, world: str, seq: int, actor: str, flick: int, urgent: bool) -> None:
        """Queue a record that follows its world's last one (Invariant 6)."""
        chain = self._chain(world)
        assert seq == chain.seq + 1, f"Invariant 6: {world} continues at {chain.seq + 1}, not {seq}"
        chain.seq = seq
        self._queue.append(_Queued(world, seq, body, actor, flick))
        self._urgent = self._urgent or urgent
        self._start_when_due()

    def put_together(self, entries: Sequence[LogEntry]) -> None:
        """Queue records of one world, made elsewhere, that become durable in one batch or not at all."""
        chain = self._chain(entries[0].world)
        for entry in entries:
            assert entry.seq == chain.seq + 1, f"Invariant 6: {entry.world} continues at {chain.seq + 1}"
            chain.seq = entry.seq
        encoded = [(entry, record_hash(entry.header)) for entry in entries]
        self._queue.append(_Queued(entries[0].world, chain.seq, encoded=encoded))
        self._urgent = True
        self._start_when_due()

    def idle(self) -> bool:
        return not self._queue and not self._in_flight

    def flush(self) -> None:
        """Let what is queued go out with the next batch."""
        if self._queue:
            self._urgent = True
            self._start_when_due()

    def _chain(self, world: str) -> Chain:
        chain = self._chains.get(world)
        if chain is None:
            last = self._log.last(world)
            chain = self._chains[world] = Chain(*last) if last else Chain.empty()
        return chain

    def _start_when_due(self) -> None:
        if self._in_flight or not self._queue:
            return
        if self._urgent or len(self._queue) >= limits.LOG_BATCH_RECORDS_MAX:
            self._start()
        elif self._cancel_delay is None:
            due = self._shell.clock.monotonic_flicks() + limits.LOG_READ_RECORDS_DELAY_FLICKS
            self._cancel_delay = self._shell.at(due, self._delay_over)

    def _delay_over(self) -> None:
        self._cancel_delay = None
        self.flush()

    def _start(self) -> None:
        assert not self._in_flight, "Invariant 3: at most one log batch is unsynced"
        if self._cancel_delay is not None:
            self._cancel_delay()
            self._cancel_delay = None
        size_bytes = 0
        while self._queue:
            together = self._encoded(self._queue[0])
            size_bytes += sum(len(entry.header) + len(entry.body or b"") for entry, _ in together)
            count = len(self._in_flight) + len(together)
            if self._in_flight and (
                count > limits.LOG_BATCH_RECORDS_MAX or size_bytes > limits.LOG_BATCH_BYTES_MAX
            ):
                break
            self._queue.popleft()
            self._in_flight += together
        self._urgent = self._urgent and bool(self._queue)
        entries = [entry for entry, _ in self._in_flight]
        self._shell.work("log", lambda: self._write(entries), self._appended)

    def _encoded(self, first: _Queued) -> Sequence[tuple[LogEntry, str]]:
        """The first that is queued, on its world's chain."""
        chain = self._chains[first.world]
        if not first.encoded:
            assert first.body is not None, "what is not encoded has a body"
            world, seq, actor, flick = first.world, first.seq, first.actor, first.flick
            first.encoded = [
                encode(first.body, world=world, seq=seq, actor=actor, flick=flick, previous=chain.hash)
            ]
        chain.hash = first.encoded[-1][1]
        return first.encoded

    def _write(self, entries: list[LogEntry]) -> tuple[list[Cursor], LogHead]:
        """On the log's lane. A log that had failed is tried again."""
        self._log.resume()
        return self._log.append(entries), self._log.head()

    def _appended(self, result: tuple[list[Cursor], LogHead] | Failed) -> None:
        batch, self._in_flight = self._in_flight, []
        if isinstance(result, Failed):
            self._fall_back(batch, result.error)
            return
        cursors, head = result
        for entry, entry_hash in batch:
            chain = self._chains[entry.world]
            chain.durable_seq, chain.durable_hash = entry.seq, entry_hash
        self._on_durable(head, [Written(c, e) for c, (e, _) in zip(cursors, batch, strict=True)])
        self._start_when_due()

    def _fall_back(self, batch: list[tuple[LogEntry, str]], error: BaseException) -> None:
        """Nothing of this batch counts, nor what was queued behind it on the same chains."""
        worlds: dict[str, int] = {}
        for world in [*(entry.world for entry, _ in batch), *(queued.world for queued in self._queue)]:
            chain = self._chains[world]
            chain.fall_back()
            worlds[world] = chain.durable_seq
        self._queue.clear()
        self._urgent = False
        self._on_failed(worlds, error)
