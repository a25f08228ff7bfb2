"""Worlds as a whole: list, create, describe, archive, purge."""

from __future__ import annotations

from typing import Any

from engine.host import LiveHost, answers
from engine.hub import messages as hub
from engine.serve import inputs
from engine.serve.endpoint import ACTOR, Asked, Endpoint
from engine.serve.reading import BadInput
from engine.serve.routes.past import at_moment


async def worlds(host: LiveHost, asked: Asked) -> Any:
    """List the worlds; with `archived`, the archived ones too."""
    return host.worlds(archived=asked.query.archived)


async def create(host: LiveHost, asked: Asked) -> Any:
    """Create a world."""
    body = asked.body
    return await host.create(body.name, actor=ACTOR, request_id=body.request_id)


async def world(host: LiveHost, asked: Asked) -> Any:
    """Show one world, as it is or as it was."""
    return await at_moment(host, asked, lambda reads: reads.world(asked.params["world"]))


async def change(host: LiveHost, asked: Asked) -> Any:
    """Rename, archive or freeze a world, or undo it."""
    body = asked.body
    operation = hub.Describe(name=body.name, archived=body.archived, frozen=body.frozen)
    return await _described(host, asked.params["world"], operation, body.request_id)


async def archive(host: LiveHost, asked: Asked) -> Any:
    """Archive a world. Nothing is erased: PATCH with `archived` false brings it back."""
    return await _described(host, asked.params["world"], hub.Describe(archived=True), asked.body.request_id)


async def purge(host: LiveHost, asked: Asked) -> Any:
    """Erase what a world has recorded, for ever. A tombstone and its record chain stay."""
    body, world = asked.body, asked.params["world"]
    if not host.is_cut_off(world):
        host.world(world)
    if body.confirm != world:
        raise BadInput(f"confirm: must repeat the world's id, {world}")
    return await host.perform(world, hub.Purge(reason=body.reason), actor=ACTOR, request_id=body.request_id)


async def _described(host: LiveHost, world: str, operation: hub.Describe, request_id: str | None) -> Any:
    answer = await host.perform(world, operation, actor=ACTOR, request_id=request_id)
    return host.world(world) if isinstance(answer, answers.Done) else answer


_DESCRIBED = (answers.WorldSummary, answers.Missing, answers.Refused)
ENDPOINTS = (
    Endpoint("GET", "/api/worlds", worlds, (list[answers.WorldSummary],), query=inputs.WorldsQuery),
    Endpoint("POST", "/api/worlds", create, (answers.Created, answers.Refused), body=inputs.CreateWorld),
    Endpoint(
        "GET",
        "/api/worlds/{world}",
        world,
        (answers.WorldSummary, answers.Refused),
        query=inputs.AtQuery,
    ),
    Endpoint("PATCH", "/api/worlds/{world}", change, _DESCRIBED, body=inputs.ChangeWorld),
    Endpoint("DELETE", "/api/worlds/{world}", archive, _DESCRIBED, body=inputs.ArchiveWorld),
    Endpoint(
        "POST",
        "/api/worlds/{world}/purge",
        purge,
        (answers.Done, answers.Missing, answers.Refused),
        body=inputs.PurgeWorld,
    ),
)
