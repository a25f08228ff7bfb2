"""A world's checks: what every change of it must leave true."""

from __future__ import annotations

from typing import Any

from engine.host import LiveHost, answers
from engine.hub import messages as hub
from engine.serve import inputs
from engine.serve.endpoint import ACTOR, Asked, Endpoint
from engine.serve.routes.past import at_moment


async def checks(host: LiveHost, asked: Asked) -> Any:
    """List the checks, and those that were removed."""
    return await at_moment(host, asked, lambda reads: reads.checks(asked.params["world"]))


async def enrol(host: LiveHost, asked: Asked) -> Any:
    """Enrol a check: it holds now, and fails once its counterexample is applied."""
    body = asked.body
    operation = hub.Enrol(
        name=body.name,
        expression=body.expression,
        counterexample=body.counterexample,
        generator=body.generator,
    )
    return await host.perform(asked.params["world"], operation, actor=ACTOR, request_id=body.request_id)


async def remove_check(host: LiveHost, asked: Asked) -> Any:
    """Remove a check. What it was and why it went is kept for ever."""
    operation = hub.RemoveCheck(name=asked.params["name"], reason=asked.body.reason)
    return await host.perform(asked.params["world"], operation, actor=ACTOR, request_id=asked.body.request_id)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/worlds/{world}/checks",
        checks,
        (answers.CheckList, answers.Refused),
        query=inputs.AtQuery,
    ),
    Endpoint(
        "POST",
        "/api/worlds/{world}/checks",
        enrol,
        (answers.Enrolled, answers.RefusedCheck, answers.Missing, answers.Refused),
        body=inputs.EnrolCheck,
    ),
    Endpoint(
        "DELETE",
        "/api/worlds/{world}/checks/{name}",
        remove_check,
        (answers.Done, answers.Missing, answers.Refused),
        body=inputs.RemoveCheck,
    ),
)
