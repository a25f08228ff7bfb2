"""pw develop"""

from __future__ import annotations

import os.path
from collections import Counter

import click

from engine.cli.arguments import file_text
from engine.cli.differences import each_once, show_differences
from engine.cli.output import changes_text, counted, note, progress, say, show_logs, warn
from engine.cli.shared import Pw, command, fail

SUMMARY_CHARS_MAX = 80


@command()
@click.argument("world")
@click.argument("file", required=False, type=click.Path(dir_okay=False, allow_dash=True))
@click.option("-e", "text", metavar="TEXT", help="The source itself, in place of FILE.")
@click.option("--summary", help="What the change is for; else the file's name or the text's first line.")
@click.option("--commonjs", metavar="NAME", help="FILE is a CommonJS library: define NAME as its exports.")
@click.option("--dry-run", is_flag=True, help="Record nothing; show which recorded results would be others.")
@click.option(
    "--gate", is_flag=True, help="Hold it where a result of the last recorded calls would be another."
)
@click.option("--request-id", help="Asked again under the same id, nothing is done twice.")
def develop(
    pw: Pw,
    world: str,
    file: str | None,
    text: str | None,
    summary: str | None,
    commonjs: str | None,
    dry_run: bool,
    gate: bool,
    request_id: str | None,
) -> None:
    """Attempt a change of WORLD's program: FILE ("-" for standard input) becomes a revision, or leaves no trace."""
    if (file is None) == (text is None):
        raise click.UsageError("give the source once: as FILE or with -e TEXT")
    source = text if text is not None else file_text(file or "-")
    if dry_run:
        if request_id is not None:
            raise click.UsageError("--request-id: has no use with --dry-run, which records nothing")
        with progress("trying"):
            found = pw.client.try_develop(pw.world(world), source, commonjs=commonjs, gate=gate)
        _show_dry_run(pw, found)
        return
    with progress("developing"):
        answer = pw.client.develop(
            pw.world(world),
            source,
            summary=_summary(file, source) if summary is None else summary,
            commonjs=commonjs,
            gate=gate,
            request_id=request_id,
        )
    show_attempt(pw, answer)


def show_attempt(pw: Pw, answer) -> None:
    """Print how a develop, a rollback or a blessing ended; where there is no revision `pw` ends with status 1."""
    from engine.host.answers import Accepted, Rejected
    from engine.host.golden_answers import Held

    raw = pw.show_raw()
    if isinstance(answer, Rejected):
        if not raw:
            show_logs(answer.logs)
            check = f' "{answer.check}"' if answer.check else ""
            warn(f"rejected ({answer.kind}{check}), kept as rejection {answer.rejection}: {answer.reason}")
        fail()
    elif isinstance(answer, Held):
        if not raw:
            _show_held(answer)
        fail()
    elif not raw and isinstance(answer, Accepted):
        show_logs(answer.logs)
        say(f"accepted as revision {answer.revision}  {changes_text(answer.changes)}".rstrip())
        if answer.changes.globals:
            say(f"globals: {', '.join(answer.changes.globals)}")
    elif not raw:
        say(f"unchanged: still revision {answer.revision}")


def _show_held(held) -> None:
    show_logs(held.logs)
    anew = f", since it does something else than {held.replaces} had shown" if held.replaces else ""
    warn(f"held as {held.id}{anew}: results would be others  {changes_text(held.changes)}".rstrip())
    show_differences(each_once(held.goldens, held.differs))
    note(f"pw goldens bless {held.id}, or pw goldens reject {held.id} --reason TEXT")


def _show_dry_run(pw: Pw, found) -> None:
    """Print what a develop would come to; what would give no revision ends `pw` with status 1."""
    from engine.host.golden_answers import WouldReject

    raw = pw.show_raw()
    if isinstance(found, WouldReject):
        if not raw:
            show_logs(found.logs)
            check = f' "{found.check}"' if found.check else ""
            warn(f"would be rejected ({found.kind}{check}): {found.reason}")
        fail()
    if not raw:
        show_logs(found.logs)
        say(f"would be {found.status}  {changes_text(found.changes)}".rstrip())
        if found.goldens:
            say(f"{counted(len(found.goldens), 'pinned result')} would be {_others(len(found.goldens))}:")
            show_differences(found.goldens)
        _show_tried(found)
    if found.status == "held":
        fail()


def _show_tried(found) -> None:
    if found.tried:
        come, do = _verb(found.same, "come"), _verb(len(found.differs), "do")
        say(
            f"of {counted(found.tried, 'recorded call')} {found.same} {come} to the same, "
            f"{len(found.differs)} {do} not"
        )
    elif found.status != "unchanged":
        note("no recorded call was tried: what it would change is not known")
    show_differences(each_once(found.goldens, found.differs)[len(found.goldens) :])
    for reason, count in Counter(one.reason for one in found.skipped).items():
        note(f"{counted(count, 'recorded call')} {'was' if count == 1 else 'were'} left out: {reason}")


def _others(count: int) -> str:
    return "another" if count == 1 else "others"


def _verb(count: int, verb: str) -> str:
    third = {"come": "comes", "do": "does"}
    return third[verb] if count == 1 else verb


def _summary(file: str | None, source: str) -> str:
    if file is not None and file != "-":
        return os.path.basename(file)[:SUMMARY_CHARS_MAX]
    return source.strip().partition("\n")[0][:SUMMARY_CHARS_MAX]
