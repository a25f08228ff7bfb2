"""pw show"""

from __future__ import annotations

import click

from engine.cli.output import say, show_source, table
from engine.cli.shared import Pw, command


@command()
@click.argument("world")
@click.argument("name", required=False)
@click.option("--graph", is_flag=True, help="Show who calls whom, both ways.")
def show(pw: Pw, world: str, name: str | None, graph: bool) -> None:
    """Show a world and its definitions, or the definition NAME with its source."""
    if graph:
        _show_graph(pw, pw.world(world), name)
    elif name is None:
        _show_world(pw, pw.world(world))
    else:
        _show_definition(pw, pw.world(world), name)


def _show_world(pw: Pw, world: str) -> None:
    summary = pw.client.world(world)
    if pw.show_raw():
        return
    marks = [mark for mark in ("archived", "frozen", "purged") if getattr(summary, mark)]
    for label, value in (
        ("id", summary.id),
        ("name", summary.name),
        ("revision", summary.revision),
        ("state", ", ".join(marks) or "active"),
        ("created", summary.created_at),
        ("records", summary.records),
        ("incidents", f"{summary.incidents} open"),
        ("engine", f"{summary.engine} (prelude {summary.prelude})"),
    ):
        say(f"{label:<10}{value}")
    if summary.purged:
        return
    definitions = pw.client.functions(world)
    if definitions:
        say()
        table(
            ["name", "kind", "parameters", "version", "doc"],
            [[row.name, row.kind, ", ".join(row.params), row.version, row.doc] for row in definitions],
        )


def _show_graph(pw: Pw, world: str, name: str | None) -> None:
    graph = pw.client.graph(world)
    if pw.show_raw():
        return
    if name is not None and name not in graph.calls:
        raise click.ClickException(f"{name} is not defined")
    table(
        ["name", "calls", "called by"],
        [
            [one, ", ".join(called), ", ".join(graph.called_by.get(one, []))]
            for one, called in graph.calls.items()
            if name is None or one == name
        ],
    )


def _show_definition(pw: Pw, world: str, name: str) -> None:
    row = pw.client.function(world, name)
    if pw.show_raw():
        return
    say(f"{row.name}({', '.join(row.params)})  {row.kind}, version {row.version}, of revision {row.revision}")
    for label, names in (("calls", row.calls), ("called by", row.called_by)):
        if names:
            say(f"{label}: {', '.join(names)}")
    if row.doc:
        say(row.doc)
    say()
    show_source(row.source)
