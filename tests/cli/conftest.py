"""One server a file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from served import Served

from engine.serve.client import Client


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(tmp_path_factory.mktemp("home"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[Client]:
    with served.client() as client:
        yield client


@pytest.fixture
def world(client: Client) -> str:
    """A new world's id."""
    return client.create("test").id
