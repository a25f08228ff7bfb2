"""Simulated entropy: a stream of bytes that its seed decides, and that forks by label."""

from __future__ import annotations

from blake3 import blake3

_CONTEXT = "flickworld simulated entropy, stream 1"
_BLOCK_BYTES = 512


class SimEntropy:
    """The Entropy port on BLAKE3's extendable output. Equal seeds give equal bytes on every machine.

    `fork` gives a stream of its own, which does not depend on what was drawn before: one more draw in one
    place then changes nothing anywhere else.
    """

    def __init__(self, seed: int | str | bytes) -> None:
        self._key = blake3(_seed_bytes(seed), derive_key_context=_CONTEXT).digest()
        self._stream = blake3(self._key)
        self._block = b""
        self._used_bytes = 0
        self._next_offset = 0

    def draw(self, count_bytes: int) -> bytes:
        """The next `count_bytes` bytes of the stream."""
        assert count_bytes >= 0, "a draw has a size"
        start = self._used_bytes
        if start + count_bytes > len(self._block):
            self._refill(count_bytes)
            start = 0
        self._used_bytes = start + count_bytes
        return self._block[start : self._used_bytes]

    def below(self, bound: int) -> int:
        """A whole number in [0, bound), uniform to within 2**-32 for bounds below 2**32."""
        assert bound > 0, "there is a number below the bound"
        return int.from_bytes(self.draw(8), "little") * bound >> 64

    def chance(self, numerator: int, denominator: int) -> bool:
        """True in `numerator` of `denominator` draws."""
        return self.below(denominator) < numerator

    def fork(self, label: str) -> SimEntropy:
        """The stream of this seed and `label`."""
        return SimEntropy(self._key + label.encode("utf-8", "surrogatepass"))

    def _refill(self, count_bytes: int) -> None:
        rest = self._block[self._used_bytes :]
        fresh_bytes = max(_BLOCK_BYTES, count_bytes)
        self._block = rest + self._stream.digest(length=fresh_bytes, seek=self._next_offset)
        self._next_offset += fresh_bytes
        self._used_bytes = 0


def _seed_bytes(seed: int | str | bytes) -> bytes:
    """Seeds of different types never meet: each is tagged with its type."""
    if isinstance(seed, bytes):
        return b"b" + seed
    if isinstance(seed, str):
        return b"s" + seed.encode("utf-8", "surrogatepass")
    return b"i" + str(seed).encode("ascii")
