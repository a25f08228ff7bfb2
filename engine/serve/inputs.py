"""What a client may send: one struct a body or query, strict in names and types. docs/GUIDE.md has their meaning.

Texts that are written down as they are (names, summaries, reasons, sources) hold no lone surrogates; keys and JSON
values may.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from engine import limits
from engine.ids import (
    WORLD_NAME_CHARS_MAX,
    BadId,
    check_check_name,
    check_request_id,
    check_world_id,
    check_world_name,
    is_definition_name,
)

Name = Annotated[str, Meta(min_length=1, max_length=WORLD_NAME_CHARS_MAX)]
Note = Annotated[str, Meta(max_length=limits.NOTE_CHARS_MAX)]
Number = Annotated[int, Meta(ge=0, le=limits.NUMBER_MAX)]
Names = Annotated[list[str], Meta(max_length=limits.NAMES_LISTED_MAX)]
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


class CopyWorld(Body, frozen=True, kw_only=True):
    """`at` is the record after which the world is copied; without it the last one."""

    name: Name
    at: Number | None = None

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
    """With `dryRun` nothing is recorded. With `gate` it is held where a result of the last calls would be another."""

    source: str
    summary: Note = ""
    commonjs: str | None = None
    gate: bool = False
    dry_run: bool = False

    def check(self) -> None:
        super().check()
        if self.dry_run and self.request_id is not None:
            raise BadId("requestId", "has no use with dryRun: nothing is recorded, so nothing is done twice")


class Call(Body, frozen=True, kw_only=True):
    args: list[Any]


class Execute(Body, frozen=True, kw_only=True):
    """With `at` the world is as it was after that record; nothing is recorded then, so there is no `requestId`."""

    expression: str
    at: Number | None = None

    def check(self) -> None:
        super().check()
        if self.at is not None and self.request_id is not None:
            raise BadId(
                "requestId", "has no use with at: nothing is recorded, and the same look is answered the same"
            )


class RestoreData(Body, frozen=True, kw_only=True):
    """`prefix`: of these keys only. `dryRun`: nothing is changed or recorded."""

    at: Number
    reason: Note = ""
    prefix: str = ""
    dry_run: bool = False

    def check(self) -> None:
        check_key(self.prefix, "prefix")  # keys may be any text
        _check_text(self.reason, "reason")
        if self.request_id is not None:
            check_request_id(self.request_id)
        if not self.dry_run and not self.reason.strip():
            raise BadId("reason", "must not be blank; say why, it is kept with the record")


class Rollback(Body, frozen=True, kw_only=True):
    revision: Number
    reason: Note
    force: bool = False


class EnrolCheck(Body, frozen=True, kw_only=True):
    """`counterexample` is a develop source that makes it fail. With a `generator` the expression is a function."""

    name: str
    expression: str
    counterexample: str
    generator: str | None = None

    def check(self) -> None:
        super().check()
        check_check_name(self.name)


class RemoveCheck(Body, frozen=True, kw_only=True):
    reason: Note


class Retry(Body, frozen=True, kw_only=True):
    """The body may be left out."""


class PinCall(Body, frozen=True, kw_only=True):
    """`call` is the record of the call; without a `name` it is called as its function is."""

    call: Number
    name: Annotated[str, Meta(max_length=limits.GOLDEN_NAME_CHARS_MAX)] = ""
    reason: Note = ""

    def check(self) -> None:
        super().check()
        for field, text in (("name", self.name), ("reason", self.reason)):
            if text and not text.strip():
                raise BadId(field, "must not be blank; leave it out where there is none")


class Unpin(Body, frozen=True, kw_only=True):
    reason: Note


class Bless(Body, frozen=True, kw_only=True):
    """The body may be left out."""

    reason: Note = ""


class RejectHeld(Body, frozen=True, kw_only=True):
    reason: Note


class AnswerIncident(Body, frozen=True, kw_only=True):
    value: Any
    reason: Note = ""


class ReplayIncident(Input, frozen=True, kw_only=True):
    """The body may be left out. `source` is an edit to be tried, as develop takes one; `commonjs` goes with it."""

    source: str | None = None
    commonjs: str | None = None

    def check(self) -> None:
        super().check()
        if self.commonjs is not None and self.source is None:
            raise BadId("commonjs", "names the library that source is, and there is no source")


class DismissIncident(Body, frozen=True, kw_only=True):
    reason: Note


class SetGrants(Input, frozen=True, kw_only=True):
    """The ids of all the worlds that may be called from now on."""

    worlds: Names

    def check(self) -> None:
        super().check()
        for index, world in enumerate(self.worlds):
            check_world_id(world, f"worlds[{index}]")


class SetPage(Input, frozen=True, kw_only=True):
    """Fields that are left out stay as they are. `newLink` makes another link, and the one before opens nothing."""

    access: Literal["private", "link", "public"] | None = None
    functions: Names | None = None
    new_link: bool = False

    def check(self) -> None:
        super().check()
        if self.access is None and self.functions is None and not self.new_link:
            raise BadId("body", "changes nothing; give at least one of access, functions, newLink")
        for index, name in enumerate(self.functions or []):
            if not is_definition_name(name):
                raise BadId(f"functions[{index}]", "must be an ASCII identifier of at most 128 characters")


class PageCall(Input, frozen=True, kw_only=True):
    """What a page's script sends."""

    token: str
    args: list[Any]


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


class RecordingQuery(Input, frozen=True, kw_only=True):
    """`until` is the last record's sequence; without it all are recorded."""

    redact: bool = False
    until: Number | None = None


class ImportQuery(Input, frozen=True, kw_only=True):
    """`as` names a copy; the request id is the copy's. An import of the world itself is done once anyway."""

    as_: Name | None = msgspec.field(name="as", default=None)
    request_id: str | None = None

    def check(self) -> None:
        super().check()
        if self.as_ is not None:
            check_world_name(self.as_, "as")
        if self.request_id is not None:
            check_request_id(self.request_id)


class AtQuery(Input, frozen=True, kw_only=True):
    """The world as it was after the record `at`; without it as it is."""

    at: Number | None = None


class ViewQuery(AtQuery, frozen=True, kw_only=True):
    """A GET of the world's page: `path` begins with "/", `query` is what follows the "?"."""

    path: str = "/"
    query: str = ""

    def check(self) -> None:
        super().check()
        if not self.path.startswith("/"):
            raise BadId("path", 'must begin with "/"')


class NewestFirst(AtQuery, frozen=True, kw_only=True):
    """Rows newest first: at most `limit`, with numbers below `before`; of the world after the record `at`."""

    limit: Limit = limits.PAGE_ROWS_DEFAULT
    before: Number | None = None


class DataQuery(AtQuery, frozen=True, kw_only=True):
    """Rows by key: at most `limit`, with `prefix`, after the key `after`; of the world after the record `at`."""

    prefix: str = ""
    after: str | None = None
    limit: Limit = limits.PAGE_ROWS_DEFAULT

    def check(self) -> None:
        """Keys may be any text."""


class LogQuery(Input, frozen=True, kw_only=True):
    """Records in order: at most `limit`, with sequences past `after`, up to `until`; without them all."""

    after: Number | None = None
    until: Number | None = None
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
