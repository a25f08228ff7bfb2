"""Recordings over HTTP: they leave, they come, they are copied, and what is wrong with them is said."""

from __future__ import annotations

import io
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from served import TOKEN, Served

from engine import limits
from engine.host import answers
from engine.host.recording_answers import AlreadyHere, Imported
from engine.record.recording import read_recording
from engine.serve.client import Client, Invalid, Missing, RefusedError, ServerError

SOURCE = """
function add(n) { const sum = (data.get("sum") || 0) + n; data.set("sum", sum); return sum }
function draw() { return Math.random() }
function shout(text) { console.log("shouting", text); return text.toUpperCase() }
"""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(tmp_path_factory.mktemp("other"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def there(other: Served) -> Iterator[Client]:
    """A client of another server."""
    with other.client() as client:
        yield client


@pytest.fixture
def lived(client: Client) -> str:
    """A world with a little behind it."""
    world = client.create("lived").id
    client.develop(world, SOURCE, summary="first")
    client.enrol(world, "adds", "shout('a') === 'A'", "function shout(text) { return text }")
    for n in range(5):
        client.call(world, "add", [n], request_id=f"add-{n}")
    client.set_grants(world, [client.create("elsewhere").id])
    client.set_page(world, access="public", functions=["add"])
    return world


def saved(client: Client, world: str, **options: Any) -> bytes:
    file = io.BytesIO()
    assert client.save_recording(world, file, **options) == len(file.getvalue())
    return file.getvalue()


def hashes(client: Client, world: str) -> list[str]:
    return [row.hash for row in client.log(world, after=None, limit=1000).records]


def test_a_world_is_the_same_where_it_is_imported(client: Client, there: Client, lived: str) -> None:
    recording = saved(client, lived)
    imported = there.import_recording(io.BytesIO(recording))
    assert isinstance(imported, Imported)
    assert (imported.id, imported.name, imported.records) == (lived, "lived", 9 + 1)
    before = hashes(client, lived)
    assert hashes(there, lived)[:-1] == before and imported.head == before[-1]
    assert there.log(lived, after=9, limit=9).records[0].kind == "imported"
    until = saved(there, lived, until=9)
    assert [e for _, e in read_recording(io.BytesIO(until)).log.read(lived)] == [
        e for _, e in read_recording(io.BytesIO(recording)).log.read(lived)
    ]
    assert [row.name for row in there.functions(lived)] == ["add", "draw", "shout"]
    assert [row.name for row in there.checks(lived).checks] == ["adds"]
    assert bytes(there.call(lived, "add", [100]).value) == b"110"
    assert (
        there.call(lived, "add", [4], request_id="add-4").value
        == client.call(lived, "add", [4], request_id="add-4").value
    )


def test_nobody_reaches_an_imported_world_before_it_is_said_here(
    client: Client, there: Client, lived: str
) -> None:
    there.import_recording(io.BytesIO(saved(client, lived)))
    assert there.grants(lived).worlds == []
    assert there.page(lived).access == "private"
    assert client.page(lived).access == "public"


def test_importing_again_changes_nothing_and_another_world_of_that_id_is_left_alone(
    client: Client, there: Client, lived: str
) -> None:
    early = saved(client, lived, until=6)
    recording = saved(client, lived)
    there.import_recording(io.BytesIO(recording))
    records = there.world(lived).records
    for again in (recording, early, recording):
        assert isinstance(there.import_recording(io.BytesIO(again)), AlreadyHere)
    client.call(lived, "add", [1])
    with pytest.raises(RefusedError, match="another world") as refused:
        there.import_recording(io.BytesIO(saved(client, lived)))
    assert (refused.value.status, refused.value.code) == (409, "exists")
    assert refused.value.hint is not None and "--as NAME" in refused.value.hint
    assert there.world(lived).records == records


def test_a_copy_begins_with_what_its_origin_was(client: Client, there: Client, lived: str) -> None:
    recording = saved(client, lived)
    copy = there.import_recording(io.BytesIO(recording), name="copied", request_id="once")
    assert isinstance(copy, answers.Created) and copy.id.startswith("copied-") and copy.id != lived
    assert there.import_recording(io.BytesIO(recording), name="copied", request_id="once").id == copy.id
    assert bytes(there.call(copy.id, "add", [0]).value) == b"10"
    earlier = client.copy(lived, "earlier", at=6)
    assert bytes(client.call(earlier.id, "add", [0]).value) == b"6"
    assert [row.name for row in client.checks(earlier.id).checks] == ["adds"]
    assert client.page(earlier.id).access == "private"
    assert client.revision(earlier.id, 0).kind == "genesis"
    with pytest.raises(Missing, match="records 0 to 9"):
        client.copy(lived, "never", at=10)
    with pytest.raises(Missing):
        client.copy("no-such-world", "never")


def test_calls_of_a_copy_draw_other_randomness(client: Client, there: Client, lived: str) -> None:
    recording = saved(client, lived)
    there.import_recording(io.BytesIO(recording))
    copy = client.copy(lived, "copy").id
    drawn = [
        bytes(asked.call(world, "draw", []).value)
        for asked, world in ((client, lived), (there, lived), (client, copy))
    ]
    assert len(set(drawn)) == 3


def test_a_redacted_recording_holds_no_argument_result_or_data_and_is_no_world(
    client: Client, there: Client, lived: str
) -> None:
    client.call(lived, "shout", ["whispered"])
    client.set_data(lived, "secret", "hidden thing", reason="because of it")
    whole, redacted = saved(client, lived), saved(client, lived, redact=True)
    for recording, holds in ((whole, True), (redacted, False)):
        read = read_recording(io.BytesIO(recording))
        bodies = b"".join(entry.body or b"" for _, entry in read.log.read(lived))
        for text in (b"whispered", b"WHISPERED", b"hidden thing", b"because of it", b"add-1"):
            assert (text in bodies) is holds
        assert b"Math.random" in bodies
        assert read.manifest.head == hashes(client, lived)[-1]
    for name in (None, "copy"):
        with pytest.raises(RefusedError, match="redacted") as refused:
            there.import_recording(io.BytesIO(redacted), name=name)
        assert (refused.value.status, refused.value.code) == (400, "recording")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda recording: b"", "it is no recording"),
        (lambda recording: b"PK\x03\x04" + recording, "it is no recording"),
        (lambda recording: recording[:8] + b"\x02" + recording[9:], "format 2; this version reads format 1"),
        (lambda recording: recording[: len(recording) // 2], "cut off"),
        (lambda recording: recording[:-1], "cut off"),
        (lambda recording: recording + b"\0", "bytes follow the end mark"),
        (lambda recording: recording[:-200] + b"\0" + recording[-199:], "not as it was written"),
    ],
)
def test_a_damaged_upload_is_refused_with_its_place_and_leaves_no_world(
    client: Client, there: Client, lived: str, damage, says: str
) -> None:
    worlds = [world.id for world in there.worlds(archived=True)]
    with pytest.raises(RefusedError, match=says) as refused:
        there.import_recording(io.BytesIO(damage(saved(client, lived))))
    assert (refused.value.status, refused.value.code) == (400, "recording")
    assert "at byte" in refused.value.error
    assert [world.id for world in there.worlds(archived=True)] == worlds


def test_an_upload_that_says_it_is_too_large_is_refused_before_it_comes(served: Served) -> None:
    head = (
        f"POST /api/recordings HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n"
        f"content-length: {limits.RECORDING_UPLOAD_BYTES_MAX + 1}\r\nconnection: close\r\n\r\n"
    )
    assert served.talk(head.encode()).startswith(b"HTTP/1.1 413 ")


def test_an_upload_whose_client_goes_away_leaves_nothing(client: Client, served: Served, lived: str) -> None:
    recording = saved(client, lived)
    head = (
        f"POST /api/recordings HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n"
        f"content-length: {len(recording)}\r\n\r\n"
    )
    before = sorted(path.name for path in Path(served.home).iterdir())
    with socket.create_connection(("127.0.0.1", served.port)) as sock:
        sock.sendall(head.encode() + recording[:-1])
    assert client.world(lived).id == lived
    assert sorted(path.name for path in Path(served.home).iterdir()) == before


def test_queries_and_bodies_are_read_strictly(served: Served, client: Client, lived: str) -> None:
    for query in ("until=-1", "until=x", "redact=maybe", "other=1", "until=1&until=2"):
        assert served.ask("GET", f"/api/worlds/{lived}/recording?{query}").status_code == 400, query
    beyond = served.ask("GET", f"/api/worlds/{lived}/recording?until=99")
    assert (beyond.status_code, beyond.json()["error"]) == (
        404,
        f"world {lived} has records 0 to 9, so there is no record 99",
    )
    assert served.ask("GET", "/api/worlds/no-such-world/recording").status_code == 404
    for query in ("as=", "as=%00", "requestId=", "name=x"):
        assert served.ask("POST", f"/api/recordings?{query}", b"").status_code == 400, query
    for body in ({}, {"name": ""}, {"name": "x", "at": -1}, {"name": "x", "until": 1}):
        asked = served.ask("POST", f"/api/worlds/{lived}/copies", json.dumps(body).encode())
        assert asked.status_code == 400, body


def test_a_recording_is_sent_in_pieces_as_a_file_and_asked_for_by_its_operator_alone(
    served: Served, lived: str
) -> None:
    answer = served.ask("GET", f"/api/worlds/{lived}/recording")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == f'attachment; filename="{lived}.pwrec"'
    assert "content-length" not in answer.headers
    assert read_recording(io.BytesIO(answer.content)).manifest.world == lived
    head = served.ask("HEAD", f"/api/worlds/{lived}/recording")
    assert (head.status_code, head.content) == (200, b"")
    url = f"{served.url}/api/worlds/{lived}/recording"
    assert httpx.get(url, trust_env=False).status_code == 401


def test_a_client_that_stops_reading_ends_its_export_and_no_other(
    served: Served, client: Client, lived: str
) -> None:
    client.develop(lived, f"const noise = {json.dumps('x' * 900_000)}; " + "function big() { return noise }")
    asked = f"GET /api/worlds/{lived}/recording HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", served.port)) as sock:
            sock.sendall(asked.encode())
            assert sock.recv(100).startswith(b"HTTP/1.1 200")
    assert read_recording(io.BytesIO(saved(client, lived))).manifest.world == lived
    deadline_s = time.monotonic() + 10
    while True:
        ended = [one for one in served.logs if one.get("route") == "/api/worlds/{world}/recording"]
        if len(ended) >= 4 or time.monotonic() > deadline_s:
            break
        time.sleep(0.01)
    assert len(ended) >= 4 and not any(one["event"] == "request failed" for one in served.logs)


def test_a_purged_world_is_neither_recorded_nor_copied_nor_imported_again(client: Client, lived: str) -> None:
    recording = saved(client, lived)
    client.purge(lived, confirm=lived)
    for ask in (lambda: saved(client, lived), lambda: client.copy(lived, "copy")):
        with pytest.raises(ServerError) as gone:
            ask()
        assert gone.value.status == 410
    with pytest.raises(RefusedError, match="was purged here") as refused:
        client.import_recording(io.BytesIO(recording))
    assert refused.value.status == 410
    copy = client.import_recording(io.BytesIO(recording), name="back")
    assert bytes(client.call(copy.id, "add", [0]).value) == b"10"


def test_verifying_a_world_says_what_is_wrong_with_its_blobs(tmp_path: Path) -> None:
    server = Served(tmp_path)
    try:
        with server.client() as client:
            world = client.create("rotten").id
            client.develop(world, SOURCE)
            assert client.verify(world).problems == []
            assert (client.verify(world).records, client.verify(world).blobs) == (2, 3)
            snapshot = client.log(world, after=0, limit=1).records[0]
            blob = json.loads(bytes(snapshot.body or b""))["heap"]["blob"]
            (path,) = (path for path in (tmp_path / "blobs").rglob("*") if path.name in (blob, blob[2:]))
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
            (problem,) = client.verify(world).problems
            assert problem.place == f"blob {blob}" and f"needed by record 1 of world {world}" in problem.what
            with pytest.raises(Missing):
                client.verify("no-such-world")
    finally:
        server.stop()


def test_a_name_that_is_none_is_refused_at_the_door(client: Client, lived: str) -> None:
    with pytest.raises(Invalid):
        client.copy(lived, "\u0007")
