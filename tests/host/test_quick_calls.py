"""A short call on the host's own thread comes to what it comes to on the VM lane; a long one is not decided there."""

from __future__ import annotations

import pytest
from life import SHOUT

from engine.host import simulated
from engine.host.jobs import Jobs
from engine.host.shell import DeepThread
from engine.hub import messages as hub
from engine.logic import Interrupt

SPIN = "function spin() { let n = 0; for (let i = 0; i < 300000; i++) n += i; return n }"


def both(function: str, args: bytes) -> tuple[hub.Event | None, hub.Event]:
    """The same job tried quickly, and run with all the fuel."""
    host = simulated("quick")
    world = host.create("w").id
    host.perform(world, hub.Develop(SHOUT + SPIN, "first"))
    runtime = host.runtimes.get(world)
    assert runtime is not None
    job = hub.RunJob(1, hub.Call(function, args), 1, runtime.hub.durable_seq, 5, 6, 0)
    jobs = Jobs(host.parts, quick=True)
    deep = DeepThread()
    return (
        deep.run(lambda: jobs.run_quickly(runtime, job)),
        deep.run(lambda: jobs.run(runtime, job, Interrupt())),
    )


@pytest.fixture(autouse=True)
def needs_the_c_path() -> None:
    if simulated("path").parts.engines.path != "c":
        pytest.skip("the C path was not built here")


@pytest.mark.parametrize(
    ("function", "args"),
    [("up", b'["abc"]'), ("bump", b'["n"]'), ("fail", b'["no"]'), ("noise", b"[]"), ("gone", b"[]")],
)
def test_a_short_call_has_one_outcome_fuel_reads_and_writes_on_either_thread(
    function: str, args: bytes
) -> None:
    quick, full = both(function, args)
    assert quick is not None
    assert quick == full


def test_a_call_that_comes_near_the_bound_is_left_to_the_lane() -> None:
    quick, full = both("spin", b"[]")
    assert quick is None
    assert isinstance(full, hub.CallDone) and full.detail.value == b"44999850000"
