"""Recordings: a world as one file that leaves, a file that becomes a world, and copies."""

from __future__ import annotations

from typing import Any

from engine.host import LiveHost, answers
from engine.host import recording_answers as shapes
from engine.serve import inputs
from engine.serve.endpoint import ACTOR, Asked, Endpoint
from engine.serve.streaming import BINARY, Streamed


async def recording(host: LiveHost, asked: Asked) -> Any:
    """A world's recording: all that replaying it elsewhere needs. `redact` leaves out arguments, results and data."""
    world, query = asked.params["world"], asked.query
    exported = await host.exported(world, until=query.until, redact=query.redact)
    if isinstance(exported, answers.Refused):
        return exported
    headers = ((b"content-disposition", f'attachment; filename="{world}.pwrec"'.encode()),)
    return Streamed(exported, headers=headers)


async def import_recording(host: LiveHost, asked: Asked) -> Any:
    """Import a recording as the world that it is of; with `as`, as a copy of that name."""
    query = asked.query
    return await host.imported(asked.body, name=query.as_, actor=ACTOR, request_id=query.request_id)


async def copy_world(host: LiveHost, asked: Asked) -> Any:
    """A new world from what this one was after its record `at`; without it, from what it is."""
    body = asked.body
    return await host.copied(
        asked.params["world"], at=body.at, name=body.name, actor=ACTOR, request_id=body.request_id
    )


async def verify(host: LiveHost, asked: Asked) -> Any:
    """Verify a world's record chain and all blobs that it needs, executing nothing."""
    return await host.verified(asked.params["world"])


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/worlds/{world}/recording",
        recording,
        (bytes, answers.Refused),
        query=inputs.RecordingQuery,
        content_type=BINARY,
    ),
    Endpoint(
        "POST",
        "/api/recordings",
        import_recording,
        (shapes.Imported, shapes.AlreadyHere, answers.Created, answers.Refused),
        query=inputs.ImportQuery,
        takes_file=True,
    ),
    Endpoint(
        "POST",
        "/api/worlds/{world}/copies",
        copy_world,
        (answers.Created, answers.Refused),
        body=inputs.CopyWorld,
    ),
    Endpoint("GET", "/api/worlds/{world}/verify", verify, (shapes.Verified, answers.Refused)),
)
