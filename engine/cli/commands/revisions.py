"""pw revisions"""

from __future__ import annotations

import click

from engine.cli.output import changes_text, note, say, show_source, table
from engine.cli.shared import NUMBER, ROWS, Pw, command


@command()
@click.argument("world")
@click.argument("n", required=False, type=NUMBER)
@click.option("--limit", type=ROWS, help="At most so many [100].")
@click.option("--before", type=NUMBER, help="Only revisions below this number.")
def revisions(pw: Pw, world: str, n: int | None, limit: int | None, before: int | None) -> None:
    """List revisions, newest first, or show revision N with its source."""
    if n is not None:
        _show(pw, pw.world(world), n)
        return
    page = pw.client.revisions(pw.world(world), limit=limit, before=before)
    if pw.show_raw():
        return
    table(
        ["revision", "parent", "kind", "actor", "at", "bytes", "changes", "summary"],
        [
            [
                row.n,
                row.parent,
                row.kind,
                row.actor,
                row.at,
                row.bytes,
                changes_text(row.changes),
                row.summary,
            ]
            for row in page.revisions
        ],
    )
    if page.more:
        note(f"there are more: --before {page.revisions[-1].n}")


def _show(pw: Pw, world: str, n: int) -> None:
    row = pw.client.revision(world, n)
    if pw.show_raw():
        return
    parent = "" if row.parent is None else f" on {row.parent}"
    say(f"revision {row.n}{parent}: {row.kind} by {row.actor} at {row.at}")
    say(f"snapshot {row.snapshot}, {row.bytes} bytes")
    for line in (row.summary, changes_text(row.changes)):
        if line:
            say(line)
    if row.source:
        say()
        show_source(row.source)
