"""Recordings in files, looked at without a server."""

from __future__ import annotations

from engine.host.images import root_of
from engine.host.recording_answers import Verified
from engine.logic.engine_build import is_named_by
from engine.record.problems import Problem
from engine.record.recording import Manifest, RecordingRefused, read_recording
from engine.record.recording_checking import check_recording
from engine.record.recording_format import Source
from engine.record.recording_reading import read_parts
from engine.record.verify import Verifying, verify_world

_ADVICE = "Export the recording again, or get another copy of it"


def manifest_of(source: Source) -> Manifest:
    """What a recording says of itself; the rest of it is not looked at. Raises RecordingRefused."""
    manifest = next(read_parts(source))
    assert isinstance(manifest, Manifest), "a recording begins with its manifest"
    return manifest


def verify_recording(source: Source, place: str) -> Verified:
    """Read all of a recording and verify its chain, its blobs and the heaps in them, and that its records make a
    world that can be imported, executing nothing.

    `place` names it where a problem is told. What cannot be read at all is a problem too.
    """
    try:
        recording = read_recording(source)
    except RecordingRefused as refused:
        problem = Problem(place, refused.what, refused.advice or _ADVICE, offset_bytes=refused.offset_bytes)
        return Verified(world="", records=0, erased=0, blobs=0, problems=[problem])
    world, found = recording.manifest.world, Verifying()
    for step in verify_world(recording.log, recording.blobs, world, root_of=root_of):
        found = step
    problems = list(found.problems)
    manifest = recording.manifest
    if not is_named_by(manifest.engine, recording.blobs.get(manifest.engine_blob)):
        what = f"blob {manifest.engine_blob} is not the engine '{manifest.engine}' that its world runs on"
        problems.append(Problem(place, what, _ADVICE))
    try:
        check_recording(recording)
    except RecordingRefused as refused:
        problems.append(Problem(place, refused.reason, _ADVICE))
    return Verified(
        world=world, records=found.records, erased=found.erased, blobs=found.blobs, problems=problems
    )
