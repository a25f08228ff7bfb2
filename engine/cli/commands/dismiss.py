"""pw dismiss"""

from __future__ import annotations

import click

from engine.cli.output import say
from engine.cli.shared import NUMBER, Pw, command


@command()
@click.argument("world")
@click.argument("n", type=NUMBER)
@click.option("--reason", required=True, help="Why; kept in the record.")
def dismiss(pw: Pw, world: str, n: int, reason: str) -> None:
    """Close incident N with a reason and nothing else."""
    done = pw.client.dismiss(pw.world(world), n, reason=reason)
    if not pw.show_raw():
        say(f"dismissed, recorded as {done.seq}")
