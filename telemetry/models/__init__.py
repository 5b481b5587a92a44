"""Rows of telemetry; each belongs to one owner."""

from __future__ import annotations

from telemetry.models.recalls import (
    RecallExperiment,
    RecallFeedback,
    RecallObservation,
    TunerChange,
    TunerState,
)
from telemetry.models.turn_events import Outcome, RequestVector, Spoke, Stream, TelemetryState, TurnEvent
from telemetry.models.usage import Budget, BudgetPeriod, ModelUsage

__all__ = [
    "Budget",
    "BudgetPeriod",
    "ModelUsage",
    "Outcome",
    "RecallExperiment",
    "RecallFeedback",
    "RecallObservation",
    "RequestVector",
    "Spoke",
    "Stream",
    "TelemetryState",
    "TunerChange",
    "TunerState",
    "TurnEvent",
]
