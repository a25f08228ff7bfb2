"""Using a world: calls, previews, and what there is to call."""

from __future__ import annotations

from typing import Any

from engine import ids
from engine.host import LiveHost, answers
from engine.host.past_tries import Try
from engine.hub import messages as hub
from engine.serve import inputs
from engine.serve.answering import started
from engine.serve.endpoint import ACTOR, Asked, Endpoint
from engine.serve.reading import canonical_json, number_of
from engine.serve.routes.past import at_moment


async def call(host: LiveHost, asked: Asked) -> Any:
    """Call a definition with JSON arguments."""
    function, body = asked.params["function"], asked.body
    args = canonical_json(body.args, "args")
    if not ids.is_definition_name(function):
        return answers.Missing(ok=False, error=f"{function[:200]} is not defined")
    operation = hub.Call(function=function, args=args, asynchronous=asked.wants_no_wait)
    return await called(host, asked, operation)


async def called(host: LiveHost, asked: Asked, operation: hub.Call) -> Any:
    """Perform a call: its answer, or 202 and where to ask for it."""
    world = asked.params["world"]
    answer = await host.perform(world, operation, actor=ACTOR, request_id=asked.body.request_id)
    if isinstance(answer, answers.Started):
        return started(answer, f"/api/worlds/{world}/operations/{answer.operation}")
    return answer


async def operation(host: LiveHost, asked: Asked) -> Any:
    """What became of a call that was answered 202: its answer, once it has ended."""
    return host.operation(asked.params["world"], number_of(asked.params["n"], "n"))


async def graph(host: LiveHost, asked: Asked) -> Any:
    """Who calls whom, both ways."""
    return await at_moment(host, asked, lambda reads: reads.graph(asked.params["world"]))


async def execute(host: LiveHost, asked: Asked) -> Any:
    """Preview an expression, now or at a moment: its value, and the writes that were rolled back."""
    body = asked.body
    if body.at is not None:
        return await host.tried_in_past(asked.params["world"], body.at, Try(body.expression))
    operation = hub.Execute(expression=body.expression)
    return await host.perform(asked.params["world"], operation, actor=ACTOR, request_id=body.request_id)


async def functions(host: LiveHost, asked: Asked) -> Any:
    """List the definitions, of the head or of a moment."""
    return await at_moment(host, asked, lambda reads: reads.functions(asked.params["world"]))


async def function(host: LiveHost, asked: Asked) -> Any:
    """Show one definition, of the head or of a moment."""
    name = asked.params["name"]
    return await at_moment(host, asked, lambda reads: reads.function(asked.params["world"], name))


async def source(host: LiveHost, asked: Asked) -> Any:
    """The definitions as files that develop takes again, of the head or of a moment."""
    return await at_moment(host, asked, lambda reads: {"files": reads.source(asked.params["world"])})


CALL_ANSWERS = (answers.CallOk, answers.CallFailed, answers.Started, answers.Missing, answers.Refused)
ENDPOINTS = (
    Endpoint(
        "POST",
        "/api/worlds/{world}/call/{function}",
        call,
        CALL_ANSWERS,
        body=inputs.Call,
    ),
    Endpoint(
        "POST",
        "/api/worlds/{world}/execute",
        execute,
        (answers.PreviewOk, answers.PreviewFailed, answers.Missing, answers.Refused),
        body=inputs.Execute,
    ),
    Endpoint(
        "GET",
        "/api/worlds/{world}/functions",
        functions,
        (list[answers.DefinitionRow], answers.Refused),
        query=inputs.AtQuery,
    ),
    Endpoint(
        "GET",
        "/api/worlds/{world}/functions/{name}",
        function,
        (answers.DefinitionRow, answers.Refused),
        query=inputs.AtQuery,
    ),
    Endpoint(
        "GET", "/api/worlds/{world}/graph", graph, (answers.Graph, answers.Refused), query=inputs.AtQuery
    ),
    Endpoint("GET", "/api/worlds/{world}/operations/{n}", operation, (answers.OperationState,)),
    Endpoint(
        "GET",
        "/api/worlds/{world}/source",
        source,
        (dict[str, dict[str, str]], answers.Refused),
        query=inputs.AtQuery,
    ),
)
