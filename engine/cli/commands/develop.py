"""pw develop"""

from __future__ import annotations

import os.path

import click

from engine.cli.arguments import file_text
from engine.cli.output import changes_text, progress, say, show_logs, warn
from engine.cli.shared import Pw, command, fail

SUMMARY_CHARS_MAX = 80


@command()
@click.argument("world")
@click.argument("file", required=False, type=click.Path(dir_okay=False, allow_dash=True))
@click.option("-e", "text", metavar="TEXT", help="The source itself, in place of FILE.")
@click.option("--summary", help="What the change is for; else the file's name or the text's first line.")
@click.option("--commonjs", metavar="NAME", help="FILE is a CommonJS library: define NAME as its exports.")
@click.option("--request-id", help="Asked again under the same id, nothing is done twice.")
def develop(
    pw: Pw,
    world: str,
    file: str | None,
    text: str | None,
    summary: str | None,
    commonjs: str | None,
    request_id: str | None,
) -> None:
    """Attempt a change of WORLD's program: FILE ("-" for standard input) becomes a revision, or leaves no trace."""
    if (file is None) == (text is None):
        raise click.UsageError("give the source once: as FILE or with -e TEXT")
    source = text if text is not None else file_text(file or "-")
    with progress("developing"):
        answer = pw.client.develop(
            pw.world(world),
            source,
            summary=_summary(file, source) if summary is None else summary,
            commonjs=commonjs,
            request_id=request_id,
        )
    show_attempt(pw, answer)


def show_attempt(pw: Pw, answer) -> None:
    """Print how a develop or a rollback ended; a rejection ends `pw` with status 1."""
    from engine.host.answers import Accepted, Rejected

    raw = pw.show_raw()
    if isinstance(answer, Rejected):
        if not raw:
            show_logs(answer.logs)
            check = f' "{answer.check}"' if answer.check else ""
            warn(f"rejected ({answer.kind}{check}), kept as rejection {answer.rejection}: {answer.reason}")
        fail()
    elif not raw and isinstance(answer, Accepted):
        show_logs(answer.logs)
        say(f"accepted as revision {answer.revision}  {changes_text(answer.changes)}".rstrip())
        if answer.changes.globals:
            say(f"globals: {', '.join(answer.changes.globals)}")
    elif not raw:
        say(f"unchanged: still revision {answer.revision}")


def _summary(file: str | None, source: str) -> str:
    if file is not None and file != "-":
        return os.path.basename(file)[:SUMMARY_CHARS_MAX]
    return source.strip().partition("\n")[0][:SUMMARY_CHARS_MAX]
