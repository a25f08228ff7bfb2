"""Crash images: the disks that a power loss may leave at any operation of a recorded trace.

What survives for certain is what was synced. Of the rest an image keeps, by its kind:

- `lost`: nothing.
- `kept`: everything, as after a kill of the process alone.
- `names_only`: the names without the content, so that new files are empty.
- `data_only`: the content without the names.
- `torn`: the operations up to one of them, and some sectors of the next.
- `reordered`: each sector in any version it had since the last sync, any size it had, and of the operations
  on names either the first few in each directory or any set (none without those it builds on).
- `garbled`: as `reordered`, and sectors that were being written may also hold zeros, noise or a half of each
  version.

The first four are decided; the last three are drawn from the seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, get_args

from engine.io.sim_entropy import SimEntropy
from engine.io.sim_media import DirNode, FileNode, Media, Operation, PendingChange, PendingNaming

CrashKind = Literal["lost", "kept", "names_only", "data_only", "torn", "reordered", "garbled"]
CRASH_KINDS: tuple[CrashKind, ...] = get_args(CrashKind)
DECIDED_KINDS: tuple[CrashKind, ...] = ("lost", "kept", "names_only", "data_only")


class Trace:
    """The state at the start and every operation since; operation number n is `operations[n - 1]`."""

    def __init__(self, base: Media) -> None:
        self.base = base
        self.operations: list[Operation] = []

    def __len__(self) -> int:
        return len(self.operations)


class CrashPoint(NamedTuple):
    """One crash: after `at` operations, of one kind, by one seed. Its text says how to make it again."""

    at: int
    kind: CrashKind
    seed: int | str

    def __str__(self) -> str:
        return f"crash_images(trace, at={self.at}, kinds=({self.kind!r},), seeds=({self.seed!r},))"


def crash_media(
    trace: Trace,
    at: int | Iterable[int] | None = None,
    *,
    kinds: Iterable[CrashKind] = CRASH_KINDS,
    seeds: Iterable[int | str] = (0,),
) -> Iterator[tuple[CrashPoint, Media]]:
    """The media of every crash asked for, by ascending point.

    `at` None asks for all points, the start included. A decided kind comes once a point, the others once
    a seed.
    """
    if at is None:
        points: Iterable[int] = range(len(trace) + 1)
    else:
        points = [at] if isinstance(at, int) else sorted(at)
    kinds, seeds = tuple(kinds), tuple(seeds)
    media, done = trace.base.copy(), 0
    for point in points:
        assert 0 <= point <= len(trace), f"the trace has {len(trace)} operations, not {point}"
        while done < point:
            done += 1
            media.apply(done, trace.operations[done - 1])
        for kind in kinds:
            for seed in seeds[:1] if kind in DECIDED_KINDS else seeds:
                yield CrashPoint(point, kind, seed), media_after_crash(media, kind, seed)


def media_after_crash(media: Media, kind: CrashKind, seed: int | str) -> Media:
    """What the medium holds when power comes back; all of it durable. `media` stays as it was."""
    entropy = SimEntropy(seed).fork(kind)
    cut = _cut_of(media, entropy) if kind == "torn" else (0, 0)
    after = media.copy()
    for number in media.unclean:
        content, size_bytes = _file_after(media, media.file(number), kind, cut, entropy)
        after.nodes[number] = FileNode(content, size_bytes)
    _name_after(media, after, _namings_kept(media, kind, cut, entropy))
    after.unclean = {}
    after.namings = []
    after.namings_limbo = []
    return after


def _cut_of(media: Media, entropy: SimEntropy) -> tuple[int, int]:
    """For a torn image: the last operation that is kept and the one that is torn (0: none).

    Half of the time that is the last one: of many that were never synced, chance alone would hardly ever choose it.
    """
    ops = {pending.op: None for number in media.unclean for pending in media.file(number).pending}
    ops.update({pending.op: None for pending in media.namings})
    order = sorted(ops)
    kept = len(order) - 1 if order and entropy.chance(1, 2) else entropy.below(len(order) + 1)
    return (order[kept - 1] if kept else 0, order[kept] if kept < len(order) else 0)


# ---- names


def _namings_kept(
    media: Media, kind: CrashKind, cut: tuple[int, int], entropy: SimEntropy
) -> list[PendingNaming]:
    """The operations on names that took place, in order."""
    if kind in ("lost", "data_only"):
        return []
    if kind in ("kept", "names_only"):
        return media.namings_limbo + media.namings
    kept = {pending.op for pending in media.namings_limbo if entropy.chance(1, 2)}  # membership only
    if kind == "torn":
        kept.update(pending.op for pending in media.namings if pending.op <= cut[0])
    elif entropy.chance(1, 2):
        kept.update(_first_few_by_directory(media.namings, entropy))
    else:
        kept.update(pending.op for pending in media.namings if entropy.chance(1, 2))
    return _possible(media.namings_limbo + media.namings, kept)


def _possible(namings: list[PendingNaming], kept: set[int]) -> list[PendingNaming]:
    """Of the operations that are kept those that can be: what they build on is kept too.

    An operation builds on earlier ones on the same file, which has one name at a time, and on the one that made way
    for the name it gives: else it would put out a file that nobody replaced.
    """
    lost: set[int] = set()  # nodes; membership only
    taken: set[tuple[int, str]] = set()  # names that were not made free; membership only
    possible: list[PendingNaming] = []
    for pending in namings:
        naming = pending.naming
        builds_on_lost = naming.node in lost or any(
            entry.node and (entry.directory, entry.name) in taken for entry in naming.entries
        )
        if pending.op in kept and not builds_on_lost:
            possible.append(pending)
        else:
            lost.add(naming.node)
            taken.update((entry.directory, entry.name) for entry in naming.entries if not entry.node)
    return possible


def _first_few_by_directory(namings: list[PendingNaming], entropy: SimEntropy) -> list[int]:
    """Some operations from the start of each directory; one of two directories needs both to agree."""
    closed: set[int] = set()  # directories whose later operations are lost; membership only
    kept: list[int] = []
    for pending in namings:
        touched = [entry.directory for entry in pending.naming.entries]
        if any(number in closed for number in touched) or entropy.chance(1, 4):
            closed.update(touched)
        else:
            kept.append(pending.op)
    return kept


def _name_after(media: Media, after: Media, kept: list[PendingNaming]) -> None:
    """Give every directory its durable names and what is kept of the operations on them."""
    touched = {
        entry.directory: None
        for pending in media.namings_limbo + media.namings
        for entry in pending.naming.entries
    }
    for number in touched:
        durable = media.directory(number).media
        after.nodes[number] = DirNode(dict(durable), {})
    for pending in kept:
        for entry in pending.naming.entries:
            names = after.directory(entry.directory).names
            if entry.node:
                names[entry.name] = entry.node
            else:
                names.pop(entry.name, None)
    for number in touched:
        directory = after.directory(number)
        directory.media = dict(directory.names)
        for named in directory.names.values():
            node = after.nodes[named]
            if isinstance(node, FileNode) and not node.linked:  # its removal was lost
                node = after.nodes[named] = node.clone()
                node.linked = True


# ---- content


def _file_after(
    media: Media, node: FileNode, kind: CrashKind, cut: tuple[int, int], entropy: SimEntropy
) -> tuple[dict[int, bytes], int]:
    """The sectors and the size of one file after the crash."""
    sectors: dict[int, bytes | None] = dict(node.media)
    size_bytes = node.media_bytes
    if kind in ("lost", "names_only"):
        pass
    elif kind in ("kept", "data_only"):
        for change in node.limbo + node.pending:
            sectors.update(change.sectors)
            size_bytes = change.size_bytes
    elif kind == "torn":
        for change in _torn(node, cut, entropy):
            sectors.update(change.sectors)
            size_bytes = change.size_bytes
    else:
        size_bytes = _reorder(media, node, sectors, kind == "garbled", entropy)
    return _within(media, sectors, size_bytes), size_bytes


def _torn(node: FileNode, cut: tuple[int, int], entropy: SimEntropy) -> Iterator[PendingChange]:
    """The changes up to the cut, and some sectors of the one behind it: its first ones or any."""
    for change in node.limbo:
        if entropy.chance(1, 2):
            yield change
    for change in node.pending:
        if change.op <= cut[0]:
            yield change
        elif change.op == cut[1]:
            if entropy.chance(1, 2):
                part = change.sectors[: entropy.below(len(change.sectors) + 1)]
            else:
                part = tuple(sector for sector in change.sectors if entropy.chance(1, 2))
            size_bytes = change.size_bytes if entropy.chance(1, 2) else node.media_bytes
            if part or not change.sectors:
                yield PendingChange(change.op, part, size_bytes)


def _reorder(
    media: Media, node: FileNode, sectors: dict[int, bytes | None], garbled: bool, entropy: SimEntropy
) -> int:
    """Give each sector one of its versions; the size, one of its own."""
    versions: dict[int, list[bytes | None]] = {}
    sizes = [node.media_bytes]
    for change in node.limbo + node.pending:
        sizes.append(change.size_bytes)
        for index, content in change.sectors:
            versions.setdefault(index, [node.media.get(index)]).append(content)
    for index, choices in versions.items():
        if garbled and entropy.chance(1, 4):
            sectors[index] = _garbage(media, choices, entropy)
        else:
            sectors[index] = choices[entropy.below(len(choices))]
    return sizes[entropy.below(len(sizes))]


def _garbage(media: Media, choices: list[bytes | None], entropy: SimEntropy) -> bytes:
    """Zeros, noise, or a part of the last version in front of the first."""
    what = entropy.below(3)
    if what == 0:
        return media.zero_sector
    if what == 1:
        return entropy.draw(media.sector_bytes)
    middle = entropy.below(media.sector_bytes)
    return (choices[-1] or media.zero_sector)[:middle] + (choices[0] or media.zero_sector)[middle:]


def _within(media: Media, sectors: dict[int, bytes | None], size_bytes: int) -> dict[int, bytes]:
    """The sectors inside the size; the last one is zeros beyond it, so that growing shows nothing old."""
    whole, rest_bytes = divmod(size_bytes, media.sector_bytes)
    count = whole + (rest_bytes > 0)
    kept = {i: content for i, content in sectors.items() if content is not None and i < count}
    if rest_bytes and whole in kept:
        kept[whole] = kept[whole][:rest_bytes] + media.zero_sector[rest_bytes:]
    return kept
