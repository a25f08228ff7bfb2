"""pw incidents"""

from __future__ import annotations

import click

from engine.cli.arguments import file_text
from engine.cli.output import note, progress, say, show_json, show_logs, table, warn
from engine.cli.shared import NUMBER, ROWS, Pw, command, fail
from engine.cli.steps import show_replay


@command()
@click.argument("world")
@click.argument("n", required=False, type=NUMBER)
@click.option("--limit", type=ROWS, help="At most so many [100].")
@click.option("--before", type=NUMBER, help="Only incidents below this number.")
@click.option("--replay", is_flag=True, help="Run incident N again: what it read, wrote, printed and asked.")
@click.option(
    "--try",
    "edit",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Replay, then once more on what a develop of FILE would make; the world is not touched.",
)
@click.option("--commonjs", metavar="NAME", help="FILE is a CommonJS library: define NAME as its exports.")
@click.option("--step", "stepping", is_flag=True, help="Replay, and wait for Enter after each step.")
def incidents(
    pw: Pw,
    world: str,
    n: int | None,
    limit: int | None,
    before: int | None,
    replay: bool,
    edit: str | None,
    commonjs: str | None,
    stepping: bool,
) -> None:
    """List incidents, newest first, or show incident N: everything needed to run it again."""
    if replay or edit is not None or stepping:
        if n is None:
            raise click.UsageError("n: which incident? `pw incidents WORLD` lists them")
        _replay(pw, pw.world(world), n, edit, commonjs, stepping=stepping)
        return
    if commonjs is not None:
        raise click.UsageError("--commonjs: goes with --try FILE")
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


def _replay(pw: Pw, world: str, n: int, edit: str | None, commonjs: str | None, *, stepping: bool) -> None:
    """Print the incident's run again; status 1 where it is not as recorded, or the edit does not make it succeed."""
    from engine.host.incident_answers import TryRejected

    source = file_text(edit) if edit is not None else None
    with progress("replaying"):
        replayed = pw.client.replay_incident(world, n, source=source, commonjs=commonjs)
    raw = pw.show_raw()
    if isinstance(replayed, TryRejected):
        if not raw:
            show_logs(replayed.logs)
            warn(f"the edit is no change that would be accepted ({replayed.kind}): {replayed.reason}")
        fail()
        return
    if not raw:
        went_well = show_replay(replayed, stepping=stepping)
    else:
        ended = replayed.tried.now.outcome if replayed.tried is not None else None
        went_well = ended == "value" if ended is not None else replayed.same
    if not went_well:
        fail()


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
        note(
            f"pw incidents {world} {n} --replay runs it again; pw retry {world} {n}, or pw answer, or pw dismiss"
        )
