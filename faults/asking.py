"""Everything that was asked in a life, what was heard of it, and whether the log bears it out (1, 10, 16, 17)."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.host import answers
from engine.host.answers import as_json
from engine.host.golden_answers import Pinned
from engine.host.replies import answer_of
from engine.hub import messages as hub
from engine.record import kinds
from faults.checking import Judge
from faults.guests import MAY_WRITE
from faults.history import History, Record


@dataclass
class Asked:
    """One operation as its client knows it. `cut`: the process ended before it was answered."""

    n: int
    world: str  # empty while a creation is not answered
    operation: hub.Operation | None  # None: a creation
    what: str
    request: str | None
    hears: bool
    answer: answers.OperationAnswer | None = None
    ended: bool = False
    cut: bool = False
    begun: list[tuple[int, int]] = field(default_factory=list)
    must_end: bool = False
    """It had begun when the process was killed, so the in-flight file knows it."""
    outlived: bool = False
    """The process ended, or its storage failed, after it was asked."""
    reopened: bool = False
    """The directory was opened since it was asked."""
    checked: bool = False

    @property
    def actor(self) -> str:
        return f"t{self.n}"

    @property
    def refused(self) -> bool:
        """Nothing may be recorded of it."""
        return isinstance(self.answer, answers.Refused)

    @property
    def is_in_doubt(self) -> bool:
        """Refused because storage failed: a next opening may find what the disk kept all the same."""
        told = isinstance(self.answer, answers.Refused) and self.answer.refused == "storage"
        return told and self.reopened

    @property
    def is_retry(self) -> bool:
        """Its clock and seed are those of the operation that it tries again."""
        return isinstance(self.operation, hub.Call) and self.operation.retries is not None

    @property
    def may_lose_its_record(self) -> bool:
        """It only read, was answered, and the process ended since."""
        reads = isinstance(self.answer, answers.CallOk | answers.PreviewOk | answers.PreviewFailed)
        if isinstance(self.operation, hub.Call) and self.operation.function in MAY_WRITE:
            reads = False
        return reads and self.request is None and self.outlived

    @property
    def said(self) -> str:
        return f"t{self.n} ({self.what})"


class Book:
    """All of a life's operations by number."""

    def __init__(self, judge: Judge, history: History) -> None:
        self._judge = judge
        self._history = history
        self.all: dict[int, Asked] = {}
        self._answered: dict[tuple[str, str], dict[int, Asked]] = {}

    def add(self, asked: Asked) -> None:
        self.all[asked.n] = asked

    def waiting(self) -> list[Asked]:
        return [asked for asked in self.all.values() if not asked.ended and not asked.cut]

    def begun(self, actor: str, flick: int, seed: int) -> None:
        if actor.startswith("t") and (asked := self.all.get(int(actor[1:]))) is not None:
            drawn = (flick, seed)
            if drawn not in asked.begun:
                asked.begun.append(drawn)

    def heard(self, asked: Asked, answer: answers.OperationAnswer) -> None:
        self._judge.require(16, not asked.ended, f"{asked.said} was answered twice")
        asked.ended = True
        if isinstance(answer, answers.Created):
            asked.world = answer.id
        if asked.hears:
            asked.answer = answer
        if asked.request is not None and not isinstance(
            answer, (answers.Refused, answers.Missing, *_MAY_REPEAT)
        ):
            self._answered.setdefault((asked.world, asked.request), {})[asked.n] = asked

    def process_ended(self, *, killed: bool) -> None:
        """A kill leaves the in-flight file, which a power loss may take; either may take the records of reads.

        Where storage failed meanwhile an operation may have been refused, and be killed before its client heard it.
        """
        for asked in self.all.values():
            is_sound, asked.outlived = not asked.outlived, True
            if not asked.ended and not asked.cut:
                asked.cut = True
                asked.must_end = killed and is_sound and bool(asked.begun) and not asked.is_retry
            elif not killed:
                asked.must_end = False

    def opened(self) -> None:
        """Another process has the directory."""
        for asked in self.all.values():
            asked.reopened = True

    def forget_begun(self) -> None:
        """The in-flight file may have lost what it knew."""
        for asked in self.all.values():
            asked.must_end = False

    def storage_failed(self) -> None:
        """An append failed: like a crash, it may take the records of reads that were answered."""
        for asked in self.all.values():
            asked.outlived = True

    def forgive(self, history: History) -> None:
        """What was acknowledged so far may be gone: it is not asked for any more, and the log is read anew."""
        self._history = history
        for asked in self.all.values():
            asked.checked = asked.cut = True
            asked.must_end = False
            asked.answer = None
        self._answered.clear()

    # ---- the promises

    def check(self, *, at_rest: bool, gone: set[str], healed: bool = False) -> None:
        """Compare with the log. `at_rest`: nothing is on its way; `gone`: worlds that were purged.

        `healed`: the server was started on sound storage since, so what it promised to run has run.
        """
        for asked in self.all.values():
            if asked.checked or not (asked.ended or asked.cut) or asked.world in gone:
                continue
            if asked.world:
                self._check_one(asked, healed=healed)
            if at_rest and (healed or not (asked.must_end or isinstance(asked.answer, answers.Started))):
                asked.checked = True

    def _check_one(self, asked: Asked, *, healed: bool) -> None:
        require = self._judge.require
        begun = [] if asked.is_retry else asked.begun
        found = self._history.outcomes(asked.world, asked.actor, begun)
        require(
            16, len(found) <= 1, f"{asked.said} has {len(found)} outcomes: records {[r.seq for r in found]}"
        )
        if asked.refused:
            if asked.is_in_doubt:
                return
            told = as_json(asked.answer).decode()
            require(16, not found, f"{asked.said} was refused ({told}) and left a record")
            return
        if asked.answer is None:
            if asked.must_end and healed:
                require(
                    16, len(found) == 1, f"{asked.said} had begun when the process was killed: no outcome"
                )
            return
        if isinstance(asked.answer, (answers.Missing, *_MAY_REPEAT)) and not found:
            return  # refused at the door, or what another had recorded
        records = found or self._joined(asked)
        if isinstance(asked.answer, answers.Started):
            if healed:
                require(16, bool(records), f"{asked.said} was admitted durably and has no outcome")
            return
        if not records:
            self._check_unrecorded(asked)
            return
        no_record = asked.may_lose_its_record or isinstance(asked.answer, _MAY_REPEAT)
        if no_record and all(isinstance(r.body, kinds.Interrupted) for r in records):
            return  # power took the record, and the note that the operation had ended
        told = as_json(asked.answer).decode()
        says = [
            as_json(answer_of(r.body, world=asked.world, seq=r.seq)).decode()
            for r in records
            if r.body is not None
        ]
        seqs, said = [record.seq for record in records], " and ".join(says)
        require(1, told in says or not says, f"{asked.said} was told {told}; records {seqs} say {said}")

    def _joined(self, asked: Asked) -> list[Record]:
        """The records of who had asked the same under this request id before: one, while the id was kept."""
        if asked.request is None:
            return []
        records = self._history.by_request.get((asked.world, asked.request), [])
        ends: list[Record] = []
        for record in records:
            if isinstance(record.body, kinds.Admitted):
                ends += self._history.by_admission.get((asked.world, record.seq), [])
                drawn = (asked.world, record.body.flick, record.body.seed)
                ends += self._history.interrupted.get(drawn, [])
            else:
                ends.append(record)
        return ends

    def _check_unrecorded(self, asked: Asked) -> None:
        """Answered, and no record: a definition that was not there, or a reader whose record power took."""
        lost = asked.may_lose_its_record
        told = f"{asked.said} was told {as_json(asked.answer).decode()}, and the log knows nothing of it"
        self._judge.require(1, lost, told)

    def check_requests(self) -> None:
        """Invariant 10, over the whole life: one effect, one answer, and no other body under a request id."""
        require = self._judge.require
        for (world, request), asked_by_n in self._answered.items():
            group = list(asked_by_n.values())
            bodies = {repr(asked.operation) for asked in group}  # membership only
            names = ", ".join(asked.said for asked in group)
            require(
                10, len(bodies) == 1, f"request {request} of world {world} had two bodies answered: {names}"
            )
            told = {as_json(a.answer) for a in group if _is_outcome(a.answer)}  # membership only
            require(10, len(told) <= 1, f"request {request} of world {world} had two answers: {sorted(told)}")
        for (world, request), records in self._history.by_request.items():
            if request.startswith("peer:"):
                continue
            effects = [
                r.seq for r in records if not isinstance(r.body, kinds.Admitted) and r.body is not None
            ]
            require(
                10,
                len(effects) <= 1,
                f"request {request} of world {world} had {len(effects)} effects: {effects}",
            )


_MAY_REPEAT = (answers.Enrolled, Pinned)
"""Answers to what is there already: an identical proposal is answered with the record of the first."""


def _is_outcome(answer: answers.OperationAnswer | None) -> bool:
    return answer is not None and not isinstance(answer, answers.Started | answers.Missing)
