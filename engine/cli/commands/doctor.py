"""pw doctor"""

from __future__ import annotations

import json

import click

from engine.cli.output import plain, progress
from engine.cli.shared import Pw, command, fail

_COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}


@command()
def doctor(pw: Pw) -> None:
    """Examine this machine and the data directory --home. Nothing is changed; a problem ends with status 1.

    While a server has the directory open its content is not verified.
    """
    import msgspec

    from engine.host import doctor as examine

    with progress("examining"):
        findings = examine(pw.home)
    if pw.as_json:
        click.echo(json.dumps(msgspec.to_builtins(findings), ensure_ascii=False))
    else:
        for finding in findings:
            level = click.style(f"{finding.level:<8}", fg=_COLOURS.get(finding.level))
            click.echo(f"{level} {plain(finding.where)}: {plain(finding.what)}")
            if finding.advice:
                click.echo(f"         {plain(finding.advice)}")
    if any(finding.level == "problem" for finding in findings):
        fail()
