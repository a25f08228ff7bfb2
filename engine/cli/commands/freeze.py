"""pw freeze"""

from __future__ import annotations

import click

from engine.cli.output import say
from engine.cli.shared import Pw, command


@command()
@click.argument("world")
@click.option("--undo", is_flag=True, help="Allow new revisions again.")
def freeze(pw: Pw, world: str, undo: bool) -> None:
    """Refuse new revisions of a world. Calls go on."""
    changed = pw.client.change(pw.world(world), frozen=not undo)
    if not pw.show_raw():
        say(f"{changed.id} is {'frozen' if changed.frozen else 'open to change'}")
