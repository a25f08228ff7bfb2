"""Worlds that leave as recordings, come as recordings, and are copied.

A recording is read to its end before anything of it is believed; then its blobs are stored, and its records written as
they are, so the world keeps its id and its record hashes (Invariant 20). What a world of that id here does not have
is never put behind what it has: only a world that is not here, or was cut off, can be imported.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import NamedTuple

from engine import limits
from engine.clock.flicks import iso_from_flicks
from engine.host import answers
from engine.host.api import Done
from engine.host.copies import Copies, refused
from engine.host.images import root_of
from engine.host.landing import Marker
from engine.host.recording_answers import AlreadyHere, ImportAnswer, Imported, Verified
from engine.host.shell import Failed
from engine.host.upkeep import Keeper
from engine.host.writer import Writer
from engine.hub import messages as hub
from engine.io.blobs import Blobs
from engine.io.log import LogEntry
from engine.record import kinds
from engine.record.moments import Moment, projection_at
from engine.record.recording import (
    BlobPart,
    Manifest,
    RecordingRefused,
    batches_of,
    bytes_of,
    read_recording,
    write_recording,
)
from engine.record.recording_checking import WorldChecking
from engine.record.recording_format import Source
from engine.record.recording_reading import read_parts
from engine.record.records import FIRST_SEQ, encode, record_hash
from engine.record.verify import Verifying, verify_records, verify_world

_BLOBS_AT_ONCE = 64
OpenSource = Callable[[], Source]
"""Opens what is imported at its beginning, as often as it is asked; on the upkeep lane."""
ImportDone = Callable[[ImportAnswer], None]


class Proved(NamedTuple):
    """What reading a recording to its end found. `hash_there` is that of its record with our last one's number,
    `our_hash` that of ours with its last one's number; None where there is none.
    """

    manifest: Manifest
    newest_flick: int
    size_bytes: int
    hash_there: str | None
    our_hash: str | None


class Recordings(Copies):
    """The part of a host that deals in recordings. What `done` hears comes once."""

    _keeper: Keeper
    _writer: Writer

    # ---- leaving

    def recording(
        self, world: str, *, until: int | None = None, redact: bool = False
    ) -> Generator[bytes, None, None]:
        """The world's recording in pieces; to be gone through on the upkeep lane. Raises NotThere, Gone.

        Going through it raises RecordingRefused, before the first piece, and what a damaged directory raises.
        """
        self.present(world, until)
        self._writer.flush()
        return write_recording(self.parts.log, self.parts.blobs, world, until=until, redact=redact)

    def verification(self, world: str) -> Generator[Verified, None, None]:
        """Verify a world step by step, on the upkeep lane; the last step says all."""
        for step in verify_world(self.parts.log, self.parts.blobs, world, root_of=root_of):
            yield Verified(
                world=world,
                records=step.records,
                erased=step.erased,
                blobs=step.blobs,
                problems=step.problems,
            )

    # ---- coming

    def import_recording(
        self,
        source: OpenSource,
        *,
        name: str | None = None,
        actor: str,
        request_id: str | None = None,
        done: ImportDone,
    ) -> None:
        """Make the recording's world one of this directory; with `name`, a copy of what it was at its end."""
        if refusal := self.door.closed():
            done(refusal)
            return

        told = _once(done)

        def proved(result: Proved | Failed) -> None:
            if isinstance(result, Failed):
                told(self.import_refused(result.error))
                return
            try:
                if name is not None:
                    self._import_copy(source, result.manifest, name, actor, request_id, told)
                else:
                    self._import_proved(source, result, actor, told)
            except Exception as error:  # whatever it is, who asked is told
                told(self.import_refused(error))

        self.shell.work("upkeep", lambda: self._prove(source()), proved)

    def absent(self, world: str, operation: hub.Operation, *, actor: str, done: Done) -> None:
        """Answer an operation on a world that is not there, or not whole: it can only be purged."""
        if isinstance(operation, hub.Purge) and self.is_cut_off(world):
            self._purge_cut_off(world, operation.reason, actor, done)
        else:
            done(
                self._arrivals.refusal(world)
                or answers.Missing(
                    ok=False, error=f"there is no world {world}", hint="`pw worlds` lists them"
                )
            )

    def end_cut_off_copies(self, *, actor: str) -> None:
        """Nobody was told of them, and nobody can go on with them."""
        for world in self._arrivals.cut_off_copies():
            self._purge_cut_off(world, "its copying was cut off", actor, lambda _: None)

    def _purge_cut_off(self, world: str, reason: str, actor: str, done: Done) -> None:
        def purged(answer: answers.OperationAnswer) -> None:
            if isinstance(answer, answers.Done):
                self._keeper.erase(world)
            done(answer)

        flick = self.shell.clock.now_flicks()
        self._creations.purge(world, reason=reason, actor=actor, flick=flick, done=purged)

    def is_cut_off(self, world: str) -> bool:
        """Whether the world's import was cut off: it can be imported again, or purged."""
        return self._arrivals.cut_off(world) is not None

    def _prove(self, source: Source) -> Proved:
        """Read all of it. Raises RecordingRefused, EngineForeign."""
        log, size_bytes = self.parts.log, 0
        hash_there = our_hash = None
        parts = read_parts(source)
        manifest = next(parts)
        assert isinstance(manifest, Manifest), "a recording begins with its manifest"
        self._require(manifest)
        checking = WorldChecking(manifest)
        last = log.last(manifest.world)
        for part in parts:
            if isinstance(part, BlobPart):
                if part.name == manifest.engine_blob:
                    self.parts.engines.require(manifest.engine, part.content)
                continue
            assert isinstance(part, list), "there is one manifest"
            checking.take(part)
            for entry in part:
                size_bytes += bytes_of(entry)
                if last is not None and entry.seq == last[0]:
                    hash_there = record_hash(entry.header)
        checking.end()
        self._require_prelude(checking.newest_prelude)
        end_seq = FIRST_SEQ + manifest.records - 1
        if last is not None and end_seq <= last[0]:
            our_hash = record_hash(next(iter(log.read(manifest.world, end_seq)))[1].header)
        return Proved(manifest, checking.newest_flick, size_bytes, hash_there, our_hash)

    def _require(self, manifest: Manifest) -> None:
        """Whether it can be a world at all. Raises RecordingRefused."""
        if manifest.redacted:
            raise RecordingRefused(
                "it is redacted: without its data it is no world. It can be replayed (pw replay FILE) and verified; "
                "to have the world here export it without --redact"
            )
        self._require_prelude(manifest.prelude_version)

    def _require_prelude(self, version: int) -> None:
        if version > self.parts.prelude_version:
            raise RecordingRefused(
                f"its world is on prelude {version}; this installation has prelude "
                f"{self.parts.prelude_version}. Import it with the version that exported it"
            )

    def _import_proved(self, source: OpenSource, proved: Proved, actor: str, done: ImportDone) -> None:
        """The recording is sound; is there a place for its world?"""
        manifest, world = proved.manifest, proved.manifest.world
        marker = Marker(manifest.records + 1, manifest.head)
        refusal = self.door.closed() or self._place_refused(proved, marker)
        if refusal is not None:
            done(refusal)
            return
        if self.parts.log.last(world) is not None and self._arrivals.cut_off(world) is None:
            done(AlreadyHere(world, manifest.name, manifest.records, manifest.head))
            return
        last = self.parts.log.last(world)
        from_seq = FIRST_SEQ if last is None else last[0] + 1
        lineage = self.parts.entropy.draw(8).hex()
        imported, _ = encode(
            kinds.Imported(lineage, manifest.records, manifest.head),
            world=world,
            seq=FIRST_SEQ + manifest.records,
            actor=actor,
            flick=self.shell.clock.now_flicks(),
            previous=manifest.head,
        )
        pinned: list[str] = []

        def landed(refusal: answers.Refused | None) -> None:
            done(refusal or Imported(world, manifest.name, manifest.records, manifest.head, lineage))

        self._arrivals.land(
            world,
            batches_of(self._arriving(source, from_seq, imported, pinned)),
            lambda: marker,
            pinned=pinned,
            refused=self.import_refused,
            done=landed,
        )

    def _place_refused(self, proved: Proved, marker: Marker) -> answers.Refused | None:
        manifest, world = proved.manifest, proved.manifest.world
        last, cut_off = self.parts.log.last(world), self._arrivals.cut_off(world)
        if cut_off is not None:
            if cut_off == marker and (last is None or last[1] in (proved.hash_there, manifest.head)):
                return self._clock_refused(proved)
            return self._arrivals.refusal(world)
        if self._arrivals.has(world) or self._creations.pending(world):
            return self._arrivals.refusal(world) or refused(
                "importing", f"world {world} is just being made", "ask again in a moment"
            )
        if last is None:
            return self._clock_refused(proved)
        if self.world(world).purged:
            return refused(
                "purged",
                f"world {world} was purged here, for ever: also where only a part of it had come",
                "import it as a copy: pw import FILE --as NAME",
            )
        if proved.our_hash == manifest.head:
            return None
        hint = "import it as a copy: pw import FILE --as NAME"
        if last[1] == proved.hash_there:
            return refused(
                "exists",
                f"world {world} is here with the recording's first {last[0] - FIRST_SEQ + 1} records. What "
                "follows them was recorded elsewhere, and a lineage is only continued where it is lived",
                hint,
            )
        return refused(
            "exists",
            f"there is another world {world} here: it is not what the recording goes on from, or has fewer records",
            hint,
        )

    def _clock_refused(self, proved: Proved) -> answers.Refused | None:
        """Nothing comes from the future but what clocks differ by; and of what comes in several batches not that:
        other worlds' request ids would be forgotten.
        """
        now_flicks = self.shell.clock.now_flicks()
        in_parts = (
            proved.manifest.records >= limits.LOG_BATCH_RECORDS_MAX
            or proved.size_bytes >= limits.LOG_BATCH_BYTES_MAX - limits.MIB
        )
        ahead_flicks_max = 0 if in_parts else limits.IMPORT_AHEAD_FLICKS_MAX
        if proved.newest_flick <= now_flicks + ahead_flicks_max:
            return None
        return refused(
            "clock",
            f"it was recorded until {iso_from_flicks(proved.newest_flick)}, and it is only "
            f"{iso_from_flicks(now_flicks)} here",
            "set this machine's clock, or import it as a copy: pw import FILE --as NAME",
        )

    def _arriving(
        self, source: OpenSource, from_seq: int, imported: LogEntry, pinned: list[str]
    ) -> Iterator[LogEntry]:
        """The records from a sequence on, once all blobs are durable (Invariant 7) and `pw verify` finds nothing wrong
        with them; on the upkeep lane. The source is open once at a time. Raises RecordingRefused.
        """
        world, waiting = imported.world, list[bytes]()
        for part in read_parts(source()):  # blobs come before records
            if isinstance(part, BlobPart):
                waiting.append(part.content)
            if waiting and (not isinstance(part, BlobPart) or len(waiting) == _BLOBS_AT_ONCE):
                pinned += self.parts.pins.put_many(self.parts.blobs, waiting)
                waiting = []
            if isinstance(part, list):
                break
        entries = (entry for part in read_parts(source()) if isinstance(part, list) for entry in part)
        _raise_problems(verify_records(entries, self.parts.blobs, world, root_of=root_of))
        for part in read_parts(source()):
            if isinstance(part, list):
                yield from (entry for entry in part if entry.seq >= from_seq)
        yield imported

    def _import_copy(
        self,
        source: OpenSource,
        manifest: Manifest,
        name: str,
        actor: str,
        request_id: str | None,
        done: Done,
    ) -> None:
        def opened() -> tuple[Moment, Blobs]:
            recording = read_recording(source())
            _raise_problems(verify_world(recording.log, recording.blobs, manifest.world, root_of=root_of))
            last_seq = FIRST_SEQ + manifest.records - 1
            return projection_at(recording.log, manifest.world, last_seq), recording.blobs

        self.copy_from(opened, ["import", manifest.head, name], name, actor, request_id, done)


def _once(done: ImportDone) -> ImportDone:
    """`done`, of which only the first call counts."""
    heard: list[ImportAnswer] = []

    def told(answer: ImportAnswer) -> None:
        if not heard:
            heard.append(answer)
            done(answer)

    return told


def _raise_problems(steps: Iterable[Verifying]) -> None:
    """Raises RecordingRefused for the first thing that verifying finds."""
    for step in steps:
        if step.problems:
            problem = step.problems[0]
            record = "" if problem.seq is None else f"record {problem.seq}: "
            raise RecordingRefused(f"{record}{problem.place}: {problem.what}")
