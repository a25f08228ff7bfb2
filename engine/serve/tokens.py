"""The operator token: made once a data directory, checked in constant time, stored as its SHA-256.

Beside the hash lies the token itself in `operator-token`, readable by the owner alone, so that `pw` on the same
machine finds it. Whoever can read that file can read every world of the directory as well, so it opens no door that
is not open; what the hash adds is that neither the log, nor backups, nor logs of the server ever hold the token.
An operator who wants it nowhere on disk deletes the file and sets PW_TOKEN for `pw`. Deleting both files makes the
next `pw serve` choose a new token.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets

HASH_FILE = "operator-token.sha256"
TOKEN_FILE = "operator-token"
_TOKEN = re.compile(r"[!-~]{1,500}\Z")
_HASH = re.compile(r"[0-9a-f]{64}\n?\Z")


class BadToken(Exception):
    """No operator token can be had; the text says where and what to do."""


class Guard:
    """Knows a token by its SHA-256 only."""

    def __init__(self, digest_hex: str) -> None:
        self._digest = bytes.fromhex(digest_hex)

    def admits(self, authorization: bytes | None) -> bool:
        """Whether an Authorization header carries the token."""
        scheme, _, token = (authorization or b"").partition(b" ")
        digest = hashlib.sha256(token.strip()).digest()
        return hmac.compare_digest(digest, self._digest) and scheme.lower() == b"bearer"


def open_guard(home: str, wanted: str | None) -> tuple[Guard, str | None]:
    """The guard of a data directory, and the token if it was made or taken just now.

    `wanted` (PW_TOKEN) becomes the token of a directory that has none; one that has keeps its own.
    Raises BadToken for a damaged hash file and a PW_TOKEN that no header could carry.
    """
    path = os.path.join(home, HASH_FILE)
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            stored = file.read()
    except FileNotFoundError:
        return _first_guard(home, wanted)
    if not _HASH.match(stored):
        raise BadToken(f"{path}: holds no SHA-256; delete it and {TOKEN_FILE} to get a new operator token")
    return Guard(stored.strip()), None


def stored_token(home: str) -> str | None:
    """The token as `pw` finds it in a data directory; None where it is not there or not readable."""
    try:
        with open(os.path.join(home, TOKEN_FILE), encoding="ascii") as file:
            return file.read().strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _first_guard(home: str, wanted: str | None) -> tuple[Guard, str]:
    if wanted is not None and not _TOKEN.match(wanted):
        raise BadToken("PW_TOKEN: must be 1 to 500 visible ASCII characters; leave it unset and one is made")
    token = wanted or secrets.token_urlsafe(32)
    digest = hashlib.sha256(token.encode("ascii")).hexdigest()
    # The token first: a crash in between leaves no hash, so the next start does it all again.
    write_private(home, TOKEN_FILE, token + "\n")
    write_private(home, HASH_FILE, digest + "\n")
    return Guard(digest), token


def write_private(home: str, name: str, content: str) -> None:
    """Write a small file that only the owner can read, so that a crash leaves the old one or the new one."""
    path = os.path.join(home, name)
    temporary = path + ".tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:
        os.fchmod(descriptor, 0o600)
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    os.replace(temporary, path)
    directory = os.open(home, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
