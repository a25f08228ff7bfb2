"""A real browser against a real server. Without Chromium these tests are skipped; PW_REQUIRE_ALL=1 forbids that."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from served import Served

from engine.serve.client import Client

playwright = pytest.importorskip("playwright.sync_api")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def chromium() -> Iterator[playwright.Browser]:
    path = os.environ.get("PW_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium: install it (Debian: apt-get install chromium) or name it in PW_CHROMIUM")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        browser.devices = driver.devices
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: playwright.Browser) -> Iterator[playwright.Page]:
    context = chromium.new_context()
    context.set_default_timeout(20_000)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(tmp_path_factory.mktemp("home"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[Client]:
    with served.client() as client:
        yield client
