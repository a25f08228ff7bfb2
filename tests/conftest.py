"""What all tests share: Hypothesis settings, soak tests apart, no skips where all is required."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

REQUIRE_ALL = os.environ.get("PW_REQUIRE_ALL") == "1"

# Shared machines are slow at times: a test may fail for what it found, never for how long it took.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out soak tests unless they are asked for (`make soak`). Deselected is not skipped."""
    if "soak" in (config.option.markexpr or ""):
        return
    soaks = [item for item in items if item.get_closest_marker("soak")]
    if soaks:
        config.hook.pytest_deselected(items=soaks)
        items[:] = [item for item in items if not item.get_closest_marker("soak")]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    """Under PW_REQUIRE_ALL=1 a skipped test is a failure: CI proves every path or says which it could not."""
    report = yield
    if REQUIRE_ALL and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped although PW_REQUIRE_ALL=1: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    """The same for a whole file that skips itself while it is collected."""
    report = yield
    if REQUIRE_ALL and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped although PW_REQUIRE_ALL=1: {report.longrepr}"
    return report
