"""pw check"""

from __future__ import annotations

import click

from engine.cli.arguments import text_value
from engine.cli.output import progress, say, show_source, table, warn
from engine.cli.shared import Command, ListingGroup, Pw, fail


@click.group(cls=ListingGroup)
def check() -> None:
    """List, enrol and remove a world's checks. `pw check WORLD` is `pw check list WORLD`."""


@check.command("list", cls=Command)
@click.argument("world")
@click.argument("name", required=False)
@click.option("--removed", is_flag=True, help="Those that were removed, and why.")
def list_checks(pw: Pw, world: str, name: str | None, removed: bool) -> None:
    """List the checks of WORLD, or show the check NAME."""
    checks = pw.client.checks(pw.world(world))
    if pw.show_raw():
        return
    if removed:
        rows = [[row.name, row.actor, row.at, row.reason] for row in checks.removed]
        table(["removed check", "actor", "at", "reason"], rows)
    elif name is None:
        table(
            ["check", "revision", "inputs", "expression"],
            [[row.name, row.revision, row.inputs or "", row.expression] for row in checks.checks],
        )
    else:
        _show(next((row for row in checks.checks if row.name == name), None), name)


@check.command("add", cls=Command)
@click.argument("world")
@click.argument("name")
@click.argument("expression")
@click.option(
    "--counterexample", required=True, help="A source whose develop must make the check fail; @FILE reads."
)
@click.option("--generator", help="Draws inputs; EXPRESSION is then a function of one. @FILE reads.")
@click.option("--request-id", help="Asked again under the same id, nothing is done twice.")
def add(
    pw: Pw,
    world: str,
    name: str,
    expression: str,
    counterexample: str,
    generator: str | None,
    request_id: str | None,
) -> None:
    """Enrol a check: EXPRESSION (@FILE reads one) must be true now and after every change."""
    from engine.host.answers import RefusedCheck

    with progress("enrolling"):
        answer = pw.client.enrol(
            pw.world(world),
            name,
            text_value(expression),
            text_value(counterexample),
            generator=None if generator is None else text_value(generator),
            request_id=request_id,
        )
    raw = pw.show_raw()
    if isinstance(answer, RefusedCheck):
        if not raw:
            warn(f"refused ({answer.kind}), kept as rejection {answer.rejection}: {answer.reason}")
        fail()
    elif not raw:
        inputs = f" on {answer.check.inputs} inputs" if answer.check.inputs else ""
        say(f"enrolled {answer.check.name}, which holds{inputs} at revision {answer.check.revision}")


@check.command("remove", cls=Command)
@click.argument("world")
@click.argument("name")
@click.option("--reason", required=True, help="Why; kept for ever.")
def remove(pw: Pw, world: str, name: str, reason: str) -> None:
    """Remove the check NAME."""
    done = pw.client.remove_check(pw.world(world), name, reason=reason)
    if not pw.show_raw():
        say(f"removed, recorded as {done.seq}")


def _show(row, name: str) -> None:
    if row is None:
        raise click.ClickException(f"there is no check {name}")
    say(f"check {row.name}, enrolled at revision {row.revision}")
    show_source(row.expression)
    if row.generator is not None:
        say(f"for {row.inputs} inputs of the generator:")
        show_source(row.generator)
    say("fails after:")
    show_source(row.counterexample)
