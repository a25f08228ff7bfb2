"""pw incidents"""

from __future__ import annotations

import click

from engine.cli.output import note, say, show_json, show_logs, table
from engine.cli.shared import NUMBER, ROWS, Pw, command


@command()
@click.argument("world")
@click.argument("n", required=False, type=NUMBER)
@click.option("--limit", type=ROWS, help="At most so many [100].")
@click.option("--before", type=NUMBER, help="Only incidents below this number.")
def incidents(pw: Pw, world: str, n: int | None, limit: int | None, before: int | None) -> None:
    """List incidents, newest first, or show incident N: everything needed to run it again."""
    if n is not None:
        _show(pw, pw.world(world), n)
        return
    page = pw.client.incidents(pw.world(world), limit=limit, before=before)
    if pw.show_raw():
        return
    table(
        ["incident", "kind", "function", "state", "alike", "at", "error"],
        [
            [row.n, row.kind, row.function, row.state, row.alike, row.at, row.error.partition("\n")[0]]
            for row in page.incidents
        ],
    )
    if page.more:
        note(f"there are more: --before {page.incidents[-1].n}")


def _show(pw: Pw, world: str, n: int) -> None:
    row = pw.client.incident(world, n)
    if pw.show_raw():
        return
    say(f"incident {row.n}: {row.kind} in {row.function}, {row.state}, by {row.actor} at {row.at}")
    say(
        f"revision {row.revision}, snapshot {row.snapshot}, flick {row.flick}, seed {row.seed}, {row.alike} alike"
    )
    say(row.error)
    if row.hint:
        note(f"hint: {row.hint}")
    show_logs(row.logs)
    say("arguments:")
    show_json(bytes(row.args))
    for heard in row.answers:
        say(f"heard from {heard.world}.{heard.function}: {heard.value}")
    if row.retried is not None:
        say(f"retried: record {row.retried}")
    if row.closed_reason:
        say(f"closed: {row.closed_reason}")
    if row.answer is not None:
        say("answered by hand:")
        show_json(bytes(row.answer))
    if row.state == "open":
        note(f"pw retry {world} {n}, or pw answer, or pw dismiss")
