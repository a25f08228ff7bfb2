"""Prometheus metrics: requests by route and status, their latency, and the host's own gauges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from engine.host import LiveHost
from engine.serve.answering import Reply
from engine.serve.endpoint import Asked, Endpoint

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    def __init__(self, gauges: Callable[[], dict[str, float]]) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "pw_requests", "Requests answered", ["method", "route", "status"], registry=self._registry
        )
        self._latency = Histogram(
            "pw_request_seconds",
            "Time from a request's head to the end of its answer",
            ["route"],
            buckets=_BUCKETS_S,
            registry=self._registry,
        )
        self._registry.register(_HostGauges(gauges))
        self._series: dict[tuple[str, str, int], tuple[Any, Any]] = {}

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        # Looking labels up costs more than counting, so each series is looked up once.
        series = self._series.get((method, route, status))
        if series is None:
            series = (self._requests.labels(method, route, str(status)), self._latency.labels(route))
            self._series[method, route, status] = series
        series[0].inc()
        series[1].observe(seconds)

    def endpoint(self) -> Endpoint:
        """Where the series are read."""

        async def metrics(_host: LiveHost, _asked: Asked) -> Any:
            """Prometheus metrics."""
            return Reply(200, generate_latest(self._registry), CONTENT_TYPE.encode())

        return Endpoint("GET", "/metrics", metrics, (str,), content_type=CONTENT_TYPE)


class _HostGauges(Collector):
    def __init__(self, gauges: Callable[[], dict[str, float]]) -> None:
        self._gauges = gauges

    def describe(self) -> list[Any]:
        return []

    def collect(self) -> Iterator[Any]:
        for name, value in sorted(self._gauges().items()):
            yield GaugeMetricFamily(f"pw_{name}", name.replace("_", " "), value=value)
