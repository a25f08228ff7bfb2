"""Values on the command line: JSON, or text when it is not; @FILE reads a file."""

from __future__ import annotations

import json
from typing import Any

import click


def argument_value(text: str) -> Any:
    """The JSON value that an argument stands for."""
    if text.startswith("@"):
        text = file_text(text[1:], "@")
    try:
        return json.loads(text, parse_constant=_not_json)
    except (ValueError, RecursionError):
        return text


def text_value(text: str) -> str:
    """The text that an argument stands for: itself, or the content of @FILE."""
    return file_text(text[1:], "@") if text.startswith("@") else text


def file_text(file: str, mark: str = "") -> str:
    """The content of a file, "-" for standard input. Raises UsageError, which names it after `mark`."""
    try:
        with click.open_file(file, encoding="utf-8") as stream:
            return stream.read()
    except OSError as error:
        raise click.UsageError(f"{mark}{file}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{mark}{file}: is not UTF-8 at byte {error.start}") from None


def _not_json(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
