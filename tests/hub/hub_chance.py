"""Lives that a seed decides, to their ends."""

from __future__ import annotations

import json
import random

from engine.hub.messages import (
    Bless,
    Call,
    Checkpoint,
    CloseIncident,
    Describe,
    Develop,
    EditData,
    Enrol,
    Execute,
    Grant,
    Operation,
    Pin,
    Purge,
    RejectHeld,
    RemoveCheck,
    Request,
    RestoreData,
    Rollback,
    SetPage,
    TryCall,
    Unpin,
    Upgrade,
)
from faults.orders.guest import GUEST
from faults.orders.life import Life

KEYS = ("a", "b", "n:1", "n:2")


def random_call(chance: random.Random) -> Call:
    function = chance.choice([*[name for name in GUEST if name != "tour"], "add", "add", "missing"])
    args = {
        "total": [chance.choice(["", "n:"])],
        "move": [chance.choice(KEYS), chance.choice(KEYS)],
        "sumInto": [chance.choice(["", "n:"]), chance.choice(KEYS)],
        "popFirst": [chance.choice(["", "n:"]), chance.choice(["", "a", "n:1"])],
        "gather": [chance.choice(KEYS), chance.randrange(4)],
    }.get(function, [chance.choice(KEYS)])
    draw = chance.random()
    return Call(
        function,
        json.dumps(args).encode(),
        path=("x",) if draw < 0.2 else (),
        retries=chance.randrange(1, 5) if 0.2 < draw < 0.3 else None,
        asynchronous=0.3 < draw < 0.4,
    )


def random_operation(chance: random.Random, is_hot: bool) -> Operation:
    if is_hot:
        call = Call(chance.choice(["add", "add", "chain", "race"]), b'["a"]', chance.choice([(), ("x",)]))
        return chance.choice([call, call, EditData("a", b"1", "why")])
    kind = chance.randrange(22)
    if kind < 12:
        return random_call(chance)
    return [
        CloseIncident(chance.randrange(1, 4), chance.choice(["answered", "dismissed"]), "why"),
        chance.choice(
            [
                Enrol("c", "x", "y"),
                RemoveCheck("c", "why"),
                Grant(("b",)),
                SetPage("public", ()),
                TryCall("chain", b'["a"]', ("x",), None),
            ]
        ),
        Execute("add('a')"),
        Develop("x", "s"),
        chance.choice(
            [
                Develop("y", "s"),
                Pin(2, "", ""),
                Unpin(chance.randrange(1, 4), "why"),
                Bless(chance.randrange(1, 4), ""),
                RejectHeld(chance.randrange(1, 4), "why"),
            ]
        ),
        Rollback(chance.randrange(4), chance.choice(["why", " "])),
        EditData(chance.choice(KEYS), chance.choice([None, b"5"]), "why"),
        EditData("a", b"1", "why"),
        chance.choice([Upgrade(), Checkpoint(), Describe(frozen=True), Describe(frozen=False)]),
        Describe(archived=chance.random() < 0.2),
    ][kind - 12]


def random_restore(chance: random.Random, life: Life) -> Operation:
    at, prefix = chance.randrange(1, 1 + life.last_seq), chance.choice(["", "n:"])
    rows = [row for row in sorted(life.states[at].items()) if row[0].startswith(prefix)]
    return RestoreData(at, prefix, tuple(rows), "why")


def random_request(chance: random.Random, operation: Operation) -> Request | None:
    if chance.random() < 0.7:
        return None
    return Request(f"r{chance.randrange(40)}", f"{type(operation).__name__}{chance.randrange(2)}")


def live_by_chance(seed: int, steps: int) -> Life:
    """A life that the seed decides, to its end; every promise is checked."""
    chance = random.Random(seed)
    life = Life()
    is_hot = chance.random() < 0.2
    crash_share = chance.choice([0, 0, 0.01])
    failure_share = chance.choice([0, 0.02, 0.1])
    for _ in range(steps):
        draw = chance.random()
        if draw < crash_share:
            life.crash(chance.randrange(4))
        elif draw < crash_share + failure_share:
            life.fail_append(chance.randrange(3))
        elif draw < 0.4:
            operation = random_operation(chance, is_hot)
            if chance.random() < 0.05:
                operation = random_restore(chance, life)
            life.admit(operation, random_request(chance, operation))
        elif draw < 0.75 and life.jobs:
            op = chance.choice(list(life.jobs))
            if chance.random() < 0.03:
                life.lose(op)
            else:
                life.finish(op, chance.choice(["accepted", "accepted", "rejected", "unchanged", "held"]))
        elif draw < 0.85 and life.asks:
            op, ordinal = chance.choice(list(life.asks))
            life.answer(op, ordinal, ok=chance.random() < 0.8)
        elif draw < 0.87 and life.timers:
            life.fire(chance.choice(list(life.timers)))
        else:
            life.make_durable(chance.randrange(1, 5))
    ending = chance.choice(["rest", "rest", "drain", "purge", "crash"])
    if ending == "drain":
        life.drain()
        life.admit(random_operation(chance, is_hot))
    elif ending == "purge":
        life.admit(Purge("over"))
    elif ending == "crash":
        life.crash(chance.randrange(4))
    life.come_to_rest()
    life.check_promises()
    return life
