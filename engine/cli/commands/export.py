"""pw export"""

from __future__ import annotations

import os
import sys

import click

from engine import limits
from engine.cli.output import note, plain, progress, say
from engine.cli.shared import Pw, Whole, command

STANDARD_OUTPUT = "-"


@command()
@click.argument("world")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help='Where it goes, "-" for standard output; without it WORLD.pwrec here.',
)
@click.option("--redact", is_flag=True, help="Leave out arguments, results, data and previews.")
@click.option(
    "--until", type=Whole(0, limits.NUMBER_MAX), help="The last record, in place of the world's last."
)
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
def export(pw: Pw, world: str, output: str | None, redact: bool, until: int | None, force: bool) -> None:
    """Write WORLD as a recording: one file with all that replaying or importing it elsewhere needs.

    FILE is there once all of it is on disk, or not at all.
    """
    world = pw.world(world)
    if output == STANDARD_OUTPUT:
        pw.client.save_recording(world, sys.stdout.buffer, redact=redact, until=until)
        sys.stdout.flush()
        return
    path = output or f"{world}.pwrec"
    if os.path.lexists(path) and not force:
        raise click.ClickException(f"{path} is there already; nothing was written. Use --force")
    with progress("exporting"):
        size_bytes = _write(pw, world, path, redact=redact, until=until)
    _tell(path, size_bytes)


def _write(pw: Pw, world: str, path: str, *, redact: bool, until: int | None) -> int:
    """Write it beside `path` first, so that nobody sees half a recording."""
    temporary = f"{path}.{os.getpid()}.part"
    try:
        with open(temporary, "xb") as file:
            size_bytes = pw.client.save_recording(world, file, redact=redact, until=until)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        raise
    directory = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    return size_bytes


def _tell(path: str, size_bytes: int) -> None:
    from engine.host.recording_files import manifest_of

    with open(path, "rb") as file:
        manifest = manifest_of(file)
    say(f"{plain(path)}: {manifest.records} records of {manifest.world}, {size_bytes} bytes")
    note(manifest.warning)
