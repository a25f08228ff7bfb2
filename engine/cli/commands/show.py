"""pw show"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.cli.output import say, show_source, table
from engine.cli.shared import Pw, command

if TYPE_CHECKING:
    from engine.host.answers import WorldSummary


@command()
@click.argument("world")
@click.argument("name", required=False)
@click.option("--graph", is_flag=True, help="Show who calls whom, both ways.")
def show(pw: Pw, world: str, name: str | None, graph: bool) -> None:
    """Show a world and its definitions, or the definition NAME with its source."""
    if graph:
        _show_graph(pw, pw.world(world), name)
    elif name is None:
        world = pw.world(world)
        summary = pw.client.world(world)
        if pw.show_raw():
            return
        show_world(pw, summary)
        if not summary.purged:
            show_functions(pw, world, apart=True)
    else:
        show_definition(pw, pw.world(world), name)


def show_world(pw: Pw, summary: WorldSummary) -> None:
    """A world in a few lines."""
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


def show_functions(pw: Pw, world: str, *, at: int | None = None, apart: bool = False) -> None:
    """A table of the definitions, of now or after a record; `apart` from what stands above."""
    definitions = pw.client.functions(world, at=at)
    if pw.show_raw():
        return
    if definitions:
        if apart:
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


def show_definition(pw: Pw, world: str, name: str, *, at: int | None = None) -> None:
    """One definition, of now or after a record, with its source."""
    row = pw.client.function(world, name, at=at)
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
