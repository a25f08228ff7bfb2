"""A whole simulated host in any order: real log, blobs, projection and VM, and a chooser instead of time.

What is pending (jobs, the log's next batch, upkeep, timers) and what clients have not asked yet are the choices; so is
the end of the process, between two events or inside a batch. All happens in one flick, unless a timer is chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.clock.clock import SimClock
from engine.host import CannotOpen, SimulatedHost, answers, simulated
from engine.host.machine import machine
from engine.host.recovery import HOST
from engine.host.replaying import Replayed, replay
from engine.host.shell import SimShell
from engine.hub import messages as hub
from engine.io.sim_disk import PowerLost, SimDisk
from engine.io.sim_entropy import SimEntropy
from engine.record.kinds import Body, Header
from engine.record.records import decode
from engine.record.verify import verify
from faults.orders.branching import Choice
from faults.orders.fingerprints import world_key
from faults.orders.telling import of_record

IN_THE_WRITE = (1, 2, 3)
"""After so many disk operations of a batch the process may end."""


class Ask(NamedTuple):
    """What one client asks, once. `name` is its letter; `do` asks it and lets its answer be heard."""

    name: str
    what: str
    do: Callable[[Place, Callable[[Any], None]], None]


class Base(NamedTuple):
    """What a scenario begins with: a disk as a server left it, the ids of its worlds, and what else it needs."""

    disk: SimDisk
    worlds: dict[str, str]
    kept: dict[str, Any]


class Pending(NamedTuple):
    """One event: on which lane, and whose it is."""

    event: tuple
    lane: str
    who: str


class ChoosingShell(SimShell):
    """Knows what every pending event is, so that any that may be next can be."""

    def __init__(self, clock: SimClock) -> None:
        super().__init__(clock, lambda lane: 0)
        self.who = ""  # whose the next job is
        self._lane = "soon"
        self._lanes: dict[int, tuple[str, str]] = {}

    def work(self, lane: str, job: Callable[[], Any], done: Callable[[Any], None], world: str = "") -> None:
        self._lane = lane
        super().work(lane, job, done, world)

    def at(self, monotonic_flicks: int, fire: Callable[[], None]) -> Callable[[], None]:
        self._lane = "time"
        return super().at(monotonic_flicks, fire)

    def soon(self, callback: Callable[[], None]) -> None:
        self._lane = "soon"
        super().soon(callback)

    def pending(self) -> list[Pending]:
        """What may be next: any job, and the first of each lane and of the timers."""
        found: list[Pending] = []
        begun: list[str] = []
        for event in self._events:
            lane, who = self._lanes[event[1]]
            if lane == "vm" or lane not in begun:
                found.append(Pending(event, lane, who))
                begun.append(lane)
        return found

    def happen(self, event: tuple) -> None:
        self._events.remove(event)
        at_flicks, number, fire = event
        if self._lanes[number][0] == "time":
            self.clock.advance_to(max(at_flicks, self.clock.monotonic_flicks()))
        fire()

    def _push(self, at_flicks: int, fire: Callable[[], None]) -> tuple:
        event = super()._push(at_flicks, fire)
        self._lanes[event[1]] = self._lane, self.who
        return event


@dataclass
class Place:
    """One life of a host. `answers` has what each client heard; `cut` are those that the process's end cut off."""

    base: Callable[[], Base]
    to_come: tuple[Ask, ...]
    kills_left: int = 0
    powers_left: int = 0
    timers_left: int = 0
    answers: dict[str, Any] = field(default_factory=dict)
    arrived: dict[str, Ask] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    openings: int = 0
    listed: list[str] = field(default_factory=list)
    """The worlds that the server shows at the end."""
    disk: SimDisk = field(init=False)
    worlds: dict[str, str] = field(init=False)
    kept: dict[str, Any] = field(init=False)
    clock: SimClock = field(default_factory=SimClock)
    shell: ChoosingShell = field(init=False)
    host: SimulatedHost | None = None

    def __post_init__(self) -> None:
        self._asked = self.to_come, self.kills_left, self.powers_left, self.timers_left
        base = self.base()
        self.worlds, self.kept = base.worlds, base.kept
        self.disk = SimDisk(seed=1, media=base.disk.media.copy())
        self.open()

    # ---- choices

    def choices(self) -> list[Choice]:
        if self.host is None:
            return [Choice("open")]
        found = [Choice("arrive", ord(ask.name)) for ask in self.to_come]
        pending = self.shell.pending()
        timers = [each for each in pending if each.lane == "time"]
        others = [each for each in pending if each.lane != "time"]
        found += [Choice("event", each.event[1]) for each in others]
        if timers and (self.timers_left or not found):
            found.append(Choice("time"))
        if self.arrived:
            for kind, left in (("kill", self.kills_left), ("power", self.powers_left)):
                if left:
                    found.append(Choice(kind))
                    if any(each.lane == "log" for each in others):
                        found += [Choice(kind, 0, ops) for ops in IN_THE_WRITE]
        return found

    def happen(self, choice: Choice) -> None:
        kind, number, more = choice
        if kind == "open":
            self.open()
        elif kind == "arrive":
            self._arrive(chr(number))
        elif kind in ("kill", "power"):
            self._end(kind, more)
        else:
            if kind == "time":
                self.timers_left -= 1
            self.shell.happen(self._pending(choice).event)

    def label(self, choice: Choice) -> str:
        kind, number, more = choice
        if kind == "arrive":
            return f"arrive {chr(number)}"
        if kind != "event":
            return f"{kind} in the write {more}" if more else kind
        chosen = self._pending(choice)
        alike = [each for each in self.shell.pending() if each[1:] == chosen[1:]]
        nth = alike.index(chosen) + 1
        name = {"vm": f"end {self.name_of(chosen.who)}", "log": "durable"}.get(chosen.lane, chosen.lane)
        return f"{name} ({nth})" if nth > 1 else name

    def rest(self) -> Choice | None:
        """The log first, then jobs in the order in which they began; timers when nothing else is left."""
        if self.host is None:
            return Choice("open")
        pending = self.shell.pending()
        for lane in ("log", "vm", "upkeep", "soon"):
            for each in pending:
                if each.lane == lane:
                    return Choice("event", each.event[1])
        return Choice("time") if pending else None

    def name_of(self, actor: str) -> str:
        """Clients by their letter, worlds by their name."""
        names = {f"world:{id}": f"what {name} asked" for name, id in self.worlds.items()}
        return names.get(actor, actor or "the host")

    def _pending(self, choice: Choice) -> Pending:
        if choice.kind == "time":
            return next(each for each in self.shell.pending() if each.lane == "time")
        return next(each for each in self.shell.pending() if each.event[1] == choice.op)

    def _arrive(self, name: str) -> None:
        ask = next(ask for ask in self.to_come if ask.name == name)
        self.to_come = tuple([other for other in self.to_come if other is not ask])
        self.arrived[name] = ask
        self.shell.who = name
        opening = self.openings

        def hear(answer: Any) -> None:
            assert name not in self.answers and opening == self.openings, (
                f"{name} hears one answer, while it waits"
            )
            self.answers[name] = answer

        ask.do(self, hear)

    # ---- the process

    def open(self) -> None:
        """A process begins. Raises CannotOpen."""
        self.openings += 1
        self.said.append("the server opens")
        self.shell = ChoosingShell(self.clock)
        self.shell.who = "recovery"
        self.host = simulated(
            f"process {self.openings}", disk=self.disk, shell=self.shell, watch=_Watch(self)
        )

    def open_another(self) -> str:
        """Try to open the directory a second time: why it cannot be; empty where it could. Changes nothing."""
        ops = self.disk.ops
        try:
            simulated("another", disk=self.disk, shell=ChoosingShell(self.clock))
        except CannotOpen as refused:
            assert self.disk.ops == ops, "who may not open writes nothing"
            return str(refused)
        return ""

    def _end(self, kind: str, ops: int) -> None:
        """The process is killed, or power is lost, now or after so many disk operations of the next batch."""
        assert self.host is not None
        if kind == "kill":
            self.kills_left -= 1
        else:
            self.powers_left -= 1
        if ops:
            self.disk.crash_at(self.disk.ops + ops)
            batch = next(each for each in self.shell.pending() if each.lane == "log")
            try:
                self.shell.happen(batch.event)
            except PowerLost:
                pass
        self.said.append("the process is killed" if kind == "kill" else "power is lost")
        self.shell.close()
        self.host = None
        self.disk = _after(self.disk, kind, ops)
        self.cut += [name for name in self.arrived if name not in self.answers and name not in self.cut]

    # ---- what explorers do with it

    def alone(self) -> Place:
        """The life from its beginning: what has happened cannot be copied, only happen again."""
        to_come, kills, powers, timers = self._asked
        return Place(self.base, to_come, kills, powers, timers)

    fork = alone

    def key(self) -> tuple:
        """Equal for lives that go on alike. What is on the disk counts as soon as a process has ended on it."""
        if self.host is None:
            return "ended", self.disk.ops, self.openings
        runtimes = sorted(self.host.runtimes.opened(), key=lambda runtime: runtime.id)
        return (
            self.host.parts.log.head(),
            tuple([(runtime.id, world_key(runtime.hub)) for runtime in runtimes]),
            tuple([(each.lane, each.who) for each in self.shell.pending()]),
            tuple([ask.name for ask in self.to_come]),
            tuple(sorted(self.answers)),
            (self.kills_left, self.powers_left, self.timers_left, self.openings),
            self.disk.ops if self.openings > 1 else 0,
        )

    def come_to_rest(self) -> None:
        """Everything ends, everybody is answered whom no end of a process cut off, and the server stops cleanly."""
        for _ in range(10_000):
            choice = self.rest()
            if choice is None:
                break
            self.happen(choice)
        assert self.host is not None and self.host.is_idle(), "Invariant 16: everything ends"
        waiting = [name for name in self.arrived if name not in self.answers and name not in self.cut]
        assert waiting == [], "Invariant 16: everybody is answered"

    def records(self, world: str) -> list[tuple[Header, Body | None]]:
        """What the log says of a world, oldest first."""
        assert self.host is not None
        return [decode(entry) for _, entry in self.host.parts.log.read(self.worlds[world])]

    def value_of(self, name: str) -> Any:
        """What a client's call came to; None where it has no value."""
        return getattr(self.answers.get(name), "value", None)

    def refusal_of(self, name: str) -> str:
        answer = self.answers.get(name)
        return answer.refused if isinstance(answer, answers.Refused) else ""

    def check_promises(self) -> None:
        """All worlds can be lived again, and the directory verifies (Invariants 2, 6, 7, 9, 13, 20)."""
        assert self.host is not None
        self.listed = [summary.id for summary in self.host.worlds(archived=True)]
        for world in self.host.parts.log.worlds():
            if world in self.listed:
                again = replayed(self, world)
                assert again.divergence is None, f"Invariant 13: {again.divergence}"
        self.host.shut_down()
        problems = verify(self.disk, SimEntropy("verify"))
        assert problems == [], problems


def replayed(place: Place, world: str) -> Replayed:
    """The records of a world, by its id, lived again."""
    assert place.host is not None
    return replay(place.host.parts.log, place.host.parts.blobs, world, machine("auto"))


class _Watch:
    """Says what the hubs decide, and whose the jobs are."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def before(self, world: str, effect: hub.Effect, actor: str) -> None:
        place = self._place
        match effect:
            case hub.RunJob():
                name = place.name_of(actor)
                place.shell.who = actor
                going = (
                    "goes on" if effect.resume is not None else "begins again" if effect.rerun else "begins"
                )
                place.said.append(f"{name} {going}")
            case hub.AskPeer():
                place.said.append(f"{place.name_of(actor)} asks {place.name_of('world:' + effect.ask.world)}")
            case hub.Append():
                for draft in effect.drafts:
                    cut_off = draft.kind == "interrupted"
                    name = "what was cut off" if cut_off else place.name_of(draft.actor)
                    place.said.append(of_record(name, draft))
            case hub.Answer(refusal=refusal) if actor != HOST:
                name = place.name_of(actor)
                said = "is answered" if refusal is None else f"is refused: {refusal.code}"
                place.said.append(f"{name} {said}")

    def after(self, world: str, effect: hub.Effect, actor: str) -> None:
        pass


def _after(dead: SimDisk, kind: str, ops: int) -> SimDisk:
    """What the next process finds. Whatever of the dead one is still in memory reaches it no more, by no path."""
    dead.kill()
    if kind == "power":
        disk = dead.after_power_loss("torn", seed=ops)
    else:
        disk = SimDisk(seed=dead.seed, media=dead.media)
        disk.trace, disk.syncs = dead.trace, dead.syncs
    dead.crash_now()
    return disk
