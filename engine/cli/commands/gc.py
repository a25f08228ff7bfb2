"""pw gc"""

from __future__ import annotations

from engine.cli.output import progress, say
from engine.cli.shared import Pw, command


@command()
def gc(pw: Pw) -> None:
    """Collect blobs that nothing names any more and bodies that have expired."""
    with progress("collecting"):
        report = pw.client.gc()
    if not pw.show_raw():
        for name, value in report.items():
            say(f"{name:<24}{value}")
