"""The OpenAPI document, made from the table of endpoints and the structs of the wire: nothing is described twice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from engine.host import Upkeep, answers
from engine.serve.answering import STATUS_OF_ANSWER, STATUS_OF_REFUSAL, Failure
from engine.serve.endpoint import Endpoint
from engine.serve.inputs import Input
from engine.serve.streaming import BINARY

_PARAM = re.compile(r"\{(\w+)(?::path)?\}")
_REF = "#/components/schemas/{name}"
_PARAM_SCHEMAS: dict[str, dict[str, Any]] = {
    "world": {"type": "string", "pattern": "^[a-z0-9-]{1,64}$"},
    "n": {"type": "integer", "minimum": 0},
}
_BYTES = {"type": "string", "format": "binary"}
_FAILURES = {
    400: "What was sent is refused; the text names the field",
    401: "The operator token is missing or wrong",
    403: "The request comes from another origin or under a foreign host name",
    404: "There is no such thing",
    408: "The body did not arrive in time",
    413: "The body is too large",
}


def document(endpoints: Sequence[Endpoint], *, version: str) -> dict[str, Any]:
    """The whole document as plain JSON values."""
    types = _types(endpoints)
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    schema_of = dict(zip(map(repr, types), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        path = _PARAM.sub(r"{\1}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, schema_of, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Flickworld",
            "version": version,
            "description": "Worlds: programs and their state that change only by checked, reversible revisions.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _types(endpoints: Sequence[Endpoint]) -> list[Any]:
    types: dict[str, Any] = {repr(Failure): Failure}
    for endpoint in endpoints:
        for shape in (*endpoint.answers, endpoint.query, *([endpoint.body] if endpoint.body else [])):
            types[repr(shape)] = shape
    return list(types.values())


def _operation(endpoint: Endpoint, schema_of: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    is_api = endpoint.path.startswith("/api")
    described: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": endpoint.handler.__name__,
        "tags": [endpoint.handler.__module__.rpartition(".")[2]],
        "parameters": _path_parameters(endpoint) + _query_parameters(endpoint.query, components),
        "responses": _responses(endpoint, schema_of, is_api),
    }
    if endpoint.body is not None:
        described["requestBody"] = {
            "required": bool(components[endpoint.body.__name__].get("required")),
            "content": {"application/json": {"schema": schema_of[repr(endpoint.body)]}},
        }
    if endpoint.takes_file:
        described["requestBody"] = {"required": True, "content": {BINARY: {"schema": _BYTES}}}
    if is_api:
        described["security"] = [{"token": []}]
    return described


def _path_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": _PARAM_SCHEMAS.get(name, {"type": "string"}),
        }
        for name in _PARAM.findall(endpoint.path)
    ]


def _query_parameters(query: type[Input], components: dict[str, Any]) -> list[dict[str, Any]]:
    properties = components[query.__name__]["properties"]
    return [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in properties.items()
    ]


def _responses(endpoint: Endpoint, schema_of: dict[str, Any], is_api: bool) -> dict[str, Any]:
    by_status: dict[int, list[Any]] = {}
    for answer in endpoint.answers:
        for status in _statuses(answer):
            by_status.setdefault(status, []).append(schema_of[repr(answer)])
    has_body = endpoint.body is not None or endpoint.takes_file
    failures = [401, 413, 408] if is_api and has_body else [401] if is_api else []
    if has_body or endpoint.query.__struct_fields__ or "{" in endpoint.path:
        failures.append(400)
    if "{" in endpoint.path:
        failures.append(404)
    failures.append(403)
    for status in failures:
        by_status.setdefault(status, []).append(schema_of[repr(Failure)])
    if endpoint.content_type == BINARY:
        by_status[200] = [_BYTES]
    return {
        str(status): {
            "description": _FAILURES.get(status, HTTPStatus(status).phrase),
            "content": {_content_type(endpoint, status): {"schema": _one_of(by_status[status])}},
        }
        for status in sorted(by_status)
    }


def _statuses(answer: Any) -> list[int]:
    if answer is answers.Refused:
        return sorted(set(STATUS_OF_REFUSAL.values()))
    if answer is answers.Health:
        return [200, 503]
    if answer is Upkeep:
        return [200, 422]
    return [STATUS_OF_ANSWER.get(answer, 200)]


def _content_type(endpoint: Endpoint, status: int) -> str:
    return endpoint.content_type if status == 200 else "application/json"


def _one_of(schemas: list[Any]) -> Any:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
