"""Upkeep beside the running work: collection, expiry of bodies, backups, and keeping the projection near the log."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from engine import limits
from engine.host.api import Upkeep
from engine.host.images import root_of
from engine.host.opening import FORMAT
from engine.host.parts import Parts
from engine.host.shell import Failed, Shell
from engine.io.blobs import BlobError
from engine.io.disk import Disk, DiskError
from engine.io.log import LogError, LogHead
from engine.record.backup import BackupRefused, back_up
from engine.record.collection import collect
from engine.record.heaps import HeapRefused
from engine.record.records import RecordRefused
from engine.record.retention import Retention

PROJECTION_FLICKS = limits.FLICKS_PER_SECOND // 4


class Keeper:
    """`open_disk(directory)` opens where a backup goes."""

    def __init__(self, parts: Parts, shell: Shell, open_disk: Callable[[str], Disk]) -> None:
        self._parts = parts
        self._shell = shell
        self._open_disk = open_disk
        self._stopped = False

    def start(self) -> None:
        """Apply and write down the projection a few times a second, off the host's thread."""
        if self._stopped:
            return
        self._shell.at(
            self._shell.clock.monotonic_flicks() + PROJECTION_FLICKS,
            lambda: self._shell.work("upkeep", self._parts.ledger.flush, lambda _: self.start()),
        )

    def stop(self) -> None:
        self._stopped = True

    def gc(self, *, done: Callable[[Upkeep], None]) -> None:
        """Seal the log first: bodies are erased in segments that are closed."""
        now_flicks = self._shell.clock.now_flicks()

        def sealed(result: Any) -> None:
            if isinstance(result, Failed):
                done(_ended(result))
                return
            self._shell.work(
                "upkeep", lambda: self._collect(now_flicks), lambda collected: done(_ended(collected))
            )

        self._shell.work("log", self._parts.log.seal, sealed)

    def erase(self, world: str) -> None:
        """A world was purged: erase its bodies soon, without anybody waiting."""
        self.gc(done=lambda _: None)

    def backup(self, directory: str, *, done: Callable[[Upkeep], None]) -> None:
        """What arrives just now is left out: nobody was told that it is here."""
        until, without = self._parts.log.head(), list(self._parts.ledger.read().arriving)
        self._shell.work(
            "upkeep", lambda: self._back_up(directory, until, without), lambda result: done(_ended(result))
        )

    def _collect(self, now_flicks: int) -> dict[str, Any]:
        parts = self._parts
        with parts.ledger.lock:
            retention = Retention.of(parts.ledger.read(), now_flicks=now_flicks)
        bodies_bytes = parts.log.erase_bodies(retention.erasable)
        aside_bytes = parts.log.remove_set_aside() + parts.blobs.remove_set_aside() + parts.ledger.scrub()
        collected = collect(parts.blobs, parts.log, parts.pins)
        return {
            "bodies_freed_bytes": bodies_bytes,
            "set_aside_freed_bytes": aside_bytes,
            **collected.report(),
            "freed_bytes": bodies_bytes + aside_bytes + collected.freed_bytes,
        }

    def _back_up(self, directory: str, until: LogHead, without: Collection[str]) -> dict[str, Any]:
        parts = self._parts
        target = self._open_disk(directory)
        return back_up(
            parts.log,
            parts.blobs,
            target,
            parts.entropy,
            format_file=FORMAT,
            root_of=root_of,
            until=until,
            without=without,
        ).report()


_TOLD = (BackupRefused, BlobError, DiskError, HeapRefused, LogError, RecordRefused)
"""What upkeep may find; anything else is a fault of ours."""


def _ended(result: dict[str, Any] | Failed) -> Upkeep:
    if isinstance(result, Failed):
        if not isinstance(result.error, _TOLD):
            raise result.error
        return Upkeep(ok=False, report={}, error=str(result.error))
    return Upkeep(ok=True, report=result)
