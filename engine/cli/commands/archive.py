"""pw archive"""

from __future__ import annotations

import click

from engine.cli.output import say
from engine.cli.shared import Pw, command


@command()
@click.argument("world")
@click.option("--undo", is_flag=True, help="Bring it back.")
def archive(pw: Pw, world: str, undo: bool) -> None:
    """Archive a world: it takes no more work and leaves the list. Nothing is erased."""
    changed = pw.client.change(pw.world(world), archived=not undo)
    if not pw.show_raw():
        say(f"{changed.id} is {'archived' if changed.archived else 'active'}")
