"""What verifying found: one sentence a problem, with its place and what to do about it."""

from __future__ import annotations

import msgspec


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """`place` is a file, a blob or a world; `what` says expected and actual; `advice` the next step."""

    place: str
    what: str
    advice: str
    seq: int | None = None
    offset_bytes: int | None = None

    def __str__(self) -> str:
        record = "" if self.seq is None else f", record {self.seq}"
        offset = "" if self.offset_bytes is None else f", byte {self.offset_bytes}"
        return f"{self.place}{record}{offset}: {self.what}. {self.advice}"
