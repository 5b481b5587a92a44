"""What this app keeps of owners, in the order in which a purge erases it: children before parents."""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from uuid import UUID

from memory.services.purge.agent_parts import AgentPart, add_agent_part, add_said, rows_of_agent
from memory.services.purge.caches import register_cache
from memory.services.purge.registry import Phase, register
from memory.services.purge.tables import TableTarget
from telemetry.models import (
    Budget,
    ModelUsage,
    RecallExperiment,
    RecallFeedback,
    RecallObservation,
    RequestVector,
    Spoke,
    TelemetryState,
    TunerChange,
    TunerState,
    TurnEvent,
)
from telemetry.services.costs import spending
from telemetry.services.coverage.cache import reports
from telemetry.services.recalls import recording as recall_recording
from telemetry.services.recalls.cache import reports as recall_reports
from telemetry.services.recalls.experiments import leave_out, named_in, running
from telemetry.services.score_card import forget_score_cards
from telemetry.services.turns import recording
from telemetry.services.turns.pruning import erase_of_agent

TABLES: Final = (
    TableTarget("request_vectors", RequestVector),
    TableTarget("turn_events", TurnEvent),
    TableTarget("spokes", Spoke),
    TableTarget("telemetry_states", TelemetryState),
    TableTarget("recall_feedback", RecallFeedback),
    TableTarget("recall_observations", RecallObservation),
    TableTarget("recall_experiments", RecallExperiment),
    TableTarget("tuner_changes", TunerChange),
    TableTarget("tuner_states", TunerState),
    TableTarget("model_usage", ModelUsage),
    TableTarget("budgets", Budget),
)


def register_targets() -> None:
    """Register the targets of this app, and what of it goes with an agent."""
    for table in TABLES:
        register(table, phase=Phase.APPS)
    add_agent_part(replace(rows_of_agent("turn_events", TurnEvent), erase=erase_of_agent))
    add_agent_part(rows_of_agent("model_usage", ModelUsage))
    add_agent_part(rows_of_agent("budgets", Budget))
    add_agent_part(rows_of_agent("recall_observations", RecallObservation))
    add_agent_part(AgentPart("recall_feedback", _feedback_count, _erase_feedback))
    add_agent_part(AgentPart("recall_experiments", named_in, leave_out))
    register_cache("spending", spending.forget)
    register_cache("score cards", forget_score_cards)
    register_cache("waiting observations", recall_recording.forget)
    register_cache("experiments", running.forget)
    register_cache("recall reports", recall_reports.forget)
    register_cache("coverage reports", reports.forget)
    register_cache("waiting turn events", recording.forget)
    add_said(TurnEvent)


def _feedback_count(agent_id: UUID) -> int:
    return int(RecallFeedback.objects.filter(caller=agent_id).count())


def _erase_feedback(agent_id: UUID) -> int:
    return int(RecallFeedback.objects.filter(caller=agent_id).delete()[0])
