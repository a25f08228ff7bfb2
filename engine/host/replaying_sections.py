"""Looking for the record that diverges without living all of them: by halves, over sections between checkpoints."""

from __future__ import annotations

import msgspec

from engine.host.opening import Machine
from engine.host.replaying import Progress, Replayed, replay
from engine.host.replaying_order import checkpoints
from engine.io.blobs import Blobs
from engine.io.log import Log
from engine.record.divergence import STILL_DIVERGES, Divergence, first_where, sections
from engine.record.records import FIRST_SEQ


class Bisected(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What looking at some sections came to.

    `divergence` is the first of the section in which it was found: that of all of them, if what is `assumed` holds.
    """

    world: str
    from_seq: int
    until_seq: int
    sections: int
    probed: list[Replayed]
    divergence: Divergence | None
    assumed: str = STILL_DIVERGES

    @property
    def count(self) -> int:
        """Records that were compared and are equal."""
        return sum(replayed.count for replayed in self.probed)

    @property
    def is_equal(self) -> bool:
        return self.divergence is None and self.count > 0


def bisect(
    log: Log,
    blobs: Blobs,
    world: str,
    machine: Machine,
    *,
    from_seq: int = FIRST_SEQ,
    until_seq: int,
    on_progress: Progress | None = None,
) -> Bisected:
    """The first divergence, if sections go on diverging: log2 of them are lived, each up to where it diverges.

    `on_progress` hears which probe begins, of at most how many. Raises what `replay` raises.
    """
    cut = sections(from_seq, until_seq, checkpoints(log, world, from_seq, until_seq))
    probed: list[Replayed] = []

    def diverges(n: int) -> bool:
        if on_progress is not None:
            on_progress(len(probed) + 1, len(cut).bit_length())
        first, last = cut[n]
        probed.append(replay(log, blobs, world, machine, from_seq=first, until_seq=last))
        return probed[-1].divergence is not None

    n = first_where(len(cut), diverges)
    found = [one.divergence for one in probed if n < len(cut) and one.from_seq == cut[n].first]
    return Bisected(
        world=world,
        from_seq=from_seq,
        until_seq=until_seq,
        sections=len(cut),
        probed=probed,
        divergence=found[0] if found else None,
    )
