"""pw grants"""

from __future__ import annotations

import click

from engine.cli.output import say, table
from engine.cli.shared import Pw, command


@command()
@click.argument("world")
@click.option("--allow", metavar="WORLD", multiple=True, help="Let WORLD call this one too.")
@click.option("--deny", metavar="WORLD", multiple=True, help="Let WORLD call this one no more.")
def grants(pw: Pw, world: str, allow: tuple[str, ...], deny: tuple[str, ...]) -> None:
    """Show which other worlds WORLD may call, none at first, and allow or deny some."""
    world = pw.world(world)
    granted = pw.client.grants(world).worlds
    if allow or deny:
        denied = {pw.world(name) for name in deny}
        wanted = [*granted, *(pw.world(name) for name in allow)]
        granted = pw.client.set_grants(world, sorted({one for one in wanted if one not in denied})).worlds
    if pw.show_raw():
        return
    if not granted:
        say(f"{world} may call no other world. Allow one: pw grants {world} --allow WORLD")
        return
    names = {row.id: row.name for row in pw.client.worlds(archived=True)}
    table(["may call", "name"], [[one, names.get(one, "")] for one in granted])
