"""pw worlds"""

from __future__ import annotations

import click

from engine.cli.output import say, table
from engine.cli.shared import Pw, command


@command()
@click.option("--archived", is_flag=True, help="The archived ones too.")
def worlds(pw: Pw, archived: bool) -> None:
    """List worlds. Of incidents the open ones are counted."""
    rows = pw.client.worlds(archived=archived)
    if pw.show_raw():
        return
    if not rows:
        say("There are no worlds yet. Create one: pw new NAME")
        return
    table(
        ["id", "name", "revision", "definitions", "incidents", "created", ""],
        [
            [
                world.id,
                world.name,
                world.revision,
                world.definitions,
                world.incidents,
                world.created_at,
                _marks(world),
            ]
            for world in rows
        ],
    )


def _marks(world) -> str:
    return " ".join(mark for mark in ("archived", "frozen", "purged") if getattr(world, mark))
