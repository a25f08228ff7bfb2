"""pw rename"""

from __future__ import annotations

import click

from engine.cli.output import say
from engine.cli.shared import Pw, command


@command()
@click.argument("world")
@click.argument("name")
def rename(pw: Pw, world: str, name: str) -> None:
    """Give a world another name. Its id stays."""
    changed = pw.client.change(pw.world(world), name=name)
    if not pw.show_raw():
        say(f"{changed.id} is now named {changed.name}")
