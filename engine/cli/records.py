"""A record in a few words, for lists: what was asked and what it came to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from engine.cli.output import counted

CHARS_MAX = 72
ERASED = "(its body is erased)"


def record_line(kind: str, body: bytes | msgspec.Raw | None) -> str:
    """One line of at most CHARS_MAX characters about a record, from its body as the API shows it."""
    if body is None:
        return ERASED
    fields = json.loads(bytes(body))
    words = " ".join(_LINES[kind](fields).split())
    return words if len(words) <= CHARS_MAX else words[: CHARS_MAX - 1] + "…"


def _call(body: dict[str, Any]) -> str:
    return f"{body['function']}({body['args'][1:-1]}) {_came_to(body)}"


def _preview(body: dict[str, Any]) -> str:
    asked = body["expression"] or f"{body['function']}({body['args'][1:-1]})"
    return f"{asked} {_came_to(body)}"


def _came_to(body: dict[str, Any]) -> str:
    failure = body["failure"]
    if failure is None:
        return f"-> {body['value']}"
    incident = body.get("incident")
    as_what = f", incident {incident}" if incident is not None else ""
    return f"failed ({failure['kind']}{as_what}): {failure['error'].splitlines()[0]}"


def _revision(body: dict[str, Any]) -> str:
    return f"{body['n']}: {body['summary']}"


def _rejection(body: dict[str, Any]) -> str:
    return f"{body['n']}: {body['reason'].splitlines()[0] if body['reason'] else body['kind']}"


def _data_edit(body: dict[str, Any]) -> str:
    key, value = body["write"]
    return f"{key} deleted: {body['reason']}" if value is None else f"{key} = {value}: {body['reason']}"


def _interrupted(body: dict[str, Any]) -> str:
    return f"{body['operation']} {body['subject']}, incident {body['incident']}"


def _names(field: str) -> Callable[[dict[str, Any]], str]:
    def line(body: dict[str, Any]) -> str:
        return ", ".join(body[field]) or "none"

    return line


def _field(field: str) -> Callable[[dict[str, Any]], str]:
    def line(body: dict[str, Any]) -> str:
        return str(body[field])

    return line


def _describe(body: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {json.dumps(body[name])}"
        for name in ("name", "archived", "frozen")
        if body.get(name) is not None
    )


_LINES: dict[str, Callable[[dict[str, Any]], str]] = {
    "genesis": _field("name"),
    "revision": _revision,
    "unchanged": _field("summary"),
    "rejection": _rejection,
    "call": _call,
    "preview": _preview,
    "interrupted": _interrupted,
    "admitted": lambda body: f"{body['function']}({body['args'][1:-1]})",
    "data-edit": _data_edit,
    "data-copied": lambda body: counted(len(body["writes"]), "row"),
    "data-restored": lambda body: f"as after record {body['at']}: {body['reason']}",
    "incident-closed": lambda body: f"{body['incident']} {body['how']}: {body['reason']}",
    "check-enrolled": _field("name"),
    "check-removed": lambda body: f"{body['name']}: {body['reason']}",
    "granted": _names("worlds"),
    "page-set": lambda body: f"{body['access']}, {', '.join(body['functions']) or 'no functions'}",
    "describe": _describe,
    "purge": _field("reason"),
    "checkpoint": lambda body: f"{body['rows']} rows as after record {body['snapshot']}",
    "golden-pinned": lambda body: f"{body['n']}: {body['name']}, record {body['call']}",
    "golden-unpinned": lambda body: f"{body['golden']}: {body['reason']}",
    "held": lambda body: f"{body['n']}: {body['summary']}",
    "held-rejected": lambda body: f"{body['held']}: {body['reason']}",
    "imported": lambda body: f"{body['records']} records from elsewhere",
}
