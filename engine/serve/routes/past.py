"""The past of a world: reads at a moment, its page as it was, and data brought back from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from engine.host import LiveHost, answers
from engine.host.past_answers import PageView
from engine.host.past_tries import Try
from engine.host.reads import WorldReads
from engine.serve import inputs
from engine.serve.endpoint import ACTOR, Asked, Endpoint
from engine.serve.pages.asking import Address, app_arguments
from engine.serve.reading import canonical_json


async def at_moment(host: LiveHost, asked: Asked, read: Callable[[WorldReads], Any]) -> Any:
    """What `read` finds in the world of now, or of the moment that `at` names."""
    at = asked.query.at
    if at is None:
        return read(host)
    past = await host.past(asked.params["world"], at)
    return past if isinstance(past, answers.Refused) else read(past)


async def view(host: LiveHost, asked: Asked) -> Any:
    """Show what the world's page would answer to a GET, now or at a moment, as a preview."""
    world, query = asked.params["world"], asked.query
    at = host.world(world).records - 1 if query.at is None else query.at
    address = Address(world, None, quote(query.path.encode("utf-8", "surrogatepass")))
    args = app_arguments(address, "GET", query.query.encode("utf-8", "surrogatepass"), [], b"")
    return await host.tried_in_past(world, at, Try(None, canonical_json(args, "query")))


async def restore(host: LiveHost, asked: Asked) -> Any:
    """Bring data back as it was after a record; with `dryRun`, say what that would write."""
    body = asked.body
    return await host.bring_back(
        asked.params["world"],
        body.at,
        prefix=body.prefix,
        reason=body.reason,
        dry_run=body.dry_run,
        actor=ACTOR,
        request_id=body.request_id,
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/worlds/{world}/page/view",
        view,
        (PageView, answers.PreviewFailed, answers.Missing, answers.Refused),
        query=inputs.ViewQuery,
    ),
    Endpoint(
        "POST",
        "/api/worlds/{world}/restore",
        restore,
        (answers.Restored, answers.Missing, answers.Refused),
        body=inputs.RestoreData,
    ),
)
