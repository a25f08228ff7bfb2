"""pw serve"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from engine import limits
from engine.cli.output import say
from engine.cli.shared import SERVER_DEFAULT, Pw, command

if TYPE_CHECKING:
    from engine.serve.server import Serving


@command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=limits.PORT_DEFAULT,
    help="The port [8787]; 0 takes a free one.",
)
@click.option(
    "--pages-port",
    type=click.IntRange(0, 65535),
    help="The port of the worlds' pages [8788, the one after --port].",
)
@click.option("--pages-url", metavar="URL", help="Where visitors find the pages, behind a proxy.")
@click.option("--host", "address", default="127.0.0.1", help="The address to listen on [127.0.0.1].")
@click.option("--allow-host", "names", metavar="NAME", multiple=True, help="A host name that clients use.")
@click.option(
    "--examples",
    type=click.Path(exists=True, file_okay=False),
    help="Begin with the worlds of this directory.",
)
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info")
def serve(
    pw: Pw,
    port: int,
    pages_port: int | None,
    pages_url: str | None,
    address: str,
    names: tuple[str, ...],
    examples: str | None,
    log_level: str,
) -> None:
    """Serve the data directory --home until SIGTERM or Ctrl-C.

    The operator token is PW_TOKEN if it is set when a directory is first served; else one is made and printed once.
    """
    from engine.host import CannotOpen
    from engine.serve import run
    from engine.serve.examples import BadExample, plant
    from engine.serve.server import CannotListen
    from engine.serve.tokens import BadToken

    async def on_serving(serving: Serving) -> None:
        first = await plant(serving.host, examples) if examples else None
        _announce(pw, serving, first)

    try:
        run(
            pw.home,
            address=address,
            port=port,
            pages_port=pages_port,
            pages_url=_checked(pages_url),
            names=names,
            token=os.environ.get("PW_TOKEN"),
            log_level=log_level,
            on_serving=on_serving,
        )
    except (CannotOpen, CannotListen, BadToken, BadExample) as error:
        raise click.ClickException(str(error)) from None


def _checked(pages_url: str | None) -> str | None:
    """A URL of a whole host: pages live at its root."""
    if pages_url is None:
        return None
    parts = urlsplit(pages_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise click.UsageError(
            "--pages-url: must be http:// or https:// and a host of its own, without a path"
        )
    return f"{parts.scheme}://{parts.netloc}".lower()


def _announce(pw: Pw, serving: Serving, first: list[str] | None) -> None:
    say(f"Serving {pw.home} at {serving.url}")
    if serving.token is not None:
        say(f"Sign in (shown once): {serving.url}/#token={serving.token}")
    else:
        say(f"API docs: {serving.url}/docs (the token is in {pw.home}/operator-token)")
    say(f"Pages of worlds: {serving.pages_url}/w/ID/")
    options = [] if serving.url == SERVER_DEFAULT else ["--server", serving.url]
    if pw.home != Pw(server=None, home=None, as_json=False).home:
        options += ["--home", pw.home]
    say("Try: " + shlex.join([_pw_here(), *(first or ["new", "hello"]), *options]))


def _pw_here() -> str:
    """How this program is called here: by its path, unless the shell finds it by its name."""
    program, found = sys.argv[0], shutil.which("pw")
    if os.path.basename(program) != "pw" or (found is not None and os.path.samefile(found, program)):
        return "pw"
    return program
