"""A world's data: read it by page, change one key with a reason."""

from __future__ import annotations

from typing import Any

from engine import limits
from engine.host import LiveHost, answers
from engine.hub import messages as hub
from engine.serve import inputs
from engine.serve.endpoint import ACTOR, Asked, Endpoint
from engine.serve.reading import BadInput, canonical_json
from engine.serve.routes.past import at_moment


async def data(host: LiveHost, asked: Asked) -> Any:
    """List rows by key, in the order of code points."""
    query = asked.query
    return await at_moment(
        host,
        asked,
        lambda reads: reads.data(
            asked.params["world"], prefix=query.prefix, after=query.after, limit=query.limit
        ),
    )


async def set_data(host: LiveHost, asked: Asked) -> Any:
    """Set one key. The key may hold any character, "/" too."""
    value = canonical_json(asked.body.value)
    if len(value) > limits.DATA_VALUE_BYTES_MAX:
        raise BadInput(
            f"value: is {len(value)} bytes of JSON; at most {limits.DATA_VALUE_BYTES_MAX} are allowed"
        )
    return await _edited(host, asked, value)


async def delete_data(host: LiveHost, asked: Asked) -> Any:
    """Delete one key."""
    return await _edited(host, asked, None)


async def _edited(host: LiveHost, asked: Asked, value: bytes | None) -> Any:
    operation = hub.EditData(key=inputs.check_key(asked.params["key"]), value=value, reason=asked.body.reason)
    return await host.perform(asked.params["world"], operation, actor=ACTOR, request_id=asked.body.request_id)


_EDITED = (answers.Done, answers.Missing, answers.Refused)
ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/worlds/{world}/data",
        data,
        (answers.DataPage, answers.Refused),
        query=inputs.DataQuery,
    ),
    Endpoint("PUT", "/api/worlds/{world}/data/{key:path}", set_data, _EDITED, body=inputs.SetData),
    Endpoint("DELETE", "/api/worlds/{world}/data/{key:path}", delete_data, _EDITED, body=inputs.DeleteData),
)
