"""`pw`: the command line. Each command is one file in `commands`, loaded only when it runs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from keyword import iskeyword
from typing import Any

import click

from engine.cli.output import misused, warn
from engine.cli.shared import SHARED_OPTIONS

__all__ = ["main"]

# Section -> command -> the line that `pw --help` shows. The file and the function have the command's name, with a "_"
# behind what Python keeps for itself.
COMMANDS: dict[str, dict[str, str]] = {
    "Worlds": {
        "worlds": "List worlds.",
        "new": "Create a world.",
        "show": "Show a world and its definitions, or one definition.",
        "rename": "Give a world another name.",
        "archive": "Archive a world, or bring it back.",
        "freeze": "Refuse new revisions of a world, or allow them again.",
        "purge": "Erase what a world has recorded, for ever.",
    },
    "Grow": {
        "develop": "Attempt a change of a world's program.",
        "pull": "Write a world's sources into a directory.",
        "revisions": "List revisions, or show one.",
        "rollback": "Make an earlier revision the head again.",
        "rejections": "List rejected attempts, or show one.",
        "check": "List, enrol and remove a world's checks.",
        "goldens": "List, pin and unpin results; bless and reject held changes.",
    },
    "Use": {
        "call": "Call a definition.",
        "execute": "Preview an expression; its writes are rolled back.",
        "data": "List, read, set and delete a world's data.",
        "operation": "Show what became of a call that was not waited for.",
        "incidents": "List incidents, show one, or run one again.",
        "retry": "Make the failed call of an incident again.",
        "answer": "Answer an incident's call by hand.",
        "dismiss": "Close an incident with a reason.",
        "log": "List a world's records.",
        "at": "Look at a world as it was after any record.",
        "restore": "Bring data back as it was after a record.",
    },
    "Share": {
        "grants": "Show, allow and deny the worlds that a world may call.",
        "page": "Show and set who may open a world's page.",
        "export": "Write a world as a recording: one file that replays elsewhere.",
        "import": "Make the world of a recording one of this server's.",
    },
    "Operate": {
        "serve": "Serve a data directory.",
        "doctor": "Examine this machine and a data directory, changing nothing.",
        "gc": "Collect what nothing needs any more.",
        "verify": "Verify worlds, or a recording, without executing anything.",
        "backup": "Back up a running server, or restore a backup.",
        "replay": "Run recorded operations again and compare every outcome.",
        "simulate": "Live whole servers under faults, in simulated time.",
    },
}
_SUMMARIES = {name: line for section in COMMANDS.values() for name, line in section.items()}


class _Commands(click.Group):
    """Knows its commands by name and loads the one that runs: `pw --help` must not wait for any of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _SUMMARIES:
            return None
        named = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        return getattr(importlib.import_module(f"engine.cli.commands.{named}"), named)

    def main(self, *args: Any, standalone_mode: bool = True, **kwargs: Any) -> Any:
        """Run `pw`. Where it ends by itself, all errors are printed in the same way."""
        run: Callable[..., Any] = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **kwargs)
        try:
            sys.exit(run(*args, standalone_mode=False, **kwargs))
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(error.exit_code)
        except click.ClickException as error:
            misused(error)
            sys.exit(error.exit_code)
        except click.Abort:
            warn("pw: stopped")
            sys.exit(1)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, commands in COMMANDS.items():
            with formatter.section(section):
                formatter.write_dl(list(commands.items()))


@click.command(cls=_Commands, params=SHARED_OPTIONS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="flickworld", message="pw %(version)s")
@click.pass_context
def main(ctx: click.Context, **options: object) -> None:
    """Grow, use and operate Flickworld worlds.

    A WORLD is named by its id, its name, or the beginning of either where only one world has it. The server is
    --server or PW_SERVER; the operator token is PW_TOKEN, or the one in the data directory: --home, PW_HOME, .pw
    here, or ~/.local/share/flickworld.
    """
    ctx.obj = options
