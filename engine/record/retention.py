"""Which bodies may be erased: what only answered a question, once it is old, and all of a purged world's.

A body that is erased must leave no trace in the projection that a rebuild could not make (Invariant 9). So read-only
calls expire by the time of the log, not the machine's: a request id is forgotten when a later record says that it is
old, and never before its answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.io.log import LogEntry
from engine.limits import REQUEST_ID_KEPT_FLICKS
from engine.record.kinds import Body, Call, Preview
from engine.record.projection import Projection
from engine.record.records import decode

MAY_EXPIRE = ("call", "preview")
"""Kinds of which some records change nothing: their bodies go with time, also while the world lives."""
_KIND_PURGE = "purge"


@dataclass(frozen=True)
class Retention:
    """What `Log.erase_bodies` asks. `older_than_flicks` has each world's limit; None: everything of it goes."""

    older_than_flicks: Mapping[str, int | None]

    @classmethod
    def of(cls, projection: Projection, *, now_flicks: int) -> Retention:
        """The policies of all worlds. A world that is not in the projection keeps everything."""
        now_flicks = min(now_flicks, projection.newest_flick())
        return cls(
            {
                world.id: None
                if world.purged
                else now_flicks - max(world.read_bodies_kept_flicks, REQUEST_ID_KEPT_FLICKS)
                for world in projection.worlds()
            }
        )

    def erasable(self, entry: LogEntry) -> bool:
        """Whether this record's body may go. Raises RecordForeign, RecordRotten."""
        if entry.world not in self.older_than_flicks:
            return False
        header, body = decode(entry)
        limit_flicks = self.older_than_flicks[entry.world]
        if limit_flicks is None:
            return header.kind != _KIND_PURGE
        return header.flick < limit_flicks and only_answered(body)


def only_answered(body: Body | None) -> bool:
    """Whether a record changed nothing and nobody was told its number."""
    match body:
        case Preview():
            return True
        case Call():
            return not body.writes and body.incident is body.retries is body.admitted is None
        case _:
            return False
