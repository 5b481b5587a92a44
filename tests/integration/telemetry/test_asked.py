"""What all reports of telemetry are asked for is refused in one way, with one code and one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from memory.errors import InvalidInput, LociError, NotFound
from memory.ids import new_id
from memory.services.actors import Actor
from telemetry.services.costs.budgets import BudgetDraft, set_budget
from telemetry.services.costs.report import UsageRequest, usage_report
from telemetry.services.coverage.reporting import ReportRequest, coverage_report
from telemetry.services.recalls.experiments import ExperimentDraft, start_experiment
from telemetry.services.recalls.report import QualityRequest, recall_report
from telemetry.services.turns.events import EventsRequest, list_events


def refused(kind: type[LociError], ask: Callable[[], Any]) -> tuple[str, str]:
    """Give code and sentence, the bound taken out."""
    with pytest.raises(kind) as error:
        ask()
    return error.value.machine_code, "".join(letter for letter in str(error.value) if not letter.isdigit())


@pytest.mark.parametrize("days", [0, -1, 100_000, True, 1.5])
def test_a_window_that_is_none(alice: Actor, days: Any) -> None:
    asked = [
        lambda: coverage_report(actor=alice, request=ReportRequest(days=days)),
        lambda: recall_report(actor=alice, request=QualityRequest(days=days)),
        lambda: usage_report(actor=alice, request=UsageRequest(days=days)),
        lambda: list_events(actor=alice, request=EventsRequest(days=days), after=None, size=1),
    ]
    assert {refused(InvalidInput, one) for one in asked} == {("days.out_of_range", "days is a whole number from  to .")}


def test_an_agent_that_is_none_of_the_owner(
    alice: Actor, mallory: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    foreign = make_agent(mallory, "spy")[0].agent_id
    assert foreign is not None

    def answers(agent: UUID) -> set[tuple[str, str]]:
        draft = ExperimentDraft(label="x", control="default", variant="prax", agents=[agent])
        budget = BudgetDraft(period="day", agent_id=agent, soft="1", hard="2")
        asked = [
            lambda: coverage_report(actor=alice, request=ReportRequest(agent=agent)),
            lambda: recall_report(actor=alice, request=QualityRequest(agent=agent)),
            lambda: list_events(actor=alice, request=EventsRequest(agent=agent), after=None, size=1),
            lambda: start_experiment(actor=alice, draft=draft),
            lambda: set_budget(actor=alice, draft=budget),
        ]
        return {refused(NotFound, one) for one in asked}

    assert answers(new_id()) | answers(foreign) == {("agent.unknown", "There is no agent with this id here.")}
