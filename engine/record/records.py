"""Records as bytes: canonical encoding, strict decoding, identities.

A record's hash is the BLAKE3 of its header bytes. The header holds the hash of the body and of the world's
previous record, so that the chain goes on verifying when a body was erased (Invariant 20).
"""

from __future__ import annotations

from typing import Any, get_args

from blake3 import blake3

from engine.io.log import LogEntry
from engine.record.canonical import NotCanonical, from_bytes, to_bytes
from engine.record.kinds import Body, Header

FORMAT = 1
FIRST_SEQ = 0

_BODY_TYPES: tuple[type[Any], ...] = get_args(Body)
KINDS: dict[str, type[Any]] = {str(kind.__struct_config__.tag): kind for kind in _BODY_TYPES}
_KIND_OF = {kind: name for name, kind in KINDS.items()}


class RecordRefused(Exception):
    """A record that cannot be taken as it is: which, why, what to do. `world` and `seq` say where."""

    def __init__(self, world: str, seq: int, reason: str) -> None:
        super().__init__(f"world {world}, record {seq}: {reason}")
        self.world = world
        self.seq = seq
        self.reason = reason


class RecordForeign(RecordRefused):
    """A kind or a format that this version does not know; both sides are named."""


class RecordRotten(RecordRefused):
    """Bytes that are not what the record's hashes, or its place, say."""


def genesis_previous() -> str:
    """The `previous` of a world's first record: 64 zeros."""
    return "0" * 64


def kind_of(body: Body) -> str:
    """The name of a body's kind, as headers have it."""
    return _KIND_OF[type(body)]


def encode(
    body: Body, *, world: str, seq: int, actor: str, flick: int, previous: str
) -> tuple[LogEntry, str]:
    """The record as the log takes it, and its hash (64 hex digits), which the next record's `previous` must
    be.
    """
    assert seq >= FIRST_SEQ and len(previous) == 64, "a record follows another, or 64 zeros"
    body_bytes = to_bytes(body)
    header = Header(
        format=FORMAT,
        world=world,
        seq=seq,
        kind=kind_of(body),
        actor=actor,
        flick=flick,
        body_hash=blake3(body_bytes).hexdigest(),
        previous=previous,
    )
    header_bytes = to_bytes(header)
    return LogEntry(world, seq, header_bytes, body_bytes), blake3(header_bytes).hexdigest()


def decode(entry: LogEntry) -> tuple[Header, Body | None]:
    """The header, and the body or None where it was erased. Raises RecordForeign, RecordRotten."""
    header = decode_header(entry)
    if entry.body is None:
        return header, None
    if blake3(entry.body).hexdigest() != header.body_hash:
        raise _rotten(entry, "its body is not the one that its header names")
    try:
        return header, from_bytes(KINDS[header.kind], entry.body)
    except NotCanonical as error:
        raise _rotten(entry, f"its body is no {header.kind} ({error})") from None


def decode_header(entry: LogEntry) -> Header:
    """The header alone; the body is not looked at. Raises RecordForeign, RecordRotten."""
    try:
        header = from_bytes(Header, entry.header)
    except NotCanonical as error:
        raise _rotten(entry, f"its header does not decode ({error})") from None
    if header.format != FORMAT:
        raise RecordForeign(
            entry.world,
            entry.seq,
            f"it has record format {header.format}; this version reads format {FORMAT}. "
            "Open the directory with the version that wrote it",
        )
    if header.world != entry.world or header.seq != entry.seq:
        raise _rotten(entry, f"its header says world {header.world}, record {header.seq}")
    if header.kind not in KINDS:
        raise RecordForeign(
            entry.world,
            entry.seq,
            f"its kind {header.kind!r} is not known to this version (record format {FORMAT}, "
            f"kinds {', '.join(sorted(KINDS))}). Open the directory with the version that wrote it",
        )
    return header


def record_hash(header: bytes) -> str:
    """The identity of a record: BLAKE3 of its header bytes, 64 hex digits."""
    return blake3(header).hexdigest()


def _rotten(entry: LogEntry, reason: str) -> RecordRotten:
    return RecordRotten(entry.world, entry.seq, f"{reason}. Run: pw doctor")
