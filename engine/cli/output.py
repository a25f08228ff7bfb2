"""Printing for people: aligned columns, colours on a terminal only, errors and hints on standard error.

Text of a world or a server is printed with its control characters spelt out: nothing that it holds may move the
cursor or colour the terminal.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from engine.cli.shared import Pw

CELL_CHARS_MAX = 60
PROGRESS_AFTER_S = 1.0
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """`text` without control characters other than tab and newline, and without lone surrogates."""
    spelt = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
    return spelt.encode("utf-8", "backslashreplace").decode("utf-8")


def say(text: str = "") -> None:
    click.echo(plain(text))


def note(text: str) -> None:
    """A line beside the result: on standard error, so that the result alone can be piped."""
    click.secho(plain(text), err=True, dim=True)


def warn(error: str, hint: str | None = None) -> None:
    click.secho(plain(error), err=True, fg="red")
    if hint:
        click.echo(plain(f"  hint: {hint}"), err=True)


def show_json(text: bytes) -> None:
    """A JSON value, indented where it has structure."""
    click.echo(plain(json.dumps(json.loads(text), ensure_ascii=False, indent=2)))


def show_logs(lines: Sequence[str]) -> None:
    for line in lines:
        note(f"log: {line}")


def show_source(source: str) -> None:
    for line in source.rstrip("\n").split("\n"):
        say(f"    {line}")


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns as wide as their widest cell; numbers to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    click.secho(_line(heads, widths, [False] * len(heads)), bold=True)
    for row, texts in zip(rows, cells, strict=True):
        click.echo(_line(texts, widths, [isinstance(value, int) for value in row]))


def counted(count: int, word: str, plural: str | None = None) -> str:
    """So many of it, in words: "1 record", "2 records"."""
    return f"{count:,} {word if count == 1 else plural or f'{word}s'}"


def changes_text(changes: Any) -> str:
    """What a revision changed, in one line."""
    marks = (("+", changes.added), ("~", changes.changed), ("-", changes.removed))
    return " ".join(mark + name for mark, names in marks for name in names)


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Say on a terminal, after a second, that `what` is still going on."""
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_tick, args=(what, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def hush() -> None:
    """Nobody reads standard output any more: what is still buffered goes nowhere, and Python says nothing of it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def misused(error: click.ClickException) -> None:
    """Print what click or a command found wrong with the command line, as all errors are printed."""
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    warn(f"pw: {_in_words(error)}", f"{ctx.command_path} --help says how it is used" if ctx else None)


def _in_words(error: click.ClickException) -> str:
    if isinstance(error, click.NoSuchOption):
        alike = f"; there is {', '.join(error.possibilities)}" if error.possibilities else ""
        return f"there is no option {error.option_name}{alike}"
    if isinstance(error, click.MissingParameter):
        return f"{_name_of(error.param) if error.param else 'argument'}: is missing"
    text = error.message
    if text.endswith("."):  # one of click's own sentences
        text = text[0].lower() + text[1:-1]
    if isinstance(error, click.BadParameter):
        return f"{_name_of(error.param) if error.param else error.param_hint or 'argument'}: {text}"
    return text


def _name_of(param: click.Parameter) -> str:
    return max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name.lower()


def complain(pw: Pw, error: Exception) -> bool:
    """Print an error that the world made; False for one of ours, which deserves its traceback."""
    from engine.serve.client import ClientError, ServerError, Unauthorized

    if isinstance(error, ServerError) and pw.show_raw():
        return True
    if isinstance(error, Unauthorized) and error.status == 401:
        warn(
            f"pw: {error.error}",
            f"set PW_TOKEN, or name the served directory with --home: {pw.home} was looked in",
        )
        return True
    if isinstance(error, ClientError):
        warn(f"pw: {error.error}", error.hint)
        return True
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        warn(f"pw: {where}{(error.strerror or str(error)).lower()}")
        return True
    return False


def _cell(value: object) -> str:
    text = " ".join(plain("" if value is None else str(value)).split())
    return text if len(text) <= CELL_CHARS_MAX else text[: CELL_CHARS_MAX - 1] + "…"


def _line(texts: Sequence[str], widths: Sequence[int], to_the_right: Sequence[bool]) -> str:
    padded = [
        text.rjust(width) if right else text.ljust(width)
        for text, width, right in zip(texts, widths, to_the_right, strict=True)
    ]
    return "  ".join(padded).rstrip()


def _tick(what: str, ended: threading.Event) -> None:
    started_s = time.monotonic()
    if ended.wait(PROGRESS_AFTER_S):
        return
    while not ended.wait(0.2):
        sys.stderr.write(f"\r{what} … {time.monotonic() - started_s:.0f} s")
        sys.stderr.flush()
    sys.stderr.write("\r\x1b[K")
    sys.stderr.flush()
