"""Mistakes in what decides: validation, numbers, request ids, peers, incidents, and what an opening does."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from engine.host import recovery
from engine.host.host import Host
from engine.host.jobs import Jobs
from engine.host.writer import Chain
from engine.hub import admission, commit, parks, requests, settle
from engine.hub import messages as hub
from engine.hub.data import VersionedData
from engine.hub.requests import Requests
from engine.hub.step import _HANDLERS
from engine.hub.world import NUMBERED, Op, World
from engine.ids import PEER_REQUEST_PREFIX
from engine.record import inflight
from tests.faults.plants_looks import DrawnOrders, Lives, Orders, Twice
from tests.faults.plants_planting import Patch, Plant

# ---- validation


def _skip_a_read(patch: Patch) -> None:
    whole = VersionedData.changed_since
    patch.setattr(VersionedData, "changed_since", lambda data, reads, seq: whole(data, reads[1:], seq))


def _skip_prefixes(patch: Patch) -> None:
    whole = VersionedData.changed_since

    def changed_since(data: VersionedData, reads: Any, seq: int) -> str | None:
        return whole(data, [read for read in reads if not read.prefix], seq)

    patch.setattr(VersionedData, "changed_since", changed_since)


def _validate_against_durable_data(patch: Patch) -> None:
    """What is drafted and not durable yet is left out."""

    def changed_since(data: VersionedData, reads: Any, seq: int) -> str | None:
        for read in reads:
            keys = [key for key in data._newest if key.startswith(read.key)] if read.prefix else [read.key]
            for key in keys:
                version = data._newest.get(key)
                if version is not None and seq < version[0] <= data.durable_seq:
                    return key
        return None

    patch.setattr(VersionedData, "changed_since", changed_since)


def _read_drafts(patch: Patch) -> None:
    """A job reads the newest data, durable or not."""

    def get(data: VersionedData, key: str, at_seq: int) -> bytes | None:
        version = data._newest.get(key)
        return version[1] if version is not None else None

    patch.setattr(VersionedData, "get", get)


def _restore_to_durable_data(patch: Patch) -> None:
    """What brings data back is made against what is durable, without the drafts."""
    whole = VersionedData.writes_to

    def writes_to(data: VersionedData, prefix: str, rows: Any) -> Any:
        now = dict(data.list(prefix, None, None, data.durable_seq))
        twin = VersionedData(sorted(now.items()), data.durable_seq)
        return whole(twin, prefix, rows)

    patch.setattr(VersionedData, "writes_to", writes_to)


# ---- numbers


def _keep_numbers_of_a_failed_append(patch: Patch) -> None:
    whole = settle.append_failed

    def append_failed(world: World, event: hub.AppendFailed, effects: list[Any]) -> None:
        numbers = dict(world.next_numbers)
        whole(world, event, effects)
        world.next_numbers = numbers

    _on_event(patch, hub.AppendFailed, append_failed)


def _number_by_what_is_durable(patch: Patch) -> None:
    def take_number(world: World, kind: str) -> int:
        return world.durable_numbers[NUMBERED[kind]]

    for module in (admission, commit):
        patch.setattr(module, "take_number", take_number)


def _chain_on_what_failed(patch: Patch) -> None:
    patch.setattr(Chain, "fall_back", lambda chain: None)


# ---- request ids


def _forget_running_ids(patch: Patch) -> None:
    kept_flicks = requests.limits.REQUEST_ID_KEPT_FLICKS
    patch.setattr(requests, "_is_forgotten", lambda claim, flick: flick - claim.flick >= kept_flicks)


def _join_another_body(patch: Patch) -> None:
    whole = admission._repeat

    def repeat(world: World, op_id: int, claim: Any, request: hub.Request, effects: list[Any]) -> None:
        whole(world, op_id, claim, hub.Request(request.id, claim.hash), effects)

    patch.setattr(admission, "_repeat", repeat)


def _forget_ids_at_a_restart(patch: Patch) -> None:
    whole = Requests.__init__
    patch.setattr(Requests, "__init__", lambda self, recorded: whole(self, {}))


def _release_with_the_answer(patch: Patch) -> None:
    """An id is free again once its operation has an answer."""
    patch.setattr(Requests, "record", lambda self, id, seq: self._claims.pop(id).joined)


# ---- other worlds


def _number_peers_requests(patch: Patch) -> None:
    """The request ids of asks are counted, not made of who asks what."""
    count = itertools.count()
    patch.setattr(
        parks, "request_id_of", lambda world, op, ask: f"{PEER_REQUEST_PREFIX}{world.id}-{next(count)}"
    )


def _draw_again_at_recovery(patch: Patch) -> None:
    whole = Host.admit

    def admit(host: Host, runtime: Any, operation: hub.Operation, **given: Any) -> None:
        if given["actor"] == recovery.RECOVERY:
            given["again"] = None
        whole(host, runtime, operation, **given)

    patch.setattr(Host, "admit", admit)


def _draw_again_for_a_retry(patch: Patch) -> None:
    patch.setattr(Host, "_as_before", lambda host, runtime, operation: None)


def _forget_a_park(patch: Patch) -> None:
    """Who waits hears the first answer, and no other."""
    whole = parks.peer_answered

    def peer_answered(world: World, event: hub.PeerAnswered, effects: list[Any]) -> None:
        op = world.ops.get(event.op)
        if op is not None and op.talk is not None and op.talk.heard:
            return
        whole(world, event, effects)

    _on_event(patch, hub.PeerAnswered, peer_answered)


def _record_answers_by_ordinal(patch: Patch) -> None:
    """Answers are recorded in the order in which they were asked for, not in that in which they were heard."""
    whole = commit.draft

    def draft(world: World, op: Op, kind: str, detail: Any, **given: Any) -> hub.Draft:
        if op.talk is not None:
            op.talk.heard = sorted(op.talk.heard, key=lambda answer: answer.ordinal)
        return whole(world, op, kind, detail, **given)

    patch.setattr(commit, "draft", draft)


def _ask_again_in_each_run(patch: Patch) -> None:
    """A re-run draws another seed, so that nobody knows that it has asked before."""
    whole = commit._run_again

    def run_again(world: World, op: Op) -> None:
        op.seed += 1
        if op.talk is not None:
            op.talk.asked = {}
        whole(world, op)

    patch.setattr(commit, "_run_again", run_again)


# ---- incidents, previews, changes


def _close_an_incident_twice(patch: Patch) -> None:
    for name in ("_close_incidents",):
        patch.setattr(settle, name, lambda world, seq: world.closing.clear())


def _keep_writes_of_failed_calls(patch: Patch) -> None:
    """Whoever wrote has written, whether it failed or not."""
    whole = commit.draft

    def record_reader(world: World, op: Op, done: hub.CallDone, effects: list[Any]) -> None:
        def draft(world: World, op: Op, kind: str, detail: Any, **given: Any) -> hub.Draft:
            writes = done.writes if kind == "call" else ()
            return whole(world, op, kind, detail, **given, writes=writes)

        commit.draft = draft
        try:
            reader(world, op, done, effects)
        finally:
            commit.draft = whole

    reader = commit._record_reader
    patch.setattr(commit, "_record_reader", record_reader)


def _keep_writes_of_previews(patch: Patch) -> None:
    """A preview's writes go to the data that later calls read."""
    reader = commit._record_reader

    def record_reader(world: World, op: Op, done: hub.CallDone, effects: list[Any]) -> None:
        reader(world, op, done, effects)
        if (
            isinstance(op.operation, hub.Execute)
            and done.writes
            and world.data.newest_seq < world.next_seq - 1
        ):
            world.data.apply(world.next_seq - 1, done.writes)

    patch.setattr(commit, "_record_reader", record_reader)


def _accept_without_checks(patch: Patch) -> None:
    patch.setattr(Jobs, "judge", lambda jobs, runtime, image, catalogue: None)


def _move_the_head_when_drafted(patch: Patch) -> None:
    """A revision counts as the head before its record is durable."""
    whole = commit.attempt_done

    def attempt_done(world: World, event: hub.AttemptDone, effects: list[Any]) -> None:
        whole(world, event, effects)
        if world.pending and world.pending[-1].kind == "revision" and event.verdict == "accepted":
            world.change = None
            world.revision = world.pending[-1].number or 0

    _on_event(patch, hub.AttemptDone, attempt_done)


# ---- what an opening makes of the past


def _wipe_the_note_when_drafted(patch: Patch) -> None:
    patch.setattr(Host, "_mark_drafted", lambda host, runtime, op, draft: host._clear_slot(op))


def _run_what_was_interrupted(patch: Patch) -> None:
    whole = recovery._run_unsettled
    patch.setattr(
        recovery, "_run_unsettled", lambda parts, runtimes, admit, ended: whole(parts, runtimes, admit, [])
    )


def _interrupt_again(patch: Patch) -> None:
    """An interruption is no outcome of what it interrupted, so the next opening records another."""
    whole = inflight._outcome_of

    def outcome_of(left: Any, log: Any, used: Any) -> int | None:
        seq = whole(left, log, used)
        if seq is not None:
            for _, entry in log.read(left.work.world, seq):
                if entry.seq == seq and inflight.decode(entry)[0].kind == "interrupted":
                    return None
        return seq

    patch.setattr(inflight, "_outcome_of", outcome_of)
    patch.setattr(recovery, "_recovered", lambda parts, slot, answer: None)


def _forget_the_admitted(patch: Patch) -> None:
    patch.setattr(recovery, "_run_unsettled", lambda parts, runtimes, admit, ended: None)


def _tell_one_world_of_a_batch(patch: Patch) -> None:
    """All records of a batch are taken for records of its first world."""
    whole = Host._durable

    def durable(host: Host, head: Any, written: list[Any]) -> None:
        first = written[0].entry.world
        host.parts.ledger.durable(head, written)
        ledger_durable, host.parts.ledger.durable = host.parts.ledger.durable, lambda *_: None  # type: ignore[method-assign]
        try:
            whole(host, head, [record for record in written if record.entry.world == first])
        finally:
            host.parts.ledger.durable = ledger_durable  # type: ignore[method-assign]

    patch.setattr(Host, "_durable", durable)


def _tell_worlds_in_the_order_of_hashes(patch: Patch) -> None:
    """The worlds of a batch hear of it in the order of a set."""
    whole = Host._durable

    def durable(host: Host, head: Any, written: list[Any]) -> None:
        place = {world: n for n, world in enumerate({record.entry.world for record in written})}
        whole(host, head, sorted(written, key=lambda record: (place[record.entry.world], record.cursor)))

    patch.setattr(Host, "_durable", durable)


def _draw_one_seed_for_all(patch: Patch) -> None:
    whole = hub.Admit

    def admit(*given: Any, **named: Any) -> hub.Admit:
        return dataclasses.replace(whole(*given, **named), seed=7)

    patch.setattr(hub, "Admit", admit)


def _key_timers_by_their_number(patch: Patch) -> None:
    """Timers of all worlds under one number each: two worlds may have the same."""

    class Timers(dict):
        def __setitem__(self, key: Any, value: Any) -> None:
            super().__setitem__(key[1], value)

        def __delitem__(self, key: Any) -> None:
            super().__delitem__(key[1])

        def pop(self, key: Any, *default: Any) -> Any:
            return super().pop(key[1], *default)

    whole = Host.__init__

    def init(host: Host, *given: Any, **named: Any) -> None:
        whole(host, *given, **named)
        host._timers = Timers()

    patch.setattr(Host, "__init__", init)


def _let_calls_follow_a_purge(patch: Patch) -> None:
    """A purge does not wait for what runs."""
    whole = admission._is_in_the_way

    def is_in_the_way(world: World, change: Op) -> bool:
        return not isinstance(change.operation, hub.Purge) and whole(world, change)

    patch.setattr(admission, "_is_in_the_way", is_in_the_way)


def _on_event(patch: Patch, event: type, handler: Any) -> None:
    patch.setitem(_HANDLERS, event, handler)


_BUSY = Lives(6, ops=80, troubles=())
_SLOW = ("crashes", "slow")
PLANTS = (
    Plant(
        "data is brought back over what is durable, not over the drafts",
        (12,),
        _restore_to_durable_data,
        (Orders("restore-during-calls", 20_000),),
        True,
    ),
    Plant(
        "the first read of a call is not validated",
        (12,),
        _skip_a_read,
        (Orders("conflicting-calls", 500),),
        True,
    ),
    Plant("prefixes are not validated", (12,), _skip_prefixes, (Orders("conflicting-calls", 5_000),), True),
    Plant(
        "a call is validated against durable data alone",
        (12,),
        _validate_against_durable_data,
        (Orders("conflicting-calls", 5_000),),
        True,
    ),
    Plant("a job reads what is not durable", (1, 12), _read_drafts, (Lives(10),)),
    Plant(
        "what a failed append numbered stays numbered",
        (17,),
        _keep_numbers_of_a_failed_append,
        (DrawnOrders(400, scenario="develop-while-storage-fails"),),
        True,
    ),
    Plant(
        "numbers follow the durable ones, not the drafted", (17,), _number_by_what_is_durable, (Lives(10),)
    ),
    Plant(
        "a world's chain goes on from a record that failed",
        (6,),
        _chain_on_what_failed,
        (Lives(20, troubles=("syncs",)),),
        True,
    ),
    Plant(
        "the id of a running request is forgotten after a day",
        (10,),
        _forget_running_ids,
        (Orders("expiry-beside-a-repeat", 10_000),),
        True,
    ),
    Plant(
        "who asks something else under an id is joined",
        (10,),
        _join_another_body,
        (Orders("a-request-asked-again", 500),),
        True,
    ),
    Plant(
        "request ids are forgotten at a restart",
        (10,),
        _forget_ids_at_a_restart,
        (Orders("expiry-beside-a-repeat", 10_000),),
        True,
    ),
    Plant(
        "a request id is free once it is answered",
        (10,),
        _release_with_the_answer,
        (Orders("a-request-asked-again", 500),),
        True,
    ),
    Plant("request ids of asks are counted", (11,), _number_peers_requests, (Lives(40, worlds=4),)),
    Plant(
        "what is run again after a restart draws a new seed",
        (11, 16),
        _draw_again_at_recovery,
        (Lives(40, worlds=4, troubles=_SLOW),),
    ),
    Plant("a retry draws a new seed", (11,), _draw_again_for_a_retry, (Lives(80, worlds=4, troubles=_SLOW),)),
    Plant(
        "a re-run draws a new seed, and asks all again",
        (11,),
        _ask_again_in_each_run,
        (Orders("calls-that-ask", 5_000),),
        True,
    ),
    Plant(
        "a call that waits hears one answer alone",
        (16,),
        _forget_a_park,
        (Lives(30, worlds=4, troubles=()),),
        True,
    ),
    Plant(
        "answers are recorded as they were asked for",
        (13,),
        _record_answers_by_ordinal,
        (Lives(40, worlds=4, troubles=()),),
    ),
    Plant(
        "a closed incident can be closed again",
        (16,),
        _close_an_incident_twice,
        (Orders("retry-beside-answer", 500),),
        True,
    ),
    Plant("a failed call's writes count", (18,), _keep_writes_of_failed_calls, (_BUSY,), True),
    Plant("a preview's writes are read by later calls", (18,), _keep_writes_of_previews, (_BUSY,), True),
    Plant(
        "a change is accepted whatever the checks say",
        (18,),
        _accept_without_checks,
        (Lives(60, troubles=()),),
    ),
    Plant("the head moves before its record is durable", (1, 17), _move_the_head_when_drafted, (_BUSY,)),
    Plant(
        "an operation's note is wiped when it is drafted",
        (16,),
        _wipe_the_note_when_drafted,
        (Lives(40, worlds=4, troubles=_SLOW),),
    ),
    Plant(
        "what was interrupted is run again all the same",
        (16,),
        _run_what_was_interrupted,
        (Lives(40, worlds=4, troubles=_SLOW),),
    ),
    Plant(
        "each opening interrupts the same again",
        (16,),
        _interrupt_again,
        (Lives(40, worlds=4, troubles=_SLOW),),
    ),
    Plant(
        "what was admitted durably is not run again",
        (16,),
        _forget_the_admitted,
        (Lives(40, worlds=4, troubles=_SLOW),),
    ),
    Plant(
        "a batch is told to its first world alone",
        (16, 19),
        _tell_one_world_of_a_batch,
        (Lives(10, worlds=4, troubles=()),),
        True,
    ),
    Plant(
        "the worlds of a batch hear of it in the order of a set",
        (13,),
        _tell_worlds_in_the_order_of_hashes,
        (Twice(10),),
    ),
    Plant(
        "all operations draw one seed", (16,), _draw_one_seed_for_all, (Lives(40, worlds=4, troubles=_SLOW),)
    ),
    Plant(
        "timers of different worlds share a number",
        (16,),
        _key_timers_by_their_number,
        (Lives(10, worlds=4),),
    ),
    Plant(
        "a purge does not wait for the calls that run",
        (6, 20),
        _let_calls_follow_a_purge,
        (Lives(120, worlds=4, troubles=()),),
    ),
)
