"""pw at"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click

from engine.cli.commands.data import show_rows
from engine.cli.commands.execute import show_preview
from engine.cli.commands.pull import write_files
from engine.cli.commands.show import show_definition, show_functions, show_world
from engine.cli.output import note, progress, say, show_logs
from engine.cli.records import record_line
from engine.cli.shared import ROWS, Pw, command

_NUMBER = re.compile(r"[0-9]{1,16}\Z")
_REVISION = re.compile(r"r([0-9]{1,15})\Z")
_MOMENT = "a record's sequence, r and a revision's number, or a time such as 2026-12-01T09:30 (UTC)"


@command(context_settings={"ignore_unknown_options": True})
@click.argument("world")
@click.argument("moment")
@click.argument("look", required=False)
@click.argument("what", required=False, type=click.UNPROCESSED)
@click.option("--after", metavar="KEY", help="Of data: go on after this key.")
@click.option("--limit", type=ROWS, help="Of data: at most so many rows [100].")
@click.option("--query", default="", help="Of page: what follows the ? of its address.")
@click.option("--force", is_flag=True, help="Of source: overwrite files that differ.")
@click.pass_context
def at(
    ctx: click.Context, pw: Pw, world: str, moment: str, look: str | None, what: str | None, **more: Any
) -> None:
    """Look at WORLD as it was after a record. Nothing is changed or recorded.

    MOMENT is a record's sequence (`pw log` lists them), r3 for what revision 3 made, or a time, such as
    2026-12-01T09:30 (UTC). LOOK is one of:

    \b
      functions         its definitions
      show NAME         one definition
      data [PREFIX]     rows of its data
      source DIR        its sources as files
      execute EXPR      preview an expression there
      page [PATH]       what its page answered; a query may follow a ?
      copy NAME         a new world from there

    Without LOOK: what the record was, and the world then. `pw restore` brings data back.
    """
    world = pw.world(world)
    if look is not None and look not in _LOOKS:
        raise click.UsageError(f"look: there is no {look}; there are {', '.join(_LOOKS)}", ctx)
    seq = record_of(pw, world, moment)
    if look is None:
        _show_moment(pw, world, seq)
        return
    needs, show = _LOOKS[look]
    if needs is not None and what is None:
        raise click.UsageError(f"{look} {needs}: is missing", ctx)
    show(pw, world, seq, what, **more)


def record_of(pw: Pw, world: str, moment: str) -> int:
    """The record that a moment is named by; raises ClickException where it names none."""
    if _NUMBER.match(moment):
        return int(moment)
    if revision := _REVISION.match(moment):
        return pw.client.revision(world, int(revision[1])).seq
    try:
        time = datetime.fromisoformat(moment)
    except ValueError:
        raise click.BadParameter(f"must be {_MOMENT}, not {moment[:40]!r}", param_hint="moment") from None
    return _last_until(pw, world, time if time.tzinfo else time.replace(tzinfo=UTC))


def _last_until(pw: Pw, world: str, time: datetime) -> int:
    """The last record that is not after a time, by bisection: where the clock stepped back, one that is not."""
    low, high = -1, pw.client.world(world).records - 1
    while low < high:
        middle = (low + high + 1) // 2
        row = pw.client.log(world, after=middle - 1 if middle else None, limit=1).records[0]
        if datetime.fromisoformat(row.at) <= time:
            low = middle
        else:
            high = middle - 1
    if low < 0:
        raise click.ClickException(f"the world was not there yet at {time.isoformat()}")
    return low


def _show_moment(pw: Pw, world: str, seq: int) -> None:
    then = pw.client.world(world, at=seq)
    if pw.show_raw():
        return
    row = pw.client.log(world, after=seq - 1 if seq else None, until=seq, limit=1).records[0]
    last = pw.client.world(world).records - 1
    say(f"{'record':<10}{seq} of 0 to {last}: {row.kind} by {row.actor} at {row.at}")
    say(f"{'what':<10}{record_line(row.kind, row.body)}")
    show_world(pw, then)
    show_functions(pw, world, at=seq, apart=True)


def _functions(pw: Pw, world: str, seq: int, what: str | None, **_: Any) -> None:
    show_functions(pw, world, at=seq)


def _show(pw: Pw, world: str, seq: int, what: str, **_: Any) -> None:
    show_definition(pw, world, what, at=seq)


def _data(
    pw: Pw, world: str, seq: int, what: str | None, *, after: str | None, limit: int | None, **_: Any
) -> None:
    show_rows(pw, pw.client.data(world, prefix=what or "", after=after, limit=limit, at=seq))


def _source(pw: Pw, world: str, seq: int, what: str, *, force: bool, **_: Any) -> None:
    write_files(pw, pw.client.source(world, at=seq), what, force=force)


def _execute(pw: Pw, world: str, seq: int, what: str, **_: Any) -> None:
    with progress("executing"):
        answer = pw.client.execute(world, what, at=seq)
    show_preview(pw, answer)


def _page(pw: Pw, world: str, seq: int, what: str | None, *, query: str, **_: Any) -> None:
    path, mark, behind = (what or "/").partition("?")
    if mark and query:
        raise click.UsageError(
            "page: its address has a query already; leave out --query, or what follows the ?"
        )
    with progress("asking the page"):
        view = pw.client.page_view(world, path or "/", query=behind or query, at=seq)
    if pw.show_raw():
        return
    show_logs(view.logs)
    note(
        f"status {view.status}, {view.headers.get('content-type', 'no body')}{', in base64' if view.base64 else ''}"
    )
    say(view.body)


def _copy(pw: Pw, world: str, seq: int, what: str, **_: Any) -> None:
    with progress("copying"):
        made = pw.client.copy(world, what, at=seq)
    if not pw.show_raw():
        say(f"{made.id}")


_LOOKS: dict[str, tuple[str | None, Callable[..., None]]] = {
    "functions": (None, _functions),
    "show": ("NAME", _show),
    "data": (None, _data),
    "source": ("DIR", _source),
    "execute": ("EXPR", _execute),
    "page": (None, _page),
    "copy": ("NAME", _copy),
}
"""What each look needs to be told, and how it is shown."""
