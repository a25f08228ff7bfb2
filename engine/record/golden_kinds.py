"""The kinds of records that pin call results, and hold changes of them. Formats, as all kinds are (see `kinds`)."""

# ruff: noqa: RUF012  msgspec gives each value a list of its own

from __future__ import annotations

from engine.record.kind_parts import Changes, Failure, Look, Part, Request, Write


class Outcome(Part, frozen=True):
    """What a call came to, as goldens have it (see `goldens` for what of it is compared).

    `stopped` says why it came to nothing: what it would have needed was not recorded. Of an outcome that is too large
    to be kept, `large` is its identity (64 hex digits), and all but logs and fuel is left out; `beginning` is how its
    value's JSON begins, `size_bytes` what value and writes take.
    """

    value: bytes | None = None
    failure: Failure | None = None
    writes: list[Write] = []
    logs: list[str] = []
    fuel: int = 0
    stopped: str | None = None
    large: str | None = None
    beginning: str = ""
    size_bytes: int = 0


class Asked(Part, frozen=True):
    """A call of another world as a pinned call made it, and its answer: JSON text, or the error's text.

    `heard` counts the answers in the order in which the call heard them, from 0; None where it ended without this one.
    `kind` is as in `PeerAnswer`.
    """

    world: str
    function: str
    args: bytes
    heard: int | None = None
    ok: bool = False
    value: bytes = b""
    kind: str = ""


class Difference(Part, frozen=True):
    """One call that a change would make come to something else. `golden` and `name` are those it is pinned as.

    Arguments that are too large to be shown are left out: `args` is then empty.
    """

    call: int
    function: str
    args: bytes
    before: Outcome
    after: Outcome
    golden: int | None = None
    name: str = ""


class Blessed(Part, frozen=True):
    """The held change that a revision makes good, and why.

    `goldens` are the pinned results that it changes, by number: from now on they are what the held change has shown.
    """

    held: int
    reason: str
    goldens: list[int]


class GoldenPinned(Part, frozen=True, tag="golden-pinned"):
    """A recorded call is pinned, with all that running it again takes but its data, which is that of `snapshot`.

    `call` is the call's own record; `asks` are in the order in which it asked.
    """

    n: int
    name: str
    call: int
    function: str
    args: bytes
    flick: int
    seed: int
    snapshot: int
    path: list[str]
    asks: list[Asked]
    looks: list[Look]
    outcome: Outcome
    reason: str
    request: Request | None = None


class GoldenUnpinned(Part, frozen=True, tag="golden-unpinned"):
    golden: int
    reason: str
    request: Request | None = None


class Held(Part, frozen=True, tag="held"):
    """An attempt that would change results: no revision before it is blessed, and none if it is rejected.

    `cause`, `source`, `commonjs`, `summary` and `target` are what a revision would say, `root` is the heap that it came
    to, which is not kept. `goldens` are the pinned results that would change; `differs` those of the calls up to record
    `tried_until` that it was tried against, where that was asked for. `replaces` is the held change whose blessing
    found something else than it had shown.
    """

    n: int
    base: int
    cause: str
    source: str
    commonjs: str | None
    summary: str
    target: int | None
    root: str
    changes: Changes
    goldens: list[Difference]
    differs: list[Difference]
    tried_until: int | None
    logs: list[str]
    fuel: int
    replaces: int | None = None
    request: Request | None = None

    @property
    def shown(self) -> dict[int, Outcome]:
        """What pinned results would become, by number."""
        return {one.golden: one.after for one in self.goldens if one.golden is not None}


class HeldRejected(Part, frozen=True, tag="held-rejected"):
    held: int
    reason: str
    request: Request | None = None
