"""What a world's records may say, looked at record by record: those of a stranger are held to what is asked here.

A chain that verifies can still say nonsense: a number given twice, a call that read data which was not there yet, a
value that is no JSON. Whoever reads such a world would fail for good, and with it whoever lists all worlds. So what is
imported is first applied to a projection in memory, and each field is judged as the door and the hub judge theirs.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from engine.ids import BadId, check_world_name
from engine.io.log import Cursor, LogEntry, LogHead
from engine.limits import LOG_BATCH_BYTES_MAX, RECORDING_MEMORY_BYTES_MAX
from engine.record import kinds
from engine.record.kinds import Body, Header
from engine.record.projection import schema
from engine.record.projection.apply import Applier
from engine.record.recording import Manifest, Recording, RecordingRefused, bytes_of
from engine.record.recording_fields import Wrong, check_fields, check_header
from engine.record.records import FIRST_SEQ, RecordRefused, decode

_APPLIED_AT_ONCE = 256
_SCRATCH_PAGE_BYTES = 4096
_GIVES_GOLDEN_NUMBERS = ("golden-pinned", "held")
_UNREADABLE = (apsw.Error, RecordRefused, ArithmeticError, ValueError, TypeError)
"""What applying records raises that say what no record of ours says."""


class WorldChecking:
    """One world's records as far as they were looked at, from its genesis on."""

    def __init__(self, manifest: Manifest) -> None:
        """`manifest` is what their recording says of them."""
        self._manifest = manifest
        self._lacking = manifest.redacted  # numbers may have been given by what was left out
        self._kinds: list[str] = []  # of each record so far
        self._next = {"revision": 0, "rejection": 1, "incident": 1, "golden": 1}
        self._goldens: dict[int, str] = {}  # the kind of each number
        self._name = ""
        self._prelude_version = self._newest_prelude = 0
        self._newest_flick = 0
        self._db = apsw.Connection(":memory:")
        self._db.execute(f"PRAGMA page_size = {_SCRATCH_PAGE_BYTES}")
        self._db.execute(f"PRAGMA max_page_count = {RECORDING_MEMORY_BYTES_MAX // _SCRATCH_PAGE_BYTES}")
        self._db.execute(schema.creation())
        self._db.execute("INSERT INTO applied VALUES (0, '', 0)")
        self._applier = Applier(self._db, {})

    @property
    def newest_flick(self) -> int:
        """The latest time that a record has."""
        return self._newest_flick

    @property
    def newest_prelude(self) -> int:
        """The highest version that a revision was made on; a rollback may have left it."""
        return self._newest_prelude

    def take(self, entries: Sequence[LogEntry]) -> None:
        """The next records. Raises RecordingRefused; then this object is of no more use."""
        for start in range(0, len(entries), _APPLIED_AT_ONCE):
            some = entries[start : start + _APPLIED_AT_ONCE]
            for entry in some:
                self._check(entry)
            placed = [(Cursor(0, 0, index), entry) for index, entry in enumerate(some)]
            try:
                self._db.execute("BEGIN")
                self._applier.apply(LogHead(0, ""), placed)
                self._db.execute("COMMIT")
            except apsw.FullError:
                raise RecordingRefused(
                    f"what its world stands on is more than the {RECORDING_MEMORY_BYTES_MAX} bytes that are allowed"
                ) from None
            except _UNREADABLE as error:
                raise RecordingRefused(
                    f"records {some[0].seq} to {some[-1].seq} make no world: {error}"
                ) from None

    def end(self) -> None:
        """There are no more. Raises RecordingRefused."""
        said, is_redacted = self._manifest, self._manifest.redacted
        if said.prelude_version != self._prelude_version:
            raise RecordingRefused(
                f"the manifest says prelude {said.prelude_version}, its records end on {self._prelude_version}"
            )
        if said.name != self._name and not is_redacted:
            raise RecordingRefused("the manifest has another name than the world's records give it")
        try:
            check_world_name(said.name)
        except BadId as error:
            raise RecordingRefused(f"the manifest's {error}") from None

    def _check(self, entry: LogEntry) -> None:
        try:
            header, body = decode(entry)
        except RecordRefused as refused:
            raise RecordingRefused(f"record {entry.seq}: {refused.reason}") from None
        try:
            if bytes_of(entry) > LOG_BATCH_BYTES_MAX:
                raise Wrong("body", f"is larger than the {LOG_BATCH_BYTES_MAX} bytes that a record may have")
            check_header(header)
            if body is not None:
                check_fields(body)
                self._check_place(header, body)
        except Wrong as wrong:
            raise RecordingRefused(f"record {entry.seq}, a {header.kind}: {wrong}") from None
        self._newest_flick = max(self._newest_flick, header.flick)
        self._kinds.append(header.kind)

    # ---- numbers, and what a record says of others

    def _check_place(self, header: Header, body: Body) -> None:
        seq = header.seq
        for field in ("revision", "base", "target"):
            self._below("revision", field, getattr(body, field, None), self._next["revision"])
        for field in ("snapshot", "at", "tried_until", "call"):
            self._below("record", field, getattr(body, field, None), max(seq, 1))
        match body:
            case kinds.Genesis() | kinds.Revision():
                self._check_head(body)
            case kinds.Rejection():
                self._numbered("rejection", "n", body.n)
            case kinds.Call():
                self._check_call(body)
            case kinds.Interrupted():
                self._numbered("incident", "incident", body.incident)
            case kinds.IncidentClosed():
                self._given("incident", "incident", body.incident)
            case kinds.GoldenPinned():
                self._recorded("call", body.call, "call")
                self._numbered("golden", "n", body.n)
            case kinds.Held():
                for difference in (*body.goldens, *body.differs):
                    self._recorded("differs.call", difference.call, "call")
                    self._golden("golden", difference.golden, "golden-pinned")
                self._golden("replaces", body.replaces, "held")
                self._numbered("golden", "n", body.n)
            case kinds.GoldenUnpinned():
                self._golden("golden", body.golden, "golden-pinned")
            case kinds.HeldRejected():
                self._golden("held", body.held, "held")
            case kinds.Unchanged():
                self._golden("blesses", body.blesses, "held")
            case kinds.Describe():
                self._name = self._name if body.name is None else body.name
            case kinds.Imported():
                if (body.records, body.head) != (seq - FIRST_SEQ, header.previous):
                    raise Wrong("records", "and head do not name the records before it")
        if header.kind in _GIVES_GOLDEN_NUMBERS:
            self._goldens[self._next["golden"] - 1] = header.kind

    def _check_head(self, body: kinds.Genesis | kinds.Revision) -> None:
        self._prelude_version = body.prelude_version
        self._newest_prelude = max(self._newest_prelude, body.prelude_version)
        if isinstance(body, kinds.Genesis):
            self._name, self._next["revision"] = body.name, 1
            return
        if body.parent != self._next["revision"] - 1:
            raise Wrong("parent", f"is {body.parent}, the head is {self._next['revision'] - 1}")
        self._numbered("revision", "n", body.n)
        if body.blessed is not None:
            self._golden("blessed.held", body.blessed.held, "held")
            for golden in body.blessed.goldens:
                self._golden("blessed.goldens", golden, "golden-pinned")

    def _check_call(self, body: kinds.Call) -> None:
        if body.incident is not None:
            self._numbered("incident", "incident", body.incident)
        if body.retries is not None:
            self._given("incident", "retries", body.retries)
        if body.admitted is not None:
            self._recorded("admitted", body.admitted, "admitted")

    def _numbered(self, count: str, field: str, number: int) -> None:
        """A number that is given here: the next one of its kind."""
        expected = self._next[count]
        if number < expected or (number > expected and not self._lacking):
            raise Wrong(field, f"is {number}; the next {count} has number {expected}")
        self._next[count] = number + 1

    def _given(self, count: str, field: str, number: int | None) -> None:
        """A number that was given before."""
        if number is not None and not (1 <= number < self._next[count] or self._lacking):
            raise Wrong(field, f"there is no {count} {number} yet")

    def _golden(self, field: str, number: int | None, kind: str) -> None:
        if number is not None and self._goldens.get(number) != kind and not self._lacking:
            raise Wrong(field, f"number {number} is no {kind} yet")

    def _below(self, what: str, field: str, number: int | None, end: int) -> None:
        if number is not None and not 0 <= number < end:
            raise Wrong(field, f"there is no {what} {number} yet")

    def _recorded(self, field: str, seq: int, kind: str) -> None:
        if not 0 <= seq < len(self._kinds) or self._kinds[seq] != kind:
            raise Wrong(field, f"record {seq} is no {kind} before this one")


def check_recording(recording: Recording) -> None:
    """All records of a recording in memory. Raises RecordingRefused."""
    checking = WorldChecking(recording.manifest)
    checking.take([entry for _, entry in recording.log.read(recording.manifest.world)])
    checking.end()
