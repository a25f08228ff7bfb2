"""Checks judge every change of a world, through the whole host, and outlive a restart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.host import SimulatedHost, answers, simulated
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk

DOUBLE = "function dbl(n) { return n * 2 }"
BROKEN = "function dbl(n) { return -n * 2 }"


@pytest.fixture
def disk() -> SimDisk:
    return SimDisk(seed="checks")


@pytest.fixture
def host(disk: SimDisk) -> SimulatedHost:
    host = simulated("checks", disk=disk)
    world = host.create("w").id
    host.perform(world, hub.Develop(DOUBLE, "first"))
    return host


def world_of(host: SimulatedHost) -> str:
    return host.worlds()[0].id


def ask(host: SimulatedHost, operation: hub.Operation, request_id: str | None = None) -> Any:
    return host.perform(world_of(host), operation, request_id=request_id)


def enrol(host: SimulatedHost, name: str = "doubles", **changes: Any) -> Any:
    given = {"expression": "dbl(2) === 4", "counterexample": BROKEN, "generator": None} | changes
    return ask(host, hub.Enrol(name, **given))


def test_a_check_is_enrolled_and_the_world_does_not_change(host: SimulatedHost) -> None:
    answer = enrol(host)
    assert (answer.check.name, answer.check.revision) == ("doubles", 1)
    assert host.world(world_of(host)).revision == 1
    assert [check.name for check in host.checks(world_of(host)).checks] == ["doubles"]


def test_a_change_that_breaks_it_is_rejected_by_name_and_leaves_no_trace(host: SimulatedHost) -> None:
    enrol(host)
    rejected = ask(host, hub.Develop(BROKEN, "negative"))
    assert (rejected.kind, rejected.check) == ("check", "doubles")
    assert bytes(ask(host, hub.Call("dbl", b"[3]")).value) == b"6"


def test_a_change_after_which_its_counterexample_breaks_nothing_is_rejected_as_vacuous(
    host: SimulatedHost,
) -> None:
    ask(
        host,
        hub.Develop("function factor() { return 2 }\nfunction dbl(n) { return n * factor() }", "by a factor"),
    )
    enrol(host, counterexample="function factor() { return 3 }")
    rejected = ask(host, hub.Develop(DOUBLE, "no factor"))
    assert (rejected.kind, rejected.check) == ("vacuous", "doubles")


def test_the_identical_proposal_again_is_the_enrolled_one_and_another_under_its_name_is_refused(
    host: SimulatedHost,
) -> None:
    first, second = enrol(host), enrol(host)
    assert first == second
    refused = enrol(host, expression="dbl(3) === 6")
    assert isinstance(refused, answers.RefusedCheck)
    assert host.rejection(world_of(host), refused.rejection).check == "doubles"


def test_a_check_that_cannot_fail_or_does_not_hold_is_refused_and_numbered(host: SimulatedHost) -> None:
    assert enrol(host, "always", expression="true").rejection == 1
    assert enrol(host, "never", expression="dbl(2) === 5").rejection == 2


def test_a_property_names_the_smallest_input_that_breaks_it(host: SimulatedHost) -> None:
    enrolled = enrol(
        host,
        "grows",
        expression="n => dbl(n) >= n",
        counterexample=BROKEN,
        generator="gen.int(0, 1000)",
    )
    assert enrolled.check.inputs == 50
    rejected = ask(host, hub.Develop("function dbl(n) { return n < 17 ? n * 2 : 0 }", "breaks at 17"))
    assert (rejected.kind, json.loads(bytes(rejected.input))) == ("check", 17)


def test_a_rollback_is_judged_too_unless_the_operator_forces_it(host: SimulatedHost) -> None:
    ask(host, hub.Develop("function dbl(n) { return n + n }", "the same by other means"))
    ask(host, hub.Develop("function half(n) { return n / 2 }", "half"))
    enrol(host, "halves", expression="half(4) === 2", counterexample="function half() { return 0 }")
    refused = ask(host, hub.Rollback(1, "back"))
    assert (refused.check, host.world(world_of(host)).revision) == ("halves", 3)
    assert ask(host, hub.Rollback(1, "back", force=True)).revision == 4


def test_checks_outlive_a_restart_and_a_removed_one_is_kept_with_the_reason(
    host: SimulatedHost, disk: SimDisk
) -> None:
    enrol(host)
    enrol(host, "six", expression="dbl(3) === 6")
    assert ask(host, hub.RemoveCheck("six", " ")).refused == "bad-reason"
    assert ask(host, hub.RemoveCheck("six", "twice is enough")).ok
    assert isinstance(ask(host, hub.RemoveCheck("seven", "never was")), answers.Missing)
    host.shut_down()
    again = simulated("again", disk=disk)
    assert ask(again, hub.Develop(BROKEN, "negative")).check == "doubles"
    removed = again.checks(world_of(again)).removed
    assert [(check.name, check.reason) for check in removed] == [("six", "twice is enough")]
