"""pw data"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.cli.arguments import argument_value
from engine.cli.output import note, say, show_json, table
from engine.cli.shared import ROWS, Command, ListingGroup, Pw

if TYPE_CHECKING:
    from engine.host.answers import DataPage

_REASON = click.option("--reason", required=True, help="Why; kept in the record.")


@click.group(cls=ListingGroup)
def data() -> None:
    """List, read, set and delete a world's data. `pw data WORLD` is `pw data list WORLD`."""


@data.command("list", cls=Command)
@click.argument("world")
@click.argument("prefix", default="")
@click.option("--after", metavar="KEY", help="Go on after this key.")
@click.option("--limit", type=ROWS, help="At most so many [100].")
def list_rows(pw: Pw, world: str, prefix: str, after: str | None, limit: int | None) -> None:
    """List the rows whose keys begin with PREFIX."""
    show_rows(pw, pw.client.data(pw.world(world), prefix=prefix, after=after, limit=limit))


def show_rows(pw: Pw, page: DataPage) -> None:
    """A table of rows."""
    if pw.show_raw():
        return
    table(
        ["key", "value"],
        [[row.key, bytes(row.value).decode("utf-8", "backslashreplace")] for row in page.items],
    )
    if page.more:
        note("there are more: --after KEY, with the last key above")


@data.command("get", cls=Command)
@click.argument("world")
@click.argument("key")
def get_row(pw: Pw, world: str, key: str) -> None:
    """Print the value of KEY as JSON."""
    # The key itself is the first of all keys that begin with it.
    page = pw.client.data(pw.world(world), prefix=key, limit=1)
    if not page.items or page.items[0].key != key:
        raise click.ClickException(f"there is no key {key}")
    if not pw.show_raw():
        show_json(bytes(page.items[0].value))


@data.command("set", cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument("world")
@click.argument("key")
@click.argument("value", type=click.UNPROCESSED)
@_REASON
def set_row(pw: Pw, world: str, key: str, value: str, reason: str) -> None:
    """Set KEY to VALUE: JSON, or text when it is not; @FILE reads a file."""
    done = pw.client.set_data(pw.world(world), key, argument_value(value), reason=reason)
    if not pw.show_raw():
        say(f"set, recorded as {done.seq}")


@data.command("delete", cls=Command)
@click.argument("world")
@click.argument("key")
@_REASON
def delete_row(pw: Pw, world: str, key: str, reason: str) -> None:
    """Delete KEY."""
    done = pw.client.delete_data(pw.world(world), key, reason=reason)
    if not pw.show_raw():
        say(f"deleted, recorded as {done.seq}")
