"""What may be asked of a world, in one table: to add an operation to all lives, add a row.

`draw` makes the arguments (plain JSON values) from the seed; `operation` makes the operation from them, where the
life stands by then, or None where there is nothing that it could be asked of; `says` is the line that people read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from engine.hub import messages as hub
from engine.ids import is_definition_name
from engine.io.sim_entropy import SimEntropy
from faults import guests
from faults.guests import KEYS, VARIANTS

Args = list[Any]


class Place(Protocol):
    """Where a life stands."""

    def world_id(self, world: int) -> str | None:
        """The id of a world of the life; None before it was made."""
        ...

    def open_incidents(self, world: int) -> list[Any]:
        """Rows of incidents that are not closed, oldest first."""
        ...

    def head(self, world: int) -> int: ...

    def last_calls(self, world: int) -> list[int]:
        """The records of its last calls, oldest first."""
        ...

    def standing(self, world: int, what: str) -> list[int]:
        """Numbers of its `goldens` that are pinned, or of its `held` changes that are open, oldest first."""
        ...

    def records(self, world: int) -> int: ...


@dataclass(frozen=True)
class Action:
    """`weight` is how often it is drawn; `claims` whether its client may use a request id."""

    weight: int
    draw: Callable[[SimEntropy, int], Args]
    operation: Callable[[Place, int, Args], hub.Operation | None]
    says: Callable[[Args], str]
    claims: bool = True


def _one_of(entropy: SimEntropy, choices: tuple[Any, ...]) -> Any:
    return choices[entropy.below(len(choices))]


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


# ---- calls: args are [function, its arguments]


def _draw_call(entropy: SimEntropy, n: int) -> Args:
    key = _one_of(entropy, (KEYS[0], KEYS[0], *KEYS))
    calls: tuple[tuple[int, str, Callable[[], Args]], ...] = (
        (8, "add", lambda: [key, 1 + entropy.below(9)]),
        (4, "read", lambda: [key]),
        (2, "rows", lambda: [_one_of(entropy, ("", "h", "w", "n:", "paid:"))]),
        (3, "move", lambda: [key, _one_of(entropy, tuple(other for other in KEYS if other != key))]),
        (2, "note", lambda: [f"n:{entropy.below(6)}", f"t{n} " + "x" * entropy.below(300)]),
        (2, "needs", lambda: [key, entropy.below(60)]),
        (2, "draw", list),
        (2, "kept", list),
        (1, "grow", lambda: [100_000 * (1 + entropy.below(12))]),
        (1, "told", lambda: [f"t{n}"]),
        (1, "dbl", lambda: [entropy.below(100)]),
        (1, "app", lambda: [{"method": "GET", "path": f"/{n}", "query": {}, "headers": {}, "body": ""}]),
        (1, "missing", lambda: [n]),
    )
    at = entropy.below(sum(weight for weight, _, _ in calls))
    for weight, function, draw in calls:
        at -= weight
        if at < 0:
            return [function, draw()]
    raise AssertionError("the weights add up")


def _call(place: Place, world: int, args: Args) -> hub.Operation:
    return hub.Call(args[0], _json(args[1]))


def _async_call(place: Place, world: int, args: Args) -> hub.Operation:
    return hub.Call(args[0], _json(args[1]), asynchronous=True)


def _execute(place: Place, world: int, args: Args) -> hub.Operation:
    return hub.Execute(_as_text(args))


def _as_text(args: Args) -> str:
    return f"{args[0]}({', '.join(json.dumps(arg) for arg in args[1])})"


def _draw_pay(entropy: SimEntropy, n: int) -> Args:
    """Worlds by number, step by step; those of one step are asked at once. A world may come twice: a cycle."""
    route = [
        sorted({entropy.below(4) for _ in range(1 + entropy.below(2))}) for _ in range(1 + entropy.below(2))
    ]
    return [f"t{n}", _one_of(entropy, KEYS), 1 + entropy.below(5), route]


def _pay(place: Place, world: int, args: Args) -> hub.Operation | None:
    token, key, amount, route = args
    ids = [[place.world_id(other) or "nobody-000000" for other in step] for step in route]
    return hub.Call("pay", _json([token, key, amount, ids]))


def _pay_later(place: Place, world: int, args: Args) -> hub.Operation | None:
    token, key, amount, route = args
    ids = [[place.world_id(other) or "nobody-000000" for other in step] for step in route]
    return hub.Call("pay", _json([token, key, amount, ids]), asynchronous=True)


def _try_pay(place: Place, world: int, args: Args) -> hub.Operation | None:
    token, key, amount, route = args
    ids = [[place.world_id(other) or "nobody-000000" for other in step] for step in route]
    return hub.Execute(f"pay({json.dumps('try ' + token)}, {json.dumps(key)}, {amount}, {json.dumps(ids)})")


def _says_pay(args: Args) -> str:
    route = " then ".join("+".join("abcd"[world] for world in step) for step in args[3])
    return f"pay({args[0]}, {args[1]}, {args[2]}) by way of {route}"


# ---- changes


def _develop(place: Place, world: int, args: Args) -> hub.Operation:
    source = guests.SOURCES[args[0]]
    return hub.Develop(source.text, args[0], source.commonjs)


def _draw_develop(entropy: SimEntropy, n: int) -> Args:
    names = tuple(name for name in guests.SOURCES)
    often = tuple(
        f"{what} {_one_of(entropy, VARIANTS)}" for what in ("add", "kept", "item", "class", "library")
    )
    return [_one_of(entropy, often if entropy.chance(3, 5) else names)]


def _rollback(place: Place, world: int, args: Args) -> hub.Operation:
    return hub.Rollback(args[0] % (place.head(world) + 1), "back to what it was", force=args[1])


def _retry(place: Place, world: int, args: Args) -> hub.Operation | None:
    rows = place.open_incidents(world)
    row = rows[args[0] % len(rows)] if rows else None
    if row is None or not is_definition_name(row.function):
        return None
    return hub.Call(row.function, bytes(row.args), retries=row.n)


def _close(place: Place, world: int, args: Args) -> hub.Operation | None:
    rows = place.open_incidents(world)
    if not rows:
        return None
    row = rows[args[0] % len(rows)]
    if args[1] == "answered":
        return hub.CloseIncident(row.n, "answered", "by hand", b"[1]")
    return hub.CloseIncident(row.n, "dismissed", "never mind")


def _of(numbers: list[int], pick: int) -> int | None:
    return numbers[pick % len(numbers)] if numbers else None


def _pin(place: Place, world: int, args: Args) -> hub.Operation | None:
    call = _of(place.last_calls(world), args[0])
    return hub.Pin(call, f"golden {args[1]}", "as it is") if call is not None else None


def _unpin(place: Place, world: int, args: Args) -> hub.Operation | None:
    golden = _of(place.standing(world, "goldens"), args[0])
    return hub.Unpin(golden, "not wanted") if golden is not None else None


def _judge_held(place: Place, world: int, args: Args) -> hub.Operation | None:
    held = _of(place.standing(world, "held"), args[0])
    if held is None:
        return None
    return hub.Bless(held, "as wanted") if args[1] else hub.RejectHeld(held, "not wanted")


def _gated(place: Place, world: int, args: Args) -> hub.Operation:
    source = guests.SOURCES[args[0]]
    return hub.Develop(source.text, args[0], source.commonjs, gate=True)


def _restore(place: Place, world: int, args: Args) -> hub.Operation:
    """What is brought back is found by the host (see `Clients.submit`)."""
    return hub.RestoreData(args[0] % place.records(world), args[1], (), "as it was")


def _enrol(place: Place, world: int, args: Args) -> hub.Operation:
    expression, counterexample, generator = guests.CHECKS[args[0]]
    return hub.Enrol(args[0], expression, counterexample, generator)


def _grant(place: Place, world: int, args: Args) -> hub.Operation:
    ids = (place.world_id(other) for other in args[0])
    return hub.Grant(tuple(sorted({id for id in ids if id is not None})))


def _draw_grant(entropy: SimEntropy, n: int) -> Args:
    return [[other for other in range(4) if entropy.chance(4, 5)]]


def _edit(place: Place, world: int, args: Args) -> hub.Operation:
    return hub.EditData(args[0], _json(args[1]) if args[1] is not None else None, "put right")


def _draw_edit(entropy: SimEntropy, n: int) -> Args:
    key = _one_of(entropy, (*KEYS, "n:1", "n:2"))
    return [key, entropy.below(100) if key in KEYS and entropy.chance(4, 5) else None]


def _draw_state(entropy: SimEntropy, n: int) -> Args:
    return [_one_of(entropy, ("archived", "frozen")), entropy.chance(1, 5)]


ACTIONS: dict[str, Action] = {
    "call": Action(60, _draw_call, _call, lambda args: f"call {_as_text(args)}"),
    "later": Action(6, _draw_call, _async_call, lambda args: f"call {_as_text(args)}, not waiting"),
    "preview": Action(8, _draw_call, _execute, lambda args: f"preview {_as_text(args)}"),
    "pay": Action(16, _draw_pay, _pay, _says_pay),
    "pay later": Action(3, _draw_pay, _pay_later, lambda args: _says_pay(args) + ", not waiting"),
    "try to pay": Action(3, _draw_pay, _try_pay, lambda args: "preview " + _says_pay(args)),
    "develop": Action(16, _draw_develop, _develop, lambda args: f"develop {args[0]}"),
    "roll back": Action(
        4,
        lambda entropy, n: [entropy.below(1000), entropy.chance(1, 4)],
        _rollback,
        lambda args: f"roll back to revision {args[0]} modulo head{', forced' if args[1] else ''}",
    ),
    "retry": Action(
        5,
        lambda entropy, n: [entropy.below(1000)],
        _retry,
        lambda args: f"retry open incident {args[0]} modulo their number",
    ),
    "close": Action(
        3,
        lambda entropy, n: [entropy.below(1000), _one_of(entropy, ("answered", "dismissed"))],
        _close,
        lambda args: f"close open incident {args[0]} modulo their number ({args[1]})",
    ),
    "enrol": Action(
        4,
        lambda entropy, n: [_one_of(entropy, ("doubles", "doubles", *guests.CHECKS))],
        _enrol,
        lambda args: f"enrol the check {args[0]}",
    ),
    "remove check": Action(
        1,
        lambda entropy, n: [_one_of(entropy, guests.SOUND_CHECKS)],
        lambda place, world, args: hub.RemoveCheck(args[0], "not wanted"),
        lambda args: f"remove the check {args[0]}",
    ),
    "grant": Action(
        4, _draw_grant, _grant, lambda args: f"may call {', '.join('abcd'[n] for n in args[0]) or 'nobody'}"
    ),
    "page": Action(
        1,
        lambda entropy, n: [_one_of(entropy, ("private", "public"))],
        lambda place, world, args: hub.SetPage(args[0], ("add", "read")),
        lambda args: f"its page becomes {args[0]}",
    ),
    "pin": Action(
        4,
        lambda entropy, n: [entropy.below(1000), n],
        _pin,
        lambda args: f"pin call {args[0]} modulo the last ones",
    ),
    "unpin": Action(
        2, lambda entropy, n: [entropy.below(1000)], _unpin, lambda args: f"unpin golden {args[0]} modulo all"
    ),
    "judge held": Action(
        4,
        lambda entropy, n: [entropy.below(1000), entropy.chance(2, 3)],
        _judge_held,
        lambda args: f"{'bless' if args[1] else 'reject'} held change {args[0]} modulo all",
    ),
    "develop gated": Action(3, _draw_develop, _gated, lambda args: f"develop {args[0]}, gated"),
    "restore": Action(
        4,
        lambda entropy, n: [entropy.below(1000), _one_of(entropy, ("", "", "h", "n:", "paid:"))],
        _restore,
        lambda args: f"bring data {args[1]!r} back as after record {args[0]} modulo all",
    ),
    "edit": Action(6, _draw_edit, _edit, lambda args: f"set {args[0]} to {json.dumps(args[1])} by hand"),
    "rename": Action(
        1,
        lambda entropy, n: [f"world {n}"],
        lambda place, world, args: hub.Describe(name=args[0]),
        lambda args: f"rename to {args[0]}",
    ),
    "state": Action(
        5,
        _draw_state,
        lambda place, world, args: hub.Describe(**{args[0]: args[1]}),
        lambda args: f"{'' if args[1] else 'no longer '}{args[0]}",
    ),
    "checkpoint": Action(
        3,
        lambda entropy, n: [],
        lambda place, world, args: hub.Checkpoint(),
        lambda args: "checkpoint",
        claims=False,
    ),
    "purge": Action(
        0,
        lambda entropy, n: [],
        lambda place, world, args: hub.Purge("not wanted"),
        lambda args: "purge it",
    ),
    "create": Action(0, lambda entropy, n: [], lambda place, world, args: None, lambda args: "create it"),
}
"""Weights are parts of their sum; those of weight 0 are asked at places of their own (see `workload`)."""
