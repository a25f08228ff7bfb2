"""Incidents: calls that failed, and what is done about them."""

from __future__ import annotations

from typing import Any

from engine import ids
from engine.host import LiveHost, answers
from engine.host import incident_answers as shapes
from engine.hub import messages as hub
from engine.serve import inputs
from engine.serve.endpoint import ACTOR, Asked, Endpoint
from engine.serve.reading import BadInput, canonical_json, number_of
from engine.serve.routes.past import at_moment
from engine.serve.routes.use import CALL_ANSWERS, called


async def incidents(host: LiveHost, asked: Asked) -> Any:
    """List incidents, newest first."""
    query = asked.query
    return await at_moment(
        host,
        asked,
        lambda reads: reads.incidents(asked.params["world"], limit=query.limit, before=query.before),
    )


async def incident(host: LiveHost, asked: Asked) -> Any:
    """Show one incident: everything needed to run it again."""
    n = _n(asked)
    return await at_moment(host, asked, lambda reads: reads.incident(asked.params["world"], n))


async def retry(host: LiveHost, asked: Asked) -> Any:
    """Make the failed call again at the head. If it succeeds the incident is closed, else there is another one."""
    row = host.incident(asked.params["world"], _n(asked))
    if not ids.is_definition_name(row.function):
        raise BadInput(
            f"n: incident {row.n} was no call of a definition", status=409, hint="dismiss it instead"
        )
    operation = hub.Call(
        function=row.function, args=bytes(row.args), retries=row.n, asynchronous=asked.wants_no_wait
    )
    return await called(host, asked, operation)


async def replay(host: LiveHost, asked: Asked) -> Any:
    """Run an incident again, step by step: what it read, wrote, printed, asked and heard. With `source`, once more on
    what a develop of that would make. Nothing is recorded and nothing changes."""
    body = asked.body
    return await host.replay(asked.params["world"], _n(asked), source=body.source, commonjs=body.commonjs)


async def answer(host: LiveHost, asked: Asked) -> Any:
    """Answer the call by hand: the value is kept with the incident, which is closed."""
    body = asked.body
    operation = hub.CloseIncident(_n(asked), "answered", body.reason, canonical_json(body.value))
    return await _closed(host, asked, operation)


async def dismiss(host: LiveHost, asked: Asked) -> Any:
    """Close an incident with a reason and nothing else."""
    return await _closed(host, asked, hub.CloseIncident(_n(asked), "dismissed", asked.body.reason))


async def _closed(host: LiveHost, asked: Asked, operation: hub.CloseIncident) -> Any:
    return await host.perform(asked.params["world"], operation, actor=ACTOR, request_id=asked.body.request_id)


def _n(asked: Asked) -> int:
    return number_of(asked.params["n"], "n")


_ONE = "/api/worlds/{world}/incidents/{n}"
_CLOSED = (answers.Done, answers.Missing, answers.Refused)
ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/worlds/{world}/incidents",
        incidents,
        (answers.IncidentPage, answers.Refused),
        query=inputs.NewestFirst,
    ),
    Endpoint("GET", _ONE, incident, (answers.IncidentRow, answers.Refused), query=inputs.AtQuery),
    Endpoint("POST", _ONE + "/retry", retry, CALL_ANSWERS, body=inputs.Retry),
    Endpoint(
        "POST",
        _ONE + "/replay",
        replay,
        (shapes.IncidentReplayed, shapes.TryRejected, answers.Refused),
        body=inputs.ReplayIncident,
    ),
    Endpoint("POST", _ONE + "/answer", answer, _CLOSED, body=inputs.AnswerIncident),
    Endpoint("POST", _ONE + "/dismiss", dismiss, _CLOSED, body=inputs.DismissIncident),
)
