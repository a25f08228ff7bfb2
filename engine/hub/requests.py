"""Request ids of one world: claimed at arrival, joined while running, answered from the record for a day.

Invariant 10: one id has at most one effect and one answer; another body under it is refused.
"""

from __future__ import annotations

from collections import deque

from engine import limits
from engine.hub.messages import Request


class Claim:
    """One id's claim: by a running operation (`seq` None; `joined` wait with it) or by a recorded outcome."""

    __slots__ = ("flick", "hash", "id", "joined", "seq")

    def __init__(self, id: str, hash: str, flick: int, seq: int | None) -> None:
        self.id = id
        self.hash = hash
        self.flick = flick  # of the admission
        self.seq = seq
        self.joined: list[int] = []


class Requests:
    __slots__ = ("_claims", "_recorded")

    def __init__(self, recorded: dict[str, tuple[str, int, int]]) -> None:
        """`recorded` is id -> (hash, sequence of the outcome, flick of the admission)."""
        self._claims = {id: Claim(id, hash, flick, seq) for id, (hash, seq, flick) in recorded.items()}
        self._recorded = deque(sorted(self._claims.values(), key=lambda claim: (claim.flick, claim.id)))

    def __len__(self) -> int:
        return len(self._claims)

    def find(self, id: str, flick: int) -> Claim | None:
        """The claim on `id` that holds at `flick`."""
        claim = self._claims.get(id)
        return None if claim is None or _is_forgotten(claim, flick) else claim

    def claim(self, request: Request, flick: int) -> None:
        """Claim an id for an operation that arrived at `flick`."""
        assert self.find(request.id, flick) is None, "Invariant 10"
        self._forget_until(flick)
        self._claims[request.id] = Claim(request.id, request.hash, flick, None)

    def record(self, id: str, seq: int) -> list[int]:
        """The outcome of the claim is durable as `seq`; returns the operations that joined, in order."""
        claim = self._claims[id]
        assert claim.seq is None, "Invariant 10"
        joined, claim.joined = claim.joined, []
        claim.seq = seq
        self._recorded.append(claim)
        return joined

    def release(self, id: str) -> list[int]:
        """The operation was refused: the id is free again; returns the operations that joined, in order."""
        claim = self._claims.pop(id)
        assert claim.seq is None, "a recorded outcome stays claimed"
        return claim.joined

    def _forget_until(self, flick: int) -> None:
        """Free the memory of forgotten claims. A clock that stepped back only delays it: `find` is exact."""
        recorded = self._recorded
        while recorded and _is_forgotten(recorded[0], flick):
            claim = recorded.popleft()
            if self._claims.get(claim.id) is claim:
                del self._claims[claim.id]


def _is_forgotten(claim: Claim, flick: int) -> bool:
    return claim.seq is not None and flick - claim.flick >= limits.REQUEST_ID_KEPT_FLICKS
