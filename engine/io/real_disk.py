"""The Disk port on a real file system, below one root directory.

Every name is opened relative to its directory's descriptor and never through a symbolic link, so no path
leaves the root, whatever somebody puts there.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from engine.io.disk import DirectoryLocked, DiskError, DiskFull, FileMissing, SyncFailed
from engine.io.paths import split_file_path, split_path

_OPEN_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_DIR_MODE = 0o700
_FILE_MODE = 0o600
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class RealDisk:
    """Files below `root`, which is made if it is missing (its parents too, durably).

    Safe to use from several threads, as far as the callers do not write the same bytes.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.abspath(root)
        _make_root(self.root)
        try:
            self._root_fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise _error_of(error, self.root, "open") from error

    def open(self, path: str, *, create: bool = False) -> RealFile:
        """See the port. A directory, a link or a device is refused."""
        names = split_file_path(path)
        with self._directory(names[:-1], path) as dir_fd:
            flags = _OPEN_FILE | (os.O_CREAT if create else 0)
            try:
                fd = os.open(names[-1], flags, _FILE_MODE, dir_fd=dir_fd)
            except OSError as error:
                raise _error_of(error, path, "open") from error
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise DiskError(path, "is not a regular file; move it away")
        return RealFile(fd, path)

    def exists(self, path: str) -> bool:
        return self._mode(path) is not None

    def is_dir(self, path: str) -> bool:
        mode = self._mode(path)
        return mode is not None and stat.S_ISDIR(mode)

    def list(self, path: str) -> list[str]:
        names = split_path(path)
        try:
            with self._directory(names, path) as dir_fd:
                return sorted(os.listdir(dir_fd))
        except FileMissing:
            return []

    def size(self, path: str) -> int:
        names = split_file_path(path)
        with self._directory(names[:-1], path) as dir_fd:
            try:
                found = os.stat(names[-1], dir_fd=dir_fd, follow_symlinks=False)
            except OSError as error:
                raise _error_of(error, path, "stat") from error
        if not stat.S_ISREG(found.st_mode):
            raise DiskError(path, "is not a regular file")
        return found.st_size

    def make_dir(self, path: str) -> None:
        names = split_path(path)
        for depth in range(len(names)):
            with self._directory(names[:depth], path) as dir_fd:
                try:
                    os.mkdir(names[depth], _DIR_MODE, dir_fd=dir_fd)
                except FileExistsError:
                    if not self.is_dir("/".join(names[: depth + 1])):
                        raise DiskError(path, f"{names[depth]!r} is a file, not a directory") from None
                except OSError as error:
                    raise _error_of(error, path, "make directory") from error

    def rename(self, source: str, target: str) -> None:
        from_names, to_names = split_file_path(source), split_file_path(target)
        with (
            self._directory(from_names[:-1], source) as from_fd,
            self._directory(to_names[:-1], target) as to_fd,
        ):
            try:
                os.rename(from_names[-1], to_names[-1], src_dir_fd=from_fd, dst_dir_fd=to_fd)
            except OSError as error:
                raise _error_of(error, source, f"rename to {target}") from error

    def remove(self, path: str) -> None:
        names = split_file_path(path)
        remove = os.rmdir if self.is_dir(path) else os.unlink
        with self._directory(names[:-1], path) as dir_fd:
            try:
                remove(names[-1], dir_fd=dir_fd)
            except OSError as error:
                raise _error_of(error, path, "remove") from error

    def sync_dir(self, path: str) -> None:
        names = split_path(path)
        with self._directory(names, path) as dir_fd:
            _sync(dir_fd, path or "the root")

    def free_bytes(self) -> int:
        found = os.fstatvfs(self._root_fd)
        return found.f_bavail * found.f_frsize

    def lock(self, path: str, *, create: bool = True) -> RealLock:
        """See the port. The file says which process holds the lock."""
        file = self.open(path, create=create)
        try:
            fcntl.flock(file.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = file.read_at(0, 20).decode("ascii", "replace").strip() or "unknown"
            file.close()
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise DirectoryLocked(
                    path,
                    f"another process (number {holder}) uses {self.root}; stop it, or give this one another directory",
                ) from None
            raise _error_of(error, path, "lock") from error
        try:
            file.write_at(0, b"%-19d\n" % os.getpid())
        except DiskFull:
            pass  # the lock is what counts; its file only names the holder
        return RealLock(file)

    def close(self) -> None:
        """Let go of the root's descriptor. Open files stay open."""
        if self._root_fd >= 0:
            os.close(self._root_fd)
            self._root_fd = -1

    def _mode(self, path: str) -> int | None:
        """The file mode of what is there; None where nothing is."""
        names = split_path(path)
        if not names:
            return os.fstat(self._root_fd).st_mode
        try:
            with self._directory(names[:-1], path) as dir_fd:
                return os.stat(names[-1], dir_fd=dir_fd, follow_symlinks=False).st_mode
        except (FileMissing, FileNotFoundError):
            return None
        except OSError as error:
            raise _error_of(error, path, "stat") from error

    @contextmanager
    def _directory(self, names: Sequence[str], path: str) -> Iterator[int]:
        """The descriptor of a directory below the root, reached one name at a time and through no link."""
        assert self._root_fd >= 0, "the disk is open"
        fd = self._root_fd
        try:
            for name in names:
                try:
                    below_fd = os.open(name, _OPEN_DIR, dir_fd=fd)
                except OSError as error:
                    raise _error_of(error, path, f"open directory {name!r}") from error
                if fd != self._root_fd:
                    os.close(fd)
                fd = below_fd
            yield fd
        finally:
            if fd != self._root_fd:
                os.close(fd)


class RealFile:
    """The File port on a descriptor."""

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path

    def read_at(self, offset_bytes: int, length_bytes: int) -> bytes:
        assert self.fd >= 0, f"{self.path} is open"
        assert offset_bytes >= 0 and length_bytes >= 0, "offsets and lengths are counts"
        parts: list[bytes] = []
        while length_bytes > 0:
            try:
                part = os.pread(self.fd, min(length_bytes, _READ_BYTES_MAX), offset_bytes)
            except OSError as error:
                raise _error_of(error, self.path, f"read at byte {offset_bytes}") from error
            if not part:
                break
            parts.append(part)
            offset_bytes += len(part)
            length_bytes -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def write_at(self, offset_bytes: int, content: bytes) -> None:
        assert self.fd >= 0, f"{self.path} is open"
        assert offset_bytes >= 0, "an offset is a count"
        rest = memoryview(content)
        while rest:
            try:
                written_bytes = os.pwrite(self.fd, rest, offset_bytes)
            except OSError as error:
                raise _error_of(error, self.path, f"write at byte {offset_bytes}") from error
            offset_bytes += written_bytes
            rest = rest[written_bytes:]

    def truncate(self, size_bytes: int) -> None:
        assert self.fd >= 0, f"{self.path} is open"
        try:
            os.ftruncate(self.fd, size_bytes)
        except OSError as error:
            raise _error_of(error, self.path, f"truncate to {size_bytes} bytes") from error

    def size(self) -> int:
        assert self.fd >= 0, f"{self.path} is open"
        return os.fstat(self.fd).st_size

    def sync(self) -> None:
        assert self.fd >= 0, f"{self.path} is open"
        _sync(self.fd, self.path, data_only=True)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class RealLock:
    """An flock, held as long as its file is open."""

    def __init__(self, file: RealFile) -> None:
        self._file = file

    def release(self) -> None:
        self._file.close()


_READ_BYTES_MAX = 1 << 30


def _make_root(root: str) -> None:
    """Make the root and its missing parents, each name durable in its parent."""
    missing: list[str] = []
    path = root
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for path in reversed(missing):
        try:
            os.mkdir(path, _DIR_MODE)
            parent_fd = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise _error_of(error, path, "make directory") from error
        try:
            _sync(parent_fd, path)
        finally:
            os.close(parent_fd)


def _sync(fd: int, path: str, *, data_only: bool = False) -> None:
    """Make a descriptor's content durable; `data_only` leaves out times, which nothing here rests on."""
    try:
        if hasattr(fcntl, "F_FULLFSYNC"):
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # an fsync there stops at the drive's own cache
        elif data_only and hasattr(os, "fdatasync"):
            os.fdatasync(fd)
        else:
            os.fsync(fd)
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise SyncFailed(path, "no space was left while syncing; free some and start again") from error
        raise SyncFailed(
            path,
            f"sync failed ({_name_of(error)}); what was written may be gone: check the drive, start again",
        ) from error


def _error_of(error: OSError, path: str, action: str) -> DiskError:
    """The port's error for the system's."""
    if error.errno == errno.ENOENT:
        return FileMissing(path, "no such file or directory")
    if error.errno in _NO_SPACE:
        return DiskFull(path, f"no space is left for: {action}; free some space")
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return DiskError(
            path, "is a symbolic link; links are not followed here, put the real file in its place"
        )
    if error.errno == errno.EISDIR:
        return DiskError(path, "is not a regular file; move it away")
    if error.errno == errno.ENOTDIR:
        return DiskError(path, "a part of it is a file or a link, not a directory")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return DiskError(path, f"not permitted: {action} ({_name_of(error)}); check owner, mode and mount")
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return DiskError(path, "too many open files; raise the limit (ulimit -n)")
    return DiskError(path, f"{action} failed ({_name_of(error)}: {error.strerror})")


def _name_of(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, str(error.errno))
