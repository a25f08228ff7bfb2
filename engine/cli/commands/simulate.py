"""pw simulate"""

from __future__ import annotations

import os.path
import subprocess
import sys

import click

import engine
from engine.cli.shared import Pw, command

_OPTIONS = """\b
Of the lives:
  --seeds A..B        all seeds from A to B
  --life FILE         live the steps that a file holds
  --ops N             operations of a life [about 200]
  --keep STEPS        live only these steps, as in 1,2,9..12
  --verbose           say each step as it begins
  --once              do not live it a second time to compare
  --trace             print the hash of the trace and nothing else
  --jobs N            processes [1]
  --minutes N         begin no life after so many minutes
  --shrink-seconds N  shorten a failure no longer; 0: not
"""
"""What `python -m faults` takes; it says so itself in a checkout, where alone it is."""


@command(context_settings={"ignore_unknown_options": True}, epilog=_OPTIONS)
@click.argument("arguments", metavar="[SEED | --seeds A..B] [OPTIONS]", nargs=-1, type=click.UNPROCESSED)
def simulate(pw: Pw, arguments: tuple[str, ...]) -> None:
    """Live whole servers under faults, in simulated time: python -m faults.

    SEED draws one life and tells how it went; `--seeds 1..100 --jobs 2` lives many. Status 1 where a promise is broken.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(engine.__file__)))
    if not os.path.isfile(os.path.join(root, "faults", "__main__.py")):
        raise click.ClickException(f"{root}: holds no fault simulator; it is part of a checkout")
    ended = subprocess.run([sys.executable, "-m", "faults", *arguments], cwd=root, check=False)
    click.get_current_context().exit(ended.returncode)
