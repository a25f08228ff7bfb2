"""pw execute"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.cli.commands.call import show_outcome
from engine.cli.output import note, progress
from engine.cli.shared import Pw, command

if TYPE_CHECKING:
    from engine.host.answers import PreviewFailed, PreviewOk


@command()
@click.argument("world")
@click.argument("expression")
def execute(pw: Pw, world: str, expression: str) -> None:
    """Preview EXPRESSION in WORLD: print its value; what it would write is rolled back and listed."""
    with progress("executing"):
        answer = pw.client.execute(pw.world(world), expression)
    show_preview(pw, answer)


def show_preview(pw: Pw, answer: PreviewOk | PreviewFailed) -> None:
    """The value and what was rolled back, or the failure, which ends `pw` with status 1."""
    if not pw.as_json:
        for what, keys in (("set", answer.rolled_back.set), ("deleted", answer.rolled_back.deleted)):
            if keys:
                note(f"rolled back, {what}: {', '.join(keys)}")
    show_outcome(pw, answer)
