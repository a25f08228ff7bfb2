"""Failures: errors of the guest as people should read them, and what kind of failure a job's end is."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from engine import limits
from engine.logic.jobs import Failure, FailureKind, SourceLookup, WrittenSource
from engine.logic.source import FILE_PREFIX, Program, develop_program, library_program
from engine.logic.vm import JobResult

_FRAME = re.compile(r"^    at (?:(?P<name>.*) \((?P<place>[^()]*)\)|(?P<bare>.*))$")
_PLACE = re.compile(r"^(?P<file>.*):(?P<line>\d+):(?P<column>\d+)$")
_INTERNAL_FILES = frozenset({"prelude", "vm"})
_SOURCE_NAME = re.compile(r"^\$source\d*$")
_NOT_DEFINED = re.compile(r"^ReferenceError: (\S+) is not defined$")
Programs = Callable[[str], Program | None]
OUT_OF_MEMORY = "InternalError: out of memory"
ENDS_EARLY = "SyntaxError: unexpected end: brackets do not match, or something is missing"
TOO_DEEP = "RangeError: a value is nested deeper than"
PENDING = "the promise that it returned never settled: nothing was left to run that could settle it"

_NO_TIMERS = "there are no timers in a world: an operation runs to its end at one moment"
_NO_NETWORK = "a world reaches no network: other worlds answer through worlds.call"
_NO_MODULES = "there are no modules: definitions are globals, and libraries are developed as CommonJS"
_NO_PAGE = "there is no page here: a definition `app` returns HTML, whose own scripts run in the browser"
_NO_NODE = "this is not Node: a world has the language, define, state, data, worlds and console"
_HINTS = {
    **dict.fromkeys(
        ("setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval"), _NO_TIMERS
    ),
    **dict.fromkeys(("requestAnimationFrame", "requestIdleCallback"), _NO_TIMERS),
    **dict.fromkeys(
        ("fetch", "XMLHttpRequest", "WebSocket", "EventSource", "Request", "Response", "Headers"), _NO_NETWORK
    ),
    **dict.fromkeys(
        ("require", "module", "exports", "__dirname", "__filename", "importScripts"), _NO_MODULES
    ),
    **dict.fromkeys(
        ("window", "document", "navigator", "location", "localStorage", "sessionStorage"), _NO_PAGE
    ),
    **dict.fromkeys(("alert", "prompt", "confirm", "self", "HTMLElement", "Image"), _NO_PAGE),
    **dict.fromkeys(("process", "Buffer", "global", "Deno", "Bun"), _NO_NODE),
    "Intl": "there is no Intl: format with toFixed, padStart, and tables of your own",
    "URL": "there is no URL: take texts apart with regular expressions, or develop a library",
    "URLSearchParams": "there is no URLSearchParams: take texts apart with split, or develop a library",
    "TextEncoder": "there is no TextEncoder: encodeURIComponent gives the bytes of a text",
    "TextDecoder": "there is no TextDecoder: decodeURIComponent makes a text of bytes",
    "crypto": "there is no crypto: Math.random is seeded for each operation, so that it can be replayed",
    "structuredClone": "there is no structuredClone: JSON.parse(JSON.stringify(x)) copies plain values",
    "Atomics": "there are no threads in a world",
    "WebAssembly": "there is no WebAssembly in a world",
}


def hint_for(error: str) -> str | None:
    """What to do instead, when an error comes of using what a world does not have."""
    headline = error.split("\n", 1)[0]
    missing = _NOT_DEFINED.match(headline)
    if missing is not None:
        return _HINTS.get(missing[1])
    return _NO_MODULES if "could not load module" in headline else None


def failure_of(kind: FailureKind, error: str, programs: Programs) -> Failure:
    """A failure whose error is readable and bounded."""
    return Failure(kind=kind, error=readable_error(error, programs), hint=hint_for(error))


def programs_of(lookup: SourceLookup, own: Program | None = None) -> Programs:
    """The programs behind file names: the operation's own, and those of the world's sources."""

    def program(file: str) -> Program | None:
        if own is not None and own.file == file:
            return own
        source = lookup(file)
        return _program_of(source) if source is not None else None

    return program


def ended_early(result: JobResult) -> tuple[FailureKind, str] | None:
    """Kind and error of a job that did not come to its own end, or None."""
    match result.status:
        case "ok":
            return None
        case "fuel":
            return "budget", f"the budget ended: {result.fuel_used} units of fuel were spent"
        case "interrupted":
            return "budget", "the watchdog stopped it: it took ten times as long as its budget should last"
        case "memory":
            return "memory", "out of memory: a heap may have 64 MiB"
        case "threw":
            text = (result.text or b"").decode("utf-8", "replace")
            return ("memory" if text.startswith(OUT_OF_MEMORY) else "threw"), text
        case _:
            return "trap", f"the engine stopped: {result.detail}"


def readable_error(error: str, programs: Programs) -> str:
    """The error's line and those frames of its stack that are the world's, at their positions as written.

    Frames of the prelude are left out, and so are built-in functions that only the prelude called. What is far
    longer than an error may be is not read to its end: a world could make a text of millions of lines.
    """
    lines = error[: limits.ERROR_CHARS_READ_MAX].rstrip("\n").split("\n")
    if lines[0].startswith("SyntaxError: ") and len(lines) > 1 and _is_past_end(lines[1], programs):
        lines[0] = ENDS_EARLY
    is_frame = [line.startswith("    at ") for line in lines]
    kept: list[str] = []
    for index, line in enumerate(lines):
        if not is_frame[index]:
            kept.append(line)
            continue
        caller = lines[index + 1] if index + 1 < len(lines) else ""
        if _is_internal(line) or (line.endswith(" (native)") and (not caller or _is_internal(caller))):
            continue
        kept.append(_written_frame(line, programs))
    text = "\n".join(kept)
    return text if len(text) <= limits.ERROR_CHARS_MAX else text[: limits.ERROR_CHARS_MAX - 1] + "…"


def _is_internal(frame: str) -> bool:
    match = _FRAME.match(frame)
    place = _PLACE.match(match["place"] or match["bare"] or "") if match else None
    return place is not None and place["file"] in _INTERNAL_FILES


def _is_past_end(frame: str, programs: Programs) -> bool:
    """Whether the engine stopped at what the host put behind a text: of that the text's author knows nothing."""
    match = _FRAME.match(frame)
    place = _PLACE.match(match["bare"] or "") if match else None
    program = programs(place["file"]) if place is not None else None
    return program is not None and place is not None and program.is_past_end(int(place["line"]))


def _written_frame(frame: str, programs: Programs) -> str:
    match = _FRAME.match(frame)
    place = _PLACE.match(match["place"] or match["bare"] or "") if match else None
    if match is None or place is None or not place["file"].startswith(FILE_PREFIX):
        return frame.replace("<input>:", "<eval>:")
    file, line, column = place["file"], int(place["line"]), int(place["column"])
    program = programs(file)
    at = program.written_position(line, column) if program is not None else (max(line - 1, 1), column)
    where = f"{file}:{at[0]}:{at[1]}"
    if match["name"] is None:
        return f"    at {where}"
    return f"    at {'<source>' if _SOURCE_NAME.match(match['name']) else match['name']} ({where})"


@lru_cache(maxsize=32)
def _program_of(source: WrittenSource) -> Program:
    if source.is_library:
        return library_program(source.text)
    return develop_program(source.text)
