"""pw pull"""

from __future__ import annotations

import os
import re

import click

from engine.cli.output import counted, say
from engine.cli.shared import Pw, command

# A server's answer must not choose where on this machine a file goes.
_FILE_NAME = re.compile(r"[A-Za-z0-9_$][A-Za-z0-9_$.-]{0,200}\Z")


@command()
@click.argument("world")
@click.argument("directory", type=click.Path(file_okay=False))
@click.option("--force", is_flag=True, help="Overwrite files that differ.")
def pull(pw: Pw, world: str, directory: str, force: bool) -> None:
    """Write the sources of WORLD's head into DIRECTORY: files that `pw develop` takes again."""
    write_files(pw, pw.client.source(pw.world(world)), directory, force=force)


def write_files(pw: Pw, files: dict[str, str], directory: str, *, force: bool) -> None:
    """Write the files of an answer; nothing where one that differs would be lost, unless `force`."""
    if pw.show_raw():
        return
    for name in files:
        if not _FILE_NAME.match(name):
            raise click.ClickException(f"the server names a file {name!r}; nothing was written")
    differing = [name for name, text in files.items() if _differs(os.path.join(directory, name), text)]
    if differing and not force:
        raise click.ClickException(
            f"{directory}: {', '.join(differing)} would be overwritten; nothing was written. Use --force"
        )
    os.makedirs(directory, exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(directory, name), "w", encoding="utf-8", newline="") as file:
            file.write(text)
    say(f"{counted(len(files), 'file')} in {directory}")


def _differs(path: str, text: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            return file.read() != text
    except FileNotFoundError:
        return False
