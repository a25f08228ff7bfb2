"""Where two heaps differ, as their world would say it: a definition, a path into a state; else by their pages."""

from __future__ import annotations

import json
from itertools import islice

from engine import limits
from engine.host.images import HeapUnreadable, Images
from engine.logic import HeapImage, catalogue_of, execute
from engine.logic.jobs import CallOutcome, Catalogue, Runs
from engine.logic.park import Waiting
from engine.record.comparing import ABSENT, Difference, json_differences
from engine.record.kinds import HeapRef


class NoData:
    """The `DataView` of who looks at a heap alone."""

    def get(self, key: str) -> bytes | None:
        return None

    def list(self, prefix: str, after: str | None, limit: int | None) -> list[tuple[str, bytes]]:
        return []


def heap_differences(pool: Runs, images: Images, recorded: HeapRef, actual: HeapRef) -> list[Difference]:
    """Where the heap of `actual` is another than the recorded one; at most DIFFERENCES_MAX, empty for equal roots."""
    if recorded.root == actual.root:
        return []
    try:
        expected_image, actual_image = images.get(recorded), images.get(actual)
    except HeapUnreadable as error:
        return [Difference("heap", recorded.root, f"not to be compared: {error}")]
    expected, found = catalogue_of(pool, expected_image), catalogue_of(pool, actual_image)
    told = [
        *_in_definitions(expected, found),
        *_in_states(pool, (expected_image, expected), (actual_image, found)),
    ]
    return list(islice(told or _in_pages(expected_image, actual_image), limits.DIFFERENCES_MAX))


def _in_definitions(expected: Catalogue, actual: Catalogue) -> list[Difference]:
    before = {definition.name: definition for definition in expected.definitions}
    after = {definition.name: definition for definition in actual.definitions}
    told = []
    for name in sorted({*before, *after}):
        path = f"definition {name}"
        if name not in before or name not in after:
            told.append(Difference(path, *(_there(name in side) for side in (before, after))))
            continue
        for field in ("kind", "version", "doc", "source"):
            old, new = (json.dumps(getattr(side[name], field)).encode() for side in (before, after))
            told += json_differences(f"{path}, {field}", old, new)
    return told


def _in_states(
    pool: Runs, expected: tuple[HeapImage, Catalogue], actual: tuple[HeapImage, Catalogue]
) -> list[Difference]:
    before, after = dict(expected[1].states), dict(actual[1].states)
    told = []
    for name in sorted({*before, *after}):
        path = f"state({json.dumps(name)})"
        if name not in before or name not in after:
            told.append(Difference(path, *(_there(name in side) for side in (before, after))))
            continue
        old, new = (_state(pool, image, name) for image in (expected[0], actual[0]))
        told += json_differences(path, old, new)
    return told


def _there(is_there: bool) -> str:
    return "defined" if is_there else ABSENT


def _state(pool: Runs, image: HeapImage, name: str) -> bytes:
    """A state as JSON text; why it has none, where it has none."""
    outcome = execute(
        pool,
        image,
        f"state({json.dumps(name)}, () => null)",
        flick=0,
        seed=0,
        fuel=limits.CALL_FUEL_MAX,
        data=NoData(),
        source_lookup=lambda _: None,
    )
    if isinstance(outcome, Waiting) or outcome.value is None:
        return json.dumps(f"no JSON: {_why(outcome)}").encode()
    return outcome.value


def _why(outcome: CallOutcome | Waiting) -> str:
    if isinstance(outcome, Waiting) or outcome.failure is None:
        return "it waits"
    return outcome.failure.headline


def _in_pages(expected: HeapImage, actual: HeapImage) -> list[Difference]:
    if expected.size_bytes != actual.size_bytes:
        return [Difference("heap size, bytes", str(expected.size_bytes), str(actual.size_bytes))]
    pages = actual.pages_differing(expected)
    shown = ", ".join(map(str, pages[:10])) + (", …" if len(pages) > 10 else "")
    return [Difference("heap", "the same pages", f"{len(pages)} pages differ: {shown}")]
