"""Incidents run again over HTTP: the shapes, what is refused, and that the loop goes on meanwhile."""

from __future__ import annotations

import json
import threading
import time

import pytest
from served import Served

from engine.host.incident_answers import IncidentReplayed, TryRejected
from engine.serve.client import Client, Missing

SOURCE = """
function take(n) {
  console.log("taking", n);
  const left = (data.get("left") ?? 10) - n;
  if (left < 0) throw new Error("not enough");
  data.set("left", left);
  return left;
}
function long(n) { let x = 0; for (let i = 0; i < n; i++) x += i; throw new Error("done " + x) }
"""


@pytest.fixture
def failed(client: Client, world: str) -> str:
    """A world whose incident 1 took 11 of 10."""
    client.develop(world, SOURCE)
    client.call(world, "take", [11])
    return world


def test_a_replay_has_the_shapes_of_the_wire(served: Served, failed: str) -> None:
    response = served.ask("POST", f"/api/worlds/{failed}/incidents/1/replay")
    assert response.status_code == 200
    body = response.json()
    assert sorted(body) == ["differs", "incident", "now", "recorded", "same", "steps"]
    assert (body["same"], body["incident"], body["now"] == body["recorded"]) == (True, 1, True)
    assert body["steps"][:2] == [
        {"n": 1, "kind": "console", "text": "taking 11"},
        {"n": 2, "kind": "read", "key": "left", "absent": True},
    ]
    assert body["steps"][2]["kind"] == "end"


def test_the_client_tries_an_edit_and_the_world_stays_as_it_is(client: Client, failed: str) -> None:
    before = client.world(failed)
    replayed = client.replay_incident(
        failed,
        1,
        source="function take(n) { const left = data.get('left'); data.set('null', null); return left }",
    )
    assert isinstance(replayed, IncidentReplayed) and replayed.tried is not None
    assert (replayed.tried.now.outcome, replayed.tried.departs) == ("value", 1)
    assert [(step.kind, step.absent) for step in replayed.tried.steps] == [
        ("read", True),
        ("write", False),
        ("end", False),
    ]
    assert replayed.tried.now.rolled_back is not None
    assert replayed.tried.now.rolled_back.set == ["null"]
    assert client.world(failed) == before


def test_an_edit_that_would_be_rejected_is_422_without_a_number(
    served: Served, client: Client, failed: str
) -> None:
    rejected = client.replay_incident(failed, 1, source="throw new Error('zip')")
    assert isinstance(rejected, TryRejected)
    response = served.ask(
        "POST", f"/api/worlds/{failed}/incidents/1/replay", json.dumps({"source": "f("}).encode()
    )
    assert response.status_code == 422
    assert sorted(response.json()) == ["kind", "logs", "reason", "status"]
    assert client.rejections(failed).rejections == []


@pytest.mark.parametrize(
    ("path", "body", "status", "named"),
    [
        ("1", b'{"commonjs": "lib"}', 400, "commonjs"),
        ("1", b'{"source": 7}', 400, "source"),
        ("1", b'{"requestId": "x"}', 400, "requestId"),
        ("1", b'{"source": "\\ud800"}', 400, "source"),
        ("1", b"[]", 400, "object"),
        ("-1", None, 400, "n"),
        ("x", None, 400, "n"),
        ("1e9", None, 400, "n"),
        ("2", None, 404, "no incident 2"),
        ("9007199254740991", None, 404, "no incident"),
    ],
)
def test_what_is_no_replay_is_refused_by_name(
    served: Served, failed: str, path: str, body: bytes | None, status: int, named: str
) -> None:
    response = served.ask("POST", f"/api/worlds/{failed}/incidents/{path}/replay", body)
    assert response.status_code == status
    assert named in response.json()["error"]


def test_a_replay_in_an_unknown_world_is_404(client: Client) -> None:
    with pytest.raises(Missing, match="there is no world"):
        client.replay_incident("nowhere-000000", 1)


def test_a_purged_worlds_incident_is_410(served: Served, client: Client, failed: str) -> None:
    client.purge(failed, confirm=failed)
    response = served.ask("POST", f"/api/worlds/{failed}/incidents/1/replay")
    assert (response.status_code, response.json()["refused"]) == (410, "purged")


def test_other_requests_are_answered_while_a_long_replay_runs(
    served: Served, client: Client, world: str
) -> None:
    client.develop(world, SOURCE)
    client.call(world, "long", [2_000_000])
    took_s: list[float] = []

    def replay() -> None:
        began = time.monotonic()
        with served.client() as other:
            assert isinstance(other.replay_incident(world, 1), IncidentReplayed)
        took_s.append(time.monotonic() - began)

    thread = threading.Thread(target=replay)
    thread.start()
    answered = 0
    while thread.is_alive():
        assert client.health().state == "ready"
        answered += 1
    thread.join()
    assert answered >= 3, f"{answered} in {took_s[0]:.2f} s"
