"""Dashboards and alerts ask for metrics that there are, with labels that these have, in ways that fit their kinds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from telemetry.metrics.definitions import ALL, Definition
from telemetry.services.costs.health import NAME as BUDGETS
from tests.contract.promql import NotUnderstood, Selector, selectors
from tests.contract.test_docs import anchors
from tests.environment import PROJECT

PLACE = PROJECT / "observability"
DASHBOARDS = sorted((PLACE / "grafana").glob("*.json"))
ALERTS = PLACE / "prometheus" / "alerts.yml"
SCRAPE = PLACE / "prometheus" / "prometheus.yml"
# What Prometheus itself gives to everything that it scrapes.
GIVEN = {"instance", "job"}
# Of Prometheus and not of Loci.
FOREIGN = {"up"}
ENDINGS = ("_bucket", "_sum", "_count")
COUNTING = {"rate", "increase"}
# How Grafana calls the units of metrics.
UNITS = {"_seconds": "s", "_bytes": "bytes"}


def dashboard(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in DASHBOARDS:
        for panel in dashboard(path)["panels"]:
            yield f"{path.stem}: {panel['title']}", panel


def expressions() -> list[tuple[str, str]]:
    found = [(title, target["expr"]) for title, panel in panels() for target in panel["targets"]]
    return found + [(rule["alert"], rule["expr"]) for rule in rules()]


def meant(selector: Selector) -> tuple[Definition, str]:
    """Find the metric of a selector, and the ending that says which part of a histogram."""
    if selector.name in ALL:
        return ALL[selector.name], ""
    for ending in ENDINGS:
        base = selector.name.removesuffix(ending)
        if base != selector.name and base in ALL and ALL[base].kind == "histogram":
            return ALL[base], ending
    raise AssertionError(f"{selector.name} is no metric")


def faults(expression: str) -> list[str]:
    """Say what is wrong with an expression."""
    try:
        found = selectors(expression)
    except NotUnderstood as error:
        return [str(error)]
    return [fault for one in found if one.name not in FOREIGN for fault in faults_of(one)]


def faults_of(one: Selector) -> list[str]:
    try:
        definition, ending = meant(one)
    except AssertionError as error:
        return [str(error)]
    known = {*definition.labels, *GIVEN, *({"le"} if ending == "_bucket" else ())}
    found = [f"{one.name} has no label {label}" for label in (*one.labels, *one.grouped_by) if label not in known]
    growing = definition.kind == "counter" or bool(ending)
    if growing != bool(COUNTING & set(one.around)):
        found.append(f"{one.name} is a {definition.kind}: {'only' if growing else 'no'} growth can be asked of it")
    if definition.kind == "histogram" and not ending:
        found.append(f"{one.name} is a histogram: ask for a part of it")
    if (ending == "_bucket") != ("histogram_quantile" in one.around):
        found.append(f"{one.name}: quantiles are made of buckets, and buckets are for quantiles")
    if ending == "_bucket" and "le" not in one.grouped_by:
        found.append(f"{one.name}: buckets are kept apart by le")
    return found


@pytest.mark.parametrize(("where", "expression"), expressions(), ids=lambda value: str(value)[:60])
def test_expressions_fit_the_metrics(where: str, expression: str) -> None:
    assert faults(expression) == [], where


@pytest.mark.parametrize(
    "wrong",
    [
        "sum(rate(loci_nothing_total[5m]))",
        "sum(rate(loci_owners[5m]))",
        "sum(loci_recalls_total)",
        "sum by (owner) (rate(loci_recalls_total[5m]))",
        'loci_purges{agent="x"}',
        "rate(loci_recalls_total)",
        "loci_owners[5m]",
        "loci_recall_hits",
        "histogram_quantile(0.5, sum(rate(loci_recall_hits_bucket[5m])))",
        "histogram_quantile(0.5, sum by (le) (rate(loci_recall_hits_count[5m])))",
        "sum by (le) (rate(loci_recall_hits_bucket[5m]))",
        "sum(rate(loci_recalls_total[5m])",
        "loci_owners loci_owners",
        "unknown_function(loci_owners)",
        "loci_owners and 1",
        "loci_owners{state=5}",
        "",
    ],
)
def test_wrong_expressions_are_noticed(wrong: str) -> None:
    assert faults(wrong)


def test_the_reader_gives_what_stands_around_a_metric() -> None:
    (found,) = selectors('topk(3, sum by (a, b) (rate(x_total{c="}", d!~"e"}[5m])) / 2 > 0)')
    assert found == Selector("x_total", ("c", "d"), True, ("rate", "sum", "topk"), ("a", "b"))


def test_every_metric_is_shown_somewhere() -> None:
    shown = {meant(one)[0].name for _, text in expressions() for one in selectors(text) if one.name not in FOREIGN}
    assert set(ALL) - shown == set()


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_dashboards_are_whole(path: Path) -> None:
    found = dashboard(path)
    assert found["uid"] == path.stem
    assert found["title"].startswith("Loci: ")
    assert found["description"].endswith(".")
    assert [one["name"] for one in found["templating"]["list"]] == ["datasource", "instance"]
    ids = [panel["id"] for panel in found["panels"]]
    assert len(ids) == len(set(ids))
    for panel in found["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        assert panel["datasource"]["uid"] == "${datasource}"
        assert all('instance=~"$instance"' in target["expr"] for target in panel["targets"])


def test_panels_do_not_lie_on_one_another() -> None:
    for path in DASHBOARDS:
        taken: set[tuple[int, int]] = set()
        for panel in dashboard(path)["panels"]:
            place = panel["gridPos"]
            cells = {
                (x, y)
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            }
            assert not cells & taken, f"{path.stem}: {panel['title']}"
            taken |= cells


@pytest.mark.parametrize(("title", "panel"), list(panels()), ids=lambda value: value if isinstance(value, str) else "")
def test_units_are_those_of_the_metrics(title: str, panel: dict[str, Any]) -> None:
    unit = panel["fieldConfig"]["defaults"]["unit"]
    for target in panel["targets"]:
        for one in selectors(target["expr"]):
            definition, ending = meant(one)
            quantity = next((wanted for end, wanted in UNITS.items() if definition.name.endswith(end)), "")
            counted = ending == "_count" or not quantity
            fits = unit not in UNITS.values() if counted else unit == quantity
            assert fits, f"{title}: {one.name} in {unit}"


def test_alerts_say_why_and_what_to_do() -> None:
    known = anchors(PROJECT / "docs" / "operations.md")
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names)) >= 12
    for rule in rules():
        said = rule["annotations"]
        assert set(said) == {"summary", "reason", "action", "runbook"}, rule["alert"]
        assert all(said[name].endswith(".") for name in ("summary", "reason", "action")), rule["alert"]
        assert rule["labels"]["severity"] in ("warning", "critical")
        page, _, anchor = said["runbook"].partition("#")
        assert page == "docs/operations.md"
        assert anchor in known, f"{rule['alert']}: no heading #{anchor}"
        used = set(re.findall(r"\$labels\.(\w+)", " ".join(said.values())))
        by = {label for one in selectors(rule["expr"]) for label in one.grouped_by}
        assert used <= by, f"{rule['alert']} names a label that it has not"


def test_a_used_up_budget_is_noticed_wherever_it_was_met() -> None:
    """By the check, and by what was refused, to workers too."""
    (rule,) = [rule for rule in rules() if rule["annotations"]["runbook"].endswith("#a-budget-is-used-up")]
    assert {one.name for one in selectors(rule["expr"])} == {"loci_health_check", "loci_budget_refusals_total"}
    assert f'check="{BUDGETS}"' in rule["expr"]


def test_the_example_reads_metrics_with_the_token() -> None:
    found = yaml.safe_load(SCRAPE.read_text(encoding="utf-8"))
    (job,) = found["scrape_configs"]
    assert job["job_name"] == "loci"
    assert job["metrics_path"] == "/metrics"
    assert job["authorization"]["credentials_file"].endswith(".token")
    assert found["rule_files"] == [ALERTS.name]
