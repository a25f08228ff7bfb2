"""pw operation"""

from __future__ import annotations

import json

import click

from engine.cli.output import say, show_json
from engine.cli.shared import NUMBER, Pw, command, fail


@command()
@click.argument("world")
@click.argument("n", type=NUMBER)
def operation(pw: Pw, world: str, n: int) -> None:
    """Show what became of operation N: its state, and its answer once it has ended."""
    state = pw.client.operation(pw.world(world), n)
    answer = json.loads(bytes(state.answer)) if state.answer is not None else {}
    if not pw.show_raw():
        say(f"operation {state.operation}: {state.state}")
        if state.answer is not None:
            show_json(bytes(state.answer))
    if answer.get("ok") is False:
        fail()
