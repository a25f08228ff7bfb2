"""The typed client's part for recordings: what streams both ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from engine import limits
from engine.host import answers
from engine.host import recording_answers as shapes
from engine.serve.wire import Wire, built, given, path_of

_PIECE_BYTES = limits.MIB
_LONG_S = limits.UPLOAD_FLICKS_MAX / limits.FLICKS_PER_SECOND


class RecordingClient(Wire):
    """Recordings, copies and verifying."""

    def save_recording(
        self, world: str, file: BinaryIO, *, redact: bool = False, until: int | None = None
    ) -> int:
        """Write the world's recording into `file`; its bytes. One that did not arrive whole raises ClientError."""
        query = given({"redact": "true" if redact else None, "until": until})
        size_bytes = 0
        for piece in self._pieces(path_of(world, "recording"), query):
            file.write(piece)
            size_bytes += len(piece)
        return size_bytes

    def import_recording(
        self, file: BinaryIO, *, name: str | None = None, request_id: str | None = None
    ) -> shapes.Imported | shapes.AlreadyHere | answers.Created:
        """Import the rest of `file`; with `name`, as a copy of that name."""
        query = given({"as": name, "requestId": request_id})
        value = self._upload("/api/recordings", _in_pieces(file), query, timeout_s=_LONG_S)
        shape: Any = answers.Created
        if "head" in value:
            shape = shapes.Imported if "lineage" in value else shapes.AlreadyHere
        return built(value, shape)

    def copy(
        self, world: str, name: str, *, at: int | None = None, request_id: str | None = None
    ) -> answers.Created:
        """A new world from what this one was after its record `at`, or is."""
        body = given({"name": name, "at": at})
        return self._send("POST", path_of(world, "copies"), body, request_id, answers.Created)

    def verify(self, world: str) -> shapes.Verified:
        return self._get(path_of(world, "verify"), shapes.Verified, timeout_s=_LONG_S)


def _in_pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_PIECE_BYTES):
        yield piece
