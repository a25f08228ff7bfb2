"""From a life that breaks a promise to a short one that breaks the same promise.

Fewer steps are simpler, then smaller values. A candidate counts only if it breaks the same invariant (of faults of
ours, with the same kind of exception). All of it is decided by the life, none by chance; time ends it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from faults import steps
from faults.checking import Broken
from faults.options import Options
from faults.steps import Life, Step

SECONDS_MAX = 60.0
Lives = Callable[[Life], Broken | None]
"""Lives a life; what it broke, or None."""


@dataclass
class Shrunk:
    """The shortest life that was found, what it breaks, and how many lives it took."""

    life: Life
    broken: Broken
    tried: int


def shrink(life: Life, broken: Broken, lives: Lives, *, seconds: float = SECONDS_MAX) -> Shrunk:
    """Shorten until nothing more can go, or the time is over."""
    return _Shrinking(life, broken, lives, time.monotonic() + seconds).run()


class _Shrinking:
    def __init__(self, life: Life, broken: Broken, lives: Lives, deadline: float) -> None:
        self._best = Shrunk(life, broken, 0)
        self._kind = _kind(broken)
        self._lives = lives
        self._deadline = deadline

    def run(self) -> Shrunk:
        self._cut_the_end()
        size = None
        while size != (size := self._size()) and not self._is_over():
            self._drop_steps()
            self._simplify()
        return self._best

    def _size(self) -> bytes:
        return steps.to_json(self._best.life)

    def _is_over(self) -> bool:
        return time.monotonic() > self._deadline

    def _try(self, candidate: Life) -> bool:
        if self._is_over():
            return False
        self._best.tried += 1
        broken = self._lives(candidate)
        if broken is None or _kind(broken) != self._kind:
            return False
        self._best.life, self._best.broken = candidate, broken
        return True

    def _cut_the_end(self) -> None:
        """Nothing after the step that broke it has happened."""
        if at := self._best.broken.step:
            self._try(_with(self._best.life, self._best.life.steps[:at]))

    def _drop_steps(self) -> None:
        """Runs of steps, long ones first, the last ones first."""
        length = max(1, len(self._best.life.steps) // 2)
        while length and not self._is_over():
            end = len(self._best.life.steps)
            while end > 0 and not self._is_over():
                all_steps = self._best.life.steps
                begin = max(0, end - length)
                self._try(_with(self._best.life, all_steps[:begin] + all_steps[end:]))
                end = begin
            length //= 2

    def _simplify(self) -> None:
        for options in _simpler_options(self._best.life.options):
            self._try(Life(options, self._best.life.steps))
        for at in range(len(self._best.life.steps)):
            for simpler in _simpler_steps(self._best.life.steps[at]):
                all_steps = list(self._best.life.steps)
                all_steps[at] = simpler
                if self._is_over():
                    return
                self._try(_with(self._best.life, all_steps))


def _with(life: Life, kept: list[Step]) -> Life:
    return Life(life.options, kept)


def _kind(broken: Broken) -> tuple[int, str]:
    return broken.invariant, broken.message.partition(":")[0] if not broken.invariant else ""


def _simpler_options(options: Options) -> Iterator[Options]:
    replace = msgspec.structs.replace
    if options.keeps_up:
        yield replace(options, keeps_up=False)
    if options.segment_bytes_max < 1 << 20:
        yield replace(options, segment_bytes_max=1 << 20)


def _simpler_steps(step: Step) -> Iterator[Step]:
    """The same step with one value less to think about."""
    replace = msgspec.structs.replace
    match step:
        case steps.Ask():
            if step.after_flicks:
                yield replace(step, after_flicks=0)
            if not step.hears:
                yield replace(step, hears=True)
            if step.request is not None and step.what != "create":
                yield replace(step, request=None)
        case steps.Again() if step.after_flicks:
            yield replace(step, after_flicks=0)
        case steps.PowerLoss():
            if step.opening:
                yield replace(step, opening=step.opening[:-1])
            if step.kind not in ("lost", "kept"):
                yield replace(step, kind="lost")
            if step.after_ops > 1:
                yield replace(step, after_ops=step.after_ops // 2)
                yield replace(step, after_ops=step.after_ops - 1)
        case steps.Kill() if step.after > 1:
            yield replace(step, after=step.after // 2)
            yield replace(step, after=step.after - 1)
        case steps.SyncsFail() | steps.SyncsLie() | steps.DiskFills() if step.times > 1:
            yield replace(step, times=1)
