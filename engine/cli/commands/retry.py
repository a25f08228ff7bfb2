"""pw retry"""

from __future__ import annotations

import click

from engine.cli.commands.call import show_outcome
from engine.cli.output import progress
from engine.cli.shared import NUMBER, Pw, command


@command()
@click.argument("world")
@click.argument("n", type=NUMBER)
@click.option("--request-id", help="Asked again under the same id, nothing is done twice.")
def retry(pw: Pw, world: str, n: int, request_id: str | None) -> None:
    """Make the failed call of incident N again, at the head. If it succeeds, the incident is closed."""
    with progress("retrying"):
        answer = pw.client.retry(pw.world(world), n, request_id=request_id)
    show_outcome(pw, answer)
