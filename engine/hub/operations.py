"""What may be asked of one world. Clients, other worlds and the host itself ask it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.ids import content_id


@dataclass(frozen=True, slots=True)
class Request:
    """A client's request id and the hash of what it asked (Invariant 10)."""

    id: str
    hash: str

    @property
    def asks_as(self) -> str:
        """The name under which its operation asks other worlds, however often it is asked (Invariant 11)."""
        return content_id(f"{self.hash} {self.id}".encode("utf-8", "surrogatepass"))


def asked_as(flick: int, seed: int) -> str:
    """The name under which an operation without a request id asks other worlds."""
    return f"{flick} {seed}"


@dataclass(frozen=True, slots=True)
class Develop:
    """`gate`: hold it where a result of the world's last recorded calls would be another."""

    source: str
    summary: str
    commonjs: str | None = None
    gate: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """`path`: the worlds that it has passed through, the first one first, without this one.

    `retries` is the incident that it tries again. `asynchronous`: its client wants to hear that it is admitted,
    durably, and asks for the outcome later; a retry's always waits. `admitted` is the record of that, from
    when it is durable, and where recovery runs it again with its first flick and seed.
    """

    function: str
    args: bytes  # a JSON array
    path: tuple[str, ...] = ()
    retries: int | None = None
    asynchronous: bool = False
    admitted: int | None = None


@dataclass(frozen=True, slots=True)
class Execute:
    expression: str


@dataclass(frozen=True, slots=True)
class TryCall:
    """A call by another world's preview: a preview too. `session` is the host's; it gathers what would be written.

    `overlay` are the keys that the preview would have written here before, and their JSON text (None: deleted).
    """

    function: str
    args: bytes
    path: tuple[str, ...]
    session: Any
    overlay: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Enrol:
    name: str
    expression: str
    counterexample: str
    generator: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveCheck:
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Pin:
    """Pin what the call that is record `call` came to: a golden, which no change alters unless that is blessed."""

    call: int
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unpin:
    golden: int
    reason: str


@dataclass(frozen=True, slots=True)
class Bless:
    """Attempt a held change once more, and take it if it changes no results but those that it had shown."""

    held: int
    reason: str


@dataclass(frozen=True, slots=True)
class RejectHeld:
    held: int
    reason: str


@dataclass(frozen=True, slots=True)
class CloseIncident:
    incident: int
    how: str  # "answered" or "dismissed"
    reason: str
    value: bytes | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    worlds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetPage:
    access: str  # "private", "link" or "public"
    functions: tuple[str, ...]
    link_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Rollback:
    revision: int
    reason: str
    force: bool = False


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Put the present prelude behind the head of a world that was made on an older one."""


@dataclass(frozen=True, slots=True)
class EditData:
    key: str
    value: bytes | None  # JSON text; None deletes
    reason: str


@dataclass(frozen=True, slots=True)
class RestoreData:
    """Make the keys with the prefix what they were after record `at`: `rows`, as JSON text, by code point."""

    at: int
    prefix: str
    rows: tuple[tuple[str, bytes], ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Describe:
    name: str | None = None
    archived: bool | None = None
    frozen: bool | None = None


@dataclass(frozen=True, slots=True)
class Purge:
    reason: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Write the state down, so that rebuilding and replaying need not begin at the genesis."""


@dataclass(frozen=True, slots=True)
class Interrupt:
    """What recovery found in the in-flight file: an operation of a dead process; `detail` is its entry."""

    detail: Any
    request: Request | None = None


Operation = (
    Develop
    | Call
    | Execute
    | TryCall
    | Enrol
    | RemoveCheck
    | Pin
    | Unpin
    | Bless
    | RejectHeld
    | CloseIncident
    | Grant
    | SetPage
    | Rollback
    | Upgrade
    | EditData
    | RestoreData
    | Describe
    | Purge
    | Checkpoint
    | Interrupt
)
