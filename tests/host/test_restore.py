"""Data brought back from the past: exact, with a reason, once a request, and in one order with the calls beside it."""

from __future__ import annotations

import pytest

from engine import limits
from engine.host import answers, simulated
from engine.host.api import Gone, NotThere
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk
from engine.io.sim_entropy import SimEntropy
from engine.record import kinds
from engine.record.verify import verify

SOURCE = """
function put(key, value) { data.set(key, value) }
function add(key) { data.set(key, (data.get(key) ?? 0) + 1); return data.get(key) }
function copyAll(to) { for (const {key, value} of data.list('a').rows) data.set(to + key, value) }
"""


class Lived:
    """A world whose data changed with each record; `rows[seq]` is what it had."""

    def __init__(self, seed: str, disk=None) -> None:
        self.disk = SimDisk() if disk is None else disk
        self.host = simulated(seed, disk=self.disk)
        self.world = self.host.create("W").id
        self.rows: dict[int, dict[str, bytes]] = {}
        self.do(hub.Develop(SOURCE, "s"))
        for key, value in [("a/1", 1), ("a/2", 2), ("b", 3), ("a/1", 4), ("\ud800", 5)]:
            self.do(hub.EditData(key, b"%d" % value, "set"))
        self.do(hub.EditData("b", None, "gone"))
        self.do(hub.Call("put", b'["a/3",{"x":[1,2]}]'))

    def do(self, operation) -> answers.OperationAnswer:
        answer = self.host.perform(self.world, operation)
        self.note()
        return answer

    def note(self) -> int:
        self.host.settle()
        at = self.host.world(self.world).records - 1
        self.rows[at] = self.now()
        return at

    def now(self) -> dict[str, bytes]:
        page = self.host.data(self.world, prefix="", after=None, limit=1000)
        return {row.key: bytes(row.value) for row in page.items}

    def back(self, at: int, **more) -> answers.OperationAnswer:
        return self.host.bring_back(self.world, at, **more)

    def reopen(self, seed: str) -> None:
        self.host.shut_down()
        self.host = simulated(seed, disk=self.disk)


@pytest.fixture
def lived():
    return Lived("restore")


def body_of(lived: Lived, seq: int) -> kinds.Body:
    return lived.host.parts.ledger.body_at(lived.world, seq)


def test_all_data_come_back_from_any_record_in_any_order(lived):
    for at in sorted(lived.rows, key=lambda at: (at * 7) % 11):
        before = lived.now()
        answer = lived.back(at)
        assert lived.now() == lived.rows[at]
        assert (answer.ok, answer.at) == (True, at)
        assert answer.restored.set == sorted(
            key for key, value in lived.rows[at].items() if before.get(key) != value
        )
        assert answer.restored.deleted == sorted(before.keys() - lived.rows[at].keys())
        record = body_of(lived, answer.seq)
        assert (record.at, record.prefix, record.reason) == (at, "", "as it was")


def test_with_a_prefix_only_these_keys_come_back(lived):
    before = lived.now()
    lived.back(3, prefix="a/")
    expected = {key: value for key, value in before.items() if not key.startswith("a/")}
    assert lived.now() == expected | {"a/1": b"1", "a/2": b"2"}
    assert lived.back(3, prefix="nothing").restored == answers.RolledBack(set=[], deleted=[])


def test_a_dry_run_says_what_would_be_written_and_records_nothing(lived):
    before, records = lived.now(), lived.host.world(lived.world).records
    told = lived.back(4, dry_run=True)
    assert told == answers.Restored(
        ok=True, at=4, restored=answers.RolledBack(set=["a/1", "b"], deleted=["a/3", "\ud800"])
    )
    assert (lived.now(), lived.host.world(lived.world).records) == (before, records)
    assert lived.back(4).restored == told.restored


def test_what_is_as_it_was_is_recorded_with_nothing_written(lived):
    at = lived.host.world(lived.world).records - 1
    answer = lived.back(at)
    assert answer.restored == answers.RolledBack(set=[], deleted=[])
    assert body_of(lived, answer.seq).writes == []


def test_under_one_request_id_data_come_back_once(lived):
    first = lived.back(3, request_id="r")
    lived.do(hub.EditData("later", b"1", "after"))
    assert lived.back(3, request_id="r") == first
    assert lived.now()["later"] == b"1"
    for other in ({"at": 4}, {"at": 3, "prefix": "a"}, {"at": 3, "reason": "another"}):
        assert lived.back(**other, request_id="r").refused == "request-conflict"
    lived.reopen("restore, later")
    assert lived.back(3, request_id="r") == first


def test_a_restore_is_a_moment_like_any_other_over_three_cycles_with_restarts():
    lived = Lived("cycles")
    for cycle in range(3):
        answer = lived.back(2 + cycle, reason=f"cycle {cycle}")
        lived.note()
        assert lived.rows[answer.seq] == lived.rows[2 + cycle]
        lived.reopen(f"cycles {cycle}")
        assert lived.now() == lived.rows[answer.seq]
        lived.do(hub.Call("add", b'["a/1"]'))
        for at, rows in lived.rows.items():
            past = lived.host.past(lived.world, at)
            page = past.data(lived.world, prefix="", after=None, limit=1000)
            assert {row.key: bytes(row.value) for row in page.items} == rows
    lived.host.perform(lived.world, hub.Checkpoint())
    lived.host.shut_down()
    assert verify(lived.disk, SimEntropy("verify")) == []


def test_a_call_that_read_what_came_back_meanwhile_runs_again(lived):
    host, heard = lived.host, []
    ask = {"actor": "operator", "request_id": None}
    lived.do(hub.EditData("a/1", b"100", "high"))
    for n in range(60):
        host.submit(lived.world, hub.Call("add", b'["a/1"]'), done=heard.append, **ask)
        if n % 20 == 10:
            host.restore_data(
                lived.world, 3, prefix="", reason="back", dry_run=False, done=heard.append, **ask
            )
        host.shell.step()
    host.settle()
    assert len(heard) == 63
    bodies = [body_of(lived, seq) for seq in range(lived.host.world(lived.world).records)]
    value = None
    for body in bodies:
        if isinstance(body, kinds.Call) and body.function == "add":
            assert int(body.value) == int(value or b"0") + 1, "each call saw all that came before it"
        for write in kinds.writes_of(body):
            if write.key == "a/1":
                value = write.value
    assert any(isinstance(body, kinds.Call) and body.reruns for body in bodies)
    assert sum(isinstance(body, kinds.DataRestored) for body in bodies) == 3


def test_more_than_one_record_holds_is_refused_with_the_way_out(lived):
    value = b'"' + b"x" * (limits.DATA_VALUE_BYTES_MAX - 2) + b'"'
    count = limits.DATA_WRITES_BYTES_MAX // limits.DATA_VALUE_BYTES_MAX + 1
    for n in range(count):
        lived.do(hub.EditData(f"big/{n:03}", value, "big"))
    full = lived.host.world(lived.world).records - 1
    assert lived.back(full - count).ok, "deleting takes little room"
    for dry_run in (True, False):
        refused = lived.back(full, dry_run=dry_run)
        assert (refused.refused, refused.hint) == (
            "size",
            "give a prefix, and bring the data back part by part",
        )
    assert not lived.now().keys() & {"big/000"}
    for tens in range(count // 10 + 1):
        assert lived.back(full, prefix=f"big/0{tens}").ok
    assert lived.now().keys() >= {f"big/{n:03}" for n in range(count)}


def test_what_cannot_be_brought_back_is_refused_and_nothing_is_recorded(lived):
    last = lived.host.world(lived.world).records - 1
    for at in (-1, last + 1, 10**30):
        assert isinstance(lived.back(at), NotThere)
    assert lived.back(1, reason=" ").refused == "bad-reason"
    assert lived.host.world(lived.world).records - 1 == last
    lived.do(hub.Describe(archived=True))
    assert lived.back(1).refused == "archived"
    lived.do(hub.Describe(archived=False))
    lived.do(hub.Describe(frozen=True))
    assert lived.back(1).ok, "data of a frozen world go on"
    lived.host.perform(lived.world, hub.Purge("asked"))
    assert isinstance(lived.back(1), Gone)


def test_a_crash_at_any_moment_leaves_a_restore_done_or_undone():
    outcomes = set()
    for steps in range(14):
        lived = Lived("crash")
        before, heard = lived.now(), []
        lived.host.restore_data(
            lived.world,
            3,
            prefix="",
            reason="back",
            dry_run=False,
            actor="operator",
            request_id="r",
            done=heard.append,
        )
        for _ in range(steps):
            lived.host.shell.step()
        lived.host.kill()
        lived.disk = lived.disk.after_power_loss()
        lived.host = simulated("after the crash", disk=lived.disk)
        assert lived.now() in (before, lived.rows[3])
        if heard:
            assert lived.now() == lived.rows[3], "what was answered is durable"
        outcomes.add(lived.now() == before)
        again = lived.back(3, reason="back", request_id="r")
        if again.ok:
            assert lived.now() == lived.rows[3]
        else:
            assert again.failure == "interrupted"
    assert outcomes == {True, False}
