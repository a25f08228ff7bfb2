"""One server a file of tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from click.testing import CliRunner, Result
from served import TOKEN, Served

from engine.cli import main
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


@pytest.fixture
def pw(served: Served, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run `pw` in this process; the server and token come from the environment."""
    monkeypatch.setenv("PW_SERVER", served.url)
    monkeypatch.setenv("PW_TOKEN", TOKEN)
    monkeypatch.delenv("PW_HOME", raising=False)

    def run(*args: str, status: int = 0, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(main, list(args), input=stdin, prog_name="pw", catch_exceptions=False)
        assert result.exit_code == status, result.output
        return result

    return run
