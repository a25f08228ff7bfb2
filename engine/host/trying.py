"""What a change would change: an attempted heap, tried against the calls that the world has really had.

A trial runs cases in the order of their snapshots, one after the other, so that their data is rolled forward once. It
can be done in slices. Nothing of it is recorded (Invariant 18).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from engine import limits, logic
from engine.host import rerunning
from engine.host.engines import EngineForeign
from engine.host.parts import JobParts
from engine.host.rerunning import Case, outcome_of
from engine.host.runtime import Runtime
from engine.io.blobs import BlobError
from engine.io.disk import DiskError
from engine.io.log import LogError
from engine.logic.jobs import Runs
from engine.logic.source import file_of
from engine.record import kinds
from engine.record.golden_kinds import Difference, Outcome
from engine.record.goldens import compare, is_same_result, kept, kept_args
from engine.record.moments import NoMoment, RollingData, data_at

FUEL_SPENT = "not tried: the calls before it took all the fuel that there is for this"
LOST = (BlobError, DiskError, LogError, EngineForeign, NoMoment)
"""What keeps a past from being run again; anything else is a fault of ours."""

DEPENDS_ON_MORE = ("conflict", "trap")
"""Failures that came of what is not recorded: other calls of the same moment, the engine's own faults."""


@dataclass(frozen=True, slots=True)
class Skipped:
    call: int
    reason: str


@dataclass(slots=True)
class Found:
    """What came of trying: calls that would come to something else, newest first, and how many there were."""

    differs: list[Difference] = field(default_factory=list)
    same: int = 0
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def tried(self) -> int:
        return self.same + len(self.differs)


class Ground:
    """Where calls of one world are run again: its engine, its sources, its history. Called from any one thread."""

    def __init__(self, parts: JobParts, runtime: Runtime) -> None:
        self._parts = parts
        self._runtime = runtime
        self._world = runtime.id
        self._rolling: RollingData | None = None

    @property
    def pool(self) -> Runs:
        engine = self._runtime.engine
        return self._parts.engines.pool_for(engine.identity, engine.blob)

    @property
    def sources(self) -> logic.SourceLookup:
        return self._runtime.sources

    def run(self, image: logic.HeapImage, case: Case, sources: logic.SourceLookup | None = None) -> Outcome:
        """What the case comes to on that heap."""
        data = self.data_at(case.snapshot)
        return rerunning.run(self.pool, image, case, data, sources or self.sources).outcome

    def data_at(self, seq: int) -> RollingData:
        """The world's data after record `seq`, to be read before this is asked again."""
        rolling = self._rolling
        parts = self._parts
        with parts.ledger.lock:
            checkpoint = parts.ledger.read().checkpoint(self._world, seq)
        near = rolling is not None and rolling.seq <= seq
        if rolling is None or not near or (checkpoint is not None and checkpoint.body.snapshot > rolling.seq):
            rolling = self._rolling = data_at(parts.ledger.log, parts.blobs, self._world, seq, checkpoint)
        else:
            rolling.advance_to(seq)
        return rolling

    def head(self, revision: int) -> logic.HeapImage:
        """The heap of the revision that is attempted upon, whose heap is known."""
        return self._parts.images.get(self._runtime.heaps[revision])

    def image_at(self, revision: int) -> logic.HeapImage:
        """The heap of an earlier revision."""
        row = self._parts.ledger.revision(self._world, revision)
        assert row is not None and row.body is not None, "a call ran on a revision of its world"
        return self._parts.images.get(row.body.heap)

    def newest_calls(self, until: int) -> Iterator[tuple[int, kinds.Call | None]]:
        """The last recorded calls up to a record: sequence and body, None where it was erased; newest first."""
        ledger = self._parts.ledger
        with ledger.lock:
            rows = ledger.read().newest_calls(self._world, until=until, limit=limits.TRIED_CALLS_MAX)
        for row in rows:
            body = ledger.body_of(row.cursor)
            assert body is None or isinstance(body, kinds.Call), "a record of a kind has a body of it"
            yield row.seq, body

    def call_at(self, seq: int) -> tuple[str, kinds.Body | None] | None:
        """Kind and body of one record; None where there is none."""
        ledger = self._parts.ledger
        with ledger.lock:
            row = ledger.read().record(self._world, seq)
        return (row.kind, ledger.body_of(row.cursor)) if row is not None else None

    def case_of(self, seq: int, body: kinds.Call) -> Case | str:
        """A recorded call as a case, or why it cannot be run again."""
        failure = body.failure
        if failure is not None and failure.kind in DEPENDS_ON_MORE:
            return f"it ended as a {failure.kind}, which running it alone does not repeat"
        case = Case(
            call=seq,
            function=body.function,
            args=body.args,
            flick=body.flick,
            seed=body.seed,
            snapshot=body.snapshot,
            asks=(),
            looks=tuple(body.looks),
            outcome=outcome_of(body),
            path=tuple(body.path),
        )
        if not body.answers and not body.abandoned:
            return case
        data = self.data_at(body.snapshot)
        image = self.image_at(body.revision)
        ran, asks = rerunning.asks_of(self.pool, image, case, body.answers, data, self.sources)
        if not is_same_result(ran.outcome, case.outcome):
            return "it does not come to what was recorded of it, not even where it ran"
        return replace(case, asks=asks)


class Trial:
    """Recorded calls of a world on an attempted heap, against what they come to on the head. `step` tries one.

    A call that ran on the head came to what was recorded; an older one is run there again, so that no change is
    blamed for what another one did.
    """

    def __init__(
        self,
        ground: Ground,
        image: logic.HeapImage,
        *,
        head: int,
        until: int,
        sources: logic.SourceLookup | None = None,
    ) -> None:
        """Against the last calls up to record `until`; `head` is the revision that was attempted upon."""
        self.found = Found()
        self._ground = ground
        self._head = head
        self._image = image
        self._sources = sources
        self._fuel_left = limits.TRIED_FUEL_MAX
        calls = ground.newest_calls(until)
        self._left = deque(sorted(calls, key=lambda call: call[1].snapshot if call[1] is not None else -1))

    def step(self) -> bool:
        """Try the next call; False where none is left: then `found` is all of it."""
        if not self._left:
            return False
        seq, body = self._left.popleft()
        skipped = self._try(seq, body)
        if skipped is not None:
            self.found.skipped.append(Skipped(seq, skipped))
        if not self._left:
            self.found.differs.sort(key=lambda difference: -difference.call)
            self.found.skipped.sort(key=lambda skipped: -skipped.call)
        return bool(self._left)

    @property
    def fuel_used(self) -> int:
        return limits.TRIED_FUEL_MAX - self._fuel_left

    def _try(self, seq: int, body: kinds.Call | None) -> str | None:
        """Why it was not tried, or None."""
        if body is None:
            return "its body is erased"
        if self._fuel_left <= 0:
            return FUEL_SPENT
        case = self._ground.case_of(seq, body)
        if isinstance(case, str):
            return case
        if body.revision != self._head:
            case = replace(case, outcome=self._run(self._ground.image_at(self._head), case))
        outcome = self._run(self._image, case)
        if is_same_result(case.outcome, outcome):
            self.found.same += 1
        else:
            self.found.differs.append(difference_of(case, outcome))
        return None

    def _run(self, image: logic.HeapImage, case: Case) -> Outcome:
        outcome = self._ground.run(image, case, self._sources)
        self._fuel_left -= outcome.fuel
        return outcome


@dataclass(frozen=True, slots=True)
class PinnedFound:
    """The pinned calls that an attempted heap does not bring to what is pinned, by number.

    `changed` are those that it changes, `as_before` those that come to the same on the head already: that was some
    other change's doing.
    """

    changed: list[Difference]
    as_before: list[Difference]


def compare_goldens(
    ground: Ground,
    image: logic.HeapImage,
    cases: Iterable[Case],
    sources: logic.SourceLookup | None = None,
    *,
    head: int,
) -> PinnedFound:
    """The pinned calls of a world on an attempted heap; `head` is the revision that was attempted upon.

    One for which there is no fuel left is no less changed than one that comes to something else.
    """
    pinned = {str(case.golden): case for case in cases}
    found: dict[str, Outcome] = {}
    as_before = set()
    fuel_left = head_fuel_left = limits.TRIED_FUEL_MAX
    for id, case in sorted(pinned.items(), key=lambda entry: (entry[1].snapshot, entry[1].golden)):
        if fuel_left <= 0:
            break
        found[id] = ground.run(image, case, sources)
        fuel_left -= found[id].fuel
        if is_same_result(case.outcome, found[id]) or head_fuel_left <= 0:
            continue
        now = ground.run(ground.head(head), case)
        head_fuel_left -= now.fuel
        if is_same_result(now, found[id]):
            as_before.add(id)
    compared = compare({id: case.outcome for id, case in pinned.items()}, found, same=is_same_result)
    differing = {id: changed.after for id, changed in compared.changed.items()}
    differing |= dict.fromkeys(compared.missing, Outcome(stopped=FUEL_SPENT))
    differences = {id: difference_of(case, differing[id]) for id, case in pinned.items() if id in differing}
    return PinnedFound(
        changed=[difference for id, difference in differences.items() if id not in as_before],
        as_before=[difference for id, difference in differences.items() if id in as_before],
    )


def difference_of(case: Case, after: Outcome) -> Difference:
    return Difference(
        call=case.call,
        function=case.function,
        args=kept_args(case.args),
        before=kept(case.outcome),
        after=kept(after),
        golden=case.golden,
        name=case.name,
    )


class WithSource:
    """A world's sources and the attempted one, which is not one of them yet."""

    def __init__(self, sources: logic.SourceLookup, source: str, *, is_library: bool) -> None:
        self._sources = sources
        self._file = file_of(source)
        self._written = logic.WrittenSource(source, is_library)

    def __call__(self, file: str) -> logic.WrittenSource | None:
        return self._written if file == self._file else self._sources(file)
