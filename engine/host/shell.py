"""What differs between a live and a simulated host: time, and where work runs.

A lane does one kind of work in order of submission: `vm` (as many at once as there are threads), `log` (one: at most
one batch is unsynced, Invariant 3) and `upkeep` (one). `done` is called on the host's own thread.
"""

from __future__ import annotations

import asyncio
import functools
import queue
import resource
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, Protocol

import structlog
from sortedcontainers import SortedList

from engine import limits
from engine.clock.clock import Clock, SimClock
from engine.host.turns import Turns

LANES = ("vm", "log", "upkeep")
SWITCH_SECONDS = 0.0005  # the loop waits so long for a lane that holds the interpreter, instead of 5 ms


class Failed:
    """A job raised: `error` is what, for `done` to judge."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Lanes:
    """How many jobs are on their way; `on_rest` is called when the last of them has told what it came to."""

    def __init__(self) -> None:
        self.working = 0
        self.on_rest: Callable[[], None] = lambda: None

    def entered(self, done: Callable[[Any], None]) -> Callable[[Any], None]:
        """A job is on its way, whose result goes to `done`: give it to what this answers instead."""
        self.working += 1

        def told(result: Any) -> None:
            self.working -= 1
            done(result)
            if not self.working:
                self.on_rest()

        return told


class Shell(Protocol):
    @property
    def clock(self) -> Clock: ...

    @property
    def is_deep(self) -> bool:
        """Whether the host's own thread has a stack for jobs, so that short ones need not change threads."""
        ...

    def work(self, lane: str, job: Callable[[], Any], done: Callable[[Any], None], world: str = "") -> None:
        """Run `job` on a lane; then `done(its result, or Failed)` on the host's thread.

        On the VM lane the `world` takes turns with the others.
        """
        ...

    @property
    def lanes(self) -> Lanes: ...

    def at(self, monotonic_flicks: int, fire: Callable[[], None]) -> Callable[[], None]:
        """Call `fire` at that time or soon after; the answer cancels it."""
        ...

    def soon(self, callback: Callable[[], None]) -> None:
        """Call `callback` on the host's thread after what runs now."""
        ...

    def report(self, error: BaseException) -> None:
        """A fault of ours: a live server logs it and goes on, a simulated one stops."""
        ...

    def close(self) -> None: ...


class DeepThread:
    """One thread with the stack that deep recursion in a world needs, for callers whose own is too small."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue = queue.SimpleQueue()
        self._results: queue.SimpleQueue = queue.SimpleQueue()
        self._thread = start_thread(self._serve, "pw-deep")

    def run(self, job: Callable[[], Any]) -> Any:
        """`job()`, there; what it raises is raised here. Who is there already just goes on."""
        if threading.current_thread() is self._thread:
            return job()
        self._work.put(job)
        result, error = self._results.get()
        if error is not None:
            raise error
        return result

    def _serve(self) -> None:
        while True:
            job = self._work.get()
            try:
                result, error = job(), None
            except BaseException as raised:  # the caller judges it
                result, error = None, raised
            self._results.put((result, error))
            del job, result, error


def start_thread(serve: Callable[..., None], name: str, *args: Any) -> threading.Thread:
    """A started daemon thread with a deep stack; only the pages that it touches are real."""
    before_bytes = threading.stack_size(limits.STACK_BYTES_THREAD)
    try:
        thread = threading.Thread(target=serve, args=args, name=name, daemon=True)
        thread.start()
    finally:
        threading.stack_size(before_bytes)
    return thread


def deepen_main_thread() -> bool:
    """Let the main thread's stack grow as deep as a job may need; False on another thread or where it may not.

    Linux keeps 128 MiB of addresses free below the main thread's stack, whatever its limit was at the start.
    """
    if not sys.platform.startswith("linux") or threading.current_thread() is not threading.main_thread():
        return False
    wanted_bytes = limits.STACK_BYTES_MAIN_THREAD
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if soft == resource.RLIM_INFINITY or soft >= wanted_bytes:
        return True
    if hard != resource.RLIM_INFINITY and hard < wanted_bytes:
        return False
    resource.setrlimit(resource.RLIMIT_STACK, (wanted_bytes, hard))
    return True


class LiveShell:
    """Threads and an asyncio loop. VM threads have the stack that deep recursion in a world needs."""

    def __init__(self, clock: Clock, loop: asyncio.AbstractEventLoop, *, vm_threads: int) -> None:
        self.clock = clock
        self.is_deep = deepen_main_thread()
        sys.setswitchinterval(SWITCH_SECONDS)
        self._loop = loop
        self.lanes = Lanes()
        self._lanes: dict[str, queue.SimpleQueue] = {lane: queue.SimpleQueue() for lane in LANES}
        self._threads: list[threading.Thread] = []
        self._turns: Turns[tuple[Callable[[], Any], Callable[[Any], None]]] = Turns(vm_threads)
        for lane, count in (("vm", vm_threads), ("log", 1), ("upkeep", 1)):
            for n in range(count):
                self._threads.append(start_thread(self._serve_lane, f"pw-{lane}-{n}", self._lanes[lane]))

    def work(self, lane: str, job: Callable[[], Any], done: Callable[[Any], None], world: str = "") -> None:
        done = self.lanes.entered(done)
        if lane != "vm":
            self._lanes[lane].put((job, done))
            return
        self._turns.add(world, (job, done))
        self._start_jobs()

    def _start_jobs(self) -> None:
        while (turn := self._turns.start()) is not None:
            world, (job, done) = turn
            self._lanes["vm"].put((job, functools.partial(self._job_ended, world, done)))

    def _job_ended(self, world: str, done: Callable[[Any], None], result: Any) -> None:
        self._turns.ended(world)
        self._start_jobs()
        done(result)

    def at(self, monotonic_flicks: int, fire: Callable[[], None]) -> Callable[[], None]:
        delay_flicks = max(0, monotonic_flicks - self.clock.monotonic_flicks())
        return self._loop.call_later(delay_flicks / limits.FLICKS_PER_SECOND, fire).cancel

    def soon(self, callback: Callable[[], None]) -> None:
        self._loop.call_soon(callback)

    def report(self, error: BaseException) -> None:
        structlog.get_logger("host").error("a fault of ours", exc_info=error)

    def close(self) -> None:
        for lane, work in self._lanes.items():
            for thread in self._threads:
                if thread.name.startswith(f"pw-{lane}-"):
                    work.put(None)
        for thread in self._threads:
            thread.join(timeout=10)

    def _serve_lane(self, work: queue.SimpleQueue) -> None:
        while (item := work.get()) is not None:
            job, done = item
            try:
                result = job()
            except BaseException as error:  # the lane must outlive any job
                traceback.clear_frames(error.__traceback__)
                result = Failed(error)
            try:
                self._loop.call_soon_threadsafe(done, result)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return


class SimShell:
    """One thread that owns time: work takes simulated time and ends in an order that the seed decides.

    `latency_flicks(lane)` says how long a job takes. A job runs when it ends, so what it reads and writes is what
    stands at that moment. Power that is lost in a job (a BaseException) ends the whole process, as it should.
    """

    def __init__(self, clock: SimClock, latency_flicks: Callable[[str], int]) -> None:
        self.clock = clock
        self.is_deep = False  # what is simulated takes its time
        self._latency_flicks = latency_flicks
        self._events: SortedList = SortedList(key=lambda event: event[:2])
        self._seq = 0
        self._free_at: dict[str, int] = {"log": 0, "upkeep": 0}
        self.lanes = Lanes()
        self.closed = False

    def work(self, lane: str, job: Callable[[], Any], done: Callable[[Any], None], world: str = "") -> None:
        start = max(self.clock.monotonic_flicks(), self._free_at.get(lane, 0))
        end = start + self.latency_of(lane, world)
        if lane in self._free_at:
            self._free_at[lane] = end
        run = job if lane != "vm" else functools.partial(deep_thread().run, job)
        told = self.lanes.entered(done)
        self._push(end, lambda: told(_outcome_of(run)))

    def latency_of(self, lane: str, world: str) -> int:
        """How long a job takes; whoever simulates slow worlds says otherwise."""
        return self._latency_flicks(lane)

    def at(self, monotonic_flicks: int, fire: Callable[[], None]) -> Callable[[], None]:
        event = self._push(max(monotonic_flicks, self.clock.monotonic_flicks()), fire)

        def cancel() -> None:
            self._events.discard(event)

        return cancel

    def soon(self, callback: Callable[[], None]) -> None:
        self._push(self.clock.monotonic_flicks(), callback)

    def report(self, error: BaseException) -> None:
        raise error

    def close(self) -> None:
        self.closed = True
        self._events.clear()

    def step(self) -> bool:
        """Jump to the next event and let it happen; False where there is none."""
        if not self._events:
            return False
        at_flicks, _, fire = self._events.pop(0)
        self.clock.advance_to(max(at_flicks, self.clock.monotonic_flicks()))
        fire()
        return True

    def run_until(self, finished: Callable[[], bool]) -> None:
        """Let events happen until `finished`; raises if nothing is left that could finish it."""
        while not finished():
            if not self.step():
                raise RuntimeError("the simulated host is idle and what was awaited has not happened")

    def run_for(self, duration_flicks: int) -> None:
        end = self.clock.monotonic_flicks() + duration_flicks
        while self._events and self._events[0][0] <= end:
            self.step()
        self.clock.advance_to(max(end, self.clock.monotonic_flicks()))

    def _push(self, at_flicks: int, fire: Callable[[], None]) -> tuple:
        self._seq += 1
        event = (at_flicks, self._seq, fire)
        self._events.add(event)
        return event


@functools.cache
def deep_thread() -> DeepThread:
    """The one deep thread of this process. Whoever runs a whole simulated host there changes threads once."""
    return DeepThread()


def _outcome_of(job: Callable[[], Any]) -> Any:
    try:
        return job()
    except Exception as error:
        return Failed(error)
