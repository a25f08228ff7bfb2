"""pw backup"""

from __future__ import annotations

import os.path

import click

from engine.cli.output import progress, say
from engine.cli.shared import Pw, command


@command()
@click.argument("directory", type=click.Path(file_okay=False))
@click.option("--restore", is_flag=True, help="Copy the backup in DIRECTORY into the empty directory --home.")
def backup(pw: Pw, directory: str, restore: bool) -> None:
    """Copy a consistent image of the running server's data into DIRECTORY, on the server's machine.

    With --restore, which needs no server: verify the backup in DIRECTORY and copy it into --home.
    """
    if restore:
        report = _restored(directory, pw.home)
    else:
        with progress("backing up"):
            report = pw.client.backup(os.path.abspath(directory))
        if pw.show_raw():
            return
    for name, value in report.items():
        say(f"{name:<24}{value}")


def _restored(directory: str, home: str) -> dict[str, object]:
    from engine.host import CannotOpen, restore

    try:
        with progress("restoring"):
            return restore(os.path.abspath(directory), home)
    except CannotOpen as error:
        raise click.ClickException(str(error)) from None
