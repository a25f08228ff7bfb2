"""Calls and previews: one operation on a head and one snapshot of the data, whose heap is thrown away."""

from __future__ import annotations

import json
from typing import Literal

from engine import ids, limits
from engine.logic.failures import OUT_OF_MEMORY, PENDING, ended_early, failure_of, programs_of
from engine.logic.image import HeapImage
from engine.logic.jobs import (
    CallOutcome,
    DataView,
    Failure,
    FailureKind,
    KeyRead,
    RangeRead,
    Read,
    Runs,
    SourceLookup,
)
from engine.logic.source import Program, SourceError, expression_program
from engine.logic.vm import GuestError, Interrupt, Job, text_of, wtf8

OUTCOME = b"="
CONSOLE_CUT = "(the console is full: what followed was not kept)"
_KINDS_OF_MARK: dict[bytes, FailureKind] = {b"-": "threw", b"!": "syntax"}


def call(
    pool: Runs,
    image: HeapImage,
    name: str,
    args_json: bytes,
    *,
    flick: int,
    seed: int,
    fuel: int,
    data: DataView,
    source_lookup: SourceLookup,
    interrupt: Interrupt | None = None,
) -> CallOutcome:
    """Call a definition with a JSON array of arguments; a class is constructed.

    `flick` is the operation's moment, `seed` 64 bits. Whoever raises inside the data view gets it raised here.
    """
    if not ids.is_definition_name(name):
        return CallOutcome(ok=False, fuel=0, missing=True)
    if len(args_json) > limits.ARGUMENTS_BYTES_MAX:
        return _too_large("the arguments are", len(args_json), limits.ARGUMENTS_BYTES_MAX)
    request = b"c%s\n%s" % (name.encode(), args_json)
    return _run(pool, image, request, None, flick, seed, fuel, data, source_lookup, interrupt)


def execute(
    pool: Runs,
    image: HeapImage,
    expression: str,
    *,
    flick: int,
    seed: int,
    fuel: int,
    data: DataView,
    source_lookup: SourceLookup,
    interrupt: Interrupt | None = None,
) -> CallOutcome:
    """Evaluate one expression as strict code: a preview, whose writes the caller lists and forgets."""
    size = len(wtf8(expression))
    if size > limits.SOURCE_BYTES_MAX:
        return _too_large("the expression is", size, limits.SOURCE_BYTES_MAX)
    try:
        program = expression_program(expression)
    except SourceError as error:
        return CallOutcome(ok=False, fuel=0, failure=Failure(kind="syntax", error=str(error)))
    request = program_request(b"x", program)
    return _run(pool, image, request, program, flick, seed, fuel, data, source_lookup, interrupt)


def program_request(kind: bytes, program: Program, name: str = "") -> bytes:
    """The request to compile a program and do with it what `kind` says; see `prelude/entry.js`."""
    words = f"{name + ' ' if name else ''}{program.file} {program.function_length}\n"
    return kind + words.encode() + wtf8(program.text)


def milliseconds_of(flick: int) -> int:
    """What `Date.now` says at a flick since 1970."""
    return flick * 1000 // limits.FLICKS_PER_SECOND


class Console:
    """The lines that an operation printed, within their bounds."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._bytes_left = limits.CONSOLE_BYTES_MAX
        self._is_cut = False

    @property
    def lines(self) -> tuple[str, ...]:
        return (*self._lines, CONSOLE_CUT) if self._is_cut else tuple(self._lines)

    def print(self, text: bytes) -> None:
        if self._is_cut:
            return
        if len(text) > self._bytes_left:
            text, self._is_cut = text[: self._bytes_left], True
        self._bytes_left -= len(text)
        if text or not self._is_cut:
            self._lines.append(text.decode("utf-8", "surrogatepass" if not self._is_cut else "ignore"))

    def cut(self) -> None:
        self._is_cut = True


class CallHost:
    """The host functions of one call: a console, and data as one snapshot under the call's own writes."""

    def __init__(self, data: DataView) -> None:
        self.console = Console()
        self.reads: dict[Read, None] = {}
        self.writes: dict[str, bytes | None] = {}
        self.refusals: dict[str, FailureKind] = {}
        self._data = data
        self._operations = {
            "console": self._print,
            "console.full": self._cut,
            "data.get": self._get,
            "data.set": self._set,
            "data.delete": self._delete,
            "data.list": self._list,
            "worlds.list": self._worlds_list,
            "worlds.functions": self._worlds_denied,
            "worlds.call": self._worlds_denied,
        }

    def __call__(self, op: str, text: bytes) -> bytes | None:
        return self._operations[op](text)

    def _refuse(self, kind: FailureKind, name: str, message: str) -> GuestError:
        """An error for the guest; if nobody catches it, the call failed with `kind`."""
        self.refusals[f"{name}: {message}"] = kind
        return GuestError(message, name)

    def _print(self, text: bytes) -> None:
        self.console.print(text)

    def _cut(self, _text: bytes) -> None:
        self.console.cut()

    def _get(self, text: bytes) -> bytes | None:
        return self._current(self._key(text))

    def _current(self, key: str) -> bytes | None:
        if key in self.writes:
            return self.writes[key]
        self.reads[KeyRead(key)] = None
        return self._data.get(key)

    def _set(self, text: bytes) -> None:
        value, _, key_text = text.partition(b"\n")
        key = self._key(key_text)
        if len(value) > limits.DATA_VALUE_BYTES_MAX:
            raise self._refuse(
                "size",
                "RangeError",
                f"data.set: the value of {json.dumps(key)} is {len(value)} bytes of JSON; "
                f"at most {limits.DATA_VALUE_BYTES_MAX} are kept under one key",
            )
        self._write(key, value)

    def _delete(self, text: bytes) -> bytes:
        key = self._key(text)
        if self._current(key) is None:
            return b"false"
        self._write(key, None)
        return b"true"

    def _write(self, key: str, value: bytes | None) -> None:
        self.writes.pop(key, None)  # the order is that of the last writes
        self.writes[key] = value

    def _key(self, text: bytes) -> str:
        if len(text) > limits.DATA_KEY_BYTES_MAX:
            raise self._refuse(
                "size",
                "RangeError",
                f"data: a key is {len(text)} bytes; at most {limits.DATA_KEY_BYTES_MAX} are allowed",
            )
        return text_of(text)

    def _list(self, text: bytes) -> bytes:
        request = json.loads(text_of(text))
        prefix, after, limit = request["prefix"], request.get("after"), request.get("limit")
        rows, more = self._rows(prefix, after, limit or limits.DATA_ROWS_UNPAGED_MAX)
        if more and limit is None:
            raise GuestError(
                f"data.list: more than {limits.DATA_ROWS_UNPAGED_MAX} keys begin with {json.dumps(prefix)}; "
                "page with {limit: 1000}, then {limit: 1000, after: rows.next} while there is a next",
                "RangeError",
            )
        listed = b",".join(
            b'{"key":%s,"value":%s}' % (json.dumps(key).encode(), value) for key, value in rows
        )
        following = b',"next":' + json.dumps(rows[-1][0]).encode() if more else b""
        return b'{"rows":[%s]%s}' % (listed, following)

    def _rows(self, prefix: str, after: str | None, limit: int) -> tuple[list[tuple[str, bytes]], bool]:
        """At most `limit` rows of the snapshot under the own writes, and whether there are more."""
        own = [k for k in self.writes if k.startswith(prefix) and (after is None or k > after)]
        wanted = limit + 1 + len(own)  # so many that the own writes cannot leave too few
        kept = self._data.list(prefix, after, wanted)
        end = kept[-1][0] if len(kept) == wanted else None
        merged: dict[str, bytes | None] = dict(kept)
        merged.update((key, self.writes[key]) for key in own if end is None or key <= end)
        rows = sorted((key, value) for key, value in merged.items() if value is not None)
        more = len(rows) > limit
        self.reads[RangeRead(prefix, after, rows[limit][0] if more else None)] = None
        return rows[:limit], more

    def _worlds_list(self, _text: bytes) -> bytes:
        return b"[]"

    def _worlds_denied(self, text: bytes) -> bytes:
        world = json.loads(text_of(text).split("\n", 1)[0])[0]
        raise self._refuse(
            "denied",
            "Error",
            f"this world may not call {json.dumps(world)}: the operator grants it with `pw grants` or PUT .../grants",
        )


def _too_large(what: str, size: int, size_max: int) -> CallOutcome:
    error = f"{what} {size} bytes; at most {size_max} are allowed"
    return CallOutcome(ok=False, fuel=0, failure=Failure(kind="size", error=error))


def _run(
    pool: Runs,
    image: HeapImage,
    request: bytes,
    program: Program | None,
    flick: int,
    seed: int,
    fuel: int,
    data: DataView,
    lookup: SourceLookup,
    interrupt: Interrupt | None,
) -> CallOutcome:
    host = CallHost(data)
    result = pool.run(
        Job(
            image=image,
            request=request,
            collect_request=OUTCOME,
            clock_ms=milliseconds_of(flick),
            seed=seed,
            fuel=fuel,
            host=host,
            interrupt=interrupt,
        )
    )
    ended = ended_early(result) or _ended(result.text or b"", host)
    if ended == "missing":
        return CallOutcome(ok=False, fuel=result.fuel_used, missing=True)
    reads, writes, logs = tuple(host.reads), tuple(host.writes.items()), host.console.lines
    if ended is None:
        assert result.text is not None
        return CallOutcome(
            ok=True, value=result.text[1:], fuel=result.fuel_used, logs=logs, reads=reads, writes=writes
        )
    failure = failure_of(*ended, programs_of(lookup, program))
    return CallOutcome(
        ok=False, failure=failure, fuel=result.fuel_used, logs=logs, reads=reads, writes=writes
    )


def _ended(text: bytes, host: CallHost) -> tuple[FailureKind, str] | Literal["missing"] | None:
    """What the guest says its outcome was; None if it succeeded."""
    mark, error = text[:1], text[1:]
    if mark == b"+":
        if len(error) > limits.RESULT_BYTES_MAX:
            return "size", f"the result is {len(error)} bytes; at most {limits.RESULT_BYTES_MAX} are allowed"
        return None
    if mark == b"0":
        return "missing"
    if mark == b"?":
        return "pending", PENDING
    message = text_of(error)
    if message.startswith(OUT_OF_MEMORY):
        return "memory", message
    return host.refusals.get(message.split("\n", 1)[0], _KINDS_OF_MARK[mark]), message
