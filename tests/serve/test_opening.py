"""What must be right before a server serves: its address and its directory."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from served import Served

from engine.host import CannotOpen
from engine.serve.server import CannotListen, listen


def test_a_port_in_use_is_refused_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=f"port {port} of 127.0.0.1 is in use.*another --port"):
            listen("127.0.0.1", port)


@pytest.mark.parametrize("address", ["256.0.0.1", "no.such.host.invalid", "2001:db8::1"])
def test_an_address_that_is_not_ours_is_refused(address: str) -> None:
    with pytest.raises(CannotListen, match="cannot listen on"):
        listen(address, 0)


def test_a_foreign_directory_is_refused_and_not_changed(tmp_path: Path) -> None:
    (tmp_path / "FORMAT").write_text("another program's\n")
    with pytest.raises(CannotOpen, match="FORMAT"):
        Served(tmp_path)
    assert (tmp_path / "FORMAT").read_text() == "another program's\n"
