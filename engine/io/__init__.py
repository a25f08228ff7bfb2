"""The ports to the outside, and what they raise. What implements them is imported by its own name."""

from engine.io.blobs import BlobError, BlobMissing, BlobRotten, Blobs
from engine.io.disk import (
    DirectoryLocked,
    Disk,
    DiskError,
    DiskFull,
    File,
    FileMissing,
    Lock,
    SyncFailed,
)
from engine.io.entropy import Entropy
from engine.io.log import (
    Cursor,
    Log,
    LogEntry,
    LogError,
    LogFailed,
    LogForeign,
    LogHead,
    LogRotten,
    WrongSequence,
)

__all__ = [
    "BlobError",
    "BlobMissing",
    "BlobRotten",
    "Blobs",
    "Cursor",
    "DirectoryLocked",
    "Disk",
    "DiskError",
    "DiskFull",
    "Entropy",
    "File",
    "FileMissing",
    "Lock",
    "Log",
    "LogEntry",
    "LogError",
    "LogFailed",
    "LogForeign",
    "LogHead",
    "LogRotten",
    "SyncFailed",
    "WrongSequence",
]
