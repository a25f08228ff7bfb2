"""Four worlds that call each other, 200 calls at once, and a model in Python that says what each must have come to.

`shop` asks `stock` and `bank`, `stock` asks `bank` and `mint`, `bank` asks `mint`. Half of the calls read shared keys,
half read, change and write them. The model lives a world's log in its order: each call that wrote must have found what
the calls before it left, each reader what its snapshot held, and each part of a call must be done once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

NAMES = ("mint", "bank", "stock", "shop")
GRANTS = {"mint": (), "bank": ("mint",), "stock": ("bank", "mint"), "shop": ("stock", "bank")}
ROUTES: dict[str, tuple[list[list[str]], ...]] = {
    "mint": ([],),
    "bank": ([], [["mint"]]),
    "stock": ([], [["bank"]], [["bank", "mint"]], [["bank"], ["mint"]]),
    "shop": ([], [["stock"]], [["stock", "bank"]], [["bank"], ["mint"]], [["stock"], ["bank"], ["mint"]]),
}
"""Which worlds a call goes on to, step by step; those of one step are asked at once. No world comes twice."""
KEYS = 3
CALLS = 200

SOURCE = """
/** All of the shared keys, at one moment. */
function look() { return data.list("shared:").map(({ key, value }) => [key, value]) }

/** Add to a shared key, note whom for, and let other worlds do their part of the same. */
async function pay(token, key, amount, route) {
  const before = data.get("shared:" + key) ?? 0;
  const noted = data.get("done:" + token) ?? 0;
  const [next, ...rest] = route;
  if (next !== undefined) await Promise.all(next.map((world) => worlds.call(world, "pay", token, key, amount, rest)));
  data.set("shared:" + key, before + amount);
  data.set("done:" + token, noted + 1);
  return [before, before + amount];
}
"""


class Asked(NamedTuple):
    """One call of a client: the world's name, the function and its arguments."""

    world: str
    function: str
    args: list[Any]


def calls_of(numbers: Sequence[int], ids: dict[str, str]) -> list[Asked]:
    """CALLS calls drawn from as many numbers >= 0; half read, half pay by different routes."""
    assert len(numbers) == CALLS
    return [_call_of(n, number, ids) for n, number in enumerate(numbers)]


def _call_of(n: int, number: int, ids: dict[str, str]) -> Asked:
    world = NAMES[number % 4]
    if n % 2:
        return Asked(world, "look", [])
    routes = ROUTES[world]
    route = [[ids[name] for name in step] for step in routes[number // 4 % len(routes)]]
    return Asked(world, "pay", [f"t{n}", number // 16 % KEYS, 1 + number // 64 % 5, route])


class Ledger(NamedTuple):
    """What one world's log must have come to: its data, and how often each token was paid there."""

    data: dict[str, Any]
    paid: Counter[str]


def live(records: Sequence[tuple[int, str, dict[str, Any] | None]]) -> Ledger:
    """Live a log, (sequence, kind, body as the API shows it) of each record, by the model.

    Raises AssertionError where a call did not find what the calls before it left.
    """
    data: dict[str, Any] = {}
    at: dict[int, dict[str, Any]] = {0: {}}
    paid: Counter[str] = Counter()
    for seq, kind, body in records:
        if kind == "call":
            assert body is not None, f"record {seq} has its body"
            if body["function"] == "look" and body.get("failure") is None:
                seen = _newest(at, body["snapshot"])
                wanted = [[k, v] for k, v in sorted(seen.items()) if k.startswith("shared:")]
                assert _value(body, "value") == wanted, f"record {seq} saw another moment than its own"
            elif body.get("failure") is None:
                _pay(data, paid, _value(body, "args"), _value(body, "value"), seq)
        at[seq] = dict(data)
    return Ledger(data, paid)


def _pay(data: dict[str, Any], paid: Counter[str], args: list[Any], value: list[int], seq: int) -> None:
    token, key, amount, _route = args
    before = data.get(f"shared:{key}", 0)
    assert value == [before, before + amount], f"record {seq} did not find what the call before it left"
    data[f"shared:{key}"] = before + amount
    data[f"done:{token}"] = data.get(f"done:{token}", 0) + 1
    paid[token] += 1


def _value(body: dict[str, Any], field: str) -> Any:
    return json.loads(body[field])


def _newest(at: dict[int, dict[str, Any]], seq: int) -> dict[str, Any]:
    return at[max(known for known in at if known <= seq)]


def parts_of(calls: Sequence[Asked], ids: dict[str, str]) -> dict[str, Counter[str]]:
    """By world: how often each token is to be paid there when every call of it succeeds."""
    names = {id: name for name, id in ids.items()}
    wanted: dict[str, Counter[str]] = {name: Counter() for name in NAMES}
    for call in calls:
        if call.function == "pay":
            token, _, _, route = call.args
            wanted[call.world][token] += 1
            for world in (world for step in route for world in step):
                wanted[names[world]][token] += 1
    return wanted
