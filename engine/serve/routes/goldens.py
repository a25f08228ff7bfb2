"""Pinned results and held changes: pin and unpin a recorded call, see what is held, bless it or reject it."""

from __future__ import annotations

from typing import Any

from engine.host import LiveHost, answers
from engine.host import golden_answers as shapes
from engine.host.golden_reads import parse_golden_id
from engine.hub import messages as hub
from engine.serve import inputs
from engine.serve.endpoint import ACTOR, Asked, Endpoint
from engine.serve.reading import BadInput, number_of


async def goldens(host: LiveHost, asked: Asked) -> Any:
    """List a world's pinned results and held changes, newest first, with what became of them."""
    query = asked.query
    return host.goldens(asked.params["world"], limit=query.limit, before=query.before)


async def golden(host: LiveHost, asked: Asked) -> Any:
    """Show one pinned result, or one held change."""
    return host.golden(asked.params["world"], number_of(asked.params["n"], "n"))


async def all_goldens(host: LiveHost, asked: Asked) -> Any:
    """List what is pinned and what is held now, in all worlds."""
    return host.all_goldens()


async def pin(host: LiveHost, asked: Asked) -> Any:
    """Pin what a recorded call came to, if it comes to the same at the head."""
    body = asked.body
    operation = hub.Pin(call=body.call, name=body.name, reason=body.reason)
    return await host.perform(asked.params["world"], operation, actor=ACTOR, request_id=body.request_id)


async def unpin(host: LiveHost, asked: Asked) -> Any:
    """Unpin a result. What it was and why it went is kept for ever."""
    operation = hub.Unpin(number_of(asked.params["n"], "n"), asked.body.reason)
    return await host.perform(asked.params["world"], operation, actor=ACTOR, request_id=asked.body.request_id)


async def bless(host: LiveHost, asked: Asked) -> Any:
    """Attempt a held change on the head of now: a revision, if it changes no results but those that it had shown."""
    world, n = _named(asked)
    operation = hub.Bless(n, asked.body.reason)
    return await host.perform(world, operation, actor=ACTOR, request_id=asked.body.request_id)


async def reject(host: LiveHost, asked: Asked) -> Any:
    """Reject a held change, with a reason that is kept for ever."""
    world, n = _named(asked)
    operation = hub.RejectHeld(n, asked.body.reason)
    return await host.perform(world, operation, actor=ACTOR, request_id=asked.body.request_id)


def _named(asked: Asked) -> tuple[str, int]:
    """The world and the number that an id says."""
    named = parse_golden_id(asked.params["id"])
    if named is None:
        raise BadInput(
            "id: must be a world's id, a dot and a number from 1", hint="GET /api/goldens lists the ids"
        )
    return named


_OF_WORLD = "/api/worlds/{world}/goldens"
_ENDED = (answers.Done, answers.Missing, answers.Refused)
ENDPOINTS = (
    Endpoint("GET", "/api/goldens", all_goldens, (shapes.GoldenPage,)),
    Endpoint(
        "POST",
        "/api/goldens/{id}/bless",
        bless,
        (
            answers.Accepted,
            answers.Unchanged,
            answers.Rejected,
            shapes.Held,
            answers.Missing,
            answers.Refused,
        ),
        body=inputs.Bless,
    ),
    Endpoint("POST", "/api/goldens/{id}/reject", reject, _ENDED, body=inputs.RejectHeld),
    Endpoint("GET", _OF_WORLD, goldens, (shapes.GoldenPage,), query=inputs.NewestFirst),
    Endpoint(
        "POST",
        _OF_WORLD,
        pin,
        (shapes.Pinned, shapes.RefusedPin, answers.Missing, answers.Refused),
        body=inputs.PinCall,
    ),
    Endpoint("GET", _OF_WORLD + "/{n}", golden, (shapes.GoldenRow, shapes.HeldRow)),
    Endpoint("DELETE", _OF_WORLD + "/{n}", unpin, _ENDED, body=inputs.Unpin),
)
