"""What a client may send: one struct a body or query, strict in names and types. SPEC section 7 has their meaning.

Texts that are written down as they are (names, summaries, reasons, sources) hold no lone surrogates; keys and JSON
values may.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from engine import limits
from engine.ids import WORLD_NAME_CHARS_MAX, BadId, check_request_id, check_world_name

Name = Annotated[str, Meta(min_length=1, max_length=WORLD_NAME_CHARS_MAX)]
Note = Annotated[str, Meta(max_length=limits.NOTE_CHARS_MAX)]
Number = Annotated[int, Meta(ge=0, le=limits.NUMBER_MAX)]
Limit = Annotated[int, Meta(ge=1, le=limits.PAGE_ROWS_MAX)]


class Input(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    def check(self) -> None:
        """Raise BadId for what types cannot say. Subclasses add to it."""
        for name, field in zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True):
            value = getattr(self, name)
            if isinstance(value, str):
                _check_text(value, field)


class Body(Input, frozen=True, kw_only=True):
    """A change: asked again under the same request id it is answered again, not done again."""

    request_id: str | None = None

    def check(self) -> None:
        super().check()
        if self.request_id is not None:
            check_request_id(self.request_id)


# ---- bodies ----------------------------------------------------------------------------------------------


class CreateWorld(Body, frozen=True, kw_only=True):
    name: Name

    def check(self) -> None:
        super().check()
        check_world_name(self.name)


class ChangeWorld(Body, frozen=True, kw_only=True):
    name: Name | None = None
    archived: bool | None = None
    frozen: bool | None = None

    def check(self) -> None:
        super().check()
        if self.name is not None:
            check_world_name(self.name)
        if self.name is None and self.archived is None and self.frozen is None:
            raise BadId("body", "changes nothing; give at least one of name, archived, frozen")


class ArchiveWorld(Body, frozen=True, kw_only=True):
    """The body may be left out."""


class PurgeWorld(Body, frozen=True, kw_only=True):
    """`confirm` repeats the world's id."""

    confirm: str
    reason: Note = "purged by the operator"


class Develop(Body, frozen=True, kw_only=True):
    source: str
    summary: Note = ""
    commonjs: str | None = None


class Call(Body, frozen=True, kw_only=True):
    args: list[Any]


class Execute(Body, frozen=True, kw_only=True):
    expression: str


class Rollback(Body, frozen=True, kw_only=True):
    revision: Number
    reason: Note
    force: bool = False


class SetData(Body, frozen=True, kw_only=True):
    value: Any
    reason: Note


class DeleteData(Body, frozen=True, kw_only=True):
    reason: Note


class Nothing(Input, frozen=True, kw_only=True):
    """No fields: the body may be left out."""


class Backup(Input, frozen=True, kw_only=True):
    """`directory` is an absolute path on the server's machine, missing or empty."""

    directory: str


# ---- queries ---------------------------------------------------------------------------------------------


class NoQuery(Input, frozen=True, kw_only=True):
    """No parameters."""


class WorldsQuery(Input, frozen=True, kw_only=True):
    archived: bool = False


class NewestFirst(Input, frozen=True, kw_only=True):
    """Rows newest first: at most `limit`, with numbers below `before`."""

    limit: Limit = limits.PAGE_ROWS_DEFAULT
    before: Number | None = None


class DataQuery(Input, frozen=True, kw_only=True):
    """Rows by key: at most `limit`, with `prefix`, after the key `after`."""

    prefix: str = ""
    after: str | None = None
    limit: Limit = limits.PAGE_ROWS_DEFAULT

    def check(self) -> None:
        """Keys may be any text."""


class LogQuery(Input, frozen=True, kw_only=True):
    """Records in order: at most `limit`, with sequences past `after`; without it from the first."""

    after: Number | None = None
    limit: Limit = limits.PAGE_ROWS_DEFAULT


def check_key(key: str, field: str = "key") -> str:
    """Return `key` if data may have it: any text of at most DATA_KEY_BYTES_MAX bytes."""
    size_bytes = len(key.encode("utf-8", "surrogatepass"))
    if size_bytes > limits.DATA_KEY_BYTES_MAX:
        raise BadId(field, f"is {size_bytes} bytes long; at most {limits.DATA_KEY_BYTES_MAX} are allowed")
    return key


def _check_text(text: str, field: str) -> None:
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise BadId(field, "must not contain lone surrogates")
