"""Calls and previews: one operation on a head and one snapshot of the data, whose heap is thrown away.

An operation that waits for another world becomes a `Park` and goes on by `resume`, once an answer, in the order in
which answers arrive. Its budget, its clock, its randomness, its console and its writes go on with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from engine import ids, limits
from engine.logic.call_host import PEER_BYTES_SPENT, CallHost, Journal
from engine.logic.failures import OUT_OF_MEMORY, PENDING, TOO_DEEP, ended_early, failure_of, programs_of
from engine.logic.image import HeapImage
from engine.logic.jobs import (
    Alone,
    CallOutcome,
    DataView,
    Failure,
    FailureKind,
    Peers,
    Runs,
    SourceLookup,
    failure_kind,
)
from engine.logic.park import HeapDelta, Park, Waiting
from engine.logic.source import Program, SourceError, expression_program
from engine.logic.vm import Interrupt, Job, JobResult, text_of, wtf8
from engine.logic.watching import Watcher

OUTCOME = b"="
_KINDS_OF_MARK: dict[bytes, FailureKind] = {b"-": "threw", b"!": "syntax"}
_ALONE = Alone()


def call(
    pool: Runs,
    image: HeapImage,
    name: str,
    args_json: bytes,
    *,
    flick: int,
    seed: int,
    fuel: int,
    data: DataView,
    peers: Peers = _ALONE,
    source_lookup: SourceLookup,
    interrupt: Interrupt | None = None,
    watcher: Watcher | None = None,
) -> CallOutcome | Waiting:
    """Call a definition with a JSON array of arguments; a class is constructed.

    `flick` is the operation's moment, `seed` 64 bits. Whoever raises inside the data view gets it raised here.
    """
    if not ids.is_definition_name(name):
        return CallOutcome(ok=False, fuel=0, missing=True)
    if len(args_json) > limits.ARGUMENTS_BYTES_MAX:
        return _too_large("the arguments are", len(args_json), limits.ARGUMENTS_BYTES_MAX)
    request = b"c%s\n%s" % (name.encode(), args_json)
    operation = _Operation(
        pool=pool,
        head=image,
        host=CallHost(data, peers, Journal()),
        program=None,
        flick=flick,
        fuel_max=fuel,
        source_lookup=source_lookup,
        interrupt=interrupt,
        watcher=watcher,
    )
    return operation.run(image, request, seed=seed)


def execute(
    pool: Runs,
    image: HeapImage,
    expression: str,
    *,
    flick: int,
    seed: int,
    fuel: int,
    data: DataView,
    peers: Peers = _ALONE,
    source_lookup: SourceLookup,
    interrupt: Interrupt | None = None,
    watcher: Watcher | None = None,
) -> CallOutcome | Waiting:
    """Evaluate one expression as strict code: a preview, whose writes the caller lists and forgets."""
    size = len(wtf8(expression))
    if size > limits.SOURCE_BYTES_MAX:
        return _too_large("the expression is", size, limits.SOURCE_BYTES_MAX)
    try:
        program = expression_program(expression)
    except SourceError as error:
        return CallOutcome(ok=False, fuel=0, failure=Failure(kind="syntax", error=str(error)))
    operation = _Operation(
        pool=pool,
        head=image,
        host=CallHost(data, peers, Journal()),
        program=program,
        flick=flick,
        fuel_max=fuel,
        source_lookup=source_lookup,
        interrupt=interrupt,
        watcher=watcher,
    )
    return operation.run(image, program_request(b"x", program), seed=seed)


def resume(
    pool: Runs,
    image: HeapImage,
    park: Park,
    ordinal: int,
    ok: bool,
    value: bytes,
    *,
    kind: str = "threw",
    data: DataView,
    peers: Peers = _ALONE,
    source_lookup: SourceLookup,
    interrupt: Interrupt | None = None,
    watcher: Watcher | None = None,
) -> CallOutcome | Waiting:
    """Go on with one answer: to the ask `ordinal`, JSON text or, if it is not `ok`, an error's message.

    `image` is the head that the operation began on, `data` the snapshot. If nobody catches the error, the
    operation failed with `kind`. An answer that it does not wait for changes nothing. `park` is left as it is.
    """
    if ordinal not in park.journal.unanswered:
        return Waiting((), park)
    journal = park.journal.copy()
    asked = journal.unanswered.pop(ordinal)
    if watcher is not None:
        watcher.heard(ordinal, asked, ok, value)
    journal.peer_bytes += len(value)
    if not ok and kind != "threw":
        journal.refuse(failure_kind(kind), f"Error: {text_of(value)}")
    operation = _Operation(
        pool=pool,
        head=image,
        host=CallHost(data, peers, journal),
        program=park.program,
        flick=park.flick,
        fuel_max=park.fuel_max,
        source_lookup=source_lookup,
        interrupt=interrupt,
        watcher=watcher,
    )
    if journal.is_over_peer_bytes:
        return operation.failed("size", PEER_BYTES_SPENT, fuel=park.fuel_used)
    request = b"r%d\n%s%s" % (ordinal, b"+" if ok else b"-", value)
    return operation.run(park.heap.on(image), request, seed=None, fuel_used=park.fuel_used)


def program_request(kind: bytes, program: Program, name: str = "") -> bytes:
    """The request to compile a program and do with it what `kind` says; see `prelude/entry.js`."""
    words = f"{name + ' ' if name else ''}{program.file} {program.function_length}\n"
    return kind + words.encode() + wtf8(program.text)


def milliseconds_of(flick: int) -> int:
    """What `Date.now` says at a flick since 1970."""
    return flick * 1000 // limits.FLICKS_PER_SECOND


def _too_large(what: str, size: int, size_max: int) -> CallOutcome:
    error = f"{what} {size} bytes; at most {size_max} are allowed"
    return CallOutcome(ok=False, fuel=0, failure=Failure(kind="size", error=error))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Operation:
    """What one part of an operation runs with. `head` is the heap that the whole of it began on."""

    pool: Runs
    head: HeapImage
    host: CallHost
    program: Program | None
    flick: int
    fuel_max: int
    source_lookup: SourceLookup
    interrupt: Interrupt | None
    watcher: Watcher | None = None

    def run(
        self, image: HeapImage, request: bytes, *, seed: int | None, fuel_used: int = 0
    ) -> CallOutcome | Waiting:
        result = self.pool.run(
            Job(
                image=image,
                request=request,
                collect_request=OUTCOME,
                clock_ms=milliseconds_of(self.flick),
                seed=seed,
                fuel=self.fuel_max - fuel_used,
                host=self.host if self.watcher is None else self.watcher.around(self.host),
                park=True,
                interrupt=self.interrupt,
            )
        )
        result = msgspec.structs.replace(result, fuel_used=fuel_used + result.fuel_used)
        if result.status == "ok" and result.image is not None:
            return Waiting(tuple(self.host.asks), self._park(result, result.image))
        return self._outcome(result)

    def _park(self, result: JobResult, image: HeapImage) -> Park:
        return Park(
            heap=HeapDelta.between(self.head, image),
            journal=self.host.journal,
            flick=self.flick,
            fuel_used=result.fuel_used,
            fuel_max=self.fuel_max,
            program=self.program,
        )

    def _outcome(self, result: JobResult) -> CallOutcome:
        journal = self.host.journal
        ended = ended_early(result) or _ended(result.text or b"", journal)
        if ended == "missing":
            return CallOutcome(ok=False, fuel=result.fuel_used, missing=True)
        if ended is not None:
            return self.failed(*ended, fuel=result.fuel_used)
        assert result.text is not None
        return _outcome(journal, fuel=result.fuel_used, value=result.text[1:])

    def failed(self, kind: FailureKind, error: str, *, fuel: int) -> CallOutcome:
        failure = failure_of(kind, error, programs_of(self.source_lookup, self.program))
        return _outcome(self.host.journal, fuel=fuel, failure=failure)


def _outcome(
    journal: Journal, *, fuel: int, value: bytes | None = None, failure: Failure | None = None
) -> CallOutcome:
    return CallOutcome(
        ok=failure is None,
        value=value,
        failure=failure,
        fuel=fuel,
        logs=journal.console.lines,
        reads=tuple(journal.reads),
        writes=tuple(journal.writes.items()),
        abandoned=tuple(journal.unanswered.values()),
        looks=tuple(journal.looks.values()),
    )


def _ended(text: bytes, journal: Journal) -> tuple[FailureKind, str] | Literal["missing"] | None:
    """What the guest says its outcome was; None if it succeeded."""
    mark, error = text[:1], text[1:]
    if mark == b"+":
        if len(error) > limits.RESULT_BYTES_MAX:
            return "size", f"the result is {len(error)} bytes; at most {limits.RESULT_BYTES_MAX} are allowed"
        return None
    if mark == b"0":
        return "missing"
    if mark == b"?":
        return "pending", PENDING
    message = text_of(error)
    if message.startswith(OUT_OF_MEMORY):
        return "memory", message
    if message.startswith(TOO_DEEP):
        return "size", message
    return journal.refusals.get(message.split("\n", 1)[0], _KINDS_OF_MARK[mark]), message
