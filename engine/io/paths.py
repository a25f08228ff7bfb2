"""What a path on the Disk port looks like; every implementation refuses the same ones."""

from __future__ import annotations

from engine.io.disk import DiskError

NAME_BYTES_MAX = 255


def split_path(path: str) -> list[str]:
    """The names of a path, outermost first; [] for the root "".

    Raises DiskError for a path that is absolute, climbs, has empty or over-long names or characters that no
    file system stores.
    """
    if path == "":
        return []
    names = path.split("/")
    for name in names:
        if name in ("", ".", ".."):
            raise DiskError(
                repr(path), f"the part {name!r} is not allowed; write names below the root, as in 'log/1.seg'"
            )
        if "\0" in name or "\\" in name:
            raise DiskError(repr(path), "NUL and backslash are not allowed in a path")
        try:
            length_bytes = len(name.encode("utf-8"))
        except UnicodeEncodeError:
            raise DiskError(repr(path), "a lone surrogate is not allowed in a path") from None
        if length_bytes > NAME_BYTES_MAX:
            raise DiskError(
                repr(path), f"a name of {length_bytes} bytes is too long; {NAME_BYTES_MAX} are allowed"
            )
    return names


def split_file_path(path: str) -> list[str]:
    """As `split_path`, for a path that names something below the root."""
    names = split_path(path)
    if not names:
        raise DiskError("''", "the root is a directory; name a file below it")
    return names
