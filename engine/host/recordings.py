"""Worlds that leave as recordings, come as recordings, and are copied.

A recording is read to its end before anything of it is believed; then its blobs are stored, and its records written as
they are, so the world keeps its id and its record hashes (Invariant 20). What a world of that id here does not have
is never put behind what it has: only a world that is not here, or was cut off, can be imported.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
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
from engine.record.recording_format import Source
from engine.record.recording_reading import read_parts
from engine.record.records import FIRST_SEQ, decode_header, encode, record_hash
from engine.record.verify import verify_world

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

        def proved(result: Proved | Failed) -> None:
            if isinstance(result, Failed):
                done(self.import_refused(result.error))
            elif name is not None:
                self._import_copy(source, result.manifest, name, actor, request_id, done)
            else:
                self._import_proved(source, result, actor, done)

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
        log, size_bytes, newest_flick = self.parts.log, 0, 0
        hash_there = our_hash = None
        parts = read_parts(source)
        manifest = next(parts)
        assert isinstance(manifest, Manifest), "a recording begins with its manifest"
        self._require(manifest)
        last = log.last(manifest.world)
        for part in parts:
            if isinstance(part, BlobPart):
                if part.name == manifest.engine_blob:
                    self.parts.engines.require(manifest.engine, part.content)
                continue
            assert isinstance(part, list), "there is one manifest"
            for entry in part:
                size_bytes += bytes_of(entry)
                newest_flick = max(newest_flick, decode_header(entry).flick)
                if last is not None and entry.seq == last[0]:
                    hash_there = record_hash(entry.header)
        end_seq = FIRST_SEQ + manifest.records - 1
        if last is not None and end_seq <= last[0]:
            our_hash = record_hash(next(iter(log.read(manifest.world, end_seq)))[1].header)
        return Proved(manifest, newest_flick, size_bytes, hash_there, our_hash)

    def _require(self, manifest: Manifest) -> None:
        """Whether it can be a world at all. Raises RecordingRefused."""
        if manifest.redacted:
            raise RecordingRefused(
                "it is redacted: without its data it is no world. It can be replayed (pw replay FILE) and verified; "
                "to have the world here export it without --redact"
            )
        if manifest.prelude_version > self.parts.prelude_version:
            raise RecordingRefused(
                f"its world is on prelude {manifest.prelude_version}; this installation has prelude "
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
                f"world {world} was purged here, for ever",
                "import it as a copy: pw import FILE --as NAME",
            )
        if proved.our_hash == manifest.head:
            return None
        return refused(
            "exists",
            f"there is another world {world} here: it is not what the recording goes on from, or has fewer records",
            "import it as a copy: pw import FILE --as NAME",
        )

    def _clock_refused(self, proved: Proved) -> answers.Refused | None:
        """What comes in several batches must not be of the future: other worlds' request ids would be forgotten."""
        now_flicks = self.shell.clock.now_flicks()
        in_parts = (
            proved.manifest.records >= limits.LOG_BATCH_RECORDS_MAX
            or proved.size_bytes >= limits.LOG_BATCH_BYTES_MAX - limits.MIB
        )
        if not in_parts or proved.newest_flick <= now_flicks:
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
        """The records from a sequence on, once all blobs are durable (Invariant 7); on the upkeep lane."""
        waiting: list[bytes] = []
        for part in read_parts(source()):
            if isinstance(part, BlobPart):
                waiting.append(part.content)
            if waiting and (not isinstance(part, BlobPart) or len(waiting) == _BLOBS_AT_ONCE):
                pinned += self.parts.pins.put_many(self.parts.blobs, waiting)
                waiting = []
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
            last_seq = FIRST_SEQ + manifest.records - 1
            return projection_at(recording.log, manifest.world, last_seq), recording.blobs

        self.copy_from(opened, ["import", manifest.head, name], name, actor, request_id, done)
