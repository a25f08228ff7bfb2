"""The door: the REST API over a host, and the typed client for it. `run` serves a data directory."""

from __future__ import annotations

from typing import Any

__all__ = ["Client", "run"]


def __getattr__(name: str) -> Any:
    # The server and the client share nothing heavy: `pw` must not load one to use the other.
    if name == "run":
        from engine.serve.server import run

        return run
    if name == "Client":
        from engine.serve.client import Client

        return Client
    raise AttributeError(name)
