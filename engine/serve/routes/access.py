"""Which other worlds a world may call."""

from __future__ import annotations

from typing import Any

from engine.host import LiveHost, NotThere, answers
from engine.hub import messages as hub
from engine.serve import inputs
from engine.serve.endpoint import ACTOR, Asked, Endpoint
from engine.serve.reading import BadInput
from engine.serve.routes.past import at_moment


async def grants(host: LiveHost, asked: Asked) -> Any:
    """List the worlds that this one may call: none at first."""
    return await at_moment(host, asked, lambda reads: reads.grants(asked.params["world"]))


async def set_grants(host: LiveHost, asked: Asked) -> Any:
    """Say which worlds this one may call from now on: these and no others."""
    world, wanted = asked.params["world"], sorted(set(asked.body.worlds))
    granted = host.grants(world).worlds
    for other in wanted:
        if other == world:
            raise BadInput("worlds: a world cannot call itself through worlds.call", hint="call the function")
        if other not in granted and not _is_there(host, other):
            raise BadInput(f"worlds: there is no world {other}", hint="`pw worlds` lists them")
    done = await host.perform(world, hub.Grant(tuple(wanted)), actor=ACTOR)
    return host.grants(world) if isinstance(done, answers.Done) else done


def _is_there(host: LiveHost, world: str) -> bool:
    try:
        return not host.world(world).purged
    except NotThere:
        return False


_GRANTS = "/api/worlds/{world}/grants"
ENDPOINTS = (
    Endpoint("GET", _GRANTS, grants, (answers.Grants, answers.Refused), query=inputs.AtQuery),
    Endpoint(
        "PUT",
        _GRANTS,
        set_grants,
        (answers.Grants, answers.Missing, answers.Refused),
        body=inputs.SetGrants,
    ),
)
