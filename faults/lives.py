"""Live a seed: draw its life, live it under faults, then let everything heal, and judge what is left."""

from __future__ import annotations

import traceback
from collections.abc import Callable

from engine.host import answers
from engine.host.shell import deep_thread
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk
from engine.io.sim_entropy import SimEntropy
from engine.record.verify import verify
from faults import steps
from faults.asking import Asked
from faults.checking import FAULT_OF_OURS, Broken
from faults.driver import Counts, Driver, Ended
from faults.moving import move
from faults.options import draw_options
from faults.reckoning import reckon
from faults.rotting import rot
from faults.standby import open_backup
from faults.steps import Life
from faults.workload import draw_life

_LAST_N = 1_000_000
"""Operations of the end of a life are numbered from here, apart from all that were drawn."""


class Lived:
    """How a life went: its trace (and hash), what it came to, and how it ended (empty: to its end)."""

    def __init__(self, driver: Driver, ended: str) -> None:
        self.life = driver.life
        self.lines = driver.trace.lines
        self.trace_hash = driver.trace.hash()
        self.counts: Counts = driver.counts
        self.ended = ended


def life_of(seed: int | str, *, ops: int | None = None) -> Life:
    """The life that a seed draws."""
    return draw_life(draw_options(seed, ops))


def live(seed: int | str, *, ops: int | None = None) -> Lived:
    """Live a seed once. Raises Broken."""
    return live_life(life_of(seed, ops=ops))


def live_life(life: Life, *, heard: Callable[[str], None] = lambda line: None) -> Lived:
    """Live these steps; `heard` is told each as it begins. Raises Broken."""
    return deep_thread().run(lambda: _live(life, heard))


def _live(life: Life, heard: Callable[[str], None]) -> Lived:
    driver = None
    try:
        driver = Driver(life)
        ended = ""
        try:
            for number, step in enumerate(life.steps, 1):
                driver.judge.step = number
                heard(f"{number}. {step}")
                take(driver, step)
            driver.judge.step = 0
            _heal_and_end(driver)
        except Ended as told:
            ended = str(told)
        return Lived(driver, ended)
    except Broken:
        raise
    except Exception as error:
        at = driver.judge.step if driver is not None else 0
        said = "".join(traceback.format_exception(error)[-14:])
        raise Broken(FAULT_OF_OURS, f"{type(error).__name__}: {error}\n{said}", at) from error


def take(driver: Driver, step: steps.Step) -> None:
    """Live one step."""
    driver.trace.add(str(step))
    match step:
        case steps.Ask():
            driver.alive(lambda: driver.ask(step))
        case steps.Again():
            driver.alive(lambda: driver.ask_again(step))
        case steps.Pass():
            driver.run_for(step.flicks) if step.flicks else rest(driver)
        case steps.Serve():
            _SERVES[step.what](driver)
        case steps.PowerLoss():
            driver.order_power_loss(step)
        case steps.Kill():
            driver.order_kill(step)
        case steps.ClockJump():
            driver.jump(step.gain_flicks)
        case steps.ClockDrift():
            driver.clock.drift(step.ppm)
        case steps.SyncsFail():
            driver.fails = True
            driver.expect_dropped_lies()
            driver.disk.fail_sync(driver.disk.syncs + step.after, pages=step.pages, times=step.times)
        case steps.SyncsLie():
            driver.lies = True
            driver.expect_dropped_lies()
            driver.disk.lie_on_sync(driver.disk.syncs + step.after, times=step.times)
        case steps.DiskFills():
            driver.disk.fill_up_at(driver.disk.ops + step.after_ops, times=step.times)
        case steps.Misdirect():
            driver.order_misdirection(step)
        case steps.Rot():
            rot(driver, step)
        case steps.Slow():
            driver.slow[step.lane, driver.ids.get(step.world, "") if step.lane == "vm" else ""] = (
                step.more_flicks
            )
        case steps.Heal():
            driver.heal()
    if isinstance(step, steps.Ask | steps.Again) and step.after_flicks:
        driver.run_for(step.after_flicks)


# ---- what the operator does


def rest(driver: Driver) -> None:
    """Everything is answered and written; then the log is compared with what was heard."""
    driver.rest()
    driver.alive(lambda: check_now(driver))


def check_now(driver: Driver, *, healed: bool = False) -> None:
    """The log as it is against all that was heard."""
    driver.history.catch_up(driver.host.parts.log)
    driver.book.check(at_rest=driver.is_at_rest(), gone=driver.purged(), healed=healed)


def _collect(driver: Driver) -> None:
    driver.alive(lambda: driver.history.catch_up(driver.host.parts.log))
    report = driver.finish(lambda done: driver.host.gc(done=done))
    driver.counts.note("collected" if report is not None and report.ok else "not collected")


def _back_up(driver: Driver) -> None:
    name = f"backup {len(driver.backups)}"
    driver.alive(lambda: driver.history.catch_up(driver.host.parts.log))
    marks = dict(driver.marks)
    report = driver.finish(lambda done: driver.host.backup(name, done=done))
    if report is not None and report.ok:
        driver.backup_marks[name] = marks
        driver.counts.note("backed up")
    else:
        driver.backups.pop(name, None)


def _restart(driver: Driver) -> None:
    driver.alive(driver.restart)


def _verify(driver: Driver) -> None:
    """A stopped server's directory has no problem, but where something was broken on purpose (7, 9, 20)."""

    def stopped() -> None:
        require_sound(driver, driver.disk)

    driver.alive(lambda: driver.restart(stopped))


def require_sound(driver: Driver, disk: SimDisk) -> None:
    problems = verify(disk, SimEntropy("verify"))
    driver.counts.note("verified")
    if problems and driver.damaged:
        raise Ended(f"told: {problems[0]}")
    said = "; ".join(str(problem) for problem in problems[:3])
    driver.judge.require(_invariant_of(said), not problems, f"a directory that was stopped: {said}")


def _invariant_of(said: str) -> int:
    if "Invariant 9" in said or "projection" in said:
        return 9
    return 7 if "blob" in said else 20


_SERVES: dict[str, Callable[[Driver], None]] = {
    "collect": _collect,
    "back up": _back_up,
    "open backup": open_backup,
    "move": move,
    "restart": _restart,
    "verify": _verify,
}


# ---- the end: everything heals, and nothing may wait for ever


def _heal_and_end(driver: Driver) -> None:
    driver.heal()
    driver.rest()
    driver.alive(driver.restart)
    driver.rest()
    _use_every_world(driver)
    rest(driver)
    driver.alive(lambda: reckon(driver))
    driver.restart(lambda: require_sound(driver, driver.disk))
    driver.rest()
    check_now(driver, healed=True)
    driver.end()


def _use_every_world(driver: Driver) -> None:
    """Each world that was not purged answers `1+1`, and takes a write."""
    n = _LAST_N
    for world in driver.host.worlds(archived=True):
        if world.purged:
            continue
        operations = (
            hub.Describe(archived=False, frozen=False),
            hub.Execute("1+1"),
            hub.EditData("alive", b"1", "the end"),
        )
        for operation in operations:
            n += 1
            asked = Asked(n, world.id, operation, f"{type(operation).__name__} at the end", None, True)
            driver.submit(asked)
            driver.rest()
            answer = asked.answer
            if driver.damaged and isinstance(answer, answers.Refused):
                raise Ended(f"told: {answer.error}")
            sound = isinstance(answer, answers.Done) or (
                isinstance(answer, answers.PreviewOk) and bytes(answer.value) == b"2"
            )
            came_to = answers.as_json(answer).decode()
            driver.judge.require(16, sound, f"world {world.id}, healed: {asked.said} came to {came_to}")
