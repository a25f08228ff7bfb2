"""pw verify"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from engine.cli.output import counted, progress, say, warn
from engine.cli.shared import Pw, command, fail, is_file

if TYPE_CHECKING:
    from engine.host.recording_answers import Verified


@command()
@click.argument("what", metavar="[WORLD|FILE]", required=False)
def verify(pw: Pw, what: str | None) -> None:
    """Verify the record chain and all blobs of WORLD, of the recording FILE, or of all worlds of the server.

    Nothing is executed. A problem ends with status 1; FILE needs no server.
    """
    sound = True
    for name, found in _verified(pw, what):
        sound = sound and not found.problems
        _show(pw, name, found)
    if not sound:
        fail()


def _verified(pw: Pw, what: str | None) -> Iterator[tuple[str, Verified]]:
    if what is not None and is_file(what):
        from engine.host.recording_files import verify_recording

        with open(what, "rb") as file, progress("verifying"):
            found = verify_recording(file, what)
        yield what, found
        return
    worlds = [pw.world(what)] if what is not None else [w.id for w in pw.client.worlds(archived=True)]
    for world in worlds:
        with progress(f"verifying {world}"):
            found = pw.client.verify(world)
        yield world, found


def _show(pw: Pw, name: str, found: Verified) -> None:
    import msgspec

    if pw.as_json:
        click.echo(json.dumps(msgspec.to_builtins(found), ensure_ascii=False))
        return
    counts = (
        f"{counted(found.records, 'record')}, {found.erased} without a body, {counted(found.blobs, 'blob')}"
    )
    say(f"{name}: {counts}: {'sound' if not found.problems else counted(len(found.problems), 'problem')}")
    for problem in found.problems:
        warn(str(problem))
