"""The simulated ports of a life: a shell and a disk that leave a trace, obey orders to fail, and watch their rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blake3 import blake3

from engine.clock.clock import SimClock
from engine.host.shell import SimShell
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk
from engine.io.sim_entropy import SimEntropy
from engine.io.sim_faults import Faults
from engine.io.sim_media import Change, FileNode, Media, Naming, Operation, Refusal, Sync, SyncDir
from faults.checking import Judge


class Killed(BaseException):
    """The process ends here."""


class Trace:
    """Everything that happened, a line each; equal lives leave equal lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        self.lines.append(line)

    def hash(self) -> str:
        """BLAKE3, 64 hex digits."""
        return blake3("\n".join(self.lines).encode("utf-8", "surrogatepass")).hexdigest()


class LifeShell(SimShell):
    """`kill_at` raises Killed in place of the event of that number, counted from 1."""

    def __init__(
        self,
        clock: SimClock,
        latency: SimEntropy,
        latency_flicks_max: int,
        slow: dict[tuple[str, str], int],
        trace: Trace,
    ) -> None:
        super().__init__(clock, lambda lane: 1 + latency.below(latency_flicks_max))
        self._slow = slow
        self._trace = trace
        self.count = 0
        self.kill_at: int | None = None

    def latency_of(self, lane: str, world: str) -> int:
        more_flicks = self._slow.get((lane, world if lane == "vm" else ""), 0)
        return super().latency_of(lane, world) + more_flicks

    def step(self) -> bool:
        self.count += 1
        if self.count == self.kill_at:
            raise Killed
        happened = super().step()
        self._trace.add(f"event at {self.clock.monotonic_flicks()}")
        return happened


class LifeDisk(SimDisk):
    """Invariants 3, 4 and 5 are judged here, on every operation that the log's segments get."""

    def __init__(
        self,
        judge: Judge,
        trace: Trace,
        failed: Callable[[], None],
        *,
        seed: str,
        media: Media | None = None,
    ) -> None:
        """`failed` is called when a sync fails or space ends."""
        super().__init__(seed=seed, media=media)
        self._tell_failed = failed
        self._judge = judge
        self._lines = trace
        self._segments: dict[int, str] = {}
        self._synced: dict[int, set[int]] = {}  # file -> sectors; membership only
        self._unsynced: dict[int, set[int]] = {}
        self._failed: set[int] = set()  # files; membership only
        self._batches_left = 0
        if media is not None:
            self._survey()

    def crash_in_batch(self, count: int) -> None:
        """The power goes between a write of a segment, the `count`th from here, and its sync."""
        self._batches_left = count

    def heal(self) -> None:
        self._batches_left = 0
        super().heal()

    def perform(self, operation: Operation) -> None:
        batch = operation if isinstance(operation, Change) and operation.file in self._segments else None
        if batch is not None:
            self._judge_change(batch)
        super().perform(operation)
        self._lines.add(_line_of(operation))
        if batch is not None and self._batches_left:
            self._batches_left -= 1
            if not self._batches_left:
                self.crash_at(self.ops + 1)
        if isinstance(operation, Change):
            self._unsynced.setdefault(operation.file, set()).update(index for index, _ in operation.sectors)
        elif isinstance(operation, Sync):
            if operation.outcome in ("synced", "lied"):
                self._synced.setdefault(operation.file, set()).update(self._unsynced.pop(operation.file, ()))
            else:
                self._failed.add(operation.file)
                self._tell_failed()
        elif isinstance(operation, Refusal) or (
            isinstance(operation, SyncDir) and operation.outcome in ("failed_dropped", "failed_kept")
        ):
            self._tell_failed()
        elif isinstance(operation, Naming):
            for entry in operation.entries:
                if entry.node and entry.name.endswith(".seg"):
                    self._segments[entry.node] = entry.name

    def take_over(self, dead: LifeDisk) -> None:
        """Go on where the disk of a dead process was; what that process still holds of it is dead from here on."""
        self.trace, self.syncs, self.faults = dead.trace, dead.syncs, dead.faults
        self._segments, self._synced = dead._segments, dead._synced
        self._unsynced, self._failed = dead._unsynced, dead._failed
        dead.faults = Faults()
        dead.crash_now()

    def _survey(self) -> None:
        """What was there at the start is synced."""
        root = self.media.directory(1).names
        for name, number in self.media.directory(root["log"]).names.items() if "log" in root else ():
            node = self.media.nodes[number]
            if name.endswith(".seg") and isinstance(node, FileNode):
                self._segments[number] = name
                self._synced[number] = set(node.media)

    def _judge_change(self, change: Change) -> None:
        name, file = self._segments[change.file], change.file
        require = self._judge.require
        require(4, file not in self._failed, f"{name} is written to after a sync of it had failed")
        require(3, not self._unsynced.get(file), f"{name}: a batch is written while another is unsynced")
        synced = self._synced.get(file, set())
        again = [index for index, _ in change.sectors if index in synced]
        require(5, not again, f"{name}: synced sectors {again} are written again")


def _line_of(operation: Operation) -> str:
    match operation:
        case Change():
            hasher = blake3()
            for index, content in operation.sectors:
                hasher.update(b"%d" % index)
                hasher.update(content or b"")
            return f"write {operation.file} {operation.size_bytes} {hasher.hexdigest()[:16]}"
        case Sync():
            return f"sync {operation.file} {operation.outcome}"
        case SyncDir():
            return f"sync directory {operation.directory} {operation.outcome}"
        case Naming():
            return f"name {operation.node} {operation.entries}"
        case _:
            return f"no room {operation.path}"


class LifeWatch:
    """Traces effects, knows what has begun, and kills between two of them."""

    def __init__(self, trace: Trace, began: Callable[[str, str, int, int], None]) -> None:
        """`began(world, actor, flick, seed)` is called when an operation's work has been let loose."""
        self._trace = trace
        self._began = began
        self.count = 0
        self.kill_at: int | None = None

    def before(self, world: str, effect: hub.Effect, actor: str) -> None:
        self.count += 1
        if self.count == self.kill_at:
            raise Killed
        self._trace.add(f"{world} {actor} {_said(effect)}")

    def after(self, world: str, effect: hub.Effect, actor: str) -> None:
        if isinstance(effect, hub.RunJob):
            self._began(world, actor, effect.flick, effect.seed)


def _said(effect: hub.Effect) -> str:
    match effect:
        case hub.RunJob():
            drawn = f"{effect.flick} {effect.seed} {effect.rerun}"
            return f"runs {effect.op} at {effect.revision}/{effect.snapshot} {drawn}"
        case hub.Append():
            return f"appends {[(draft.seq, draft.kind, draft.number) for draft in effect.drafts]}"
        case hub.Answer():
            refused: Any = effect.refusal and effect.refusal.code
            return f"answers {effect.op} with {effect.seq} {refused}"
        case hub.AskPeer():
            return f"asks {effect.op} {effect.request_id}"
        case _:
            return repr(effect)
