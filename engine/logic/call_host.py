"""The host's side of one operation: a console, data as one snapshot under its own writes, and other worlds."""

from __future__ import annotations

import json
from collections.abc import Callable

from engine import ids, limits
from engine.logic.jobs import Ask, DataView, FailureKind, KeyRead, Look, Peers, RangeRead, Read, failure_kind
from engine.logic.overlaid import Overlaid
from engine.logic.vm import GuestError, text_of, wtf8

CONSOLE_CUT = "(the console is full: what followed was not kept)"


class Console:
    """The lines that an operation printed, within their bounds."""

    __slots__ = ("_bytes_left", "_is_cut", "_lines")

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

    def copy(self) -> Console:
        other = Console()
        other._lines = list(self._lines)
        other._bytes_left = self._bytes_left
        other._is_cut = self._is_cut
        return other


class Journal:
    """What an operation has done and been told so far. It travels with the operation when that is parked.

    `refusals` are the failures that follow from errors of the host, by the error's first line. `unanswered` are
    the asks that wait, by ordinal, as "world.function". `peer_bytes` counts what crossed to and from other worlds,
    `write_bytes` what the writes take in a record.
    """

    __slots__ = (
        "asked",
        "console",
        "looks",
        "peer_bytes",
        "reads",
        "refusals",
        "unanswered",
        "write_bytes",
        "writes",
    )

    def __init__(self) -> None:
        self.console = Console()
        self.reads: dict[Read, None] = {}
        self.writes: dict[str, bytes | None] = {}
        self.refusals: dict[str, FailureKind] = {}
        self.looks: dict[tuple[str, str], Look] = {}
        self.asked = 0
        self.unanswered: dict[int, str] = {}
        self.peer_bytes = 0
        self.write_bytes = 0

    def copy(self) -> Journal:
        other = Journal()
        other.console = self.console.copy()
        other.reads = dict(self.reads)
        other.writes = dict(self.writes)
        other.refusals = dict(self.refusals)
        other.looks = dict(self.looks)
        other.asked = self.asked
        other.unanswered = dict(self.unanswered)
        other.peer_bytes = self.peer_bytes
        other.write_bytes = self.write_bytes
        return other

    @property
    def is_over_peer_bytes(self) -> bool:
        return self.peer_bytes > limits.PEER_BYTES_MAX

    def refuse(self, kind: FailureKind, error: str) -> None:
        """If nobody catches the error with this text, the operation failed with `kind`."""
        self.refusals[error.split("\n", 1)[0]] = kind


class CallHost:
    """The host functions of one job of an operation. `asks` are those that this job made."""

    def __init__(self, data: DataView, peers: Peers, journal: Journal) -> None:
        self.journal = journal
        self.asks: list[Ask] = []
        self._data = data
        self._overlaid = Overlaid(data, journal.writes)
        self._peers = peers

    def __call__(self, op: str, text: bytes) -> bytes | None:
        return _OPERATIONS[op](self, text)

    def _refuse(self, kind: FailureKind, name: str, message: str) -> GuestError:
        """An error for the guest; if nobody catches it, the operation failed with `kind`."""
        self.journal.refuse(kind, f"{name}: {message}")
        return GuestError(message, name)

    def _print(self, text: bytes) -> None:
        self.journal.console.print(text)

    def _cut(self, _text: bytes) -> None:
        self.journal.console.cut()

    # -- data

    def _get(self, text: bytes) -> bytes | None:
        return self._current(self._key(text))

    def _current(self, key: str) -> bytes | None:
        if key not in self.journal.writes:
            self._read(KeyRead(key))
        return self._overlaid.get(key)

    def _read(self, read: Read) -> None:
        reads = self.journal.reads
        if len(reads) >= limits.DATA_READS_MAX and read not in reads:
            raise self._refuse(
                "size",
                "RangeError",
                f"data: one call reads {limits.DATA_READS_MAX} different keys at most; "
                "data.list reads many at once",
            )
        reads[read] = None

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
        journal = self.journal
        replaced_bytes = _write_bytes(key, journal.writes[key]) if key in journal.writes else 0
        write_bytes = journal.write_bytes - replaced_bytes + _write_bytes(key, value)
        if write_bytes > limits.DATA_WRITES_BYTES_MAX:
            raise self._refuse(
                "size",
                "RangeError",
                f"data: one call writes {limits.DATA_WRITES_BYTES_MAX} bytes at most; divide the work into several",
            )
        journal.write_bytes = write_bytes
        journal.writes.pop(key, None)  # the order is that of the last writes
        journal.writes[key] = value

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
        if sum(len(value) for _, value in rows) > limits.DATA_LIST_BYTES_MAX:
            raise self._refuse(
                "size",
                "RangeError",
                f"data.list: these {len(rows)} rows are more than {limits.DATA_LIST_BYTES_MAX} bytes; "
                "page with a smaller limit",
            )
        listed = b",".join(
            b'{"key":%s,"value":%s}' % (json.dumps(key).encode(), value) for key, value in rows
        )
        following = b',"next":' + json.dumps(rows[-1][0]).encode() if more else b""
        return b'{"rows":[%s]%s}' % (listed, following)

    def _rows(self, prefix: str, after: str | None, limit: int) -> tuple[list[tuple[str, bytes]], bool]:
        """At most `limit` rows, and whether there are more."""
        rows = self._overlaid.list(prefix, after, limit + 1)
        more = len(rows) > limit
        self._read(RangeRead(prefix, after, rows[limit][0] if more else None))
        return rows[:limit], more

    # -- other worlds: what the host says of them it says once an operation, so that nothing changes under it

    def _worlds_list(self, _text: bytes) -> bytes:
        return self._look("list", "").answer

    def _worlds_functions(self, text: bytes) -> bytes:
        world = text_of(text)
        if world not in json.loads(self._look("list", "").answer):
            self._check_grant(world)
        return self._look("functions", world).answer

    def _worlds_call(self, text: bytes) -> bytes:
        """The ordinal under which the guest keeps its promise."""
        named, _, args = text.partition(b"\n")
        world, function = json.loads(text_of(named))
        self._check_grant(world)
        if not ids.is_definition_name(function):
            raise GuestError(f"{world}.{function}: {json.dumps(function)} is no name of a definition")
        self._check_ask(f"{world}.{function}", len(args))
        ordinal = self.journal.asked
        self.journal.asked += 1
        self.journal.unanswered[ordinal] = f"{world}.{function}"
        self.asks.append(Ask(ordinal, world, function, args))
        return b"%d" % ordinal

    def _check_grant(self, world: str) -> None:
        look = self._look("call", world)
        if look.refused is not None:
            raise self._refuse(look.refused, "Error", text_of(look.answer))

    def _check_ask(self, what: str, args_bytes: int) -> None:
        if args_bytes > limits.ARGUMENTS_BYTES_MAX:
            raise self._refuse(
                "size",
                "RangeError",
                f"{what}: the arguments are {args_bytes} bytes; at most {limits.ARGUMENTS_BYTES_MAX} are allowed",
            )
        if self.journal.asked >= limits.PEER_ASKS_MAX:
            raise self._refuse(
                "size",
                "RangeError",
                f"{what}: one call may ask other worlds {limits.PEER_ASKS_MAX} times at most",
            )
        self._spend(args_bytes)

    def _look(self, what: str, world: str) -> Look:
        look = self.journal.looks.get((what, world))
        if look is None:
            look = self._asked(what, world)
            self._spend(len(look.answer))
            self.journal.looks[what, world] = look
        return look

    def _asked(self, what: str, world: str) -> Look:
        match what:
            case "list":
                return Look("list", "", _json(list(self._peers.list())))
            case "functions":
                keys = ("name", "kind", "doc", "params")
                rows = [dict(zip(keys, row, strict=True)) for row in self._peers.functions(world)]
                return Look("functions", world, _json(rows))
        refusal = self._peers.may_call(world)
        return (
            Look("call", world, wtf8(refusal[1]), failure_kind(refusal[0]))
            if refusal
            else Look("call", world, b"")
        )

    def _spend(self, size_bytes: int) -> None:
        self.journal.peer_bytes += size_bytes
        if self.journal.is_over_peer_bytes:
            raise self._refuse("size", "RangeError", PEER_BYTES_SPENT)


# Not bound to each: a host that refers to itself is only freed by a collection of garbage.
_OPERATIONS: dict[str, Callable[[CallHost, bytes], bytes | None]] = {
    "console": CallHost._print,
    "console.full": CallHost._cut,
    "data.get": CallHost._get,
    "data.set": CallHost._set,
    "data.delete": CallHost._delete,
    "data.list": CallHost._list,
    "worlds.list": CallHost._worlds_list,
    "worlds.functions": CallHost._worlds_functions,
    "worlds.call": CallHost._worlds_call,
}
PEER_BYTES_SPENT = (
    f"arguments for other worlds and their answers are at most {limits.PEER_BYTES_MAX} bytes in one call"
)


def _write_bytes(key: str, value: bytes | None) -> int:
    """What a write takes in a record, about."""
    return len(wtf8(key)) + len(value or b"") + limits.DATA_WRITE_BYTES_ABOUT


def _json(value: object) -> bytes:
    return json.dumps(value).encode()
