"""Small lives of worlds, written as records: shared by the tests of `engine.record`."""

from __future__ import annotations

from blake3 import blake3

from engine.io.blobs import Blobs
from engine.io.log import Log, LogEntry
from engine.limits import PAGE_BYTES, WASM_PAGE_BYTES
from engine.record import FIRST_SEQ, Page, encode, encode_base, encode_data, encode_delta, genesis_previous
from engine.record.golden_kinds import Asked, Blessed, Difference, Outcome
from engine.record.kinds import (
    Admitted,
    Body,
    Call,
    Changes,
    CheckEnrolled,
    Checkpoint,
    CheckRemoved,
    DataCopied,
    DataEdit,
    DataRestored,
    Definition,
    Describe,
    Failure,
    Genesis,
    GoldenPinned,
    GoldenUnpinned,
    Granted,
    HeapRef,
    Held,
    HeldRejected,
    Imported,
    IncidentClosed,
    Interrupted,
    Look,
    PageSet,
    Preview,
    Purge,
    Rejection,
    Request,
    Revision,
    Unchanged,
    Write,
)

NO_HEAP = HeapRef("a" * 64, "b" * 64)
META = b"meta of a heap"


class Book:
    """Writes records into a log, each after its world's last one, at the flick it is at."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.ends: dict[str, tuple[int, str]] = {}
        self.flick = 1000
        for world in log.worlds():
            last = log.last(world)
            assert last is not None
            self.ends[world] = last

    def entry(self, world: str, body: Body, actor: str = "operator") -> LogEntry:
        seq, previous = self.ends.get(world, (FIRST_SEQ - 1, genesis_previous()))
        entry, entry_hash = encode(
            body, world=world, seq=seq + 1, actor=actor, flick=self.flick, previous=previous
        )
        self.ends[world] = (seq + 1, entry_hash)
        return entry

    def write(self, world: str, *bodies: Body) -> int:
        """One batch; the sequence of its last record."""
        self.log.append([self.entry(world, body) for body in bodies])
        return self.ends[world][0]


def root_of(memory: bytes, meta: bytes) -> str:
    return blake3(meta + memory).hexdigest()


class Heaps:
    """Heaps that grow by deltas, as the revisions of one world."""

    def __init__(self, blobs: Blobs, wasm_pages: int = 2) -> None:
        self.blobs = blobs
        noise = blake3(b"noise").digest(length=PAGE_BYTES)
        self.memory = bytearray(noise * (wasm_pages * WASM_PAGE_BYTES // PAGE_BYTES))
        self.depth = 0
        self.ref = self._named(encode_base(bytes(self.memory), META))

    def change(self, page_number: int, at: int, content: bytes) -> HeapRef:
        """Write into one page; the new heap as a delta of the last one."""
        start = page_number * PAGE_BYTES
        before = bytes(self.memory[start : start + PAGE_BYTES])
        self.memory[start + at : start + at + len(content)] = content
        after = bytes(self.memory[start : start + PAGE_BYTES])
        blob = encode_delta(
            self.ref.blob,
            parent_depth=self.depth,
            size_bytes=len(self.memory),
            meta=META,
            pages=[Page(page_number, after, before)],
        )
        self.depth += 1
        self.ref = self._named(blob)
        return self.ref

    def _named(self, blob: bytes) -> HeapRef:
        return HeapRef(root_of(bytes(self.memory), META), self.blobs.put(blob))


def genesis(name: str = "A world", heap: HeapRef = NO_HEAP, engine_blob: str = "c" * 64, **more) -> Genesis:
    return Genesis(
        name=name, engine="engine 1", engine_blob=engine_blob, prelude_version=2, heap=heap, **more
    )


def definition(name: str, source: str = "") -> Definition:
    return Definition(name, "function", 1, ["x"], f"what {name} does", source or f"function {name}(x) {{}}")


def revision(
    n: int, *names: str, removed: tuple[str, ...] = (), heap: HeapRef = NO_HEAP, source: str = "", **more
) -> Revision:
    given: dict = {"cause": "develop", "commonjs": None}
    return Revision(
        n=n,
        parent=n - 1,
        summary=f"revision {n}",
        source=source or f"source {n}",
        rewritten=f"rewritten {n}",
        heap=heap,
        prelude_version=2,
        changes=Changes(added=list(names), removed=list(removed)),
        definitions=[definition(name, source) for name in names],
        logs=[],
        fuel=1000 + n,
        **(given | more),
    )


def unchanged(n: int, **more) -> Unchanged:
    return Unchanged(revision=n, source="// no", commonjs=None, summary="nothing", logs=[], fuel=5, **more)


def rejection(n: int, base: int = 0, **more) -> Rejection:
    return Rejection(
        n=n,
        base=base,
        cause="develop",
        source="throw 1",
        commonjs=None,
        summary="no",
        kind="threw",
        reason="1",
        check=None,
        logs=["log"],
        fuel=7,
        **more,
    )


def call(function: str = "f", *, writes: dict[str, bytes | None] | None = None, **more) -> Call:
    given: dict = {
        "args": b'["x"]',
        "revision": 1,
        "snapshot": 1,
        "flick": 900,
        "seed": 2**64 - 1,
        "value": b'"y"',
        "failure": None,
    }
    return Call(
        function=function,
        writes=[Write(key, value) for key, value in (writes or {}).items()],
        logs=[],
        fuel=10,
        reruns=0,
        **(given | more),
    )


def failed_call(incident: int, function: str = "f", error: str = "Error: zip\n    at f", **more) -> Call:
    return call(function, value=None, failure=Failure("threw", error), incident=incident, **more)


def preview(**more) -> Preview:
    return Preview(
        expression="1 + 1",
        revision=1,
        snapshot=1,
        flick=900,
        seed=3,
        value=b"2",
        failure=None,
        undone=[],
        logs=[],
        fuel=2,
        **more,
    )


def interrupted(incident: int, **more) -> Interrupted:
    given: dict = {
        "admitted_flick": 900,
        "deaths": 1,
        "quarantined": False,
        "work": "w" * 64,
        "operation": "call",
        "subject": "f",
    }
    return Interrupted(incident=incident, args=b"[]", revision=1, **(given | more))


def edit(key: str, value: bytes | None) -> DataEdit:
    return DataEdit(Write(key, value), "because")


def checkpoint(
    blobs: Blobs,
    rows: dict[str, bytes],
    revision_n: int = 1,
    heap: HeapRef = NO_HEAP,
    snapshot: int = 10**6,
) -> Checkpoint:
    content, digest, count = encode_data(rows.items())
    return Checkpoint(revision_n, heap, blobs.put(content), digest, count, snapshot)


def outcome(value: bytes | None = b"1", **more) -> Outcome:
    return Outcome(value=value, **more)


def difference(golden: int | None, **more) -> Difference:
    return Difference(
        5, "f", b"[1]", outcome(), outcome(None, failure=Failure("threw", "Error: no")), golden, **more
    )


def golden(n: int, **more) -> GoldenPinned:
    given: dict = {"asks": [], "looks": []}
    return GoldenPinned(
        n=n,
        name=f"golden {n}",
        call=5,
        function="f",
        args=b"[1]",
        flick=900,
        seed=2**64 - 1,
        snapshot=4,
        path=[],
        outcome=outcome(writes=[Write("k", b"1"), Write("gone", None)], logs=["log"], fuel=10),
        reason="it matters",
        **(given | more),
    )


def held(n: int, **more) -> Held:
    given: dict = {"cause": "develop", "target": None, "goldens": [], "differs": [], "tried_until": None}
    return Held(
        n=n,
        base=3,
        source="function f() { return 2 }",
        commonjs=None,
        summary="two",
        root="3" * 64,
        changes=Changes(changed=["f"]),
        logs=[],
        fuel=11,
        **(given | more),
    )


EVERY_KIND: list[Body] = [
    genesis(request=Request("create-1", "d" * 64)),
    revision(1, "f", "g"),
    revision(2, "f", removed=("g",), request=Request("r", "e" * 64)),
    revision(3, "g", cause="rollback", target=1, forced=True),
    unchanged(3),
    rejection(1, 3),
    call(writes={"k": b"1", "gone": None}, request=Request("c", "f" * 64)),
    failed_call(1),
    preview(),
    interrupted(2, request=Request("i", "0" * 64), seed=2**63, snapshot=4),
    edit("k", None),
    Describe(name="Other", archived=False),
    Checkpoint(3, NO_HEAP, "1" * 64, "2" * 64, 1, 9),
    Admitted("f", b"[1]", 7, 2**63, ["a", "b"], Request("late", "a" * 64)),
    IncidentClosed(1, "answered", "by hand", b"5"),
    CheckEnrolled("holds", "x => x === x", "undefine('f')", "gen.int()", [b"1", b"-1"], 2**64 - 1, 3),
    CheckRemoved("holds", "no longer true"),
    Granted(["rates", "trips"], Request("g", "b" * 64)),
    PageSet("link", ["f"], "c" * 64),
    DataRestored(4, "k", "undo the import", [Write("k", b"2"), Write("k2", None)], Request("back", "c" * 64)),
    golden(1, asks=[Asked("rates", "rate", b"[1]", 0, True, b"3"), Asked("rates", "rate", b"[2]")]),
    golden(2, looks=[Look("call", "b", b"no", "denied")], request=Request("pin", "1" * 64)),
    held(3, goldens=[difference(1)], request=Request("hold", "2" * 64)),
    held(4, goldens=[difference(1)], differs=[difference(None)], replaces=3, tried_until=9),
    revision(4, "g", blessed=Blessed(4, "meant", [1])),
    held(5, cause="rollback", target=1),
    HeldRejected(5, "not meant"),
    held(6),
    unchanged(4, blesses=6),
    GoldenUnpinned(2, "nobody asks it any more"),
    DataCopied([Write("k", b"3"), Write("k3", b"[]")]),
    Imported("0123456789abcdef", 32, "4" * 64),
    Purge("asked"),
]
"""One of each, as one world could have them."""
