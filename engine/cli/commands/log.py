"""pw log"""

from __future__ import annotations

import click

from engine.cli.output import note, table
from engine.cli.shared import NUMBER, ROWS, Pw, command


@command()
@click.argument("world")
@click.option("--after", type=NUMBER, help="Only records past this sequence.")
@click.option("--limit", type=ROWS, help="At most so many [100].")
def log(pw: Pw, world: str, after: int | None, limit: int | None) -> None:
    """List a world's records, oldest first. --json shows their bodies too."""
    page = pw.client.log(pw.world(world), after=after, limit=limit)
    if pw.show_raw():
        return
    table(
        ["sequence", "kind", "actor", "at", "hash", ""],
        [
            [row.seq, row.kind, row.actor, row.at, row.hash[:16], "erased" if row.body is None else ""]
            for row in page.records
        ],
    )
    if page.more:
        note(f"there are more: --after {page.records[-1].seq}")
