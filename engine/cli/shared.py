"""What all commands share: their options, the client, naming a world, and how failure ends them.

Exit status: 0 done, 1 failed, rejected or refused, 2 misused, 141 the reader of a pipe went away.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from engine import limits

if TYPE_CHECKING:
    from engine.host.answers import WorldSummary
    from engine.serve.client import Client


class Whole(click.ParamType):
    """A whole number between bounds, both included; what is none is refused in words."""

    name = "number"

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if not re.fullmatch(r"-?[0-9]{1,16}", value) or not self._least <= int(value) <= self._most:
            self.fail(
                f"must be a whole number from {self._least} to {self._most}, not {value[:40]!r}", param, ctx
            )
        return int(value)


SERVER_DEFAULT = f"http://127.0.0.1:{limits.PORT_DEFAULT}"
ROWS = Whole(1, limits.PAGE_ROWS_MAX)
NUMBER = Whole(0, limits.NUMBER_MAX)
HOME_HERE = ".pw"
SUFFIX = ".pwrec"
PIPE_ENDED = 128 + 13  # as the shell reports a program that SIGPIPE ended
_WHOLE_ID = re.compile(r"[a-z0-9-]+-[0-9a-f]{6}\Z")

SHARED_OPTIONS: list[click.Parameter] = [
    click.Option(["--server"], metavar="URL", help=f"The server [PW_SERVER, {SERVER_DEFAULT}]."),
    click.Option(["--home"], metavar="DIR", type=click.Path(file_okay=False), help="The data directory."),
    click.Option(["--json", "as_json"], is_flag=True, help="Print the server's answers as they come."),
]


class Pw:
    """One run of `pw`: where the server and the data directory are, and how to print."""

    def __init__(self, *, server: str | None, home: str | None, as_json: bool) -> None:
        self.server = server or os.environ.get("PW_SERVER") or SERVER_DEFAULT
        self.home = _home(home)
        self.as_json = as_json
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        if self._client is None:
            from engine.serve.client import Client
            from engine.serve.tokens import stored_token

            self._client = Client(self.server, os.environ.get("PW_TOKEN") or stored_token(self.home))
        return self._client

    def world(self, named: str) -> str:
        """The id of the world that `named` is the id, the name or a unique beginning of; of a purged one, the id.
        Raises ClientError, UsageError where it says nothing."""
        if not named.strip():
            raise click.UsageError("world: is empty; `pw worlds` lists what there is")
        if _WHOLE_ID.match(named):
            from engine.serve.client import Missing

            try:
                return self.client.world(named).id
            except Missing:
                pass  # a name may look like an id
        return _the_one(named, self.client.worlds(archived=True)).id

    def show_raw(self) -> bool:
        """With --json: print the last answer as it came, and say that nothing else is to be printed."""
        if self.as_json:
            click.echo(self.client.last_body)
        return self.as_json

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


class Command(click.Command):
    """A command with the shared options, given to its function as one `Pw`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(SHARED_OPTIONS)

    def invoke(self, ctx: click.Context) -> Any:
        from engine.cli.output import complain, hush

        before = ctx.find_root().obj or {}
        server, home, as_json = (
            ctx.params.pop(name) or before.get(name) for name in ("server", "home", "as_json")
        )
        pw = ctx.params["pw"] = Pw(server=server, home=home, as_json=bool(as_json))
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.ClickException):
            raise
        except BrokenPipeError:  # `pw log W | head -1` has seen enough
            hush()
            ctx.exit(PIPE_ENDED)
        except Exception as error:
            if not complain(pw, error):
                raise
            ctx.exit(1)
        finally:
            pw.close()


class ListingGroup(click.Group):
    """A group whose first argument may be a world: that is `list`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            args = ["list", *args]
        return super().resolve_command(ctx, args)


def command(*args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], Command]:
    """Declare a command: its function takes `pw` and its own parameters."""
    return click.command(*args, cls=Command, **kwargs)


def fail() -> None:
    """End with status 1: the answer that was printed is a failure, a rejection or a refusal."""
    click.get_current_context().exit(1)


def is_file(named: str) -> bool:
    """Whether a recording's file is meant, and no world: also where there is none, or it is a directory or a pipe."""
    return named.endswith(SUFFIX) or os.path.isfile(named) or (os.sep in named and os.path.exists(named))


def _home(given: str | None) -> str:
    home = given or os.environ.get("PW_HOME")
    if not home and os.path.isdir(HOME_HERE):
        home = HOME_HERE
    if not home:
        data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
        home = os.path.join(data, "flickworld")
    return os.path.abspath(home)


def _the_one(named: str, worlds: list[WorldSummary]) -> WorldSummary:
    from engine.serve.client import ClientError

    kept = [world for world in worlds if not world.purged]
    active = [world for world in kept if not world.archived]
    for found in (
        [world for world in worlds if world.id == named],
        [world for world in active if world.name == named],
        [world for world in kept if world.name == named],
        [world for world in active if world.id.startswith(named) or world.name.startswith(named)],
        [world for world in kept if world.id.startswith(named) or world.name.startswith(named)],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            raise ClientError(
                f"{named}: names {len(found)} worlds: {', '.join(world.id for world in found[:10])}",
                "give more of the id",
            )
    here = f"; {named} is a directory here, and no recording" if os.path.isdir(named) else ""
    raise ClientError(f"there is no world {named}{here}", "`pw worlds` lists them, `pw new NAME` creates one")
