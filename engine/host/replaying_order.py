"""In which order a replay admits operations: what must be durable when one begins, and which begin before their turn.

An operation that another one overtook began before that one's turn: its snapshot is older than what the other needs.
Both are found in one pass over the records, before the replay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from engine.host.replaying_kinds import HOW
from engine.io.log import Log
from engine.record.kinds import Header
from engine.record.records import FIRST_SEQ

_WAITS_FOR_ALL = ("incident-closed", "purge")
_RESTORES = "data-restored"
_DESCRIBES = "describe"


class _Glance(msgspec.Struct):
    """Of a body, all that the order depends on."""

    snapshot: int = 0
    at: int = 0
    archived: bool | None = None


class Early(NamedTuple):
    """An operation that begins before its turn: on the data of record `snapshot`. Its record is `seq`."""

    snapshot: int
    seq: int


class Turns:
    """What each next record needs to be durable when its operation begins; records are told in their order."""

    def __init__(self, first_lived: int) -> None:
        """Records before `first_lived` are taken over as they are written: they read nothing."""
        self._first_lived = first_lived
        self._last_change = FIRST_SEQ
        self._last_unarchived = FIRST_SEQ

    def needed(self, seq: int, kind: str, body: Any) -> int:
        """`body` is one, or a glance at one, or None where it was erased: then nothing is known of it."""
        if body is None or kind not in HOW:
            return FIRST_SEQ
        how = HOW[kind]
        if kind == _DESCRIBES and body.archived is False:
            self._last_unarchived = seq
        if how.changes:
            before, self._last_change = self._last_change, seq
            if kind in _WAITS_FOR_ALL:
                return seq - 1
            return body.snapshot if how.reads and seq >= self._first_lived else before
        if kind == _RESTORES:
            return max(int(body.at), self._last_unarchived)
        # What reads nothing was taken in all the same only when the world was no longer archived.
        return int(body.snapshot) if how.reads and seq >= self._first_lived else self._last_unarchived


def oldest_snapshot(log: Log, world: str, first: int, last: int) -> int:
    """The record whose data the operations of these records need at the oldest; not after `first`'s predecessor."""
    turns = Turns(first)
    snapshots = (turns.needed(*glance) for glance in _glances(log, world, first, last) if _reads(glance[1]))
    return min([first - 1, *snapshots])


def early(log: Log, world: str, start: int, first: int, last: int) -> list[Early]:
    """Which operations begin early, where records after `start` are gone through and `first` is the first lived.

    In the order in which they begin.
    """
    turns = Turns(first)
    durable = start
    found = []
    for seq, kind, glance in _glances(log, world, start + 1, last):
        needed = turns.needed(seq, kind, glance)
        if glance is not None and needed < durable and seq >= first and _reads(kind):
            found.append(Early(needed, seq))
        durable = max(durable, needed)
    return sorted(found)


def checkpoints(log: Log, world: str, first: int, last: int) -> list[int]:
    """The checkpoints among these records."""
    return [seq for seq, kind, _ in _glances(log, world, first, last) if kind == "checkpoint"]


def _reads(kind: str) -> bool:
    return kind in HOW and HOW[kind].reads


_header = msgspec.msgpack.Decoder(Header)
_glance = msgspec.msgpack.Decoder(_Glance)


def _glances(log: Log, world: str, first: int, last: int) -> Iterator[tuple[int, str, _Glance | None]]:
    """Unchecked: the replay itself decodes strictly."""
    for _, entry in log.read(world, first):
        if entry.seq > last:
            return
        kind = _header.decode(entry.header).kind
        matters = kind in HOW and (HOW[kind].reads or kind in (_RESTORES, _DESCRIBES))
        looked_at = entry.body is not None and matters
        if entry.body is None:
            yield entry.seq, kind, None
        else:
            yield entry.seq, kind, _glance.decode(entry.body) if looked_at else _Glance()
