"""Printing a run of an operation: its steps, one a line, and what it came to."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from engine.cli.output import changes_text, counted, note, plain, say, show_json, show_logs

if TYPE_CHECKING:
    from engine.host.incident_answers import CameTo, IncidentReplayed, StepRow, TriedReplay

VALUE_CHARS_MAX = 240


def show_replay(replayed: IncidentReplayed, *, stepping: bool) -> bool:
    """Print a replay, step by step on a terminal if so wanted; whether it went as it should.

    All of it is the result, so all goes to standard output, in its order.
    """
    _show_steps(replayed.steps, stepping)
    if replayed.cut:
        say("more steps followed that are not shown")
    _show_outcome(replayed.now)
    went_well = _show_comparison(replayed)
    if replayed.tried is None:
        return went_well
    return _show_tried(replayed.tried, stepping)


def is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def step_text(step: StepRow) -> str:
    """One step as one line."""
    what = _WORDS[step.kind](step)
    if step.error is not None and step.kind != "end":
        what += f": {_line(step.error)}"
    notes = [
        *(["its own write"] if step.own else []),
        *(["as it is now: it had not looked at that"] if step.as_of_now else []),
        *([f"{step.left_out_bytes} bytes, too large to show"] if step.left_out_bytes else []),
    ]
    return f"{step.kind:8}{what}" + (f"  ({'; '.join(notes)})" if notes else "")


def _show_tried(tried: TriedReplay, stepping: bool) -> bool:
    say()
    say(f"with the edit  {changes_text(tried.changes)}".rstrip())
    show_logs(tried.logs)
    if tried.departs is None:
        say("every step that is shown is as before")
    elif tried.departs > 1:
        first = "step is" if tried.departs == 2 else f"{tried.departs - 1:,} steps are"
        say(f"the first {first} as before; from here on it departs")
    else:
        say("it departs from the first step on")
    _show_steps(tried.steps[(tried.departs or len(tried.steps)) - 1 :], stepping)
    if tried.cut:
        say("more steps followed that are not shown")
    _show_outcome(tried.now)
    if tried.broken is not None:
        say(f'a develop would be rejected: it breaks the check "{tried.broken.check}": {tried.broken.reason}')
    return tried.now.outcome == "value"


def _show_steps(steps: list[StepRow], stepping: bool) -> None:
    waits = stepping and is_terminal()
    if waits and steps:
        note("Enter for the next step, end of input (Ctrl-D) for all the others")
    for step in steps:
        say(f"{step.n:5}  {step_text(step)}")
        if waits and not sys.stdin.readline():
            waits = False


def _show_outcome(now: CameTo) -> None:
    match now.outcome:
        case "value":
            say("it returned:")
            show_json(bytes(now.value or b"null"))
            rolled_back = now.rolled_back
            if rolled_back is not None and (rolled_back.set or rolled_back.deleted):
                say(f"not kept: set {rolled_back.set}, deleted {rolled_back.deleted}")
        case "failed":
            say(f"it failed ({now.failure}): {now.error}")
            if now.hint:
                say(f"  hint: {now.hint}")
        case "asks":
            for ask in now.asks:
                asked = f"{ask.world}.{ask.function}({_line(_args(bytes(ask.args)))})"
                say(f"it would ask {asked}: nobody was asked")


def _show_comparison(replayed: IncidentReplayed) -> bool:
    """Say whether it is what was recorded."""
    recorded = replayed.recorded
    if recorded.outcome == "interrupted":
        say("recorded: interrupted, so there is no outcome that this could be compared with")
        return True
    if replayed.same:
        if recorded.failure == "conflict":
            say("recorded: a conflict; console and fuel are the same")
        else:
            say("the same as recorded, in every part")
        return True
    say(f"not as recorded: {', '.join(replayed.differs)}")
    say(f"  it was ({recorded.failure}): {recorded.error}")
    return False


def _read(step: StepRow) -> str:
    if step.absent:
        return f"{_key(step)}: there is nothing"
    return _key(step) if step.error is not None else f"{_key(step)} = {_shown(step)}"


def _write(step: StepRow) -> str:
    return _key(step) if step.error is not None else f"{_key(step)} = {_shown(step)}"


def _list(step: StepRow) -> str:
    after = f" after {json.dumps(step.after)}" if step.after is not None else ""
    limit = f" limit {step.limit}" if step.limit is not None else ""
    asked = f"{json.dumps(step.prefix or '')}{after}{limit}"
    if step.value is None:
        return asked
    rows = json.loads(bytes(step.value))["rows"]
    listed = ", ".join(f"{row['key']} = {json.dumps(row['value'], ensure_ascii=False)}" for row in rows)
    return f"{asked}: {counted(len(rows), 'row')}  {_line(listed)}".rstrip()


def _delete(step: StepRow) -> str:
    if step.error is not None:
        return _key(step)
    return (
        _key(step)
        if step.value is not None and bytes(step.value) == b"true"
        else f"{_key(step)}: there was none"
    )


def _console(step: StepRow) -> str:
    return _line(step.text or "")


def _look(step: StepRow) -> str:
    match step.look:
        case "list":
            return f"which worlds there are to call: {_shown(step)}"
        case "functions":
            return f"what {step.world} defines: {_shown(step)}"
    return f"may {step.world} be called" + (": yes" if step.error is None else "")


def _ask(step: StepRow) -> str:
    args = _line(_args(bytes(step.value))) if step.value is not None else ""
    ordinal = f"#{step.ordinal} " if step.ordinal is not None else ""
    return f"{ordinal}{step.world}.{step.function}({args})"


def _answer(step: StepRow) -> str:
    return f"#{step.ordinal} {step.world}.{step.function}" + (
        f": {_shown(step)}" if step.error is None else ""
    )


def _end(step: StepRow) -> str:
    return f"{step.failure}: {_line(step.error)}" if step.error is not None else _shown(step)


_WORDS = {
    "read": _read,
    "list": _list,
    "write": _write,
    "delete": _delete,
    "console": _console,
    "look": _look,
    "ask": _ask,
    "answer": _answer,
    "end": _end,
}


def _key(step: StepRow) -> str:
    return step.key if step.key else '""'


def _shown(step: StepRow) -> str:
    if step.left_out_bytes:
        return "…"
    return _line(bytes(step.value).decode("utf-8", "surrogatepass") if step.value is not None else "null")


def _args(args: bytes) -> str:
    """A JSON array without its brackets."""
    return args.decode("utf-8", "surrogatepass")[1:-1]


def _line(text: str) -> str:
    """The text on one line, and not a long one."""
    line = " ".join(plain(text).split())
    return line if len(line) <= VALUE_CHARS_MAX else line[: VALUE_CHARS_MAX - 1] + "…"
