"""What a broken promise looks like, and which promise each trouble may rightly suspend."""

from __future__ import annotations

from engine.io.blobs import BlobError
from engine.io.disk import DiskError
from engine.io.log import LogError
from engine.record.heaps import HeapRefused
from engine.record.records import RecordRefused

FAULT_OF_OURS = 0
"""The number of what is no promise by itself: the program raised what it should never raise."""
DETERMINISM = 21
"""The number for lives that differ when they are lived twice."""

SUSPENDED: dict[str, tuple[tuple[int, ...], str]] = {
    "a lie": (
        (1, 2, 6, 10, 11, 16, 17),
        "after a power loss that met unsynced bytes which a sync had promised: what was acknowledged may be gone. "
        "The log that opens is still whole as far as it goes, and one that is not is refused",
    ),
    "damage": (
        (1, 2, 7, 8, 9, 16, 20),
        "from a misdirected write on, and where syncs lie and others fail (which drops what was promised): it may cost "
        "what it hit, but never unnoticed. Opening refuses, or verifying tells, or nothing was lost",
    ),
    "a stray write": (
        (3, 4, 5),
        "once a misdirected write was ordered: it lands where the log has not written",
    ),
    "expiry": (
        (10, 11),
        "when the wall clock has jumped past the 24 hours for which a request id is kept",
    ),
    "doubt": (
        (16,),
        "only for what was refused because its append failed and no new segment could be begun: the bytes may come "
        "back at the next opening, once, under the same request id",
    ),
    "power": (
        (16,),
        "only for what had no answer and was read-only, or in flight in the unsynced file: it may leave no record",
    ),
}
"""Trouble -> the invariants that it suspends, and why. Failed syncs, a full disk, kills, slow lanes and rot suspend
none: what they cost is refused or told, and rot heals."""

TOLD = (BlobError, DiskError, HeapRefused, LogError, RecordRefused)
"""How the program says that what it reads is damaged."""


class Broken(BaseException):
    """A promise was broken: which invariant, what was expected and found, at which step (from 1; 0: at none).

    No Exception, since the program goes on after those: a disk that is seen misused would be one that failed.
    """

    def __init__(self, invariant: int, message: str, step: int = 0) -> None:
        super().__init__(f"{named(invariant)}: {message}")
        self.invariant = invariant
        self.message = message
        self.step = step


def named(invariant: int) -> str:
    if invariant == FAULT_OF_OURS:
        return "a fault of ours"
    return "determinism" if invariant == DETERMINISM else f"Invariant {invariant}"


class Judge:
    """Says whether a promise holds where it is not suspended."""

    def __init__(self) -> None:
        self.step = 0
        self._suspended: dict[str, None] = {}

    def suspend(self, trouble: str) -> None:
        """For the rest of the life."""
        self._suspended[trouble] = None

    def resume(self, trouble: str) -> None:
        self._suspended.pop(trouble, None)

    def stands(self, invariant: int) -> bool:
        """Whether nothing suspends it."""
        return not any(invariant in SUSPENDED[trouble][0] for trouble in self._suspended)

    def require(self, invariant: int, holds: bool, message: str) -> None:
        """Raises Broken."""
        if not holds and self.stands(invariant):
            raise Broken(invariant, message, self.step)
