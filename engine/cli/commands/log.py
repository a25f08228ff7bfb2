"""pw log"""

from __future__ import annotations

import click

from engine import limits
from engine.cli.output import note, table
from engine.cli.records import record_line
from engine.cli.shared import ROWS, Pw, Whole, command

FROM_THE_FIRST = -1


@command()
@click.argument("world")
@click.option(
    "--after",
    type=Whole(FROM_THE_FIRST, limits.NUMBER_MAX),
    help="The records past this sequence, -1 for all; without it the newest.",
)
@click.option("--limit", type=ROWS, default=limits.PAGE_ROWS_DEFAULT, help="At most so many [100].")
def log(pw: Pw, world: str, after: int | None, limit: int) -> None:
    """List the newest of a world's records, the newest last. --json shows their bodies and hashes too."""
    world = pw.world(world)
    newest = after is None
    if after is None:
        after = max(pw.client.world(world).records - 1 - limit, FROM_THE_FIRST)
    page = pw.client.log(world, after=None if after == FROM_THE_FIRST else after, limit=limit)
    if pw.show_raw():
        return
    table(
        ["sequence", "kind", "actor", "at", "what"],
        [[row.seq, row.kind, row.actor, row.at, record_line(row.kind, row.body)] for row in page.records],
    )
    if newest and after > FROM_THE_FIRST:
        before = f"--after {after - limit}, or " if after - limit > FROM_THE_FIRST else ""
        note(f"there are older ones: {before}--after {FROM_THE_FIRST} for the first")
    elif page.more:
        note(f"there are more: --after {page.records[-1].seq}")
