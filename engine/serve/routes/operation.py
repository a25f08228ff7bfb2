"""Running the server: health, metrics, version, upkeep."""

from __future__ import annotations

import os.path
from typing import Any

from engine.host import LiveHost, Upkeep, answers
from engine.serve import inputs
from engine.serve.answering import Reply
from engine.serve.endpoint import Asked, Endpoint
from engine.serve.reading import BadInput


async def healthz(host: LiveHost, asked: Asked) -> Any:
    """Whether the process answers."""
    return {"ok": True}


async def readyz(host: LiveHost, asked: Asked) -> Any:
    """Whether the server takes work: 503 while it drains or is read-only."""
    health = host.health()
    return Reply(200 if health.state == "ready" else 503, answers.as_json(health))


async def version(host: LiveHost, asked: Asked) -> Any:
    """The build and the identity of its engine."""
    return host.version()


async def gc(host: LiveHost, asked: Asked) -> Any:
    """Collect blobs that nothing names and bodies that expired."""
    return _reported(await host.collect())


async def backup(host: LiveHost, asked: Asked) -> Any:
    """Copy a consistent image of the data into a missing or empty directory of the server's machine."""
    directory = asked.body.directory
    if not os.path.isabs(directory) or "\0" in directory:
        raise BadInput("directory: must be an absolute path on the server's machine")
    return _reported(await host.back_up(directory))


def _reported(upkeep: Upkeep) -> Reply:
    return Reply(200 if upkeep.ok else 422, answers.as_json(upkeep))


ENDPOINTS = (
    Endpoint("GET", "/healthz", healthz, (dict[str, bool],)),
    Endpoint("GET", "/readyz", readyz, (answers.Health,)),
    Endpoint("GET", "/api/version", version, (answers.Version,)),
    Endpoint("POST", "/api/gc", gc, (Upkeep,), body=inputs.Nothing),
    Endpoint("POST", "/api/backup", backup, (Upkeep,), body=inputs.Backup),
)
