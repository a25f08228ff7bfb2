"""pw rollback"""

from __future__ import annotations

import click

from engine.cli.commands.develop import show_attempt
from engine.cli.output import progress
from engine.cli.shared import NUMBER, Pw, command


@command()
@click.argument("world")
@click.argument("revision", type=NUMBER)
@click.option("--reason", required=True, help="Why; kept in the record.")
@click.option("--force", is_flag=True, help="Also where a check fails on it; recorded.")
@click.option("--request-id", help="Asked again under the same id, nothing is done twice.")
def rollback(pw: Pw, world: str, revision: int, reason: str, force: bool, request_id: str | None) -> None:
    """Make the heap of REVISION the head again, as a new revision. Data stays as it is."""
    with progress("rolling back"):
        answer = pw.client.rollback(
            pw.world(world), revision, reason=reason, force=force, request_id=request_id
        )
    show_attempt(pw, answer)
