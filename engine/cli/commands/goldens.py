"""pw goldens"""

from __future__ import annotations

import os.path
import subprocess
import sys
from typing import TYPE_CHECKING, cast

import click

import engine
from engine.cli.commands.develop import show_attempt
from engine.cli.differences import call_text, each_once, outcome_text, show_differences
from engine.cli.output import changes_text, note, progress, say, show_logs, show_source, table, warn
from engine.cli.shared import NUMBER, ROWS, Command, ListingGroup, Pw, fail

if TYPE_CHECKING:
    from engine.host.golden_answers import GoldenPage, GoldenRow, HeldRow


class _Group(ListingGroup):
    """Without any argument it lists, too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_list = not args or (args[0].startswith("-") and args[0] not in ("-h", "--help"))
        return super().parse_args(ctx, ["list", *args] if is_list else args)


@click.group(cls=_Group)
def goldens() -> None:
    """Pinned results, and the changes that are held because of them.

    `pw goldens` lists those of all worlds, `pw goldens WORLD` is `pw goldens list WORLD`. An ID is a world, a dot and a
    number, as the lists show it.
    """


@goldens.command("list", cls=Command)
@click.argument("world", required=False)
@click.option("--limit", type=ROWS, help="Of WORLD, at most so many [100].")
@click.option("--before", type=NUMBER, help="Of WORLD, only those below this number.")
def list_goldens(pw: Pw, world: str | None, limit: int | None, before: int | None) -> None:
    """List what is pinned and held in all worlds, or all that WORLD ever pinned or held, newest first."""
    page = (
        pw.client.all_goldens()
        if world is None
        else pw.client.goldens(pw.world(world), limit=limit, before=before)
    )
    if pw.show_raw():
        return
    for row in page.held:
        _show_held(row, whole=False)
    if page.goldens:
        table(
            ["golden", "name", "state", "call", "result", "at"],
            [
                [row.id, row.name, _state(row), call_text(row.call), outcome_text(row.outcome), row.at]
                for row in page.goldens
            ],
        )
    _show_end(page)


@goldens.command("show", cls=Command)
@click.argument("id")
def show(pw: Pw, id: str) -> None:
    """Show a pinned result, or a held change with its source."""
    from engine.host.golden_answers import HeldRow

    world, n = _named(pw, id)
    row = pw.client.golden(world, n)
    if pw.show_raw():
        return
    if isinstance(row, HeldRow):
        _show_held(row, whole=True)
    else:
        _show_golden(row)


@goldens.command("pin", cls=Command)
@click.argument("world")
@click.argument("call", type=NUMBER)
@click.option("--name", help="What it is pinned as; else the function's name.")
@click.option("--reason", help="Why; kept with it.")
@click.option("--request-id", help="Asked again under the same id, nothing is done twice.")
def pin(pw: Pw, world: str, call: int, name: str | None, reason: str | None, request_id: str | None) -> None:
    """Pin what the recorded CALL (a record's number: `pw log`) of WORLD came to."""
    from engine.host.golden_answers import RefusedPin

    for option, text in (("--name", name), ("--reason", reason)):
        if text is not None and not text.strip():
            raise click.UsageError(f"{option}: must not be blank; leave it out where there is none")
    id = pw.world(world)
    with progress("running it again"):
        pinned = pw.client.pin(id, call, name=name or "", reason=reason or "", request_id=request_id)
    raw = pw.show_raw()
    if isinstance(pinned, RefusedPin):
        if not raw:
            warn(f"refused ({pinned.kind}), kept as rejection {pinned.rejection}: {pinned.reason}")
        fail()
    elif not raw:
        # A call that was pinned before is to come to what was blessed last.
        row = cast("GoldenRow", pw.client.golden(id, pinned.golden))
        say(f"pinned as {pinned.id}: {call_text(row.call)} comes to {outcome_text(row.outcome)}")


@goldens.command("unpin", cls=Command)
@click.argument("id")
@click.option("--reason", required=True, help="Why; kept for ever.")
def unpin(pw: Pw, id: str, reason: str) -> None:
    """Unpin a result: changes of it are held no more."""
    world, n = _named(pw, id)
    done = pw.client.unpin(world, n, reason=reason)
    if not pw.show_raw():
        say(f"unpinned, recorded as {done.seq}")


@goldens.command("bless", cls=Command)
@click.argument("id")
@click.option("--reason", default="", help="Why; kept with the revision.")
@click.option("--request-id", help="Asked again under the same id, nothing is done twice.")
def bless(pw: Pw, id: str, reason: str, request_id: str | None) -> None:
    """Take a held change, if it changes no results but those that it had shown: they are pinned as they are then."""
    world, n = _named(pw, id)
    with progress("attempting it again"):
        answer = pw.client.bless(f"{world}.{n}", reason=reason, request_id=request_id)
    show_attempt(pw, answer)


@goldens.command("reject", cls=Command)
@click.argument("id")
@click.option("--reason", required=True, help="Why; kept for ever.")
def reject(pw: Pw, id: str, reason: str) -> None:
    """Reject a held change."""
    world, n = _named(pw, id)
    done = pw.client.reject(f"{world}.{n}", reason=reason)
    if not pw.show_raw():
        say(f"rejected, recorded as {done.seq}")


@goldens.command("repository", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def repository(arguments: tuple[str, ...]) -> None:
    """Check, list or bless the goldens of this checkout: python -m goldens."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(engine.__file__)))
    if not os.path.isfile(os.path.join(root, "goldens", "__main__.py")):
        raise click.ClickException(f"{root}: holds no goldens; they are part of a checkout")
    ended = subprocess.run([sys.executable, "-m", "goldens", *arguments], cwd=root, check=False)
    click.get_current_context().exit(ended.returncode)


def _named(pw: Pw, id: str) -> tuple[str, int]:
    """World and number of an id, whose world may be named as worlds are."""
    world, dot, n = id.rpartition(".")
    if not dot or not n.isascii() or not n.isdigit() or len(n) > 15:
        raise click.UsageError(f"id: must be WORLD.NUMBER, not {id[:40]!r}; `pw goldens` lists them")
    return pw.world(world), int(n)


def _show_held(row: HeldRow, *, whole: bool) -> None:
    say(
        f"held {row.id}, {row.state}: {row.cause} on revision {row.base}  {changes_text(row.changes)}".rstrip()
    )
    if row.summary:
        say(f"  {row.summary}")
    show_differences(each_once(row.goldens, row.differs))
    if row.ended is not None:
        by = f", {row.ended.by}" if row.ended.by else ""
        said = f": {row.ended.reason}" if row.ended.reason else ""
        say(f"  {row.state} by {row.ended.actor} at {row.ended.at}{by}{said}")
    if row.state == "open":
        note(f"pw goldens bless {row.id}, or pw goldens reject {row.id} --reason TEXT")
    if whole:
        show_logs(row.logs)
        show_source(row.source or "")
    say()


def _state(row: GoldenRow) -> str:
    return f"{row.state}, differs at the head" if row.differs else row.state


def _show_golden(row: GoldenRow) -> None:
    say(f'golden {row.id}, {_state(row)}: "{row.name}", by {row.actor} at {row.at}')
    if row.reason:
        say(f"  {row.reason}")
    say(f"{call_text(row.call)}, record {row.call.seq}, comes to {outcome_text(row.outcome)}")
    if row.differs:
        note("the head gives something else, since a rollback was forced")
    if row.blessed is not None:
        said = f": {row.blessed.reason}" if row.blessed.reason else ""
        say(f"blessed with {row.blessed.held} as revision {row.blessed.revision} at {row.blessed.at}{said}")
    if row.ended is not None:
        say(f"unpinned by {row.ended.actor} at {row.ended.at}: {row.ended.reason}")


def _show_end(page: GoldenPage) -> None:
    numbers = [*(row.n for row in page.goldens), *(row.n for row in page.held)]
    if not numbers:
        note("nothing is pinned and nothing is held; `pw goldens pin WORLD CALL` pins what a call came to")
    elif page.more:
        note(f"there are more: --before {min(numbers)}")
