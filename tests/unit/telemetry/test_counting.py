"""Metrics are declared by the rules of their trade, and counting stays bounded whatever is passed in."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from telemetry.bounds import LATENCY_SECONDS, STAGE_SECONDS
from telemetry.metrics import counting
from telemetry.metrics.counting import change, increase, observe, set_to
from telemetry.metrics.definitions import (
    ALL,
    HTTP_REQUESTS,
    JOB_LAST_SUCCESS,
    LIVE_SOCKETS,
    RECALL_DEGRADED,
    RECALL_SECONDS,
    RECALL_STAGES,
    Definition,
)
from tests.environment import PROJECT
from tests.integration.leaks.routes import endpoints

# Words of the product or of its configuration; nothing else may tell values of a metric apart.
LABELS = {
    "check", "code", "component", "direction", "kind", "method", "model", "outcome", "place", "profile", "python",
    "reason", "route", "stage", "state", "status", "store", "task", "version",
}  # fmt: skip
UNITS = ("_seconds", "_bytes", "_total", "_info", "_hits", "_ratio")
# Numbers of things have no unit.
COUNTS = {
    "loci_up", "loci_health_check", "loci_owners", "loci_provider_up", "loci_live_sockets", "loci_queue_tasks",
    "loci_due_work", "loci_purges", "loci_turn_events_waiting", "loci_database_connections",
    "loci_database_pool_connections", "loci_database_pool_waiting", "loci_redis_up", "loci_embedding_space_paused",
    "loci_projection_changes_waiting", "loci_projection_owners",
}  # fmt: skip


@pytest.fixture(autouse=True)
def room_for_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bound the values that a test passes in, whatever other tests of this process have counted."""
    monkeypatch.setattr(counting, "_seen", {})
    monkeypatch.setattr(counting, "_children", {})


def value(name: str, **labels: str) -> float | None:
    return counting.counted_here().get_sample_value(name, labels)


@pytest.mark.parametrize("definition", ALL.values(), ids=lambda definition: definition.name)
def test_names_labels_and_units_follow_the_rules(definition: Definition) -> None:
    assert re.fullmatch(r"loci(_[a-z]+)+", definition.name)
    assert set(definition.labels) <= LABELS
    assert (definition.kind == "counter") == definition.name.endswith("_total")
    assert definition.name.endswith(UNITS) or definition.name in COUNTS
    assert definition.says.endswith(".")
    assert (definition.kind == "histogram") == bool(definition.buckets)
    assert list(definition.buckets) == sorted(set(definition.buckets))


def test_recalls_are_counted_by_the_bounds_of_their_report() -> None:
    assert RECALL_SECONDS.buckets == LATENCY_SECONDS
    assert RECALL_STAGES.buckets == STAGE_SECONDS


def test_no_metric_is_declared_and_never_given_a_value() -> None:
    sources = [path for path in (PROJECT / "telemetry").rglob("*.py") if path.name != "definitions.py"]
    written = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    names = [
        name for name, one in vars(sys.modules["telemetry.metrics.definitions"]).items() if isinstance(one, Definition)
    ]
    assert len(names) == len(ALL)
    assert [name for name in names if not re.search(rf"\b{name}\b", written)] == []


def test_counters_histograms_and_gauges_hold_what_they_are_given() -> None:
    labels = {"route": "/unit", "method": "GET", "status": "2xx"}
    before = value("loci_http_requests_total", **labels) or 0
    increase(HTTP_REQUESTS, "/unit", "GET", "2xx")
    increase(HTTP_REQUESTS, "/unit", "GET", "2xx", by=2)
    assert value("loci_http_requests_total", **labels) == before + 3

    observe(RECALL_SECONDS, 0.02, "unit")
    assert value("loci_recall_duration_seconds_bucket", profile="unit", le="0.01") == 0
    assert value("loci_recall_duration_seconds_bucket", profile="unit", le="0.025") == 1
    assert value("loci_recall_duration_seconds_sum", profile="unit") == 0.02

    set_to(JOB_LAST_SUCCESS, 7.0, "unit")
    assert value("loci_job_last_success_timestamp_seconds", task="unit") == 7.0
    sockets = value("loci_live_sockets") or 0
    change(LIVE_SOCKETS, 1)
    change(LIVE_SOCKETS, -1)
    assert value("loci_live_sockets") == sockets


def test_wrong_labels_are_an_error() -> None:
    with pytest.raises(ValueError):
        increase(HTTP_REQUESTS, "/unit", "GET")


@pytest.mark.parametrize("said", ["what somebody said", "", "Ä", "x" * 161, "two\nlines"])
def test_what_is_no_plain_word_becomes_other(said: str) -> None:
    before = value("loci_recall_degraded_total", code="other") or 0
    increase(RECALL_DEGRADED, said)
    assert value("loci_recall_degraded_total", code="other") == before + 1


def test_the_number_of_values_is_bounded_and_so_is_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_VALUES", 20)
    before = value("loci_recall_degraded_total", code="other") or 0
    for number in range(500):
        increase(RECALL_DEGRADED, f"code.{number}")
    grown = value("loci_recall_degraded_total", code="other") or 0
    assert grown >= before + 480
    kept = [labels for name, labels in counting._children if name == RECALL_DEGRADED.name]
    assert len(kept) <= 21


def test_every_route_is_counted_by_its_own_name() -> None:
    routes = {f"/{pattern}" for pattern, _ in endpoints()}
    for route in routes:
        increase(HTTP_REQUESTS, route, "GET", "2xx")
    assert {labels[0] for name, labels in counting._children if name == HTTP_REQUESTS.name} == routes


def test_a_command_that_counts_nothing_does_not_make_metrics() -> None:
    script = (
        "import django; django.setup(); from telemetry.metrics import counting; "
        "assert counting._registry is None and not counting._families"
    )
    subprocess.run(
        [sys.executable, "-c", script], cwd=PROJECT, check=True, env={**os.environ, "PYTHONPATH": str(PROJECT)}
    )
