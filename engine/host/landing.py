"""Worlds that come with many records (imports, copies) on their way into the log.

What fits in one batch is there at once or not at all. Of more, a small durable file importing/ID is written before the
first batch and removed after the last: until then the world is not there for anybody, and an opening that finds the
file knows that the world was cut off. Importing the same recording again goes on; a copy that was cut off is purged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from engine.host import answers
from engine.host.admission import Door
from engine.host.parts import Parts
from engine.host.shell import Failed, Shell
from engine.host.writer import Writer
from engine.ids import BadId, check_world_id
from engine.io.disk import Disk, read_file, write_file_durably
from engine.io.log import LogEntry
from engine.record.records import FIRST_SEQ

DIRECTORY = "importing"
_TEMPORARY = ".tmp"

Landed = Callable[[answers.Refused | None], None]


class Marker(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What importing/ID says: how many records the world begins with, and the hash of its recording's last one.

    `head` is empty for a copy, and where the file could not be read.
    """

    records: int
    head: str


class Arrivals:
    """The worlds that are not whole yet. `changed` is called when one has landed or failed to."""

    def __init__(
        self, parts: Parts, shell: Shell, writer: Writer, door: Door, changed: Callable[[], None]
    ) -> None:
        self._parts = parts
        self._shell = shell
        self._writer = writer
        self._door = door
        self._changed = changed
        self._landings: dict[str, Landing] = {}
        self._hidden: dict[str, Marker] = {}
        parts.ledger.read().arriving = self._hidden
        self._find_cut_off()

    def idle(self) -> bool:
        return not self._landings

    def has(self, world: str) -> bool:
        """Whether records of it are on their way, or some of them are here."""
        return world in self._landings or world in self._hidden

    def cut_off(self, world: str) -> Marker | None:
        """What a world was to become whose records ended before they were all here."""
        return None if world in self._landings else self._hidden.get(world)

    def refusal(self, world: str) -> answers.Refused | None:
        """Why a world that is not whole takes nothing; None for any other."""
        if world in self._landings:
            return _refused("importing", f"world {world} is just being imported", "ask again in a moment")
        if world not in self._hidden:
            return None
        last = self._parts.log.last(world)
        count = last[0] + 1 if last is not None else 0
        return _refused(
            "importing",
            f"the import of world {world} was cut off after {count} of {self._hidden[world].records} records",
            "import the same recording again to go on; or end it for ever, so that the recording can only come as a "
            f"copy: pw purge {world} --confirm {world}",
        )

    def land(
        self,
        world: str,
        batches: Iterator[Sequence[LogEntry]],
        marker: Callable[[], Marker],
        *,
        pinned: Sequence[str],
        refused: Callable[[BaseException], answers.Refused],
        done: Landed,
    ) -> None:
        """Write a world's records, from its log's end on; each of `batches` in one piece.

        They are read on the upkeep lane; `marker` is asked there once the first one is made, and `refused` says what
        their errors are to the client. `pinned` are blobs that need not be held once it has ended.
        """

        def ended(refusal: answers.Refused | None) -> None:
            if self._landings.get(world) is not landing:
                return  # told already
            del self._landings[world]
            for blob in pinned:
                self._parts.pins.landed(blob)
            if refusal is None or self._parts.log.last(world) is None:
                self._hidden.pop(world, None)
            done(refusal)
            self._changed()

        landing = Landing(self._parts, self._shell, self._writer, self._door, world, batches)
        self._landings[world] = landing
        landing.begin(marker, lambda marker: self._hidden.update({world: marker}), refused, ended)

    def landing(self, world: str) -> Landing | None:
        return self._landings.get(world)

    def buried(self, world: str) -> None:
        """A world that was cut off is purged: its tombstone is durable."""
        self._hidden.pop(world, None)
        self._shell.work("upkeep", lambda: _remove(self._parts.disk, world), _told)

    def cut_off_copies(self) -> list[str]:
        """Copies that nobody can go on with."""
        return [world for world, marker in self._hidden.items() if not marker.head]

    def _find_cut_off(self) -> None:
        disk, log = self._parts.disk, self._parts.log
        for name in disk.list(DIRECTORY):
            if name.endswith(_TEMPORARY) and _is_world_id(name.removesuffix(_TEMPORARY)):
                disk.remove(f"{DIRECTORY}/{name}")  # nothing was written before it had its name
        for world, marker in _markers(disk):
            last = log.last(world)
            if last is None or last[0] - FIRST_SEQ + 1 >= marker.records:
                _remove(disk, world)
            else:
                self._hidden[world] = marker


class Landing:
    """One world's records on their way; implements what `Creations` asks of a birth."""

    def __init__(
        self,
        parts: Parts,
        shell: Shell,
        writer: Writer,
        door: Door,
        world: str,
        batches: Iterator[Sequence[LogEntry]],
    ) -> None:
        self._parts = parts
        self._shell = shell
        self._writer = writer
        self._door = door
        self._world = world
        self._batches = batches
        self._at_hand: Sequence[LogEntry] | None = None
        self._following: Sequence[LogEntry] | None = None
        self._marker: Marker | None = None  # of what comes in parts

    def begin(
        self,
        marker: Callable[[], Marker],
        hide: Callable[[Marker], None],
        refused: Callable[[BaseException], answers.Refused],
        ended: Landed,
    ) -> None:
        """`hide` is called before anything is written that is not all; `ended` once, in the end."""
        self._make_marker, self._hide, self._refused, self._ended = marker, hide, refused, ended
        self._shell.work("upkeep", self._read_first, self._read)

    def durable(self) -> None:
        """The batch at hand is in the log."""
        self._guarded(self._go_on)

    def _guarded(self, step: Callable[[], None]) -> None:
        """Whatever a step raises, who asked is told."""
        try:
            step()
        except Exception as error:
            self._ended(self._refused(error))

    def _go_on(self) -> None:
        if self._following is not None:
            refusal = self._door.closed()
            if refusal is not None:
                self._ended(refusal)
                return
            self._shell.work("upkeep", self._read_next, self._read)
        elif self._marker is not None:
            self._shell.work("upkeep", lambda: _remove(self._parts.disk, self._world), self._unmarked)
        else:
            self._ended(None)

    def failed(self, refusal: answers.Refused) -> None:
        """The batch at hand did not become durable."""
        self._ended(refusal)

    def _read_first(self) -> None:
        self._at_hand = next(self._batches)
        self._following = next(self._batches, None)
        if self._following is not None or self._parts.log.last(self._world) is not None:
            self._marker = self._make_marker()
            _write(self._parts.disk, self._world, self._marker)
        else:
            _remove(self._parts.disk, self._world)  # of one that came to nothing

    def _read_next(self) -> None:
        self._at_hand, self._following = self._following, next(self._batches, None)

    def _read(self, result: Failed | None) -> None:
        if isinstance(result, Failed):
            self._ended(self._refused(result.error))
            return
        if self._marker is not None:
            self._hide(self._marker)
        at_hand = self._at_hand
        assert at_hand is not None, "a world has records"
        self._guarded(lambda: self._writer.put_together(at_hand))

    def _unmarked(self, result: Failed | None) -> None:
        """The world is whole, whatever became of its file: the next opening looks at the log too."""
        if isinstance(result, Failed):
            self._door.storage_failed(result.error)
        self._ended(None)


def _refused(code: str, error: str, hint: str) -> answers.Refused:
    return answers.Refused(ok=False, refused=code, error=error, hint=hint)


def _told(result: object) -> None:
    """A file that stays is looked at by the next opening."""


def _markers(disk: Disk) -> Iterator[tuple[str, Marker]]:
    """The worlds that were on their way. What cannot be read is a world of which nobody knows how to go on."""
    for name in filter(_is_world_id, disk.list(DIRECTORY)):
        try:
            marker = msgspec.json.decode(read_file(disk, f"{DIRECTORY}/{name}"), type=Marker)
        except (msgspec.DecodeError, UnicodeDecodeError):
            marker = Marker(2**53, "?")
        yield name, marker


def _is_world_id(name: str) -> bool:
    """Other files in the directory are somebody else's."""
    try:
        check_world_id(name)
    except BadId:
        return False
    return True


def _write(disk: Disk, world: str, marker: Marker) -> None:
    disk.make_dir(DIRECTORY)
    disk.sync_dir("")
    write_file_durably(disk, f"{DIRECTORY}/{world}", msgspec.json.encode(marker))


def _remove(disk: Disk, world: str) -> None:
    if disk.exists(f"{DIRECTORY}/{world}"):
        disk.remove(f"{DIRECTORY}/{world}")
        disk.sync_dir(DIRECTORY)
