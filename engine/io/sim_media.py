"""What a simulated disk holds: the medium itself, the cache above it, and what is still between the two.

A file is sectors. Its *media* is what a power loss leaves for certain; its *cache* is what readers see beyond
that; *pending* changes were written since its last sync, and *limbo* ones were pending when a sync failed:
they may have reached the medium or not, and no later sync tells (they are settled when their sector is synced
anew). Names live apart from files: a directory has names readers see and names that are durable, and pending
operations in between, each atomic by itself.

A `Media` is moved only by applying operations, so a recorded list of them rebuilds the state at any point.
Copies share their files and directories until one side changes them, which makes crash images cheap.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

SyncOutcome = Literal["synced", "lied", "failed_dropped", "failed_kept"]
ROOT = 1  # the number of the root directory; files and directories share one row of numbers


class Change(NamedTuple):
    """A write or a truncation of one file: whole sectors (None: a hole) and the size afterwards."""

    file: int
    sectors: tuple[tuple[int, bytes | None], ...]
    size_bytes: int


class Sync(NamedTuple):
    """A sync of one file and what became of it."""

    file: int
    outcome: SyncOutcome


class Entry(NamedTuple):
    """One name in one directory, and the node it then stands for (0: none)."""

    directory: int
    name: str
    node: int


class Naming(NamedTuple):
    """One atomic operation on names: create, make directory, rename or remove."""

    entries: tuple[Entry, ...]
    node: int  # what is created, moved or removed
    made: Literal["", "file", "directory"] = ""


class SyncDir(NamedTuple):
    """A sync of one directory's names and what became of it."""

    directory: int
    outcome: SyncOutcome


class Refusal(NamedTuple):
    """An operation that found no room; it changes nothing."""

    path: str


Operation = Change | Sync | Naming | SyncDir | Refusal


class PendingChange(NamedTuple):
    """A change that is not durable, and the number of the operation that made it."""

    op: int
    sectors: tuple[tuple[int, bytes | None], ...]
    size_bytes: int


class PendingNaming(NamedTuple):
    """A naming that is not durable, and the number of the operation that made it."""

    op: int
    naming: Naming


class FileNode:
    """One file's sectors; no name. A missing sector is a hole and reads as zeros."""

    __slots__ = ("cache", "limbo", "linked", "media", "media_bytes", "media_is_own", "pending", "size_bytes")

    def __init__(self, media: dict[int, bytes], media_bytes: int) -> None:
        self.media = media
        self.media_bytes = media_bytes
        self.media_is_own = False
        self.cache: dict[int, bytes | None] = {}
        self.size_bytes = media_bytes
        self.pending: list[PendingChange] = []
        self.limbo: list[PendingChange] = []
        self.linked = True

    def clone(self) -> FileNode:
        twin = FileNode(self.media, self.media_bytes)
        twin.cache = dict(self.cache)
        twin.size_bytes = self.size_bytes
        twin.pending = list(self.pending)
        twin.limbo = list(self.limbo)
        twin.linked = self.linked
        return twin

    def sector(self, index: int) -> bytes | None:
        """What a reader sees of a sector; None is a hole."""
        if index in self.cache:
            return self.cache[index]
        return self.media.get(index)

    def allocated_sectors(self) -> int:
        """How many sectors take space."""
        count = len(self.media)
        for index, content in self.cache.items():
            count += (content is not None) - (index in self.media)
        return count

    def visible_sectors(self) -> list[int]:
        """The indexes of the sectors that are no holes, ascending."""
        return sorted(i for i in {**self.media, **self.cache} if self.sector(i) is not None)


class DirNode:
    """One directory: the names readers see, and the durable ones."""

    __slots__ = ("media", "names")

    def __init__(self, names: dict[str, int], media: dict[str, int]) -> None:
        self.names = names
        self.media = media

    def clone(self) -> DirNode:
        return DirNode(dict(self.names), dict(self.media))


class Media:
    """The whole state of a simulated disk. `apply` is the only way to change it."""

    def __init__(self, sector_bytes: int) -> None:
        self.sector_bytes = sector_bytes
        self.zero_sector = bytes(sector_bytes)
        self.nodes: dict[int, FileNode | DirNode] = {ROOT: DirNode({}, {})}
        self.node_last = ROOT
        self.unclean: dict[
            int, None
        ] = {}  # files with pending, limbo or cached sectors, in order of first change
        self.namings: list[PendingNaming] = []
        self.namings_limbo: list[PendingNaming] = []
        self.pinned: dict[int, int] = {}  # open handles a file: it outlives its name
        self._used: int | None = None  # sectors that take space; None: to be counted
        self._own: set[int] = {ROOT}  # nodes that no other Media shares; membership only

    def copy(self) -> Media:
        """The same state, apart from now on. Costs no copy of any content."""
        twin = Media.__new__(Media)
        twin.sector_bytes = self.sector_bytes
        twin.zero_sector = self.zero_sector
        twin.nodes = dict(self.nodes)
        twin.node_last = self.node_last
        twin.unclean = dict(self.unclean)
        twin.namings = list(self.namings)
        twin.namings_limbo = list(self.namings_limbo)
        twin.pinned = {}
        twin._used = None
        twin._own = set()
        self._own.clear()
        return twin

    def apply(self, op: int, operation: Operation) -> None:
        """Perform one operation, which has the number `op`."""
        if isinstance(operation, Change):
            self._change(op, operation)
        elif isinstance(operation, Sync):
            self._sync(operation)
        elif isinstance(operation, Naming):
            self._name(op, operation)
        elif isinstance(operation, SyncDir):
            self._sync_dir(operation)
        else:
            assert isinstance(operation, Refusal), "the operations are these five"

    # ---- reading

    def file(self, number: int) -> FileNode:
        node = self.nodes[number]
        assert isinstance(node, FileNode), "the number is a file's"
        return node

    def directory(self, number: int) -> DirNode:
        node = self.nodes[number]
        assert isinstance(node, DirNode), "the number is a directory's"
        return node

    def used_sectors(self) -> int:
        """Sectors that take space: those of all files with a name, and one a file or directory."""
        if self._used is None:
            self._used = 0
            rest = [ROOT]
            while rest:
                number = rest.pop()
                self._used += self._weight(number)
                node = self.nodes[number]
                if isinstance(node, DirNode):
                    rest.extend(node.names.values())
        return self._used

    # ---- applying

    def _change(self, op: int, change: Change) -> None:
        if change.file not in self.nodes:
            return  # a file without a name or a handle: nobody can see it again
        node = self._own_file(change.file)
        if self._used is not None and node.linked:
            for index, content in change.sectors:
                self._used += (content is not None) - (node.sector(index) is not None)
        node.cache.update(change.sectors)
        node.size_bytes = change.size_bytes
        node.pending.append(PendingChange(op, change.sectors, change.size_bytes))
        self.unclean[change.file] = None

    def _sync(self, sync: Sync) -> None:
        if sync.file not in self.nodes or sync.outcome == "lied":
            return
        node = self._own_file(sync.file)
        if sync.outcome == "synced":
            self._settle(node)
        else:
            node.limbo.extend(node.pending)
            if sync.outcome == "failed_dropped":
                for change in node.pending:
                    for index, _ in change.sectors:
                        node.cache.pop(index, None)
                self._used = None
            node.pending = []
        if not (node.cache or node.limbo):
            self.unclean.pop(sync.file, None)

    def _settle(self, node: FileNode) -> None:
        """Make what is pending durable; limbo is settled for the sectors that were written anew."""
        if not node.pending:
            return
        if not node.media_is_own:
            node.media = dict(node.media)
            node.media_is_own = True
        media, cache = node.media, node.cache
        settled: dict[int, None] = {}
        for change in node.pending:
            for index, content in change.sectors:
                settled[index] = None
                cache.pop(index, None)
                if content is None:
                    media.pop(index, None)
                else:
                    media[index] = content
        node.media_bytes = node.size_bytes
        node.pending = []
        if node.limbo:
            still = [_without(change, settled, node.size_bytes) for change in node.limbo]
            node.limbo = [change for change in still if change.sectors]

    def _name(self, op: int, naming: Naming) -> None:
        if naming.made:
            self.nodes[naming.node] = FileNode({}, 0) if naming.made == "file" else DirNode({}, {})
            self.node_last = max(self.node_last, naming.node)
            self._own.add(naming.node)
            if self._used is not None:
                self._used += 1
        named = False
        for entry in naming.entries:
            names = self._own_directory(entry.directory).names
            replaced = names.get(entry.name, 0)
            if entry.node:
                names[entry.name] = entry.node
                named = True
                if replaced and replaced != naming.node:
                    self._unlink(replaced)
            else:
                names.pop(entry.name, None)
        if not named:
            self._unlink(naming.node)
        self.namings.append(PendingNaming(op, naming))

    def _unlink(self, number: int) -> None:
        if self._used is not None:
            self._used -= self._weight(number)
        if isinstance(self.nodes[number], FileNode):
            self._own_file(number).linked = False

    def _weight(self, number: int) -> int:
        """The sectors that a file or directory takes by itself."""
        node = self.nodes[number]
        return 1 + (node.allocated_sectors() if isinstance(node, FileNode) else 0)

    def _sync_dir(self, sync: SyncDir) -> None:
        if sync.outcome == "lied":
            return
        synced = _with_what_came_before(self.namings, sync.directory)
        if not synced:
            return
        numbers = {pending.op for pending in synced}
        self.namings = [pending for pending in self.namings if pending.op not in numbers]
        if sync.outcome != "synced":
            # Names stay readable whether pages would or not: a kernel keeps its entries of a directory.
            self.namings_limbo.extend(synced)
            return
        for pending in synced:
            self._settle_limbo_before(pending.naming)
            self._make_durable(pending.naming)

    def _settle_limbo_before(self, naming: Naming) -> None:
        """A durable operation decides for those in limbo that it builds on, and for those that they build on."""
        decided = [naming]
        still: list[PendingNaming] = []
        for pending in reversed(self.namings_limbo):
            if any(_meet(pending.naming, later) for later in decided):
                decided.append(pending.naming)
            else:
                still.append(pending)
        self.namings_limbo = still[::-1]
        for earlier in reversed(decided[1:]):
            self._make_durable(earlier)

    def _make_durable(self, naming: Naming) -> None:
        named = [entry.node for entry in naming.entries if entry.node]
        for entry in naming.entries:
            media = self._own_directory(entry.directory).media
            gone = media.pop(entry.name, 0)
            if entry.node:
                media[entry.name] = entry.node
            if gone and gone not in named:
                self._forget(gone)

    def _forget(self, number: int) -> None:
        """Let go of a file that has no name any more, neither seen nor durable, and no handle."""
        node = self.nodes.get(number)
        if isinstance(node, FileNode) and not node.linked and number not in self.pinned:
            del self.nodes[number]
            self.unclean.pop(number, None)

    def _own_file(self, number: int) -> FileNode:
        node = self.nodes[number]
        assert isinstance(node, FileNode), "the number is a file's"
        if number not in self._own:
            node = self.nodes[number] = node.clone()
            self._own.add(number)
        return node

    def _own_directory(self, number: int) -> DirNode:
        node = self.nodes[number]
        assert isinstance(node, DirNode), "the number is a directory's"
        if number not in self._own:
            node = self.nodes[number] = node.clone()
            self._own.add(number)
        return node


def _without(change: PendingChange, settled: dict[int, None], size_bytes: int) -> PendingChange:
    """A change in limbo less the sectors that are settled."""
    return PendingChange(change.op, tuple(s for s in change.sectors if s[0] not in settled), size_bytes)


def _with_what_came_before(namings: list[PendingNaming], directory: int) -> list[PendingNaming]:
    """The pending operations on a directory, and all that they follow in the other directories they touch.

    A rename between two directories is one operation of both, so syncing one of them takes along what
    happened earlier in the other: the order within each directory is kept.
    """
    directories = {directory}  # membership only
    found: list[PendingNaming] = []
    for pending in reversed(namings):
        touched = [entry.directory for entry in pending.naming.entries]
        if any(number in directories for number in touched):
            directories.update(touched)
            found.append(pending)
    found.reverse()
    return found


def _meet(one: Naming, other: Naming) -> bool:
    """Whether two operations are about the same node or the same name."""
    if one.node == other.node:
        return True
    places = {(entry.directory, entry.name) for entry in other.entries}  # membership only
    return any((entry.directory, entry.name) in places for entry in one.entries)
