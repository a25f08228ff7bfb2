"""pw import"""

from __future__ import annotations

import click

from engine.cli.output import counted, note, progress, say
from engine.cli.shared import Pw, command


@command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--as", "name", metavar="NAME", help="Make a new world of this name from what it was at its end."
)
@click.option("--request-id", help="Asked again under the same id, no second copy is made.")
def import_(pw: Pw, file: str, name: str | None, request_id: str | None) -> None:
    """Make the world of the recording FILE one of this server's. It keeps its id, its records and their hashes.

    Nobody may open its page and it may call no other world until that is allowed here.
    """
    from engine.host.recording_answers import AlreadyHere, Imported

    with open(file, "rb") as recording, progress("importing"):
        answer = pw.client.import_recording(recording, name=name, request_id=request_id)
    if pw.show_raw():
        return
    say(answer.id)
    if isinstance(answer, AlreadyHere):
        note(f"nothing was done: all of it is here already, {counted(answer.records, 'record')}")
    elif isinstance(answer, Imported):
        note(f"{counted(answer.records, 'record')} of {answer.name}, here as lineage {answer.lineage}")
