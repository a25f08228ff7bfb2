"""What may meet what on a whole host: small enough to be tried in many orders, and larger ones to be drawn from."""

from __future__ import annotations

import json
from typing import Any

from engine.host import answers
from engine.host.incident_answers import IncidentReplayed
from engine.host.recording_answers import AlreadyHere, Imported
from engine.host.replaying import Replayed
from engine.hub import messages as hub
from engine.record import kinds
from engine.record.records import record_hash
from faults.orders.asks import (
    BY_TEN,
    a_week_passes,
    adds,
    ask,
    ask_and_add,
    base,
    call_of,
    collect,
    import_two,
    open_another,
    replay_all,
    replay_incident,
    without_two,
)
from faults.orders.place import Place
from faults.orders.scenarios import Scenario

# ---- what must hold


def counts_exactly(place: Place, world: str = "one", key: str = "a") -> int:
    """Each call that wrote found what those before it left (Invariant 12); how many of them there are."""
    state: dict[str, Any] = {}
    steps = {0: 0, 1: 1}
    made = 0
    for header, body in place.records(world):
        if isinstance(body, kinds.Revision):
            steps[body.n] = (
                10 if body.source == BY_TEN else steps.get(body.target or 0, 1) if body.target else 1
            )
        if isinstance(body, kinds.Call) and body.failure is None:
            for write in body.writes:
                assert write.value is not None
                before = state.get(write.key, 0)
                by = steps[body.revision] if body.function == "add" else 1
                if write.key == key:
                    assert json.loads(write.value) == before + by, f"Invariant 12: record {header.seq}"
                    made += 1
                state[write.key] = json.loads(write.value)
    return made


def outcomes_of(place: Place, name: str, world: str = "one") -> list[kinds.Body]:
    """The records that end what a client asked."""
    admitted = [
        header.seq
        for header, body in place.records(world)
        if isinstance(body, kinds.Admitted) and header.actor == name
    ]
    found: list[kinds.Body] = []
    for header, body in place.records(world):
        if body is None or isinstance(body, kinds.Admitted):
            continue
        if header.actor == name or (isinstance(body, kinds.Call) and body.admitted in admitted):
            found.append(body)
    return found


def one_outcome_each(place: Place) -> None:
    """Who was answered has a record, who was refused has none, and nobody has two (Invariants 1, 16)."""
    for name in place.arrived:
        found = len(outcomes_of(place, name)) + len(outcomes_of(place, name, "two"))
        if place.refusal_of(name):
            assert found == 0, f"Invariant 16: {name} was refused and is recorded"
        assert found <= 1, f"Invariant 16: {name} has {found} outcomes"


def all_count(place: Place) -> None:
    """Every call counts, and what was said of it is what is recorded (Invariant 1)."""
    one_outcome_each(place)
    counts_exactly(place)
    counts_exactly(place, "two")
    for name in place.arrived:
        answer = place.answers.get(name)
        if isinstance(answer, answers.CallOk) and place.arrived[name].what == "add":
            (body,) = outcomes_of(place, name) + outcomes_of(place, name, "two")
            assert isinstance(body, kinds.Call) and body.value == bytes(answer.value), "Invariant 1"


def asked_once(place: Place) -> None:
    """The asked world did its part once for each call that came to an end, and for none twice (Invariant 11)."""
    one_outcome_each(place)
    asked = [
        body
        for _, body in place.records("one")
        if isinstance(body, kinds.Call) and body.function == "askAndAdd"
    ]
    there = [
        body for _, body in place.records("two") if isinstance(body, kinds.Call) and body.function == "add"
    ]
    ids = [body.request.id for body in there if body.request is not None]
    assert len(ids) == len(set(ids)), "Invariant 11: a re-run asks nobody twice"
    assert len([body for body in asked if body.failure is None]) <= len(there)
    assert counts_exactly(place, "two", "asked") == len(there)
    counts_exactly(place)


def closed_once(place: Place) -> None:
    one_outcome_each(place)
    closed = [
        body
        for _, body in place.records("one")
        if isinstance(body, kinds.IncidentClosed)
        or (isinstance(body, kinds.Call) and body.retries is not None and body.failure is None)
    ]
    assert len(closed) <= 1, "an incident is closed once"
    assert counts_exactly(place, key="retried") == len(
        [body for body in closed if isinstance(body, kinds.Call)]
    )


def runs_once(place: Place) -> None:
    """What was durably admitted runs to one outcome, whoever asked again and whatever was killed."""
    one_outcome_each(place)
    bodies = [body for _, body in place.records("one")]
    under = [b for b in bodies if isinstance(b, kinds.Admitted) and b.request and b.request.id == "once"]
    assert len(under) <= 1, "Invariant 10: one effect under an id"
    ends: list[int | None] = [
        b.admitted for b in bodies if isinstance(b, kinds.Call) and b.admitted is not None
    ]
    seqs = [header.seq for header, body in place.records("one") if isinstance(body, kinds.Admitted)]
    drawn = [(b.admitted_flick, b.seed) for b in bodies if isinstance(b, kinds.Interrupted)]
    for seq, body in zip(seqs, [b for b in bodies if isinstance(b, kinds.Admitted)], strict=True):
        outcomes = ends.count(seq) + drawn.count((body.flick, body.seed))
        assert outcomes == 1, f"Invariant 16: what record {seq} admitted has {outcomes} outcomes"
    assert counts_exactly(place) == len(
        [b for b in bodies if isinstance(b, kinds.Call) and b.function == "add"]
    )


def opened_once(place: Place) -> None:
    all_count(place)
    for name, each in place.arrived.items():
        if each.what == "open" and name in place.answers:
            refused = "another server runs on this directory" in place.answers[name]
            assert refused, "a directory was opened twice"


def landed_whole(place: Place) -> None:
    """An imported world is there with the record hashes of the recording, or is not there at all (Invariant 20)."""
    all_count(place)
    assert place.host is not None
    chain = [record_hash(entry.header) for _, entry in place.host.parts.log.read(place.worlds["two"])]
    recorded = place.kept["chain"]
    told = [place.answers.get(name) for name, each in place.arrived.items() if each.what == "import"]
    if any(isinstance(answer, Imported | AlreadyHere) for answer in told):
        assert chain[: len(recorded)] == recorded, "Invariant 1: what was said to be here is here"
    elif chain[: len(recorded)] != recorded:
        assert place.worlds["two"] not in place.listed, "what was cut off is no world"
    assert len([answer for answer in told if isinstance(answer, Imported)]) <= 1, "one import lands"


def expires_whole(place: Place) -> None:
    """What is replayed comes out as it was recorded, or is told to be erased; an id means one answer while kept."""
    one_outcome_each(place)
    counts_exactly(place)
    for answer in place.answers.values():
        if isinstance(answer, Replayed):
            assert answer.divergence is None, f"Invariant 13: {answer.divergence}"
        if isinstance(answer, IncidentReplayed):
            assert answer.same, f"Invariant 13: {answer.differs}"
    under = [
        header.seq
        for header, body in place.records("one")
        if isinstance(body, kinds.Call) and body.request is not None and body.request.id == "r"
    ]
    assert len(under) <= 1 + ("W" in place.arrived), "Invariant 10: one effect under an id"


HOST_SCENARIOS: dict[str, Scenario] = {
    "host-conflicting-calls": Scenario(
        "calls that read and write one key",
        lambda: Place(base, adds("ABC")),
        lambda: Place(
            base, (*adds("ABCDEF"), ask("G", call_of("get", "a")), ask("H", hub.Execute("add('a')")))
        ),
        all_count,
        on_a_host=True,
    ),
    "host-develop-during-calls": Scenario(
        "a change of what calls run, and a rollback of it",
        lambda: Place(base, (*adds("AB"), ask("D", hub.Develop(BY_TEN, "by ten")))),
        lambda: Place(
            base,
            (
                *adds("ABCEF"),
                ask("D", hub.Develop(BY_TEN, "by ten")),
                ask("R", hub.Rollback(1, "too much")),
                ask("X", hub.Develop("throw new Error('no')", "no good")),
            ),
            kills_left=1,
        ),
        all_count,
        on_a_host=True,
    ),
    "host-rollback-during-a-waiting-call": Scenario(
        "a rollback while a call waits for another world",
        lambda: Place(base, (ask_and_add("A"), ask("R", hub.Rollback(0, "why")))),
        lambda: Place(
            base,
            (ask_and_add("A"), ask_and_add("B"), *adds("CD"), ask("R", hub.Rollback(0, "why"))),
            kills_left=1,
        ),
        asked_once,
        on_a_host=True,
    ),
    "host-retry-beside-answer": Scenario(
        "a retry of an incident beside its answer by hand",
        lambda: Place(
            base,
            (
                ask("A", call_of("needs", "key", retries=1)),
                ask("B", call_of("needs", "key", retries=1)),
                ask("C", hub.CloseIncident(1, "answered", "", b"1")),
            ),
        ),
        lambda: Place(
            base,
            (
                *[ask(name, call_of("needs", "key", retries=1)) for name in "ABC"],
                ask("D", hub.CloseIncident(1, "answered", "", b"1")),
                ask("E", hub.CloseIncident(1, "dismissed", "why")),
            ),
            kills_left=1,
            powers_left=1,
        ),
        closed_once,
        on_a_host=True,
    ),
    "host-start-beside-recovery": Scenario(
        "calls that were durably admitted, their clients' repeats and a new call in one flick; the process is killed",
        lambda: Place(
            base,
            (*adds("AB", asynchronous=True, request="once"), *adds("C")),
            kills_left=1,
        ),
        lambda: Place(
            base,
            (*adds("ABC", asynchronous=True, request="once"), *adds("DE", asynchronous=True), *adds("F")),
            kills_left=2,
            powers_left=1,
        ),
        runs_once,
        on_a_host=True,
    ),
    "host-two-opens": Scenario(
        "another server on the same directory, and the next one after a death with a batch in flight",
        lambda: Place(base, (*adds("A"), open_another("O")), kills_left=1, powers_left=1),
        lambda: Place(
            base, (*adds("ABCD"), open_another("O"), open_another("P")), kills_left=2, powers_left=2
        ),
        opened_once,
        on_a_host=True,
    ),
    "host-import-beside-develop": Scenario(
        "a world that comes as a recording, twice, while another is developed and calls it; the process is killed",
        lambda: Place(without_two, (import_two("I"), ask("D", hub.Develop(BY_TEN, "by ten"))), kills_left=1),
        lambda: Place(
            without_two,
            (
                import_two("I"),
                import_two("J"),
                ask("D", hub.Develop(BY_TEN, "by ten")),
                *adds("AB"),
                ask_and_add("C"),
                *adds("E", world="two"),
                ask("F", hub.Develop(BY_TEN, "by ten"), world="two"),
            ),
            kills_left=1,
            powers_left=1,
        ),
        landed_whole,
        on_a_host=True,
    ),
    "host-expiry-beside-replay": Scenario(
        "old answers are erased while their request is repeated and their world is replayed",
        lambda: Place(base, (a_week_passes("W"), *adds("B"), collect("G"), replay_all("P"))),
        lambda: Place(
            base,
            (
                a_week_passes("W"),
                ask("A", call_of("get", "a"), request="r"),
                *adds("BC"),
                collect("G"),
                collect("H"),
                replay_all("P"),
                replay_all("Q"),
                replay_incident("N"),
            ),
            kills_left=1,
        ),
        expires_whole,
        on_a_host=True,
    ),
}
