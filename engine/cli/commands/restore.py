"""pw restore"""

from __future__ import annotations

import click

from engine.cli.commands.at import record_of
from engine.cli.output import note, progress, say
from engine.cli.shared import Pw, command


@command()
@click.argument("world")
@click.argument("moment")
@click.option("--prefix", default="", help="Only the keys that begin with this.")
@click.option("--reason", help="Why; kept in the record. Needed unless it is a dry run.")
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@click.option("--request-id", help="Asked again under the same id, nothing is done twice.")
def restore(
    pw: Pw, world: str, moment: str, prefix: str, reason: str | None, dry_run: bool, request_id: str | None
) -> None:
    """Bring data back as it was after a record. Code stays as it is: `pw rollback` is for that.

    MOMENT is as in `pw at`.
    """
    if not dry_run and not (reason or "").strip():
        wrong = "is missing" if reason is None else "must not be blank"
        raise click.UsageError(f"--reason: {wrong}; it is kept in the record")
    world = pw.world(world)
    seq = record_of(pw, world, moment)
    with progress("bringing data back"):
        done = pw.client.restore(
            world, seq, prefix=prefix, reason=reason or "", dry_run=dry_run, request_id=request_id
        )
    if pw.show_raw():
        return
    for what, keys in (("set", done.restored.set), ("delete", done.restored.deleted)):
        for key in keys:
            say(f"{what:<8}{key}")
    count = len(done.restored.set) + len(done.restored.deleted)
    changed = "1 key" if count == 1 else f"{count} keys"
    if done.seq is None:
        note(f"a dry run: {changed} would change")
    else:
        say(f"{changed} brought back as after record {done.at}, recorded as {done.seq}")
