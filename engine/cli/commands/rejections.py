"""pw rejections"""

from __future__ import annotations

import click

from engine.cli.output import note, say, show_logs, show_source, table
from engine.cli.shared import NUMBER, ROWS, Pw, command


@command()
@click.argument("world")
@click.argument("n", required=False, type=NUMBER)
@click.option("--limit", type=ROWS, help="At most so many [100].")
@click.option("--before", type=NUMBER, help="Only rejections below this number.")
def rejections(pw: Pw, world: str, n: int | None, limit: int | None, before: int | None) -> None:
    """List rejected attempts, newest first, or show rejection N with its source."""
    if n is not None:
        _show(pw, pw.world(world), n)
        return
    page = pw.client.rejections(pw.world(world), limit=limit, before=before)
    if pw.show_raw():
        return
    table(
        ["rejection", "base", "kind", "actor", "at", "reason"],
        [[row.n, row.base, row.kind, row.actor, row.at, row.reason] for row in page.rejections],
    )
    if page.more:
        note(f"there are more: --before {page.rejections[-1].n}")


def _show(pw: Pw, world: str, n: int) -> None:
    row = pw.client.rejection(world, n)
    if pw.show_raw():
        return
    say(f"rejection {row.n} on revision {row.base}: {row.kind}, by {row.actor} at {row.at}")
    say(row.reason)
    if row.check:
        say(f"check: {row.check}")
    show_logs(row.logs)
    say()
    show_source(row.source)
