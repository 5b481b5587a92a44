"""What an archive holds of telemetry: all that says something about the owner, and no vector."""

from __future__ import annotations

from memory.services.archive.registry import Part, register
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


def register_parts() -> None:
    """Register the parts of this app."""
    register(
        Part("spokes", Spoke, "Parts of your agents that requests are handed to.", without=frozenset({"name_hash"})),
        Part(
            "turn_events",
            TurnEvent,
            "What your agents were asked, turn by turn, and how that ended; kept for weeks.",
            without=frozenset({"event_key", "request_hash"}),
        ),
        Part("telemetry_state", TelemetryState, "Your switches of telemetry."),
        Part("recall_observations", RecallObservation, "How recalls went: times and numbers, no questions."),
        Part("recall_feedback", RecallFeedback, "Whether recalls helped."),
        Part("recall_experiments", RecallExperiment, "Profiles that you have compared."),
        Part("tuner_changes", TunerChange, "Changes that the tuner has made."),
        Part("tuner_state", TunerState, "Where the tuner stands."),
        Part("model_usage", ModelUsage, "What models were asked for and what that cost, by the hour."),
        Part("budgets", Budget, "How much models may cost."),
        left_out={RequestVector: "Numbers made of requests by a model; made anew from the requests."},
    )
