"""From options to steps: everything that a life does and suffers, drawn before it is lived.

Each part draws from a stream of its own, so that one more draw in one changes nothing in the others.
"""

from __future__ import annotations

from engine.io.crash_images import CRASH_KINDS
from engine.io.sim_entropy import SimEntropy
from engine.limits import FLICKS_PER_SECOND
from faults import steps
from faults.actions import ACTIONS
from faults.options import Options
from faults.steps import Again, Ask, Life, Pass, Serve, Step

_HOUR_FLICKS = 3600 * FLICKS_PER_SECOND
_AGAIN_AMONG = 12
"""A client that asks again asks one of so many last steps that had a request id."""


def draw_life(options: Options) -> Life:
    """The steps of a life: its worlds are made first, then anything in any order."""
    entropy = SimEntropy(f"life {options.seed}")
    return Life(options, _Drawing(options, entropy).steps())


class _Drawing:
    def __init__(self, options: Options, entropy: SimEntropy) -> None:
        self._options = options
        self._work = entropy.fork("work")
        self._troubles = entropy.fork("troubles")
        self._server = entropy.fork("server")
        self._steps: list[Step] = []
        self._claimed: list[int] = []
        self._n = 0
        self._burst = 0
        self._purged = False

    def steps(self) -> list[Step]:
        self._begin()
        until_trouble = self._pause_to_trouble()
        while self._n < self._options.operations:
            self._ask()
            self._serve()
            until_trouble -= 1
            if until_trouble <= 0:
                self._trouble()
                until_trouble = self._pause_to_trouble()
        return self._steps

    def _next(self) -> int:
        self._n += 1
        return self._n

    def _begin(self) -> None:
        """Worlds with definitions, which may call each other; anything may happen meanwhile."""
        count = self._options.worlds
        for world in range(count):
            self._steps.append(Ask(self._next(), world, "create", request=f"make {world}"))
        self._steps.append(Pass())
        for world in range(count):
            library = f"library {1 + self._work.below(3)}"
            self._steps.append(Ask(self._next(), world, "develop", [library], request=f"first {world}"))
            self._steps.append(Ask(self._next(), world, "grant", [list(range(count))]))
        self._steps.append(Pass())

    # ---- what clients do

    def _ask(self) -> None:
        work = self._work
        if self._claimed and work.chance(1, 14):
            of = self._claimed[-1 - work.below(min(_AGAIN_AMONG, len(self._claimed)))]
            self._steps.append(Again(self._next(), of, clashes=work.chance(1, 5), after_flicks=self._pause()))
            return
        if not self._purged and self._options.worlds > 1 and work.chance(1, 600):
            self._purged = True
            what = "purge"
        else:
            what = self._action()
        n = self._next()
        action = ACTIONS[what]
        request = f"r{n}" if action.claims and work.chance(1, 3) else None
        if request is not None:
            self._claimed.append(n)
        self._steps.append(
            Ask(
                n,
                work.below(self._options.worlds),
                what,
                action.draw(work, n),
                request,
                hears=not work.chance(1, 20),
                after_flicks=self._pause(),
            )
        )

    def _action(self) -> str:
        at = self._work.below(sum(action.weight for action in ACTIONS.values()))
        for what, action in ACTIONS.items():
            at -= action.weight
            if at < 0:
                return what
        raise AssertionError("the weights add up")

    def _pause(self) -> int:
        """Bursts without any pause, so that much is in flight at once; else up to the life's own measure."""
        if self._burst == 0 and self._work.chance(1, 4):
            self._burst = 2 + self._work.below(10)
        if self._burst:
            self._burst -= 1
            if self._burst:
                return 0
        if self._work.chance(1, 3):
            return self._work.below(FLICKS_PER_SECOND // 50)
        return self._work.below(self._options.gap_flicks_max)

    # ---- what the operator does

    def _serve(self) -> None:
        server = self._server
        for what, rarely in (
            ("collect", 60),
            ("back up", 200),
            ("restart", 80),
            ("verify", 400),
            ("open backup", 200),
            ("move", 400),
        ):
            if server.chance(1, rarely):
                self._steps.append(Serve(what))  # type: ignore[arg-type]
        if server.chance(1, 25):
            self._steps.append(Pass())

    # ---- what goes wrong

    def _pause_to_trouble(self) -> int:
        return 1 + self._troubles.below(2 * self._options.trouble_every)

    def _trouble(self) -> None:
        entropy, troubles = self._troubles, self._options.troubles
        if not troubles:
            return
        if entropy.chance(1, 5):
            self._steps.append(steps.Heal())
            return
        draw = {
            "crashes": self._crash,
            "syncs": lambda: steps.SyncsFail(
                1 + entropy.below(12), 1 + entropy.below(4), ("dropped", "kept")[entropy.below(2)]
            ),
            "full": lambda: steps.DiskFills(1 + entropy.below(60), 1 + entropy.below(40)),
            "lies": lambda: steps.SyncsLie(1 + entropy.below(12), 1 + entropy.below(30)),
            "rot": lambda: steps.Rot(
                ("log", "blobs", "projection", "inflight")[entropy.below(4)],  # type: ignore[arg-type]
                entropy.below(1000),
                entropy.below(1 << 30),
            ),
            "misdirected": lambda: steps.Misdirect(
                1 + entropy.below(40), (-3, -2, -1, 1, 2, 3)[entropy.below(6)]
            ),
            "clock": self._clock,
            "slow": self._slow,
            "expiry": lambda: steps.ClockJump((25 + entropy.below(400)) * _HOUR_FLICKS),
        }[troubles[entropy.below(len(troubles))]]
        self._steps.append(draw())

    def _crash(self) -> Step:
        entropy = self._troubles
        if entropy.chance(1, 3):
            what = ("effects", "events", "ops")[entropy.below(3)]
            return steps.Kill(1 + entropy.below(60), what)  # type: ignore[arg-type]
        kind = CRASH_KINDS[entropy.below(len(CRASH_KINDS))]
        opening = [1 + entropy.below(30) for _ in range((0, 0, 1, 2)[entropy.below(4)])]
        after = 1 + entropy.below((5, 40, 150)[entropy.below(3)])
        if kind in ("torn", "garbled", "reordered"):  # a batch on its way is seldom met by chance
            return steps.PowerLoss(1 + after % 4, kind, opening, of="batches")
        return steps.PowerLoss(after, kind, opening)

    def _clock(self) -> Step:
        entropy = self._troubles
        if entropy.chance(1, 4):
            return steps.ClockDrift((-500, -50, 50, 500)[entropy.below(4)])
        flicks = (1 + entropy.below(3 * 3600)) * FLICKS_PER_SECOND
        return steps.ClockJump(flicks if entropy.chance(1, 2) else -flicks)

    def _slow(self) -> Step:
        entropy = self._troubles
        lane = ("vm", "vm", "log", "upkeep")[entropy.below(4)]
        most = 40 if lane == "vm" else 3
        more_flicks = entropy.below(most * FLICKS_PER_SECOND) if entropy.chance(2, 3) else 0
        return steps.Slow(lane, entropy.below(self._options.worlds), more_flicks)  # type: ignore[arg-type]
