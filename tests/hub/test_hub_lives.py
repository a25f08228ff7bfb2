"""Whole lives of a world under a simulated host that fails and crashes; every promise is checked at the end."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hub_chance import KEYS, live_by_chance
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from engine import limits
from engine.hub.messages import (
    Bless,
    Call,
    CloseIncident,
    Describe,
    Develop,
    EditData,
    Enrol,
    Execute,
    Pin,
    Purge,
    RejectHeld,
    Request,
    Rollback,
    TryCall,
    Unpin,
)
from faults.orders.life import Life
from faults.orders.promises import closes


@pytest.fixture(autouse=True, scope="module")
def tight_limits():
    """Small limits, so that short lives meet all of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "CALLS_RUNNING_MAX", 4)
        patch.setattr(limits, "CALLS_QUEUED_MAX", 5)
        patch.setattr(limits, "DEVELOPS_QUEUED_MAX", 3)
        yield


CALLS = st.one_of(
    st.sampled_from(KEYS).map(lambda key: Call("add", f'["{key}"]'.encode())),
    st.sampled_from(
        [
            Call("add", b'["a"]'),
            Call("get", b'["a"]'),
            Call("total", b'["n:"]'),
            Call("move", b'["a", "n:1"]'),
            Call("sumInto", b'["n:", "b"]'),
            Call("popFirst", b'["n:", ""]'),
            Call("put", b'["n:2"]'),
            Call("fail", b'["a"]'),
            Call("missing", b"[]"),
        ]
    ),
    st.sampled_from(
        [
            Call("chain", b'["a"]'),
            Call("chain", b'["a"]', path=("x",)),
            Call("race", b'["a"]'),
            Call("gather", b'["b", 3]'),
            Call("askOnly", b'["a"]'),
            Call("chain", b'["a"]', asynchronous=True),
            Call("fail", b'["a"]', asynchronous=True),
            Call("chain", b'["a"]', retries=1),
            Call("add", b'["a"]', retries=1),
        ]
    ),
)
OTHERS = st.sampled_from(
    [
        Execute("add('a')"),
        Develop("x", "s"),
        Rollback(0, "why"),
        Rollback(1, "why"),
        EditData("a", b"5", "why"),
        EditData("n:1", None, "why"),
        Enrol("c", "x", "y"),
        CloseIncident(1, "dismissed", "why"),
        Pin(2, "", ""),
        Unpin(1, "why"),
        Bless(1, ""),
        Bless(2, ""),
        RejectHeld(1, "why"),
        CloseIncident(2, "answered", "", b"1"),
        TryCall("chain", b'["a"]', ("x",), None),
        Describe(archived=True),
        Describe(archived=False),
        Describe(frozen=True),
        Describe(frozen=False),
    ]
)
REQUESTS = st.one_of(
    st.none(), st.builds(Request, st.sampled_from(["r1", "r2", "r3"]), st.sampled_from(["x", "y"]))
)


class LifeMachine(RuleBasedStateMachine):
    """What a host may do, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.life = Life()

    @rule(operation=st.one_of(CALLS, CALLS, OTHERS), request=REQUESTS)
    def admit(self, operation, request):
        self.life.admit(operation, request)

    @precondition(lambda self: self.life.jobs)
    @rule(nth=st.integers(0, 8), verdict=st.sampled_from(["accepted", "rejected", "unchanged", "held"]))
    def finish(self, nth, verdict):
        jobs = list(self.life.jobs)
        self.life.finish(jobs[nth % len(jobs)], verdict)

    @precondition(lambda self: self.life.jobs)
    @rule(nth=st.integers(0, 8))
    def lose(self, nth):
        jobs = list(self.life.jobs)
        self.life.lose(jobs[nth % len(jobs)])

    @precondition(lambda self: self.life.appended)
    @rule(count=st.integers(1, 5))
    def make_durable(self, count):
        self.life.make_durable(count)

    @rule(kept=st.integers(0, 3))
    def fail_append(self, kept):
        self.life.fail_append(kept)

    @precondition(lambda self: self.life.asks)
    @rule(nth=st.integers(0, 8), ok=st.booleans())
    def answer(self, nth, ok):
        asks = list(self.life.asks)
        self.life.answer(*asks[nth % len(asks)], ok)

    @precondition(lambda self: self.life.timers)
    @rule(nth=st.integers(0, 8))
    def fire(self, nth):
        timers = list(self.life.timers)
        self.life.fire(timers[nth % len(timers)])

    @rule(kept=st.integers(0, 3))
    def crash(self, kept):
        self.life.crash(kept)

    @rule()
    def drain(self):
        self.life.drain()

    @rule()
    def purge(self):
        self.life.admit(Purge("over"))

    @invariant()
    def data_is_that_of_the_log(self):
        seq = max(self.life.log, default=1)
        assert self.life.world.data.list("", None, None, seq) == sorted(self.life.states[seq].items())

    def teardown(self):
        self.life.come_to_rest()
        self.life.check_promises()


TestLifeMachine = LifeMachine.TestCase
TestLifeMachine.settings = settings(max_examples=80, stateful_step_count=50, derandomize=True)


def test_lives_of_chance_keep_every_promise():
    met: Counter[str] = Counter()
    for seed in range(120):
        try:
            life = live_by_chance(seed, steps=250)
        except BaseException as error:
            error.add_note(f"seed {seed}; run: live_by_chance({seed}, steps=250)")
            raise
        met.update(draft.kind for draft in life.log.values())
        met.update("re-run" for draft in life.log.values() if draft.reruns)
        met.update(draft.failure for draft in life.log.values() if draft.failure)
        met.update("answers" for draft in life.log.values() if draft.answers and draft.reruns)
        met.update(
            "timeout"
            for draft in life.log.values()
            for answer in draft.answers
            if answer.value.endswith(b"no answer within 30 s")
        )
        met.update("retried" for draft in life.log.values() if draft.kind == "call" and closes(draft))
        met.update("alone" for draft in life.log.values() if draft.reruns >= limits.ALONE_FROM_RERUN)
        met.update(answer.refusal.code for answer in life.answered.values() if answer.refusal)
    expected = {
        *("call", "preview", "revision", "unchanged", "rejection", "data-edit", "describe", "purge"),
        *("conflict", "checkpoint", "interrupted", "re-run", "alone", "busy", "archived", "frozen", "purged"),
        *("request-conflict", "storage", "bad-reason", "already-head", "no-revision", "draining"),
        *("admitted", "answers", "timeout", "retried", "no-incident", "closed", "incident-closed"),
        *("check-enrolled", "check-removed", "granted", "page-set"),
    }
    assert set(met) >= expected, "lives that meet less prove less"


def digest_of_lives() -> str:
    trace = hashlib.blake2b()
    for seed in range(6):
        trace.update("\n".join(live_by_chance(seed, steps=150).trace).encode())
    return trace.hexdigest()


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_a_life_is_the_same_under_any_hash_seed(hash_seed: str):
    here = Path(__file__).parent
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": os.pathsep.join([str(here), str(here.parents[1])]),
    }
    code = (
        "from engine import limits; limits.CALLS_RUNNING_MAX = 4; limits.CALLS_QUEUED_MAX = 5; "
        "limits.DEVELOPS_QUEUED_MAX = 3; import test_hub_lives; print(test_hub_lives.digest_of_lives())"
    )
    there = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True
    )
    assert there.stdout.strip() == digest_of_lives()
