"""A long recording replayed by several processes at once: each takes a section, and begins with its recorded state.

They are forked before an engine is loaded or a thread is started, so they share the recording as it lies in memory.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection

from engine.host.replaying import CannotReplay, Replayed
from engine.record.divergence import Section

SECTION_RECORDS_MIN = 2000
"""Below that a process costs more than it saves: it makes the state that its section begins with."""

ReplaySection = Callable[[int, int], Replayed]


def processes_for(records: int) -> int:
    """How many processes may share so many records; one where this process cannot be forked."""
    if not sys.platform.startswith("linux") or threading.active_count() > 1:
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), records // SECTION_RECORDS_MIN))


def replay_abreast(first: int, last: int, processes: int, replay_section: ReplaySection) -> Replayed:
    """One replay of all records: up to the first divergence, wherever it is. Raises what `replay_section` raises.

    Only where `processes_for` allows more than one process. What another process raises is a CannotReplay here.
    """
    own, *others = _cut(first, last, processes)
    context = multiprocessing.get_context("fork")
    children = []
    for section in others:
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=_replay_there, args=(there, replay_section, section), daemon=True)
        child.start()
        there.close()
        children.append((child, here))
    try:
        parts = [replay_section(*own)]
        for _, here in children:
            if parts[-1].divergence is not None:
                break
            parts.append(_received(here))
    finally:
        for child, here in children:
            here.close()
            child.terminate()
            child.join()
    return _merged(parts, last)


def _cut(first: int, last: int, count: int) -> list[Section]:
    edges = [first + n * (last - first + 1) // count for n in range(count)]
    return [Section(begin, end - 1) for begin, end in zip(edges, [*edges[1:], last + 1], strict=True)]


def _replay_there(there: Connection, replay_section: ReplaySection, section: Section) -> None:
    try:
        told: Replayed | str = replay_section(*section)
    except KeyboardInterrupt:  # it struck the other side too, which says so
        return
    except Exception as error:  # the other side raises it
        told = str(error)
    there.send(told)


def _received(here: Connection) -> Replayed:
    try:
        told = here.recv()
    except EOFError:
        raise CannotReplay("a process that replayed a section ended without saying why") from None
    if isinstance(told, str):
        raise CannotReplay(told)
    assert isinstance(told, Replayed)
    return told


def _merged(parts: Sequence[Replayed], last: int) -> Replayed:
    compared: Counter[str] = Counter()
    taken_over: Counter[str] = Counter()
    for part in parts:
        compared.update(part.compared)
        taken_over.update(part.taken_over)
    return Replayed(
        world=parts[0].world,
        from_seq=parts[0].from_seq,
        until_seq=last,
        compared=dict(compared),
        taken_over=dict(taken_over),
        erased=sum(part.erased for part in parts),
        divergence=parts[-1].divergence,
    )
