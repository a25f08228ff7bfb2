"""200 calls at once over four worlds that call each other: in each world as if one after the other, each part once."""

from __future__ import annotations

import json
import random
from typing import Any

import four_worlds as worlds
import pytest

from engine.host import SimulatedHost, answers, simulated
from engine.hub import messages as hub

QUICK_SEEDS = range(8)
SOAK_SEEDS = range(8, 200)


def town(seed: int) -> tuple[SimulatedHost, dict[str, str]]:
    host = simulated(seed)
    ids: dict[str, str] = {}
    for name in worlds.NAMES:
        ids[name] = host.create(name).id
        assert isinstance(host.perform(ids[name], hub.Develop(worlds.SOURCE, "first")), answers.Accepted)
        host.perform(ids[name], hub.Grant(tuple(ids[other] for other in worlds.GRANTS[name])))
    return host, ids


def records_of(host: SimulatedHost, world: str) -> list[tuple[int, str, dict[str, Any] | None]]:
    rows: list[Any] = []
    more = True
    while more:
        page = host.log(world, after=rows[-1].seq if rows else 0, limit=500)
        rows += page.records
        more = page.more
    return [(row.seq, row.kind, json.loads(bytes(row.body)) if row.body else None) for row in rows]


def all_at_once(seed: int) -> None:
    host, ids = town(seed)
    draw = random.Random(seed)
    calls = worlds.calls_of([draw.randrange(1 << 16) for _ in range(worlds.CALLS)], ids)
    heard: dict[int, Any] = {}
    for n, call in enumerate(calls):
        operation = hub.Call(call.function, json.dumps(call.args).encode())
        host.submit(
            ids[call.world],
            operation,
            actor="client",
            request_id=None,
            done=lambda answer, n=n: heard.__setitem__(n, answer),
        )
    host.shell.run_until(lambda: len(heard) == worlds.CALLS)
    host.settle()
    failed = [answer for answer in heard.values() if not isinstance(answer, answers.CallOk)]
    assert failed == [], f"seed {seed}: all are answered well"
    wanted, reruns = worlds.parts_of(calls, ids), 0
    for name in worlds.NAMES:
        records = records_of(host, ids[name])
        lived = worlds.live(records)
        rows = host.data(ids[name], prefix="", after=None, limit=1000).items
        data = {row.key: json.loads(bytes(row.value)) for row in rows}
        assert data == lived.data, f"seed {seed}: {name} is what its log says"
        assert lived.paid == wanted[name], f"seed {seed}: each part in {name} is done once"
        reruns += sum(body["reruns"] for _, kind, body in records if kind == "call" and body)
    assert reruns > 0, f"seed {seed}: calls got in each other's way"
    assert not any(runtime.hub.ops for runtime in host.runtimes.opened()), f"seed {seed}: nobody waits"


@pytest.mark.parametrize("seed", QUICK_SEEDS)
def test_200_calls_at_once_come_to_a_serial_order_in_each_world(seed: int) -> None:
    all_at_once(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", SOAK_SEEDS)
def test_200_calls_at_once_come_to_a_serial_order_in_each_world_whatever_the_seed(seed: int) -> None:
    all_at_once(seed)
