"""Any history of appends, seals, erasures, kills, power losses and failed syncs, against the log in memory."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from log_lives import Worlds, batches_of, open_log

from engine.io.crash_images import CRASH_KINDS
from engine.io.log import LogFailed, WrongSequence
from engine.io.mem_log import MemLog
from engine.io.sim_disk import SimDisk

world_names = st.sampled_from(["a", "b", "c"])
bodies = st.one_of(st.binary(max_size=50), st.integers(1, 9000).map(lambda size: bytes([size % 251]) * size))


class LogMachine(RuleBasedStateMachine):
    """The log on a simulated disk is what the one in memory is, as far as acknowledged; always."""

    @initialize(segment_sectors=st.integers(2, 9))
    def start(self, segment_sectors):
        self.segment_sectors = segment_sectors
        self.disk = SimDisk(seed=segment_sectors)
        self.model = MemLog()
        self.refused = []
        self.openings = 0
        self.open()

    def open(self):
        self.openings += 1
        self.log = open_log(self.disk, seed=self.openings, segment_sectors=self.segment_sectors)
        for _, placed in self.log.scan(self.model.head().batch):
            entries = [entry for _, entry in placed]
            assert entries == self.refused, "only the append that failed last may turn out to have worked"
            self.model.append(entries)
        self.refused = []

    @rule(items=st.lists(st.tuples(world_names, bodies), min_size=1, max_size=5))
    def append(self, items):
        worlds = Worlds.of(self.model)
        batch = [worlds.entry(world, body) for world, body in items]
        if self.log.failure:
            with pytest.raises(LogFailed):
                self.log.append(batch)
            return
        self.log.append(batch)
        self.model.append(batch)
        self.refused = []

    @rule(items=st.lists(st.tuples(world_names, bodies), min_size=1, max_size=3), times=st.integers(1, 3))
    @precondition(lambda self: not self.log.failure)
    def append_while_syncs_fail(self, items, times):
        worlds = Worlds.of(self.model)
        batch = [worlds.entry(world, body) for world, body in items]
        self.disk.fail_sync(self.disk.syncs + 1, times=times, pages="kept" if times % 2 else "dropped")
        try:
            self.log.append(batch)
            self.model.append(batch)
        except LogFailed:
            self.refused = batch if self.log.failure else []
        self.disk.heal()

    @rule()
    def resume(self):
        self.log.resume()
        self.refused = []

    @rule(world=world_names, by=st.sampled_from([-1, 1, 2]))
    @precondition(lambda self: not self.log.failure)
    def append_out_of_turn(self, world, by):
        entry = Worlds.of(self.model).entry(world)
        if entry.seq + by < 0:
            return
        for log in (self.log, self.model):
            with pytest.raises(WrongSequence) as refused:
                log.append([entry._replace(seq=entry.seq + by)])
            assert (refused.value.world, refused.value.expected) == (world, entry.seq)

    @rule()
    @precondition(lambda self: not self.log.failure)
    def seal(self):
        self.log.seal()
        self.model.seal()

    @rule(world=world_names, before=st.integers(0, 10))
    @precondition(lambda self: not self.log.failure)
    def erase(self, world, before):
        self.seal()
        erased = [
            log.erase_bodies(lambda e: e.world == world and e.seq < before) for log in (self.log, self.model)
        ]
        assert erased[0] == erased[1]

    @rule()
    def reopen(self):
        self.log.close()
        self.open()

    @rule()
    def kill(self):
        self.disk.kill()
        self.open()

    @rule(kind=st.sampled_from(CRASH_KINDS), seed=st.integers(0, 99))
    def lose_power(self, kind, seed):
        self.disk = self.disk.after_power_loss(kind, seed=seed)
        self.open()

    @invariant()
    def they_agree(self):
        assert self.log.head() == self.model.head()
        assert batches_of(self.log) == batches_of(self.model)
        for world in ("a", "b", "c"):
            assert self.log.last(world) == self.model.last(world)
            middle = (self.log.last(world) or (0, ""))[0] // 2
            mine = [entry for _, entry in self.log.read(world, middle)]
            assert mine == [entry for _, entry in self.model.read(world, middle)]
        assert self.log.verify() == []


LogMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25)
TestLogMachine = LogMachine.TestCase


@pytest.mark.soak
class TestLogMachineAtLength(LogMachine.TestCase):
    settings = settings(max_examples=1500, stateful_step_count=60)
