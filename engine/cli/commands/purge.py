"""pw purge"""

from __future__ import annotations

import click

from engine.cli.output import say
from engine.cli.shared import Pw, command


@command()
@click.argument("world")
@click.option("--confirm", metavar="ID", required=True, help="The world's whole id, again.")
@click.option("--reason", help="Why; kept with the tombstone.")
def purge(pw: Pw, world: str, confirm: str, reason: str | None) -> None:
    """Erase what a world has recorded, for ever. A tombstone and the chain of its records stay."""
    world_id = confirm if world == confirm else _world_of(pw, world)
    pw.client.purge(world_id, confirm=confirm, reason=reason)
    if not pw.show_raw():
        say(
            f"{world_id} is purged; what it held is being erased, and `pw gc` says when nothing of it is left"
        )


def _world_of(pw: Pw, named: str) -> str:
    from engine.serve.client import ClientError

    try:
        return pw.world(named)
    except ClientError as error:
        hint = "a world whose import was cut off is found by its whole id only: pw purge ID --confirm ID"
        raise ClientError(error.error, f"{error.hint}; {hint}" if error.hint else hint) from None
