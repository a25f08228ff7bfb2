"""A host without a machine: it runs jobs of a small model, keeps a log, fails, crashes, and checks every promise.

Guest functions are pure, so any record can be executed again on any state.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine import limits
from engine.hub import World, open_world, step
from engine.hub.messages import (
    Admit,
    Answer,
    Append,
    AppendFailed,
    AskPeer,
    AttemptDone,
    Call,
    CallDone,
    CallWaiting,
    CancelTimer,
    Checkpoint,
    Describe,
    Draft,
    Drain,
    Drained,
    Durable,
    Effect,
    Enrol,
    Event,
    Execute,
    Interrupt,
    JobLost,
    Loaded,
    Operation,
    PeerAnswered,
    Pin,
    Request,
    RunJob,
    SetTimer,
    TimerFired,
    TryCall,
)
from faults.orders.guest import Heard, View, Waits, run_guest
from faults.orders.promises import NUMBERS, check_clients, check_log, closes, held_of, pinned_of

Rows = dict[str, bytes]


@dataclass
class Life:
    """One world's life. `log` is what a disk would hold; `states[seq]` is the data after each record of it."""

    name: str = "w"
    world: World = field(init=False)
    log: dict[int, Draft] = field(default_factory=dict)  # durable records by sequence
    states: dict[int, Rows] = field(default_factory=lambda: {1: {}})
    appended: list[Draft] = field(default_factory=list)
    jobs: dict[int, RunJob] = field(default_factory=dict)
    timers: dict[int, int] = field(default_factory=dict)
    asks: dict[tuple[int, int], AskPeer] = field(default_factory=dict)  # sent and not answered by the peer
    peers_did: dict[str, tuple[bool, bytes]] = field(default_factory=dict)  # request id -> the peer's record
    snapshots: dict[int, int] = field(default_factory=dict)  # of what runs
    marked: set[int] = field(default_factory=set)  # operations in the in-flight file
    going_on: set[int] = field(default_factory=set)  # whose clients know that they are admitted
    waiting: dict[int, Admit] = field(default_factory=dict)  # admitted and not answered
    started: dict[int, Admit] = field(default_factory=dict)  # whose jobs began, or that were drafted
    answered: dict[int, Answer] = field(default_factory=dict)
    readers_answered: set[int] = field(default_factory=set)  # operations whose record a crash may lose
    unrecorded: list[Interrupt] = field(default_factory=list)  # interrupted, and the log did not take it
    erased: set[int] = field(default_factory=set)  # interrupted, and their world was purged
    acknowledged: dict[tuple[str, int], int] = field(default_factory=dict)  # (count, number) -> sequence
    trace: list[str] = field(default_factory=list)
    keeps_trace: bool = True
    draining: bool = False
    drained: bool = False
    monotonic_flicks: int = 0
    between_arrivals_flicks: int = limits.FLICKS_PER_SECOND // 10
    next_op: int = 1
    days: int = 0  # that have passed, each as long as a request id is kept

    def __post_init__(self) -> None:
        self.world = open_world(self.loaded())

    @property
    def last_seq(self) -> int:
        """Of the last durable record; the genesis is 1."""
        return 1 + len(self.log)

    # -- what may happen --

    def admit(self, operation: Operation, request: Request | None = None, again: Draft | None = None) -> int:
        op = self.next_op
        self.next_op += 1
        self.monotonic_flicks += self.between_arrivals_flicks
        now_flicks = self.days * limits.REQUEST_ID_KEPT_FLICKS + op * 1000
        flick, seed = (again.flick, again.seed) if again else (now_flicks, op * 7919)
        admit = Admit(op, operation, "a", request, flick, self.monotonic_flicks, seed, now_flicks)
        self.waiting[op] = admit
        self.feed(admit)
        return op

    def finish(self, op: int, verdict: str = "accepted") -> None:
        job = self.jobs.pop(op)
        if isinstance(job.operation, Call | Execute | TryCall):
            event = self.run(job)
            if isinstance(event, CallWaiting) and getattr(job.operation, "admitted", None) is not None:
                self.marked.discard(op)
            self.feed(event)
        elif isinstance(job.operation, Enrol):
            verdict = {"accepted": "enrolled", "unchanged": "existing", "held": "rejected"}.get(
                verdict, verdict
            )
            self.feed(AttemptDone(op, verdict, None, 1 if verdict == "existing" else None))
        elif isinstance(job.operation, Pin):
            verdict = {"accepted": "pinned", "unchanged": "existing"}.get(verdict, "rejected")
            self.feed(AttemptDone(op, verdict, None, 1 if verdict == "existing" else None))
        else:
            verdict = "accepted" if isinstance(job.operation, Checkpoint) else verdict
            self.feed(AttemptDone(op, verdict, None))

    def run(self, job: RunJob) -> Event:
        """The guest once more from its start, up to where it has not heard enough: a park is what it heard."""
        call = job.operation if not isinstance(job.operation, Execute) else Call("askOnly", b'["a"]')
        data, snapshot = self.world.data, job.snapshot
        asked: int = 0
        heard: tuple[Heard, ...] = ()
        if job.resume is not None:
            asked, heard = job.resume.detail
            heard = (*heard, (job.resume.ordinal, job.resume.ok, job.resume.value))
        view = View(
            lambda key: data.get(key, snapshot),
            lambda prefix: data.list(prefix, None, None, snapshot),
            heard,
        )
        try:
            outcome = run_guest(call, job.seed, view)
        except Waits:
            park = (len(view.asks), heard)
            return CallWaiting(job.op, tuple(view.asks[asked:]), park, self.monotonic_flicks)
        return CallDone(job.op, outcome.ok, outcome.missing, outcome.reads, outcome.writes, outcome)

    def answer(self, op: int, ordinal: int, ok: bool = True) -> None:
        """The peer answers: what it did under an id once, it says again."""
        asked = self.asks.pop((op, ordinal))
        value = str(len(asked.ask.args) + len(asked.ask.world)).encode() if ok else b"no"
        ok, value = self.peers_did.setdefault(asked.request_id, (ok, value))
        self.feed(PeerAnswered(op, ordinal, ok, value, "" if ok else "threw"))

    def lose(self, op: int) -> None:
        del self.jobs[op]
        self.feed(JobLost(op, "lost"))

    def make_durable(self, count: int) -> None:
        if count := min(count, len(self.appended)):
            self.keep(count)
            self.feed(Durable(self.last_seq))

    def fail_append(self, kept: int) -> None:
        self.keep(min(kept, len(self.appended)))
        self.appended.clear()
        self.feed(AppendFailed(self.last_seq, "no"))

    def fire(self, token: int) -> None:
        self.monotonic_flicks = max(self.monotonic_flicks, self.timers.pop(token))
        self.feed(TimerFired(token, self.monotonic_flicks))

    def drain(self) -> None:
        self.draining = True
        self.feed(Drain())

    def crash(self, kept: int) -> None:
        """The process ends; of what was appended a part is on the disk. Recovery tells what was in flight.

        What was durably admitted and is not in flight is run again.
        """
        self.keep(min(kept, len(self.appended)))
        self.appended.clear()
        recorded = {draft.op for draft in self.log.values() if draft.kind != "admitted"}
        admits = [
            admit
            for op, admit in sorted(self.started.items())
            if op in self.marked and op in self.waiting and op not in recorded
        ]
        for going in (self.waiting, self.jobs, self.timers, self.asks, self.snapshots, self.marked):
            going.clear()
        self.draining = self.drained = False
        self.world = open_world(self.loaded())
        for admit in admits:
            if isinstance(admit.operation, Interrupt):
                self.unrecorded.append(admit.operation)
            else:
                owner = self.owner_of(admit.op)
                was_admitted = any(d.kind == "admitted" and d.op == owner for d in self.log.values())
                self.unrecorded.append(Interrupt(owner, None if was_admitted else admit.request))
        ended = {interrupt.detail for interrupt in self.unrecorded}
        self.tell_interrupted()
        for draft in self.unsettled():
            if draft.op not in ended:
                operation = draft.operation
                self.admit(Call(operation.function, operation.args, admitted=draft.seq), again=draft)

    def owner_of(self, op: int) -> int:
        """The operation that a client asked for, where recovery ran it under another number."""
        operation = self.started[op].operation
        if isinstance(operation, Call) and operation.admitted is not None:
            return self.log[operation.admitted].op
        return op

    def unsettled(self) -> list[Draft]:
        """Admitted durably, and without an outcome."""
        settled = [draft.operation.admitted for draft in self.log.values() if draft.kind == "call"]
        told = [draft.operation.detail for draft in self.log.values() if draft.kind == "interrupted"]
        return [
            draft
            for draft in self.log.values()
            if draft.kind == "admitted" and draft.seq not in settled and draft.op not in told
        ]

    def tell_interrupted(self) -> None:
        """An in-flight entry is kept until its outcome is recorded."""
        unrecorded, self.unrecorded = self.unrecorded, []
        for interrupt in unrecorded:
            self.admit(interrupt)

    # -- the machinery --

    def keep(self, count: int) -> None:
        for draft in self.appended[:count]:
            seq = self.last_seq + 1
            assert draft.seq == seq, "Invariant 6"
            rows = dict(self.states[seq - 1])
            for write in draft.writes:
                if write.value is None:
                    rows.pop(write.key, None)
                else:
                    rows[write.key] = write.value
            self.log[seq] = draft
            self.states[seq] = rows
        del self.appended[:count]

    def feed(self, event: Event) -> None:
        effects = self.step(event)
        if self.keeps_trace:
            self.trace.append(repr((event, effects)))
        for effect in effects:
            self.perform(effect)

    def step(self, event: Event) -> list[Effect]:
        return step(self.world, event)

    def perform(self, effect: Effect) -> None:
        match effect:
            case RunJob():
                admit = self.waiting[effect.op]
                assert (effect.flick, effect.seed) == (admit.flick, admit.seed), "re-runs keep flick and seed"
                if effect.resume is None:
                    assert effect.snapshot == self.last_seq, "a job reads durable state"
                    self.snapshots[effect.op] = effect.snapshot
                assert effect.snapshot == self.snapshots[effect.op], "it goes on at its snapshot"
                assert effect.op not in self.jobs
                self.jobs[effect.op] = effect
                self.started[effect.op] = admit
                self.marked.add(effect.op)
            case AskPeer():
                ids = [asked.request_id for asked in self.asks.values()]
                assert effect.request_id not in ids, "Invariant 11"
                self.asks[effect.op, effect.ask.ordinal] = effect
            case Append():
                for draft in effect.drafts:
                    assert draft.seq == self.last_seq + len(self.appended) + 1, "Invariant 6"
                    self.appended.append(draft)
                    self.started.setdefault(draft.op, self.waiting[draft.op])
                    self.marked.add(draft.op)
            case Answer(goes_on=True):
                assert self.log[effect.seq].kind == "admitted", "Invariant 1"
                assert effect.op in self.waiting and effect.op not in self.going_on
                self.going_on.add(effect.op)
            case Answer():
                self.take_answer(effect)
            case SetTimer():
                self.timers[effect.token] = effect.at_monotonic_flicks
            case CancelTimer():
                del self.timers[effect.token]
            case Drained():
                assert self.draining
                self.drained = True

    def take_answer(self, answer: Answer) -> None:
        admit = self.waiting.pop(answer.op)
        assert answer.op not in self.answered, "Invariant 16: one answer"
        self.answered[answer.op] = answer
        if answer.seq is None:
            assert answer.refusal is not None
            if isinstance(admit.operation, Interrupt):
                if answer.refusal.code == "purged":
                    self.erased.add(admit.operation.detail)
                else:
                    assert answer.refusal.code == "storage", "nothing else refuses what was interrupted"
                    self.unrecorded.append(admit.operation)
            return
        if isinstance(admit.operation, Enrol | Pin) and answer.seq == 1:
            return  # the genesis stands for the record of an earlier enrolment
        draft = self.log.get(answer.seq)
        if draft is None:
            draft = next(draft for draft in self.appended if draft.seq == answer.seq)
            assert draft.number is None and draft.request is None and not draft.writes, "Invariant 1"
            assert not draft.answers, "what used another world waits for its record"
            self.readers_answered.add(draft.op)
        elif draft.number is not None:
            number = (NUMBERS[draft.kind], draft.number)
            assert self.acknowledged.setdefault(number, draft.seq) == draft.seq, "Invariant 17"
        request = admit.request
        if isinstance(admit.operation, Interrupt):
            request = admit.operation.request
        assert draft.op == answer.op or draft.request == request is not None, "Invariant 10"

    def loaded(self) -> Loaded:
        """What the disk says of the world."""
        state = {"archived": False, "frozen": False, "purged": False}
        numbers = {"revision": 0, "rejection": 0, "incident": 0, "golden": 0}
        requests = {}
        closed = []
        for draft in self.log.values():
            if draft.number is not None:
                numbers[NUMBERS[draft.kind]] = draft.number
            if draft.request is not None:
                requests[draft.request.id] = (draft.request.hash, draft.seq, draft.arrived_flick)
            closed += closes(draft)
            if isinstance(draft.operation, Describe):
                for flag in ("archived", "frozen"):
                    if getattr(draft.operation, flag) is not None:
                        state[flag] = getattr(draft.operation, flag)
            state["purged"] = state["purged"] or draft.kind == "purge"
        seq = self.last_seq
        return Loaded(
            world=self.name,
            seq=seq,
            revision=numbers["revision"],
            next_revision=numbers["revision"] + 1,
            next_rejection=numbers["rejection"] + 1,
            next_incident=numbers["incident"] + 1,
            archived=state["archived"],
            frozen=state["frozen"],
            purged=state["purged"],
            requests=requests,
            rows=tuple(sorted(self.states[seq].items())),
            closed_incidents=tuple(sorted(closed)),
            next_golden=numbers["golden"] + 1,
            goldens=tuple(pinned_of(self.log.values())),
            held=tuple(held_of(self.log.values())),
        )

    # -- the promises --

    def come_to_rest(self) -> None:
        """With nothing failing any more, everything ends and everybody is answered."""
        self.tell_interrupted()
        for _ in range(8 * (len(self.waiting) + 2)):
            for op in list(self.jobs):
                self.finish(op)
            for op, ordinal in list(self.asks):
                self.answer(op, ordinal)
            self.make_durable(len(self.appended))
            if not (self.jobs or self.asks or self.appended):
                break
        assert self.world.is_at_rest and not self.jobs and not self.timers
        assert self.drained == self.draining
        if not self.drained:
            assert self.world.is_idle and not self.waiting
        assert not set(self.waiting) - self.going_on - {draft.op for draft in self.log.values()}, (
            "only what is durably admitted stays"
        )
        if self.waiting:
            return  # its snapshots keep versions
        seq = self.last_seq
        assert self.world.data.list("", None, None, seq) == sorted(self.states[seq].items())
        assert self.world.data.versions_count() == len(self.states[seq])

    def check_promises(self) -> None:
        check_log(self)
        check_clients(self)
