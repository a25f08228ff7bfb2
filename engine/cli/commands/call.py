"""pw call"""

from __future__ import annotations

from typing import Any

import click

from engine.cli.arguments import argument_value
from engine.cli.output import progress, say, show_json, show_logs, warn
from engine.cli.shared import Pw, command, fail


@command(context_settings={"ignore_unknown_options": True})
@click.argument("world")
@click.argument("function")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--request-id", help="Asked again under the same id, nothing is done twice.")
@click.option(
    "--no-wait", is_flag=True, help="Return once the call is durably admitted; `pw operation` has the rest."
)
def call(
    pw: Pw, world: str, function: str, args: tuple[str, ...], request_id: str | None, no_wait: bool
) -> None:
    """Call FUNCTION with ARGS and print its value as JSON.

    Each argument is JSON, or text when it is not; @FILE reads a file.
    """
    values = [argument_value(text) for text in args]
    if no_wait:
        _start(pw, pw.world(world), function, values, request_id)
        return
    with progress("calling"):
        answer = pw.client.call(pw.world(world), function, values, request_id=request_id)
    show_outcome(pw, answer)


def _start(pw: Pw, world: str, function: str, values: list[Any], request_id: str | None) -> None:
    started = pw.client.start_call(world, function, values, request_id=request_id)
    if not pw.show_raw():
        say(f"admitted as operation {started.operation}: pw operation {world} {started.operation}")


def show_outcome(pw: Pw, answer) -> None:
    """Print the value, or the failure, which ends `pw` with status 1."""
    if not pw.show_raw():
        show_logs(answer.logs)
        if answer.ok:
            show_json(bytes(answer.value))
        else:
            incident = getattr(answer, "incident", None)
            kept = "" if incident is None else f", kept as incident {incident}"
            warn(f"failed ({answer.failure}{kept}): {answer.error}", answer.hint)
    if not answer.ok:
        fail()
