"""Deleting what is not there says so, and records nothing."""

from __future__ import annotations

from engine.host import answers, simulated
from engine.hub import messages as hub

GONE = answers.Missing(
    ok=False, error="there is no data under 'k', so nothing was deleted", hint="`pw data` lists the keys"
)


def test_deleting_a_key_that_is_missing_says_so_and_records_nothing():
    host = simulated(1)
    world = host.create("w").id
    last = host.parts.log.last(world)
    assert host.perform(world, hub.EditData("k", None, "tidy")) == GONE
    host.settle()
    assert host.parts.log.last(world) == last


def test_a_key_that_is_there_is_deleted_once_and_a_repeated_request_hears_its_first_answer():
    host = simulated(1)
    world = host.create("w").id
    host.perform(world, hub.EditData("k", b"1", "set"))
    delete = hub.EditData("k", None, "tidy")
    first = host.perform(world, delete, request_id="once")
    assert isinstance(first, answers.Done)
    assert host.perform(world, delete, request_id="once") == first
    assert host.perform(world, delete) == GONE


def test_a_delete_that_is_not_durable_yet_is_not_taken_for_granted():
    """Two at once: the second cannot know that the first will be durable, so it is recorded too."""
    host = simulated(1)
    world = host.create("w").id
    host.perform(world, hub.EditData("k", b"1", "set"))
    heard: list[answers.OperationAnswer] = []
    for _ in range(2):
        host.submit(
            world, hub.EditData("k", None, "tidy"), actor="operator", request_id=None, done=heard.append
        )
    host.settle()
    assert [type(answer) for answer in heard] == [answers.Done, answers.Done]
