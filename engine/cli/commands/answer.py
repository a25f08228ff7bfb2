"""pw answer"""

from __future__ import annotations

import click

from engine.cli.arguments import argument_value
from engine.cli.output import say
from engine.cli.shared import NUMBER, Pw, command


@command(context_settings={"ignore_unknown_options": True})
@click.argument("world")
@click.argument("n", type=NUMBER)
@click.argument("value", type=click.UNPROCESSED)
@click.option("--reason", default="", help="Why; kept in the record.")
def answer(pw: Pw, world: str, n: int, value: str, reason: str) -> None:
    """Answer the call of incident N by hand and close it. VALUE is JSON, or text when it is not; @FILE reads a file."""
    done = pw.client.answer_incident(pw.world(world), n, argument_value(value), reason=reason)
    if not pw.show_raw():
        say(f"answered, recorded as {done.seq}")
