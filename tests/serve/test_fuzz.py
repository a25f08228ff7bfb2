"""Whatever a client sends, the server does not make a mistake: it does it, or says no in one of its own words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from served import TOKEN, Served

from engine.serve.endpoint import Endpoint
from engine.serve.routes import ENDPOINTS
from engine.serve.streaming import BINARY

# A backup would write wherever a generated path leads.
HARMLESS = [endpoint for endpoint in ENDPOINTS if endpoint.path != "/api/backup"]

any_text = st.text(st.characters(exclude_categories=()), max_size=12)
any_value = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    any_text,
    st.sampled_from(["function f() {}", "1 + 1", "f", "data.get('k')", "x" * 3000, "\x00", "\ud800"]),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(any_text, st.integers(), max_size=2),
)


def bodies_of(endpoint: Endpoint) -> st.SearchStrategy[bytes]:
    names = [*(endpoint.body.__struct_encode_fields__ if endpoint.body else ()), "x"]
    known = st.dictionaries(st.sampled_from(names), any_value)
    junk = st.dictionaries(any_text, any_value, max_size=1)
    right = st.tuples(known, junk).map(lambda both: json.dumps(both[0] | both[1]).encode())
    return st.one_of(right, right, right, st.binary(max_size=20))


def queries_of(endpoint: Endpoint) -> st.SearchStrategy[str]:
    names = [*endpoint.query.__struct_encode_fields__, "x"]
    values = st.one_of(
        st.integers(-2, 2**70).map(str), st.sampled_from(["", "true", "%", "%ff", "a%2Fb", "ü"])
    )
    pairs = st.lists(st.tuples(st.sampled_from(names), values), max_size=2)
    return pairs.map(lambda found: "&".join(f"{name}={value}" for name, value in found))


@pytest.fixture(scope="module")
def http(served: Served) -> Iterator[httpx.Client]:
    headers = {"authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=served.url, headers=headers, trust_env=False, timeout=60) as http:
        yield http


@pytest.fixture(scope="module")
def target(served: Served) -> str:
    """A world for everybody to harass."""
    client = served.client()
    world = client.create("target").id
    client.develop(world, "function f(...args) { data.set('k', args); return args }")
    return world


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_no_request_is_a_mistake_of_the_server(http: httpx.Client, target: str, data: st.DataObject) -> None:
    endpoint = data.draw(st.sampled_from(HARMLESS))
    segments = {
        "world": data.draw(st.sampled_from([target, target, target, "no-such", "%00", "..%2f"])),
        "function": data.draw(st.sampled_from(["f", "f", "nope", "a%2Fb"])),
        "name": data.draw(st.sampled_from(["f", "nope", "%ED%A0%80"])),
        "n": data.draw(st.sampled_from(["0", "1", "9", "x", "9" * 15])),
        "key:path": quote(data.draw(any_text).encode("utf-8", "surrogatepass"), safe="/"),
    }
    path = endpoint.path
    for name, text in segments.items():
        path = path.replace("{" + name + "}", text)
    query = data.draw(queries_of(endpoint))
    body = data.draw(bodies_of(endpoint)) if endpoint.body or endpoint.takes_file else None
    response = http.request(endpoint.method, path + ("?" + query if query else ""), content=body)
    assert response.status_code < 500, (endpoint.method, path, query, body, response.text)
    if response.status_code == 200 and endpoint.content_type == BINARY:
        assert response.content
        return
    answer = response.json()
    if response.status_code >= 400 and response.status_code != 422:
        assert answer["error"]
