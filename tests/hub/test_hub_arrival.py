"""An operation that runs again with its first clock is recorded, and its request id kept, as of now."""

from __future__ import annotations

from hub_bench import Bench

from engine.hub.messages import Admit, Call, Request
from engine.limits import REQUEST_ID_KEPT_FLICKS

THEN = 1_000
NOW = THEN + 2 * REQUEST_ID_KEPT_FLICKS
ASKED = Request("once", "1" * 64)


def retried(bench: Bench, op: int) -> int:
    bench.feed(Admit(op, Call("f", b"[]", retries=1), "tester", ASKED, THEN, 0, 7, NOW))
    return op


def test_a_retry_hears_the_old_clock_and_is_recorded_when_it_happened():
    bench = Bench(next_incident=2)
    op = retried(bench, 1)
    assert bench.jobs[op].flick == THEN
    bench.done(op)
    assert (bench.drafts[0].flick, bench.drafts[0].arrived_flick) == (THEN, NOW)


def test_the_request_id_of_a_retry_is_kept_from_now_on():
    bench = Bench(next_incident=2)
    bench.done(retried(bench, 1))
    bench.durable()
    bench.admit(Call("g", b"[]"), Request("later", "2" * 64), flick=NOW)  # which forgets what is too old
    again = retried(bench, 2)
    assert bench.answers[again].seq == bench.answers[1].seq


def test_what_is_no_retry_is_recorded_as_of_its_clock():
    bench = Bench()
    op = bench.call()
    bench.done(op)
    assert bench.drafts[0].arrived_flick == bench.drafts[0].flick == bench.jobs[op].flick
