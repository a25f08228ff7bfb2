"""pw replay"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from engine.cli.output import counted, note, say, warn
from engine.cli.shared import NUMBER, Pw, Whole, command, fail, is_file

if TYPE_CHECKING:
    from engine.host.replaying import Divergence, Replayed
    from engine.host.replaying_files import Compared
    from engine.host.replaying_sections import Bisected

_PROGRESS_AFTER_S = 1.0
_PLURALS = {
    "genesis": "genesis",
    "unchanged": "unchanged",
    "admitted": "admitted",
    "interrupted": "interrupted",
    "held": "held",
    **{
        kind: kind
        for kind in (
            "check-enrolled",
            "check-removed",
            "incident-closed",
            "granted",
            "page-set",
            "data-restored",
            "data-copied",
            "imported",
            "golden-pinned",
            "golden-unpinned",
            "held-rejected",
        )
    },
}
"""What is no noun, and so has no plural."""


@command()
@click.argument("recorded", metavar="WORLD|FILE")
@click.option("--from", "from_seq", type=NUMBER, default=0, help="The first record that is run [0].")
@click.option("--until", "until_seq", type=NUMBER, help="The last one [the last of all].")
@click.option("--bisect", is_flag=True, help="Look for the first divergence by halves, between checkpoints.")
@click.option("--against", metavar="FILE", help="Compare with another recording; nothing is run.")
@click.option(
    "--vm", type=click.Choice(["auto", "c", "python"]), default="auto", help="The VM's path [auto]."
)
@click.option(
    "--target", metavar="NAME", help="Another code generator: pulley64 is the portable interpreter."
)
@click.option("--jobs", type=Whole(1, 256), help="At most so many processes [as many as there are cores].")
def replay(
    pw: Pw,
    recorded: str,
    from_seq: int,
    until_seq: int | None,
    bisect: bool,
    against: str | None,
    vm: str,
    target: str | None,
    jobs: int | None,
) -> None:
    """Run the records of a WORLD, or of a recording FILE, again and compare every outcome.

    It runs here, not in the server, and changes nothing. Status 1 where something differs, or nothing was compared.
    """
    from engine.host.replaying import CannotReplay
    from engine.host.replaying_files import TARGETS, compare_recordings, open_recording, replay_recording
    from engine.serve.client import ClientError

    if target is not None and target not in TARGETS:
        one = " or ".join(TARGETS)
        raise click.UsageError(f"--target: {target} is no code generator of this wasmtime; {one} is one")
    try:
        with _opened(pw, recorded, until_seq) as file:
            recording = open_recording(file, recorded)
        if against is not None:
            with open(against, "rb") as file:
                _show_compared(pw, against, compare_recordings(recording, open_recording(file, against)))
            return
        began_s = time.monotonic()
        outcome = replay_recording(
            recording,
            prefer=cast(Any, vm),
            target=target,
            from_seq=from_seq,
            until_seq=until_seq,
            by_sections=bisect,
            processes=jobs,
            on_progress=_progress("probe" if bisect else "record"),
        )
    except CannotReplay as error:
        raise ClientError(str(error)) from None
    _show(pw, recorded, outcome, time.monotonic() - began_s)


@contextmanager
def _opened(pw: Pw, recorded: str, until_seq: int | None) -> Iterator[BinaryIO]:
    """The file, or what the server has recorded of the world, as a file for as long as it is read."""
    if is_file(recorded):
        with open(recorded, "rb") as file:
            yield file
        return
    with tempfile.TemporaryFile() as file:
        downloaded = cast(BinaryIO, file)
        pw.client.save_recording(pw.world(recorded), downloaded, until=until_seq)
        downloaded.seek(0)
        yield downloaded


def _progress(what: str) -> Callable[[int, int], None]:
    """Says on a terminal, after a second, how far it is."""
    began_s = time.monotonic()

    def tell(done: int, count: int) -> None:
        if sys.stderr.isatty() and time.monotonic() - began_s > _PROGRESS_AFTER_S:
            sys.stderr.write(f"\r\x1b[Kreplaying: {what} {done:,} of {count:,}")
            sys.stderr.flush()

    return tell


def _show(pw: Pw, recorded: str, outcome: Replayed | Bisected, took_s: float) -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    if pw.as_json:
        _print_json(outcome, took_s)
    else:
        _say_replayed(outcome, took_s)
        if outcome.divergence is not None:
            _explain(outcome.divergence, f"pw replay {recorded}")
        elif not outcome.is_equal:
            warn("pw: nothing was compared, so nothing is known to be equal")
    if not outcome.is_equal:
        fail()


def _say_replayed(outcome: Replayed | Bisected, took_s: float) -> None:
    from engine.host.replaying_sections import Bisected

    parts = outcome.probed if isinstance(outcome, Bisected) else [outcome]
    kinds: Counter[str] = Counter()
    apart: Counter[str] = Counter()
    for part in parts:
        kinds.update(part.compared)
        apart.update(part.taken_over)
    erased = sum(part.erased for part in parts)
    rate = f" ({outcome.count / took_s:,.0f}/s)" if took_s > 0 else ""
    told = ", ".join(_counted(count, kind) for kind, count in kinds.items()) or "none"
    ended = "; all equal" if outcome.is_equal else ""
    say(f"replayed {_counted(outcome.count, 'record')} in {took_s:.1f} s{rate}: {told}{ended}")
    if erased:
        note(f"{_counted(erased, 'record')} erased: of what they said nothing was compared")
    for why, count in apart.items():
        note(f"{_counted(count, 'record')} taken over as written: {why}")
    if isinstance(outcome, Bisected):
        sections = counted(outcome.sections, "section")
        was = "was" if len(parts) == 1 else "were"
        note(f"{len(parts)} of {sections} {was} run, taking for granted {outcome.assumed}")


def _counted(count: int, kind: str) -> str:
    return counted(count, kind, _PLURALS.get(kind))


def _explain(divergence: Divergence, begun: str) -> None:
    warn(divergence.text())
    say(f"again: {begun} --from {divergence.seq} --until {divergence.seq}")


def _show_compared(pw: Pw, against: str, compared: Compared) -> None:
    if pw.as_json:
        _print_json(compared)
    elif compared.divergence is not None:
        warn(compared.divergence.text())
    else:
        common = min(compared.records, compared.other_records)
        more = abs(compared.records - compared.other_records)
        say(f"{_counted(common, 'record')} equal")
        if more:
            longer = against if compared.other_records > common else "the first"
            note(f"{longer} goes on for {_counted(more, 'record')}")
    if not compared.is_equal:
        fail()


def _print_json(outcome: Any, took_s: float | None = None) -> None:
    import msgspec

    told = {"ok": outcome.is_equal, **msgspec.to_builtins(outcome)}
    if took_s is not None:
        told["seconds"] = round(took_s, 3)
    click.echo(msgspec.json.encode(told))
