"""The projection: what queries need of the log, in SQLite, derived and never trusted beyond the log.

It applies durable batches only and remembers the last one (Invariant 2). Opening compares that one with the
log: it catches up, or is built again when the log does not know the batch, when the file is damaged or of
another version. Building runs no guest code. A damaged file is set aside; when the disk refuses the
projection altogether, it goes on in memory, built from the log, and `trouble` says why: nothing that was
acknowledged depends on its file.

A transaction spans whole batches: its own connection sees them at once, the file every COMMIT_RECORDS_MAX
records, and a crash loses only what the log gives back. One thread at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import apsw

from engine.io.disk import Disk, DiskError
from engine.io.log import Cursor, Log, LogEntry, LogHead
from engine.limits import PROJECTION_COMMIT_RECORDS, PROJECTION_WAL_PAGES_MAX
from engine.record.projection import schema
from engine.record.projection.apply import Applier, WorldState
from engine.record.projection.queries import Queries
from engine.record.projection.vfs import PAGE_BYTES, TAG_BYTES, DiskVfs

R = TypeVar("R")
DIRECTORY = "projection"
FILE = f"{DIRECTORY}/projection.db"
ASIDE = f"{DIRECTORY}/aside.db"
_SUFFIXES = ("", "-wal", "-journal")
_DISK_ERRORS = (apsw.IOError, apsw.FullError, apsw.CantOpenError, apsw.ReadOnlyError, DiskError)
_ROT_ERRORS = (apsw.CorruptError, apsw.NotADBError)
_RECOVERABLE = _DISK_ERRORS + _ROT_ERRORS


class Stale(Exception):
    """The file is no projection of this log: why."""


class Projection(Queries):
    """Open with `Projection(disk, log)`; then `apply` each durable batch, and ask (see `Queries`).

    `applied` is the last batch whose rows are here. `rebuilt` says why it was built from the log, if it was;
    `trouble` why it is in memory only.
    """

    def __init__(self, disk: Disk | None, log: Log) -> None:
        """Opened, caught up with the log. Without a disk it lives in memory.

        Raises RecordForeign, RecordRotten and LogError for what the log holds, never for the file.
        """
        self.rebuilt: str | None = None
        self.trouble: str | None = None
        self._disk = disk
        self._log = log
        self._vfs: DiskVfs | None = None
        if disk is None:
            self._build(log.head(), None)
        else:
            self._open(disk)

    # ---- the log's side

    def apply(self, head: LogHead, entries: Sequence[tuple[Cursor, LogEntry]]) -> None:
        """Take one durable batch; one that is here already is left alone.

        Raises RecordForeign, RecordRotten.
        """
        if head.batch <= self.applied.batch:
            assert self._log.batch_hash(head.batch) == head.hash, "Invariant 2: batches of this log only"
            return
        assert head.batch == self.applied.batch + 1, "batches come in order"
        self._guarded(lambda: self._apply(head, entries))

    def catch_up(self) -> None:
        """Apply all batches of the log that are not here yet."""
        self._guarded(lambda: self._catch_up(self._log.head()))

    def commit(self) -> None:
        """Put what was applied into the file; SQLite syncs it when its WAL is full."""
        self._guarded(self._commit)

    def scrub(self) -> int:
        """After this no file here holds rows that are deleted: pages are wiped as rows leave them, so the WAL is
        folded, and a damaged file that was set aside goes. The bytes of the latter. Raises DiskError.
        """
        self._guarded(self._fold)
        disk = self._disk
        if disk is None or not disk.exists(ASIDE):
            return 0
        freed_bytes = disk.size(ASIDE)
        disk.remove(ASIDE)
        disk.sync_dir(DIRECTORY)
        return freed_bytes

    def close(self) -> None:
        """Commit, fold the WAL into the database and sync."""
        try:
            self._commit()
            self._fetch("PRAGMA wal_checkpoint(TRUNCATE)")
        except _RECOVERABLE:
            self._distrust_file()
        finally:
            vfs = self._vfs
            self._drop()
        if vfs is not None and vfs.escaped is not None:
            raise vfs.escaped

    def abandon(self) -> None:
        """Its process is dead, in a simulation: what is freed later must not reach the files of the next one."""
        if self._vfs is not None:
            self._vfs.abandoned = True

    def __del__(self) -> None:
        """One that was left open (the power went) must not be closed by SQLite's own destructor, which would
        shout.
        """
        self._drop()

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every table's rows in the order of their keys: what Invariant 9 compares."""
        tables = {
            name: self._rows(f"SELECT * FROM {name} ORDER BY 1, 2, 3")
            for name in schema.TABLES
            if name != "applied"
        }
        return tables | {"applied": [tuple(self.applied)]}

    def damage(self) -> list[str]:
        """What is wrong with any page of the database, also those that no query would meet. Reads all of it."""
        try:
            return [str(row[0]) for row in self._fetch("PRAGMA integrity_check") if row[0] != "ok"]
        except _RECOVERABLE as error:
            self._raise_escaped()
            return [str(error)]

    @property
    def size_bytes(self) -> int:
        """Bytes of the database, 0 in memory; without its WAL."""
        return self._disk.size(FILE) if self._disk and self._vfs and self._disk.exists(FILE) else 0

    # ---- opening and building

    def _open(self, disk: Disk) -> None:
        try:
            disk.make_dir(DIRECTORY)
            self._connect()
            self._load_states()
            self._catch_up(self._log.head())
            self._raise_escaped()
        except (Stale, *_RECOVERABLE) as error:
            self._replace(self._log.head(), error)

    def _connect(self) -> None:
        """The file as it is. Raises Stale."""
        assert self._disk is not None
        existed = self._disk.exists(FILE)
        self._vfs = DiskVfs(self._disk, randomness=self._log.head().hash.encode())
        self._db = apsw.Connection(FILE, vfs=self._vfs.name)
        if not existed:
            self._create()
            return
        self._fetch(schema.OPEN_PRAGMAS)
        application, version = self._pragma("application_id"), self._pragma("user_version")
        if (application, version) != (schema.APPLICATION_ID, schema.VERSION):
            raise Stale(
                f"it has projection schema {version} of application {application:#x}; "
                f"this version makes schema {schema.VERSION}"
            )

    def _create(self) -> None:
        if self._vfs is not None:
            self._db.reserve_bytes(None, TAG_BYTES)
        self._fetch(f"PRAGMA page_size = {PAGE_BYTES}; {schema.OPEN_PRAGMAS}")
        self._fetch(schema.creation())
        self._db.execute("INSERT INTO applied VALUES (0, ?, 0)", (self._log.batch_hash(0) or "",))

    def _load_states(self) -> None:
        """Read what is applied and where the worlds stand. Raises Stale when the log knows no such batch."""
        rows = self._fetch("SELECT batch, hash FROM applied")
        if len(rows) != 1:
            raise Stale("it does not say which batch it holds")
        self.applied = LogHead(*rows[0])
        if self._log.batch_hash(self.applied.batch) != self.applied.hash:
            raise Stale(
                f"it holds batch {self.applied.batch} with hash {self.applied.hash}, which the log does not"
            )
        worlds = map(WorldState.from_row, self._fetch("SELECT * FROM worlds ORDER BY no"))
        self._applier = Applier(self._db, {world.id: world for world in worlds})
        self._uncommitted = 0

    def _build(self, until: LogHead, disk: Disk | None) -> None:
        """A new projection of the log's batches up to `until`."""
        self._drop()
        if disk is None:
            self._db = apsw.Connection(":memory:")
            self._create()
        else:
            self._connect()
        self._load_states()
        self._catch_up(until)
        self._raise_escaped()

    def _replace(self, until: LogHead, error: Exception) -> None:
        """Set aside or remove the file that gave `error` and build another one; in memory if the disk
        refuses.
        """
        assert self._disk is not None
        self._raise_escaped()
        rotten = isinstance(error, _ROT_ERRORS) or (self._vfs is not None and self._vfs.rot is not None)
        reason = (self._vfs.rot if self._vfs else None) or str(error)
        self._drop()
        try:
            if not rotten and not isinstance(error, Stale):
                raise error
            self.rebuilt = reason
            self._clear_file(set_aside=rotten)
            self._build(until, self._disk)
        except (Stale, *_RECOVERABLE) as refused:
            self._raise_escaped()
            self._distrust_file()
            self.rebuilt = reason
            self.trouble = f"{FILE}: {refused}"
            self._build(until, None)

    def _clear_file(self, *, set_aside: bool) -> None:
        """Out of the way: kept as one file aside, when it was damaged, or removed. Raises DiskError."""
        assert self._disk is not None
        for suffix in _SUFFIXES:
            if not self._disk.exists(FILE + suffix):
                continue
            if set_aside and suffix == "":
                self._disk.rename(FILE, ASIDE)
            else:
                self._disk.remove(FILE + suffix)
        self._disk.sync_dir(DIRECTORY)

    def _distrust_file(self) -> None:
        """After a failed sync pages may be old that look sound, so the file must not be opened again."""
        self._drop()
        try:
            self._clear_file(set_aside=False)
        except DiskError as error:
            self.trouble = f"{FILE}: {error}"

    def _drop(self) -> None:
        db, vfs = getattr(self, "_db", None), self._vfs
        self._vfs = None
        if db is not None:
            try:
                db.close()
            except apsw.Error:
                pass
        if vfs is not None:
            vfs.unregister()

    # ---- applying

    def _apply(self, head: LogHead, entries: Sequence[tuple[Cursor, LogEntry]]) -> None:
        if not self._db.in_transaction:
            self._db.execute("BEGIN")
        try:
            self._applier.apply(head, entries)
        except Exception:
            self._roll_back()
            raise
        self.applied = head
        self._uncommitted += len(entries)
        if self._uncommitted >= PROJECTION_COMMIT_RECORDS:
            self._commit()

    def _roll_back(self) -> None:
        """Back to the last commit: an older state, which `catch_up` brings forward."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._load_states()

    def _catch_up(self, until: LogHead) -> None:
        for head, entries in self._log.scan(self.applied.batch):
            if head.batch > until.batch:
                break
            self._apply(head, entries)
        self._commit()

    def _commit(self) -> None:
        self._uncommitted = 0
        if self._db.in_transaction:
            self._db.execute("COMMIT")
        self._raise_trouble()
        if self._vfs is not None and self._disk is not None:
            wal_bytes = self._disk.size(FILE + "-wal") if self._disk.exists(FILE + "-wal") else 0
            if wal_bytes > PROJECTION_WAL_PAGES_MAX * PAGE_BYTES:
                self._checkpoint()

    def _fold(self) -> None:
        self._commit()
        self._checkpoint()

    def _checkpoint(self) -> None:
        """Move the WAL's pages into the database and cut the WAL to nothing."""
        self._fetch("PRAGMA wal_checkpoint(TRUNCATE)")
        self._raise_trouble()

    def _raise_trouble(self) -> None:
        """SQLite lets some failed syncs pass: after one nothing in the file counts."""
        self._raise_escaped()
        if self._vfs is not None and self._vfs.trouble is not None:
            raise apsw.IOError(str(self._vfs.trouble))

    def _raise_escaped(self) -> None:
        """What SQLite could not carry ends this object: the power is gone, or somebody stops the program."""
        if self._vfs is not None and (error := self._vfs.escaped) is not None:
            self._drop()
            raise error

    # ---- asking

    def _rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        return self._guarded(lambda: self._fetch(sql, bindings))

    def _fetch(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        return self._db.execute(sql, bindings).fetchall()

    def _pragma(self, name: str) -> int:
        return self._fetch(f"PRAGMA {name}")[0][0]

    def _guarded(self, action: Callable[[], R]) -> R:
        """Run it; when the file is damaged or refused, build again from the log and run it once more."""
        until = self.applied
        try:
            result = action()
            self._raise_escaped()
            return result
        except _RECOVERABLE as error:
            if self._vfs is None or self._disk is None:
                raise
            self._replace(until, error)
            return action()
