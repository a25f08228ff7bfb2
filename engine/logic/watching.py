"""Steps of one operation, for people: what it read, wrote, printed, asked and heard, in order.

Who is watched comes to the same as who is not: the watcher stands around the host functions and changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, NamedTuple

from blake3 import blake3

from engine import limits
from engine.logic.call_host import CONSOLE_CUT, CallHost
from engine.logic.jobs import CallOutcome, Look
from engine.logic.vm import GuestError, text_of, wtf8

StepKind = Literal["read", "list", "write", "delete", "console", "look", "ask", "answer", "end"]


class Step(NamedTuple):
    """One thing that an operation did or heard.

    `name` is the key of a read, write or delete, the prefix of a list; of a look it is list, functions or call. A list
    goes on after the key `after`, with at most `limit` rows. `value` is JSON text: the value read (None: there was
    none), the rows listed, the value written, whether there was something to delete, an ask's arguments, an answer,
    what a look showed, the operation's value at its end. `text` is a line of the console, or the error where one came
    instead. `is_own` says that a read found the operation's own write. Where a value or text is too large to be shown,
    it is left out and `left_out_bytes` says how large it is.
    """

    kind: StepKind
    name: str | None = None
    value: bytes | None = None
    text: str | None = None
    failed: bool = False
    world: str | None = None
    function: str | None = None
    ordinal: int | None = None
    after: str | None = None
    limit: int | None = None
    is_own: bool = False
    left_out_bytes: int = 0


class Watcher:
    """Takes down one operation's steps, through all of its parts; the first `STEPS_MAX`, within `STEPS_BYTES_MAX`.

    `is_cut` says that more followed.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.is_cut = False
        self._digests: list[bytes] = []  # of the steps as they were, whatever is left out of them
        self._bytes_left = limits.STEPS_BYTES_MAX

    def around(self, host: CallHost) -> _Watched:
        """The host functions of one job, watched."""
        return _Watched(host, self)

    def note(self, step: Step) -> None:
        """Take down one step."""
        if self.is_cut:
            return
        shown = _bounded(step)
        size_bytes = _step_bytes(shown)
        if len(self.steps) >= limits.STEPS_MAX or size_bytes > self._bytes_left:
            self.is_cut = True
            return
        self._bytes_left -= size_bytes
        self.steps.append(shown)
        self._digests.append(_digest(step))

    def heard(self, ordinal: int, asked: str, ok: bool, value: bytes) -> None:
        """Another world answered the ask `ordinal`, which was `asked` ("world.function")."""
        world, _, function = asked.partition(".")
        step = Step("answer", world=world, function=function, ordinal=ordinal)
        if ok:
            self.note(step._replace(value=value))
        else:
            self.note(step._replace(text=text_of(value), failed=True))

    def ended(self, outcome: CallOutcome) -> None:
        """The last step."""
        if outcome.failure is not None:
            self.note(Step("end", name=outcome.failure.kind, text=outcome.failure.error, failed=True))
        elif outcome.missing:
            self.note(Step("end", name="missing", text="not defined", failed=True))
        else:
            self.note(Step("end", value=outcome.value))

    def departs_from(self, original: Watcher) -> int | None:
        """The index of the first step that is not the original's; None where all that is known is the same."""
        pairs = zip(self._digests, original._digests, strict=False)
        for index, (mine, other) in enumerate(pairs):
            if mine != other:
                return index
        shorter, longer = sorted((self, original), key=lambda watcher: len(watcher.steps))
        if len(shorter.steps) == len(longer.steps) or shorter.is_cut:
            return None
        return len(shorter.steps)


class _Watched:
    """The host functions of one job: each answers as ever, and is taken down."""

    def __init__(self, host: CallHost, watcher: Watcher) -> None:
        self._host = host
        self._note = watcher.note

    def __call__(self, op: str, text: bytes) -> bytes | None:
        journal = self._host.journal
        looks_before = len(journal.looks)
        is_own = op == "data.get" and text_of(text) in journal.writes
        try:
            answer = self._host(op, text)
        except GuestError as error:
            self._looked(list(journal.looks.values())[looks_before:])
            refused = _step_of(op, text, None)
            if refused is not None:
                self._note(refused._replace(value=None, text=error.message, failed=True))
            raise
        if len(journal.looks) > looks_before:
            self._looked(list(journal.looks.values())[looks_before:])
        step = _step_of(op, text, answer)
        if step is not None:
            self._note(step._replace(is_own=True) if is_own else step)
        return answer

    def _looked(self, looks: Sequence[Look]) -> None:
        for look in looks:
            step = Step("look", name=look.what, world=look.world or None)
            if look.refused is not None:
                self._note(step._replace(text=text_of(look.answer), failed=True))
            else:
                self._note(step._replace(value=look.answer or None))


def _step_of(op: str, text: bytes, answer: bytes | None) -> Step | None:
    """The step that a host function is; None for one that only shows what a look has shown."""
    match op:
        case "data.get":
            return Step("read", name=text_of(text), value=answer)
        case "data.set":
            value, _, key = text.partition(b"\n")
            return Step("write", name=text_of(key), value=value)
        case "data.delete":
            return Step("delete", name=text_of(text), value=answer)
        case "data.list":
            asked = json.loads(text_of(text))
            return Step(
                "list",
                name=asked["prefix"],
                after=asked.get("after"),
                limit=asked.get("limit"),
                value=answer,
            )
        case "worlds.call":
            named, _, args = text.partition(b"\n")
            world, function = json.loads(text_of(named))
            ordinal = int(answer) if answer is not None else None
            return Step("ask", world=world, function=function, value=args, ordinal=ordinal)
        case "console":
            return Step("console", text=text_of(text))
        case "console.full":
            return Step("console", text=CONSOLE_CUT)
    return None


def _bounded(step: Step) -> Step:
    value_bytes = len(step.value or b"")
    text_bytes = len(wtf8(step.text or ""))
    if value_bytes > limits.STEP_VALUE_BYTES_MAX:
        return step._replace(value=None, left_out_bytes=value_bytes)
    if text_bytes > limits.STEP_VALUE_BYTES_MAX:
        return step._replace(text=None, left_out_bytes=text_bytes)
    return step


def _step_bytes(step: Step) -> int:
    texts = (step.name, step.text, step.world, step.function, step.after)
    return limits.STEP_BYTES_ABOUT + len(step.value or b"") + sum(len(wtf8(text)) for text in texts if text)


def _digest(step: Step) -> bytes:
    plain = [
        field.hex() if isinstance(field, bytes) else field for field in step
    ]  # bytes and texts are told apart by their place
    return blake3(json.dumps(plain).encode()).digest(length=16)
