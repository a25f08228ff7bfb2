"""SQLite's files on the Disk port: what SQLite asks of an operating system, answered by an injected disk.

There is no shared memory here, so connections lock exclusively before they turn to WAL. Every page of a
database carries a BLAKE3 tag in its reserved bytes, made when the page is written and verified when a whole
page is read: most flipped bits are silent to SQLite itself. WAL frames have checksums of SQLite's own.
"""

from __future__ import annotations

import itertools
from typing import Any

import apsw
from blake3 import blake3

from engine.io.disk import Disk, DiskError, DiskFull, File, FileMissing, parent_of
from engine.limits import SECTOR_BYTES

PAGE_BYTES = 4096
TAG_BYTES = 16
_TAGGED_BYTES = PAGE_BYTES - TAG_BYTES
_ZERO_PAGE = bytes(PAGE_BYTES)
_JOURNAL_FLAGS = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL
_names = itertools.count(1)


class DiskVfs(apsw.VFS):
    """Files of one projection. `trouble` is the first error of the disk, `rot` says which page was not as
    written.

    `escaped` is the first exception that SQLite cannot carry (a simulated loss of power, Ctrl-C): whoever
    asked SQLite must raise it.
    """

    def __init__(self, disk: Disk, *, randomness: bytes) -> None:
        self.name = f"flickworld-{next(_names)}"
        self.trouble: DiskError | None = None
        self.rot: str | None = None
        self.escaped: BaseException | None = None
        self.abandoned = False
        """Its process is dead, in a simulation: whatever SQLite writes when its memory is freed goes nowhere."""
        self._disk = disk
        self._randomness = randomness
        super().__init__(self.name, base="")
        self._seed_sqlite()

    def _seed_sqlite(self) -> None:
        """SQLite's own generator asks the default VFS for its seed, once: let it be ours, so that runs
        repeat.
        """
        default = apsw.vfs_names()[0]
        apsw.set_default_vfs(self.name)
        apsw.randomness(0)
        apsw.randomness(1)
        apsw.set_default_vfs(default)

    def excepthook(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        """What escapes from here is kept in `escaped`, not printed."""
        self.escaped = self.escaped or error
        return True

    def refused(self, error: BaseException) -> apsw.Error:
        """SQLite's word for a failed disk operation; the operation itself is remembered."""
        if not isinstance(error, DiskError):
            self.escaped = self.escaped or error
            return apsw.IOError("escaped")
        self.trouble = self.trouble or error
        if isinstance(error, DiskFull):
            return apsw.FullError(str(error))
        if isinstance(error, FileMissing):
            return apsw.CantOpenError(str(error))
        return apsw.IOError(str(error))

    # ---- apsw.VFS

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        assert path is not None, "temporary files stay in memory"
        try:
            file = self._disk.open(path, create=bool(flags[0] & apsw.SQLITE_OPEN_CREATE))
        except BaseException as error:
            raise self.refused(error) from None
        flags[1] = flags[0]
        return DiskFile(self, self._disk, path, file, tagged=not flags[0] & _JOURNAL_FLAGS)

    def xDelete(self, name: str, sync_dir: bool) -> None:
        if self.abandoned:
            return
        try:
            if not self._disk.exists(name):
                missing: Any = apsw.IOError(name)
                missing.extendedresult = apsw.SQLITE_IOERR_DELETE_NOENT
                raise missing
            self._disk.remove(name)
            if sync_dir:
                self._disk.sync_dir(parent_of(name))
        except apsw.Error:
            raise
        except BaseException as error:
            raise self.refused(error) from None

    def xAccess(self, name: str, flags: int) -> bool:
        try:
            return self._disk.exists(name)
        except BaseException as error:
            raise self.refused(error) from None

    def xFullPathname(self, name: str) -> str:
        return name

    def xRandomness(self, count_bytes: int) -> bytes:
        return blake3(self._randomness).digest(length=count_bytes)

    def xSleep(self, microseconds: int) -> int:
        return microseconds

    def xCurrentTime(self) -> float:
        return 0.0

    def xCurrentTimeInt64(self) -> int:
        return 0


class DiskFile:
    """One file of SQLite's; `tagged` files are databases, whose pages carry tags."""

    def __init__(self, vfs: DiskVfs, disk: Disk, path: str, file: File, *, tagged: bool) -> None:
        self._vfs = vfs
        self._disk = disk
        self._path = path
        self._file = file
        self._tagged = tagged
        # Also where it is there already: a process that died may have made it. Else a power loss could bring back the
        # WAL that it took the place of, whose old pages would then count as the newest.
        self._name_unsynced = True

    def xRead(self, length_bytes: int, offset_bytes: int) -> bytes:
        try:
            content = self._file.read_at(offset_bytes, length_bytes)
        except BaseException as error:
            raise self._vfs.refused(error) from None
        if self._tagged and length_bytes == PAGE_BYTES == len(content):
            self._verify(content, offset_bytes)
        return content

    def _verify(self, content: bytes, offset_bytes: int) -> None:
        """A page of zeros was never written: SQLite leaves holes for free pages, and knows them as such."""
        if content[_TAGGED_BYTES:] != _tag(content, offset_bytes) and content != _ZERO_PAGE:
            self._vfs.rot = (
                self._vfs.rot or f"{self._path} at byte {offset_bytes}: the page is not as written"
            )
            raise apsw.CorruptError(self._vfs.rot)

    def xWrite(self, content: bytes, offset_bytes: int) -> None:
        if self._tagged and len(content) == PAGE_BYTES:
            content = content[:_TAGGED_BYTES] + _tag(content, offset_bytes)
        if self._vfs.abandoned:
            return
        try:
            self._file.write_at(offset_bytes, content)
        except BaseException as error:
            raise self._vfs.refused(error) from None

    def xTruncate(self, size_bytes: int) -> None:
        if self._vfs.abandoned:
            return
        try:
            self._file.truncate(size_bytes)
        except BaseException as error:
            raise self._vfs.refused(error) from None

    def xSync(self, flags: int) -> None:
        if self._vfs.abandoned:
            return
        try:
            self._file.sync()
            if self._name_unsynced:
                self._disk.sync_dir(parent_of(self._path))
                self._name_unsynced = False
        except BaseException as error:
            raise self._vfs.refused(error) from None

    def xFileSize(self) -> int:
        try:
            return self._file.size()
        except BaseException as error:
            raise self._vfs.refused(error) from None

    def xClose(self) -> None:
        try:
            self._file.close()
        except BaseException as error:
            raise self._vfs.refused(error) from None

    def xLock(self, level: int) -> None:
        """One process a directory (the host holds its lock), one connection a file."""

    def xUnlock(self, level: int) -> None:
        """As xLock."""

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, operation: int, pointer: int) -> bool:
        return False

    def xSectorSize(self) -> int:
        return SECTOR_BYTES

    def xDeviceCharacteristics(self) -> int:
        return 0


def _tag(content: bytes, offset_bytes: int) -> bytes:
    """Over the page and its place, so that a misdirected write is seen too."""
    place = offset_bytes.to_bytes(8, "little")
    return blake3(content[:_TAGGED_BYTES] + place).digest(length=TAG_BYTES)
