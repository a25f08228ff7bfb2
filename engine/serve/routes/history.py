"""What has happened: revisions, rejections, the record."""

from __future__ import annotations

from typing import Any

from engine.host import LiveHost, answers
from engine.serve import inputs
from engine.serve.endpoint import Asked, Endpoint
from engine.serve.reading import number_of


async def revisions(host: LiveHost, asked: Asked) -> Any:
    """List revisions, newest first."""
    query = asked.query
    return host.revisions(asked.params["world"], limit=query.limit, before=query.before)


async def revision(host: LiveHost, asked: Asked) -> Any:
    """Show one revision with its source."""
    return host.revision(asked.params["world"], number_of(asked.params["n"], "n"))


async def rejections(host: LiveHost, asked: Asked) -> Any:
    """List rejected attempts, newest first."""
    query = asked.query
    return host.rejections(asked.params["world"], limit=query.limit, before=query.before)


async def rejection(host: LiveHost, asked: Asked) -> Any:
    """Show one rejected attempt."""
    return host.rejection(asked.params["world"], number_of(asked.params["n"], "n"))


async def log(host: LiveHost, asked: Asked) -> Any:
    """List the world's records, oldest first."""
    after = -1 if asked.query.after is None else asked.query.after
    return host.log(asked.params["world"], after=after, limit=asked.query.limit)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/worlds/{world}/revisions",
        revisions,
        (answers.RevisionPage,),
        query=inputs.NewestFirst,
    ),
    Endpoint("GET", "/api/worlds/{world}/revisions/{n}", revision, (answers.RevisionRow,)),
    Endpoint(
        "GET",
        "/api/worlds/{world}/rejections",
        rejections,
        (answers.RejectionPage,),
        query=inputs.NewestFirst,
    ),
    Endpoint("GET", "/api/worlds/{world}/rejections/{n}", rejection, (answers.RejectionRow,)),
    Endpoint("GET", "/api/worlds/{world}/log", log, (answers.LogPage,), query=inputs.LogQuery),
)
