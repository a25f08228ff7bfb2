"""One operator token a directory: made once, stored as a hash, checked without a trace."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from engine.serve.tokens import HASH_FILE, TOKEN_FILE, BadToken, open_guard, stored_token


def test_a_new_directory_gets_a_token_that_nobody_can_guess(tmp_path: Path) -> None:
    guard, token = open_guard(str(tmp_path), None)
    assert token is not None and len(token) == 43
    assert guard.admits(b"Bearer " + token.encode())
    assert (tmp_path / HASH_FILE).read_text().strip() == hashlib.sha256(token.encode()).hexdigest()
    assert stored_token(str(tmp_path)) == token


def test_the_token_is_told_once_only(tmp_path: Path) -> None:
    _, token = open_guard(str(tmp_path), None)
    guard, again = open_guard(str(tmp_path), None)
    assert again is None
    assert guard.admits(f"Bearer {token}".encode())


def test_a_wanted_token_becomes_that_of_a_new_directory_and_of_no_other(tmp_path: Path) -> None:
    guard, token = open_guard(str(tmp_path), "first")
    assert token == "first" and guard.admits(b"Bearer first")
    guard, token = open_guard(str(tmp_path), "second")
    assert token is None
    assert guard.admits(b"Bearer first") and not guard.admits(b"Bearer second")


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"",
        b"Bearer",
        b"Bearer ",
        b"Bearer secretx",
        b"Basic secret",
        b"secret",
        b"Bearer secret secret",
    ],
)
def test_only_the_token_behind_bearer_is_admitted(tmp_path: Path, header: bytes | None) -> None:
    guard, _ = open_guard(str(tmp_path), "secret")
    assert not guard.admits(header)
    assert guard.admits(b"bearer secret")


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    open_guard(str(tmp_path), None)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in (HASH_FILE, TOKEN_FILE)] == [0o600, 0o600]


def test_without_the_token_file_the_server_goes_on_and_pw_knows_nothing(tmp_path: Path) -> None:
    open_guard(str(tmp_path), "secret")
    (tmp_path / TOKEN_FILE).unlink()
    guard, token = open_guard(str(tmp_path), None)
    assert token is None and guard.admits(b"Bearer secret")
    assert stored_token(str(tmp_path)) is None


def test_a_crash_between_the_files_leaves_no_token_that_nobody_knows(tmp_path: Path) -> None:
    (tmp_path / TOKEN_FILE).write_text("half-done\n")
    guard, token = open_guard(str(tmp_path), "wanted")
    assert token == "wanted" and guard.admits(b"Bearer wanted")
    assert stored_token(str(tmp_path)) == "wanted"


def test_a_damaged_hash_is_refused_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / HASH_FILE).write_text("rotten")
    with pytest.raises(BadToken, match=r"holds no SHA-256; delete it"):
        open_guard(str(tmp_path), "secret")
    assert (tmp_path / HASH_FILE).read_text() == "rotten"


@pytest.mark.parametrize("token", ["", "with space", "tab\t", "é", "x" * 501])
def test_a_token_that_no_header_could_carry_is_refused(tmp_path: Path, token: str) -> None:
    with pytest.raises(BadToken, match="PW_TOKEN"):
        open_guard(str(tmp_path), token)
    assert list(tmp_path.iterdir()) == []
