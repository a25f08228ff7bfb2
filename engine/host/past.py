"""The past of worlds: the same reads of any moment, previews and pages there, and data brought back from it.

A moment is named by the sequence of the record after which it stood. It is made of the log on the upkeep lane and kept
for a while, so that paging through it is quick. What is tried there is run on the VM lane, under the budget of any
call; nothing is recorded and nothing changes (Invariant 18). The past has no other worlds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property

from engine import limits
from engine.host import answers
from engine.host.admission import Door
from engine.host.api import Gone, NotThere
from engine.host.engines import EngineForeign
from engine.host.ledger import LedgerReads
from engine.host.parts import Parts
from engine.host.past_tries import Tried, Try, tried
from engine.host.reads import WorldReads
from engine.host.replies import changed_by
from engine.host.runtime import Runtimes
from engine.host.shell import Failed, Shell
from engine.host.watchdog import Watchdog
from engine.hub import messages as hub
from engine.hub import refusals
from engine.hub.data import write_bytes, writes_between
from engine.io.blobs import BlobError
from engine.io.disk import DiskError
from engine.io.log import Log, LogError
from engine.logic import Interrupt
from engine.record.moments import Moment, NoMoment, data_at
from engine.record.records import RecordRefused

STORED = (BlobError, DiskError, LogError, RecordRefused, EngineForeign)
"""What keeps a stored past from being looked at; anything else is a fault of ours."""


class PastLedger(LedgerReads):
    """The records of one world up to a moment, called from any thread."""

    def __init__(self, log: Log, moment: Moment) -> None:
        super().__init__(log)
        self._moment = moment

    def read(self) -> Moment:
        return self._moment


class Past(WorldReads):
    """One world as it was after its record `seq`; what it answers has the shapes of now."""

    def __init__(self, parts: Parts, world: str, seq: int, moment: Moment) -> None:
        self.parts = parts
        self.world_id = world
        self.seq = seq
        self.rows = moment.rows_count
        self._ledger = PastLedger(parts.log, moment)

    @property
    def ledger(self) -> LedgerReads:
        return self._ledger


def moment_of(parts: Parts, world: str, seq: int) -> Moment:
    """The world after its record `seq`; on a lane. Raises NoMoment and what storage raises."""
    ledger = parts.ledger
    with ledger.lock:
        rows, checkpoint = ledger.read().records_but_data(world, seq), ledger.read().checkpoint(world, seq)
    data = data_at(parts.log, parts.blobs, world, seq, checkpoint)
    return Moment.of(parts.log, world, seq, rows, data)


class Pasts:
    """The moments that were looked at last, at most PAST_ROWS_KEPT_MAX rows of them; on the host's thread."""

    def __init__(self, parts: Parts, shell: Shell) -> None:
        self._parts = parts
        self._shell = shell
        self._kept: OrderedDict[tuple[str, int], Past] = OrderedDict()
        self._kept_rows = 0
        self.under_way = 0
        """Tries in the past, and data that is brought back, whose lanes have not ended."""
        self._waiting: dict[tuple[str, int], list[Callable[[Past | Failed], None]]] = {}

    @property
    def is_full(self) -> bool:
        """Nothing further may be asked for."""
        return len(self._waiting) + self.under_way >= limits.PAST_LOOKS_MAX

    def has(self, world: str, seq: int) -> bool:
        return (world, seq) in self._kept

    def get(self, world: str, seq: int, done: Callable[[Past | Failed], None]) -> None:
        """The world after its record `seq`, kept or made."""
        named = world, seq
        past = self._kept.get(named)
        if past is not None:
            self._kept.move_to_end(named)
            done(past)
            return
        waiting = self._waiting.setdefault(named, [])
        waiting.append(done)
        if len(waiting) == 1:
            self._shell.work("upkeep", lambda: self._made(world, seq), lambda made: self._take(named, made))

    def forget(self, world: str) -> None:
        """A world was purged: nothing of it is kept."""
        for named in [named for named in self._kept if named[0] == world]:
            self._kept_rows -= self._kept.pop(named).rows

    def _made(self, world: str, seq: int) -> Past:
        """Raises NoMoment and what storage raises."""
        return Past(self._parts, world, seq, moment_of(self._parts, world, seq))

    def _take(self, named: tuple[str, int], made: Past | Failed) -> None:
        if isinstance(made, Past):
            self._kept[named] = made
            self._kept_rows += made.rows
            while self._kept_rows > limits.PAST_ROWS_KEPT_MAX and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._kept_rows -= oldest.rows
        for done in self._waiting.pop(named):
            done(made)


Rows = list[tuple[str, bytes]]
Looked = Past | answers.Refused | NotThere
"""The last says that what was asked for is not there, and is to be raised where somebody waits for it."""


class PastLooks:
    """The part of a host that looks at the past. Each method calls `done` once, perhaps at once."""

    parts: Parts
    runtimes: Runtimes
    door: Door
    shell: Shell
    submit: Callable[..., None]

    @cached_property
    def pasts(self) -> Pasts:
        return Pasts(self.parts, self.shell)

    def look(self, world: str, at: int, *, done: Callable[[Looked], None]) -> None:
        """The world as it was after its record `at`."""
        if (refusal := self._refuse_look(world, at)) is not None:
            done(refusal)
            return
        self.pasts.get(world, at, lambda made: done(made if isinstance(made, Past) else self._unseen(made)))

    def try_in_past(
        self, world: str, at: int, what: Try, *, done: Callable[[Tried | answers.Refused | NotThere], None]
    ) -> None:
        """Preview an expression, or a view of the page, as the world was after its record `at`."""
        if self.door.draining and (refusal := self.door.closed()) is not None:
            done(refusal)
            return
        if too_large := self._too_large(what):
            done(too_large)
            return

        def run_in(past: Looked) -> None:
            if not isinstance(past, Past):
                done(past)
                return
            interrupt = Interrupt()
            watchdog = Watchdog(self.shell, interrupt)

            def run() -> Tried:
                watchdog.begin()
                return tried(self.parts, past.ledger, world, at, what, interrupt)

            def ended(result: Tried | Failed) -> None:
                watchdog.end()
                self.pasts.under_way -= 1
                done(self._unseen(result) if isinstance(result, Failed) else result)

            self.pasts.under_way += 1
            self.shell.work("vm", run, ended, world)

        self.look(world, at, done=run_in)

    def restore_data(
        self,
        world: str,
        at: int,
        *,
        prefix: str,
        reason: str,
        dry_run: bool,
        actor: str,
        request_id: str | None,
        done: Callable[[answers.OperationAnswer | NotThere], None],
    ) -> None:
        """Bring the keys with the prefix back as they were after record `at`; a dry run says what that would write."""
        if (refusal := self._refuse_look(world, at)) is not None:
            done(refusal)
            return

        def found(result: Rows | Failed) -> None:
            self.pasts.under_way -= 1
            if isinstance(result, Failed):
                done(self._unseen(result))
            elif dry_run:
                done(self._dry(world, at, prefix, result))
            else:
                operation = hub.RestoreData(at, prefix, tuple(result), reason)
                self.submit(world, operation, actor=actor, request_id=request_id, done=done)

        self.pasts.under_way += 1
        self.shell.work("upkeep", lambda: self._rows_then(world, at, prefix), found)

    def _rows_then(self, world: str, at: int, prefix: str) -> Rows:
        """On a lane. Raises NoMoment and what storage raises."""
        parts = self.parts
        with parts.ledger.lock:
            checkpoint = parts.ledger.read().checkpoint(world, at)
        return data_at(parts.log, parts.blobs, world, at, checkpoint).list(prefix, None, None)

    def _dry(
        self, world: str, at: int, prefix: str, rows: Rows
    ) -> answers.Restored | answers.OperationAnswer:
        runtime = self.runtimes.get(world)
        assert runtime is not None, "who has moments is there"
        with runtime.lock:
            data = runtime.hub.data
            now = data.list(prefix, None, None, data.durable_seq)
        writes = writes_between(dict(now), dict(rows))
        size_bytes = sum(write_bytes(write) for write in writes)
        if size_bytes > limits.DATA_WRITES_BYTES_MAX:
            return self.door.refused(refusals.restores_too_much(size_bytes))
        return answers.Restored(ok=True, at=at, restored=changed_by(writes))

    # ---- what is refused -------------------------------------------------------------------------------------------

    def _refuse_look(self, world: str, at: int) -> answers.Refused | NotThere | None:
        ledger = self.parts.ledger
        with ledger.lock:
            row = ledger.read().world(world)
        if row is None:
            return NotThere(f"there is no world {world}")
        if not 0 <= at <= row.seq:
            return NotThere(f"at: world {world} has the records 0 to {row.seq}, so there is no moment {at}")
        if row.purged:
            self.pasts.forget(world)
            return Gone(f"world {world} was purged: what it was is gone for good")
        if self.pasts.is_full:
            return answers.Refused(
                ok=False,
                refused="busy",
                error="too much is being looked up in the past",
                hint="try again; nothing was done",
                retry_after_s=limits.BUSY_RETRY_AFTER_S,
            )
        return None

    def _too_large(self, what: Try) -> answers.Refused | None:
        size_bytes = len(what.asked)
        if size_bytes <= limits.SOURCE_BYTES_MAX:
            return None
        return answers.Refused(
            ok=False,
            refused="size",
            error=f"expression: is {size_bytes} bytes; at most {limits.SOURCE_BYTES_MAX} are allowed",
            hint="send less at once",
        )

    def _unseen(self, failed: Failed) -> answers.Refused | NotThere:
        error = failed.error
        if isinstance(error, NoMoment):
            return Gone(error.reason) if error.erased else NotThere(error.reason)
        if not isinstance(error, STORED):
            self.shell.report(error)
        refusal = refusals.lost(str(error))
        return answers.Refused(ok=False, refused=refusal.code, error=refusal.error, hint=refusal.hint)
