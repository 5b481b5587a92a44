"""The rules of the score, case by case, at their bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from telemetry.quality.score import Standing, deductions_of, score_of

WELL = Standing(
    memories=100,
    active=100,
    stale=0,
    average_decay=0.9,
    used=50,
    entities=20,
    unrelated_entities=0,
    relations=30,
    reflections=5,
    reflection_confidence=0.8,
)
EMPTY = Standing(
    memories=0,
    active=0,
    stale=0,
    average_decay=0.0,
    used=0,
    entities=0,
    unrelated_entities=0,
    relations=0,
    reflections=0,
    reflection_confidence=0.0,
)


def taken(standing: Standing) -> dict[str, int]:
    return {one.code: one.points for one in deductions_of(standing)}


@pytest.mark.parametrize("standing", [WELL, EMPTY], ids=["well", "empty"])
def test_nothing_is_taken_off_without_a_reason(standing: Standing) -> None:
    assert taken(standing) == {}
    assert score_of(deductions_of(standing)) == 100


@pytest.mark.parametrize(
    ("changed", "code", "points"),
    [
        ({"stale": 100, "active": 0}, "memories.all_stale", 25),
        ({"memories": 1, "stale": 1, "used": 1}, "memories.all_stale", 25),
        ({"stale": 99}, "memories.mostly_stale", 10),
        ({"stale": 51}, "memories.mostly_stale", 10),
        ({"average_decay": 0.299}, "memories.faded", 8),
        ({"memories": 11, "average_decay": 0.1}, "memories.faded", 8),
        ({"used": 9}, "memories.seldom_used", 3),
        ({"memories": 11, "used": 1}, "memories.seldom_used", 3),
        ({"relations": 0}, "graph.unrelated", 10),
        ({"entities": 1, "relations": 0}, "graph.unrelated", 10),
        ({"entities": 101}, "graph.many_entities", 5),
        ({"reflection_confidence": 0.499}, "reflections.unsure", 8),
    ],
)
def test_each_rule_takes_what_is_published(changed: dict[str, Any], code: str, points: int) -> None:
    standing = replace(WELL, **changed)
    assert taken(standing) == {code: points}
    assert score_of(deductions_of(standing)) == 100 - points


@pytest.mark.parametrize(
    "changed",
    [
        {"stale": 50},
        {"average_decay": 0.3},
        {"memories": 10, "average_decay": 0.1, "used": 0},
        {"used": 10},
        {"entities": 100},
        {"entities": 0, "relations": 0},
        {"unrelated_entities": 19},
        {"reflection_confidence": 0.5},
        {"reflections": 0, "reflection_confidence": 0.0},
    ],
)
def test_up_to_a_bound_nothing_is_taken(changed: dict[str, Any]) -> None:
    assert taken(replace(WELL, **changed)) == {}


def test_the_worst_is_the_sum_with_the_heaviest_first() -> None:
    worst = Standing(
        memories=200,
        active=0,
        stale=200,
        average_decay=0.01,
        used=0,
        entities=101,
        unrelated_entities=101,
        relations=0,
        reflections=1,
        reflection_confidence=0.1,
    )
    deductions = deductions_of(worst)
    assert [one.points for one in deductions] == [25, 10, 8, 8, 5, 3]
    assert score_of(deductions) == 41
    assert all(one.meaning.endswith(".") and one.remedy.endswith(".") for one in deductions)
