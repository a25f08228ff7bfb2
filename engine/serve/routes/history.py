"""What has happened: revisions, rejections, the record."""

from __future__ import annotations

from typing import Any

from engine.host import LiveHost, answers
from engine.serve import inputs
from engine.serve.endpoint import Asked, Endpoint
from engine.serve.reading import number_of
from engine.serve.routes.past import at_moment


async def revisions(host: LiveHost, asked: Asked) -> Any:
    """List revisions, newest first."""
    query = asked.query
    return await at_moment(
        host,
        asked,
        lambda reads: reads.revisions(asked.params["world"], limit=query.limit, before=query.before),
    )


async def revision(host: LiveHost, asked: Asked) -> Any:
    """Show one revision with its source."""
    n = number_of(asked.params["n"], "n")
    return await at_moment(host, asked, lambda reads: reads.revision(asked.params["world"], n))


async def rejections(host: LiveHost, asked: Asked) -> Any:
    """List rejected attempts, newest first."""
    query = asked.query
    return await at_moment(
        host,
        asked,
        lambda reads: reads.rejections(asked.params["world"], limit=query.limit, before=query.before),
    )


async def rejection(host: LiveHost, asked: Asked) -> Any:
    """Show one rejected attempt."""
    n = number_of(asked.params["n"], "n")
    return await at_moment(host, asked, lambda reads: reads.rejection(asked.params["world"], n))


async def log(host: LiveHost, asked: Asked) -> Any:
    """List the world's records, oldest first."""
    query = asked.query
    after = -1 if query.after is None else query.after
    return host.log(asked.params["world"], after=after, limit=query.limit, until=query.until)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/worlds/{world}/revisions",
        revisions,
        (answers.RevisionPage, answers.Refused),
        query=inputs.NewestFirst,
    ),
    Endpoint(
        "GET",
        "/api/worlds/{world}/revisions/{n}",
        revision,
        (answers.RevisionRow, answers.Refused),
        query=inputs.AtQuery,
    ),
    Endpoint(
        "GET",
        "/api/worlds/{world}/rejections",
        rejections,
        (answers.RejectionPage, answers.Refused),
        query=inputs.NewestFirst,
    ),
    Endpoint(
        "GET",
        "/api/worlds/{world}/rejections/{n}",
        rejection,
        (answers.RejectionRow, answers.Refused),
        query=inputs.AtQuery,
    ),
    Endpoint("GET", "/api/worlds/{world}/log", log, (answers.LogPage,), query=inputs.LogQuery),
)
