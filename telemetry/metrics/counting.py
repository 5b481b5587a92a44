"""Counting within a process: cheap, thread-safe, asks nobody, and bounded whatever is passed in.

The library is imported with the first count, so that commands that count nothing do not pay for it.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Final

from telemetry.metrics import shared
from telemetry.metrics.definitions import ALL, PLAIN, Definition

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

logger = logging.getLogger(__name__)

OTHER: Final = "other"
# Different values of one label; more become `other`. There are fewer routes, components and models than that.
MOST_VALUES: Final = 1_000

_lock: Final = threading.Lock()
_registry: CollectorRegistry | None = None
_families: Final[dict[str, Any]] = {}
_children: Final[dict[tuple[str, tuple[str, ...]], Any]] = {}
_seen: Final[dict[tuple[str, str], set[str]]] = {}


def increase(definition: Definition, *labels: str, by: float = 1.0) -> None:
    """Raise a counter.

    Args:
        definition: the counter.
        labels: the values of its labels, in their order; words of the product or of the configuration.
        by: how much, at least 0.
    """
    _child(definition, labels).inc(by)


def observe(definition: Definition, value: float, *labels: str) -> None:
    """Put a value into a histogram."""
    _child(definition, labels).observe(value)


def set_to(definition: Definition, value: float, *labels: str) -> None:
    """Set a gauge of this process."""
    _child(definition, labels).set(value)


def change(definition: Definition, by: float) -> None:
    """Raise or lower a gauge of this process that has no labels."""
    _child(definition, ()).inc(by)


def begin() -> None:
    """Let metrics without labels, and those whose values are known, stand at 0 before anything has been counted."""
    for definition in ALL.values():
        if definition.is_counted and not definition.labels:
            _child(definition, ())
        for value in definition.begins:
            _child(definition, (value,))


def counted_here() -> CollectorRegistry:
    """Give the registry of what this process has counted."""
    with _lock:
        return _own_registry()


def _child(definition: Definition, labels: tuple[str, ...]) -> Any:
    child = _children.get((definition.name, labels))
    if child is not None:
        return child
    with _lock:
        bounded = tuple(
            _bounded(definition, name, value) for name, value in zip(definition.labels, labels, strict=True)
        )
        try:
            family = _family(definition)
            child = family.labels(*bounded) if bounded else family
        except OSError as error:
            # A full disk must not fail a request; the check of the disk says that it is full.
            logger.warning("a count cannot be kept: %s", type(error).__name__)
            return _Nowhere()
        # A value that has become `other` is not remembered, or the memory would grow with what is passed in.
        _children[(definition.name, bounded)] = child
        return child


class _Nowhere:
    """In the place of a count for which there is no room."""

    def inc(self, amount: float) -> None:
        """Drop it."""

    observe = set = inc


def _bounded(definition: Definition, label: str, value: str) -> str:
    seen = _seen.setdefault((definition.name, label), set())
    if value in seen:
        return value
    if len(seen) >= MOST_VALUES or not PLAIN.fullmatch(value):
        return OTHER
    seen.add(value)
    return value


def _own_registry() -> CollectorRegistry:
    global _registry
    if _registry is None:
        shared.name_processes()
        from prometheus_client import CollectorRegistry, disable_created_metrics

        # When each counter began would double their number.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        _registry = CollectorRegistry()
    return _registry


def _family(definition: Definition) -> Any:
    family = _families.get(definition.name)
    if family is None:
        family = _families[definition.name] = _made(definition, _own_registry())
    return family


def _made(definition: Definition, registry: CollectorRegistry) -> Any:
    from prometheus_client import Counter, Gauge, Histogram

    name, says, labels = definition.name, definition.says, definition.labels
    if definition.kind == "counter":
        return Counter(name, says, labels, registry=registry)
    if definition.kind == "histogram":
        return Histogram(name, says, labels, registry=registry, buckets=definition.buckets)
    assert definition.across
    return Gauge(name, says, labels, registry=registry, multiprocess_mode=definition.across)
