"""`python -m engine.cli` is `pw`."""

from engine.cli import main

main(prog_name="pw")
