"""Lives a life: one step after the other on the real host, through every death of it, judged as it goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine import limits
from engine.clock.clock import SimClock
from engine.host import CannotOpen, SimulatedHost, simulated
from engine.host.machine import machine
from engine.io.disk import Disk
from engine.io.sim_disk import PowerLost
from engine.io.sim_entropy import SimEntropy
from engine.limits import FLICKS_PER_SECOND
from engine.record.verify import verify
from faults import steps
from faults.asking import Book
from faults.checking import TOLD, Judge
from faults.clients import Clients, Counts
from faults.history import History
from faults.ports import Killed, LifeDisk, LifeShell, LifeWatch, Trace
from faults.steps import Life

REST_FLICKS_MAX = 400 * FLICKS_PER_SECOND
"""Longer than any operation may take: a path of worlds that each wait 30 seconds, and slow lanes."""
EVENTS_MAX = 60_000
_SLACK_FLICKS = 12 * 3600 * FLICKS_PER_SECOND  # what else moves the wall clock against that of a request


class Ended(Exception):
    """The life ends here, rightly: its damage was told."""


class Driver(Clients):
    """`place` for actions, `live` for everything else. `host` is the process that lives now."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.judge = Judge()
        self.trace = Trace()
        self.counts = Counts()
        self.clock = SimClock()
        self.history = History(self.judge)
        self.book = Book(self.judge, self.history)
        self.ids: dict[int, str] = {}
        self.slow: dict[tuple[str, str], int] = {}
        self.backups: dict[str, Disk] = {}
        self.marks: dict[str, tuple[int, str]] = {}
        """By world: the last record, and its hash, when somebody was answered."""
        self.backup_marks: dict[str, dict[str, tuple[int, str]]] = {}
        self.jumped_flicks = 0
        self.lies = self.fails = self.damaged = False
        self._watch = LifeWatch(self.trace, lambda world, actor, *drawn: self.book.begun(actor, *drawn))
        self._entropy = SimEntropy(f"life {life.options.seed}").fork("lived")
        self._power: steps.PowerLoss | None = None
        self._began_flicks = self.clock.monotonic_flicks()
        self.disk = self._new_disk()
        self.host = self._opened()

    # ---- time and death

    def alive(self, happen: Callable[[], Any]) -> bool:
        """Let something happen; False where the process died of it."""
        try:
            happen()
            return True
        except Killed:
            self._killed()
        except PowerLost:
            if self._power is not None:
                self._lose_power(self._power)
            else:
                self._killed()
        except TOLD as error:
            if not self.damaged:
                raise
            raise Ended(f"told: {error}") from error
        return False

    def run_for(self, flicks: int) -> None:
        self.alive(lambda: self.host.shell.run_for(flicks))

    def rest(self) -> None:
        """Until everybody is answered and everything is written; whatever dies on the way is opened again."""
        while not self.alive(self._rest):
            pass

    def _rest(self) -> None:
        end_flicks = self.clock.monotonic_flicks() + REST_FLICKS_MAX
        shell, events = self.host.shell, 0
        while not self.is_at_rest():
            events += 1
            waiting = ", ".join(asked.said for asked in self.book.waiting()) or "the host itself"
            late = self.clock.monotonic_flicks() > end_flicks or events > EVENTS_MAX or not shell.step()
            self.judge.require(16, not late, f"after {events} events nothing will ever answer: {waiting}")

    def is_at_rest(self) -> bool:
        return not self.book.waiting() and self.host.is_idle()

    def finish(self, ask: Callable[[Callable[[Any], None]], None]) -> Any:
        """Ask the host and let things happen until it answers; None where it died first."""
        heard: list[Any] = []

        def until() -> None:
            ask(heard.append)
            events = 0
            while not heard:
                events += 1
                done = self.host.shell.step() and events < EVENTS_MAX
                self.judge.require(16, done, "the server's own work never ends")

        return heard[0] if self.alive(until) else None

    def stop_by_kill(self) -> None:
        """The process is killed now, and nobody starts the next one: `open_again` does."""
        self._process_ended(killed=True)
        self.sever()

    def open_again(self) -> SimulatedHost:
        return self._opened()

    def open_unjudged(self) -> SimulatedHost:
        """Raises CannotOpen."""
        return self._open(judged=False)

    def _killed(self) -> None:
        self._process_ended(killed=True)
        self.sever()
        self.host = self._opened()

    def _lose_power(self, power: steps.PowerLoss) -> None:
        self._power = None
        self._process_ended(killed=False)
        self._cut(power.kind)
        self.host = self._opened(power)

    def _cut(self, kind: Any) -> None:
        """The disk as it is when power comes back."""
        after = self.disk.after_power_loss(kind, seed=f"{self.life.options.seed} {self.counts.deaths}")
        self.disk = self._new_disk(after)

    def _process_ended(self, *, killed: bool) -> None:
        self.counts.deaths += 1
        self.counts.note("killed" if killed else "lost power")
        self.trace.add("killed" if killed else "power lost")
        self.host.shell.close()
        self.book.process_ended(killed=killed)
        if self.lies and not killed:
            self.judge.suspend("a lie")

    def sever(self) -> None:
        """The process has ended: whatever of it is still in memory reaches the disk no more, by no path."""
        dead = self.disk
        dead.kill()
        self.disk = self._new_disk(dead)
        self.disk.take_over(dead)

    def _new_disk(self, after: Any = None) -> LifeDisk:
        seed = f"{self.life.options.seed} {self.counts.deaths}"
        media = after.media if after is not None else None
        disk = LifeDisk(self.judge, self.trace, self.book.storage_failed, seed=seed, media=media)
        if after is not None:
            disk.faults.rot = dict(after.faults.rot)
        return disk

    # ---- orders to fail

    def order_power_loss(self, step: steps.PowerLoss) -> None:
        self._power = step
        if step.of == "disk operations":
            self.disk.crash_at(self.disk.ops + step.after_ops)
        else:
            self.disk.crash_in_batch(step.after_ops)

    def order_kill(self, step: steps.Kill) -> None:
        if step.what == "effects":
            self._watch.kill_at = self._watch.count + step.after
        elif step.what == "events":
            shell = self.host.shell
            assert isinstance(shell, LifeShell)
            shell.kill_at = shell.count + step.after
        else:
            self._power = None
            self.disk.crash_at(self.disk.ops + step.after)

    def order_misdirection(self, step: steps.Misdirect) -> None:
        self.note_damage()
        self.judge.suspend("a stray write")
        self.disk.misdirect_write(self.disk.ops + step.after_ops, shift_sectors=step.shift_sectors)

    def note_damage(self) -> None:
        """From here on the disk may hold what nobody wrote there, or lack what somebody did."""
        self.damaged = True
        self.judge.suspend("damage")

    def expect_dropped_lies(self) -> None:
        """What a sync lied about is gone while the process lives, if another of the file fails and drops its pages."""
        if self.lies and self.fails:
            self.note_damage()

    def jump(self, gain_flicks: int) -> None:
        """The wall clock jumps; past the time that request ids are kept, they are."""
        self.clock.jump(gain_flicks)
        self.jumped_flicks += gain_flicks
        if abs(self.jumped_flicks) > limits.REQUEST_ID_KEPT_FLICKS - _SLACK_FLICKS:
            self.judge.suspend("expiry")

    def heal(self) -> None:
        self.disk.heal()
        self.slow.clear()
        self._power = None
        self._watch.kill_at = None
        if isinstance(self.host.shell, LifeShell):
            self.host.shell.kill_at = None

    # ---- opening

    def restart(self, while_stopped: Callable[[], None] = lambda: None) -> None:
        """Stopped and started; whatever the disk refuses at its end."""
        if self.finish(lambda done: self.host.drain(lambda: done(True))):
            self.trace.add("stopped")
            self.book.process_ended(killed=True)  # what was not admitted yet: its client asks the next one
            self.host.shell.close()
            self.host.parts.close()
            while_stopped()
            self.sever()
            self.host = self._opened()

    def end(self) -> None:
        """Let go of the last process, and count."""
        self.host.kill()
        self.counts.records = sum(len(records) for records in self.history.worlds.values())
        self.counts.simulated_flicks = self.clock.monotonic_flicks() - self._began_flicks

    def _opened(self, power: steps.PowerLoss | None = None) -> SimulatedHost:
        """The next process, opened and judged. Power is lost again in the openings that the step says."""
        hits = list(power.opening) if power is not None else []
        self._watch.kill_at = None
        while True:
            if hits:
                self.disk.crash_at(self.disk.ops + hits.pop(0))
            try:
                if self.damaged:
                    self._tell_damage()
                host = self._open()
            except PowerLost:
                self.counts.deaths += 1
                self.book.process_ended(killed=power is None)
                if power is None:
                    self.counts.note("killed while opening")
                    self.sever()
                else:
                    self.counts.note("lost power while opening")
                    self._cut(power.kind)
                continue
            except CannotOpen as refused:
                self._refused(refused)
                continue
            self.disk.faults.crash_op = None
            self.counts.openings += 1
            self.counts.note("opened")
            return host

    def _refused(self, refused: CannotOpen) -> None:
        """It must say why; with the disk mended it must open, unless what it lost cannot be mended."""
        self.counts.refused_openings += 1
        self.counts.note("refused to open")
        self.trace.add(f"refused: {refused}")
        self.judge.require(16, len(str(refused)) > 20, "an opening was refused without a reason")
        if self.damaged or not self.judge.stands(1):
            raise Ended(f"refused: {refused}")
        faults = self.disk.faults
        troubled = faults.failing_syncs or faults.full_ops or faults.rot or faults.lying_syncs
        self.judge.require(1, bool(troubled), f"a sound disk cannot be opened: {refused}")
        self.sever()
        self.disk.heal()

    def _tell_damage(self) -> None:
        """What a misdirected write or a lie has cost must be told by verifying. Where nothing is, nothing was lost."""
        self.judge.resume("damage")
        problems = verify(self.disk, SimEntropy("damage"))
        if problems:
            raise Ended(f"told: {problems[0]}")

    def _open(self, *, judged: bool = True) -> SimulatedHost:
        options = self.life.options
        name = f"life {options.seed} process {self.counts.openings} {self.counts.deaths}"
        latency = SimEntropy(name).fork("latency")
        shell = LifeShell(self.clock, latency, options.latency_flicks_max, self.slow, self.trace)
        host = simulated(
            name,
            disk=self.disk,
            with_machine=machine(),
            segment_bytes_max=options.segment_bytes_max,
            shell=shell,
            watch=self._watch,
        )
        host.disks.update(self.backups)
        self.backups = host.disks
        if not judged:
            return host
        self._judge_opened(host)
        if options.keeps_up:
            host.keep_up()
        return host

    def _judge_opened(self, host: SimulatedHost) -> None:
        """Everything that was acknowledged is there (1, 6, 16, 17)."""
        log = host.parts.log
        self.book.opened()
        if not self.judge.stands(1):
            self._take_what_is_left(host)
        for world, (seq, _) in self.marks.items():
            last = log.last(world)
            self.judge.require(1, last is not None, f"world {world} was acknowledged and is gone")
            assert last is not None
            self.judge.require(1, last[0] >= seq, f"world {world} ends at {last[0]}; {seq} was acknowledged")
        self.history.catch_up(log)
        for world, (seq, hash) in self.marks.items():
            records = self.history.worlds[world]
            self.judge.require(1, records[seq].hash == hash, f"world {world}: record {seq} is another now")
        self._find_worlds(host)
        self.book.check(at_rest=False, gone=self.purged())

    def _take_what_is_left(self, host: SimulatedHost) -> None:
        """After a lie: what opens is believed from here on, and must be whole."""
        self.judge.resume("a lie")
        self.lies = False
        self.note_damage()
        self.history = History(self.judge)
        self.book.forgive(self.history)
        self.marks.clear()
        self.ids.clear()

    def _find_worlds(self, host: SimulatedHost) -> None:
        """Who was created, where nobody lived to hear of it."""
        for world in host.parts.log.worlds():
            genesis = self.history.genesis_of(world)
            if genesis is not None and genesis.name in steps.WORLD_NAMES:
                self.ids.setdefault(steps.WORLD_NAMES.index(genesis.name), world)

    def purged(self) -> set[str]:
        return {world for world, record in self.history.all() if record.header.kind == "purge"}
