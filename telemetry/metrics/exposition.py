"""The text of a scrape: what all processes have counted, and what stands in the database."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.conf import settings

from telemetry.metrics import definitions as metrics
from telemetry.metrics import shared, standing
from telemetry.metrics.counting import begin, counted_here

if TYPE_CHECKING:
    from prometheus_client.registry import Collector


def scraped(accept: str) -> tuple[bytes, str]:
    """Give all metrics as text.

    Args:
        accept: the Accept header; OpenMetrics where it prefers that, else the text format of Prometheus.

    Returns:
        The text, and its media type.
    """
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import choose_encoder

    begin()
    registry = CollectorRegistry(auto_describe=False)
    collector: Collector = _Everything()
    registry.register(collector)
    encode, media_type = choose_encoder(accept)
    return encode(registry), media_type


class _Everything:
    """Collects once for each scrape."""

    def describe(self) -> list[Any]:
        """Name nothing beforehand, so that registering costs no query."""
        return []

    def collect(self) -> Iterator[Any]:
        """Give what was counted, then what stands."""
        place = shared.directory()
        yield from shared.counted_by_all(place) if place is not None else counted_here().collect()
        yield from _standing()


def _standing() -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily

    values = {**standing.from_database(), **standing.from_process()}
    waiting = any(value for _, value in values.get(metrics.POOL_WAITING, ()))
    # Its checks need a connection of the pool; where that is used up, a scrape must not wait in the same line.
    if values[metrics.UP][0][1] and not waiting:
        values.update(standing.from_health())
    values[metrics.BUILD_INFO] = [((settings.VERSION, platform.python_version()), 1.0)]
    for definition, found in values.items():
        family = GaugeMetricFamily(definition.name, definition.says, labels=definition.labels)
        for labels, value in found:
            family.add_metric(labels, value)
        yield family
