"""pw new"""

from __future__ import annotations

import click

from engine.cli.output import say
from engine.cli.shared import Pw, command


@command()
@click.argument("name")
@click.option("--request-id", help="Asked again under the same id, nothing is created twice.")
def new(pw: Pw, name: str, request_id: str | None) -> None:
    """Create a world and print its id."""
    created = pw.client.create(name, request_id=request_id)
    if not pw.show_raw():
        say(created.id)
