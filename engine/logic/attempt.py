"""Attempts: a source is evaluated against a checkpoint, and becomes a new heap or leaves no trace."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from blake3 import blake3

from engine import ids, limits
from engine.logic.call import program_request
from engine.logic.call_host import Console
from engine.logic.failures import OUT_OF_MEMORY, PENDING, ended_early, programs_of, readable_error
from engine.logic.image import HeapImage
from engine.logic.jobs import (
    AttemptOutcome,
    Catalogue,
    Changes,
    Definition,
    FailureKind,
    RejectionKind,
    Runs,
    SourceLookup,
)
from engine.logic.prelude import PRELUDE_VERSION, prelude_source
from engine.logic.source import Program, SourceError, develop_program, library_program, restored_text
from engine.logic.syntax import Syntax, free_names, has_private_members, params_of
from engine.logic.vm import GuestError, Interrupt, Job, JobResult, text_of, wtf8

_WORD = re.compile(r"[\w$]+")
CLOCK_MS = 946_684_800_000
"""2000-01-01T00:00:00Z: what the clock says in every develop and check."""


def seed_of(image: HeapImage, source: str) -> int:
    """The seed of a source on a base: the same two give the same random numbers, for ever."""
    return int.from_bytes(blake3(image.root.encode() + b"\0" + wtf8(source)).digest(length=8), "little")


def develop(
    pool: Runs,
    image: HeapImage,
    source: str,
    *,
    catalogue: Catalogue,
    source_lookup: SourceLookup,
    fuel: int = limits.DEVELOP_FUEL_MAX,
    commonjs: str | None = None,
    interrupt: Interrupt | None = None,
) -> AttemptOutcome:
    """Evaluate a source on a head whose catalogue is given; with `commonjs`, as the library file of that name."""
    size = len(wtf8(source))
    if size > limits.SOURCE_BYTES_MAX:
        reason = f"the source is {size} bytes; at most {limits.SOURCE_BYTES_MAX} are allowed"
        return _rejected(catalogue, "size", reason)
    if commonjs is not None and not ids.is_definition_name(commonjs):
        return _rejected(
            catalogue, "threw", f"TypeError: define: {json.dumps(commonjs)} is not an ASCII identifier"
        )
    try:
        program = library_program(source) if commonjs is not None else develop_program(source)
    except SourceError as error:
        return _rejected(catalogue, "syntax", str(error))
    if program.is_inert:
        return AttemptOutcome(verdict="unchanged", fuel=0, catalogue=catalogue, rewritten=program.body)
    attempt = _Attempt(pool, image, program, catalogue, source_lookup, fuel, interrupt)
    return attempt.run(commonjs)


def catalogue_of(pool: Runs, image: HeapImage) -> Catalogue:
    """What a heap holds, read on a scratch copy: for rollbacks, upgrades and rebuilding."""
    told = _told(pool, image, b"i")
    definitions = [_definition(entry) for entry in told["definitions"]]
    return Catalogue(
        definitions=_by_name(definitions),
        states=tuple((name, version) for name, version in told["states"]),
        globals=tuple(told["globals"]),
        prelude_version=told["prelude"],
    )


def changes_between(before: Catalogue, after: Catalogue) -> Changes:
    """What a rollback changes: the definitions that one has and the other has not, or has otherwise."""
    old = {definition.name: definition for definition in before.definitions}
    new = {definition.name: definition for definition in after.definitions}
    return Changes(
        added=tuple(sorted(name for name in new if name not in old)),
        changed=tuple(sorted(n for n in new if n in old and _identity(new[n]) != _identity(old[n]))),
        removed=tuple(sorted(name for name in old if name not in new)),
        globals=tuple(sorted(name for name in after.globals if name not in before.globals)),
    )


def upgrade(pool: Runs, image: HeapImage, *, fuel: int = limits.DEVELOP_FUEL_MAX) -> AttemptOutcome:
    """Put this version's prelude into a heap that has an older one; unchanged if it has this one."""
    before = catalogue_of(pool, image)
    source = prelude_source()
    if before.prelude_version == PRELUDE_VERSION:
        return AttemptOutcome(verdict="unchanged", fuel=0, catalogue=before)
    host = _AttemptHost()
    result = pool.run(
        _attempt_job(image, b"u" + wtf8(source), b"i", seed_of(image, source), fuel, host, None)
    )
    ended = ended_early(result)
    if ended is not None:
        return replace(_rejected(before, _rejection_kind(ended[0]), ended[1]), fuel=result.fuel_used)
    assert result.image is not None
    after = catalogue_of(pool, result.image)
    return AttemptOutcome(
        verdict="accepted",
        fuel=result.fuel_used,
        image=result.image,
        catalogue=after,
        changes=changes_between(before, after),
    )


class _AttemptHost:
    """The host functions of an attempt: a console. Data and worlds are only for calls; asking is remembered."""

    def __init__(self) -> None:
        self.console = Console()
        self.touched: str | None = None

    def __call__(self, op: str, text: bytes) -> bytes | None:
        if op == "console":
            self.console.print(text)
        elif op == "console.full":
            self.console.cut()
        else:
            self.touched = self.touched or op
            raise GuestError(f"{op} works in calls only, not while a source is developed", "TypeError")
        return None


class _Attempt:
    """One evaluation of one program and what it came to."""

    def __init__(
        self,
        pool: Runs,
        image: HeapImage,
        program: Program,
        catalogue: Catalogue,
        lookup: SourceLookup,
        fuel: int,
        interrupt: Interrupt | None,
    ) -> None:
        self._pool = pool
        self._image = image
        self._program = program
        self._before = catalogue
        self._lookup = lookup
        self._programs = programs_of(lookup, program)
        self._fuel = fuel
        self._interrupt = interrupt
        self._host = _AttemptHost()

    def run(self, commonjs: str | None) -> AttemptOutcome:
        kind = b"k" if self._program.complaint is not None else b"d" if commonjs is None else b"m"
        request = program_request(kind, self._program, commonjs or "")
        seed = seed_of(self._image, self._program.written)
        result = self._pool.run(
            _attempt_job(self._image, request, b"a", seed, self._fuel, self._host, self._interrupt)
        )
        outcome = self._judged(result, is_library=commonjs is not None)
        return replace(
            outcome, fuel=result.fuel_used, logs=self._host.console.lines, rewritten=self._program.body
        )

    def _judged(self, result: JobResult, *, is_library: bool) -> AttemptOutcome:
        ended = ended_early(result)
        if ended is not None:
            return self._rejected(_rejection_kind(ended[0]), ended[1])
        told = json.loads(text_of(result.text or b""))
        mark, error = told["outcome"][0], told["outcome"][1:]
        if mark == "!":
            return self._rejected("syntax", error)
        if self._program.complaint is not None:
            return self._rejected("syntax", str(self._program.complaint))
        if self._host.touched is not None:
            return self._rejected(
                "touched-data", f"{self._host.touched} was used: data and worlds are for calls only"
            )
        if mark == "-":
            return self._rejected("memory" if error.startswith(OUT_OF_MEMORY) else "threw", error)
        if mark == "?":
            return self._rejected("pending", PENDING)
        if "spoiledGlobal" in told:
            return self._rejected("leaked-global", told["spoiledGlobal"])
        if told["globals"] and not is_library:
            names = ", ".join(told["globals"])
            return self._rejected(
                "leaked-global", f"it left a global that is no definition: {names}; use define or state"
            )
        return self._accepted(result, told)

    def _accepted(self, result: JobResult, told: dict[str, Any]) -> AttemptOutcome:
        assert result.image is not None, "a job that is ok keeps its heap"
        touched = {
            entry["name"]: _definition(entry) if "kind" in entry else None for entry in told["definitions"]
        }
        changes, different = self._changes(touched, tuple(told["globals"]))
        states = tuple((name, version) for name, version in told["states"])
        if not different and not told["called"] and self._is_same_heap(result.image):
            return AttemptOutcome(verdict="unchanged", fuel=0, catalogue=self._before)
        broken = self._broken_private(touched, told["stale"])
        if broken is not None:
            return self._rejected("threw", broken)
        kept = [d for d in self._before.definitions if d.name not in touched]
        definitions = [*kept, *(definition for definition in touched.values() if definition is not None)]
        catalogue = replace(
            self._before,
            definitions=_by_name(definitions),
            states=states,
            globals=(*self._before.globals, *told["globals"]),
        )
        size_bytes = _catalogue_bytes(catalogue)
        if size_bytes > limits.CATALOGUE_BYTES_MAX:
            return self._rejected(
                "size",
                f"with it the definitions of the world are {size_bytes} bytes of text; "
                f"at most {limits.CATALOGUE_BYTES_MAX} are allowed",
            )
        return AttemptOutcome(
            verdict="accepted", fuel=0, image=result.image, catalogue=catalogue, changes=changes
        )

    def _changes(self, touched: dict[str, Definition | None], left: tuple[str, ...]) -> tuple[Changes, bool]:
        """The changes, and whether anything differs: a name that came and went has its stub for ever."""
        old = {definition.name: definition for definition in self._before.definitions}
        new = {name: definition for name, definition in touched.items() if definition is not None}
        changed = [n for n in new if n in old and self._differs(old[n], new[n])]
        changes = Changes(
            added=tuple(sorted(name for name in new if name not in old)),
            changed=tuple(sorted(changed)),
            removed=tuple(sorted(name for name, now in touched.items() if now is None and name in old)),
            globals=tuple(sorted(left)),
        )
        return changes, changes != Changes() or None in touched.values()

    def _broken_private(
        self, touched: dict[str, Definition | None], stale: list[tuple[str, int]]
    ) -> str | None:
        """Why instances that live cannot follow a class: private members are those of the class that made them."""
        for name, count in stale:
            texts = [d.source for d in (self._before.find(name), touched[name]) if d is not None]
            if any(has_private_members(text) for text in texts):
                many = f"{count} live instance{'' if count == 1 else 's'}"
                return (
                    f"TypeError: define {name}: it has private members and {many} of the class as it was, which cannot "
                    "follow; give another version and a migrate that deals with them"
                )
        return None

    def _differs(self, old: Definition, new: Definition) -> bool:
        if _identity(old) != _identity(new):
            return True
        if old.origin == new.origin:
            return False
        before = self._lookup(old.origin)
        sources = [self._program.written, *([before.text] if before is not None else [])]
        return any(self._takes_locals(new, source) for source in sources)

    def _takes_locals(self, definition: Definition, source: str) -> bool:
        """Whether it refers to what only the source around it binds: then its own text does not say all of it."""
        written = Syntax(source)
        known = {other.name for other in self._before.definitions}
        if definition.kind == "library":
            return not (written.top_level_names() - known).isdisjoint(_WORD.findall(definition.source))
        return not (written.declared_names() - known).isdisjoint(free_names(definition.source))

    def _is_same_heap(self, after: HeapImage) -> bool:
        walk = self._walk(self._image)
        return walk is not None and walk == self._walk(after)

    def _walk(self, image: HeapImage) -> bytes | None:
        """States and properties of definitions as one text, or None if they are too large for that."""
        result = self._pool.run(_inspection(image, b"w", self._fuel))
        return result.text if result.status == "ok" else None

    def _rejected(self, kind: RejectionKind, error: str) -> AttemptOutcome:
        return _rejected(self._before, kind, readable_error(error, self._programs))


def _rejected(catalogue: Catalogue, kind: RejectionKind, reason: str) -> AttemptOutcome:
    return AttemptOutcome(verdict="rejected", fuel=0, catalogue=catalogue, kind=kind, reason=reason)


def _rejection_kind(kind: FailureKind) -> RejectionKind:
    assert kind in {"threw", "budget", "memory", "trap"}, "what a job can end as"
    return kind


def _attempt_job(
    image: HeapImage,
    request: bytes,
    collect: bytes,
    seed: int,
    fuel: int,
    host: _AttemptHost,
    interrupt: Interrupt | None,
) -> Job:
    return Job(
        image=image,
        request=request,
        collect_request=collect,
        clock_ms=CLOCK_MS,
        seed=seed,
        fuel=fuel,
        host=host,
        keep_heap=True,
        collect=True,
        interrupt=interrupt,
    )


def _inspection(image: HeapImage, request: bytes, fuel: int) -> Job:
    return Job(image=image, request=request, clock_ms=CLOCK_MS, seed=0, fuel=fuel, host=_AttemptHost())


def _told(pool: Runs, image: HeapImage, request: bytes) -> dict[str, Any]:
    """What the prelude says of a heap. Raises RuntimeError when it cannot: the heap is at its limits."""
    result = pool.run(_inspection(image, request, limits.DEVELOP_FUEL_MAX))
    if result.status != "ok" or result.text is None:
        raise RuntimeError(f"a heap could not be inspected: {result.status} {result.detail}")
    return dict(json.loads(text_of(result.text)))


def _definition(entry: dict[str, Any]) -> Definition:
    text = restored_text(entry["name"], entry["text"])
    return Definition(
        name=entry["name"],
        kind=entry["kind"],
        version=entry["version"],
        params=tuple(params_of(text)) if entry["kind"] != "library" else (),
        doc=entry["doc"],
        source=text,
        origin=entry["origin"],
        is_library_file=entry["commonjs"],
    )


def _identity(definition: Definition) -> tuple[object, ...]:
    """What makes two definitions the same; of a library file its text says nothing."""
    origin = definition.origin if definition.is_library_file else ""
    return definition.kind, definition.version, definition.doc, definition.source, origin


def _catalogue_bytes(catalogue: Catalogue) -> int:
    """About what the largest record of this catalogue takes: that of a rollback to it from an empty world."""
    texts = [*catalogue.globals]
    for definition in catalogue.definitions:
        texts += [definition.name, definition.name, definition.doc, definition.source, *definition.params]
    return sum(len(wtf8(text)) + limits.DATA_WRITE_BYTES_ABOUT for text in texts)


def _by_name(definitions: list[Definition]) -> tuple[Definition, ...]:
    return tuple(sorted(definitions, key=lambda definition: definition.name))
