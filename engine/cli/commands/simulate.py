"""pw simulate"""

from __future__ import annotations

import os.path
import subprocess
import sys

import click

import engine
from engine.cli.shared import Pw, command


@command(context_settings={"ignore_unknown_options": True})
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
