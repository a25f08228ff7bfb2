"""Changing a world's program: develop and rollback."""

from __future__ import annotations

from typing import Any

from engine import ids
from engine.host import LiveHost, answers
from engine.host import golden_answers as shapes
from engine.hub import messages as hub
from engine.serve import inputs
from engine.serve.endpoint import ACTOR, Asked, Endpoint
from engine.serve.reading import BadInput


async def develop(host: LiveHost, asked: Asked) -> Any:
    """Attempt a change: a new revision, no trace but a rejection, or held where it would change pinned results."""
    body = asked.body
    if body.commonjs is not None and not ids.is_definition_name(body.commonjs):
        raise BadInput("commonjs: must be an ASCII identifier of at most 128 characters")
    operation = hub.Develop(source=body.source, summary=body.summary, commonjs=body.commonjs, gate=body.gate)
    if body.dry_run:
        return await host.try_develop(asked.params["world"], operation)
    return await host.perform(asked.params["world"], operation, actor=ACTOR, request_id=body.request_id)


async def rollback(host: LiveHost, asked: Asked) -> Any:
    """Make the heap of an earlier revision the head, as a new revision. Data stays as it is."""
    body = asked.body
    operation = hub.Rollback(revision=body.revision, reason=body.reason, force=body.force)
    return await host.perform(asked.params["world"], operation, actor=ACTOR, request_id=body.request_id)


_ANSWERS = (
    answers.Accepted,
    answers.Unchanged,
    answers.Rejected,
    shapes.Held,
    answers.Missing,
    answers.Refused,
)
ENDPOINTS = (
    Endpoint(
        "POST",
        "/api/worlds/{world}/develop",
        develop,
        (*_ANSWERS, shapes.DryRun, shapes.WouldReject),
        body=inputs.Develop,
    ),
    Endpoint("POST", "/api/worlds/{world}/rollback", rollback, _ANSWERS, body=inputs.Rollback),
)
