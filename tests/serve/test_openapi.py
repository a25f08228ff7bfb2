"""The API's own description: complete, and true to what is served."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from served import Served

from engine.serve.metrics import Metrics
from engine.serve.openapi import document
from engine.serve.pages import Keys
from engine.serve.routes import ENDPOINTS
from engine.serve.routes.page import PageRoutes

ALL = (*ENDPOINTS, *PageRoutes(Keys(bytes(32)), "http://localhost").endpoints(), Metrics(dict).endpoint())
DOCUMENT = document(ALL, version="1")


def operation(method: str, path: str) -> dict[str, Any]:
    return DOCUMENT["paths"][path][method]


def test_every_reference_leads_somewhere() -> None:
    references = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(DOCUMENT)))
    assert references and references <= set(DOCUMENT["components"]["schemas"])


def test_every_endpoint_is_described_with_its_path_parameters() -> None:
    assert sum(map(len, DOCUMENT["paths"].values())) == len(ALL)
    for path, operations in DOCUMENT["paths"].items():
        for described in operations.values():
            named = {one["name"] for one in described["parameters"] if one["in"] == "path"}
            assert named == set(re.findall(r"\{(\w+)\}", path)), path
            assert described["summary"].endswith("."), path


def test_operation_ids_are_unique() -> None:
    ids = [described["operationId"] for path in DOCUMENT["paths"].values() for described in path.values()]
    assert len(ids) == len(set(ids))


def test_a_call_is_described_as_it_is() -> None:
    call = operation("post", "/api/worlds/{world}/call/{function}")
    assert sorted(call["responses"]) == [
        "200",
        "202",
        "400",
        "401",
        "403",
        "404",
        "408",
        "409",
        "410",
        "413",
        "422",
        "503",
    ]
    assert call["requestBody"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/Call"
    }
    schema = DOCUMENT["components"]["schemas"]["Call"]
    assert (schema["required"], schema["additionalProperties"]) == (["args"], False)
    assert call["security"] == [{"token": []}]


def test_queries_are_described_with_their_bounds() -> None:
    parameters = operation("get", "/api/worlds/{world}/revisions")["parameters"]
    limit = next(one for one in parameters if one["name"] == "limit")
    assert limit["schema"] == {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}


@pytest.mark.parametrize(
    "path", ["/openapi.json", "/docs", "/docs/static/swagger-ui-bundle.js", "/docs/static/swagger-ui.css"]
)
def test_the_docs_are_served_from_here_and_without_a_token(served: Served, path: str) -> None:
    response = served.ask("GET", path, authorization="")
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"


def test_the_docs_page_loads_nothing_from_elsewhere(served: Served) -> None:
    page = served.ask("GET", "/docs").text
    assert re.findall(r'(?:src|href)="([^"]+)"', page) == [
        "/docs/static/swagger-ui.css",
        "/docs/static/favicon.png",
        "/docs/static/swagger-ui-bundle.js",
    ]


def test_the_served_document_is_this_one(served: Served) -> None:
    found = served.ask("GET", "/openapi.json").json()
    assert found["paths"] == json.loads(json.dumps(DOCUMENT["paths"]))
    assert found["info"]["version"] == served.client().version().build
