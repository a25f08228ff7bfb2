"""The steps of a life: plain values, one readable line each. A life is lived from them alone, never from the seed."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from engine.io.crash_images import CrashKind
from engine.limits import FLICKS_PER_SECOND
from faults.options import Options

WORLD_NAMES = "abcdefgh"


class _Step(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    pass


class Ask(_Step, frozen=True, tag="ask"):
    """Somebody asks one operation of a world (by number) and goes on after a time, whether it is answered or not.

    `n` names it for ever: it is its actor in the log. `what` is an action of the table, `args` are its own.
    `hears` False: its client is gone before the answer comes.
    """

    n: int
    world: int
    what: str
    args: list[Any] = []
    request: str | None = None
    hears: bool = True
    after_flicks: int = 0

    def __str__(self) -> str:
        from faults.actions import ACTIONS

        said = ACTIONS[self.what].says(self.args)
        request = f" under {self.request}" if self.request else ""
        return f"world {_name(self.world)}: {said}{request}{'' if self.hears else ', and hangs up'}{self._pause()}"

    def _pause(self) -> str:
        return _pause(self.after_flicks)


class Again(_Step, frozen=True, tag="again"):
    """The client of an earlier step asks the same once more under its request id; `clashes`: something else."""

    n: int
    of: int
    clashes: bool = False
    after_flicks: int = 0

    def __str__(self) -> str:
        what = "something else under the request id of" if self.clashes else "again what was asked as"
        return f"ask {what} t{self.of}{_pause(self.after_flicks)}"


class Pass(_Step, frozen=True, tag="pass"):
    """Time passes; 0: until everybody is answered and everything written."""

    flicks: int = 0

    def __str__(self) -> str:
        return f"{_seconds(self.flicks)} pass" if self.flicks else "everything comes to rest"


class Serve(_Step, frozen=True, tag="serve"):
    """The operator's work on the server."""

    what: Literal["collect", "back up", "open backup", "restart", "verify", "move"]

    def __str__(self) -> str:
        return {
            "collect": "garbage is collected",
            "back up": "the server is backed up",
            "open backup": "the last backup is opened, and used",
            "restart": "the server is stopped and started",
            "verify": "the directory is verified",
            "move": "every world is exported, and imported here and in another directory",
        }[self.what]


class PowerLoss(_Step, frozen=True, tag="power"):
    """Power is lost `after_ops` disk operations from here, or when that many batches were written to the log and the
    last of them is not synced; each of `opening` hits an attempt to open afterwards.
    """

    after_ops: int
    kind: CrashKind = "lost"
    opening: list[int] = []
    of: Literal["disk operations", "batches"] = "disk operations"

    def __str__(self) -> str:
        again = "".join(f", and {n} operations into the next opening" for n in self.opening)
        return f"power is lost {self.after_ops} {self.of} on ({self.kind}){again}"


class Kill(_Step, frozen=True, tag="kill"):
    """The process is killed so many `effects`, events of the shell (`events`) or disk operations (`ops`) on."""

    after: int
    what: Literal["effects", "events", "ops"] = "effects"

    def __str__(self) -> str:
        return f"the process is killed {self.after} {self.what} on"


class ClockJump(_Step, frozen=True, tag="clock"):
    gain_flicks: int

    def __str__(self) -> str:
        way = "ahead" if self.gain_flicks > 0 else "back"
        return f"the wall clock jumps {_seconds(abs(self.gain_flicks))} {way}"


class ClockDrift(_Step, frozen=True, tag="drift"):
    ppm: int

    def __str__(self) -> str:
        return f"the wall clock runs {self.ppm} ppm {'fast' if self.ppm > 0 else 'slow'}"


class SyncsFail(_Step, frozen=True, tag="syncs"):
    """`times` syncs fail, the first one `after` syncs from here."""

    after: int
    times: int = 1
    pages: Literal["dropped", "kept"] = "dropped"

    def __str__(self) -> str:
        return f"{self.times} syncs fail, {self.after} on (pages {self.pages})"


class SyncsLie(_Step, frozen=True, tag="lies"):
    after: int
    times: int

    def __str__(self) -> str:
        return f"{self.times} syncs lie, {self.after} on"


class DiskFills(_Step, frozen=True, tag="full"):
    """The disk is full `after_ops` operations on, for so many operations."""

    after_ops: int
    times: int

    def __str__(self) -> str:
        return f"the disk is full {self.after_ops} operations on, for {self.times}"


class Misdirect(_Step, frozen=True, tag="misdirected"):
    """The next write of the log, some operations on, lands so many sectors away."""

    after_ops: int
    shift_sectors: int

    def __str__(self) -> str:
        return f"a write lands {self.shift_sectors} sectors away, {self.after_ops} operations on"


class Rot(_Step, frozen=True, tag="rot"):
    """The process is killed and one bit reads wrong: `file` and `bit` are taken modulo what is there."""

    below: Literal["log", "blobs", "projection", "inflight"]
    file: int
    bit: int

    def __str__(self) -> str:
        return f"the process is killed, and bit {self.bit} of file {self.file} below {self.below} rots"


class Slow(_Step, frozen=True, tag="slow"):
    """Jobs of one lane (on the VM lane of one world) take so much longer from now on; 0: as before."""

    lane: Literal["vm", "log", "upkeep"]
    world: int
    more_flicks: int

    def __str__(self) -> str:
        of = f" for world {_name(self.world)}" if self.lane == "vm" else ""
        return f"lane {self.lane} is {_seconds(self.more_flicks)} slower{of}"


class Heal(_Step, frozen=True, tag="heal"):
    """The disk is sound again, and everything as fast as before."""

    def __str__(self) -> str:
        return "disk and machine are mended"


Step = (
    Ask
    | Again
    | Pass
    | Serve
    | PowerLoss
    | Kill
    | ClockJump
    | ClockDrift
    | SyncsFail
    | SyncsLie
    | DiskFills
    | Misdirect
    | Rot
    | Slow
    | Heal
)
TROUBLES = (PowerLoss, Kill, ClockJump, ClockDrift, SyncsFail, SyncsLie, DiskFills, Misdirect, Rot, Slow)


class Life(msgspec.Struct, frozen=True):
    """All that a life is made of."""

    options: Options
    steps: list[Step]

    def lines(self) -> list[str]:
        """The steps as people read them."""
        return [f"{i}. {step}" for i, step in enumerate(self.steps, 1)]


def to_json(life: Life) -> bytes:
    """The life as a text that can be kept: a line for the options, then one a step."""
    encode = msgspec.json.encode
    return b"\n".join([encode(life.options), *(encode(step) for step in life.steps)]) + b"\n"


def from_json(text: bytes) -> Life:
    """Raises msgspec.ValidationError for what is no life."""
    first, *rest = text.strip().split(b"\n")
    return Life(
        msgspec.json.decode(first, type=Options), [msgspec.json.decode(line, type=Step) for line in rest]
    )


def _name(world: int) -> str:
    return WORLD_NAMES[world]


def _seconds(flicks: int) -> str:
    return f"{flicks / FLICKS_PER_SECOND:.4g} s"


def _pause(flicks: int) -> str:
    return f"; {_seconds(flicks)} pass" if flicks else ""
