"""Recordings replayed from their files: on the engine that they bring, in this process, without a server."""

from __future__ import annotations

import sys
from typing import BinaryIO

import msgspec

from engine.host.engines import EngineForeign
from engine.host.machine import machine_of
from engine.host.opening import Machine
from engine.host.replaying import CannotReplay, Progress, Replayed, replay
from engine.host.replaying_abreast import processes_for, replay_abreast
from engine.host.replaying_sections import Bisected, bisect
from engine.io.blobs import BlobError
from engine.io.log import LogError
from engine.logic import TARGETS as TARGETS  # what `target` may be
from engine.logic import EngineRefused
from engine.logic.engine_build import Prefer
from engine.record.divergence import Divergence, first_difference
from engine.record.recording import Recording, RecordingRefused, read_recording
from engine.record.records import FIRST_SEQ, RecordRefused

_UNREADABLE = (BlobError, EngineForeign, EngineRefused, LogError, RecordingRefused, RecordRefused)


class Compared(msgspec.Struct, frozen=True, rename="camel"):
    """Two recordings of one life: `records` and `other_records` are how many they hold."""

    world: str
    records: int
    other_records: int
    divergence: Divergence | None

    @property
    def is_equal(self) -> bool:
        """Whether one is the beginning of the other."""
        return self.divergence is None


def open_recording(file: BinaryIO, name: str) -> Recording:
    """A whole recording, read and verified; `name` is the file's, for errors. Raises CannotReplay."""
    try:
        return read_recording(file)
    except RecordingRefused as error:
        raise CannotReplay(f"{name}: {error}") from None


def replay_recording(
    recording: Recording,
    *,
    prefer: Prefer = "auto",
    target: str | None = None,
    from_seq: int = FIRST_SEQ,
    until_seq: int | None = None,
    by_sections: bool = False,
    processes: int | None = 1,
    on_progress: Progress | None = None,
) -> Replayed | Bisected:
    """Replay some of a recording, or bisect it. `prefer` chooses the VM's path, `target` another code generator.

    Up to so many `processes` share the work; None: as many as there are cores, if that helps. Raises CannotReplay.
    """
    log, blobs, world = recording.log, recording.blobs, recording.manifest.world
    last_seq = recording.manifest.records - 1 + FIRST_SEQ
    end_seq = last_seq if until_seq is None else until_seq
    count = min(processes_for(end_seq - from_seq + 1), processes or sys.maxsize)
    if count > 1 and end_seq <= last_seq and not by_sections:

        def section(first: int, last: int) -> Replayed:
            replayed = replay_recording(
                recording,
                prefer=prefer,
                target=target,
                from_seq=first,
                until_seq=last,
                on_progress=on_progress if first == from_seq else None,
            )
            assert isinstance(replayed, Replayed)
            return replayed

        return replay_abreast(from_seq, end_seq, count, section)
    try:
        machine = _machine_for(recording, prefer, target)
        if not by_sections:
            return replay(
                log,
                blobs,
                world,
                machine,
                from_seq=from_seq,
                until_seq=until_seq,
                on_progress=on_progress,
            )
        return bisect(
            log, blobs, world, machine, from_seq=from_seq, until_seq=end_seq, on_progress=on_progress
        )
    except _UNREADABLE as error:
        raise CannotReplay(str(error)) from None


def compare_recordings(recording: Recording, other: Recording) -> Compared:
    """Where two recordings of one world part. Raises CannotReplay."""
    ours, theirs = recording.manifest, other.manifest
    if ours.world != theirs.world:
        raise CannotReplay(
            f"these are recordings of two worlds, {ours.world} and {theirs.world}: they have no life in common"
        )
    divergence = first_difference(recording.log, other.log, ours.world)
    return Compared(ours.world, ours.records, theirs.records, divergence)


def _machine_for(recording: Recording, prefer: Prefer, target: str | None) -> Machine:
    """The engine that the recording brings, as this installation runs it."""
    if target is not None and prefer == "auto":
        prefer = "python"  # the C path has no other code generator than this machine's own
    wasm = recording.blobs.get(recording.manifest.engine_blob)
    machine = machine_of(wasm, prefer, target=target)
    if machine.engine.identity != recording.manifest.engine:
        raise EngineForeign(
            f"this recording runs on engine '{recording.manifest.engine}'; this installation is "
            f"'{machine.engine.identity}'. Replay it with the version that made it"
        )
    return machine
